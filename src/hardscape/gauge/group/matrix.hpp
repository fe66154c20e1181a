// Square complex matrices, one a lane.
#pragma once

#include "gauge/group/lanes.hpp"

#if !defined(__CUDACC__)
#include <complex>
#endif

namespace hardscape::gauge {

template <int N, class T>
struct Matrix {
  T re[N][N], im[N][N];

  HS_HD static Matrix zero() { return Matrix{}; }

  HS_HD static Matrix identity() {
    Matrix one{};
    for (int i = 0; i < N; ++i) one.re[i][i] = one.re[i][i] + RealOf<T>(1);
    return one;
  }
};

// Sums grow by one product at a time: each is then one instruction.
template <class T>
struct Sum {
  T re{}, im{};

  // += (a + ib)(c + id)
  HS_HD void add(const T& a, const T& b, const T& c, const T& d) {
    re = plus(re, a, c);
    im = plus(im, a, d);
    re = minus(re, b, d);
    im = plus(im, b, c);
  }

  // += (a + ib)(c - id)
  HS_HD void add_conjugate(const T& a, const T& b, const T& c, const T& d) {
    re = plus(re, a, c);
    im = plus(im, b, c);
    re = plus(re, b, d);
    im = minus(im, a, d);
  }
};

// c = a b, or a b^dagger, of matrices with four rows or more: a row's sums grow beside one another.
template <bool kAdjoint, int N, class A, class T>
HS_HD inline void multiply_rows(const A& a, const Matrix<N, T>& b, Matrix<N, T>& c) {
  HS_ROLLED for (int i = 0; i < N; ++i) {
    Sum<T> row[N];
    HS_ROLLED for (int k = 0; k < N; ++k) {
      HS_UNROLL for (int j = 0; j < N; ++j) {
        if constexpr (kAdjoint) {
          row[j].add_conjugate(a.re[i][k], a.im[i][k], b.re[j][k], b.im[j][k]);
        } else {
          row[j].add(a.re[i][k], a.im[i][k], b.re[k][j], b.im[k][j]);
        }
      }
    }
    HS_UNROLL for (int j = 0; j < N; ++j) {
      c.re[i][j] = row[j].re;
      c.im[i][j] = row[j].im;
    }
  }
}

template <bool kAdjoint, int N, class A, class T>
HS_HD inline Matrix<N, T> multiply_rows(const A& a, const Matrix<N, T>& b) {
  Matrix<N, T> c;
  multiply_rows<kAdjoint>(a, b, c);
  return c;
}

template <int N, class T>
HS_HD inline Matrix<N, T> multiply(const Matrix<N, T>& a, const Matrix<N, T>& b) {
  if constexpr (N > 3) return multiply_rows<false, N>(a, b);
  Matrix<N, T> c;
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      Sum<T> sum;
      for (int k = 0; k < N; ++k) sum.add(a.re[i][k], a.im[i][k], b.re[k][j], b.im[k][j]);
      c.re[i][j] = sum.re;
      c.im[i][j] = sum.im;
    }
  }
  return c;
}

// a b^dagger
template <int N, class T>
HS_HD inline Matrix<N, T> multiply_adjoint(const Matrix<N, T>& a, const Matrix<N, T>& b) {
  if constexpr (N > 3) return multiply_rows<true, N>(a, b);
  Matrix<N, T> c;
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      Sum<T> sum;
      for (int k = 0; k < N; ++k) sum.add_conjugate(a.re[i][k], a.im[i][k], b.re[j][k], b.im[j][k]);
      c.re[i][j] = sum.re;
      c.im[i][j] = sum.im;
    }
  }
  return c;
}

// What is kept of an element of the group: all rows but the last, which follows from them; from
// four rows on that takes longer than to read it.
template <int N>
inline constexpr int kRowsKept = N > 3 ? N : N - 1;
template <int N, class T>
struct Rows {
  T re[kRowsKept<N>][N], im[kRowsKept<N>][N];
};

// Calls f with the numbers, one of each, that stand in the same place of a and the others, for all
// places of a: real part and imaginary part by turns, row by row, as complex numbers lie in memory.
template <class F, class A, class... Others>
HS_HD inline void each_number(F&& f, A& a, Others&... others) {
  constexpr int kRows = sizeof a.re / sizeof a.re[0];
  constexpr int kColumns = sizeof a.re[0] / sizeof a.re[0][0];
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      f(a.re[i][j], others.re[i][j]...);
      f(a.im[i][j], others.im[i][j]...);
    }
  }
}

#if !defined(__CUDACC__)
// Lane l is lane lanes[l] of m; null leaves all in place.
template <int N, class V>
inline Matrix<N, V> permuted(const Matrix<N, V>& m, const std::int32_t* lanes) {
  if (lanes == nullptr) return m;
  constexpr int kCount = Lanes<V>::kCount;
  Matrix<N, V> result = m;
  if constexpr (kCount < 4) {
    each_number(
        [&](V& to, const V& x) {
          for (int lane = 0; lane < kCount; ++lane) set_lane(to, lane, lane_of(x, lanes[lane]));
        },
        result, m);
  } else {
    Packed<Word<RealOf<V>>, kCount> from{};
    for (int lane = 0; lane < kCount; ++lane) from[lane] = lanes[lane];
    each_number([&](V& to, const V& x) { to = __builtin_shuffle(x, from); }, result, m);
  }
  return result;
}

// One lane of a matrix, or of rows, from and to complex numbers in memory.
template <class M, class Real>
inline void put(M& m, int lane, const std::complex<Real>* from) {
  const Real* next = reinterpret_cast<const Real*>(from);
  each_number([&]<class V>(V& x) { set_lane(x, lane, static_cast<RealOf<V>>(*next++)); }, m);
}
template <class M, class Real>
inline void get(const M& m, int lane, std::complex<Real>* to) {
  Real* next = reinterpret_cast<Real*>(to);
  each_number([&](const auto& x) { *next++ = static_cast<Real>(lane_of(x, lane)); }, m);
}

// Of W sites, matrix `which` of the `many` that each of them has.
template <int N, int W, class Real>
inline Matrix<N, Packed<double, W>> gathered(const std::complex<Real>* from, const int* sites,
                                             int many = 1, int which = 0) {
  Matrix<N, Packed<double, W>> m;
  for (int lane = 0; lane < W; ++lane) {
    put(m, lane, from + (many * static_cast<std::size_t>(sites[lane]) + which) * N * N);
  }
  return m;
}
#endif

template <int N, class T>
HS_HD inline Matrix<N, T> adjoint(const Matrix<N, T>& a) {
  Matrix<N, T> c;
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      c.re[i][j] = a.re[j][i];
      c.im[i][j] = -a.im[j][i];
    }
  }
  return c;
}

template <int N, class T>
HS_HD inline void add(Matrix<N, T>& a, const Matrix<N, T>& b) {
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      a.re[i][j] += b.re[i][j];
      a.im[i][j] += b.im[i][j];
    }
  }
}

template <int N, class T>
HS_HD inline Matrix<N, T> scaled(Matrix<N, T> a, T c) {
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      a.re[i][j] *= c;
      a.im[i][j] *= c;
    }
  }
  return a;
}

// a + c (b - a)
template <int N, class T>
HS_HD inline Matrix<N, T> extrapolate(const Matrix<N, T>& a, const Matrix<N, T>& b, T c) {
  Matrix<N, T> sum;
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      sum.re[i][j] = plus(a.re[i][j], c, b.re[i][j] - a.re[i][j]);
      sum.im[i][j] = plus(a.im[i][j], c, b.im[i][j] - a.im[i][j]);
    }
  }
  return sum;
}

template <int N, class T>
HS_HD inline T real_trace(const Matrix<N, T>& a) {
  T sum = a.re[0][0];
  for (int i = 1; i < N; ++i) sum += a.re[i][i];
  return sum;
}

template <int N, class T>
HS_HD inline void normalize_row(Matrix<N, T>& a, int i) {
  T square = plus(T(a.re[i][0] * a.re[i][0]), a.im[i][0], a.im[i][0]);
  for (int j = 1; j < N; ++j) {
    square = plus(square, a.re[i][j], a.re[i][j]);
    square = plus(square, a.im[i][j], a.im[i][j]);
  }
  const T scale = inverse_sqrt(square);
  for (int j = 0; j < N; ++j) {
    a.re[i][j] *= scale;
    a.im[i][j] *= scale;
  }
}

}  // namespace hardscape::gauge
