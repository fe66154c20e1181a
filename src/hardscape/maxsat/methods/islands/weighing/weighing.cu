// Clause-weighting walks on CUDA (weighing.hpp), a warp each.
//
// What a walk waits for is memory, one access after the other, and what all walks together wait for
// is bandwidth. So a walk keeps little of its own: the truth of its variables and which of them
// have positive scores are bits in shared memory, scores are there where they fit, and only search
// weights, ages and lists are in global memory; the bits, too, of a million variables. How many
// literals of a clause are true is counted anew, from the formula, which all walks share in the
// caches.
#include "maxsat/methods/islands/weighing/walk.cuh"

using hardscape::maxsat::kAfresh;
using hardscape::maxsat::kChanceDraw;
using hardscape::maxsat::kGoing;
using hardscape::maxsat::kRandomGood;
using hardscape::maxsat::kWeighted;
using hardscape::maxsat::kWordDraw;

// Sets up walks `first` to `first + walks - 1`, at the assignments given, by turns.
extern "C" __global__ void weigh_start(const WeighingTables* tables, const WeighingArrays* arrays,
                                       int walks, uint64 seed, uint64 first, const uint32* initials,
                                       uint32 many) {
  const int walk = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (walk >= walks) return;
  const uint32 words = (tables->variables + 31) / 32;
  const uint32* initial = initials + (first + walk) / (tables->num_tempers - 1) % many * words;
  for (uint32 w = lane; w < words; w += 32) {
    arrays->truths[static_cast<uint64>(walk) * words + w] = initial[w];
  }
  if (lane == 0) {
    const hardscape::RandomStream random(seed, first + walk, hardscape::maxsat::kWeighingPurpose);
    arrays->statuses[walk] = {random.state(), 0, 0, 0, 0, 0, 0, 0, 0, kNobody, 0, kAfresh};
  }
}

// Walks that have a source, not -1, go on from the best assignment of that walk.
extern "C" __global__ void weigh_adopt(const WeighingTables* tables, const WeighingArrays* arrays,
                                       int walks, uint64 first, const int* sources) {
  const int walk = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (walk >= walks || sources[walk] < 0) return;
  const uint32 words = (tables->variables + 31) / 32;
  const uint32* source = arrays->best_truths + static_cast<uint64>(sources[walk]) * words;
  uint32* truth = arrays->truths + static_cast<uint64>(walk) * words;
  for (uint32 w = lane; w < words; w += 32) truth[w] = source[w];
  if (lane == 0) {
    arrays->statuses[walk].began =
        hardscape::maxsat::lasts(first + walk, tables->lasting) ? kWeighted : kAfresh;
  }
}

// Up to `steps` steps of every walk whose best assignment counts more than `target`. In a race a
// walk ends when another one came to the target with no more steps, `fewest` of all.
extern "C" __global__ void __launch_bounds__(kThreads)
    weigh_run(const WeighingTables* given, const WeighingArrays* arrays, int walks, uint64 first,
              uint32 steps, uint64 target, uint32 race, uint32* fewest) {
  extern __shared__ unsigned char pool[];
  constexpr int kWalks = kThreads / 32;
  const int number = threadIdx.x / 32;
  const uint32 lane = threadIdx.x % 32;
  const int index = blockIdx.x * kWalks + number;
  if (index >= walks) return;
  const WeighingTables tables = *given;
  const uint32 n = tables.variables, m = tables.clauses, words = (n + 31) / 32;
  const uint64 walk = index;
  uint32* mine = reinterpret_cast<uint32*>(pool) + number * (2 * words + (kNear ? n : 0));
  uint32* truths = arrays->truths + walk * words;
  int* scores = arrays->scores + walk * n;
  WeighingStatus status = arrays->statuses[walk];
  WeighingWalk going{{tables,
                      kBitsNear ? mine : truths,
                      kBitsNear ? mine + words : arrays->goods + walk * words,
                      kNear ? reinterpret_cast<int*>(mine + 2 * words) : scores,
                      arrays->weights + walk * m,
                      arrays->ages + walk * n,
                      arrays->lists + walk * m,
                      arrays->places + walk * m,
                      lane,
                      {status.hard, status.soft},
                      status.cost,
                      status.pressure,
                      status.taken,
                      status.last}};
  uint32* best_truths = arrays->best_truths + walk * words;
  const auto keep = [&](uint32* to, const uint32* from) {
    for (uint32 w = lane; w < words; w += 32) to[w] = from[w];
  };
  const auto temper = [&] {
    return tables.tempers + hardscape::maxsat::temper_of(first + walk, status.restarts,
                                                         tables.num_tempers, tables.lasting);
  };
  if constexpr (kBitsNear) keep(going.truth, truths);
  if (status.began == kGoing) {
    for (uint32 w = lane; kBitsNear && w < words; w += 32) {
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
    status.restarts = 0;
    going.begin(*temper(), status.began == kAfresh);
    status.best = going.counts();
    status.improved_at = status.steps;
    status.began = kGoing;
  }
  const WeighingTemper* has = temper();
  uint32 done = 0;
  while (done < steps && status.best > target) {
    if (race && done % 32 == 0 &&
        __any_sync(kEveryone, done >= *static_cast<volatile uint32*>(fewest))) {
      break;
    }
    const uint64 drawn = hardscape::maxsat::weighing_draw(status.random, status.steps,
                                                          lane % hardscape::maxsat::kDraws);
    const uint32 low = drawn;
    const bool random = has->press && __shfl_sync(kEveryone, low, kChanceDraw) < kRandomGood;
    uint32 x = going.best_good(__shfl_sync(kEveryone, low, kWordDraw), random);
    if (x == kNobody) x = going.escape(drawn, status.best, *has);
    ++status.steps;
    ++done;
    going.flip(x, static_cast<uint32>(status.steps));
    const uint64 counts = going.counts();
    if (counts < status.best) {
      status.best = counts;
      status.improved_at = status.steps;
      keep(best_truths, going.truth);
    } else if (hardscape::maxsat::impatient(*has, status.steps - status.improved_at,
                                            status.restarts, going.pressure)) {
      ++status.restarts;
      status.improved_at = status.steps;
      keep(going.truth, best_truths);
      has = temper();
      going.begin(*has, true);
    }
  }
  if (race && status.best <= target && lane == 0) atomicMin(fewest, done);
  if constexpr (kBitsNear) keep(truths, going.truth);
  if constexpr (kNear) {
    for (uint32 v = lane; v < n; v += 32) scores[v] = going.score[v];
  }
  if (lane == 0) {
    status.cost = going.cost;
    status.hard = going.count[0];
    status.soft = going.count[1];
    status.last = going.last;
    status.pressure = going.pressure;
    status.taken = going.taken;
    arrays->statuses[walk] = status;
  }
}
