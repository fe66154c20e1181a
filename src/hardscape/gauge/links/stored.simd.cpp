// Links as files hold them: brought into the machine's byte order, with the checksums on the way.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <tuple>

#include "gauge/links/crc.hpp"
#include "native/arrays.hpp"
#include "native/vector.hpp"

namespace hardscape::gauge {
namespace {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NewBytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::uint32_t reversed(std::uint32_t x) { return __builtin_bswap32(x); }
std::uint64_t reversed(std::uint64_t x) { return __builtin_bswap64(x); }

std::uint32_t rotated(std::uint32_t x, std::size_t by) { return by ? x << by | x >> (32 - by) : x; }

// Copies numbers; the sum of all their 32-bit words is returned, modulo 2^32.
template <class Word, bool kSwapped>
std::uint32_t copy(const std::uint8_t* from, std::uint8_t* to, std::size_t size) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < size; i += sizeof(Word)) {
    Word x;
    std::memcpy(&x, from + i, sizeof x);
    if constexpr (kSwapped) x = reversed(x);
    std::memcpy(to + i, &x, sizeof x);
    sum += static_cast<std::uint32_t>(x);
    if constexpr (sizeof x == 8) sum += static_cast<std::uint32_t>(x >> 32);
  }
  return sum;
}

auto take_numbers(Bytes stored, NewBytes found, std::size_t width, bool swapped, std::size_t site,
                  std::size_t first, std::size_t last) {
  const std::size_t unit = site ? site : width;
  if ((width != 4 && width != 8) || unit % width || first % unit || last % unit || last < first ||
      last > stored.size() || stored.size() != found.size()) {
    throw std::invalid_argument("numbers");
  }
  const auto copied = width == 4
                          ? (swapped ? copy<std::uint32_t, true> : copy<std::uint32_t, false>)
                          : (swapped ? copy<std::uint64_t, true> : copy<std::uint64_t, false>);
  std::uint32_t suma = 0, sumb = 0, words = 0;
  {
    nb::gil_scoped_release release;
    const Crc32 crc;
    const std::size_t step = site ? site : 4096;
    for (std::size_t at = first; at < last; at += step) {
      const std::size_t size = std::min(step, last - at);
      words += copied(stored.data() + at, found.data() + at, size);
      if (!site) continue;
      const std::uint32_t sum = crc(stored.data() + at, size);
      suma ^= rotated(sum, at / site % 29);
      sumb ^= rotated(sum, at / site % 31);
    }
  }
  return std::tuple(suma, sumb, words);
}

template <class T>
double largest_number(Vector<T> numbers, std::size_t first, std::size_t last) {
  if (last < first || last > numbers.size()) throw std::invalid_argument("numbers");
  nb::gil_scoped_release release;
  constexpr std::size_t kLanes = 8;
  T largest[kLanes]{}, finite[kLanes]{};  // x - x is 0 for what is finite, else a NaN that stays
  std::size_t i = first;
  for (; i + kLanes <= last; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const T x = numbers.data()[i + lane];
      largest[lane] = std::abs(x) > largest[lane] ? std::abs(x) : largest[lane];
      finite[lane] += x - x;
    }
  }
  for (; i < last; ++i) {
    const T x = numbers.data()[i];
    largest[0] = std::abs(x) > largest[0] ? std::abs(x) : largest[0];
    finite[0] += x - x;
  }
  double worst = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    worst = std::max(worst, static_cast<double>(largest[lane]));
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) worst += finite[lane];
  return worst;
}

}  // namespace

void bind_stored(nb::module_& module) {
  module.def("take_numbers", &take_numbers, nb::arg("stored"), nb::arg("found"), nb::arg("width"),
             nb::arg("swapped"), nb::arg("site"), nb::arg("first"), nb::arg("last"),
             "Copies bytes first to last - 1 of numbers of `width` bytes, in the other byte order "
             "if `swapped`. Gives the exclusive or of the CRC-32 of every `site` bytes, rotated by "
             "the site modulo 29 and 31 (0 where site is 0), and the sum of all 32-bit words.");
  module.def("largest_number", &largest_number<float>, nb::arg("numbers"), nb::arg("first"),
             nb::arg("last"));
  module.def("largest_number", &largest_number<double>, nb::arg("numbers"), nb::arg("first"),
             nb::arg("last"),
             "The largest absolute value of numbers first to last - 1; not finite if one is not.");
}

}  // namespace hardscape::gauge
