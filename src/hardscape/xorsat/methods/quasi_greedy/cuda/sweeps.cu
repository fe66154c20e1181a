// The quasi-greedy dynamics of one instance, unrolled: each thread holds 32 clones, one bit each of
// every clause's word "violated", in registers (a few, short-lived in the sweep, in shared memory).
// The 32 threads of a warp, 1024 clones, flip the same coins.
#include "xorsat/methods/quasi_greedy/cuda/words.cuh"

using std::uint32_t;
using std::uint64_t;
using namespace hardscape::xorsat;

// Runs `sweeps` sweeps from `first_sweep` on and looks at the clones every `look` of them (and, if
// this is the `last` launch, at the end, counting).
// `state`: words of clauses, [clause][thread], to go on from, and to `keep` at the end.
// `scratch`: spins, [variable][thread], where they do not fit into shared memory.
// `found`: the best key (violated, no fewer than the target, << 48 | sweep << 26 | clone), the
// number of solutions listed, and the list (sweep << 32 | thread).
// `w1`, `w1_rest`: threshold of coins where every variable is in three clauses: its first byte four
// times, and its last 32 bits.
// `firsts`: where every look counts, the least sweep << 26 | clone for each number of violated
// clauses.
extern "C" __global__ void __launch_bounds__(kThreads, 1)
    xorsat_sweeps(uint32_t* state, [[maybe_unused]] uint32_t* scratch, unsigned long long* found,
                  [[maybe_unused]] unsigned long long* firsts, uint64_t seed, uint64_t first_group,
                  uint32_t first_sweep, uint32_t sweeps, uint32_t look, uint32_t target,
                  uint32_t words, uint32_t last, uint32_t keep, [[maybe_unused]] uint32_t w1,
                  [[maybe_unused]] uint32_t w1_rest) {
  extern __shared__ uint32_t shared[];
  const uint32_t thread = blockIdx.x * kThreads + threadIdx.x;
  if (thread >= words) return;
  const uint32_t lane = threadIdx.x % 32;
  const hardscape::RandomStream coins(seed, first_group + thread / 32, kCoins);
  [[maybe_unused]] const hardscape::RandomStream fine(seed, first_group + thread / 32,
                                                      hardscape::xorsat::kFine);
  [[maybe_unused]] volatile uint32_t* const kept = shared + kKeptFrom + threadIdx.x;
  [[maybe_unused]] uint4* const masks =
      reinterpret_cast<uint4*>(shared + kMasksFrom + threadIdx.x / 32 * kMaskWords);
#include "declare.cuh"
  if (first_sweep == 0) {
    uint32_t* const spin = kSpinsShared ? shared + threadIdx.x : scratch + thread;
    const uint32_t stride = kSpinsShared ? kThreads : words;
    const hardscape::RandomStream initial(seed, first_group * 32 + thread, kSpins);
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
    [[maybe_unused]] const uint64_t at_update = static_cast<uint64_t>(sweep) * kUpdates + 8 * lane;
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
    report<kCount>(found, firsts, holders, least, done, thread, target, seen, fewest);
    // What was read at the last look: it takes long to arrive, and a few more sweeps do no harm.
    const bool over = settled(seen, target, done);
    seen = *static_cast<volatile unsigned long long*>(found);
    if (over) return;
  }
  if (!keep) return;
#include "store.cuh"
}
