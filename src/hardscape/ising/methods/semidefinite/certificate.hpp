// The numbers by which multipliers and y prove a bound, for hosts and GPUs:
// docs/theory/spectrum.md.
#pragma once

#if !defined(__CUDACC__)
#include <algorithm>
#include <cmath>
#endif

#include "native/device.hpp"

namespace hardscape::ising {

// What all numbers of a proof are multiples of, and what none of their sums may reach.
struct Grid {
  double unit, most;

#if !defined(__CUDACC__)
  // For pair energies whose absolute values add up to `total`.
  static Grid of(double total) {
    return {std::ldexp(1.0, std::ilogb(std::max(total, 1.0)) - 49), 4 * total + 4};
  }
#endif
};

// What may be added to the diagonal, of sum `trace`, of a matrix of m rows, so that pivots that are
// positive prove a bound above the target.
HS_HD inline double shift_of(int m, double trace, double multipliers, double target, double unit) {
  const double room = 2 * (-trace / 2 - multipliers - target) / m * (1 - 0x1p-20);
  const double wrong = 8 * (m + 8) * 0x1p-53 * (trace + (room < 0 ? -room : room) * m);
  return floor((room - wrong) / unit) * unit;
}

}  // namespace hardscape::ising
