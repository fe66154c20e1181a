// What a semidefinite bound is made of: triangle inequalities with multipliers, and unit vectors.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "native/vector.hpp"

namespace hardscape::ising {

// x_ij a + x_ik b + x_jk c >= -1 for i < j < k; signs are those of kSigns[kind].
struct Triangle {
  std::uint16_t i, j, k;
  std::uint8_t kind;
  float multiplier;
};

constexpr std::array<std::array<float, 3>, 4> kSigns{
    {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}}};

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

// Where the bound of a node ended, for its children to go on from.
struct Dual {
  std::vector<Sixteen> vectors;
  std::vector<Triangle> triangles;

  // Without the last variable, which is tied to variable 0.
  Dual contracted() const {
    Dual child;
    if (vectors.empty()) return child;
    const auto last = static_cast<std::uint16_t>(vectors.size() - 1);
    child.vectors.assign(vectors.begin(), vectors.end() - 1);
    for (const Triangle& t : triangles) {
      if (t.k != last && t.multiplier > 0) child.triangles.push_back(t);
    }
    return child;
  }
};

}  // namespace hardscape::ising
