// The quasi-greedy dynamics by tables: each thread holds 32 clones, one bit each of every clause's
// word "violated", in device memory. One kernel serves all systems of a size, of any degrees.
// The 32 threads of a warp, 1024 clones, flip the same coins: they all take the same way.
#include "xorsat/methods/quasi_greedy/cuda/words.cuh"

using std::uint32_t;
using std::uint64_t;
using namespace hardscape::xorsat;

namespace {

// What the sweep goes by; see hardscape.xorsat.methods.quasi_greedy.cuda.tabled.
struct Tables {
  const uint32_t *starts, *touched;   // update -> its clauses
  const uint32_t* rows;               // update -> row of `range_starts`, kLevels of them a degree
  const uint32_t* range_starts;       // row -> its ranges
  const uint2* ranges;                // numbers first <= k < last of violated clauses that flip
  const uint64_t* thresholds;         // ascending, kLevels - 1
  const uint32_t *offsets, *members;  // clause -> its variables
  const uint32_t* parity;             // clause -> 0 or ~0
};

// Coins of one sweep: level = number of thresholds that a coin reaches.
struct Coins {
  const hardscape::RandomStream &coarse, &fine;
  const uint64_t* thresholds;
  uint64_t sweep;

  __device__ uint64_t eight(uint32_t update) const {
    return coarse.at(sweep * kCoinWords + update / 8);
  }
  __device__ uint32_t level(uint64_t eight, uint32_t update) const {
    const uint64_t byte = eight >> 8 * (update % 8) & 0xff;
    uint64_t coin = byte << 32;
    if constexpr (kFineCoins) {
      for (uint32_t i = 0; i + 1 < kLevels; ++i) {
        if (thresholds[i] >> 32 == byte && static_cast<uint32_t>(thresholds[i])) {
          coin |= fine.at(sweep * kUpdates + update) >> 32;
          break;
        }
      }
    }
    uint32_t reached = 0;
    for (uint32_t i = 0; i + 1 < kLevels; ++i) reached += thresholds[i] <= coin;
    return reached;
  }
};

// Where the number with these binary digits is `least` or more.
template <int Digits>
__device__ uint32_t reaches(const uint32_t (&digits)[Digits], uint32_t least) {
  if (least >= 1u << Digits) return 0;
  uint32_t above = ~0u;
  for (int p = 0; p < Digits; ++p) {
    above = least >> p & 1 ? digits[p] & above : digits[p] | above;
  }
  return above;
}

// Adds one bit to a number that has digits enough.
template <int Digits>
__device__ void add(uint32_t (&digits)[Digits], uint32_t bits) {
  for (int p = 0; p < Digits && bits; ++p) {
    const uint32_t carry = digits[p] & bits;
    digits[p] ^= bits;
    bits = carry;
  }
}

__device__ void begin(const Tables& tables, uint32_t* state, uint32_t* spins, uint64_t words,
                      const hardscape::RandomStream& initial) {
  for (uint32_t v = 0; v < kVariables; v += 2) {
    const uint64_t bits = initial.at(v / 2);
    spins[v * words] = static_cast<uint32_t>(bits);
    if (v + 1 < kVariables) spins[(v + 1) * words] = static_cast<uint32_t>(bits >> 32);
  }
  for (uint32_t a = 0; a < kClauses; ++a) {
    uint32_t word = tables.parity[a];
    for (uint32_t i = tables.offsets[a]; i < tables.offsets[a + 1]; ++i) {
      word ^= spins[tables.members[i] * words];
    }
    state[a * words] = word;
  }
}

// Every update is of three clauses, and those with a coin of level 0 flip where any is violated.
__device__ void sweep_of_three(const Tables& tables, const Coins& coins, uint32_t* state,
                               uint64_t words) {
  uint64_t eight = 0;
  for (uint32_t u = 0; u < kUpdates; ++u) {
    if (u % 8 == 0) eight = coins.eight(u);
    uint32_t* const a = state + tables.touched[3 * u] * words;
    uint32_t* const b = state + tables.touched[3 * u + 1] * words;
    uint32_t* const c = state + tables.touched[3 * u + 2] * words;
    uint32_t x = *a, y = *b, z = *c;
    if (coins.level(eight, u)) {
      flip_most(x, y, z);
    } else {
      flip_any(x, y, z);
    }
    *a = x, *b = y, *c = z;
  }
}

__device__ void sweep_of_any(const Tables& tables, const Coins& coins, uint32_t* state,
                             uint64_t words) {
  uint64_t eight = 0;
  for (uint32_t u = 0; u < kUpdates; ++u) {
    if (u % 8 == 0) eight = coins.eight(u);
    const uint32_t row = tables.rows[u] + coins.level(eight, u);
    const uint32_t first = tables.range_starts[row], last = tables.range_starts[row + 1];
    if (first == last) continue;
    uint32_t digits[kDegreeDigits] = {};
    for (uint32_t i = tables.starts[u]; i < tables.starts[u + 1]; ++i) {
      add(digits, state[tables.touched[i] * words]);
    }
    uint32_t flip = 0;
    for (uint32_t r = first; r < last; ++r) {
      flip |= reaches(digits, tables.ranges[r].x) & ~reaches(digits, tables.ranges[r].y);
    }
    for (uint32_t i = tables.starts[u]; i < tables.starts[u + 1]; ++i) {
      state[tables.touched[i] * words] ^= flip;
    }
  }
}

// Of 32 clones those with the fewest violated clauses, and how many these are.
__device__ uint32_t count(const uint32_t* state, uint64_t words, uint32_t& least) {
  uint32_t digits[kClauseDigits] = {};
  for (uint32_t a = 0; a < kClauses; ++a) add(digits, state[a * words]);
  uint32_t holders = ~0u;
  least = 0;
  for (int p = kClauseDigits; p-- > 0;) least_bit(digits[p], 1u << p, holders, least);
  return holders;
}

__device__ uint32_t solved(const uint32_t* state, uint64_t words) {
  uint32_t either = 0;
  for (uint32_t a = 0; a < kClauses && ~either; ++a) either |= state[a * words];
  return ~either;
}

}  // namespace

// Does what `xorsat_sweeps` does, whose arguments these are; `state` is kept at any rate.
extern "C" __global__ void __launch_bounds__(kThreads)
    xorsat_tables(uint32_t* states, uint32_t* scratch, unsigned long long* found,
                  [[maybe_unused]] unsigned long long* firsts, uint64_t seed, uint64_t first_group,
                  uint32_t first_sweep, uint32_t sweeps, uint32_t look, uint32_t target,
                  uint32_t words, uint32_t last, [[maybe_unused]] uint32_t keep,
                  const uint32_t* starts, const uint32_t* touched, const uint32_t* rows,
                  const uint32_t* range_starts, const uint2* ranges, const uint64_t* thresholds,
                  const uint32_t* offsets, const uint32_t* members, const uint32_t* parity) {
  const uint32_t thread = blockIdx.x * kThreads + threadIdx.x;
  if (thread >= words) return;
  const Tables tables{starts,     touched, rows,    range_starts, ranges,
                      thresholds, offsets, members, parity};
  uint32_t* const state = states + thread;
  const uint64_t group = first_group + thread / 32;
  const hardscape::RandomStream coarse(seed, group, kCoins), fine(seed, group, kFine);
  if (first_sweep == 0) {
    const hardscape::RandomStream initial(seed, first_group * 32 + thread, kSpins);
    begin(tables, state, scratch + thread, words, initial);
  }
  const uint32_t end = first_sweep + sweeps;
  unsigned long long seen = found[0];
  [[maybe_unused]] uint32_t fewest = ~0u;
  for (uint32_t sweep = first_sweep, next_look = look; sweep < end; ++sweep) {
    const Coins coins{coarse, fine, tables.thresholds, sweep};
    if constexpr (kMajority) {
      sweep_of_three(tables, coins, state, words);
    } else {
      sweep_of_any(tables, coins, state, words);
    }
    const uint32_t done = sweep + 1;
    const bool at_end = last && done == end;
    if (--next_look && !at_end) continue;
    next_look = look;
    uint32_t least = 0;
    const uint32_t holders = kCount || at_end ? count(state, words, least) : solved(state, words);
    report<kCount>(found, firsts, holders, least, done, thread, target, seen, fewest);
    const bool over = settled(seen, target, done);
    seen = *static_cast<volatile unsigned long long*>(found);
    if (over) return;
  }
}
