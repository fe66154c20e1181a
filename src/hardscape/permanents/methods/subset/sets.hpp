// The permanent of a small matrix by subsets of columns, for numbers of any type.
#pragma once

#include <bit>
#include <cstddef>

namespace hardscape::permanents {
namespace {

// Columns that are unrolled, and smallest side: an identity completes smaller matrices.
constexpr std::size_t kLow = 3, kLeastSets = kLow + 1;

// f(S), the permanent of the first |S| rows in the columns S, is the sum over j in S of
// a_j f(S - j) with the entries a of row |S|. `sums` has a place for each set without the last
// column; those with it overwrite them in the same order, or come behind them if all are kept. The
// last one is the permanent. multiply_add(x, a, y) adds a y to x.
template <bool Kept = false, class Sum, class Entry>
const Sum& sum_sets(const Entry* entries, std::size_t n, const Sum& one, Sum* sums) {
  constexpr std::size_t sets = std::size_t{1} << kLow;
  const std::size_t highs = std::size_t{1} << (n - 1 - kLow);
  Sum* own = sums;
  for (std::size_t with_last = 0; with_last < 2; ++with_last) {
    if (Kept && with_last) own += sets * highs;
    for (std::size_t high = 0; high < highs; ++high) {
      // Entries of the row before the first one are not read: no columns are left for them.
      const Entry* row =
          entries + (static_cast<std::size_t>(std::popcount(high)) + with_last) * n - n;
      const auto in_row = [&](std::size_t set, std::size_t j) -> const Entry& {
        return row[static_cast<std::size_t>(std::popcount(set)) * n + j];
      };
      Sum sum[sets] = {};
      if (with_last) {
#pragma GCC unroll 8
        for (std::size_t set = 0; set < sets; ++set) {
          multiply_add(sum[set], in_row(set, n - 1), sums[sets * high + set]);
        }
      } else if (high == 0) {
        sum[0] = one;
      }
      for (std::size_t left = high; left; left &= left - 1) {
        const Sum* before = own + sets * (high ^ (left & -left));
        const std::size_t j = kLow + static_cast<std::size_t>(std::countr_zero(left));
#pragma GCC unroll 8
        for (std::size_t set = 0; set < sets; ++set) {
          multiply_add(sum[set], in_row(set, j), before[set]);
        }
      }
#pragma GCC unroll 8
      for (std::size_t set = 1; set < sets; ++set) {
#pragma GCC unroll 3
        for (std::size_t j = 0; j < kLow; ++j) {
          if (set >> j & 1) multiply_add(sum[set], in_row(set, j), sum[set ^ std::size_t{1} << j]);
        }
      }
#pragma GCC unroll 8
      for (std::size_t set = 0; set < sets; ++set) own[sets * high + set] = sum[set];
    }
  }
  return own[sets * highs - 1];
}

}  // namespace
}  // namespace hardscape::permanents
