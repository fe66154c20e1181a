// Words of 32 clones on CUDA: how a variable of three clauses flips, how violated clauses are
// counted, and how what a look finds is told.
#pragma once

#include "xorsat/methods/quasi_greedy/streams.hpp"

namespace hardscape::xorsat {

using std::uint32_t;
using std::uint64_t;

// Solutions that are listed.
constexpr uint32_t kListed = 1024;

__device__ __forceinline__ uint32_t majority(uint32_t a, uint32_t b, uint32_t c) {
  return (a & b) | (c & (a | b));
}

// Any function of three words, by its truth table over a = 0xf0, b = 0xcc, c = 0xaa.
template <int Table>
__device__ __forceinline__ uint32_t lop3(uint32_t a, uint32_t b, uint32_t c) {
#if defined(__CUDACC__)
  uint32_t d;
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(c), "n"(Table));
#else
  uint32_t d = 0;
  for (int row = 0; row < 8; ++row) {
    const uint32_t here = (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    d |= Table >> row & 1 ? here : 0;
  }
#endif
  return d;
}

// Flips a variable of three clauses where two or three of them are violated.
__device__ __forceinline__ void flip_most(uint32_t& a, uint32_t& b, uint32_t& c) {
  const uint32_t x = lop3<0xf0 ^ 0xe8>(a, b, c);
  const uint32_t y = lop3<0xcc ^ 0xe8>(a, b, c);
  const uint32_t z = lop3<0xaa ^ 0xe8>(a, b, c);
  a = x, b = y, c = z;
}

// Flips it where any of them is.
__device__ __forceinline__ void flip_any(uint32_t& a, uint32_t& b, uint32_t& c) {
  const uint32_t x = lop3<0xf0 ^ 0xfe>(a, b, c);
  const uint32_t y = lop3<0xcc ^ 0xfe>(a, b, c);
  const uint32_t z = lop3<0xaa ^ 0xfe>(a, b, c);
  a = x, b = y, c = z;
}

// Flips it where, with `coin` for a fourth, two or more of them are: at one violated clause by its
// coin. Five functions of three words, none of them before the third for the first clause alone.
__device__ __forceinline__ void flip_by_coin(uint32_t& a, uint32_t& b, uint32_t& c, uint32_t coin) {
  const uint32_t some = lop3<0xfe>(b, c, coin), two = lop3<0xe8>(b, c, coin);
  const uint32_t x = lop3<0x3a>(a, some, two);  // a ? !some : two
  b = lop3<0x96>(a, b, x), c = lop3<0x96>(a, c, x), a = x;
}

// 0xff in the bytes of coins below a threshold: their first bytes against that of the threshold,
// four times, and where they are equal their last 32 bits, numbers `first` and on of a stream, to
// the rest.
template <bool Fine>
__device__ __forceinline__ uint32_t below(uint32_t coins, uint32_t four, uint32_t rest,
                                          const hardscape::RandomStream& fine, uint64_t first) {
  uint32_t under = __vcmpltu4(coins, four);
  if constexpr (Fine) {
    for (uint32_t ties = __vcmpeq4(coins, four); ties;) {
      const uint32_t byte = (__ffs(ties) - 1) / 8, mask = 0xffu << 8 * byte;
      if (static_cast<uint32_t>(fine.at(first + byte) >> 32) < rest) under |= mask;
      ties &= ~mask;
    }
  }
  return under;
}

// The word of update j's coin, from four bytes.
__device__ __forceinline__ uint32_t coin_word(uint32_t bytes, uint32_t j) {
  return __byte_perm(bytes, 0, j * 0x1111u);
}

// Writes the words of four updates' coins.
__device__ __forceinline__ void store_coins(uint4* to, uint32_t bytes) {
  *to = make_uint4(coin_word(bytes, 0), coin_word(bytes, 1), coin_word(bytes, 2),
                   coin_word(bytes, 3));
}

__device__ __forceinline__ void add3(uint32_t& a, uint32_t b, uint32_t c, uint32_t& carry) {
  carry = majority(a, b, c);
  a ^= b ^ c;
}

__device__ __forceinline__ void add2(uint32_t& a, uint32_t b, uint32_t& carry) {
  carry = a & b;
  a ^= b;
}

// Narrows `holders`, the clones with the least count in the digits above, by one more digit.
__device__ __forceinline__ void least_bit(uint32_t digit, uint32_t value, uint32_t& holders,
                                          uint32_t& least) {
  const uint32_t without = holders & ~digit;
  if (without) {
    holders = without;
  } else {
    least += value;
  }
}

// Tells what a look after sweep `done` found: `holders` are the clones of this thread with the
// `least` violated clauses. `found` and `firsts` are the kernel's; `fewest` is what this thread
// told before.
template <bool Count>
__device__ __forceinline__ void report(unsigned long long* found, unsigned long long* firsts,
                                       uint32_t holders, uint32_t least, uint32_t done,
                                       uint32_t thread, uint32_t target, unsigned long long seen,
                                       uint32_t& fewest) {
  if (!holders) return;
  const uint32_t worth = least > target ? least : target;
  const unsigned long long key = static_cast<unsigned long long>(worth) << 48 |
                                 static_cast<unsigned long long>(done) << 26 |
                                 (thread * 32 + __ffs(holders) - 1);
  if (key < seen) atomicMin(found, key);
  if constexpr (Count) {
    if (worth < fewest) {
      fewest = worth;
      atomicMin(firsts + worth, key & ((1ull << 48) - 1));
    }
  } else if (least == 0) {
    const unsigned long long slot = atomicAdd(found + 1, 1ull);
    if (slot < kListed) found[2 + slot] = static_cast<uint64_t>(done) << 32 | thread;
  }
}

// Whether nothing that comes after sweep `done` can be better than the best key that was seen.
__device__ __forceinline__ bool settled(unsigned long long seen, uint32_t target, uint32_t done) {
  return seen >> 48 <= target && (seen >> 26 & 0x3fffff) <= done;
}

}  // namespace hardscape::xorsat
