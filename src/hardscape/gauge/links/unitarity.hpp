// How far matrices are from the group, as they lie in memory: row, column.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>

#include "gauge/group/group.hpp"

namespace hardscape::gauge {

struct Deviation {
  double size = -1;  // of the worst entry of |U U^dagger - 1| and |det U - 1|
  std::size_t index = 0;

  // Takes the other one if it is worse; a NaN is worse than any number.
  void merge(const Deviation& other) {
    if (!(other.size <= size) && size == size) *this = other;
  }
};

template <int N, class T>
double deviation(const std::complex<T>* from) {
  Matrix<N, double> u;
  put(u, 0, from);
  double worst = 0;
  const auto note = [&worst](double x, double y) {
    const double square = x * x + y * y;
    if (!(square <= worst)) worst = square;
  };
  for (int i = 0; i < N; ++i) {
    for (int j = i; j < N; ++j) {
      double x = i == j ? -1 : 0, y = 0;
      for (int k = 0; k < N; ++k) {
        x += u.re[i][k] * u.re[j][k] + u.im[i][k] * u.im[j][k];
        y += u.im[i][k] * u.re[j][k] - u.re[i][k] * u.im[j][k];
      }
      note(x, y);
    }
  }
  // The determinant by cofactors of the last row.
  double x = -1, y = 0;
  for (int j = 0; j < N; ++j) {
    double a, b;
    Group<N>::cofactor(u, j, a, b);
    x += a * u.re[N - 1][j] - b * u.im[N - 1][j];
    y += a * u.im[N - 1][j] + b * u.re[N - 1][j];
  }
  note(x, y);
  return std::sqrt(worst);
}

// The worst of matrices first, first + 1, ..., last - 1.
template <int N, class T>
Deviation largest_deviation(const std::complex<T>* matrices, std::size_t first, std::size_t last) {
  Deviation worst;
  for (std::size_t n = first; n < last; ++n) {
    worst.merge({deviation<N>(matrices + n * N * N), n});
  }
  return worst;
}

}  // namespace hardscape::gauge
