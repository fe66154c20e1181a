// What is compiled of SU(4) to SU(8) where extents do not fit vectors: one site at a time, which no
// level does faster, so once for all of them. Matrices of SU(2) and SU(3) fill vectors by
// themselves.
#pragma once

#include <complex>
#include <memory>

#include "gauge/ends/ends.hpp"
#include "gauge/lattice/problem.hpp"
#include "gauge/links/flow.hpp"
#include "gauge/links/smearing.hpp"
#include "gauge/links/wilson.hpp"

namespace hardscape::gauge {

template <int N>
using OneByOne = WilsonChain<N, 1>;
template <int N>
using OneByOneWeighed = WilsonChain<N, 1, Weights<1>>;

// EXTERN is "extern", which says that they are compiled elsewhere, or nothing, which compiles them.
#define HS_ONE_LANE(EXTERN, N)                                                                \
  EXTERN template std::unique_ptr<AnyWilsonChain> placed<AnyWilsonChain, OneByOne<N>>(        \
      const Layout&, const std::complex<double>*);                                            \
  EXTERN template std::unique_ptr<AnyWilsonChain> placed<AnyWilsonChain, OneByOneWeighed<N>>( \
      const Layout&, const std::complex<double>*, const Weights<1>&);                         \
  EXTERN template std::unique_ptr<AnyWilsonFlow> placed<AnyWilsonFlow, WilsonFlow<N, 1>>(     \
      const Layout&, const std::complex<double>*);                                            \
  EXTERN template std::unique_ptr<AnySmearing> placed<AnySmearing, Smearing<N, 1>>(           \
      const Layout&, const std::complex<double>*);                                            \
  EXTERN template std::unique_ptr<AnyLattice> make_of<N, double, 1, LinearLocal>(             \
      const LatticeProblem&);                                                                 \
  EXTERN template std::unique_ptr<AnyLattice> make_of<N, float, 1, LinearLocal>(              \
      const LatticeProblem&);                                                                 \
  EXTERN template std::unique_ptr<AnyLattice> make_of<N, double, 1, AbelianLocal>(            \
      const LatticeProblem&);                                                                 \
  EXTERN template std::unique_ptr<AnyLattice> make_of<N, float, 1, AbelianLocal>(             \
      const LatticeProblem&);

#define HS_ONE_LANE_OF_ALL(EXTERN) \
  HS_ONE_LANE(EXTERN, 4)           \
  HS_ONE_LANE(EXTERN, 5)           \
  HS_ONE_LANE(EXTERN, 6)           \
  HS_ONE_LANE(EXTERN, 7)           \
  HS_ONE_LANE(EXTERN, 8)

#if !defined(HS_COMPILES_ONE_LANE)
HS_ONE_LANE_OF_ALL(extern)
#endif

}  // namespace hardscape::gauge
