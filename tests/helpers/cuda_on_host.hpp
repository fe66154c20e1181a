// CUDA's words for g++, so that a kernel runs where there is no GPU: every thread of a block is a
// fiber, and what waits for others yields. Slow, and exact: for tests of kernels against the CPU.
#pragma once

// Read once by each process of tests; <memory> and <thread> would take as long again.
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#define __device__
#define __global__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __shared__ static
#define __launch_bounds__(...)

struct Three {
  unsigned x = 0, y = 0, z = 0;
};
struct alignas(4) char4 {
  signed char x, y, z, w;
};
struct alignas(8) short4 {
  short x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};

inline Three threadIdx, blockIdx, blockDim, gridDim;

namespace on_host {

struct Warp {
  int arrived = 0;
  unsigned turn = 0;
  std::uint64_t told[2][32];
};

struct Fiber {
  ucontext_t context;
  jmp_buf place;
  bool begun = false, over = false;
};

inline std::vector<Fiber> fibers;
inline std::vector<Warp> warps;
inline Warp block;
inline char* stacks;  // of all fibers, as many bytes as any launch has needed
inline std::size_t room;
inline unsigned current, over;
inline unsigned stride =
    1;  // from one fiber to the next: another one in each launch, to show races
inline ucontext_t outside;
inline void (*entry)();

inline void yield() {
  Fiber& here = fibers[current];
  if (!here.over && _setjmp(here.place)) return;
  if (over == fibers.size()) setcontext(&outside);
  do {
    current = (current + stride) % fibers.size();
  } while (fibers[current].over);
  threadIdx.x = current;
  Fiber& next = fibers[current];
  if (next.begun) _longjmp(next.place, 1);
  next.begun = true;
  setcontext(&next.context);
}

inline void body() {
  entry();
  fibers[current].over = true;
  ++over;
  yield();
}

inline void wait(Warp& all, int count) {
  const unsigned turn = all.turn;
  if (++all.arrived == count) {
    all.arrived = 0;
    ++all.turn;
  } else {
    while (all.turn == turn) yield();
  }
}

// What the 32 threads of this warp tell.
template <class T>
const std::uint64_t* told(T value) {
  Warp& warp = warps[current / 32];
  std::uint64_t (&slots)[32] = warp.told[warp.turn & 1];
  slots[current % 32] = 0;
  std::memcpy(&slots[current % 32], &value, sizeof(T));
  wait(warp, 32);
  return slots;
}

template <class T>
T as(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <class T, class Join>
T joined(T value, Join&& join) {
  const std::uint64_t* all = told(value);
  T found = as<T>(all[0]);
  for (int lane = 1; lane < 32; ++lane) found = join(found, as<T>(all[lane]));
  return found;
}

inline void launch(unsigned grid, unsigned threads, void (*kernel)()) {
  constexpr std::size_t size = 1 << 17;
  if (room < size * threads) {
    std::free(stacks);
    stacks = static_cast<char*>(std::malloc(room = size * threads));
  }
  entry = kernel;
  blockDim.x = threads;
  gridDim.x = grid;
  stride = (stride * 5 + 2) % 32 | 1;
  while (std::gcd(stride, threads) != 1) stride += 2;  // or it would not come to all of them
  for (blockIdx.x = 0; blockIdx.x < grid; ++blockIdx.x) {
    fibers = std::vector<Fiber>(threads);
    warps.assign((threads + 31) / 32, {});
    block = {};
    over = 0;
    for (unsigned i = 0; i < threads; ++i) {
      Fiber& fiber = fibers[i];
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = stacks + size * i;
      fiber.context.uc_stack.ss_size = size;
      makecontext(&fiber.context, body, 0);
    }
    current = 0;
    threadIdx.x = 0;
    fibers[0].begun = true;
    swapcontext(&outside, &fibers[0].context);
  }
}

}  // namespace on_host

inline void __syncwarp(unsigned = ~0u) { on_host::told(0); }
inline void __syncthreads() { on_host::wait(on_host::block, static_cast<int>(blockDim.x)); }
template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  return on_host::as<T>(on_host::told(value)[lane & 31]);
}
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned by) {
  const unsigned lane = on_host::current % 32;
  return on_host::as<T>(on_host::told(value)[lane < by ? lane : lane - by]);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  const unsigned lane = on_host::current % 32;
  return on_host::as<T>(on_host::told(value)[lane ^ mask]);
}
inline unsigned __ballot_sync(unsigned, bool value) {
  const std::uint64_t* all = on_host::told(value);
  unsigned found = 0;
  for (int lane = 0; lane < 32; ++lane) found |= static_cast<unsigned>(all[lane] & 1) << lane;
  return found;
}
inline bool __any_sync(unsigned mask, bool value) { return __ballot_sync(mask, value) != 0; }
template <class T>
T __reduce_max_sync(unsigned, T value) {
  return on_host::joined(value, [](T a, T b) { return std::max(a, b); });
}
template <class T>
T __reduce_min_sync(unsigned, T value) {
  return on_host::joined(value, [](T a, T b) { return std::min(a, b); });
}
template <class T>
T __reduce_add_sync(unsigned, T value) {
  return on_host::joined(value, [](T a, T b) { return a + b; });
}
template <class T>
T __reduce_or_sync(unsigned, T value) {
  return on_host::joined(value, [](T a, T b) { return a | b; });
}
inline void __threadfence() {}
template <class T>
T __ldg(const T* at) {
  return *at;
}
template <class T>
T __ldcg(const T* at) {
  return *at;
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<std::uint64_t>(a) * b >> 32);
}
inline void __nanosleep(unsigned) {
  sched_yield();
  on_host::yield();
}
unsigned long long __cvta_generic_to_shared(const void*);
inline double __dadd_rn(double a, double b) { return a + b; }
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __ffs(unsigned x) { return x ? std::countr_zero(x) + 1 : 0; }
// The four bytes of two words, one by one: all bits of a byte where the comparison holds.
template <class Holds>
unsigned bytes_compared(unsigned a, unsigned b, Holds&& holds) {
  unsigned found = 0;
  for (int i = 0; i < 32; i += 8) found |= holds(a >> i & 0xff, b >> i & 0xff) ? 0xffu << i : 0u;
  return found;
}
inline unsigned __vcmpltu4(unsigned a, unsigned b) {
  return bytes_compared(a, b, [](unsigned x, unsigned y) { return x < y; });
}
inline unsigned __vcmpeq4(unsigned a, unsigned b) {
  return bytes_compared(a, b, [](unsigned x, unsigned y) { return x == y; });
}
// Bytes of the eight in b and a, by the low three bits of each hexadecimal digit of `order`.
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned order) {
  const std::uint64_t both = static_cast<std::uint64_t>(b) << 32 | a;
  unsigned found = 0;
  for (int i = 0; i < 4; ++i) {
    found |= static_cast<unsigned>(both >> 8 * (order >> 4 * i & 7) & 0xff) << 8 * i;
  }
  return found;
}
inline int __float2int_rn(float x) { return static_cast<int>(rintf(x)); }
inline int __double2int_rn(double x) { return static_cast<int>(rint(x)); }
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
template <class T>
T atomicAdd(T* at, T value) {
  const T before = *at;
  *at += value;
  return before;
}
template <class T>
T atomicCAS(T* at, T compare, T value) {
  const T before = *at;
  if (before == compare) *at = value;
  return before;
}
template <class T>
T atomicMin(T* at, T value) {
  const T before = *at;
  *at = std::min(before, value);
  return before;
}
template <class T>
T atomicAnd(T* at, T value) {
  const T before = *at;
  *at &= value;
  return before;
}
template <class T>
T atomicXor(T* at, T value) {
  const T before = *at;
  *at ^= value;
  return before;
}
using std::max;
using std::min;
