// From the textbook's sum to ours, an idea a step: what each of them is worth. For host and GPU.
//
// Terms are numbered from 0; a range of them is added up, in double precision and without a bound.
#pragma once

#include "native/device.hpp"

namespace hardscape::permanents::ladder {

using Count = unsigned long long;

enum Idea : int {
  kAnew,      // Ryser's formula, the sums of each term added up anew: n^2 operations a term
  kGray,      // a Gray code: one row more or less, 2 n operations a term
  kGlynn,     // Glynn's formula: half of the terms
  kPatterns,  // 32 patterns of five rows side by side, whose products do not wait for one another
};

constexpr int kInner = 5;
constexpr int kPatternCount = 1 << kInner;
constexpr int kMostSide = 64;

// Rows whose signs, or presence, number the units that are walked.
HS_HD constexpr int walked(int idea, int n) {
  return idea < kGlynn ? n : idea == kGlynn ? n - 1 : n - 1 - kInner;
}

HS_HD inline int last_bit(Count x) {
#if defined(__CUDACC__)
  return __ffsll(static_cast<long long>(x)) - 1;
#else
  return __builtin_ctzll(x);
#endif
}

HS_HD inline bool is_odd(Count x) {
#if defined(__CUDACC__)
  return __popcll(x) & 1;
#else
  return __builtin_popcountll(x) & 1;
#endif
}

// Sums of the columns for the rows whose bits are set, or with signs: the last row, and the inner
// ones, are left out.
template <int Idea, int Side>
HS_HD inline void column_sums(const double* a, int n, Count bits, double* sums) {
  const int rows = walked(Idea, n);
#pragma unroll
  for (int j = 0; j < n; ++j) sums[j] = Idea == kGlynn ? a[(n - 1) * n + j] : 0.0;
  if constexpr (Idea == kPatterns) {
#pragma unroll
    for (int j = 0; j < n; ++j) sums[j] = a[(n - 1) * n + j];
  }
  for (int i = 0; i < rows; ++i) {
    const bool set = bits >> i & 1;
#pragma unroll
    for (int j = 0; j < n; ++j) {
      const double x = a[i * n + j];
      if constexpr (Idea < kGlynn) {
        sums[j] += set ? x : 0.0;
      } else {
        sums[j] += set ? -x : x;
      }
    }
  }
}

// Units first to last-1. `patterns` holds the inner rows' sums, [column][pattern].
// Side is the side where the compiler knows it, and 0 else.
template <int Idea, int Side>
HS_HD inline double range_sum(const double* a, const double* patterns, int given, Count first,
                              Count last) {
  const int n = Side ? Side : given;
  double sums[Side ? Side : kMostSide];
  double total = 0.0;
  for (Count at = first; at < last; ++at) {
    const Count code = at ^ at >> 1;
    if (Idea == kAnew || at == first) {
      column_sums<Idea, Side>(a, n, code, sums);
    } else {
      const int row = last_bit(at);
      const double sign = (code >> row & 1) == (Idea < kGlynn) ? 1.0 : -1.0;
      const double step = Idea < kGlynn ? sign : 2.0 * sign;
#pragma unroll
      for (int j = 0; j < n; ++j) sums[j] += step * a[row * n + j];
    }
    double term = 0.0;
    if constexpr (Idea == kPatterns) {
      double product[kPatternCount];
#pragma unroll
      for (int x = 0; x < kPatternCount; ++x) product[x] = is_odd(x) ? -1.0 : 1.0;
#pragma unroll
      for (int j = 0; j < n; ++j) {
#pragma unroll
        for (int x = 0; x < kPatternCount; ++x) {
          product[x] *= sums[j] + patterns[j * kPatternCount + x];
        }
      }
#pragma unroll
      for (int x = 0; x < kPatternCount; ++x) term += product[x];
    } else {
      term = 1.0;
#pragma unroll
      for (int j = 0; j < n; ++j) term *= sums[j];
    }
    total += is_odd(code) ? -term : term;
  }
  return total;
}

}  // namespace hardscape::permanents::ladder
