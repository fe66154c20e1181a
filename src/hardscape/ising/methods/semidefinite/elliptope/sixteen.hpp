// Vectors of sixteen floats in registers, as wide as these are at a level.
#pragma once

#include <cmath>

#include "native/vector.hpp"

namespace hardscape::ising {

// Sixteen floats in registers.
struct Sixteen {
  static constexpr int kLanes = kVectorBytes / sizeof(float);
  static constexpr int kParts = 16 / kLanes;
  using Part = float __attribute__((vector_size(kVectorBytes)));

  Part part[kParts];

  void add(float factor, const Sixteen& other) {
    for (int p = 0; p < kParts; ++p) part[p] += factor * other.part[p];
  }
  Sixteen& operator+=(const Sixteen& other) {
    for (int p = 0; p < kParts; ++p) part[p] += other.part[p];
    return *this;
  }
  void scale(float factor) {
    for (int p = 0; p < kParts; ++p) part[p] *= factor;
  }
  float at(int k) const { return part[k / kLanes][k % kLanes]; }
  float norm() const {
    Part sum = part[0] * part[0];
    for (int p = 1; p < kParts; ++p) sum += part[p] * part[p];
    float total = 0;
    for (int k = 0; k < kLanes; ++k) total += sum[k];
    return std::sqrt(total);
  }
};

}  // namespace hardscape::ising
