// Plaquettes of links as they lie in memory: t, z, y, x, mu, row, column.
#pragma once

#include <complex>
#include <cstddef>

#include "gauge/group/matrix.hpp"
#include "gauge/links/layout.hpp"

namespace hardscape::gauge {

template <int N, int W, class T>
class PlaquetteSum {
  using V = Packed<double, W>;
  using M = Matrix<N, V>;

 public:
  PlaquetteSum(const std::complex<T>* links, const Extents& extent)
      : links_(links), extent_(extent) {}

  // Sums of Re tr over the plaquettes that start in timeslice t, for each plane.
  void slice(int t, double* sums) const {
    const int volume = extent_[0] * extent_[1] * extent_[2];
    V total[6]{};
    double rest[6]{};
    for (int first = 0; first < volume; first += W) {
      int sites[W];
      for (int lane = 0; lane < W; ++lane) {
        sites[lane] = t * volume + (first + lane < volume ? first + lane : 0);
      }
      V traces[6];
      planes(sites, traces);
      if (first + W <= volume) {
        for (int p = 0; p < 6; ++p) total[p] += traces[p];
      } else {
        for (int p = 0; p < 6; ++p) {
          for (int lane = 0; first + lane < volume; ++lane) rest[p] += traces[p][lane];
        }
      }
    }
    for (int p = 0; p < 6; ++p) {
      sums[p] = rest[p];
      for (int lane = 0; lane < W; ++lane) sums[p] += total[p][lane];
    }
  }

 private:
  void planes(const int* sites, V* traces) const {
    M here[4];
    for (int mu = 0; mu < 4; ++mu) here[mu] = load(sites, mu);
    int ahead[4][W];
    for (int mu = 0; mu < 4; ++mu) {
      for (int lane = 0; lane < W; ++lane) ahead[mu][lane] = moved(extent_, sites[lane], mu, 1);
    }
    int plane = 0;
    for (int mu = 0; mu < 4; ++mu) {
      for (int nu = mu + 1; nu < 4; ++nu) {
        // U_mu(x) U_nu(x+mu) against U_nu(x) U_mu(x+nu)
        const M up = multiply(here[mu], load(ahead[mu], nu));
        const M over = multiply(here[nu], load(ahead[nu], mu));
        V trace{};
        for (int i = 0; i < N; ++i) {
          for (int j = 0; j < N; ++j) {
            trace += up.re[i][j] * over.re[i][j] + up.im[i][j] * over.im[i][j];
          }
        }
        traces[plane++] = trace;
      }
    }
  }

  M load(const int* sites, int mu) const { return gathered<N, W>(links_, sites, 4, mu); }

  const std::complex<T>* links_;
  Extents extent_;
};

// Sums of timeslices first, first + 1, ..., last - 1, six each.
template <int N, int W, class T>
void sum_plaquettes(const std::complex<T>* links, const Extents& extent, int first, int last,
                    double* sums) {
  const PlaquetteSum<N, W, T> plaquettes(links, extent);
  for (int t = first; t < last; ++t) plaquettes.slice(t, sums + 6 * (t - first));
}

}  // namespace hardscape::gauge
