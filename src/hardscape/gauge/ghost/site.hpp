// What the Faddeev-Popov operator of Landau gauge does at a site, on CPUs and GPUs.
#pragma once

#include "gauge/group/matrix.hpp"

namespace hardscape::gauge {

// sum += c u m
template <int N, class V, class Link>
HS_HD inline void add_left(Matrix<N, V>& sum, const Link& u, const Matrix<N, V>& m, double c) {
  for (int i = 0; i < N; ++i) {
    for (int k = 0; k < N; ++k) {
      const double a = c * u.re[i][k], b = c * u.im[i][k];
      for (int j = 0; j < N; ++j) {
        sum.re[i][j] += a * m.re[k][j];
        sum.re[i][j] -= b * m.im[k][j];
        sum.im[i][j] += a * m.im[k][j];
        sum.im[i][j] += b * m.re[k][j];
      }
    }
  }
}

// sum += c m u
template <int N, class V, class Link>
HS_HD inline void add_right(Matrix<N, V>& sum, const Matrix<N, V>& m, const Link& u, double c) {
  for (int k = 0; k < N; ++k) {
    for (int j = 0; j < N; ++j) {
      const double a = c * u.re[k][j], b = c * u.im[k][j];
      for (int i = 0; i < N; ++i) {
        sum.re[i][j] += a * m.re[i][k];
        sum.re[i][j] -= b * m.im[i][k];
        sum.im[i][j] += a * m.im[i][k];
        sum.im[i][j] += b * m.re[i][k];
      }
    }
  }
}

// U w(x + mu) + w(x + mu) U^dagger, of the link U ahead; of the one behind, U^dagger stands for U.
template <int N, class V, class Link>
HS_HD inline void add_neighbour(Matrix<N, V>& sum, const Link& u, const Matrix<N, V>& far) {
  add_left(sum, u, far, -0.5);
  add_right(sum, far, adjoint(u), -0.5);
}

template <int N, class V>
HS_HD inline void take_trace(Matrix<N, V>& m) {
  V re{}, im{};
  for (int i = 0; i < N; ++i) {
    re += m.re[i][i];
    im += m.im[i][i];
  }
  for (int i = 0; i < N; ++i) {
    m.re[i][i] -= re * (1.0 / N);
    m.im[i][i] -= im * (1.0 / N);
  }
}

}  // namespace hardscape::gauge
