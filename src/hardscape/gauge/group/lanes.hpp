// Numbers that the gauge headers compute with: float and double on a GPU; on the CPU these, or as
// many of them as a vector register holds, one a site.
#pragma once

#include "native/random.hpp"

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
HS_HD inline double inverse_sqrt(double x) { return rsqrt(x); }

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

template <class T>
struct Bits;
template <>
struct Bits<float> {
  using Word = std::int32_t;
  static constexpr Word kGuess = 0x5f375a86;
  static constexpr int kSteps = 3;
};
template <>
struct Bits<double> {
  using Word = std::int64_t;
  static constexpr Word kGuess = 0x5fe6eb50c7b537a9;
  static constexpr int kSteps = 4;
};

// Newton's iteration from a guess made of the exponent. Only additions and multiplications, so that
// the vectors of every instruction set run it; x is a normal number above 0.
template <class T, class V>
inline V newton_inverse_sqrt(V x) {
  using Word = typename Bits<T>::Word;
  using Words = Packed<Word, static_cast<int>(sizeof(V) / sizeof(T))>;
  Words bits;
  __builtin_memcpy(&bits, &x, sizeof x);
  bits = Bits<T>::kGuess - (bits >> 1);
  V y;
  __builtin_memcpy(&y, &bits, sizeof y);
  const V half = T(0.5) * x;
  for (int step = 0; step < Bits<T>::kSteps; ++step) y = y * (T(1.5) - half * y * y);
  return y;
}

#define HS_LANES(T, W)               \
  template <>                        \
  struct Lanes<Packed<T, W>> {       \
    using Real = T;                  \
    static constexpr int kCount = W; \
  };                                 \
  inline Packed<T, W> inverse_sqrt(Packed<T, W> x) { return newton_inverse_sqrt<T>(x); }

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

inline float inverse_sqrt(float x) { return newton_inverse_sqrt<float>(x); }
inline double inverse_sqrt(double x) { return newton_inverse_sqrt<double>(x); }

#endif

template <class T>
using RealOf = typename Lanes<T>::Real;

}  // namespace hardscape::gauge
