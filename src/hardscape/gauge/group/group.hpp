// The groups: all that SU(N) has of its own.
#pragma once

#include "gauge/group/matrix.hpp"

#if !defined(__CUDACC__)
#include <stdexcept>
#include <string>
#endif

namespace hardscape::gauge {

// The last row of a small group follows from the others, as their cofactors' conjugates; all rows
// of a larger one are kept.
template <int N>
struct Group {
  // Rounds of hits in the subgroups that come near a site's maximum.
  static constexpr int kRounds = 2;

  template <class T>
  HS_HD static void complete(Matrix<N, T>&) {}

  // Gram-Schmidt over all rows; then the determinant is a phase, which the last row takes back.
  template <class T>
  HS_HD static void unitarize(Matrix<N, T>& a) {
    HS_ROLLED for (int i = 0; i < N; ++i) {
      HS_ROLLED for (int above = 0; above < i; ++above) take_off(a, i, above);
      normalize_row(a, i);
    }
    T re{}, im{};
    add_determinant(a, re, im);
    for (int j = 0; j < N; ++j) {
      const T x = a.re[N - 1][j], y = a.im[N - 1][j];
      a.re[N - 1][j] = plus(T(re * x), im, y);
      a.im[N - 1][j] = minus(T(re * y), im, x);
    }
  }

  // re + i im += det a, by elimination with the largest pivot of a column in each lane.
  template <class T>
  HS_HD static void add_determinant(Matrix<N, T> a, T& re, T& im) {
    const RealOf<T> one = 1, tiny = RealOf<T>(1e-30);
    T sign = T{} + one, x = sign, y{};
    HS_ROLLED for (int c = 0; c < N; ++c) {
      HS_ROLLED for (int row = c + 1; row < N; ++row) raise_pivot(a, c, row, sign);
      const T p = a.re[c][c], q = a.im[c][c], scale = one / (plus(T(p * p), q, q) + tiny);
      const T before = x;
      x = minus(T(x * p), y, q);
      y = plus(T(before * q), y, p);
      HS_ROLLED for (int row = c + 1; row < N; ++row) {
        const T u = plus(T(a.re[row][c] * p), a.im[row][c], q) * scale;
        const T v = minus(T(a.im[row][c] * p), a.re[row][c], q) * scale;
        HS_ROLLED for (int j = c + 1; j < N; ++j) {
          a.re[row][j] -= minus(T(u * a.re[c][j]), v, a.im[c][j]);
          a.im[row][j] -= plus(T(u * a.im[c][j]), v, a.re[c][j]);
        }
      }
    }
    re = plus(re, sign, x);
    im = plus(im, sign, y);
  }

 private:
  // Row i without its part along row `above`, which has length 1.
  template <class T>
  HS_HD static void take_off(Matrix<N, T>& a, int i, int above) {
    Sum<T> overlap;
    for (int j = 0; j < N; ++j) {
      overlap.add_conjugate(a.re[i][j], a.im[i][j], a.re[above][j], a.im[above][j]);
    }
    for (int j = 0; j < N; ++j) {
      const T x = a.re[above][j], y = a.im[above][j];
      a.re[i][j] = plus(minus(a.re[i][j], overlap.re, x), overlap.im, y);
      a.im[i][j] = minus(minus(a.im[i][j], overlap.re, y), overlap.im, x);
    }
  }

  // Exchanges rows c and `row` where the latter's entry in column c is larger.
  template <class T>
  HS_HD static void raise_pivot(Matrix<N, T>& a, int c, int row, T& sign) {
    const T here = plus(T(a.re[c][c] * a.re[c][c]), a.im[c][c], a.im[c][c]);
    const T there = plus(T(a.re[row][c] * a.re[row][c]), a.im[row][c], a.im[row][c]);
    const auto larger = there > here;
    const auto exchange = [&](T& x, T& y) {
      const T kept = x;
      x = larger ? y : x;
      y = larger ? kept : y;
    };
    HS_ROLLED for (int j = c; j < N; ++j) {
      exchange(a.re[c][j], a.re[row][j]);
      exchange(a.im[c][j], a.im[row][j]);
    }
    sign = larger ? -sign : sign;
  }
};

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
      T re = a.re[0][k] * a.re[1][l], im = a.re[0][l] * a.im[1][k];
      re = minus(minus(re, a.im[0][k], a.im[1][l]), a.re[0][l], a.re[1][k]);
      im = minus(plus(im, a.im[0][l], a.re[1][k]), a.re[0][k], a.im[1][l]);
      a.re[2][j] = plus(re, a.im[0][l], a.im[1][k]);
      a.im[2][j] = minus(im, a.im[0][k], a.re[1][l]);
    }
  }

  // Adds the last row that goes with the others of `a`, or of its adjoint the last column: each
  // product is one fused instruction.
  template <bool kAdjoint, class T>
  HS_HD static void add_last(const Matrix<3, T>& a, Matrix<3, T>& sum) {
    for (int j = 0; j < 3; ++j) {
      const int k = (j + 1) % 3, l = (j + 2) % 3;
      T& re = kAdjoint ? sum.re[j][2] : sum.re[2][j];
      T& im = kAdjoint ? sum.im[j][2] : sum.im[2][j];
      re = plus(re, a.re[0][k], a.re[1][l]);
      re = minus(re, a.im[0][k], a.im[1][l]);
      re = minus(re, a.re[0][l], a.re[1][k]);
      re = plus(re, a.im[0][l], a.im[1][k]);
      const T x = kAdjoint ? -a.re[1][k] : a.re[1][k], y = kAdjoint ? -a.re[1][l] : a.re[1][l];
      const T u = kAdjoint ? -a.im[1][k] : a.im[1][k], v = kAdjoint ? -a.im[1][l] : a.im[1][l];
      im = plus(im, a.re[0][l], u);
      im = plus(im, a.im[0][l], x);
      im = minus(im, a.re[0][k], v);
      im = minus(im, a.im[0][k], y);
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
      a.re[1][j] = plus(minus(a.re[1][j], overlap.re, x), overlap.im, y);
      a.im[1][j] = minus(minus(a.im[1][j], overlap.re, y), overlap.im, x);
    }
    normalize_row(a, 1);
    complete(a);
  }

  template <class T>
  HS_HD static void cofactor(const Matrix<3, T>& a, int j, T& re, T& im) {
    const int k = (j + 1) % 3, l = (j + 2) % 3;
    re = minus(T(a.re[0][k] * a.re[1][l]), a.im[0][k], a.im[1][l]);
    re = plus(minus(re, a.re[0][l], a.re[1][k]), a.im[0][l], a.im[1][k]);
    im = plus(T(a.re[0][k] * a.im[1][l]), a.im[0][k], a.re[1][l]);
    im = minus(minus(im, a.re[0][l], a.im[1][k]), a.im[0][l], a.re[1][k]);
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
    case 4:
      return f(Colors<4>{});
    case 5:
      return f(Colors<5>{});
    case 6:
      return f(Colors<6>{});
    case 7:
      return f(Colors<7>{});
    case 8:
      return f(Colors<8>{});
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

// re + i im += det a
template <int N, class T>
HS_HD inline void add_determinant(const Matrix<N, T>& a, T& re, T& im) {
  if constexpr (N > 3) {
    Group<N>::add_determinant(a, re, im);
  } else {
    for (int j = 0; j < N; ++j) {
      T x, y;
      Group<N>::cofactor(a, j, x, y);
      re += minus(T(x * a.re[N - 1][j]), y, a.im[N - 1][j]);
      im += plus(T(x * a.im[N - 1][j]), y, a.re[N - 1][j]);
    }
  }
}

template <int N, class T>
HS_HD inline Matrix<N, T> completed(const Rows<N, T>& rows) {
  Matrix<N, T> a;
  for (int i = 0; i < kRowsKept<N>; ++i) {
    for (int j = 0; j < N; ++j) {
      a.re[i][j] = rows.re[i][j];
      a.im[i][j] = rows.im[i][j];
    }
  }
  Group<N>::complete(a);
  return a;
}

// Of a small group the last column from the others.
template <int N, class T>
HS_HD inline void complete_columns(Matrix<N, T>& a) {
  if constexpr (kRowsKept<N> < N) {
    Matrix<N, T> b = adjoint(a);
    Group<N>::complete(b);
    a = adjoint(b);
  }
}

// a b^dagger and a b of group elements a, given by rows (or all of a), and b: products by rows,
// then the last row.
template <int N, class A, class T>
HS_HD inline Matrix<N, T> group_product_adjoint(const A& a, const Matrix<N, T>& b) {
  if constexpr (N > 3) return multiply_rows<true, N>(a, b);
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
  if constexpr (N > 3) return multiply_rows<false, N>(a, b);
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

// Calls hit(i, j) for the SU(2) subgroups, of which three or fewer have indices that are constants
// to the compiler.
template <int N, int I = 0, int J = 1, class Hit>
HS_HD inline void for_subgroups(Hit&& hit) {
  if constexpr (N > 3) {
    HS_ROLLED for (int i = 0; i < N - 1; ++i) {
      HS_ROLLED for (int j = i + 1; j < N; ++j) hit(i, j);
    }
  } else {
    hit(I, J);
    if constexpr (J + 1 < N) {
      for_subgroups<N, I, J + 1>(hit);
    } else if constexpr (I + 2 < N) {
      for_subgroups<N, I + 1, I + 2>(hit);
    }
  }
}

}  // namespace hardscape::gauge
