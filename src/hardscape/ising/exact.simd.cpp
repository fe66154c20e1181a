// Exact energies of given states, and their rounding to float64.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "native/arrays.hpp"
#include "native/wide.hpp"
#include "native/widths.hpp"

namespace hardscape::ising {
namespace {

// States whose energies are summed at once, side by side.
constexpr std::size_t kTogether = 16;
using Lanes = std::array<std::int64_t, kTogether>;

// A sum of signed integers in digits of 32 bits, whose carries wait for the end.
template <int Limbs>
struct Sums {
  static constexpr std::size_t kDigits = 2 * Limbs;

  std::array<Lanes, kDigits> digits{};

  // Adds an integer of so many words to the states, or takes it away where `minus` is -1, not 0.
  void add(const std::uint64_t* words, const Lanes& minus) {
    for (std::size_t d = 0; d < kDigits; ++d) {
      const auto word = static_cast<std::int64_t>(words[d / 2]);
      const std::int64_t low = word & 0xffffffff, high = word >> 32;
      const std::int64_t digit = d % 2 == 0 ? low : d + 1 < kDigits ? high & 0xffffffff : high;
      for (std::size_t i = 0; i < kTogether; ++i) digits[d][i] += (digit ^ minus[i]) - minus[i];
    }
  }

  Wide<Limbs> of(std::size_t i) const {
    Wide<Limbs> sum;
    std::int64_t carry = 0;
    for (std::size_t d = 0; d < kDigits; ++d) {
      const std::int64_t digit = digits[d][i] + carry;
      carry = digit >> 32;
      const std::uint64_t bits = static_cast<std::uint64_t>(digit) & 0xffffffff;
      sum.word[d / 2] = d % 2 ? sum.word[d / 2] | bits << 32 : bits;
    }
    return sum;
  }
};

// `minus` of each spin of some states.
void signs(const std::int8_t* spins, std::size_t count, std::size_t num_spins,
           std::vector<Lanes>& minus) {
  for (std::size_t n = 0; n < count; ++n) {
    for (std::size_t i = 0; i < num_spins; ++i) minus[i][n] = spins[n * num_spins + i] < 0 ? -1 : 0;
  }
}

auto exact_energies(Matrix<std::int8_t> spins, Matrix<std::uint64_t> fields,
                    Vector<std::int64_t> row, Vector<std::int64_t> col,
                    Matrix<std::uint64_t> couplings, Vector<std::uint64_t> offset) {
  const std::size_t states = spins.shape(0), num_spins = spins.shape(1), pairs = row.shape(0);
  return for_width(offset.shape(0), [&]<int Limbs>() {
    std::vector<std::uint64_t> result(states * Limbs);
    {
      nb::gil_scoped_release release;
      std::vector<Lanes> minus(num_spins);
      for (std::size_t first = 0; first < states; first += kTogether) {
        const std::size_t count = std::min(kTogether, states - first);
        signs(spins.data() + first * num_spins, count, num_spins, minus);
        Sums<Limbs> sums;
        sums.add(offset.data(), {});
        for (std::size_t i = 0; i < num_spins; ++i) {
          sums.add(fields.data() + i * Limbs, minus[i]);
        }
        for (std::size_t k = 0; k < pairs; ++k) {
          const Lanes &one = minus[row.data()[k]], &other = minus[col.data()[k]];
          Lanes differ;
          for (std::size_t i = 0; i < kTogether; ++i) differ[i] = one[i] ^ other[i];
          sums.add(couplings.data() + k * Limbs, differ);
        }
        for (std::size_t i = 0; i < count; ++i) {
          sums.of(i).store(result.data() + (first + i) * Limbs);
        }
      }
    }
    return to_numpy(std::move(result), {states, Limbs});
  });
}

auto exact_to_double(Matrix<std::uint64_t> words, int exponent) {
  const std::size_t count = words.shape(0);
  return for_width(words.shape(1), [&]<int Limbs>() {
    std::vector<double> result(count);
    for (std::size_t i = 0; i < count; ++i) {
      result[i] = Wide<Limbs>::load(words.data() + i * Limbs).to_double(exponent);
    }
    return to_numpy(std::move(result), {count});
  });
}

}  // namespace

void bind_exact(nb::module_& module) {
  module.def("exact_energies", &exact_energies, nb::arg("spins"), nb::arg("fields"), nb::arg("row"),
             nb::arg("col"), nb::arg("couplings"), nb::arg("offset"),
             "Exact energies of int8 states (n, N) as two's complement words (n, limbs).");
  module.def("exact_to_double", &exact_to_double, nb::arg("words"), nb::arg("exponent"),
             "words * 2**exponent, rounded to nearest, ties to even.");
}

}  // namespace hardscape::ising
