// Double-double numbers, high + low, for host vectors and for CUDA: products and sums whose
// relative error is a few units of 2^-106 (M. Joldes, J.-M. Muller, V. Popescu, ACM TOMS 44, 15
// (2017)). To be compiled without contraction of products and sums. `fused(a, b, c)`, a b + c
// rounded once, is to be declared for T before this.
#pragma once

#include "native/device.hpp"

namespace hardscape::permanents {
namespace {

template <class T>
struct DoubleDouble {
  T high, low;
};

// x + y exactly (Knuth).
template <class T>
HS_HD inline DoubleDouble<T> two_sum(T x, T y) {
  const T sum = x + y;
  const T part = sum - x;
  return {sum, (x - (sum - part)) + (y - part)};
}

// The same where |x| >= |y| (Dekker).
template <class T>
HS_HD inline DoubleDouble<T> quick_two_sum(T x, T y) {
  const T sum = x + y;
  return {sum, y - (sum - x)};
}

// Error below 8 units of 2^-106 of |x y|.
template <class T>
HS_HD inline DoubleDouble<T> operator*(DoubleDouble<T> x, DoubleDouble<T> y) {
  const T high = x.high * y.high;
  const T rest = fused(x.low, y.high, fused(x.high, y.low, fused(x.high, y.high, -high)));
  return quick_two_sum(high, rest);
}

// Error below 4 units of 2^-106 of |x| + |y|.
template <class T>
HS_HD inline DoubleDouble<T> operator+(DoubleDouble<T> x, DoubleDouble<T> y) {
  const DoubleDouble<T> sum = two_sum(x.high, y.high);
  return quick_two_sum(sum.high, sum.low + (x.low + y.low));
}

template <class T>
HS_HD inline DoubleDouble<T> operator-(DoubleDouble<T> x) {
  return {-x.high, -x.low};
}

// A real number (one part) or a complex one.
template <class T, int Parts>
struct Extended {
  DoubleDouble<T> part[Parts];

  // Error below 8 (real) or 24 (complex) units of 2^-106 of the product.
  HS_HD inline void multiply(const Extended& other) {
    if constexpr (Parts == 1) {
      part[0] = part[0] * other.part[0];
    } else {
      const DoubleDouble<T> real = part[0] * other.part[0] + -(part[1] * other.part[1]);
      part[1] = part[0] * other.part[1] + part[1] * other.part[0];
      part[0] = real;
    }
  }
};

}  // namespace
}  // namespace hardscape::permanents
