// Whether zeros alone make a permanent 0.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hardscape::permanents {
namespace {

// Matches rows with columns of a matrix of up to 64 rows, one after the other along alternating
// paths (H. Kuhn, Naval Res. Logist. Q. 2, 83 (1955)).
class Matching {
 public:
  explicit Matching(std::vector<std::uint64_t> nonzero)
      : nonzero_(std::move(nonzero)), row_of_(nonzero_.size()) {}

  // Whether every row finds a column of its own.
  bool is_perfect() {
    for (std::size_t i = 0; i < nonzero_.size(); ++i) {
      std::uint64_t unseen = ~std::uint64_t{0};
      if (!place(i, unseen)) return false;
    }
    return true;
  }

 private:
  bool place(std::size_t row, std::uint64_t& unseen) {
    while (const std::uint64_t left = nonzero_[row] & unseen) {
      const std::uint64_t free = left & ~taken_;
      const auto column = static_cast<std::size_t>(std::countr_zero(free ? free : left));
      const std::uint64_t bit = std::uint64_t{1} << column;
      unseen &= ~bit;
      if (free || place(row_of_[column], unseen)) {
        taken_ |= bit;
        row_of_[column] = row;
        return true;
      }
    }
    return false;
  }

  std::vector<std::uint64_t> nonzero_;  // columns of each row
  std::vector<std::size_t> row_of_;
  std::uint64_t taken_ = 0;
};

// Whether a matrix of entries[row][column][part] has a perfect matching of rows with columns.
template <std::size_t Parts>
bool has_matching(const double* entries, std::size_t n) {
  std::vector<std::uint64_t> nonzero(n);
  bool zeros = false;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j, entries += Parts) {
      const bool is = entries[0] != 0 || entries[Parts - 1] != 0;
      nonzero[i] |= static_cast<std::uint64_t>(is) << j;
      zeros = zeros || !is;
    }
  }
  return !zeros || Matching(std::move(nonzero)).is_perfect();
}

}  // namespace
}  // namespace hardscape::permanents
