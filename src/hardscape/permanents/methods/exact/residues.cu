// Glynn's formula for integers modulo primes on CUDA; see exact.py for the formula.
//
// The products of the 2^kInner patterns of inner signs stay in registers, a thread has signs of its
// own, and a block walks the others by a Gray code. The sizes are defined before.
#include "permanents/methods/range.cuh"
#include "permanents/numbers/residues.hpp"

namespace {

using hardscape::permanents::Residues;

constexpr int kPatterns = 1 << kInner;
constexpr int kThreads = 1 << kThreadBits;
constexpr int kFirstWalked = 1 + kInner + kThreadBits;

struct Shared {
  uint64 inner[kFactors][kPatterns];
  uint64 sum[kFactors][kThreads];  // of the outer signs
};

__device__ __forceinline__ uint64 signed_sum(const Residues& ring, uint64 sum, uint64 term,
                                             bool minus) {
  return minus ? ring.subtract(sum, term) : ring.add(sum, term);
}

__device__ void fill(const uint64* matrix, const Residues& ring, uint64 walk, Shared& shared) {
  for (int at = threadIdx.x; at < kFactors * kPatterns; at += kThreads) {
    const int j = at / kPatterns, x = at % kPatterns;
    uint64 sum = 0;
    for (int i = 0; i < kInner; ++i) {
      sum = signed_sum(ring, sum, matrix[(1 + i) * kFactors + j], x >> i & 1);
    }
    shared.inner[j][x] = sum;
  }
  const uint64 signs = (walk ^ walk >> 1) << kThreadBits | threadIdx.x;
  for (int j = 0; j < kFactors; ++j) {
    uint64 sum = matrix[j];
    for (int i = 1 + kInner; i < kFactors; ++i) {
      sum = signed_sum(ring, sum, matrix[i * kFactors + j], signs >> (i - 1 - kInner) & 1);
    }
    shared.sum[j][threadIdx.x] = sum;
  }
}

// The residues of all threads of a block added up, in the first one of `memory`.
__device__ void add_block(const Residues& ring, uint64 total, uint64* memory) {
  __syncthreads();
  memory[threadIdx.x] = signed_sum(ring, 0, total, __popc(threadIdx.x) & 1);
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      memory[threadIdx.x] = ring.add(memory[threadIdx.x], memory[threadIdx.x + half]);
    }
  }
}

}  // namespace

// Sums positions first to last-1 of the Gray code modulo prime blockIdx.y, divided by
// 2^(64 (n - 1)), cut into gridDim.x ranges: matrices[prime][sign][factor], out[prime][range].
extern "C" __global__ void __launch_bounds__(kThreads)
    exact_residues(const uint64* matrices, const Residues* rings, uint64 first, uint64 last,
                   uint64* out) {
  extern __shared__ char memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  const Residues ring = rings[blockIdx.y];
  const uint64* matrix = matrices + static_cast<uint64>(blockIdx.y) * kFactors * kFactors;
  const Range range(first, last);
  fill(matrix, ring, range.begin, shared);
  __syncthreads();
  uint64 total = 0;
  for (uint64 walk = range.begin; walk < range.end; ++walk) {
    if (walk != range.begin) {
      const int bit = __ffsll(static_cast<long long>(walk)) - 1;
      const uint64* row = matrix + (kFirstWalked + bit) * kFactors;
      for (int j = 0; j < kFactors; ++j) {
        uint64& sum = shared.sum[j][threadIdx.x];
        sum = signed_sum(ring, sum, ring.add(row[j], row[j]), !(walk >> (bit + 1) & 1));
      }
    }
    uint64 product[kPatterns];
#pragma unroll
    for (int x = 0; x < kPatterns; ++x) {
      product[x] = shared.sum[0][threadIdx.x] + shared.inner[0][x];
    }
    for (int j = 1; j < kFactors; ++j) {
      const uint64 outer = shared.sum[j][threadIdx.x];
#pragma unroll
      for (int x = 0; x < kPatterns; ++x) {
        product[x] = ring.multiply(product[x], outer + shared.inner[j][x]);
      }
    }
#pragma unroll
    for (int x = 0; x < kPatterns; ++x) {
      const uint64 term = product[x] >= ring.p ? product[x] - ring.p : product[x];
      total = signed_sum(ring, total, term, __popc(x) + static_cast<int>(walk & 1) & 1);
    }
  }
  add_block(ring, total, shared.sum[0]);
  if (threadIdx.x == 0) {
    out[static_cast<uint64>(blockIdx.y) * gridDim.x + blockIdx.x] = shared.sum[0][0];
  }
}
