// The Faddeev-Popov operator of Landau gauge on several fields at once.
//
// Fields lie in memory as t, ..., y, x, row, column, field: a vector holds the same number of
// several fields, and each link is loaded once for all of them.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "gauge/ghost/site.hpp"
#include "gauge/links/layout.hpp"

namespace hardscape::gauge {

template <int N, int W>
class FaddeevPopov {
  using Complex = std::complex<double>;
  using V = Packed<double, W>;
  using M = Matrix<N, V>;
  using Link = Matrix<N, double>;

 public:
  // Links of direction mu weigh weights[mu].
  FaddeevPopov(const Complex* links, const Extents& extent, const double* weights)
      : links_(links), extent_(extent), weights_(weights) {}

  // The result for sites first to last - 1 of `fields` fields.
  void apply(const Complex* from, Complex* to, int fields, int first, int last) const {
    for (int site = first; site < last; ++site) {
      Link ahead[kMostDirections], behind[kMostDirections], middle = Link::zero();
      int next[kMostDirections], before[kMostDirections];
      for (int mu = 0; mu < extent_.directions; ++mu) {
        next[mu] = moved(site, mu, 1);
        before[mu] = moved(site, mu, extent_[mu] - 1);
        ahead[mu] = link(site, mu);
        behind[mu] = link(before[mu], mu);
        add(middle, ahead[mu]);
        add(middle, adjoint(ahead[mu]));
        add(middle, behind[mu]);
        add(middle, adjoint(behind[mu]));
      }
      middle = scaled(middle, 0.25);
      for (int begin = 0; begin < fields; begin += W) {
        const int count = fields - begin < W ? fields - begin : W;
        const auto at = [&](int place) {
          return load(from + static_cast<std::size_t>(place) * N * N * fields + begin, fields,
                      count);
        };
        M sum = M::zero();
        const M here = at(site);
        add_left(sum, middle, here, 1.0);
        add_right(sum, here, middle, 1.0);
        for (int mu = 0; mu < extent_.directions; ++mu) {
          const M far = at(next[mu]), near = at(before[mu]);
          add_neighbour(sum, ahead[mu], far);
          add_neighbour(sum, adjoint(behind[mu]), near);
        }
        take_trace(sum);
        store(sum, to + static_cast<std::size_t>(site) * N * N * fields + begin, fields, count);
      }
    }
  }

 private:
  static M load(const Complex* from, int fields, int count) {
    M m = M::zero();
    for (int i = 0; i < N; ++i) {
      for (int j = 0; j < N; ++j) {
        const double* next = reinterpret_cast<const double*>(from + (i * N + j) * fields);
        for (int lane = 0; lane < count; ++lane) {
          set_lane(m.re[i][j], lane, next[2 * lane]);
          set_lane(m.im[i][j], lane, next[2 * lane + 1]);
        }
      }
    }
    return m;
  }

  static void store(const M& m, Complex* to, int fields, int count) {
    for (int i = 0; i < N; ++i) {
      for (int j = 0; j < N; ++j) {
        for (int lane = 0; lane < count; ++lane) {
          to[(i * N + j) * fields + lane] = {lane_of(m.re[i][j], lane), lane_of(m.im[i][j], lane)};
        }
      }
    }
  }

  Link link(int site, int mu) const {
    Link u;
    put(u, 0, links_ + (static_cast<std::size_t>(extent_.directions) * site + mu) * N * N);
    return scaled(u, weights_[mu]);
  }

  int moved(int site, int mu, int steps) const {
    int stride = 1;
    for (int nu = 0; nu < mu; ++nu) stride *= extent_[nu];
    const int at = site / stride % extent_[mu];
    return site + ((at + steps) % extent_[mu] - at) * stride;
  }

  const Complex* links_;
  Extents extent_;
  const double* weights_;
};

// `FaddeevPopov::apply` of such links.
template <int N, int W>
void apply_faddeev_popov(const std::complex<double>* links, const Extents& extent,
                         const double* weights, const std::complex<double>* from,
                         std::complex<double>* to, int fields, int first, int last) {
  FaddeevPopov<N, W>(links, extent, weights).apply(from, to, fields, first, last);
}

}  // namespace hardscape::gauge
