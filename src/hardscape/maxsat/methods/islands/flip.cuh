// One flip of a focused random walk (walker.hpp) by a warp.
//
// What limits a search of many walks is how fast each of them is, so a walk is built for a short
// chain of dependent steps: it keeps no counts, only the truth of its literals and the list of its
// violated clauses, whose entries hold the clauses' literals themselves. Each lane looks at one
// occurrence of the three candidates at once, and at two entries of the list. What is drawn, and
// the order of the list, are those of walker.hpp, so that every walk takes the same steps on every
// device.
#pragma once

#include "maxsat/methods/islands/synchronous.hpp"
#include "maxsat/walker.hpp"
#include "native/random.hpp"

namespace {

using uint64 = std::uint64_t;
using uint32 = std::uint32_t;

constexpr unsigned kEveryone = 0xffffffffu;
using hardscape::maxsat::kFirst;
using hardscape::maxsat::kLiteral;
using hardscape::maxsat::kPlace;

__device__ uint2 entry_of(uint32 a, uint32 b, uint32 c) { return {a | b << 16, c}; }

__device__ bool holds(const uint2& entry, uint32 literal) {
  return ((entry.x & 0xffffu) == literal) | (entry.x >> 16 == literal) | (entry.y == literal);
}

// The violated clauses of one walk: the first `listed`, a multiple of 32, in shared memory, the
// rest in global memory.
struct ShortList {
  uint2* near;

  __device__ uint2 operator[](uint32 i) const { return near[i]; }
  __device__ void set(uint32 i, const uint2& entry) const { near[i] = entry; }
};

struct ViolatedList {
  uint2* near;
  uint2* far;
  uint32 listed;

  __device__ uint2 operator[](uint32 i) const { return i < listed ? near[i] : far[i]; }
  __device__ void set(uint32 i, const uint2& entry) const {
    if (i < listed) {
      near[i] = entry;
    } else {
      far[i] = entry;
    }
  }
};

// What a flip reads: tables in shared memory or in global memory, and the walk's own truth.
struct View {
  const uint32* rows;
  const uint32* others;
  const uint32* weights;
  uint32* truth;  // bit l: whether literal l is true
  uint32 never;   // the literal that fills up
  int lane;

  // Whether both other literals of an occurrence are false.
  __device__ bool others_false(uint32 pair) const {
    const uint32 a = pair & kLiteral, b = pair >> 16 & kLiteral;
    const uint32 true_a = __funnelshift_r(truth[a >> 5], truth[a >> 5], a);
    const uint32 true_b = __funnelshift_r(truth[b >> 5], truth[b >> 5], b);
    return !((true_a | true_b) & 1);
  }
};

// The `count` lowest bits, count up to 32.
__device__ uint32 bits_below(uint32 count) { return ~__funnelshift_lc(0, ~0u, count); }

__device__ uint32 rank_of(uint32 set, int lane) { return __popc(set & ((1u << lane) - 1)); }

// Takes the clauses that hold a literal from the list, the last one first. `count` is one for all
// lanes.
template <class List>
__device__ void leave(const List& list, uint32& count, uint32 literal, int lane) {
  const uint32 before = count;
#pragma unroll 1
  for (int base = static_cast<int>((before - 1) & ~31u); base >= 0; base -= 128) {
    uint2 entry[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) entry[i] = list[max(base - 32 * i, 0) + lane];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int from = base - 32 * i;
      uint32 leaving =
          __ballot_sync(kEveryone, (from >= 0) & (from + lane < before) & holds(entry[i], literal));
#pragma unroll 1
      while (leaving) {
        const int bit = 31 - __clz(leaving);
        leaving ^= 1u << bit;
        --count;
        if (lane == 0) list.set(from + bit, list[count]);
      }
    }
  }
}

// A clause whose only true literal `own` becomes false, as an entry of the list.
__device__ uint2 broken(uint32 own, uint32 pair) {
  const uint32 a = pair & kLiteral, b = pair >> 16 & kLiteral;
  const bool second = pair & 0x8000u, third = pair >> 31;
  return {(third    ? a
           : second ? b
                    : own) |
              (third    ? b
               : second ? own
                        : a)
                  << 16,
          third    ? own
          : second ? a
                   : b};
}

// The three literals of a violated clause, and where the occurrences of their negations stand: in
// one row, of which each lane looks at one, or at every 32nd.
struct Candidates {
  uint32 literal[3];
  uint32 row[3];    // where the occurrences of the negation begin, and how many
  uint32 first[3];  // place of the occurrence at t of the row, less t
  uint32 end[3];

  Candidates() = default;
  __device__ Candidates(const View& view, const uint2& clause)
      : literal{clause.x & 0xffffu, clause.x >> 16, clause.y},
        row{view.rows[literal[0]], view.rows[literal[1]], view.rows[literal[2]]} {
    end[0] = row[0] >> kFirst;
    end[1] = end[0] + (row[1] >> kFirst);
    end[2] = end[1] + (row[2] >> kFirst);
    first[0] = row[0] & kPlace;
    first[1] = (row[1] & kPlace) - end[0];
    first[2] = (row[2] & kPlace) - end[1];
  }
  // What to add to t for the place of the occurrence at t of the row.
  __device__ uint32 from(uint32 t) const {
    return t < end[0] ? first[0] : t < end[1] ? first[1] : first[2];
  }
  // The other literals at t of the row; beyond the end something that does not count.
  __device__ uint32 pair_at(const View& view, uint32 t) const {
    return view.others[min(t, end[2]) + from(t)];
  }
  // Which of them to make true, by their break counts: 0, 1 or 2.
  __device__ int choose(const View& view, const uint32 (&breaks)[3], uint32 draw) const {
    const uint32 a = view.weights[breaks[0]];
    const uint32 b = kThree || literal[1] != view.never ? view.weights[breaks[1]] : 0;
    const uint32 c = kThree || literal[2] != view.never ? view.weights[breaks[2]] : 0;
    const uint32 q = __umulhi(draw, a + b + c);
    return q < a ? 0 : q < a + b ? 1 : 2;
  }
};

template <class T>
__device__ T pick(int i, const T& a, const T& b, const T& c) {
  return i == 0 ? a : i == 1 ? b : c;
}

// One flip of a walk that violates `count` clauses; returns how many it violates then. Every lane
// reads what all need, and they write the same where no single lane writes; reads and writes of
// different lanes are apart by __syncwarp.
__device__ uint32 flip(const View& view, const ViolatedList& list, uint32 count, uint32 draw_low,
                       uint32 draw_high) {
  const int lane = view.lane;
  const uint32 j = __umulhi(draw_low, count);
  const Candidates candidates(view, list[j]);
  const uint2 moved = list[--count];

  const uint32(&end)[3] = candidates.end;
  uint32 breaks[3] = {0, 0, 0};
#pragma unroll 1
  for (uint32 base = 0; base < end[2]; base += 32) {
    const uint32 t = base + lane;
    const uint32 critical =
        __ballot_sync(kEveryone, (t < end[2]) & view.others_false(candidates.pair_at(view, t)));
    const uint32 below0 = bits_below(max(end[0], base) - base),
                 below1 = bits_below(max(end[1], base) - base);
    breaks[0] += __popc(critical & below0);
    breaks[1] += __popc(critical & below1 & ~below0);
    breaks[2] += __popc(critical & ~below1);
  }
  for (uint32& count : breaks) count = min(count, hardscape::maxsat::kBreakWeights - 1);
  const int chosen = candidates.choose(view, breaks, draw_high);
  const uint32(&l)[3] = candidates.literal;
  const uint32 flipped = pick(chosen, l[0], l[1], l[2]);
  uint32& word = view.truth[flipped >> 5];
  const uint32 changed = word ^ 3u << (flipped & 30);

  // Clauses that the flip satisfies leave the list: the drawn one, then the last ones first.
  __syncwarp();
  word = changed;
  if (j < count) list.set(j, moved);
  __syncwarp();
  uint32 left = count;
  if (count > 0) leave(list, left, flipped, lane);
  __syncwarp();

  // Clauses that lose their only true literal join it, in order.
  const uint32 begins = pick(chosen, 0u, end[0], end[1]),
               ends = pick(chosen, end[0], end[1], end[2]);
#pragma unroll 1
  for (uint32 base = begins; base < ends; base += 32) {
    const uint32 t = base + lane;
    const uint32 pair = candidates.pair_at(view, t);
    // The truth has changed, but that of no other literal of these clauses.
    const uint32 lost = __ballot_sync(kEveryone, (t < ends) & view.others_false(pair));
    if (lost >> lane & 1) list.set(left + rank_of(lost, lane), broken(flipped ^ 1, pair));
    left += __popc(lost);
  }
  __syncwarp();
  return left;
}

// The same where it is most often done: the list is in shared memory, with room for 32 clauses
// more, and each lane has one occurrence at most. What a walk waits for is the latency of one step
// after the other, not the work, so all is looked at before anything branches: `look` and `take`
// are one chain of steps.
struct Step {
  uint32 j, last, flipped, lost, changed;
  uint2 moved, entry;
  bool long_row;  // more than one occurrence a lane: nothing else is known

  // Looks at a flip. False where it is not plain: it satisfies other clauses than the drawn one, as
  // one flip in five does, or has a long row.
  __device__ bool look(const View& view, const ShortList& list, uint32 count, uint32 draw_low,
                       uint32 draw_high) {
    const int lane = view.lane;
    j = __umulhi(draw_low, count);
    last = count - 1;
    const Candidates candidates(view, list[j]);
    moved = list[last];
    const uint2 low = list[lane], high = list[lane + 32];
    const uint32(&end)[3] = candidates.end;
    const uint32 pair = candidates.pair_at(view, lane);
    const uint32 critical = __ballot_sync(kEveryone, (lane < end[2]) & view.others_false(pair));
    const uint32 below0 = bits_below(end[0]), below1 = bits_below(end[1]);
    const uint32 of[3] = {critical & below0, critical & below1 & ~below0, critical & ~below1};
    const uint32 breaks[3] = {static_cast<uint32>(__popc(of[0])),
                              static_cast<uint32>(__popc(of[1])),
                              static_cast<uint32>(__popc(of[2]))};
    const int chosen = candidates.choose(view, breaks, draw_high);
    const uint32(&l)[3] = candidates.literal;
    flipped = pick(chosen, l[0], l[1], l[2]);
    lost = pick(chosen, of[0], of[1], of[2]);
    changed = view.truth[flipped >> 5] ^ 3u << (flipped & 30);
    entry = broken(flipped ^ 1, pair);
    long_row = end[2] > 32;
    bool others = ((lane < count) & (lane != j) & holds(low, flipped)) |
                  ((lane + 32 < count) & (lane + 32 != j) & holds(high, flipped));
#pragma unroll 1
    for (uint32 base = 64; base < count; base += 64) {
      const uint32 near = min(base + lane, last), next = min(base + 32 + lane, last);
      others |=
          ((near != j) & holds(list[near], flipped)) | ((next != j) & holds(list[next], flipped));
    }
    return !__any_sync(kEveryone, others | long_row);
  }

  // Does a plain flip; returns how many clauses are violated then.
  __device__ uint32 take(const View& view, const ShortList& list) const {
    __syncwarp();
    view.truth[flipped >> 5] = changed;
    if (j < last) list.set(j, moved);
    return append(view, list, last);
  }

  // Does a flip that satisfies other clauses, too.
  __device__ uint32 take_others(const View& view, const ShortList& list) const {
    __syncwarp();
    view.truth[flipped >> 5] = changed;
    if (j < last) list.set(j, moved);
    uint32 left = last;
    __syncwarp();
    leave(list, left, flipped, view.lane);
    __syncwarp();
    return append(view, list, left);
  }

  __device__ uint32 append(const View& view, const ShortList& list, uint32 count) const {
    if (lost >> view.lane & 1) list.set(count + rank_of(lost, view.lane), entry);
    __syncwarp();
    return count + __popc(lost);
  }
};

}  // namespace
