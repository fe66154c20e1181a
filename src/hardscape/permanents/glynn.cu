// Glynn's formula for the permanent in double precision on CUDA; see glynn.cpp for the formula.
//
// kInner signs are inner ones: the products of their 2^kInner patterns stay in registers. A thread
// has signs of its own, and all threads of a block walk the other signs together by a Gray code.
// Factors s_j = u + a(x) come in pairs (Parts = 1: 13 operations for 8 products of two factors):
//   (u + a)(v + b) = E + O and (u - a)(v - b) = E - O, E = uv + ab, O = av + bu.
// ab is tabulated in shared memory for all patterns. O is linear in the signs, so with the pattern
// cut into a left and a right half, O = L + M needs only the few values L and M. E + O rounds like
// the magnitudes of what is added, which can be more than (u + a)(v + b) would.
// `instance.cuh` holds the sizes.
#include "instance.cuh"

namespace {

using uint64 = unsigned long long;

template <int Parts>
struct Number;

template <>
struct Number<1> {
  double re;
};

template <>
struct alignas(16) Number<2> {
  double re, im;
};

using Value = Number<kParts>;

__device__ __forceinline__ Number<1> operator+(Number<1> x, Number<1> y) { return {x.re + y.re}; }
__device__ __forceinline__ Number<1> operator-(Number<1> x, Number<1> y) { return {x.re - y.re}; }
__device__ __forceinline__ Number<1> operator*(Number<1> x, Number<1> y) { return {x.re * y.re}; }
__device__ __forceinline__ Number<1> operator*(double x, Number<1> y) { return {x * y.re}; }

// x y + z.
__device__ __forceinline__ Number<1> multiply_add(Number<1> x, Number<1> y, Number<1> z) {
  return {fma(x.re, y.re, z.re)};
}

__device__ __forceinline__ Number<2> operator+(Number<2> x, Number<2> y) {
  return {x.re + y.re, x.im + y.im};
}
__device__ __forceinline__ Number<2> operator-(Number<2> x, Number<2> y) {
  return {x.re - y.re, x.im - y.im};
}
__device__ __forceinline__ Number<2> operator*(Number<2> x, Number<2> y) {
  return {fma(x.re, y.re, -(x.im * y.im)), fma(x.re, y.im, x.im * y.re)};
}
__device__ __forceinline__ Number<2> operator*(double x, Number<2> y) {
  return {x * y.re, x * y.im};
}
__device__ __forceinline__ Number<2> multiply_add(Number<2> x, Number<2> y, Number<2> z) {
  return {fma(x.re, y.re, fma(-x.im, y.im, z.re)), fma(x.re, y.im, fma(x.im, y.re, z.im))};
}
__device__ __forceinline__ Number<1> multiply_add(double x, Number<1> y, Number<1> z) {
  return {fma(x, y.re, z.re)};
}
__device__ __forceinline__ Number<2> multiply_add(double x, Number<2> y, Number<2> z) {
  return {fma(x, y.re, z.re), fma(x, y.im, z.im)};
}

// |x|, or for a complex number the sum of its parts' magnitudes.
__device__ __forceinline__ double one_norm(Number<1> x) { return fabs(x.re); }
__device__ __forceinline__ double one_norm(Number<2> x) { return fabs(x.re) + fabs(x.im); }

// Signs 1 to 3 are the left half of a pattern, signs 4 to kInner the right one. The first of each
// half stays +: the four combinations of the halves' overall signs are taken together.
constexpr int kLeft = 4;
constexpr int kRight = 1 << (kInner - 4);
constexpr int kPatterns = 1 << kInner;
constexpr int kThreads = 1 << kThreadBits;
constexpr int kWalked = kFactors - 1 - kInner - kThreadBits;  // signs of the Gray code
constexpr int kFirstWalked = 1 + kInner + kThreadBits;
constexpr int kPairs = kFactors / 2;

struct alignas(16) Two {
  Value first, second;
};

// Inner constants of a pair of factors.
struct Pair {
  Two both[kLeft][kRight];  // ab for the left half plus and minus the right half
  Two left[kLeft];          // parts of a and b
  Two right[kRight];
};

// Inner constants of the last factor of an odd number.
struct Single {
  Value left[kLeft], right[kRight];
};

struct Shared {
  Pair pair[kPairs];
  Single single;
  Value flip[kWalked > 0 ? kWalked : 1][kFactors];  // twice the entries
  Value sum[kFactors][kThreads];                    // of the outer signs
};

// Entry of a matrix [part][sign][factor].
__device__ __forceinline__ Number<1> entry(const double* matrix, int sign, int factor, Number<1>) {
  return {matrix[sign * kFactors + factor]};
}
__device__ __forceinline__ Number<2> entry(const double* matrix, int sign, int factor, Number<2>) {
  const int at = sign * kFactors + factor;
  return {matrix[at], matrix[at + kFactors * kFactors]};
}
__device__ __forceinline__ Value entry(const double* matrix, int sign, int factor) {
  return entry(matrix, sign, factor, Value{});
}

// Sum of entries from sign `first` on, bits that are set taken as minus.
__device__ Value signed_sum(const double* matrix, int factor, int first, int count, uint64 bits) {
  Value sum{};
  for (int i = 0; i < count; ++i) {
    const Value x = entry(matrix, first + i, factor);
    sum = bits >> i & 1 ? sum - x : sum + x;
  }
  return sum;
}

__device__ Value left_sum(const double* matrix, int factor, int i) {
  return signed_sum(matrix, factor, 1, 3, static_cast<uint64>(i) << 1);
}

__device__ Value right_sum(const double* matrix, int factor, int j) {
  return signed_sum(matrix, factor, 4, kInner - 3, static_cast<uint64>(j) << 1);
}

__device__ void fill_tables(const double* matrix, Shared& shared) {
  constexpr int entries = kLeft * kRight;
  for (int at = threadIdx.x; at < kPairs * entries; at += kThreads) {
    const int p = at / entries, i = at / kRight % kLeft, j = at % kRight;
    const Value a = left_sum(matrix, 2 * p, i), b = left_sum(matrix, 2 * p + 1, i);
    const Value c = right_sum(matrix, 2 * p, j), d = right_sum(matrix, 2 * p + 1, j);
    shared.pair[p].both[i][j] = {(a + c) * (b + d), (a - c) * (b - d)};
    if (j == 0) shared.pair[p].left[i] = {a, b};
    if (i == 0) shared.pair[p].right[j] = {c, d};
  }
  if (kFactors % 2) {
    for (int i = threadIdx.x; i < kLeft; i += kThreads) {
      shared.single.left[i] = left_sum(matrix, kFactors - 1, i);
    }
    for (int j = threadIdx.x; j < kRight; j += kThreads) {
      shared.single.right[j] = right_sum(matrix, kFactors - 1, j);
    }
  }
  for (int at = threadIdx.x; at < kWalked * kFactors; at += kThreads) {
    shared.flip[at / kFactors][at % kFactors] =
        2.0 * entry(matrix, kFirstWalked + at / kFactors, at % kFactors);
  }
}

// The outer sums of this thread at position `walk` of the Gray code.
__device__ void fill_sums(const double* matrix, uint64 walk, Shared& shared) {
  const uint64 signs = (walk ^ walk >> 1) << kThreadBits | threadIdx.x;
  for (int j = 0; j < kFactors; ++j) {
    shared.sum[j][threadIdx.x] =
        entry(matrix, 0, j) + signed_sum(matrix, j, 1 + kInner, kWalked + kThreadBits, signs);
  }
}

// Multiplies the products with a pair of factors, or starts them with it.
template <bool Start>
__device__ __forceinline__ void take_pair(const Pair& pair, Value u, Value v,
                                          Value (&product)[kLeft][kRight][4]) {
  const Value outer = u * v;
  Value right[kRight];
#pragma unroll
  for (int j = 0; j < kRight; ++j) {
    const Two part = pair.right[j];
    right[j] = multiply_add(part.first, v, part.second * u);
  }
#pragma unroll
  for (int i = 0; i < kLeft; ++i) {
    const Two part = pair.left[i];
    const Value left = multiply_add(part.first, v, part.second * u);
#pragma unroll
    for (int j = 0; j < kRight; ++j) {
      const Two both = pair.both[i][j];
      const Value even0 = outer + both.first, odd0 = left + right[j];
      const Value even1 = outer + both.second, odd1 = left - right[j];
      const Value factor[4] = {even0 + odd0, even0 - odd0, even1 + odd1, even1 - odd1};
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        product[i][j][k] = Start ? factor[k] : product[i][j][k] * factor[k];
      }
    }
  }
}

__device__ __forceinline__ void take_single(const Single& single, Value u,
                                            Value (&product)[kLeft][kRight][4]) {
#pragma unroll
  for (int i = 0; i < kLeft; ++i) {
    const Value plus = u + single.left[i], minus = u - single.left[i];
#pragma unroll
    for (int j = 0; j < kRight; ++j) {
      product[i][j][0] = product[i][j][0] * (plus + single.right[j]);
      product[i][j][1] = product[i][j][1] * (minus - single.right[j]);
      product[i][j][2] = product[i][j][2] * (plus - single.right[j]);
      product[i][j][3] = product[i][j][3] * (minus + single.right[j]);
    }
  }
}

// Adds x to high; the rounding error goes to low (Knuth's two-sum).
__device__ __forceinline__ void add_compensated(double& high, double& low, double x) {
  const double sum = high + x;
  const double part = sum - high;
  low += (high - (sum - part)) + (x - part);
  high = sum;
}

struct Sums {
  double high[kParts], low[kParts], magnitude;

  __device__ __forceinline__ void add(Number<1> x) { add_compensated(high[0], low[0], x.re); }
  __device__ __forceinline__ void add(Number<2> x) {
    add_compensated(high[0], low[0], x.re);
    add_compensated(high[kParts - 1], low[kParts - 1], x.im);
  }
  __device__ __forceinline__ void add(const Sums& other) {
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      add_compensated(high[p], low[p], other.high[p]);
      low[p] += other.low[p];
    }
    magnitude += other.magnitude;
  }
};

// Sums all patterns with their signs.
__device__ __forceinline__ Value add_patterns(const Value (&product)[kLeft][kRight][4],
                                              double& magnitude) {
  Value term{};
#pragma unroll
  for (int i = 0; i < kLeft; ++i) {
#pragma unroll
    for (int j = 0; j < kRight; ++j) {
      const Value(&x)[4] = product[i][j];
      // The left half has three signs, the right one kInner - 3.
      const Value even = kInner % 2 ? x[0] - x[1] : x[0] + x[1];
      const Value odd = kInner % 2 ? x[2] - x[3] : x[2] + x[3];
      const Value four = kInner % 2 ? even + odd : even - odd;
      term = __popc(i) + __popc(j) & 1 ? term - four : term + four;
#pragma unroll
      for (int k = 0; k < 4; ++k) magnitude += one_norm(x[k]);
    }
  }
  return term;
}

}  // namespace

// Sums positions first to last-1 of the Gray code of matrix blockIdx.y, cut into gridDim.x ranges.
// out[matrix][range] = high parts, low parts, magnitude.
extern "C" __global__ void __launch_bounds__(kThreads)
    glynn_sum(const double* matrices, uint64 first, uint64 last, double* out) {
  extern __shared__ char memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  const double* matrix = matrices + static_cast<uint64>(blockIdx.y) * kParts * kFactors * kFactors;
  const uint64 share = (last - first) / gridDim.x, rest = (last - first) % gridDim.x;
  const uint64 begin = first + blockIdx.x * share + min(static_cast<uint64>(blockIdx.x), rest);
  const uint64 end = begin + share + (blockIdx.x < rest ? 1 : 0);
  fill_tables(matrix, shared);
  fill_sums(matrix, begin, shared);
  __syncthreads();
  Sums sums{};
  for (uint64 walk = begin; walk < end; ++walk) {
    // The first position has its sums; later ones flip one sign.
    const int bit = walk == begin ? 0 : __ffsll(static_cast<long long>(walk)) - 1;
    const double step = walk == begin ? 0.0 : walk >> (bit + 1) & 1 ? 1.0 : -1.0;
    const Value* flip = shared.flip[bit];
    const auto moved = [&](int j) {
      Value& sum = shared.sum[j][threadIdx.x];
      return sum = multiply_add(step, flip[j], sum);
    };
    Value product[kLeft][kRight][4];
    take_pair<true>(shared.pair[0], moved(0), moved(1), product);
#pragma unroll 2
    for (int p = 1; p < kPairs; ++p) {
      take_pair<false>(shared.pair[p], moved(2 * p), moved(2 * p + 1), product);
    }
    if (kFactors % 2) take_single(shared.single, moved(kFactors - 1), product);
    const Value term = add_patterns(product, sums.magnitude);
    sums.add(walk & 1 ? Value{} - term : term);
  }
  if (__popc(threadIdx.x) & 1) {
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      sums.high[p] = -sums.high[p];
      sums.low[p] = -sums.low[p];
    }
  }
  __syncthreads();
  Sums* const total = reinterpret_cast<Sums*>(shared.sum);
  total[threadIdx.x] = sums;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) total[threadIdx.x].add(total[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) {
    double* mine =
        out + (static_cast<uint64>(blockIdx.y) * gridDim.x + blockIdx.x) * (2 * kParts + 1);
    for (int p = 0; p < kParts; ++p) {
      mine[p] = total[0].high[p];
      mine[kParts + p] = total[0].low[p];
    }
    mine[2 * kParts] = total[0].magnitude;
  }
}
