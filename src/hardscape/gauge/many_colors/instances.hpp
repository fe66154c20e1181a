// What is compiled of SU(4) to SU(8), each group in a source of its own beside this file: their
// long loops are to be short code, and that of SU(2) and SU(3) stays what it is without them.
#pragma once

#include "gauge/ends/ends.hpp"
#include "gauge/fixed/condition.hpp"
#include "gauge/fixed/transform.hpp"
#include "gauge/ghost/operator.hpp"
#include "gauge/group/haar.hpp"
#include "gauge/links/flow.hpp"
#include "gauge/links/loops.hpp"
#include "gauge/links/plaquette.hpp"
#include "gauge/links/smearing.hpp"
#include "gauge/links/unitarity.hpp"
#include "gauge/links/wilson.hpp"
#include "gauge/many_colors/make.hpp"
#include "gauge/many_colors/one_lane.hpp"
#include "native/vector.hpp"

namespace hardscape::gauge {

inline constexpr int kDoubles = kVectorBytes / sizeof(double);

template <int N, int W>
using WeighedChain = WilsonChain<N, W, Weights<W>>;

// EXTERN is "extern", which says that they are compiled elsewhere, or nothing, which compiles them.
#define HS_INSTANCES_IN(EXTERN, N, T)                                                            \
  EXTERN template void transform_links<N, kDoubles>(const std::complex<T>*,                      \
                                                    const std::complex<double>*, const Extents&, \
                                                    int, int, std::complex<T>*);                 \
  EXTERN template void sum_conditions<N, kDoubles, LinearLocal>(                                 \
      const std::complex<T>*, const Extents&, const double*, int, int, int, double*);            \
  EXTERN template void sum_conditions<N, kDoubles, AbelianLocal>(                                \
      const std::complex<T>*, const Extents&, const double*, int, int, int, double*);            \
  EXTERN template void sum_plaquettes<N, kDoubles>(const std::complex<T>*, const Extents&, int,  \
                                                   int, double*);                                \
  EXTERN template Deviation largest_deviation<N>(const std::complex<T>*, std::size_t,            \
                                                 std::size_t);                                   \
  EXTERN template std::size_t reproject<N, kDoubles>(const std::complex<T>*, std::size_t,        \
                                                     std::size_t, std::complex<T>*);

#define HS_INSTANCES_ON(EXTERN, N, W)                                                         \
  EXTERN template std::unique_ptr<AnyWilsonChain> placed<AnyWilsonChain, WilsonChain<N, W>>(  \
      const Layout&, const std::complex<double>*);                                            \
  EXTERN template std::unique_ptr<AnyWilsonChain> placed<AnyWilsonChain, WeighedChain<N, W>>( \
      const Layout&, const std::complex<double>*, const Weights<W>&);                         \
  EXTERN template std::unique_ptr<AnyWilsonFlow> placed<AnyWilsonFlow, WilsonFlow<N, W>>(     \
      const Layout&, const std::complex<double>*);                                            \
  EXTERN template std::unique_ptr<AnySmearing> placed<AnySmearing, Smearing<N, W>>(           \
      const Layout&, const std::complex<double>*);

#define HS_INSTANCES(EXTERN, N)                                                                   \
  HS_INSTANCES_IN(EXTERN, N, double)                                                              \
  HS_INSTANCES_IN(EXTERN, N, float)                                                               \
  HS_INSTANCES_ON(EXTERN, N, kDoubles)                                                            \
  EXTERN template std::unique_ptr<AnyLattice> make_lattice<N>(const LatticeProblem&, bool, bool); \
  EXTERN template void fill_random<N>(std::complex<double>*, std::size_t, std::uint64_t);         \
  EXTERN template double sum_loops<N, kDoubles>(const std::complex<double>*,                      \
                                                const std::complex<double>*, const Extents&, int, \
                                                int, int, int, int);                              \
  EXTERN template void apply_faddeev_popov<N, kDoubles>(                                          \
      const std::complex<double>*, const Extents&, const double*, const std::complex<double>*,    \
      std::complex<double>*, int, int, int);

#define HS_MANY_COLORS(EXTERN) \
  HS_INSTANCES(EXTERN, 4)      \
  HS_INSTANCES(EXTERN, 5)      \
  HS_INSTANCES(EXTERN, 6)      \
  HS_INSTANCES(EXTERN, 7)      \
  HS_INSTANCES(EXTERN, 8)

#if !defined(HS_COMPILES_MANY_COLORS)
HS_MANY_COLORS(extern)
#endif

}  // namespace hardscape::gauge
