// Glynn's formula with double-double products on CUDA; see extended.cpp. The patterns of kInner
// signs stay in registers, a thread has signs of its own, and a block walks the others by a Gray
// code.
#include "permanents/methods/sums.cuh"

__device__ __forceinline__ double fused(double a, double b, double c) { return fma(a, b, c); }

#include "permanents/methods/extended/extended.hpp"

namespace {

using namespace hardscape::permanents;

constexpr int kPatterns = 1 << (kInner - 1);  // their complements apart
constexpr int kThreads = 1 << kThreadBits;
constexpr int kWalked = kFactors - 1 - kInner - kThreadBits;
constexpr int kComponents = 2 * kParts;

struct Shared {
  double inner[kFactors][kComponents][kPatterns];
  double sum[kFactors][kComponents][kThreads];
};

// Entry of a matrix [component][sign][factor], the high components first.
__device__ double entry(const double* matrix, int component, int sign, int factor) {
  return matrix[(component * kFactors + sign) * kFactors + factor];
}

// Sum of entries from sign `first` on, bits that are set taken as minus; exact.
__device__ double signed_sum(const double* matrix, int component, int factor, int first, int count,
                             uint64 bits) {
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    const double x = entry(matrix, component, first + i, factor);
    sum += bits >> i & 1 ? -x : x;
  }
  return sum;
}

__device__ void fill(const double* matrix, uint64 walk, Shared& shared) {
  for (int at = threadIdx.x; at < kFactors * kComponents * kPatterns; at += kThreads) {
    const int x = at % kPatterns, c = at / kPatterns % kComponents;
    const int j = at / kPatterns / kComponents;
    shared.inner[j][c][x] = signed_sum(matrix, c, j, 1, kInner, static_cast<uint64>(x));
  }
  const uint64 signs = (walk ^ walk >> 1) << kThreadBits | threadIdx.x;
  for (int j = 0; j < kFactors; ++j) {
    for (int c = 0; c < kComponents; ++c) {
      shared.sum[j][c][threadIdx.x] =
          entry(matrix, c, 0, j) +
          signed_sum(matrix, c, j, 1 + kInner, kWalked + kThreadBits, signs);
    }
  }
}

}  // namespace

// Sums positions first to last-1 of the Gray code, cut into gridDim.x ranges.
// out[range] = high parts, low parts, magnitude.
extern "C" __global__ void __launch_bounds__(kThreads)
    extended_sum(const double* matrix, uint64 first, uint64 last, double* out) {
  extern __shared__ char memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  const Range range(first, last);
  fill(matrix, range.begin, shared);
  __syncthreads();
  Sums sums{};
  for (uint64 walk = range.begin; walk < range.end; ++walk) {
    const int bit = walk == range.begin ? 0 : __ffsll(static_cast<long long>(walk)) - 1;
    const double step = walk == range.begin ? 0.0 : walk >> (bit + 1) & 1 ? 2.0 : -2.0;
    Extended<double, kParts> product[kPatterns][2];
#pragma unroll
    for (int x = 0; x < kPatterns; ++x) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        product[x][side] = {};
        product[x][side].part[0].high = 1.0;
      }
    }
    const int flipped = kWalked > 0 ? 1 + kInner + kThreadBits + bit : 0;
    for (int j = 0; j < kFactors; ++j) {
      double outer[kComponents];
#pragma unroll
      for (int c = 0; c < kComponents; ++c) {
        double& sum = shared.sum[j][c][threadIdx.x];
        outer[c] = sum = fma(step, entry(matrix, c, flipped, j), sum);
      }
#pragma unroll
      for (int x = 0; x < kPatterns; ++x) {
        Extended<double, kParts> plus, minus;
#pragma unroll
        for (int p = 0; p < kParts; ++p) {
          const double a = shared.inner[j][p][x], b = shared.inner[j][kParts + p][x];
          plus.part[p] = two_sum(outer[p] + a, outer[kParts + p] + b);
          minus.part[p] = two_sum(outer[p] - a, outer[kParts + p] - b);
        }
        product[x][0].multiply(plus);
        product[x][1].multiply(minus);
      }
    }
#pragma unroll
    for (int x = 0; x < kPatterns; ++x) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        // The complement of a pattern has kInner signs flipped.
        const bool minus = (__popc(x) + side * kInner + static_cast<int>(walk & 1)) & 1;
#pragma unroll
        for (int p = 0; p < kParts; ++p) {
          const DoubleDouble<double> term =
              minus ? -product[x][side].part[p] : product[x][side].part[p];
          add_compensated(sums.high[p], sums.low[p], term.high);
          sums.low[p] += term.low;
          sums.magnitude += fabs(term.high);
        }
      }
    }
  }
  reduce_block<kThreads>(sums, shared.sum,
                         out + static_cast<uint64>(blockIdx.x) * (2 * kParts + 1));
}
