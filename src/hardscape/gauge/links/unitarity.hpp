// How far matrices are from the group, and what brings them back to it, as they lie in memory: row,
// column.
#pragma once

#include <algorithm>
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
  double x = -1, y = 0;
  add_determinant(u, x, y);
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

// Squared length below which a row cannot be told from noise, whatever it was meant to be.
constexpr double kVanishing = 1e-12;

// Calls f with the squared lengths by which `unitarize` divided to make u of m: of the rows that
// are left of m's when the parts along those above are gone; for N = 2 of the quaternion part.
template <int N, class V, class F>
void each_square(const Matrix<N, V>& m, const Matrix<N, V>& u, F&& f) {
  if constexpr (N == 2) {
    const V a = m.re[0][0] + m.re[1][1], b = m.im[0][0] - m.im[1][1];
    const V c = m.re[0][1] - m.re[1][0], d = m.im[0][1] + m.im[1][0];
    f((a * a + b * b + c * c + d * d) * 0.25);
  } else {
    Matrix<N, V> rest = m;
    for (int i = 0; i < kRowsKept<N>; ++i) {
      for (int k = 0; k < i; ++k) {
        Sum<V> along;
        for (int j = 0; j < N; ++j) {
          along.add_conjugate(rest.re[i][j], rest.im[i][j], u.re[k][j], u.im[k][j]);
        }
        for (int j = 0; j < N; ++j) {
          rest.re[i][j] -= along.re * u.re[k][j] - along.im * u.im[k][j];
          rest.im[i][j] -= along.re * u.im[k][j] + along.im * u.re[k][j];
        }
      }
      V square{};
      for (int j = 0; j < N; ++j) {
        square += rest.re[i][j] * rest.re[i][j] + rest.im[i][j] * rest.im[i][j];
      }
      f(square);
    }
  }
}

// Brings matrices first, first + 1, ..., last - 1 back to the group. Returns the first of them that
// does not tell which element it meant; `last` if all do.
template <int N, int W, class T>
std::size_t reproject(const std::complex<T>* matrices, std::size_t first, std::size_t last,
                      std::complex<T>* projected) {
  for (std::size_t begin = first; begin < last; begin += W) {
    const int count = static_cast<int>(std::min<std::size_t>(W, last - begin));
    int places[W];
    for (int lane = 0; lane < W; ++lane) places[lane] = lane < count ? lane : 0;
    const auto near = gathered<N, W>(matrices + begin * N * N, places);
    auto found = near;
    unitarize(found);
    int unclear = count;
    each_square(near, found, [&](const auto& square) {
      for (int lane = 0; lane < unclear; ++lane) {
        // A NaN is not above anything.
        if (!(lane_of(square, lane) > kVanishing)) unclear = lane;
      }
    });
    if (unclear < count) return begin + unclear;
    for (int lane = 0; lane < count; ++lane) {
      get(found, lane, projected + (begin + lane) * N * N);
    }
  }
  return last;
}

}  // namespace hardscape::gauge
