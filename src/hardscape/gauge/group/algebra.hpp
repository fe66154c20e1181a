// The Lie algebra of SU(N), packed: an antihermitian traceless matrix as the complex numbers above
// its diagonal, and then the imaginary parts of the diagonal but for the last, two in a number.
#pragma once

#include "gauge/group/group.hpp"

namespace hardscape::gauge {

template <int N, class T>
struct Algebra {
  static constexpr int kAbove = N * (N - 1) / 2, kSize = kAbove + N / 2;
  T re[kSize], im[kSize];

  HS_HD static Algebra pack(const Matrix<N, T>& x) {
    Algebra a{};
    int next = 0;
    for (int i = 0; i < N; ++i) {
      for (int j = i + 1; j < N; ++j, ++next) {
        a.re[next] = x.re[i][j];
        a.im[next] = x.im[i][j];
      }
    }
    for (int i = 0; i < N - 1; ++i) (i % 2 ? a.im : a.re)[kAbove + i / 2] = x.im[i][i];
    return a;
  }

  HS_HD Matrix<N, T> unpack() const {
    Matrix<N, T> x{};
    int next = 0;
    for (int i = 0; i < N; ++i) {
      for (int j = i + 1; j < N; ++j, ++next) {
        x.re[i][j] = re[next];
        x.im[i][j] = im[next];
        x.re[j][i] = -re[next];
        x.im[j][i] = im[next];
      }
    }
    for (int i = 0; i < N - 1; ++i) {
      x.im[i][i] = (i % 2 ? im : re)[kAbove + i / 2];
      x.im[N - 1][N - 1] = i ? x.im[N - 1][N - 1] - x.im[i][i] : -x.im[i][i];
    }
    return x;
  }
};

// The part of a matrix in the algebra: (M - M^dagger) / 2 without its trace.
template <int N, class T>
HS_HD inline Matrix<N, T> antihermitian(const Matrix<N, T>& m) {
  Matrix<N, T> x;
  T trace{};
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      x.re[i][j] = RealOf<T>(0.5) * (m.re[i][j] - m.re[j][i]);
      x.im[i][j] = RealOf<T>(0.5) * (m.im[i][j] + m.im[j][i]);
    }
    trace += x.im[i][i];
  }
  for (int i = 0; i < N; ++i) x.im[i][i] = minus(x.im[i][i], trace, RealOf<T>(1) / N);
  return x;
}

// exp(x) g to the 14th order, g + x (g + x (g + ...) / 2) / 1: all digits for x of length 1.
template <int N, class T>
HS_HD inline Matrix<N, T> exponential(const Matrix<N, T>& x, const Matrix<N, T>& g) {
  Matrix<N, T> sum = g;
  for (int order = 14; order > 0; --order) {
    sum = multiply(x, sum);
    const RealOf<T> share = RealOf<T>(1) / order;
    each_number([&](T& to, const T& from) { to = from + share * to; }, sum, g);
  }
  return sum;
}

// exp(x) g of a matrix x of the algebra that is made shorter than 1: the fourth order of the
// series, brought back to the group.
template <int N, class T>
HS_HD inline Matrix<N, T> moved(const Matrix<N, T>& g, Matrix<N, T> x) {
  T square = T{} + RealOf<T>(1);
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      square = plus(square, x.re[i][j], x.re[i][j]);
      square = plus(square, x.im[i][j], x.im[i][j]);
    }
  }
  const T scale = inverse_sqrt(square);
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      x.re[i][j] *= scale;
      x.im[i][j] *= scale;
    }
  }
  Matrix<N, T> sum = g;
  for (int order = 4; order > 0; --order) {
    sum = multiply(x, sum);
    for (int i = 0; i < N; ++i) {
      for (int j = 0; j < N; ++j) {
        sum.re[i][j] = plus(g.re[i][j], sum.re[i][j], RealOf<T>(1) / order);
        sum.im[i][j] = plus(g.im[i][j], sum.im[i][j], RealOf<T>(1) / order);
      }
    }
  }
  unitarize(sum);
  return sum;
}

}  // namespace hardscape::gauge
