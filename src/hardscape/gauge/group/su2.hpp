// SU(2) subgroups of SU(N), and what the local methods choose in them.
#pragma once

#include "gauge/group/group.hpp"

#if !defined(__CUDACC__)
#include <cmath>
#endif

namespace hardscape::gauge {

#if !defined(__CUDACC__)
using std::cos, std::exp, std::log, std::sin, std::sqrt;
#endif

// a0 + i a.sigma = [[a0 + i a3, a2 + i a1], [-a2 + i a1, a0 - i a3]]
template <class T>
struct Quaternion {
  T a0, a1, a2, a3;

  HS_HD T square() const { return plus(plus(plus(T(a0 * a0), a1, a1), a2, a2), a3, a3); }

  HS_HD Quaternion scaled(T c) const { return {c * a0, c * a1, c * a2, c * a3}; }

  HS_HD Quaternion normalized() const { return scaled(inverse_sqrt(square())); }
};

// Product in the order of the matrices.
template <class T>
HS_HD inline Quaternion<T> operator*(const Quaternion<T>& a, const Quaternion<T>& b) {
  return {minus(minus(minus(T(a.a0 * b.a0), a.a1, b.a1), a.a2, b.a2), a.a3, b.a3),
          plus(T(a.a0 * b.a1), a.a1, b.a0) - minus(T(a.a2 * b.a3), a.a3, b.a2),
          plus(T(a.a0 * b.a2), a.a2, b.a0) - minus(T(a.a3 * b.a1), a.a1, b.a3),
          plus(T(a.a0 * b.a3), a.a3, b.a0) - minus(T(a.a1 * b.a2), a.a2, b.a1)};
}

// Multiplies rows i and j of a, or of its first columns, by r from the left.
template <int N, class T>
HS_HD inline void rotate_rows(Matrix<N, T>& a, int i, int j, const Quaternion<T>& r,
                              int columns = N) {
  for (int k = 0; k < columns; ++k) {
    const T x = a.re[i][k], y = a.im[i][k], u = a.re[j][k], v = a.im[j][k];
    a.re[i][k] = minus(plus(minus(T(r.a0 * x), r.a3, y), r.a2, u), r.a1, v);
    a.im[i][k] = plus(plus(plus(T(r.a0 * y), r.a3, x), r.a2, v), r.a1, u);
    a.re[j][k] = minus(minus(plus(T(r.a0 * u), r.a3, v), r.a2, x), r.a1, y);
    a.im[j][k] = plus(minus(minus(T(r.a0 * v), r.a3, u), r.a2, y), r.a1, x);
  }
}

// r^omega to first (second = 0) or second order (second = omega (omega - 1) / 2) in r - 1,
// projected. omega = 2 to second order is r^2 exactly.
template <class T>
HS_HD inline Quaternion<T> power(const Quaternion<T>& r, T omega, T second) {
  const RealOf<T> one = 1, two = 2;
  const T s = r.a0 - one;
  const T vector = plus(plus(T(r.a1 * r.a1), r.a2, r.a2), r.a3, r.a3);
  const T c = plus(omega, T(two * second), s);
  const T first = plus(T(T{} + one), omega, s);
  const Quaternion<T> sum{plus(first, second, plus(T(-vector), s, s)), c * r.a1, c * r.a2,
                          c * r.a3};
  return sum.normalized();
}

// Uniform in [0, 1), in as many bits as R has.
template <class R>
HS_HD inline R uniform(RandomStream& random) {
  if constexpr (sizeof(R) == sizeof(float)) {
    return static_cast<float>(random.next() >> 40) * 0x1p-24f;
  } else {
    return random.uniform();
  }
}

// Cosine and sine of 2 pi u.
#if defined(__CUDACC__)
HS_HD inline float cos_turn(float u) { return cospif(2 * u); }
HS_HD inline double cos_turn(double u) { return cospi(2 * u); }
HS_HD inline float sin_turn(float u) { return sinpif(2 * u); }
HS_HD inline double sin_turn(double u) { return sinpi(2 * u); }
#else
template <class R>
inline R cos_turn(R u) {
  return cos(R(2 * 3.14159265358979323846) * u);
}
template <class R>
inline R sin_turn(R u) {
  return sin(R(2 * 3.14159265358979323846) * u);
}
#endif

// Density exp(k x) sqrt(1 - x^2) of x in [-1, 1], by the rejection of A. D. Kennedy and
// B. J. Pendleton, Phys. Lett. B 156, 393 (1985) where k is large, and by plain rejection else.
template <class R>
HS_HD inline R heatbath_cosine(R k, RandomStream& random) {
  if (k < R(0.5)) {
    for (;;) {
      const R x = plus(R(-1), R(2), uniform<R>(random)), accept = uniform<R>(random);
      if (accept * accept <= minus(R(1), x, x) * exp(2 * plus(-k, k, x))) return x;
    }
  }
  for (;;) {
    const R c = cos_turn(uniform<R>(random));
    const R first = log(1 - uniform<R>(random)), second = log(1 - uniform<R>(random));
    const R delta = -plus(first, R(c * c), second) / k, accept = uniform<R>(random);
    if (delta <= 2 && accept * accept <= minus(R(1), R(0.5), delta)) return 1 - delta;
  }
}

// An element of SU(2) at the angle of cosine x from the identity, its axis uniform.
template <class R>
HS_HD inline Quaternion<R> around_identity(R x, RandomStream& random) {
  const R z = plus(R(-1), R(2), uniform<R>(random)), phi = uniform<R>(random);
  const R square = minus(R(1), x, x), length = sqrt(square > 0 ? square : R(0));
  const R flat = length * sqrt(minus(R(1), z, z));
  return {x, flat * cos_turn(phi), flat * sin_turn(phi), length * z};
}

// An element of SU(N) from the Haar measure: rows of Gaussian numbers, orthonormalized in turn.
template <int N>
HS_HD inline Matrix<N, double> random_element(RandomStream& random) {
  Matrix<N, double> a{};
  for (int i = 0; i < kRowsKept<N>; ++i) {
    for (int j = 0; j < N; ++j) {
      const double radius = sqrt(-2 * log(1 - random.uniform()));
      const double phi = 2 * 3.14159265358979323846 * random.uniform();
      a.re[i][j] = radius * cos(phi);
      a.im[i][j] = radius * sin(phi);
    }
  }
  unitarize(a);
  if constexpr (N > 3) unitarize(a);  // rows that nearly depend on one another lose digits
  return a;
}

}  // namespace hardscape::gauge
