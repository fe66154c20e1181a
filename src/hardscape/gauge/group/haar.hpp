// Random elements of the group as they lie in memory: row, column.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "gauge/group/su2.hpp"

namespace hardscape::gauge {

inline constexpr std::uint64_t kRandomLinks = 0x6c696e6b73ull;  // purpose of their streams: "links"

// `count` elements from the Haar measure, element n from stream n.
template <int N>
void fill_random(std::complex<double>* elements, std::size_t count, std::uint64_t seed) {
  for (std::size_t n = 0; n < count; ++n) {
    RandomStream random(seed, n, kRandomLinks);
    get(random_element<N>(random), 0, elements + n * N * N);
  }
}

}  // namespace hardscape::gauge
