// Links in another gauge, as they lie in memory: t, ..., y, x, mu, row, column.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>

#include "gauge/group/matrix.hpp"
#include "gauge/links/layout.hpp"

namespace hardscape::gauge {

// U'_mu(x) = g(x) U_mu(x) g(x+mu)^dagger for sites first, first + 1, ..., last - 1. A site's links
// do not depend on which others are computed beside them.
template <int N, int W, class T>
void transform_links(const std::complex<T>* links, const std::complex<double>* g,
                     const Extents& extent, int first, int last, std::complex<T>* transformed) {
  for (int begin = first; begin < last; begin += W) {
    const int count = std::min(W, last - begin);
    int sites[W], ahead[W];
    for (int lane = 0; lane < W; ++lane) sites[lane] = begin + (lane < count ? lane : 0);
    const auto here = gathered<N, W>(g, sites);
    for (int mu = 0; mu < extent.directions; ++mu) {
      for (int lane = 0; lane < W; ++lane) ahead[lane] = moved(extent, sites[lane], mu, 1);
      const auto turned =
          multiply_adjoint(multiply(here, gathered<N, W>(links, sites, extent.directions, mu)),
                           gathered<N, W>(g, ahead));
      for (int lane = 0; lane < count; ++lane) {
        const std::size_t link = static_cast<std::size_t>(extent.directions) * sites[lane] + mu;
        get(turned, lane, transformed + link * N * N);
      }
    }
  }
}

}  // namespace hardscape::gauge
