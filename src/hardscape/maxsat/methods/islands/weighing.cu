// Clause-weighting walks on CUDA (weighing.hpp), a warp each.
//
// What a walk waits for is memory, one access after the other, and what all walks together wait for
// is bandwidth. So a walk keeps little of its own: the truth of its variables and which of them
// have positive scores are bits in shared memory, scores are there where they fit, and only search
// weights, ages and lists are in global memory. How many literals of a clause are true is counted
// anew, from the formula, which all walks share in the caches.
#include "maxsat/methods/islands/weighing.hpp"

using hardscape::maxsat::kChanceDraw;
using hardscape::maxsat::kInfeasible;
using hardscape::maxsat::kLanes;
using hardscape::maxsat::kRandomGood;
using hardscape::maxsat::kWordDraw;
using hardscape::maxsat::WeighingStatus;
using hardscape::maxsat::WeighingTemper;

namespace {

using uint64 = std::uint64_t;
using uint32 = std::uint32_t;
using uint16 = unsigned short;

constexpr unsigned kEveryone = 0xffffffffu;
constexpr uint32 kNobody = 0xffffffffu;
constexpr int kLeast = -0x7fffffff - 1;
// A clause of an occurrence, and where it begins; from this bit on its length, or `kLong`.
constexpr int kLength = 24;
constexpr uint32 kLong = 255;

}  // namespace

// Hard clauses come first.
struct WeighingTables {
  const uint2* occurrence;  // literal by literal
  const uint32* first;      // occurrence of each literal
  const uint32* start;      // literal of each clause
  const uint16* literal;    // clause by clause
  const int* unit;          // first search weight of each clause
  const uint64* cost;       // of each clause
  const WeighingTemper* tempers;
  uint32 variables, clauses;
  uint32 num_hard, num_tempers;
  uint64 most;  // search weight of a hard clause
};

// What walks keep in global memory, each a part of its own.
struct WeighingArrays {
  uint32* truths;       // bits of the variables
  uint32* best_truths;  // of the best assignment
  int* weights;         // of the clauses
  int* scores;          // of the variables
  uint32* ages;         // of the variables: the step of the last flip
  uint32* lists;        // violated clauses: hard ones, and from `num_hard` on soft ones
  uint32* places;       // of each clause in its list
  WeighingStatus* statuses;
};

namespace {

__device__ uint32 rank_of(uint32 set, uint32 lane) { return __popc(set & ((1u << lane) - 1)); }

// The literals of a clause.
struct Range {
  uint32 begin, length;
};

// A variable to flip.
struct Choice {
  int score = kLeast;
  uint32 age = 0, variable = kNobody;

  __device__ void look(uint32 v, int s, uint32 a) {
    const bool better =
        variable == kNobody || s > score || (s == score && (a < age || (a == age && v < variable)));
    if (better) score = s, age = a, variable = v;
  }
  // The best of all lanes, `kNobody` where no lane has one.
  __device__ uint32 best() const {
    const bool any = variable != kNobody;
    if (!__any_sync(kEveryone, any)) return kNobody;
    const int top = __reduce_max_sync(kEveryone, any ? score : kLeast);
    const bool on_top = any && score == top;
    const uint32 oldest = __reduce_min_sync(kEveryone, on_top ? age : kNobody);
    return __reduce_min_sync(kEveryone, on_top && age == oldest ? variable : kNobody);
  }
};

struct Walk {
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
  uint64 cost, pressure;
  uint32 last, presses;

  __device__ bool hard(uint32 c) const { return c < tables.num_hard; }
  __device__ bool holds(uint32 l) const { return ((truth[l >> 6] >> (l >> 1 & 31)) ^ l) & 1; }
  __device__ uint64 counts() const { return count[0] ? kInfeasible + count[0] : cost; }
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

  // Everything that follows from the assignment, with first search weights.
  __device__ void begin() {
    const uint32 n = tables.variables, m = tables.clauses;
    __syncwarp();
#pragma unroll 4
    for (uint32 v = lane; v < n; v += 32) score[v] = 0, age[v] = 0;
    for (uint32 w = lane; w < (n + 31) / 32; w += 32) good[w] = 0;
    count[0] = count[1] = 0;
    cost = 0;
    pressure = hardscape::maxsat::kPressureOne;
    last = kNobody;
    presses = 0;
    __syncwarp();
#pragma unroll 1
    for (uint32 base = 0; base < m; base += 32) {
      const uint32 c = min(base + lane, m - 1);
      const bool live = base + lane < m;
      const int unit = tables.unit[c];
      if (live) weight[c] = unit;
      const bool violated = weigh(c, live, unit);
      join(0, violated && hard(c), c);
      join(1, violated && !hard(c), c);
      add_cost(violated && !hard(c), true, c);
    }
    __syncwarp();
  }

  // The best of some variables of positive score, or the first one.
  __device__ uint32 best_good(uint32 draw, bool first) const {
    const uint32 n = tables.variables, words = (n + 31) / 32;
    const uint32 shift = __umulhi(draw, words);
    constexpr uint32 kLooks = hardscape::maxsat::kLooks;
    uint32 found[kLooks] = {kNobody, kNobody};
    static_assert(kLooks == 2);
#pragma unroll 1
    for (uint32 i = lane; i < words && found[1] == kNobody; i += kLanes) {
      const uint32 w = i + shift < words ? i + shift : i + shift - words;
      uint32 bits = good[w];
      if (last >> 5 == w) bits &= ~(1u << (last & 31));
      for (; bits && found[1] == kNobody; bits &= bits - 1) {
        found[1] = found[0];
        found[0] = 32 * w + __ffs(bits) - 1;
        if (first) break;
      }
      if (first && found[0] != kNobody) break;
    }
    Choice choice;
    // Both ages are asked for at once.
    const uint32 age0 = found[0] != kNobody ? age[found[0]] : 0;
    const uint32 age1 = found[1] != kNobody ? age[found[1]] : 0;
    if (found[1] != kNobody) choice.look(found[1], score[found[1]], age1);
    if (found[0] != kNobody) choice.look(found[0], score[found[0]], age0);
    __syncwarp();
    if (first) {
      const uint32 some = __ballot_sync(kEveryone, choice.variable != kNobody);
      return some ? __shfl_sync(kEveryone, choice.variable, __ffs(some) - 1) : kNobody;
    }
    return choice.best();
  }

  // All soft clauses become heavier alike.
  __device__ void press() {
    pressure = hardscape::maxsat::more_pressure(pressure);
    if (++presses % hardscape::maxsat::kPressing) return;
#pragma unroll 1
    for (uint32 base = tables.num_hard; base < tables.clauses; base += 32) {
      const uint32 c = min(base + lane, tables.clauses - 1);
      const bool live = base + lane < tables.clauses;
      const int next = hardscape::maxsat::pressed(pressure, tables.unit[c], tables.most);
      const int by = next - weight[c];
      __syncwarp();
      if (live) weight[c] = next;
      weigh(c, live, by);
    }
    __syncwarp();
  }

  // Makes violated clauses of one kind heavier.
  __device__ void grow(int soft, uint32 draw, const WeighingTemper& temper) const {
    constexpr uint32 kWindow = hardscape::maxsat::kWindow;
    const uint32 many = soft ? count[1] : count[0];
    if (many == 0) return;
    Range range = {0, 0};
    int by = 0;
    if (lane < min(many, kWindow)) {
      const uint32 at = __umulhi(draw, many) + lane;
      const uint32 c = listed(soft)[at < many ? at : at % many];
      const int was = weight[c];
      const int next = hardscape::maxsat::heavier(temper, !soft, tables.unit[c], was,
                                                  (many + kWindow - 1) / kWindow, tables.most);
      weight[c] = next;
      by = next - was;
      range = range_of(c);
    }
    literals(range, by, [&](uint32 l, int more) { change(l >> 1, more); });
    __syncwarp();
  }

  // `drawn` is the number that lane q draws for use q.
  __device__ uint32 escape(uint64 drawn, uint64 best, const WeighingTemper& temper) {
    using namespace hardscape::maxsat;
    const bool firm = count[0] != 0, dear = best < kInfeasible && cost >= best;
    const uint64 windows = __shfl_sync(kEveryone, drawn, kWindowDraw);
    if (firm) grow(0, windows, temper);
    if (temper.press) {
      if (dear) press();
      if (__shfl_sync(kEveryone, drawn, kChanceDraw) >> 32 < kRandomEscape) {
        const uint64 offer = __shfl_sync(kEveryone, drawn, kOfferDraw);
        const uint32 many = firm ? count[0] : count[1];
        const Range range = range_of(listed(!firm)[__umulhi(static_cast<uint32>(offer), many)]);
        return tables.literal[range.begin + __umulhi(offer >> 32, range.length)] >> 1;
      }
    } else if (!firm || dear) {
      grow(1, windows >> 32, temper);
    }
    const uint32 offers = firm ? 1 : kOffers;
    const uint32 low =
        __shfl_sync(kEveryone, static_cast<uint32>(drawn), kOfferDraw + min(lane, kOffers - 1));
    Range range = {0, 0};
    if (lane < offers) {
      range = range_of(listed(!firm)[__umulhi(low, firm ? count[0] : count[1])]);
    }
    Choice choice;
    literals(range, 0, [&](uint32 l, int) { choice.look(l >> 1, score[l >> 1], age[l >> 1]); });
    return choice.best();
  }

  __device__ void flip(uint32 x, uint32 now) {
    const uint32 was = truth[x >> 5] >> (x & 31) & 1;  // literal 2 x + was becomes true
    const uint32 first = tables.first[2 * x], middle = tables.first[2 * x + 1],
                 end = tables.first[2 * x + 2];
    const uint32 from_made = was ? middle : first, from_broken = was ? first : middle;
    const uint32 made = was ? end - middle : middle - first, all = end - first;
    __syncwarp();
    if (lane == 0) {
      truth[x >> 5] ^= 1u << (x & 31);
      age[x] = now;
      const int old = score[x];
      score[x] = -old;
      if (old != 0) atomicXor(&good[x >> 5], 1u << (x & 31));
    }
    last = x;
    __syncwarp();
#pragma unroll 1
    for (uint32 base = 0; base < all; base += 32) {
      const uint32 t = base + lane;
      const bool makes = t < made;
      const uint32 at = makes ? from_made + t : from_broken + t - made;
      const uint2 where = tables.occurrence[t < all ? at : first];
      const uint32 c = where.x, begins = where.y & ((1u << kLength) - 1);
      uint32 length = where.y >> kLength;
      if (length == kLong) length = tables.start[c + 1] - begins;
      // Asked for before it is known whether they are needed.
      const int heavy = weight[c];
      const uint32 at_list = place[c];
      uint32 sole = 0;
      const uint32 others = t < all ? trues_of({begins, length}, x, sole) : 2;
      int by = 0;
      if (others < 2) by = makes ? heavy : -heavy;
      if (others == 1) change(sole, by);
      const bool turns = others == 0;
      if (!__any_sync(kEveryone, turns)) continue;
      literals({begins, turns ? length : 0}, -by, [&](uint32 literal, int more) {
        if (literal >> 1 != x) change(literal >> 1, more);
      });
      leave(0, turns && makes && hard(c), at_list);
      leave(1, turns && makes && !hard(c), at_list);
      join(0, turns && !makes && hard(c), c);
      join(1, turns && !makes && !hard(c), c);
      add_cost(turns && !hard(c), !makes, c);
    }
    __syncwarp();
  }
};

}  // namespace

// Sets up walks `first` to `first + walks - 1`, at the assignments given, by turns.
extern "C" __global__ void weigh_start(const WeighingTables* tables, const WeighingArrays* arrays,
                                       int walks, uint64 seed, uint64 first, const uint32* initials,
                                       uint32 many) {
  const int walk = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (walk >= walks) return;
  const uint32 words = (tables->variables + 31) / 32;
  const uint32* initial = initials + (first + walk) / tables->num_tempers % many * words;
  for (uint32 w = lane; w < words; w += 32) {
    arrays->truths[static_cast<uint64>(walk) * words + w] = initial[w];
  }
  if (lane == 0) {
    const hardscape::RandomStream random(seed, first + walk, hardscape::maxsat::kWeighingPurpose);
    arrays->statuses[walk] = {random.state(), 0, 0, 0, 0, 0, 0, 0, kNobody, 0, 0, 0};
  }
}

// Walks that have a source, not -1, go on from the best assignment of that walk.
extern "C" __global__ void weigh_adopt(const WeighingTables* tables, const WeighingArrays* arrays,
                                       int walks, const int* sources) {
  const int walk = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (walk >= walks || sources[walk] < 0) return;
  const uint32 words = (tables->variables + 31) / 32;
  const uint32* source = arrays->best_truths + static_cast<uint64>(sources[walk]) * words;
  uint32* truth = arrays->truths + static_cast<uint64>(walk) * words;
  for (uint32 w = lane; w < words; w += 32) truth[w] = source[w];
  if (lane == 0) arrays->statuses[walk].began = 0;
}

// Up to `steps` steps of every walk whose best assignment counts more than `target`. In a race a
// walk ends when another one came to the target with no more steps, `fewest` of all.
extern "C" __global__ void __launch_bounds__(kThreads)
    weigh_run(const WeighingTables* given, const WeighingArrays* arrays, int walks, uint64 first,
              uint32 steps, uint64 target, uint32 race, uint32* fewest) {
  extern __shared__ uint32 shared[];
  constexpr int kWalks = kThreads / 32;
  const int number = threadIdx.x / 32;
  const uint32 lane = threadIdx.x % 32;
  const int index = blockIdx.x * kWalks + number;
  if (index >= walks) return;
  const WeighingTables tables = *given;
  const uint32 n = tables.variables, m = tables.clauses, words = (n + 31) / 32;
  const uint64 walk = index;
  uint32* mine = shared + number * (2 * words + (kNear ? n : 0));
  int* scores = arrays->scores + walk * n;
  WeighingStatus status = arrays->statuses[walk];
  Walk going{tables,
             mine,
             mine + words,
             kNear ? reinterpret_cast<int*>(mine + 2 * words) : scores,
             arrays->weights + walk * m,
             arrays->ages + walk * n,
             arrays->lists + walk * m,
             arrays->places + walk * m,
             lane,
             {status.hard, status.soft},
             status.cost,
             status.pressure,
             status.last,
             status.presses};
  uint32* truths = arrays->truths + walk * words;
  uint32* best_truths = arrays->best_truths + walk * words;
  const auto keep = [&](uint32* to, const uint32* from) {
    for (uint32 w = lane; w < words; w += 32) to[w] = from[w];
  };
  keep(going.truth, truths);
  if (status.began) {
    for (uint32 w = lane; w < words; w += 32) {
      uint32 bits = 0;
#pragma unroll 4
      for (uint32 v = 32 * w; v < min(n, 32 * w + 32); ++v) {
        bits |= static_cast<uint32>(scores[v] > 0) << (v & 31);
      }
      going.good[w] = bits;
    }
    if constexpr (kNear) {
      for (uint32 v = lane; v < n; v += 32) going.score[v] = scores[v];
    }
    __syncwarp();
  } else {
    keep(best_truths, truths);
    going.begin();
    status.best = going.counts();
    status.improved_at = status.steps;
    status.restarts = 0;
    status.began = 1;
  }
  uint32 done = 0;
  while (done < steps && status.best > target) {
    if (race && done % 32 == 0 &&
        __any_sync(kEveryone, done >= *static_cast<volatile uint32*>(fewest))) {
      break;
    }
    const WeighingTemper& temper =
        tables.tempers[(first + walk + status.restarts) % tables.num_tempers];
    const uint64 drawn = hardscape::maxsat::weighing_draw(status.random, status.steps,
                                                          lane % hardscape::maxsat::kDraws);
    const uint32 low = drawn;
    const bool random = temper.press && __shfl_sync(kEveryone, low, kChanceDraw) < kRandomGood;
    uint32 x = going.best_good(__shfl_sync(kEveryone, low, kWordDraw), random);
    if (x == kNobody) x = going.escape(drawn, status.best, temper);
    ++status.steps;
    ++done;
    going.flip(x, static_cast<uint32>(status.steps));
    const uint64 counts = going.counts();
    if (counts < status.best) {
      status.best = counts;
      status.improved_at = status.steps;
      keep(best_truths, going.truth);
    } else if (hardscape::maxsat::impatient(temper, status.steps - status.improved_at,
                                            status.restarts)) {
      ++status.restarts;
      status.improved_at = status.steps;
      keep(going.truth, best_truths);
      going.begin();
    }
  }
  if (race && status.best <= target && lane == 0) atomicMin(fewest, done);
  keep(truths, going.truth);
  if constexpr (kNear) {
    for (uint32 v = lane; v < n; v += 32) scores[v] = going.score[v];
  }
  if (lane == 0) {
    status.cost = going.cost;
    status.hard = going.count[0];
    status.soft = going.count[1];
    status.last = going.last;
    status.pressure = going.pressure;
    status.presses = going.presses;
    arrays->statuses[walk] = status;
  }
}
