// The lattice that fits a problem: its precision, and as many lanes as its extents allow.
#pragma once

#include <memory>
#include <type_traits>

#include "gauge/lattice/problem.hpp"
#include "native/vector.hpp"

namespace hardscape::gauge {

// In so many lanes, or, where the extents do not allow that, in fewer: each site has the same bits
// in any number of them.
template <int N, class T, template <int, class> class Local>
std::unique_ptr<AnyLattice> make_in(const LatticeProblem& p) {
  constexpr int kMost = kVectorBytes / sizeof(T), kHalf = kMost / 2;
  if (Layout::fits(p.extent, kMost, p.window)) return make_of<N, T, kMost, Local>(p);
  if constexpr (std::is_same_v<T, float> && kHalf >= 4) {
    if (Layout::fits(p.extent, kHalf, p.window)) return make_of<N, T, kHalf, Local>(p);
  }
  return make_of<N, T, 1, Local>(p);
}

template <int N, template <int, class> class Local>
std::unique_ptr<AnyLattice> make_in(const LatticeProblem& p, bool single) {
  return single ? make_in<N, float, Local>(p) : make_in<N, double, Local>(p);
}

template <int N>
std::unique_ptr<AnyLattice> make_lattice(const LatticeProblem& p, bool abelian, bool single) {
  return abelian ? make_in<N, AbelianLocal>(p, single) : make_in<N, LinearLocal>(p, single);
}

}  // namespace hardscape::gauge
