// Exact energies of given states, and their rounding to float64.
#include <cstdint>
#include <vector>

#include "native/arrays.hpp"
#include "native/wide.hpp"
#include "native/widths.hpp"

namespace hardscape::ising {
namespace {

auto exact_energies(Matrix<std::int8_t> spins, Matrix<std::uint64_t> fields,
                    Vector<std::int64_t> row, Vector<std::int64_t> col,
                    Matrix<std::uint64_t> couplings, Vector<std::uint64_t> offset) {
  const std::size_t states = spins.shape(0), num_spins = spins.shape(1), pairs = row.shape(0);
  return for_width(offset.shape(0), [&]<int Limbs>() {
    using Integer = Wide<Limbs>;
    std::vector<std::uint64_t> result(states * Limbs);
    {
      nb::gil_scoped_release release;
      for (std::size_t n = 0; n < states; ++n) {
        const std::int8_t* s = spins.data() + n * num_spins;
        Integer energy = Integer::load(offset.data());
        for (std::size_t i = 0; i < num_spins; ++i) {
          energy += Integer::load(fields.data() + i * Limbs).flipped(s[i] < 0);
        }
        for (std::size_t k = 0; k < pairs; ++k) {
          const bool minus = (s[row.data()[k]] ^ s[col.data()[k]]) < 0;
          energy += Integer::load(couplings.data() + k * Limbs).flipped(minus);
        }
        energy.store(result.data() + n * Limbs);
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
