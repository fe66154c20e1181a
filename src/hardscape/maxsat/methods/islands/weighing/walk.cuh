// The steps of a clause-weighting walk on CUDA: see weighing.cu.
#pragma once

#include "maxsat/methods/islands/weighing/state.cuh"

namespace {

constexpr int kLeast = -0x7fffffff - 1;

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

struct WeighingWalk : WeighingState {
  // The best of some variables of positive score, or the first one.
  __device__ uint32 best_good(uint32 draw, bool first) const {
    const uint32 n = tables.variables, words = (n + 31) / 32;
    const uint32 shift = __umulhi(draw, words);
    constexpr uint32 kLooks = hardscape::maxsat::kLooks;
    uint32 found[kLooks] = {kNobody, kNobody};
    static_assert(kLooks == 2);
#pragma unroll 1
    for (uint32 i = lane; i < words && found[1] == kNobody; i += hardscape::maxsat::kLanes) {
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

  // All soft clauses become heavier alike; where none is hard, that changes nothing.
  __device__ void press(const WeighingTemper& temper) {
    pressure = hardscape::maxsat::more_pressure(temper, pressure);
    if (tables.num_hard == 0 || !hardscape::maxsat::due(pressure, taken)) return;
    taken = pressure;
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
      if (temper.from_zero ? !firm : dear) press(temper);
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
      const uint64 where = tables.occurrence[t < all ? at : first];
      const uint32 c = where & ((1u << kBegins) - 1);
      const uint32 begins = where >> kBegins & ((1u << (kLength - kBegins)) - 1);
      uint32 length = where >> kLength;
      if (length == kLong) length = tables.start[c + 1] - begins;
      const int heavy = weight[c];  // asked for before it is known whether it is needed
      uint32 sole = 0;
      const uint32 others = t < all ? trues_of({begins, length}, x, sole) : 2;
      int by = 0;
      if (others < 2) by = makes ? heavy : -heavy;
      if (others == 1) change(sole, by);
      const bool turns = others == 0;
      const uint32 at_list = turns && makes ? place[c] : 0;
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
