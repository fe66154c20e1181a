// Plaquettes of links as they lie in memory: t, ..., y, x, mu, row, column.
#pragma once

#include <complex>
#include <cstddef>

#include "gauge/group/matrix.hpp"
#include "gauge/links/layout.hpp"
#include "gauge/links/team.hpp"

namespace hardscape::gauge {

inline constexpr int kMostPlanes = kMostDirections * (kMostDirections - 1) / 2;

template <int N, int W, class T>
class PlaquetteSum {
  using V = Packed<double, W>;
  using M = Matrix<N, V>;

 public:
  PlaquetteSum(const std::complex<T>* links, const Extents& extent)
      : links_(links), extent_(extent), planes_(extent.directions * (extent.directions - 1) / 2) {}

  // Sums of Re tr over the plaquettes that start in timeslice t, for each plane.
  void slice(int t, double* sums) const {
    const int volume = extent_.slice_volume();
    double apart[kMostPlanes][kApart]{};
    for (int first = 0; first < volume; first += W) {
      int sites[W];
      for (int lane = 0; lane < W; ++lane) {
        sites[lane] = t * volume + (first + lane < volume ? first + lane : 0);
      }
      V traces[kMostPlanes];
      planes(sites, traces);
      for (int p = 0; p < planes_; ++p) {
        double* const sum = apart[p] + first % kApart;
        if (first + W <= volume) {
          for (int lane = 0; lane < W; ++lane) sum[lane] += traces[p][lane];
        } else {
          for (int lane = 0; first + lane < volume; ++lane) sum[lane] += traces[p][lane];
        }
      }
    }
    for (int p = 0; p < planes_; ++p) {
      sums[p] = 0;
      for (const double one : apart[p]) sums[p] += one;
    }
  }

 private:
  void planes(const int* sites, V* traces) const {
    M here[kMostDirections];
    for (int mu = 0; mu < extent_.directions; ++mu) here[mu] = load(sites, mu);
    int ahead[kMostDirections][W];
    for (int mu = 0; mu < extent_.directions; ++mu) {
      for (int lane = 0; lane < W; ++lane) ahead[mu][lane] = moved(extent_, sites[lane], mu, 1);
    }
    int plane = 0;
    for (int mu = 0; mu < extent_.directions; ++mu) {
      for (int nu = mu + 1; nu < extent_.directions; ++nu) {
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

  M load(const int* sites, int mu) const {
    return gathered<N, W>(links_, sites, extent_.directions, mu);
  }

  const std::complex<T>* links_;
  Extents extent_;
  int planes_;
};

// Sums of timeslices first, first + 1, ..., last - 1, one of each plane.
template <int N, int W, class T>
void sum_plaquettes(const std::complex<T>* links, const Extents& extent, int first, int last,
                    double* sums) {
  const PlaquetteSum<N, W, T> plaquettes(links, extent);
  const int planes = extent.directions * (extent.directions - 1) / 2;
  for (int t = first; t < last; ++t) plaquettes.slice(t, sums + planes * (t - first));
}

}  // namespace hardscape::gauge
