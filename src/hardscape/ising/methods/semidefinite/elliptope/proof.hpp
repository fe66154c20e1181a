// Whether multipliers and y prove a semidefinite bound, in double precision:
// docs/theory/spectrum.md.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "ising/methods/semidefinite/certificate.hpp"
#include "ising/methods/semidefinite/dual.hpp"
#include "native/vector.hpp"

namespace hardscape::ising {

// All entries are multiples of one unit and below 2^53 of it, so that sums are exact; the least
// eigenvalue is bounded by a Cholesky factorization that exists. `length` times `scale` is y, and a
// triangle's multiplier times `scale` is l.
class Proof {
 public:
  // Whether they prove a bound above the target on the pair energy of the matrix `w` (m, m).
  bool holds(int m, const double* w, const std::vector<Triangle>& triangles,
             const std::vector<float>& length, double scale, double target) {
    double total = 0;
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < i; ++j) total += std::abs(w[i * m + j]);
    }
    const auto [unit, most] = Grid::of(total);
    const int blocks = (m + kDoubles - 1) / kDoubles, width = blocks * kDoubles;
    factor_.assign(static_cast<std::size_t>(m) * blocks, Doubles{});
    double* a = reinterpret_cast<double*>(factor_.data());
    for (int i = 0; i < m; ++i) {
      for (int j = i + 1; j < m; ++j) a[i * width + j] = w[i * m + j];
    }
    double multipliers = 0;
    for (const Triangle& t : triangles) {
      const double l = std::floor(t.multiplier * scale / unit) * unit;
      if (!(l < most)) return false;
      const auto& sign = kSigns[t.kind];
      multipliers += l;
      a[t.i * width + t.j] -= sign[0] * l;
      a[t.i * width + t.k] -= sign[1] * l;
      a[t.j * width + t.k] -= sign[2] * l;
    }
    double trace = 0;
    for (int i = 0; i < m; ++i) {
      const double y = std::ceil(length[i] * scale / unit) * unit;
      if (!(y < most)) return false;
      a[i * width + i] = y;
      trace += y;
    }
    if (!(multipliers < most && trace < most)) return false;
    const double shift = shift_of(m, trace, multipliers, target, unit);
    if (!(shift > 0)) return false;
    for (int i = 0; i < m; ++i) a[i * width + i] += shift;
    return factorizes(m, a, width);
  }

 private:
  using Doubles = double __attribute__((vector_size(kVectorBytes)));
  static constexpr int kDoubles = kVectorBytes / sizeof(double);

  // Whether all pivots of the symmetric matrix whose upper half this is are positive.
  static bool factorizes(int m, double* a, int width) {
    for (int k = 0; k < m; ++k) {
      const double pivot = a[k * width + k];
      if (!(pivot > 0)) return false;
      const auto* from = reinterpret_cast<const Doubles*>(a + k * width);
      for (int i = k + 1; i < m; ++i) {
        const double ratio = a[k * width + i] / pivot;
        if (ratio == 0) continue;
        auto* to = reinterpret_cast<Doubles*>(a + i * width);
        for (int block = i / kDoubles; block < width / kDoubles; ++block) {
          to[block] -= ratio * from[block];
        }
      }
    }
    return true;
  }

  std::vector<Doubles> factor_;
};

}  // namespace hardscape::ising
