// Lists of states as Python has them: words of the states and of their energies, lowest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "ising/methods/exhaustive/pool.hpp"
#include "native/arrays.hpp"
#include "native/widths.hpp"

namespace hardscape::ising {

using Words64 = NumpyArray<std::uint64_t>;
// Words that others read and write meanwhile.
using SharedWords = nb::ndarray<std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Calls body.template operator()<Limbs, Code>() for the widths of an energy and of a state.
template <class Body>
auto for_widths(std::size_t limbs, std::size_t words, Body&& body) {
  if (words > 2) throw std::invalid_argument("states of more than 128 spins are not compiled in");
  return for_width(limbs, [&]<int Limbs>() {
    if (words == 2) return body.template operator()<Limbs, unsigned __int128>();
    return body.template operator()<Limbs, std::uint64_t>();
  });
}

template <class Code>
constexpr std::size_t kWords = sizeof(Code) / sizeof(std::uint64_t);

// A state of its words, least significant first.
template <class Code>
Code load_code(const std::uint64_t* words) {
  Code code;
  std::memcpy(&code, words, sizeof code);
  return code;
}

// The states of a pool, in order: words of the states, of which only the first ones may be wanted,
// and of their energies.
template <int Limbs, class Code>
std::pair<std::vector<std::uint64_t>, std::vector<std::uint64_t>> words_of(Pool<Limbs, Code>& pool,
                                                                           std::size_t words) {
  const auto sorted = pool.take_sorted();
  std::vector<std::uint64_t> states(sorted.size() * words), energies(sorted.size() * Limbs);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    std::memcpy(&states[i * words], &sorted[i].state, words * sizeof(std::uint64_t));
    sorted[i].energy.store(energies.data() + i * Limbs);
  }
  return {std::move(states), std::move(energies)};
}

// What body(pool) finds: states (n, words), energies (n, limbs), and what it returns. Of a code's
// words only the first ones may be wanted.
template <int Limbs, class Code, class Body>
auto collect(std::size_t listed, bool witness,
             const std::optional<Vector<std::uint64_t>>& threshold,
             const std::optional<Vector<std::uint64_t>>& window, Body&& body,
             std::size_t words = kWords<Code>) {
  using Integer = Wide<Limbs>;
  const auto integer = [](const auto& words) -> std::optional<Integer> {
    if (!words) return std::nullopt;
    return Integer::load(words->data());
  };
  std::vector<std::uint64_t> states, energies;
  const auto told = [&] {
    nb::gil_scoped_release release;
    Pool<Limbs, Code> pool(listed, witness, integer(window), integer(threshold));
    const auto counted = body(pool);
    std::tie(states, energies) = words_of(pool, words);
    return counted;
  }();
  const std::size_t count = energies.size() / Limbs;
  return std::make_tuple(to_numpy(std::move(states), {count, words}),
                         to_numpy(std::move(energies), {count, Limbs}), told);
}

}  // namespace hardscape::ising
