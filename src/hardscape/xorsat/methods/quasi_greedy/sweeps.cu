// The quasi-greedy dynamics of one instance, unrolled: each thread holds 32 clones, one bit each of
// every clause's word "violated", in registers (a few, short-lived in the sweep, in shared memory).
// The 32 threads of a warp, 1024 clones, flip the same coins.
#include "xorsat/methods/quasi_greedy/streams.hpp"

using std::uint32_t;
using std::uint64_t;

namespace {

// Solutions that are listed.
constexpr uint32_t kListed = 1024;

__device__ __forceinline__ uint32_t majority(uint32_t a, uint32_t b, uint32_t c) {
  return (a & b) | (c & (a | b));
}

// Any function of three words, by its truth table over a = 0xf0, b = 0xcc, c = 0xaa.
template <int Table>
__device__ __forceinline__ uint32_t lop3(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t d;
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(c), "n"(Table));
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

// Four bits of bytes that are 0 or 0xff.
__device__ __forceinline__ uint32_t nibble(uint32_t bytes) {
  return (bytes & 0x08040201u) * 0x01010101u >> 24;
}

// The word of update j's coin, from four bytes.
__device__ __forceinline__ uint32_t coin_word(uint32_t bytes, uint32_t j) {
  return __byte_perm(bytes, 0, j * 0x1111u);
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

}  // namespace

// Runs `sweeps` sweeps from `first_sweep` on and looks at the clones every `look` of them (and, if
// this is the `last` launch, at the end, counting).
// `state`: words of clauses, [clause][thread], to go on from, and to `keep` at the end.
// `scratch`: spins, [variable][thread], where they do not fit into shared memory.
// `found`: the best key (violated, no fewer than the target, << 48 | sweep << 26 | clone), the
// number of solutions listed, and the list (sweep << 32 | thread).
// `w1`: threshold of coins in each of four bytes, where every variable is in three clauses.
// `firsts`: where every look counts, the least sweep << 26 | clone for each number of violated
// clauses.
extern "C" __global__ void __launch_bounds__(kThreads, 1)
    xorsat_sweeps(uint32_t* state, [[maybe_unused]] uint32_t* scratch, unsigned long long* found,
                  [[maybe_unused]] unsigned long long* firsts, uint64_t seed, uint64_t first_group,
                  uint32_t first_sweep, uint32_t sweeps, uint32_t look, uint32_t target,
                  uint32_t words, [[maybe_unused]] uint32_t w1, uint32_t last, uint32_t keep) {
  extern __shared__ uint32_t shared[];
  const uint32_t thread = blockIdx.x * kThreads + threadIdx.x;
  if (thread >= words) return;
  const uint32_t lane = threadIdx.x % 32;
  const hardscape::RandomStream coins(seed, first_group + thread / 32, hardscape::xorsat::kCoins);
  [[maybe_unused]] volatile uint32_t* const kept = shared + kKeptFrom + threadIdx.x;
#include "declare.cuh"
  if (first_sweep == 0) {
    uint32_t* const spin = kSpinsShared ? shared + threadIdx.x : scratch + thread;
    const uint32_t stride = kSpinsShared ? kThreads : words;
    const hardscape::RandomStream initial(seed, first_group * 32 + thread,
                                          hardscape::xorsat::kSpins);
    for (uint32_t v = 0; v < kVariables; v += 2) {
      const uint64_t bits = initial.at(v / 2);
      spin[v * stride] = static_cast<uint32_t>(bits);
      if (v + 1 < kVariables) spin[(v + 1) * stride] = static_cast<uint32_t>(bits >> 32);
    }
#include "begin.cuh"
  } else {
#include "load.cuh"
  }
  const uint32_t end = first_sweep + sweeps;
  unsigned long long seen = found[0];
  [[maybe_unused]] uint32_t fewest = ~0u;
  for (uint32_t sweep = first_sweep, next_look = look; sweep < end; ++sweep) {
    [[maybe_unused]] const uint64_t at = static_cast<uint64_t>(sweep) * kCoinWords + lane;
#include "sweep.cuh"
    const uint32_t done = sweep + 1;
    const bool at_end = last && done == end;
    if (--next_look && !at_end) continue;
    next_look = look;
    uint32_t holders, least = 0;
    if (kCount || at_end) {
#include "count.cuh"
    } else {
#include "either.cuh"
    }
    if (holders) {
      const uint32_t worth = least > target ? least : target;
      const unsigned long long key = static_cast<unsigned long long>(worth) << 48 |
                                     static_cast<unsigned long long>(done) << 26 |
                                     (thread * 32 + __ffs(holders) - 1);
      if (key < seen) atomicMin(found, key);
      if constexpr (kCount) {
        if (worth < fewest) {
          fewest = worth;
          atomicMin(firsts + worth, key & ((1ull << 48) - 1));
        }
      }
      if (!kCount && least == 0) {
        const unsigned long long slot = atomicAdd(found + 1, 1ull);
        if (slot < kListed) found[2 + slot] = static_cast<uint64_t>(done) << 32 | thread;
      }
    }
    // What was read at the last look: it takes long to arrive, and a few more sweeps do no harm.
    const bool settled = seen >> 48 <= target && (seen >> 26 & 0x3fffff) <= done;
    seen = *static_cast<volatile unsigned long long*>(found);
    if (settled) return;
  }
  if (!keep) return;
#include "store.cuh"
}
