// What a run has met: its lowest states, and the elite it goes on from. A state is a bit a spin,
// kThreads words of 32 bits; what lies between is the search's own affair.
#pragma once

#include "ising/methods/walkers/team.cuh"

namespace {

constexpr int kElites = 10;

// The lowest distinct states met, of equal energies the first ones: class Lowest of flips.hpp.
struct Lowest {
  Number* energies;
  uint64* hashes;
  uint32* orders;
  uint32* states;
  int wanted;
  int count;
  uint32 offered;
  int highest;   // where the highest is, of equal ones the last
  Number limit;  // its energy, where no more are taken

  __device__ bool wants(Number energy) const { return energy < limit; }

  template <int kWords>
  __device__ void offer(Team& team, Number energy, uint64 hash, const uint32 (&state)[kWords]) {
    bool known = false;
    for (int k = team.thread; k < count; k += kThreads) known |= hashes[k] == hash;
    if (team.any(known)) return;
    const int at = count < wanted ? count++ : highest;
    if (team.thread == 0) energies[at] = energy, hashes[at] = hash, orders[at] = offered;
    for (int k = 0; k < kWords; ++k) {
      states[(static_cast<uint64>(at) * kWords + k) * kThreads + team.thread] = state[k];
    }
    ++offered;
    team.sync();
    if (count == wanted) look(team);
  }

 private:
  __device__ void look(Team& team) {
    Number most = -kHighest;
    for (int k = team.thread; k < count; k += kThreads) most = greater(most, energies[k]);
    most = team.greatest(most);
    uint32 last = 0;  // its order, from 1 on
    for (int k = team.thread; k < count; k += kThreads) {
      if (energies[k] == most) last = max(last, orders[k] + 1);
    }
    last = ~team.least(~last);
    uint32 where = ~0u;
    for (int k = team.thread; k < count; k += kThreads) {
      if (orders[k] + 1 == last) where = k;
    }
    highest = static_cast<int>(team.least(where));
    limit = most;
  }
};

// The best states of searches, different ones, the lowest first: class Elites of flips.hpp.
struct Elites {
  Number* energies;
  int* places;  // of their states, a permutation of all places
  uint32* states;
  int count;

  template <int kWords>
  __device__ uint32& word(const Team& team, int k, int word) const {
    return states[(places[k] * kWords + word) * kThreads + team.thread];
  }

  __device__ bool full() const { return count == kElites; }

  template <int kWords>
  __device__ bool keep(Team& team, Number energy, const uint32 (&state)[kWords]) {
    for (int k = 0; k < count; ++k) {
      if (energies[k] != energy) continue;
      bool differs = false;
      for (int i = 0; i < kWords; ++i) differs |= word<kWords>(team, k, i) != state[i];
      if (!team.any(differs)) return false;
    }
    if (full()) {
      if (!(energy < energies[count - 1])) return false;
      --count;
    }
    for (int i = 0; i < kWords; ++i) word<kWords>(team, count, i) = state[i];
    team.sync();
    if (team.thread == 0) {
      const int place = places[count];
      int k = count;
      for (; k > 0 && energy < energies[k - 1]; --k) {
        energies[k] = energies[k - 1];
        places[k] = places[k - 1];
      }
      energies[k] = energy;
      places[k] = place;
    }
    team.sync();
    ++count;
    return true;
  }
};

}  // namespace
