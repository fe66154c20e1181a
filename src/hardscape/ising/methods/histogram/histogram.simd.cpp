// Counting states by energy level with one histogram over all states.
//
// Levels are integers, quadratic in bits q = 0 or 1. The histogram index of a state is such a form
// as well, because the fields on the spins left out are linear in the others: one increment then
// counts 2^k states, for k spins left out, and a fold at the end tells them apart.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

#include "native/arrays.hpp"

namespace hardscape::ising {
namespace {

using Index = std::int32_t;

// A uint32 counter cannot overflow within this many increments.
constexpr std::uint64_t kIncrementsBetweenFolds = std::uint64_t{1} << 31;
constexpr std::uint64_t kBlocksBetweenPolls = 1024;

// index(q) = base + sum_i linear_i q_i + sum_{i<j} pairs_ij q_i q_j, over `size` bits.
struct Form {
  std::size_t size;
  const Index* linear;
  const Index* pairs;  // symmetric, size * size, empty diagonal
  Index base;

  Index pair(std::size_t i, std::size_t j) const { return pairs[i * size + j]; }

  Index at(std::uint64_t bits) const {
    Index sum = base;
    for (std::size_t i = 0; i < size; ++i) {
      if (!(bits >> i & 1)) continue;
      sum += linear[i];
      for (std::size_t j = 0; j < i; ++j) {
        if (bits >> j & 1) sum += pair(i, j);
      }
    }
    return sum;
  }
};

// Walks the upper bits of a form in Gray code and holds the indices of all states of the low bits.
class Blocks {
 public:
  // Low state x counts in copy x mod `copies` of the table, so that increments that follow one
  // another seldom wait for the same counter.
  Blocks(const Form& form, std::size_t low, std::uint64_t position, std::size_t copies,
         std::size_t cells)
      : upper_(form.size - low),
        gray_(position ^ position >> 1),
        index_(std::size_t{1} << low),
        cross_(upper_ << low),
        field_(upper_),
        pairs_(upper_ * upper_) {
    const std::size_t size = index_.size();
    for (std::size_t x = 0; x < size; ++x) {
      index_[x] = form.at(gray_ << low | x) + static_cast<Index>(x % copies * cells);
      for (std::size_t i = 0; i < upper_; ++i) {
        Index sum = 0;
        for (std::size_t j = 0; j < low; ++j) sum += (x >> j & 1) ? form.pair(low + i, j) : 0;
        cross_[i * size + x] = sum;
      }
    }
    for (std::size_t i = 0; i < upper_; ++i) {
      field_[i] = form.linear[low + i];
      for (std::size_t j = 0; j < upper_; ++j) {
        pairs_[i * upper_ + j] = form.pair(low + i, low + j);
        if (gray_ >> j & 1) field_[i] += pairs_[i * upper_ + j];
      }
    }
  }

  // Counts the states of this block. Two indices a load: loads, not additions, would be the limit.
  void count(std::uint32_t* __restrict table) const {
    const std::size_t size = index_.size();
    if (size % 8) {
      for (const Index x : index_) ++table[x];
      return;
    }
    for (std::size_t x = 0; x < size; x += 8) {
      std::uint64_t two[4];
      std::memcpy(two, &index_[x], sizeof two);
      for (const std::uint64_t both : two) {
        ++table[static_cast<std::uint32_t>(both)];
        ++table[both >> 32];
      }
    }
  }

  // Goes to the block at `position` from the one before it.
  void advance(std::uint64_t position) {
    const auto bit = static_cast<std::size_t>(std::countr_zero(position));
    const Index minus = (gray_ >> bit & 1) ? -1 : 0;
    gray_ ^= std::uint64_t{1} << bit;
    const std::size_t size = index_.size();
    const Index field = field_[bit];
    const Index* __restrict cross = &cross_[bit * size];
    Index* __restrict index = index_.data();
    for (std::size_t x = 0; x < size; ++x) index[x] += ((cross[x] + field) ^ minus) - minus;
    const Index* __restrict pairs = &pairs_[bit * upper_];
    for (std::size_t i = 0; i < upper_; ++i) field_[i] += (pairs[i] ^ minus) - minus;
  }

 private:
  std::size_t upper_;
  std::uint64_t gray_;
  std::vector<Index> index_, cross_, field_, pairs_;
};

// How a table of (rows, columns) counters is read: a state in (row, column) with the bits x of the
// spins left out has level shifts[row][x] + stride * column.
struct Fold {
  std::size_t rows, columns, patterns, levels;
  const std::int64_t* shifts;
  std::int64_t stride;

  std::size_t cells() const { return rows * columns; }

  // Adds the table's counts to `counts` and clears the table.
  void drain(std::vector<std::uint32_t>& table, std::size_t copies,
             std::vector<std::uint64_t>& counts) const {
    for (std::size_t copy = 1; copy < copies; ++copy) {
      // All copies together hold at most kIncrementsBetweenFolds.
      for (std::size_t i = 0; i < cells(); ++i) table[i] += table[copy * cells() + i];
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const std::uint32_t* cell = &table[row * columns];
      std::size_t first = 0, last = columns;
      while (first < last && !cell[first]) ++first;
      while (last > first && !cell[last - 1]) --last;
      // Cells outside [first, last) may stand for levels outside the axis; they are empty.
      for (std::size_t x = 0; x < patterns && first < last; ++x) {
        const std::int64_t shift = shifts[row * patterns + x];
        for (std::size_t c = first; c < last; ++c) {
          counts[static_cast<std::size_t>(shift + stride * static_cast<std::int64_t>(c))] +=
              cell[c];
        }
      }
    }
    std::fill(table.begin(), table.end(), 0);
  }
};

auto density_histogram(Vector<Index> linear, Matrix<Index> pairs, Index base, std::size_t low,
                       std::size_t copies, Matrix<std::int64_t> shifts, std::size_t columns,
                       std::int64_t stride, std::size_t levels, std::uint64_t first,
                       std::uint64_t last, Vector<std::uint8_t> stop) {
  const Form form{linear.shape(0), linear.data(), pairs.data(), base};
  const Fold fold{shifts.shape(0), columns, shifts.shape(1), levels, shifts.data(), stride};
  std::vector<std::uint64_t> counts(levels);
  std::uint64_t done = first;
  {
    nb::gil_scoped_release release;
    const volatile std::uint8_t* stopped = stop.data();
    std::vector<std::uint32_t> table(fold.cells() * copies);
    Blocks blocks(form, low, first, copies, fold.cells());
    const std::uint64_t blocks_between_folds = kIncrementsBetweenFolds >> low;
    while (done < last && !*stopped) {
      const std::uint64_t fold_at = std::min(last, done + blocks_between_folds);
      while (done < fold_at && !*stopped) {
        const std::uint64_t poll_at = std::min(fold_at, done + kBlocksBetweenPolls);
        while (done < poll_at) {
          blocks.count(table.data());
          if (++done < last) blocks.advance(done);
        }
      }
      fold.drain(table, copies, counts);
    }
  }
  return std::make_tuple(to_numpy(std::move(counts), {levels}), done == last);
}

}  // namespace

void bind_histogram(nb::module_& module) {
  module.def(
      "density_histogram", &density_histogram, nb::arg("linear"), nb::arg("pairs"), nb::arg("base"),
      nb::arg("low"), nb::arg("copies"), nb::arg("shifts"), nb::arg("columns"), nb::arg("stride"),
      nb::arg("levels"), nb::arg("first"), nb::arg("last"), nb::arg("stop"),
      "Count the states of blocks first to last-1 by level; also tells whether all were done.");
}

}  // namespace hardscape::ising
