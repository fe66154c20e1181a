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

// Sums grow by one product at a time: each is then one fused instruction.
template <class T>
struct Sum {
  T re{}, im{};

  // += (a + ib)(c + id)
  HS_HD void add(const T& a, const T& b, const T& c, const T& d) {
    re += a * c;
    im += a * d;
    re -= b * d;
    im += b * c;
  }

  // += (a + ib)(c - id)
  HS_HD void add_conjugate(const T& a, const T& b, const T& c, const T& d) {
    re += a * c;
    im += b * c;
    re += b * d;
    im -= a * d;
  }
};

template <int N, class T>
HS_HD inline Matrix<N, T> multiply(const Matrix<N, T>& a, const Matrix<N, T>& b) {
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

// What determines an element of the group: all rows but the last.
template <int N, class T>
struct Rows {
  T re[N - 1][N], im[N - 1][N];
};

template <int N, class T>
HS_HD inline Rows<N, T> rows_of(const Matrix<N, T>& a) {
  Rows<N, T> rows;
  for (int i = 0; i < N - 1; ++i) {
    for (int j = 0; j < N; ++j) {
      rows.re[i][j] = a.re[i][j];
      rows.im[i][j] = a.im[i][j];
    }
  }
  return rows;
}

#if !defined(__CUDACC__)
// Lane l is lane lanes[l] of m; null leaves all in place.
template <int N, class V>
inline Matrix<N, V> permuted(const Matrix<N, V>& m, const std::int32_t* lanes) {
  if (lanes == nullptr) return m;
  Matrix<N, V> result = m;
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      for (int lane = 0; lane < Lanes<V>::kCount; ++lane) {
        set_lane(result.re[i][j], lane, lane_of(m.re[i][j], lanes[lane]));
        set_lane(result.im[i][j], lane, lane_of(m.im[i][j], lanes[lane]));
      }
    }
  }
  return result;
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
    const T re = a.re[0][k] * a.re[1][l] - a.im[0][k] * a.im[1][l] - a.re[0][l] * a.re[1][k];
    const T im = a.re[0][l] * a.im[1][k] + a.im[0][l] * a.re[1][k] - a.re[0][k] * a.im[1][l];
    a.re[2][j] = re + a.im[0][l] * a.im[1][k];
    a.im[2][j] = im - a.im[0][k] * a.re[1][l];
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
HS_HD inline Matrix<N, T> completed(const Rows<N, T>& rows) {
  Matrix<N, T> a;
  for (int i = 0; i < N - 1; ++i) {
    for (int j = 0; j < N; ++j) {
      a.re[i][j] = rows.re[i][j];
      a.im[i][j] = rows.im[i][j];
    }
  }
  complete(a);
  return a;
}

// a b^dagger and a b of group elements a, given by rows (or all of a), and b: products by rows,
// then the last row.
template <int N, class A, class T>
HS_HD inline Matrix<N, T> group_product_adjoint(const A& a, const Matrix<N, T>& b) {
  Matrix<N, T> c;
  for (int i = 0; i < N - 1; ++i) {
    for (int j = 0; j < N; ++j) {
      Sum<T> sum;
      for (int k = 0; k < N; ++k) sum.add_conjugate(a.re[i][k], a.im[i][k], b.re[j][k], b.im[j][k]);
      c.re[i][j] = sum.re;
      c.im[i][j] = sum.im;
    }
  }
  complete(c);
  return c;
}

template <int N, class A, class T>
HS_HD inline Matrix<N, T> group_product(const A& a, const Matrix<N, T>& b) {
  Matrix<N, T> c;
  for (int i = 0; i < N - 1; ++i) {
    for (int j = 0; j < N; ++j) {
      Sum<T> sum;
      for (int k = 0; k < N; ++k) sum.add(a.re[i][k], a.im[i][k], b.re[k][j], b.im[k][j]);
      c.re[i][j] = sum.re;
      c.im[i][j] = sum.im;
    }
  }
  complete(c);
  return c;
}

template <int N, class T>
HS_HD inline void normalize_row(Matrix<N, T>& a, int i) {
  T square = a.re[i][0] * a.re[i][0] + a.im[i][0] * a.im[i][0];
  for (int j = 1; j < N; ++j) {
    square += a.re[i][j] * a.re[i][j];
    square += a.im[i][j] * a.im[i][j];
  }
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
  Sum<T> overlap;
  for (int j = 0; j < 3; ++j) {
    overlap.add_conjugate(a.re[1][j], a.im[1][j], a.re[0][j], a.im[0][j]);
  }
  for (int j = 0; j < 3; ++j) {
    const T x = a.re[0][j], y = a.im[0][j];
    a.re[1][j] = a.re[1][j] - overlap.re * x + overlap.im * y;
    a.im[1][j] = a.im[1][j] - overlap.re * y - overlap.im * x;
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
