// Matrices of SU(2) and SU(3), one a lane.
#pragma once

#include "gauge/lanes.hpp"

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

template <int N, class T>
HS_HD inline Matrix<N, T> multiply(const Matrix<N, T>& a, const Matrix<N, T>& b) {
  Matrix<N, T> c;
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      T re = a.re[i][0] * b.re[0][j] - a.im[i][0] * b.im[0][j];
      T im = a.re[i][0] * b.im[0][j] + a.im[i][0] * b.re[0][j];
      for (int k = 1; k < N; ++k) {
        re += a.re[i][k] * b.re[k][j] - a.im[i][k] * b.im[k][j];
        im += a.re[i][k] * b.im[k][j] + a.im[i][k] * b.re[k][j];
      }
      c.re[i][j] = re;
      c.im[i][j] = im;
    }
  }
  return c;
}

// a b^dagger
template <int N, class T>
HS_HD inline Matrix<N, T> multiply_adjoint(const Matrix<N, T>& a, const Matrix<N, T>& b) {
  Matrix<N, T> c;
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      T re = a.re[i][0] * b.re[j][0] + a.im[i][0] * b.im[j][0];
      T im = a.im[i][0] * b.re[j][0] - a.re[i][0] * b.im[j][0];
      for (int k = 1; k < N; ++k) {
        re += a.re[i][k] * b.re[j][k] + a.im[i][k] * b.im[j][k];
        im += a.im[i][k] * b.re[j][k] - a.re[i][k] * b.im[j][k];
      }
      c.re[i][j] = re;
      c.im[i][j] = im;
    }
  }
  return c;
}

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

// a + c (b - a)
template <int N, class T>
HS_HD inline Matrix<N, T> extrapolate(const Matrix<N, T>& a, const Matrix<N, T>& b, T c) {
  Matrix<N, T> sum;
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      sum.re[i][j] = a.re[i][j] + c * (b.re[i][j] - a.re[i][j]);
      sum.im[i][j] = a.im[i][j] + c * (b.im[i][j] - a.im[i][j]);
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

// The third row of an SU(3) matrix: the conjugate cross product of the others.
template <class T>
HS_HD inline void complete(Matrix<3, T>& a) {
  for (int j = 0; j < 3; ++j) {
    const int k = (j + 1) % 3, l = (j + 2) % 3;
    a.re[2][j] = a.re[0][k] * a.re[1][l] - a.im[0][k] * a.im[1][l] -
                 (a.re[0][l] * a.re[1][k] - a.im[0][l] * a.im[1][k]);
    a.im[2][j] = a.re[0][l] * a.im[1][k] + a.im[0][l] * a.re[1][k] -
                 (a.re[0][k] * a.im[1][l] + a.im[0][k] * a.re[1][l]);
  }
}

template <class T>
HS_HD inline void complete(Matrix<2, T>& a) {
  a.re[1][0] = -a.re[0][1];
  a.im[1][0] = a.im[0][1];
  a.re[1][1] = a.re[0][0];
  a.im[1][1] = -a.im[0][0];
}

template <int N, class T>
HS_HD inline void normalize_row(Matrix<N, T>& a, int i) {
  T square = a.re[i][0] * a.re[i][0] + a.im[i][0] * a.im[i][0];
  for (int j = 1; j < N; ++j) square += a.re[i][j] * a.re[i][j] + a.im[i][j] * a.im[i][j];
  const T scale = inverse_sqrt(square);
  for (int j = 0; j < N; ++j) {
    a.re[i][j] *= scale;
    a.im[i][j] *= scale;
  }
}

// Brings a matrix near the group back to it: Gram-Schmidt over the first two rows.
template <class T>
HS_HD inline void unitarize(Matrix<3, T>& a) {
  normalize_row(a, 0);
  T re{}, im{};  // <row 0, row 1>
  for (int j = 0; j < 3; ++j) {
    re += a.re[0][j] * a.re[1][j] + a.im[0][j] * a.im[1][j];
    im += a.re[0][j] * a.im[1][j] - a.im[0][j] * a.re[1][j];
  }
  for (int j = 0; j < 3; ++j) {
    const T x = a.re[0][j], y = a.im[0][j];
    a.re[1][j] -= re * x - im * y;
    a.im[1][j] -= re * y + im * x;
  }
  normalize_row(a, 1);
  complete(a);
}

// The nearest element: a 2x2 matrix that is a real combination of group elements is one, scaled.
template <class T>
HS_HD inline void unitarize(Matrix<2, T>& a) {
  a.re[0][0] += a.re[1][1];
  a.im[0][0] -= a.im[1][1];
  a.re[0][1] -= a.re[1][0];
  a.im[0][1] += a.im[1][0];
  normalize_row(a, 0);
  complete(a);
}

}  // namespace hardscape::gauge
