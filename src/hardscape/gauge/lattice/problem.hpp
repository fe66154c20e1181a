// A lattice in a number of lanes that is known.
#pragma once

#include <memory>

#include "gauge/lattice/lattice.hpp"

namespace hardscape::gauge {

struct LatticeProblem {
  Extents extent;
  Window window;
  int directions;
  const Complex* links;
  const double* weights;
};

template <int N, class T, int W, template <int, class> class Local>
std::unique_ptr<AnyLattice> make_of(const LatticeProblem& p) {
  return std::make_unique<Lattice<N, T, W, Local>>(Layout(p.extent, p.directions, W, p.window),
                                                   p.links, p.weights);
}

}  // namespace hardscape::gauge
