// One step of the frontier method: summing over one spin.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "native/arrays.hpp"

namespace hardscape::ising {
namespace {

// Histograms of `words` 64-bit words a count, least significant plane first: row r, word w and
// column c at ((r * words) + w) * width + c.
struct Planes {
  std::size_t words, width;
  std::size_t row(std::size_t r) const { return r * words * width; }
};

// Copies `used` columns of a row into an empty row.
void copy_row(const Planes& from, const std::uint64_t* source, std::size_t used, const Planes& to,
              std::uint64_t* target) {
  for (std::size_t w = 0; w < from.words; ++w) {
    std::copy_n(source + w * from.width, used, target + w * to.width);
  }
}

// Adds `used` columns of a row into another row of as many words or more; no count overflows those.
void add_row(const Planes& from, const std::uint64_t* __restrict source, std::size_t used,
             const Planes& to, std::uint64_t* __restrict target, std::uint64_t* __restrict carry) {
  if (to.words == 1) {
    for (std::size_t c = 0; c < used; ++c) target[c] += source[c];
    return;
  }
  std::fill_n(carry, used, 0);
  for (std::size_t w = 0; w < from.words; ++w) {
    const std::uint64_t* __restrict a = source + w * from.width;
    std::uint64_t* __restrict b = target + w * to.width;
    for (std::size_t c = 0; c < used; ++c) {
      const std::uint64_t with_carry = a[c] + carry[c];
      b[c] += with_carry;
      carry[c] = (with_carry < carry[c]) | (b[c] < with_carry);
    }
  }
  for (std::size_t w = from.words; w < to.words; ++w) {
    std::uint64_t* __restrict b = target + w * to.width;
    for (std::size_t c = 0; c < used; ++c) {
      b[c] += carry[c];
      carry[c] = b[c] < carry[c];
    }
  }
}

// Sums over one spin: new row m is the sum of rows first[m] and second[m], each moved up by a
// shift.
auto frontier_eliminate(Matrix<std::uint64_t> table, std::size_t words, Vector<std::int64_t> used,
                        Matrix<std::int64_t> rows, Matrix<std::int64_t> shifts,
                        std::size_t new_words, std::size_t width, Vector<std::uint8_t> stop) {
  const Planes from{words, table.shape(1) / words}, to{new_words, width};
  const std::size_t count = rows.shape(1);
  std::vector<std::uint64_t> result(to.row(count));
  {
    nb::gil_scoped_release release;
    const volatile std::uint8_t* stopped = stop.data();
    std::vector<std::uint64_t> carry(from.width);
    for (std::size_t m = 0; m < count && !*stopped; ++m) {
      const auto first = static_cast<std::size_t>(rows.data()[m]);
      const auto second = static_cast<std::size_t>(rows.data()[count + m]);
      std::uint64_t* target = result.data() + to.row(m);
      copy_row(from, table.data() + from.row(first), static_cast<std::size_t>(used.data()[first]),
               to, target + shifts.data()[m]);
      add_row(from, table.data() + from.row(second), static_cast<std::size_t>(used.data()[second]),
              to, target + shifts.data()[count + m], carry.data());
    }
  }
  return to_numpy(std::move(result), {count, new_words * width});
}

}  // namespace

void bind_frontier(nb::module_& module) {
  module.def("frontier_eliminate", &frontier_eliminate, nb::arg("table"), nb::arg("words"),
             nb::arg("used"), nb::arg("rows"), nb::arg("shifts"), nb::arg("new_words"),
             nb::arg("width"), nb::arg("stop"),
             "Sum pairs of shifted histograms: rows and shifts have shape (2, new rows).");
}

}  // namespace hardscape::ising
