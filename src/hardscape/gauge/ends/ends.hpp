// Chains of the Wilson action on lattices with ends in time, or of other weights in time.
#pragma once

#include <complex>
#include <memory>
#include <vector>

#include "gauge/links/wilson.hpp"

namespace hardscape::gauge {

// What a chain is told of the action: whether time is open, whether links in space are fixed on the
// first and on the last timeslice, and the bare anisotropy.
struct Weighing {
  bool ends, first_fixed, last_fixed;
  double xi;
};

// With open ends no link leads out of the last timeslice: those are zero, and so stay. Plaquettes
// in space of the first and the last timeslice count half in the action, and in the Schroedinger
// functional their links are fixed, at both ends or at the last one. M. Luscher, S. Schaefer, JHEP
// 07 (2011) 036, section 2. Planes with time weigh xi, others 1 / xi. T. R. Klassen, Nucl. Phys. B
// 533, 557 (1998).
template <int W>
class Weights {
  using V = Packed<double, W>;

 public:
  static constexpr bool kThere = true;

  Weights(const Layout& layout, const Weighing& weighing)
      : weighing_(weighing),
        time_(layout.time()),
        slices_(weighing.ends ? layout.whole_slices() - 1 : layout.whole_slices()),
        part_(layout.vectors()),
        held_(layout.vectors()) {
    for (int v = 0; v < layout.vectors(); ++v) {
      for (int lane = 0; lane < W; ++lane) {
        const int t = layout.whole_slice_of(v, lane);
        const bool first = t == 0, last = t + 1 == layout.whole_slices();
        set_lane(part_[v], lane, weighing.ends && (first || last) ? 0.5 : 1.0);
        const bool held = (first && weighing.first_fixed) || (last && weighing.last_fixed);
        set_lane(held_[v], lane, held ? 1.0 : 0.0);
      }
    }
  }

  // Of plaquettes in the plane of two directions.
  V weight(int v, int mu, int nu) const {
    if (mu == time_ || nu == time_) return V{} + weighing_.xi;
    return weighing_.xi == 1 ? part_[v] : part_[v] * (1 / weighing_.xi);
  }

  // Of plaquettes in space, as they are counted.
  const V& part(int v) const { return part_[v]; }

  // Timeslices that the plaquettes stand for together.
  int slices() const { return slices_; }

  // Puts links back that are fixed.
  template <int N>
  void hold(int v, int mu, Matrix<N, V>& moved, const Matrix<N, V>& before) const {
    if (mu == time_) return;
    for (int lane = 0; lane < W; ++lane) {
      if (lane_of(held_[v], lane) == 0.0) continue;
      each_number([&](V& to, const V& from) { set_lane(to, lane, lane_of(from, lane)); }, moved,
                  before);
    }
  }

 private:
  Weighing weighing_;
  int time_, slices_;
  std::vector<V> part_, held_;  // of plaquettes in space; 1 where links in space are fixed
};

// A chain of plaquettes that do not all weigh the same.
std::unique_ptr<AnyWilsonChain> weighed_chain(std::size_t nc, const Extents& extent,
                                              const std::complex<double>* links,
                                              const Weighing& weighing, const Window& window);

}  // namespace hardscape::gauge
