// What a kernel whose threads do not talk to one another needs to run on the host, a thread after
// another.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct Index {
  std::uint32_t x;
};
extern "C" {
Index blockIdx, threadIdx;
}
struct uint2 {
  std::uint32_t x, y;
};

inline int __ffs(std::uint32_t x) { return x ? std::countr_zero(x) + 1 : 0; }
inline std::uint32_t __vcmpltu4(std::uint32_t, std::uint32_t) { return 0; }
inline std::uint32_t __vcmpeq4(std::uint32_t, std::uint32_t) { return 0; }
inline std::uint32_t __byte_perm(std::uint32_t, std::uint32_t, std::uint32_t) { return 0; }
inline unsigned long long atomicMin(unsigned long long* at, unsigned long long value) {
  const auto before = *at;
  *at = std::min(before, value);
  return before;
}
inline unsigned long long atomicAdd(unsigned long long* at, unsigned long long value) {
  const auto before = *at;
  *at += value;
  return before;
}
