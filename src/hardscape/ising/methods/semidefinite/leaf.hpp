// Few spins, searched one after the other: under Russian-doll floors, in doubles that hold
// integers.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace hardscape::ising {

constexpr int kLeafSpins = 24;

// Calls back for each state whose energy, of integers below 2^53 in sum, is at most a limit that
// may fall. Bit p of a state is set where spin p is down.
class Leaf {
 public:
  // Fields and couplings (kLeafSpins apart) of n spins.
  using Fields = std::array<double, kLeafSpins>;

  Leaf(int n, const Fields& fields, const std::array<Fields, kLeafSpins>& couplings)
      : n_(n), couplings_(couplings) {
    fields_[n] = fields;
    const Fields own = fields;
    floors_[0] = 0;
    for (int p = 1; p < n; ++p) {
      // The floor of p + 1 spins: no field, the last spin up by symmetry.
      Fields& open = fields_[p];
      open = couplings_[p];
      double least = 0;
      for (int q = 0; q < p; ++q) {
        for (int r = 0; r < q; ++r) least += std::abs(couplings_[q][r]);
        least += std::abs(couplings_[p][q]);
      }
      doll_ = least;
      descend(
          p, 0, 0, [this](std::uint32_t, double energy) { doll_ = std::min(doll_, energy); },
          [this] { return doll_ - 1; });
      floors_[p + 1] = doll_;
    }
    fields_[n] = own;
  }

  template <class Found, class Limit>
  void search(Found&& found, Limit&& limit) {
    descend(n_, 0, 0, found, limit);
  }

 private:
  template <class Found, class Limit>
  void descend(int p, double energy, std::uint32_t state, Found&& found, Limit&& limit) {
    const Fields& fields = fields_[p];
    double bound = energy + floors_[p];
    for (int q = 0; q < p; ++q) bound -= std::abs(fields[q]);
    if (bound > limit()) return;
    if (p == 0) {
      found(state, energy);
      return;
    }
    const int q = p - 1;
    const double own = fields[q];
    Fields& open = fields_[q];
    for (const bool down : {own > 0, !(own > 0)}) {
      const double sign = down ? -1 : 1;
      for (int r = 0; r < q; ++r) open[r] = fields[r] + sign * couplings_[q][r];
      descend(q, energy + sign * own, state | std::uint32_t{down} << q, found, limit);
    }
  }

  int n_;
  std::array<Fields, kLeafSpins> couplings_;
  std::array<Fields, kLeafSpins + 1> fields_{};
  std::array<double, kLeafSpins + 1> floors_{};
  double doll_ = 0;
};

}  // namespace hardscape::ising
