// Real and complex numbers in the lanes of vectors, and what their sums and products need.
#pragma once

#include <cstddef>
#include <cstdint>

#include "native/vector.hpp"

namespace hardscape::permanents {

// Each instruction-set level has its own: nothing here may be merged by the linker.
namespace {

constexpr std::size_t kLanes = kVectorBytes / sizeof(double);

typedef double Vec __attribute__((vector_size(kLanes * sizeof(double))));
typedef std::int64_t Bits __attribute__((vector_size(kLanes * sizeof(double))));

inline Vec absolute(Vec x) { return reinterpret_cast<Vec>(reinterpret_cast<Bits>(x) & INT64_MAX); }

inline Vec larger(Vec x, Vec y) { return x > y ? x : y; }

// Adds x to high; the rounding error goes to low (Knuth's two-sum).
template <class T>
inline void add_compensated(T& high, T& low, T x) {
  const T sum = high + x;
  const T part = sum - high;
  low += (high - (sum - part)) + (x - part);
  high = sum;
}

// A real number (one part) or a complex one, in every lane.
template <std::size_t Parts>
struct Number {
  Vec part[Parts];

  static Number one() {
    Number x = {};
    x.part[0] = Vec{} + 1.0;
    return x;
  }

  Number& operator*=(const Number& other) {
    if constexpr (Parts == 1) {
      part[0] *= other.part[0];
    } else {
      const Vec real = part[0] * other.part[0] - part[1] * other.part[1];
      part[1] = part[0] * other.part[1] + part[1] * other.part[0];
      part[0] = real;
    }
    return *this;
  }

  // |x| for a real number; for a complex one the sum of its parts' magnitudes, which is not less.
  Vec one_norm() const {
    Vec sum = absolute(part[0]);
    if constexpr (Parts == 2) sum += absolute(part[1]);
    return sum;
  }

  // |x|, or at most 2% more: chords of the unit circle's arc, rounded up.
  Vec modulus() const {
    const Vec x = absolute(part[0]);
    if constexpr (Parts == 1) return x;
    const Vec y = absolute(part[Parts - 1]);
    const Vec longer = larger(x, y), shorter = x > y ? y : x;
    return larger(longer + 0.236068 * shorter, 0.821855 * longer + 0.592360 * shorter);
  }
};

// Adds x y to a sum.
template <std::size_t Parts>
inline void multiply_add(Number<Parts>& sum, const Number<Parts>& x, const Number<Parts>& y) {
  sum.part[0] += x.part[0] * y.part[0];
  if constexpr (Parts == 2) {
    sum.part[0] -= x.part[1] * y.part[1];
    sum.part[1] += x.part[0] * y.part[1];
    sum.part[1] += x.part[1] * y.part[0];
  }
}

// Arrays of one size, one behind the other, that fill the lanes; of fewer the first one fills those
// that are left.
class InLanes {
 public:
  InLanes(const double* given, std::size_t count, std::size_t size) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      array_[lane] = given + (lane < count ? lane : 0) * size;
    }
  }

  Vec operator[](std::size_t at) const {
    Vec x;
    for (std::size_t lane = 0; lane < kLanes; ++lane) x[lane] = array_[lane][at];
    return x;
  }

 private:
  const double* array_[kLanes];
};

// Bounds |prod s'_j - prod s_j| for all s' with |s'_j - s_j| <= slack_j.
struct Perturbation {
  Vec magnitude, excess;

  void multiply(Vec modulus, double slack) {
    excess = excess * (modulus + slack) + magnitude * slack;
    magnitude *= modulus;
  }
};

}  // namespace
}  // namespace hardscape::permanents
