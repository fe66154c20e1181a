// Few spins, searched one after the other.
#include "ising/methods/semidefinite/leaf.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>

namespace hardscape::ising {
namespace {

class Leaf {
 public:
  Leaf(int n, const LeafFields& fields, const std::array<LeafFields, kLeafSpins>& couplings)
      : n_(n), couplings_(couplings) {
    fields_[n] = fields;
    const LeafFields own = fields;
    floors_[0] = 0;
    for (int p = 1; p < n; ++p) {
      // The floor of p + 1 spins: no field, the last spin up by symmetry.
      LeafFields& open = fields_[p];
      open = couplings_[p];
      double least = 0;
      for (int q = 0; q < p; ++q) {
        for (int r = 0; r < q; ++r) least += std::abs(couplings_[q][r]);
        least += std::abs(couplings_[p][q]);
      }
      limit_ = least - 1;
      descend(p, 0, 0, [&least](std::uint32_t, double energy) {
        least = std::min(least, energy);
        return least - 1;
      });
      floors_[p + 1] = least;
    }
    fields_[n] = own;
  }

  template <class Found>
  void search(double limit, const Found& found) {
    limit_ = limit;
    descend(n_, 0, 0, found);
  }

 private:
  // found(state, energy) returns the next limit.
  template <class Found>
  void descend(int p, double energy, std::uint32_t state, const Found& found) {
    const LeafFields& fields = fields_[p];
    double bound = energy + floors_[p];
    for (int q = 0; q < p; ++q) bound -= std::abs(fields[q]);
    if (bound > limit_) return;
    if (p == 0) {
      limit_ = found(state, energy);
      return;
    }
    const int q = p - 1;
    const double own = fields[q];
    LeafFields& open = fields_[q];
    for (const bool down : {own > 0, !(own > 0)}) {
      const double sign = down ? -1 : 1;
      for (int r = 0; r < q; ++r) open[r] = fields[r] + sign * couplings_[q][r];
      descend(q, energy + sign * own, state | std::uint32_t{down} << q, found);
    }
  }

  int n_;
  std::array<LeafFields, kLeafSpins> couplings_;
  std::array<LeafFields, kLeafSpins + 1> fields_{};
  std::array<double, kLeafSpins + 1> floors_{};
  double limit_ = 0;
};

}  // namespace

void search_spins(int n, const LeafFields& fields,
                  const std::array<LeafFields, kLeafSpins>& couplings, double limit,
                  const std::function<double(std::uint32_t)>& found) {
  Leaf(n, fields, couplings).search(limit, [&](std::uint32_t state, double) {
    return found(state);
  });
}

}  // namespace hardscape::ising
