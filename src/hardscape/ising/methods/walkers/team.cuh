// A team of threads, whole warps, that makes one run of a search, and what its threads tell one
// another. A block holds kTogether teams of a warp, or one team of kWarps warps.
#pragma once

#include <cstdint>

#include "native/random.hpp"

namespace {

using uint32 = std::uint32_t;
using uint64 = std::uint64_t;

template <bool real>
struct NumberOf {
  using Type = int;
};
template <>
struct NumberOf<true> {
  using Type = double;
};

// Of energies: 32-bit integers, or doubles, as on the CPU.
using Number = NumberOf<kReal>::Type;

constexpr int kThreads = 32 * kWarps;
constexpr uint32 kEveryone = ~0u;
// Lanes of the CPU's vectors, which its rules for equal flips know.
constexpr int kLanes = kReal ? 8 : 16;

// A flip that nobody makes, and an energy that nobody has.
__device__ constexpr Number kNever = static_cast<Number>(-2147483648.0);
__device__ constexpr Number kHighest = kReal ? static_cast<Number>(1e300) : 0x7fffffff;

__device__ inline int lesser(int a, int b) { return min(a, b); }
__device__ inline int greater(int a, int b) { return max(a, b); }
__device__ inline double greater(double a, double b) { return a > b ? a : b; }

__device__ inline int greatest_of_warp(int x) { return __reduce_max_sync(kEveryone, x); }
__device__ inline double greatest_of_warp(double x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x = greater(x, __shfl_xor_sync(kEveryone, x, step));
  return x;
}

// Words of shared memory by which the threads of a team talk, two sets in turns: a thread may be a
// set ahead of another one, never two.
struct Talk {
  Number number[2][2][kWarps];
  uint32 word[2][kWarps];
};

class Team {
 public:
  int thread;

  __device__ Team(int thread, Talk& talk) : thread(thread), talk_(talk) {}

  __device__ void sync() const {
    if constexpr (kWarps == 1) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }

  // The greatest of all a and the greatest of all b.
  __device__ void greatest(Number& a, Number& b) {
    a = greatest_of_warp(a);
    b = greatest_of_warp(b);
    if constexpr (kWarps > 1) {
      Number(&told)[2][kWarps] = talk_.number[turn_];
      if (thread % 32 == 0) told[0][thread / 32] = a, told[1][thread / 32] = b;
      sync();
      for (int k = 0; k < kWarps; ++k) a = greater(a, told[0][k]), b = greater(b, told[1][k]);
      turn_ ^= 1;
    }
  }
  __device__ Number greatest(Number a) {
    Number b = a;
    greatest(a, b);
    return a;
  }

  __device__ uint32 least(uint32 x) {
    x = __reduce_min_sync(kEveryone, x);
    return together(x, [](uint32 a, uint32 b) { return min(a, b); });
  }
  __device__ uint32 sum(uint32 x) {
    x = __reduce_add_sync(kEveryone, x);
    return together(x, [](uint32 a, uint32 b) { return a + b; });
  }
  __device__ bool any(bool x) { return least(x ? 0 : 1) == 0; }

 private:
  template <class Join>
  __device__ uint32 together(uint32 x, Join&& join) {
    if constexpr (kWarps > 1) {
      if (thread % 32 == 0) talk_.word[turn_][thread / 32] = x;
      sync();
      x = talk_.word[turn_][0];
      for (int k = 1; k < kWarps; ++k) x = join(x, talk_.word[turn_][k]);
      turn_ ^= 1;
    }
    return x;
  }

  Talk& talk_;
  int turn_ = 0;
};

}  // namespace
