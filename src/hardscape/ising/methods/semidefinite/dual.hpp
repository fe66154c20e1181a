// What a semidefinite bound is made of: triangle inequalities with multipliers, and unit vectors.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace hardscape::ising {

// x_ij a + x_ik b + x_jk c >= -1 for i < j < k; signs are those of kSigns[kind].
struct Triangle {
  std::uint16_t i, j, k;
  std::uint8_t kind;
  float multiplier;
};

constexpr std::array<std::array<float, 3>, 4> kSigns{
    {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}}};

// A vector of length 1.
struct alignas(64) Unit {
  float value[16];
};

// Where the bound of a node ended, for its children to go on from.
struct Dual {
  std::vector<Unit> vectors;
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
