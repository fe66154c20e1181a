// Chains of the Wilson action on lattices with ends in time.
#pragma once

#include <complex>
#include <memory>
#include <vector>

#include "gauge/links/wilson.hpp"

namespace hardscape::gauge {

// With open ends no link leads out of the last timeslice: those are zero, and so stay. Plaquettes
// in space of the first and the last timeslice count half in the action, and in the Schroedinger
// functional their links are fixed. M. Luscher, S. Schaefer, JHEP 07 (2011) 036, section 2.
template <int W>
class OpenEnds {
  using V = Packed<double, W>;

 public:
  static constexpr bool kThere = true;

  OpenEnds(const Layout& layout, bool fixed) : weight_(layout.vectors()), fixed_(fixed) {
    for (int v = 0; v < layout.vectors(); ++v) {
      for (int lane = 0; lane < W; ++lane) {
        const int t = layout.slice(v, lane);
        set_lane(weight_[v], lane, t == 0 || t + 1 == layout.slices() ? 0.5 : 1.0);
      }
    }
  }

  // Of plaquettes in space.
  const V& weight(int v) const { return weight_[v]; }

  // Puts links back that are fixed.
  template <int N>
  void hold(int v, int mu, Matrix<N, V>& moved, const Matrix<N, V>& before) const {
    if (!fixed_ || mu == 3) return;
    for (int lane = 0; lane < W; ++lane) {
      if (lane_of(weight_[v], lane) == 1.0) continue;
      each_number([&](V& to, const V& from) { set_lane(to, lane, lane_of(from, lane)); }, moved,
                  before);
    }
  }

 private:
  std::vector<V> weight_;
  bool fixed_;
};

// A chain with open ends in time, the links in space at both of them fixed or not.
std::unique_ptr<AnyWilsonChain> chain_with_ends(std::size_t nc, const Extents& extent,
                                                const std::complex<double>* links, bool fixed);

}  // namespace hardscape::gauge
