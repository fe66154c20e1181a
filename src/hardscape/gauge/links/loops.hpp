// Wilson loops of lines of links as they lie in memory: t, ..., y, x, row, column.
#pragma once

#include <complex>
#include <cstddef>

#include "gauge/group/matrix.hpp"
#include "gauge/links/layout.hpp"

namespace hardscape::gauge {

template <int N, int W>
class LoopSum {
  using V = Packed<double, W>;
  using M = Matrix<N, V>;

 public:
  LoopSum(const std::complex<double>* space, const std::complex<double>* time,
          const Extents& extent)
      : space_(space), time_(time), extent_(extent) {}

  // Sum of Re tr S(x) T(x + R mu) S(x + D t)^dagger T(x)^dagger over timeslices first to last - 1,
  // in the order of sites.
  double slices(int mu, int length, int duration, int first, int last) const {
    const int volume = extent_.slice_volume();
    double sum = 0;
    for (int t = first; t < last; ++t) {
      for (int begin = 0; begin < volume; begin += W) {
        int here[W], beside[W], above[W];
        for (int lane = 0; lane < W; ++lane) {
          here[lane] = t * volume + (begin + lane < volume ? begin + lane : 0);
          beside[lane] = moved(extent_, here[lane], mu, length);
          above[lane] = moved(extent_, here[lane], extent_.time(), duration);
        }
        const M one = multiply(gathered<N, W>(space_, here), gathered<N, W>(time_, beside));
        const M other = multiply(gathered<N, W>(time_, here), gathered<N, W>(space_, above));
        V trace{};
        each_number([&](const V& a, const V& b) { trace += a * b; }, one, other);
        for (int lane = 0; lane < W && begin + lane < volume; ++lane) sum += lane_of(trace, lane);
      }
    }
    return sum;
  }

 private:
  const std::complex<double>*space_, *time_;
  Extents extent_;
};

// `LoopSum::slices` of such lines.
template <int N, int W>
double sum_loops(const std::complex<double>* space, const std::complex<double>* time,
                 const Extents& extent, int mu, int length, int duration, int first, int last) {
  return LoopSum<N, W>(space, time, extent).slices(mu, length, duration, first, last);
}

}  // namespace hardscape::gauge
