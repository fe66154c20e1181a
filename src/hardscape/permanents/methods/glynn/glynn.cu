// Glynn's formula for the permanent in double precision on CUDA; see glynn.cpp for the formula.
//
// kInner signs are inner ones: the products of their 2^kInner patterns stay in registers. A thread
// has signs of its own, and all threads of a block walk the other signs together by a Gray code.
// Factors s_j = u + a(x) come in pairs (Parts = 1: 13 operations for 8 products of two factors):
//   (u + a)(v + b) = E + O and (u - a)(v - b) = E - O, E = uv + ab, O = av + bu.
// ab is tabulated in shared memory for all patterns. O is linear in the signs, so with the pattern
// cut into a left and a right half, O = L + M needs only the few values L and M. E + O rounds like
// the magnitudes of what is added, which can be more than (u + a)(v + b) would.
// The sizes are defined before.
#include "permanents/methods/sums.cuh"

namespace {

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
  if (kWalked == 0) {  // the first position takes a row times 0
    for (int at = threadIdx.x; at < kFactors; at += kThreads) shared.flip[0][at] = Value{};
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
  const Range range(first, last);
  fill_tables(matrix, shared);
  fill_sums(matrix, range.begin, shared);
  __syncthreads();
  Sums sums{};
  for (uint64 walk = range.begin; walk < range.end; ++walk) {
    // The first position has its sums; later ones flip one sign.
    const int bit = walk == range.begin ? 0 : __ffsll(static_cast<long long>(walk)) - 1;
    const double step = walk == range.begin ? 0.0 : walk >> (bit + 1) & 1 ? 1.0 : -1.0;
    const Value* flip = shared.flip[bit];
    const auto moved = [&](int j) {
      Value& sum = shared.sum[j][threadIdx.x];
      return sum = multiply_add(step, flip[j], sum);
    };
    Value product[kLeft][kRight][4];
    take_pair<true>(shared.pair[0], moved(0), moved(1), product);
    Value u = moved(2), v = moved(3);  // a pair ahead, so that nothing waits for them
#pragma unroll 2
    for (int p = 1; p < kPairs - 1; ++p) {
      const Value next_u = moved(2 * p + 2), next_v = moved(2 * p + 3);
      take_pair<false>(shared.pair[p], u, v, product);
      u = next_u;
      v = next_v;
    }
    take_pair<false>(shared.pair[kPairs - 1], u, v, product);
    if (kFactors % 2) take_single(shared.single, moved(kFactors - 1), product);
    const Value term = add_patterns(product, sums.magnitude);
    sums.add(walk & 1 ? Value{} - term : term);
  }
  double* const mine =
      out + (static_cast<uint64>(blockIdx.y) * gridDim.x + blockIdx.x) * (2 * kParts + 1);
  reduce_block<kThreads>(sums, shared.sum, mine);
}
