// What all searches on a GPU share: what is kept of a run between two launches, and its beginning.
#pragma once

#include "ising/methods/walkers/lists.cuh"

namespace {

using hardscape::mix64;
using hardscape::RandomStream;

// Who is searched around next.
enum Stage : int { kGiven, kRandom, kBetween, kDone };

// Relinkings, or joins, that bring nothing before a new beginning.
constexpr int kFruitless = 20;

// Of a run, between two launches. The host knows this layout.
struct Status {
  long long moves, most;  // made, and of the whole run
  long long move,
      last;          // of the search under way: moves, or sweeps, and the last to a better state
  long long sweeps;  // of an annealing
  uint64 random, hash;
  double hot, temperature;
  Number energy, best;  // here, and of this search
  Number limit;
  int stage, searching;
  int given, elites, pair,
      fruitless;  // given states and elites there are, those paired, and without gain
  int from, to;   // elites between which is searched
  int count, highest;
  uint32 offered;
};

// Pointers and sizes, 8 bytes each, in the host's order.
struct Problem {
  const void* couplings;   // rows of a matrix, or neighbours
  const Number* twice;     // twice the couplings to the neighbours
  const uint64* starts;    // of neighbours
  const Number* gains_up;  // of all spins up
  const uint32* given;     // states that the first run starts from
  Status* statuses;
  Number* gains;
  int* until;
  uint32* states;
  uint32* bests;
  Number* elite_energies;
  int* elite_places;
  uint32* elite_states;
  Number* lowest_energies;
  uint64* lowest_hashes;
  uint32* lowest_orders;
  uint32* lowest_states;
  int* path;
  long long spins, places, runs, wanted, given_count;  // places of spins in a run's arrays
  long long tenure, spread, patience, symmetric;
  double energy_up, hot, warm, cold;
};

// A whole number below n.
__device__ inline int below(RandomStream& random, int n) {
  return static_cast<int>((random.next() >> 32) * n >> 32);
}

// The lists of a run.
__device__ inline Lowest lowest_of(const Problem& p, int run, const Status& status, int words) {
  const uint64 at = static_cast<uint64>(run) * p.wanted;
  return {p.lowest_energies + at,
          p.lowest_hashes + at,
          p.lowest_orders + at,
          p.lowest_states + at * words * kThreads,
          static_cast<int>(p.wanted),
          status.count,
          status.offered,
          status.highest,
          status.limit};
}

__device__ inline Elites elites_of(const Problem& p, int run, const Status& status, int words) {
  const uint64 at = static_cast<uint64>(run) * kElites;
  return {p.elite_energies + at, p.elite_places + at, p.elite_states + at * words * kThreads,
          status.elites};
}

}  // namespace
