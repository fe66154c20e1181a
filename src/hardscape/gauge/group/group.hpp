// The groups: all that SU(N) has of its own. A group is built by a specialization of `Group` and a
// case of `for_group`.
#pragma once

#include "gauge/group/matrix.hpp"

#if !defined(__CUDACC__)
#include <stdexcept>
#include <string>
#endif

namespace hardscape::gauge {

// A group's last row follows from the others, as their cofactors' conjugates.
template <int N>
struct Group;

template <>
struct Group<2> {
  // Rounds of hits in the subgroups that find a site's maximum; here one is exact.
  static constexpr int kRounds = 1;

  // The last row from the others.
  template <class T>
  HS_HD static void complete(Matrix<2, T>& a) {
    a.re[1][0] = -a.re[0][1];
    a.im[1][0] = a.im[0][1];
    a.re[1][1] = a.re[0][0];
    a.im[1][1] = -a.im[0][0];
  }

  // The nearest element: a 2x2 matrix that is a real combination of group elements is one, scaled.
  template <class T>
  HS_HD static void unitarize(Matrix<2, T>& a) {
    a.re[0][0] += a.re[1][1];
    a.im[0][0] -= a.im[1][1];
    a.re[0][1] -= a.re[1][0];
    a.im[0][1] += a.im[1][0];
    normalize_row(a, 0);
    complete(a);
  }

  // The cofactor of entry j of the last row.
  template <class T>
  HS_HD static void cofactor(const Matrix<2, T>& a, int j, T& re, T& im) {
    re = j ? a.re[0][0] : -a.re[0][1];
    im = j ? a.im[0][0] : -a.im[0][1];
  }
};

template <>
struct Group<3> {
  static constexpr int kRounds = 2;

  template <class T>
  HS_HD static void complete(Matrix<3, T>& a) {
    for (int j = 0; j < 3; ++j) {
      const int k = (j + 1) % 3, l = (j + 2) % 3;
      const T re = a.re[0][k] * a.re[1][l] - a.im[0][k] * a.im[1][l] - a.re[0][l] * a.re[1][k];
      const T im = a.re[0][l] * a.im[1][k] + a.im[0][l] * a.re[1][k] - a.re[0][k] * a.im[1][l];
      a.re[2][j] = re + a.im[0][l] * a.im[1][k];
      a.im[2][j] = im - a.im[0][k] * a.re[1][l];
    }
  }

  // Gram-Schmidt over the first two rows.
  template <class T>
  HS_HD static void unitarize(Matrix<3, T>& a) {
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

  template <class T>
  HS_HD static void cofactor(const Matrix<3, T>& a, int j, T& re, T& im) {
    const int k = (j + 1) % 3, l = (j + 2) % 3;
    re = a.re[0][k] * a.re[1][l] - a.im[0][k] * a.im[1][l] - a.re[0][l] * a.re[1][k] +
         a.im[0][l] * a.im[1][k];
    im = a.re[0][k] * a.im[1][l] + a.im[0][k] * a.re[1][l] - a.re[0][l] * a.im[1][k] -
         a.im[0][l] * a.re[1][k];
  }
};

#if !defined(__CUDACC__)
// Number N as a type.
template <int N>
struct Colors {
  static constexpr int value = N;
};

// Calls f(Colors<N>{}) for the group of `nc` colours.
template <class F>
auto for_group(std::size_t nc, F&& f) {
  switch (nc) {
    case 2:
      return f(Colors<2>{});
    case 3:
      return f(Colors<3>{});
    default:
      throw std::invalid_argument("SU(" + std::to_string(nc) + ") is not built");
  }
}
#endif

// Brings a matrix near the group back to it.
template <int N, class T>
HS_HD inline void unitarize(Matrix<N, T>& a) {
  Group<N>::unitarize(a);
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
  Group<N>::complete(a);
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
  Group<N>::complete(c);
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
  Group<N>::complete(c);
  return c;
}

// Calls hit(i, j) for the SU(2) subgroups, with indices that are constants to the compiler.
template <int N, int I = 0, int J = 1, class Hit>
HS_HD inline void for_subgroups(Hit&& hit) {
  hit(I, J);
  if constexpr (J + 1 < N) {
    for_subgroups<N, I, J + 1>(hit);
  } else if constexpr (I + 2 < N) {
    for_subgroups<N, I + 1, I + 2>(hit);
  }
}

}  // namespace hardscape::gauge
