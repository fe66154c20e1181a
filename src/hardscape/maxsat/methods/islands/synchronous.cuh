// A step of the walk of synchronous.hpp by a warp, whose lanes are shared out among the clauses
// drawn: what they wait for, they wait for together.
#pragma once

#include "maxsat/methods/islands/flip.cuh"

namespace {

using hardscape::maxsat::allows;
using hardscape::maxsat::kMostAtOnce;

constexpr uint32 kNobody = 0xffff;  // no literal, for a clause that is silent
// The truth of a literal, a byte: whether it is true, and whether it has become false in this step.
constexpr uint32 kTrue = 1, kLost = 2;

// A view of a walk with a byte for each literal, too: it takes fewer instructions to read than a
// bit, and a step is as long as its instructions are many.
struct ByteView : View {
  unsigned char* bytes;

  __device__ uint32 either(uint32 pair) const {
    return bytes[pair & kLiteral] | bytes[pair >> 16 & kLiteral];
  }
};

// A step of up to K flips. The lanes of a group have a clause of their own; together they look at
// its occurrences. Conditions are joined by & and |: with && and || the rounds would branch, and
// wait one after the other.
template <int K, class List>
struct Together {
  static constexpr int kGroup = 32 / K;
  static constexpr uint32 kAll = kGroup == 32 ? ~0u : (1u << kGroup % 32) - 1;
  // Rounds in which groups look at the occurrences of three literals, and of one, before they ask
  // whether there are more.
  static constexpr int kRounds = K, kJoins = K > 1 ? K / 2 : 1;

  const ByteView& view;
  const List& list;
  int group, rank;  // of this lane, and within its group
  uint32 literal;   // that the group's clause names
  uint32 row;       // where the occurrences of its negation begin, and how many

  __device__ Together(const ByteView& view, const List& list)
      : view(view), list(list), group(view.lane / kGroup), rank(view.lane % kGroup) {}

  // A group's draw is the one that lane `first` and as many as there are groups before it holds.
  __device__ uint32 take(uint32 count, uint32 draws_low, uint32 draws_high, uint32 first,
                         uint32& flips) {
    const uint32 low = __shfl_sync(kEveryone, draws_low, first + group);
    const uint32 high = __shfl_sync(kEveryone, draws_high, first + group);
    const uint2 clause =
        list[hardscape::maxsat::place_drawn(group, K, count, __umulhi(low, count))];
    const uint2 entry = list[min(static_cast<uint32>(view.lane), count - 1)];
    name(clause, high);
    uint32 pair[kJoins];
#pragma unroll
    for (int i = 0; i < kJoins; ++i) pair[i] = view.others[(row & kPlace) + i * kGroup + rank];
    settle(clause, flips);
    __syncwarp();
    const bool flips_it = rank == 0 && literal != kNobody;
    if (flips_it) {
      auto* both = reinterpret_cast<unsigned short*>(view.bytes + (literal & ~1u));
      *both = literal & 1 ? kLost | kTrue << 8 : kTrue | kLost << 8;
      atomicXor(&view.truth[literal >> 5], 3u << (literal & 30));
    }
    __syncwarp();
    const uint32 left = leave(count, entry);
    const uint32 joined = join(left, pair);
    __syncwarp();
    if (flips_it) view.bytes[literal ^ 1] = 0;
    __syncwarp();
    return joined;
  }

  __device__ void name(const uint2& clause, uint32 high) {
    const Candidates candidates(view, clause);
    const uint32(&end)[3] = candidates.end;
    // The three break counts, 8 bits each.
    const auto critical = [&](uint32 t, uint32 pair) {
      const uint32 one = t < end[0] ? 1u : t < end[1] ? 1u << 8 : 1u << 16;
      return (t < end[2]) & (view.either(pair) == 0) ? one : 0u;
    };
    const auto of_group = [&](uint32 found) {
#pragma unroll
      for (int step = kGroup / 2; step > 0; step /= 2) {
        found += __shfl_xor_sync(kEveryone, found, step);
      }
      return found;
    };
    uint32 found = 0;
#pragma unroll
    for (int i = 0; i < kRounds; ++i) {
      const uint32 t = i * kGroup + rank;  // behind the end may be anything
      found += critical(t, view.others[t + candidates.from(t)]);
    }
    found = of_group(found);
    uint32 breaks[3] = {found & 0xff, found >> 8 & 0xff, found >> 16};
#pragma unroll 1
    for (uint32 base = kRounds * kGroup; __any_sync(kEveryone, base < end[2]); base += kGroup) {
      found = of_group(critical(base + rank, candidates.pair_at(view, base + rank)));
#pragma unroll
      for (int i = 0; i < 3; ++i) {
        breaks[i] = min(breaks[i] + (found >> 8 * i & 0xff), hardscape::maxsat::kBreakWeights - 1);
      }
    }
    const int chosen = candidates.choose(view, breaks, high);
    const uint32(&l)[3] = candidates.literal;
    const uint32(&r)[3] = candidates.row;
    literal = pick(chosen, l[0], l[1], l[2]);
    row = pick(chosen, r[0], r[1], r[2]);
  }

  // A clause that holds a literal which an earlier group names is silent. Each lane of a group asks
  // some of the earlier ones.
  __device__ void settle(const uint2& clause, uint32& flips) {
    bool held = false;
#pragma unroll
    for (int i = 0; i < K - 1; i += kGroup) {
      const int q = group - 1 - rank - i;
      const uint32 other = __shfl_sync(kEveryone, literal, max(q, 0) * kGroup);
      held |= (q >= 0) & holds(clause, other);
    }
    if constexpr (K > 1) {
      const bool silent = __ballot_sync(kEveryone, held) >> group * kGroup & kAll;
      if (silent) literal = kNobody, row = 0;
      flips += __popc(__ballot_sync(kEveryone, rank == 0 && !silent));
    } else {
      ++flips;
    }
  }

  // Takes the clauses that hold a true literal from the list, of whose first entries each lane has
  // one; returns how many are left.
  __device__ uint32 leave(uint32 count, uint2 entry) const {
    const int lane = view.lane;
    uint32 left = 0;
#pragma unroll 1
    for (uint32 base = 0;; base += 32) {
      const bool last = base + 32 >= count;
      uint2 next = entry;
      if (!last) next = list[min(base + 32 + lane, count - 1)];
      const uint32 truth =
          view.bytes[entry.x & 0xffffu] | view.bytes[entry.x >> 16] | view.bytes[entry.y];
      const bool leaves = (base + lane >= count) | ((truth & kTrue) != 0);
      const uint32 stays = __ballot_sync(kEveryone, !leaves);
      __syncwarp();
      if (!leaves) list.set(left + rank_of(stays, lane), entry);
      left += __popc(stays);
      if (last) return left;
      entry = next;
    }
  }

  // Adds the clauses that lost all their true literals; returns how many are listed then. `pair` is
  // that of the first rounds.
  __device__ uint32 join(uint32 count, const uint32 (&pair)[kJoins]) const {
    const uint32 end = row >> kFirst;
    bool lost[kJoins];
#pragma unroll
    for (int i = 0; i < kJoins; ++i) lost[i] = loses(i * kGroup + rank, pair[i]);
#pragma unroll
    for (int i = 0; i < kJoins; ++i) count = append(count, pair[i], lost[i]);
#pragma unroll 1
    for (uint32 base = kJoins * kGroup; __any_sync(kEveryone, base < end); base += kGroup) {
      const uint32 more = view.others[(row & kPlace) + min(base + rank, end)];
      count = append(count, more, loses(base + rank, more));
    }
    return count;
  }

  // Whether the clause of the occurrence at t has lost all its true literals, and this one is the
  // lowest of those lost in this step.
  __device__ bool loses(uint32 t, uint32 pair) const {
    const uint32 a = pair & kLiteral, b = pair >> 16 & kLiteral, own = literal ^ 1;
    const uint32 of_a = view.bytes[a], of_b = view.bytes[b];
    const bool others = ((of_a == kLost) & (a < own)) | ((of_b == kLost) & (b < own));
    return (t < row >> kFirst) & !((of_a | of_b) & kTrue) & !others;
  }

  __device__ uint32 append(uint32 count, uint32 pair, bool lost) const {
    const uint32 joining = __ballot_sync(kEveryone, lost);
    if (lost) {
      list.set(count + rank_of(joining, view.lane),
               entry_of(literal ^ 1, pair & kLiteral, pair >> 16 & kLiteral));
    }
    return count + __popc(joining);
  }
};

// One step of a walk that violates `count` clauses; returns how many it violates then. Each lane
// holds one of the numbers drawn last, and `first` is that of the step's first one.
template <class List>
__device__ uint32 step(const ByteView& view, const List& list, uint32 count, uint32 draws_low,
                       uint32 draws_high, uint32 first, uint32& flips) {
  if (allows(kMostAtOnce, count)) {
    return Together<kMostAtOnce, List>(view, list).take(count, draws_low, draws_high, first, flips);
  }
  if (allows(4, count)) {
    return Together<4, List>(view, list).take(count, draws_low, draws_high, first, flips);
  }
  if (allows(2, count)) {
    return Together<2, List>(view, list).take(count, draws_low, draws_high, first, flips);
  }
  return Together<1, List>(view, list).take(count, draws_low, draws_high, first, flips);
}

}  // namespace
