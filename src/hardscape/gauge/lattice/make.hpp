// The lattice that fits a problem: its precision, and as many lanes as its extents allow.
#pragma once

#include <memory>

#include "gauge/lattice/lattice.hpp"
#include "native/vector.hpp"

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

template <int N, template <int, class> class Local>
std::unique_ptr<AnyLattice> make_in(const LatticeProblem& p, bool single) {
  constexpr int kFloats = kVectorBytes / sizeof(float), kDoubles = kVectorBytes / sizeof(double);
  if (single && Layout::fits(p.extent, kFloats, p.window))
    return make_of<N, float, kFloats, Local>(p);
  if (Layout::fits(p.extent, kDoubles, p.window)) return make_of<N, double, kDoubles, Local>(p);
  return make_of<N, double, 1, Local>(p);  // single numbers are no faster
}

template <int N>
std::unique_ptr<AnyLattice> make_lattice(const LatticeProblem& p, bool abelian, bool single) {
  return abelian ? make_in<N, AbelianLocal>(p, single) : make_in<N, LinearLocal>(p, single);
}

}  // namespace hardscape::gauge
