// The permanent of a small matrix by subsets of columns, for numbers of any type.
#pragma once

#include <bit>
#include <cstddef>

namespace hardscape::permanents {
namespace {

// Sides: an identity completes smaller matrices to the first one.
constexpr std::size_t kLeastSets = 3, kMostSets = 16;

// f(S), the permanent of the first |S| rows in the columns S, is the sum over j in S of
// a_j f(S - j) with the entries a of row |S|. `sums` has 2^n places; the last one becomes the
// permanent. Columns 0 to 2 are unrolled. multiply_add(x, a, y) adds a y to x.
template <class Sum, class Entry>
const Sum& sum_sets(const Entry* entries, std::size_t n, const Sum& one, Sum* sums) {
  constexpr std::size_t low = kLeastSets, sets = std::size_t{1} << low;
  const std::size_t rest = n - low;
  for (std::size_t high = 0; high < std::size_t{1} << rest; ++high) {
    // Entries of the row before the first one are not read: no columns are left for them.
    const Entry* row = entries + static_cast<std::size_t>(std::popcount(high)) * n - n;
    Sum sum[sets] = {};
    if (high == 0) sum[0] = one;
    for (std::size_t left = high; left; left &= left - 1) {
      const Sum* before = sums + sets * (high ^ (left & -left));
      const Entry* entry = row + low + static_cast<std::size_t>(std::countr_zero(left));
#pragma GCC unroll 8
      for (std::size_t set = 0; set < sets; ++set) {
        multiply_add(sum[set], entry[static_cast<std::size_t>(std::popcount(set)) * n],
                     before[set]);
      }
    }
#pragma GCC unroll 8
    for (std::size_t set = 1; set < sets; ++set) {
#pragma GCC unroll 3
      for (std::size_t j = 0; j < low; ++j) {
        if (set >> j & 1) {
          multiply_add(sum[set], row[static_cast<std::size_t>(std::popcount(set)) * n + j],
                       sum[set ^ std::size_t{1} << j]);
        }
      }
    }
#pragma GCC unroll 8
    for (std::size_t set = 0; set < sets; ++set) sums[sets * high + set] = sum[set];
  }
  return sums[(sets << rest) - 1];
}

}  // namespace
}  // namespace hardscape::permanents
