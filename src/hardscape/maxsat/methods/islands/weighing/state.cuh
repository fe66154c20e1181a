// The state of a clause-weighting walk on CUDA, and what its lanes do together with clauses: see
// weighing.cu.
#pragma once

#include "maxsat/methods/islands/weighing/tables.cuh"

namespace {

__device__ uint32 rank_of(uint32 set, uint32 lane) { return __popc(set & ((1u << lane) - 1)); }

// The literals of a clause.
struct Range {
  uint32 begin, length;
};

struct WeighingState {
  const WeighingTables& tables;
  uint32* truth;
  uint32* good;  // bits of the variables of positive score
  int* score;
  int* weight;
  uint32* age;
  uint32* list;
  uint32* place;
  uint32 lane;
  uint32 count[2];  // violated clauses, hard and soft
  uint64 cost;
  uint64 pressure, taken;  // the latter by the soft clauses
  uint32 last;

  __device__ bool hard(uint32 c) const { return c < tables.num_hard; }
  __device__ bool holds(uint32 l) const { return ((truth[l >> 6] >> (l >> 1 & 31)) ^ l) & 1; }
  __device__ uint64 counts() const {
    return count[0] ? hardscape::maxsat::kInfeasible + count[0] : cost;
  }
  __device__ uint32* listed(int soft) const { return list + (soft ? tables.num_hard : 0); }

  __device__ Range range_of(uint32 c) const {
    const uint32 begin = tables.start[c];
    return {begin, tables.start[c + 1] - begin};
  }

  // Whatever the order of changes, a bit is turned as often as the sign is.
  __device__ void change(uint32 v, int by) const {
    const int old = atomicAdd(&score[v], by);
    if ((old > 0) != (old + by > 0)) atomicXor(&good[v >> 5], 1u << (v & 31));
  }

  // Has all lanes look at the literals of all lanes' clauses: `act(literal, by)`, with the number
  // of the lane that has the clause.
  template <class Act>
  __device__ void literals(const Range& range, int by, Act&& act) const {
    uint32 ends = range.length;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const uint32 before = __shfl_up_sync(kEveryone, ends, step);
      if (lane >= step) ends += before;
    }
    const uint32 all = __shfl_sync(kEveryone, ends, 31), shift = range.begin + range.length - ends;
#pragma unroll 1
    for (uint32 base = 0; base < all; base += 32) {
      const uint32 t = base + lane;
      uint32 owner = 0;
#pragma unroll
      for (int step = 16; step > 0; step /= 2) {
        const uint32 end = __shfl_sync(kEveryone, ends, owner + step - 1);
        if (end <= t) owner += step;
      }
      const uint32 from = __shfl_sync(kEveryone, shift, owner);
      const int mine = __shfl_sync(kEveryone, by, owner);
      if (t < all) act(tables.literal[from + t], mine);
    }
  }

  // Takes the lanes' clauses of one kind from their places of the list.
  __device__ void leave(int soft, bool leaving, uint32 at) {
    const uint32 set = __ballot_sync(kEveryone, leaving);
    if (!set) return;
    uint32* const l = listed(soft);
    const uint32 many = __popc(set), left = count[soft] - many;
    const uint32 tail = l[left + min(lane, many - 1)];
    const uint32 gone = __reduce_or_sync(kEveryone, leaving && at >= left ? 1u << (at - left) : 0u);
    uint32 stays = (many == 32 ? ~0u : (1u << many) - 1) & ~gone;
    const bool hole = leaving && at < left;
    const uint32 holes = __ballot_sync(kEveryone, hole);
    for (uint32 skip = hole ? rank_of(holes, lane) : 0; skip > 0; --skip) stays &= stays - 1;
    const uint32 moved = __shfl_sync(kEveryone, tail, stays ? __ffs(stays) - 1 : 0);
    if (hole) {
      l[at] = moved;
      place[moved] = at;
    }
    count[soft] = left;
    __syncwarp();
  }

  // Adds the lanes' clauses of one kind to their list.
  __device__ void join(int soft, bool joining, uint32 c) {
    const uint32 set = __ballot_sync(kEveryone, joining);
    if (!set) return;
    if (joining) {
      const uint32 at = count[soft] + rank_of(set, lane);
      listed(soft)[at] = c;
      place[c] = at;
    }
    count[soft] += __popc(set);
    __syncwarp();
  }

  __device__ void add_cost(bool changes, bool adds, uint32 c) {
    if (!__any_sync(kEveryone, changes)) return;
    uint64 by = changes ? tables.cost[c] : 0;
    if (!adds) by = 0 - by;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) by += __shfl_xor_sync(kEveryone, by, step);
    cost += by;
  }

  // How many literals are true, but for one variable's, or that there are two or more; and the
  // variable of the last one. Some are asked for at once: what a walk waits for is memory.
  __device__ uint32 trues_of(const Range& range, uint32 but, uint32& sole) const {
    constexpr uint32 kAtOnce = 4;
    uint32 trues = 0;
#pragma unroll 1
    for (uint32 i = 0; i < range.length && trues < 2; i += kAtOnce) {
      uint32 l[kAtOnce];
#pragma unroll
      for (uint32 j = 0; j < kAtOnce; ++j) {
        l[j] = tables.literal[range.begin + min(i + j, range.length - 1)];
      }
#pragma unroll
      for (uint32 j = 0; j < kAtOnce; ++j) {
        if (i + j < range.length && l[j] >> 1 != but && holds(l[j])) ++trues, sole = l[j] >> 1;
      }
    }
    return trues;
  }

  // Adds to scores what the lanes' clauses gain, those that are `live`; whether they are violated.
  __device__ bool weigh(uint32 c, bool live, int by) const {
    Range range = range_of(c);
    uint32 sole = 0;
    const uint32 trues = trues_of(range, kNobody, sole);
    if (live && trues == 1) change(sole, -by);
    const bool violated = live && trues == 0;
    if (!__any_sync(kEveryone, violated)) return false;
    if (!violated) range.length = 0;
    literals(range, by, [&](uint32 l, int more) { change(l >> 1, more); });
    return violated;
  }

  // Everything that follows from the assignment, if `afresh` with first search weights.
  __device__ void begin(const WeighingTemper& temper, bool afresh) {
    const uint32 n = tables.variables, m = tables.clauses;
    __syncwarp();
#pragma unroll 4
    for (uint32 v = lane; v < n; v += 32) score[v] = 0, age[v] = 0;
    for (uint32 w = lane; w < (n + 31) / 32; w += 32) good[w] = 0;
    count[0] = count[1] = 0;
    cost = 0;
    if (afresh) pressure = taken = hardscape::maxsat::first_pressure(temper);
    last = kNobody;
    __syncwarp();
#pragma unroll 1
    for (uint32 base = 0; base < m; base += 32) {
      const uint32 c = min(base + lane, m - 1);
      const bool live = base + lane < m;
      int by = weight[c];
      if (afresh)
        by = hardscape::maxsat::first_weight(temper, hard(c), tables.unit[c], tables.most);
      __syncwarp();
      if (live && afresh) weight[c] = by;
      const bool violated = weigh(c, live, by);
      join(0, violated && hard(c), c);
      join(1, violated && !hard(c), c);
      add_cost(violated && !hard(c), true, c);
    }
    __syncwarp();
  }
};

}  // namespace
