// SU(3) in ten numbers: the first row, and of the second all but what stands below the largest
// number of the first, which follows from the rows' being orthogonal. Each step is written as it is
// rounded, so that whoever reads the numbers has the same matrix; docs/theory/gauge-fixing.md
// bounds how far it is from the one that was written.
#pragma once

#include "gauge/group/matrix.hpp"

#if !defined(__CUDACC__)
#include <bit>
#include <cmath>
#endif

namespace hardscape::gauge {

#if defined(__CUDACC__)
// Its first half, which as a number has the same sign and is as much larger or smaller than others.
HS_HD inline float half_of(double x) { return __int_as_float(__double2hiint(x)); }

// To some 20 bits.
HS_HD inline double near_inverse(double x) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  return y;
}
#else
using std::fabs, std::fma, std::fmax;

inline float half_of(double x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(x) >> 32));
}
inline double near_inverse(double x) { return static_cast<double>(1 / static_cast<float>(x)); }
#endif

// The column of the first row's largest number, real or imaginary; of numbers of one size the
// first.
HS_HD inline int largest_column(const Matrix<3, double>& a) {
  float size[3];
  for (int j = 0; j < 3; ++j) {
    size[j] = fmax(fabs(half_of(a.re[0][j])), fabs(half_of(a.im[0][j])));
  }
  const int first = size[1] > size[0] ? 1 : 0;
  return size[2] > fmax(size[0], size[1]) ? 2 : first;
}

// The largest column and the last one change places in what follows, so that it is the last.
HS_HD inline void to_ten(const Matrix<3, double>& a, double (&ten)[10]) {
  const int largest = largest_column(a);
  for (int j = 0; j < 3; ++j) {
    ten[2 * j] = a.re[0][j];
    ten[2 * j + 1] = a.im[0][j];
  }
  for (int j = 0; j < 2; ++j) {
    ten[6 + 2 * j] = j == largest ? a.re[1][2] : a.re[1][j];
    ten[7 + 2 * j] = j == largest ? a.im[1][2] : a.im[1][j];
  }
}

// The first two rows.
HS_HD inline void from_ten(const double (&ten)[10], Matrix<3, double>& a) {
  for (int j = 0; j < 3; ++j) {
    a.re[0][j] = ten[2 * j];
    a.im[0][j] = ten[2 * j + 1];
  }
  const int largest = largest_column(a);
  const double x = largest == 0 ? a.re[0][0] : largest == 1 ? a.re[0][1] : a.re[0][2];
  const double y = largest == 0 ? a.im[0][0] : largest == 1 ? a.im[0][1] : a.im[0][2];
  // sum of conj(a_j) b_j over the other columns
  double re = 0, im = 0;
  for (int j = 0; j < 2; ++j) {
    const double p = j == largest ? a.re[0][2] : a.re[0][j];
    const double q = j == largest ? a.im[0][2] : a.im[0][j];
    const double u = ten[6 + 2 * j], v = ten[7 + 2 * j];
    re = fma(p, u, re);
    im = fma(p, v, im);
    re = fma(q, v, re);
    im = fma(-q, u, im);
  }
  // Of a matrix of zeros, as links beyond an open boundary are, zeros follow.
  const double square = fma(x, x, fma(y, y, 1e-30));
  double inverse = near_inverse(square);
  const double left = fma(-square, inverse, 1.0);
  inverse = fma(inverse, fma(left, left, left), inverse);
  const double s = -x * inverse, t = -y * inverse;
  const double u = fma(re, s, -im * t), v = fma(re, t, im * s);
  a.re[1][2] = largest == 0 ? ten[6] : largest == 1 ? ten[8] : u;
  a.im[1][2] = largest == 0 ? ten[7] : largest == 1 ? ten[9] : v;
  for (int j = 0; j < 2; ++j) {
    a.re[1][j] = j == largest ? u : ten[6 + 2 * j];
    a.im[1][j] = j == largest ? v : ten[7 + 2 * j];
  }
}

// The matrix that its ten numbers make.
template <int N, class T>
HS_HD inline void round_to_ten(Matrix<N, T>& a) {
  T ten[10];
  to_ten(a, ten);
  from_ten(ten, a);
}

}  // namespace hardscape::gauge
