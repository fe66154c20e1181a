// Exhaustive search for the lowest states of an Ising model on CUDA: finds the blocks worth
// opening.
//
// One thread walks the mid spins of one root by a Gray code; a block is the 2^(A+B) states that
// share all other spins. In filter units E(x, b) = u[x] + TABLE[b][x] + e[b]: u and e hold the
// block's fields, TABLE the couplings inside a block. Two states x share a register as signed
// 16-bit halves. `instance.cuh`, generated for the instance, holds the sizes and tables, so that
// unrolled loops see constants.
#include "instance.cuh"

namespace {

using int64 = long long;
using uint64 = unsigned long long;

constexpr int kLow = kSpinsA + kSpinsB;
constexpr int kPairs = 1 << (kSpinsA - 1);  // registers that hold the 2^A energies

__device__ __forceinline__ unsigned twice(int x) { return __byte_perm(x, 0, 0x1010); }

// Where the walk over root and mid spins stands.
struct Walk {
  int64 base;
  int field[kLow];
};

__device__ __forceinline__ void enter(const int64* prefix, uint64 root, Walk& walk,
                                      int64* mid_field) {
  walk.base = prefix[1];
  const int64* low = prefix + 2;
  const int64* mid = low + kLow;
  const int64* own = mid + kMid;
#pragma unroll
  for (int i = 0; i < kLow; ++i) walk.field[i] = static_cast<int>(low[i]);
  for (int k = 0; k < kMid; ++k) mid_field[k * blockDim.x] = mid[k];
  for (int j = 0; j < kRoot; ++j) {
    const bool minus = root >> j & 1;
    int64 field = own[j];
    for (int i = 0; i < j; ++i) field += (root >> i & 1) ? -kRootRoot[j][i] : kRootRoot[j][i];
    walk.base += minus ? -field : field;
#pragma unroll
    for (int i = 0; i < kLow; ++i) walk.field[i] += minus ? -kRootLow[j][i] : kRootLow[j][i];
    for (int k = 0; k < kMid; ++k) {
      mid_field[k * blockDim.x] += minus ? -kRootMid[j][k] : kRootMid[j][k];
    }
  }
  // The mid spins start at all +1.
  for (int k = 0; k < kMid; ++k) {
    walk.base += mid_field[k * blockDim.x];
#pragma unroll
    for (int i = 0; i < kLow; ++i) walk.field[i] += kMidLow[k][i];
  }
  walk.base += kMidPairs;
}

// Least filter value of the block, from its fields in filter units.
__device__ __forceinline__ int block_minimum(const int* field) {
  unsigned best[kPairs];
  int sum = 0;
#pragma unroll
  for (int j = 0; j < kSpinsB; ++j) sum += field[kSpinsA + j];
  unsigned e = twice(sum);
  unsigned step[kSpinsB];
#pragma unroll
  for (int j = 0; j < kSpinsB; ++j) step[j] = twice(2 * field[kSpinsA + j]);
#pragma unroll
  for (int n = 0; n < 1 << kSpinsB; ++n) {
    const int b = n ^ (n >> 1);
#pragma unroll
    for (int x = 0; x < kPairs; ++x) {
      best[x] = n == 0 ? __vadd2(e, kTable[b][x]) : __viaddmin_s16x2(e, kTable[b][x], best[x]);
    }
    const int next = (n + 1) ^ ((n + 1) >> 1);
    const int j = __ffs(b ^ next) - 1;
    if (j < kSpinsB) e = (next >> j & 1) ? __vsub2(e, step[j]) : __vadd2(e, step[j]);
  }
  unsigned u[kPairs];
  int a = 0;
#pragma unroll
  for (int i = 1; i < kSpinsA; ++i) a += field[i];
  u[0] = __vadd2(twice(a), __byte_perm(field[0], -field[0], 0x5410));
#pragma unroll
  for (int i = 1; i < kSpinsA; ++i) {
    const unsigned down = twice(2 * field[i]);
#pragma unroll
    for (int x = 0; x < 1 << (i - 1); ++x) u[x + (1 << (i - 1))] = __vsub2(u[x], down);
  }
  unsigned least[4] = {0x7fff7fffu, 0x7fff7fffu, 0x7fff7fffu, 0x7fff7fffu};
#pragma unroll
  for (int x = 0; x < kPairs; ++x) least[x % 4] = __viaddmin_s16x2(best[x], u[x], least[x % 4]);
  const unsigned m = __vmins2(__vmins2(least[0], least[1]), __vmins2(least[2], least[3]));
  return min(static_cast<int>(m) >> 16, static_cast<int>(m << 16) >> 16);
}

}  // namespace

// Searches the roots from `first` on, one a thread. prefix: target, base, then the fields on low,
// mid and root spins, from the spins above; all in fine units. `count` may pass `capacity`: then
// blocks were dropped and the caller runs again.
extern "C" __global__ void __launch_bounds__(kThreads)
    spectrum_search(const int64* prefix, uint64* blocks, unsigned* count, unsigned capacity,
                    int prune, uint64 first) {
  extern __shared__ int64 mid_fields[];
  int64* mid_field = mid_fields + threadIdx.x;
  const uint64 root = first + blockIdx.x * static_cast<uint64>(blockDim.x) + threadIdx.x;
  Walk walk;
  enter(prefix, root, walk, mid_field);
  const int64 target = prefix[0];
  unsigned mid = 0;
  for (unsigned i = 1;; ++i) {
    const int64 room = target - walk.base;
    int sum = 0;
#pragma unroll
    for (int j = 0; j < kLow; ++j) sum += abs(walk.field[j]);
    const bool possible = kLeastPairs - sum <= room || !prune;
    if (__any_sync(0xffffffffu, possible)) {
      int field[kLow];
#pragma unroll
      for (int j = 0; j < kLow; ++j) field[j] = (walk.field[j] + kHalf) >> kFilterShift;
      const int least = block_minimum(field);
      if (possible && least <= room >> kFilterShift) {
        const unsigned slot = atomicAdd(count, 1u);
        if (slot < capacity) blocks[slot] = root << kMid | mid;
      }
    }
    if (i == 1u << kMid) break;
    const int k = __ffs(i) - 1;
    mid ^= 1u << k;
    const int sign = mid >> k & 1 ? -2 : 2;
    walk.base += sign * mid_field[k * blockDim.x] + kMidSteps[0][i];
#pragma unroll
    for (int j = 0; j < kLow; ++j) walk.field[j] += sign * kMidLow[k][j];
  }
}
