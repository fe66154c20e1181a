// A step of the walk of synchronous.hpp by a warp, whose lanes are shared out among the clauses
// drawn: what they wait for, they wait for together.
#pragma once

#include "maxsat/methods/islands/flip.cuh"

namespace {

using hardscape::maxsat::kMostAtOnce;

constexpr uint32 kNobody = 0xffff;  // no literal, for a clause that names none

// A step of up to K flips. The lanes of a group have a clause of their own; together they look at
// its occurrences.
template <int K, class List>
struct Together {
  static constexpr int kGroup = 32 / K;
  static constexpr uint32 kAll = kGroup == 32 ? ~0u : (1u << kGroup % 32) - 1;
  // Rounds in which groups look at their occurrences before they ask whether there are more.
  static constexpr int kRounds = K == 4 ? 3 : K == 2 ? 2 : 1;

  const View& view;
  const List& list;
  int group, rank;  // of this lane, and within its group
  uint32 literal;   // that the group's clause names
  uint32 row;       // where the occurrences of its negation begin, and how many
  uint32 named[K];  // by all groups

  __device__ Together(const View& view, const List& list)
      : view(view), list(list), group(view.lane / kGroup), rank(view.lane % kGroup) {}

  // A group's draw is the one that lane `first` and as many as there are groups before it holds.
  __device__ uint32 take(uint32 count, uint32 draws_low, uint32 draws_high, uint32 first,
                         uint32& flips) {
    const uint32 low = __shfl_sync(kEveryone, draws_low, first + group);
    const uint32 high = __shfl_sync(kEveryone, draws_high, first + group);
    const uint2 clause = list[__umulhi(low, count)];
    const uint2 entry = list[min(static_cast<uint32>(view.lane), count - 1)];
    name(clause, high);
    const uint32 pair[2] = {pair_at(rank), pair_at(kGroup + rank)};
    settle(clause, flips);
    __syncwarp();
    if (rank == 0 && literal != kNobody) {
      atomicXor(&view.truth[literal >> 5], 3u << (literal & 30));
    }
    const uint32 left = leave(count, entry);
    const uint32 joined = join(left, pair);
    __syncwarp();
    return joined;
  }

  __device__ void name(const uint2& clause, uint32 high) {
    const Candidates candidates(view, clause);
    const uint32(&end)[3] = candidates.end;
    uint32 breaks[3] = {0, 0, 0};
    const auto critical = [&](uint32 base) {
      const uint32 t = base + rank;
      return (t < end[2]) & view.others_false(candidates.pair_at(view, t));
    };
    const auto count = [&](uint32 base, bool is_critical) {
      const uint32 found = __ballot_sync(kEveryone, is_critical) >> group * kGroup % 32 & kAll;
      const uint32 below0 = bits_below(max(end[0], base) - base),
                   below1 = bits_below(max(end[1], base) - base);
      breaks[0] += __popc(found & below0);
      breaks[1] += __popc(found & below1 & ~below0);
      breaks[2] += __popc(found & ~below1);
    };
    bool known[kRounds];
#pragma unroll
    for (int i = 0; i < kRounds; ++i) known[i] = critical(i * kGroup);
#pragma unroll
    for (int i = 0; i < kRounds; ++i) count(i * kGroup, known[i]);
#pragma unroll 1
    for (uint32 base = kRounds * kGroup; __any_sync(kEveryone, base < end[2]); base += kGroup) {
      count(base, critical(base));
    }
    for (uint32& n : breaks) n = min(n, hardscape::maxsat::kBreakWeights - 1);
    const int chosen = candidates.choose(view, breaks, high);
    const uint32(&l)[3] = candidates.literal;
    const uint32(&r)[3] = candidates.row;
    literal = pick(chosen, l[0], l[1], l[2]);
    row = pick(chosen, r[0], r[1], r[2]);
  }

  // A clause that holds a literal named before it names none.
  __device__ void settle(const uint2& clause, uint32& flips) {
    uint32 satisfied[K];  // by what group q names: lanes of the later groups
    uint32 any = 0;
#pragma unroll
    for (int q = 0; q < K; ++q) named[q] = __shfl_sync(kEveryone, literal, q * kGroup);
#pragma unroll
    for (int q = 0; q + 1 < K; ++q) {
      satisfied[q] = __ballot_sync(kEveryone, (q < group) & holds(clause, named[q]));
      any |= satisfied[q];
    }
    flips += K;
    if (any == 0) return;
    uint32 silent = 0;  // lanes of groups that name none
#pragma unroll
    for (int q = 0; q < K; ++q) {
      if (silent >> q * kGroup & 1) {
        named[q] = kNobody;
        --flips;
      } else if (q + 1 < K) {
        silent |= satisfied[q];
      }
    }
    if (silent >> view.lane & 1) literal = kNobody, row = 0;
  }

  // The other literals of the occurrence at t of the group's literal; behind the end of any.
  __device__ uint32 pair_at(uint32 t) const {
    return view.others[(row & kPlace) + min(t, row >> kFirst)];
  }

  // Takes the clauses that hold a named literal from the list, of whose first entries each lane has
  // one; returns how many are left.
  __device__ uint32 leave(uint32 count, uint2 entry) const {
    const int lane = view.lane;
    uint32 left = 0;
#pragma unroll 1
    for (uint32 base = 0;; base += 32) {
      const bool last = base + 32 >= count;
      uint2 next = entry;
      if (!last) next = list[min(base + 32 + lane, count - 1)];
      bool leaves = base + lane >= count;
#pragma unroll
      for (int q = 0; q < K; ++q) leaves |= holds(entry, named[q]);
      const uint32 stays = __ballot_sync(kEveryone, !leaves);
      __syncwarp();
      if (!leaves) list.set(left + rank_of(stays, lane), entry);
      left += __popc(stays);
      if (last) return left;
      entry = next;
    }
  }

  // Adds the clauses that lost all their true literals; returns how many are listed then. `pair` is
  // that of the first two rounds.
  __device__ uint32 join(uint32 count, const uint32 (&pair)[2]) const {
    const uint32 end = row >> kFirst;
    bool lost[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) lost[i] = loses(i * kGroup + rank, pair[i]);
#pragma unroll
    for (int i = 0; i < 2; ++i) count = append(count, pair[i], lost[i]);
#pragma unroll 1
    for (uint32 base = 2 * kGroup; __any_sync(kEveryone, base < end); base += kGroup) {
      const uint32 more = pair_at(base + rank);
      count = append(count, more, loses(base + rank, more));
    }
    return count;
  }

  // Whether the clause of the occurrence at t has lost all its true literals, and this one first.
  __device__ bool loses(uint32 t, uint32 pair) const {
    const uint32 a = pair & kLiteral, b = pair >> 16 & kLiteral;
    bool lost = (t < row >> kFirst) & view.others_false(pair);
#pragma unroll
    for (int p = 0; p + 1 < K; ++p) {
      lost &= (p >= group) | ((a != (named[p] ^ 1)) & (b != (named[p] ^ 1)));
    }
    return lost;
  }

  __device__ uint32 append(uint32 count, uint32 pair, bool lost) const {
    const uint32 joining = __ballot_sync(kEveryone, lost);
    if (lost) list.set(count + rank_of(joining, view.lane), broken(literal ^ 1, pair));
    return count + __popc(joining);
  }
};

// One step of a walk that violates `count` clauses; returns how many it violates then. Each lane
// holds one of the numbers drawn last, and `first` is that of the step's first one.
template <class List>
__device__ uint32 step(const View& view, const List& list, uint32 count, uint32 draws_low,
                       uint32 draws_high, uint32 first, uint32& flips) {
  switch (hardscape::maxsat::flips_at_once(count)) {
    case 4:
      return Together<4, List>(view, list).take(count, draws_low, draws_high, first, flips);
    case 2:
      return Together<2, List>(view, list).take(count, draws_low, draws_high, first, flips);
    default:
      return Together<1, List>(view, list).take(count, draws_low, draws_high, first, flips);
  }
}

}  // namespace
