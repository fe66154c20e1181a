// Thousands of focused random walks (walker.hpp) on CUDA, each by a group of `kGroup` lanes.
//
// A walk keeps no counts: its truth values and the list of its violated clauses are all there is,
// so a walk takes half a kilobyte of shared memory and the formula's tables stay in the caches. The
// lanes of a group look at one occurrence each. What is drawn, and the order of the list, are those
// of walker.hpp, so that every walk takes the same steps on every device.
#include "maxsat/walker.hpp"
#include "native/random.hpp"
#include "sizes.cuh"

namespace {

using uint64 = std::uint64_t;
using uint32 = std::uint32_t;
using uint16 = unsigned short;

constexpr unsigned kEveryone = 0xffffffffu;
constexpr int kWalks = kThreads / kGroup;  // of a block

}  // namespace

// Clauses of up to three literals; literal 2 n, which is never true, fills the shorter ones.
struct WalkTables {
  const ushort4* clause;     // three literals of each clause
  const uint2* occurrences;  // of each variable: where its positive ones begin; how many of them,
                             // and in the upper half how many negative ones, which follow
  const uint32* others;      // two other literals of each occurrence, 16 bits each
  const uint16* clause_of;   // of each occurrence
  const uint32* break_weights;  // shape (kBreakWeights,)
  int variables, clauses;
  uint64 stride;  // entries of a list of violated clauses, a multiple of 4
};

// What a walk is between two launches.
struct WalkStatus {
  uint64 random;    // state of its stream
  uint64 flips;     // done
  uint32 violated;  // now
  uint32 best;      // fewest so far
};

namespace {

// The violated clauses of one walk: the first kListed in shared memory, the rest in global memory.
struct ViolatedList {
  uint16* near;
  uint16* far;

  __device__ uint32 operator[](uint32 i) const {
    if (i < kListed) return near[i];
    return far[i];
  }
  __device__ void set(uint32 i, uint32 clause) const {
    if (i < kListed) {
      near[i] = static_cast<uint16>(clause);
    } else {
      far[i] = static_cast<uint16>(clause);
    }
  }
};

// One group's share of a warp, and its walk.
struct Group {
  int lane;       // within the group
  int shift;      // first lane of the group within the warp
  uint32* truth;  // bit l: whether literal l is true
  ViolatedList list;

  // The group's bits of a ballot of the whole warp.
  __device__ uint32 ballot(bool mine) const {
    return __ballot_sync(kEveryone, mine) >> shift & kGroupMask;
  }
  __device__ uint32 from(uint32 value, int source) const {
    return __shfl_sync(kEveryone, value, source, kGroup);
  }
  // Whether both other literals of an occurrence are false.
  __device__ bool others_false(uint32 pair) const {
    const uint32 a = pair & 0xffffu, b = pair >> 16;
    const uint32 true_a = __funnelshift_r(truth[a >> 5], truth[a >> 5], a);
    const uint32 true_b = __funnelshift_r(truth[b >> 5], truth[b >> 5], b);
    return !((true_a | true_b) & 1);
  }
};

__device__ uint64 bits_below(uint32 count) { return count < 64 ? (1ull << count) - 1 : ~0ull; }

// Occurrences of one literal.
struct Span {
  uint32 first, count;
};

__device__ Span span_of(const uint2& variable, bool negative) {
  const uint32 positive = variable.y & 0xffffu;
  return negative ? Span{variable.x + positive, variable.y >> 16} : Span{variable.x, positive};
}

// Which of four 16-bit numbers equals a clause, counted from 0; 4 if none does.
__device__ uint32 place_of(uint2 four, uint32 clause) {
  const uint32 twice = clause * 0x10001u;
  const uint32 low = __vcmpeq2(four.x, twice), high = __vcmpeq2(four.y, twice);
  return low ? (low & 1 ? 0 : 1) : high ? (high & 1 ? 2 : 3) : 4;
}

// Place of a clause in the list, where it is; each lane looks at four places at a time. What
// earlier entries left behind the end is met later than the entry itself.
__device__ uint32 find(const Group& group, uint32 clause, uint32 count, bool wanted) {
  uint32 place = 0;
  bool searching = wanted;
  for (uint32 base = 0; __any_sync(kEveryone, searching); base += 4 * kGroup) {
    const uint32 i = base + 4 * group.lane;
    uint32 at = 4;
    if (searching && i < count) {
      at = place_of(i < kListed ? reinterpret_cast<const uint2*>(group.list.near)[i / 4]
                                : reinterpret_cast<const uint2*>(group.list.far)[i / 4],
                    clause);
    }
    const uint32 hits = group.ballot(at < 4);
    const int first = hits ? __ffs(hits) - 1 : 0;
    at = group.from(at, first);
    if (hits) {
      place = base + 4 * first + at;
      searching = false;
    }
  }
  return place;
}

}  // namespace

// Sets up walks `first` to `first + walks - 1`: random assignments, their violated clauses in
// order. A warp a walk.
extern "C" __global__ void walk_start(const WalkTables* tables, uint64 seed, uint64 first,
                                      int walks, int words, uint32* truths, uint16* lists,
                                      WalkStatus* statuses) {
  const int walk = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (walk >= walks) return;
  uint32* truth = truths + static_cast<uint64>(walk) * words;
  uint16* list = lists + static_cast<uint64>(walk) * tables->stride;
  const uint64 stream = first + walk;
  if (lane == 0) {
    hardscape::RandomStream coins(seed, stream, hardscape::maxsat::kInitialPurpose);
    for (int w = 0; w < words; ++w) {
      uint32 word = 0;
      for (int b = 0; b < 16 && 16 * w + b < tables->variables; ++b) {
        word |= (coins.next() >> 63 ? 1u : 2u) << (2 * b);
      }
      truth[w] = word;
    }
  }
  __syncwarp();
  uint32 count = 0;
  for (int base = 0; base < tables->clauses; base += 32) {
    const int c = base + lane;
    bool violated = false;
    if (c < tables->clauses) {
      const ushort4 l = tables->clause[c];
      violated = !((truth[l.x >> 5] >> (l.x & 31) | truth[l.y >> 5] >> (l.y & 31) |
                    truth[l.z >> 5] >> (l.z & 31)) &
                   1);
    }
    const unsigned found = __ballot_sync(kEveryone, violated);
    if (violated) list[count + __popc(found & ((1u << lane) - 1))] = static_cast<uint16>(c);
    count += __popc(found);
  }
  if (lane == 0) {
    hardscape::RandomStream random(seed, stream, hardscape::maxsat::kWalkPurpose);
    statuses[walk] = {random.state(), 0, count, count};
  }
}

// Up to `flips` flips of every walk that violates more than `target` clauses. Assignments that
// violate fewer than `incumbent` go to `best_truths`.
extern "C" __global__ void __launch_bounds__(kThreads, kResident / kThreads)
    walk_run(const WalkTables* tables, uint32 flips, uint32 target, uint32 incumbent, int walks,
             int words, uint32* truths, uint16* lists, WalkStatus* statuses, uint32* best_truths) {
  extern __shared__ uint32 shared[];
  const int place = threadIdx.x / kGroup;
  const int lane = threadIdx.x % kGroup;
  // Groups beyond the last walk do nothing, but take part in every ballot.
  const int walk = blockIdx.x * kWalks + place;
  const bool exists = walk < walks;
  const uint64 mine = exists ? walk : walks - 1;

  uint32* weights = shared;
  uint32* truth = shared + hardscape::maxsat::kBreakWeights + place * words;
  auto* near =
      reinterpret_cast<uint16*>(shared + hardscape::maxsat::kBreakWeights + kWalks * words);
  const Group group{lane,
                    static_cast<int>(threadIdx.x % 32 - lane),
                    truth,
                    {near + place * kListed, lists + mine * tables->stride}};
  WalkStatus status = statuses[mine];
  for (int i = threadIdx.x; i < hardscape::maxsat::kBreakWeights; i += kThreads) {
    weights[i] = tables->break_weights[i];
  }
  for (int w = lane; w < words; w += kGroup) truth[w] = truths[mine * words + w];
  for (int i = lane; i < min(kListed, static_cast<int>(status.violated)); i += kGroup) {
    group.list.near[i] = group.list.far[i];
  }
  __syncthreads();

  const ushort4* clauses = tables->clause;
  const uint2* occurrences = tables->occurrences;
  const uint32* others = tables->others;
  const uint16* clause_of = tables->clause_of;
  const uint32 never = 2 * tables->variables;
  uint32 count = status.violated, best = status.best;
  uint32 done = 0;
  uint64 draws = 0;  // each lane holds one of the next kGroup numbers

  for (uint32 turn = 0;; ++turn) {
    const bool walks_on = exists && done < flips && count > target;
    if (!__any_sync(kEveryone, walks_on)) break;
    const int slot = turn % kGroup;
    if (slot == 0) {
      draws = hardscape::RandomStream::resume_after(status.random, turn + lane).next();
    }
    const uint32 draw_low = group.from(static_cast<uint32>(draws), slot);
    const uint32 draw_high = group.from(static_cast<uint32>(draws >> 32), slot);
    // A group that is through goes on with the others without effect.
    const uint32 j = walks_on ? __umulhi(draw_low, count) : 0;
    const uint32 c = walks_on ? group.list[j] : 0;
    const ushort4 literals = clauses[c];
    const uint32 l[3] = {literals.x, literals.y, literals.z};

    // Break counts: occurrences of the true literal whose other literals are false. Those of all
    // three variables stand in one row, of which each lane looks at every kGroup-th.
    uint2 variable[3];
    Span span[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      variable[i] = l[i] == never ? uint2{0, 0} : occurrences[l[i] >> 1];
      span[i] = span_of(variable[i], !(l[i] & 1));
    }
    const uint32 end0 = span[0].count, end1 = end0 + span[1].count, end2 = end1 + span[2].count;
    const auto pair_at = [&](uint32 t) {
      const uint32 first = t < end0   ? span[0].first
                           : t < end1 ? span[1].first - end0
                                      : span[2].first - end1;
      return t < end2 ? others[first + t] : 0;
    };
    uint32 pair[kAhead];
#pragma unroll
    for (int r = 0; r < kAhead; ++r) pair[r] = pair_at(r * kGroup + lane);
    uint64 critical = 0;  // of the first 64 of the row
#pragma unroll
    for (int r = 0; r < kAhead; ++r) {
      const bool found = r * kGroup + lane < end2 && group.others_false(pair[r]);
      critical |= static_cast<uint64>(group.ballot(found)) << (r * kGroup);
    }
    uint32 breaks0 = 0, breaks1 = 0, breaks2 = 0;
    for (uint32 t = kAhead * kGroup; __any_sync(kEveryone, t < end2); t += kGroup) {
      const uint32 mine_at = t + lane;
      const bool found = mine_at < end2 && group.others_false(pair_at(mine_at));
      const uint32 row = group.ballot(found);
      if (t < 64) {
        critical |= static_cast<uint64>(row) << t;
      } else {
        // A row this long is rare: its end is counted at once.
        const auto within = [&](uint32 begin, uint32 end) {
          const uint32 from = min(max(begin, t), t + kGroup) - t,
                       to = min(max(end, t), t + kGroup) - t;
          return __popcll(row & ((1ull << to) - (1ull << from)));
        };
        breaks0 += within(0, end0);
        breaks1 += within(end0, end1);
        breaks2 += within(end1, end2);
      }
    }
    const uint64 below0 = bits_below(end0), below1 = bits_below(end1);
    breaks0 += __popcll(critical & below0);
    breaks1 += __popcll(critical & below1 & ~below0);
    breaks2 += __popcll(critical & ~below1);

    const uint32 last = hardscape::maxsat::kBreakWeights - 1;
    const uint32 a = weights[min(breaks0, last)];
    const uint32 b = l[1] == never ? 0 : weights[min(breaks1, last)];
    const uint32 d = l[2] == never ? 0 : weights[min(breaks2, last)];
    const uint32 q = __umulhi(draw_high, a + b + d);
    const int chosen = q < a ? 0 : q < a + b ? 1 : 2;
    const uint32 flipped = chosen == 0 ? l[0] : chosen == 1 ? l[1] : l[2];
    const uint2 head = chosen == 0 ? variable[0] : chosen == 1 ? variable[1] : variable[2];
    // The part of the row that belongs to the chosen variable.
    const uint32 begins = chosen == 0 ? 0 : chosen == 1 ? end0 : end1;
    const uint32 known = begins < 64 ? 64 - begins : 0;
    const uint64 lost = begins < 64 ? critical >> begins : 0;
    const Span gains = span_of(head, flipped & 1), losses = span_of(head, !(flipped & 1));

    // Clauses that the flip satisfies leave the list: the chosen one first, then in order.
    uint32 left = walks_on ? count - 1 : 0;
    const uint32 moved = group.list[left];
    __syncwarp();
    if (walks_on && lane == 0) group.list.set(j, moved);
    __syncwarp();
    for (uint32 k = 0; __any_sync(kEveryone, walks_on && k < gains.count); k += kGroup) {
      const bool has = walks_on && k + lane < gains.count;
      const uint32 at = gains.first + k + lane;
      const bool was = has && group.others_false(others[at]);
      const uint32 id = was ? clause_of[at] : c;
      uint32 leaving = group.ballot(id != c);
      while (__any_sync(kEveryone, leaving != 0)) {
        const bool one = leaving != 0;
        const uint32 gone = group.from(id, one ? __ffs(leaving) - 1 : 0);
        const uint32 at_place = find(group, gone, left, one);
        if (one) {
          --left;
          if (lane == 0) group.list.set(at_place, group.list[left]);
          leaving &= leaving - 1;
        }
        __syncwarp();
      }
    }

    // Clauses that lose their only true literal join it, in order.
    for (uint32 k = 0; __any_sync(kEveryone, walks_on && k < losses.count); k += kGroup) {
      const bool has = walks_on && k + lane < losses.count;
      const uint32 at = losses.first + k + lane;
      uint32 joining;
      if (__all_sync(kEveryone, k + kGroup <= known)) {
        const uint32 rest = k < losses.count ? losses.count - k : 0;
        joining = static_cast<uint32>((lost >> k) & bits_below(rest)) & kGroupMask;
      } else {
        joining = group.ballot(has && group.others_false(others[at]));
      }
      if (has && joining >> lane & 1) {
        group.list.set(left + __popc(joining & ((1u << lane) - 1)), clause_of[at]);
      }
      if (walks_on) left += __popc(joining);
    }
    __syncwarp();
    if (walks_on) {
      count = left;
      ++done;
      if (lane == 0) truth[flipped >> 5] ^= 3u << (flipped & 30);
    }
    __syncwarp();
    if (walks_on && count < best) {
      best = count;
      if (best < incumbent) {
        for (int w = lane; w < words; w += kGroup) best_truths[mine * words + w] = truth[w];
      }
    }
  }

  if (!exists) return;
  for (int w = lane; w < words; w += kGroup) truths[mine * words + w] = truth[w];
  for (int i = lane; i < min(kListed, static_cast<int>(count)); i += kGroup) {
    group.list.far[i] = group.list.near[i];
  }
  if (lane == 0)
    statuses[mine] = {hardscape::RandomStream::resume_after(status.random, done).state(),
                      status.flips + done, count, best};
}
