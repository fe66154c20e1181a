// How well links are in a gauge, as they lie in memory: t, ..., y, x, mu, row, column.
#pragma once

#include <complex>
#include <cstddef>

#include "gauge/lattice/local.hpp"
#include "gauge/links/layout.hpp"
#include "gauge/links/team.hpp"

namespace hardscape::gauge {

// Sums of the functional, links counted from both ends, and of tr(Delta Delta^dagger) / N over the
// sites of a timeslice, and the largest of the latter.
struct Condition {
  double functional = 0, theta = 0, largest = 0;
};

// Of W sites whose g is 1: what does not depend on how links are stored, as functions of their own.
template <int N, int W, template <int, class> class Local>
class SiteCondition {
  using V = Packed<double, W>;
  using M = Matrix<N, V>;

 public:
  [[gnu::noinline]] void gather(const M& ahead, const M& behind, double weight) {
    local_.gather(scaled(ahead, V{} + weight));
    local_.gather(scaled(adjoint(behind), V{} + weight));
  }

  [[gnu::noinline]] void measure(V& height, V& square) {
    const M one = M::identity();
    local_.begin(one);
    height = local_.functional(one);
    square = violation(local_.gradient(one));
  }

 private:
  Local<N, V> local_;
};

// Of links in directions 0 to `directions` - 1, with weights, by the functional of `Local`.
template <int N, int W, template <int, class> class Local, class T>
class ConditionSum {
  using V = Packed<double, W>;
  static constexpr int kVectors = kApart / W;

 public:
  ConditionSum(const std::complex<T>* links, const Extents& extent, const double* weights,
               int directions)
      : links_(links), extent_(extent), weights_(weights), directions_(directions) {}

  Condition slice(int t) const {
    const int volume = extent_.slice_volume();
    double functional[kApart]{}, theta[kApart]{};
    Condition found;
    for (int first = 0; first < volume; first += kApart) {
      for (int vector = 0; vector < kVectors; ++vector) {
        const int begin = first + vector * W;
        if (begin >= volume) break;
        int sites[W];
        for (int lane = 0; lane < W; ++lane) {
          sites[lane] = t * volume + (begin + lane < volume ? begin + lane : begin);
        }
        V height, square;
        at(sites, height, square);
        for (int lane = 0; lane < W && begin + lane < volume; ++lane) {
          const double violated = lane_of(square, lane);
          functional[vector * W + lane] += lane_of(height, lane);
          theta[vector * W + lane] += violated;
          // Not std::max: a NaN must come through.
          if (!(violated <= found.largest)) found.largest = violated;
        }
      }
    }
    for (int k = 0; k < kApart; ++k) {
      found.functional += functional[k];
      found.theta += theta[k];
    }
    return found;
  }

 private:
  // Functional and violation of W sites, whose g is 1.
  void at(const int* sites, V& height, V& square) const {
    SiteCondition<N, W, Local> condition;
    for (int mu = 0; mu < directions_; ++mu) {
      int behind[W];
      for (int lane = 0; lane < W; ++lane) behind[lane] = moved(extent_, sites[lane], mu, -1);
      condition.gather(gathered<N, W>(links_, sites, extent_.directions, mu),
                       gathered<N, W>(links_, behind, extent_.directions, mu), weights_[mu]);
    }
    condition.measure(height, square);
  }

  const std::complex<T>* links_;
  Extents extent_;
  const double* weights_;
  int directions_;
};

// Functional, theta and the largest one of timeslices first, first + 1, ..., last - 1.
template <int N, int W, template <int, class> class Local, class T>
void sum_conditions(const std::complex<T>* links, const Extents& extent, const double* weights,
                    int directions, int first, int last, double* sums) {
  const ConditionSum<N, W, Local, T> conditions(links, extent, weights, directions);
  for (int t = first; t < last; ++t) {
    const Condition found = conditions.slice(t);
    *sums++ = found.functional;
    *sums++ = found.theta;
    *sums++ = found.largest;
  }
}

}  // namespace hardscape::gauge
