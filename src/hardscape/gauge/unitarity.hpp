// How far matrices are from the group, as they lie in memory: row, column.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <thread>
#include <vector>

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
double deviation(const std::complex<T>* u) {
  double re[N][N], im[N][N];
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      re[i][j] = static_cast<double>(u[N * i + j].real());
      im[i][j] = static_cast<double>(u[N * i + j].imag());
    }
  }
  double worst = 0;
  const auto note = [&worst](double x, double y) {
    const double square = x * x + y * y;
    if (!(square <= worst)) worst = square;
  };
  for (int i = 0; i < N; ++i) {
    for (int j = i; j < N; ++j) {
      double x = i == j ? -1 : 0, y = 0;
      for (int k = 0; k < N; ++k) {
        x += re[i][k] * re[j][k] + im[i][k] * im[j][k];
        y += im[i][k] * re[j][k] - re[i][k] * im[j][k];
      }
      note(x, y);
    }
  }
  // The determinant by cofactors of the last row.
  double x = -1, y = 0;
  for (int j = 0; j < N; ++j) {
    double a, b;
    if constexpr (N == 2) {
      a = j ? re[0][0] : -re[0][1];
      b = j ? im[0][0] : -im[0][1];
    } else {
      const int k = (j + 1) % 3, l = (j + 2) % 3;
      a = re[0][k] * re[1][l] - im[0][k] * im[1][l] - re[0][l] * re[1][k] + im[0][l] * im[1][k];
      b = re[0][k] * im[1][l] + im[0][k] * re[1][l] - re[0][l] * im[1][k] - im[0][l] * re[1][k];
    }
    x += a * re[N - 1][j] - b * im[N - 1][j];
    y += a * im[N - 1][j] + b * re[N - 1][j];
  }
  note(x, y);
  return std::sqrt(worst);
}

// The same for any number of threads.
template <int N, class T>
Deviation largest_deviation(const std::complex<T>* matrices, std::size_t count, int threads) {
  std::vector<Deviation> found(threads);
  const auto work = [&](int thread) {
    Deviation worst;
    for (std::size_t n = count * thread / threads; n < count * (thread + 1) / threads; ++n) {
      worst.merge({deviation<N>(matrices + n * N * N), n});
    }
    found[thread] = worst;
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back([&work, i] { work(i); });
    work(0);
  }
  Deviation worst;
  for (const Deviation& one : found) worst.merge(one);
  return worst;
}

}  // namespace hardscape::gauge
