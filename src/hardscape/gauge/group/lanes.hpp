// Numbers that the gauge headers compute with: float and double on a GPU; on the CPU these, or as
// many of them as a vector register holds, one a site.
#pragma once

#include "native/random.hpp"

#if !defined(__CUDACC__)
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#endif

// Before loops over large matrices: what short code is worth, and what it is not. The last one is
// for loops up to N that small groups have, too, whose matrices stay in registers.
#if defined(__CUDACC__)
#define HS_UNROLL _Pragma("unroll")
#define HS_ROLLED _Pragma("unroll 1")
#define HS_ROLLED_IF_LARGE _Pragma("unroll (N > 3 ? 1 : N)")
#else
#define HS_UNROLL _Pragma("GCC unroll 8")
#define HS_ROLLED
#define HS_ROLLED_IF_LARGE
#endif

namespace hardscape::gauge {

template <class T>
struct Lanes {
  using Real = T;
  static constexpr int kCount = 1;
};

#if defined(__CUDACC__)

HS_HD inline float inverse_sqrt(float x) { return rsqrtf(x); }
// Of a number that is neither tiny nor huge, to a rounding or two: without the branches for those
// which the compiler's own has, code around it is one piece.
HS_HD inline double inverse_sqrt(double x) {
  double y;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  const double left = fma(-(x * y), y, 1.0);  // of order 2^-22, so that its cube is nothing
  return fma(y * left, fma(0.375, left, 0.5), y);
}

// c + a b and c - a b. Where one kernel must come to the bits of another one, the compiler is not
// free to choose what it fuses: it is told here, and fuses nothing else.
HS_HD inline float plus(float c, float a, float b) { return fmaf(a, b, c); }
HS_HD inline double plus(double c, double a, double b) { return fma(a, b, c); }
HS_HD inline float minus(float c, float a, float b) { return fmaf(-a, b, c); }
HS_HD inline double minus(double c, double a, double b) { return fma(-a, b, c); }

#else

template <class T, int W>
struct Pack {
  typedef T type __attribute__((vector_size(W * sizeof(T))));
};
template <class T>
struct Pack<T, 1> {
  using type = T;
};
// W numbers of type T.
template <class T, int W>
using Packed = typename Pack<T, W>::type;

// The integer as wide as a number, by which lanes are chosen.
template <class T>
using Word = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

// On the CPU a product is rounded before it is added.
template <class T, class A, class B>
inline T plus(const T& c, const A& a, const B& b) {
  return c + a * b;
}
template <class T, class A, class B>
inline T minus(const T& c, const A& a, const B& b) {
  return c - a * b;
}

// A root and a division, each rounded once, so that all instruction sets and numbers of lanes
// agree. Of 0, as the staples beyond an open boundary are, it is large and not infinite.
template <class T>
inline constexpr T kLeast = std::numeric_limits<T>::min();
#define HS_LANES(T, W)                                                             \
  template <>                                                                      \
  struct Lanes<Packed<T, W>> {                                                     \
    using Real = T;                                                                \
    static constexpr int kCount = W;                                               \
  };                                                                               \
  inline Packed<T, W> inverse_sqrt(Packed<T, W> x) {                               \
    for (int lane = 0; lane < W; ++lane) x[lane] = std::sqrt(x[lane] + kLeast<T>); \
    return T(1) / x;                                                               \
  }

HS_LANES(float, 4)
HS_LANES(float, 8)
HS_LANES(float, 16)
HS_LANES(double, 2)
HS_LANES(double, 4)
HS_LANES(double, 8)
#undef HS_LANES

// Number `lane` of a vector, and what sets it.
template <class V>
inline typename Lanes<V>::Real lane_of(const V& x, int lane) {
  if constexpr (Lanes<V>::kCount == 1) {
    return x;
  } else {
    return x[lane];
  }
}
template <class V>
inline void set_lane(V& x, int lane, typename Lanes<V>::Real value) {
  if constexpr (Lanes<V>::kCount == 1) {
    x = value;
  } else {
    x[lane] = value;
  }
}

inline float inverse_sqrt(float x) { return 1 / std::sqrt(x + kLeast<float>); }
inline double inverse_sqrt(double x) { return 1 / std::sqrt(x + kLeast<double>); }

#endif

template <class T>
using RealOf = typename Lanes<T>::Real;

}  // namespace hardscape::gauge
