// One generation of the cellular genetic algorithm on CUDA: a thread is an individual, a warp the
// 32 individuals of a plane. Constants before the first line, those of the kind of formula, say how
// clauses and weights are stored.
#include "maxsat/methods/cellular/genetics.hpp"
#include "maxsat/walker.hpp"

namespace {

using hardscape::maxsat::Control;
using hardscape::maxsat::Cost;
using hardscape::maxsat::WalkStatus;
using uint64 = std::uint64_t;

constexpr unsigned kEveryone = 0xffffffffu;
constexpr int kThreads = 32 * kWarps;

}  // namespace

// Arrays of the formula. Literal 2 v is variable v, 2 v + 1 its negation; plane 2 n stays 0.
struct Clauses {
  const unsigned* first;        // occurrences of each literal, and the end
  const unsigned* others;       // two other literals of each occurrence, 16 bits each, or one after
                                // the other where `others_from` says
  const unsigned* others_from;  // read where clauses may be longer
  const Cost* gain;             // weight of each occurrence's clause; read where weights differ
  const unsigned* literal;      // of all clauses
  const unsigned* start;        // of each clause
  const Cost* weight;           // of each clause
  Cost base;
  int variables, clauses;
};

struct Evolution {
  hardscape::maxsat::Torus torus;
  hardscape::maxsat::Chances chances;
  hardscape::maxsat::Rules rules;
};

// What a warp reports of its individuals.
struct Report {
  Cost best;
  std::int64_t unfinished, individual;
};

namespace {

// The planes of one warp.
struct Planes {
  unsigned* plane;
  int warp, lane;

  __device__ unsigned& operator[](unsigned literal) const { return plane[literal * kWarps + warp]; }
  __device__ bool holds(unsigned literal) const { return (*this)[literal] >> lane & 1; }
};

// Occurrences of a variable in this lane's individual: how much more weight needs it true.
struct Wanted {
  int count = 0;
  Cost cost;

  __device__ void add(bool needed, const Clauses& clauses, unsigned occurrence) {
    if constexpr (kWeighted) {
      if (needed) cost += clauses.gain[occurrence];
    } else {
      count += needed;
    }
  }
  __device__ void subtract(bool needed, const Clauses& clauses, unsigned occurrence) {
    if constexpr (kWeighted) {
      if (needed) cost -= clauses.gain[occurrence];
    } else {
      count -= needed;
    }
  }
  // Whether the variable, now `value`, should be flipped.
  __device__ bool flips(bool value) const {
    if constexpr (kWeighted) {
      return value ? cost < Cost{} : cost.positive();
    } else {
      return value ? count < 0 : count > 0;
    }
  }
};

__device__ __forceinline__ bool needs(const Clauses& clauses, const Planes& planes,
                                      const unsigned* others, unsigned occurrence) {
  if constexpr (kThree) {
    const unsigned pair = others[occurrence];
    return !((planes[pair & 0xffffu] | planes[pair >> 16]) >> planes.lane & 1);
  } else {
    unsigned satisfied = 0;
    const unsigned end = clauses.others_from[occurrence + 1];
    for (unsigned i = clauses.others_from[occurrence]; i < end; ++i) satisfied |= planes[others[i]];
    return !(satisfied >> planes.lane & 1);
  }
}

// Climbs; returns the individuals that improved in the last pass.
__device__ unsigned climb(const Clauses& clauses, const Planes& planes, const unsigned* first,
                          const unsigned* others, std::int64_t passes) {
  unsigned changed = 0;
  int quiet = 0;  // visits since the last change
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    changed = 0;
    for (int v = 0; v < clauses.variables; ++v) {
      const unsigned middle = first[2 * v + 1], end = first[2 * v + 2];
      Wanted wanted;
#pragma unroll 4
      for (unsigned i = first[2 * v]; i < middle; ++i) {
        wanted.add(needs(clauses, planes, others, i), clauses, i);
      }
#pragma unroll 4
      for (unsigned i = middle; i < end; ++i) {
        wanted.subtract(needs(clauses, planes, others, i), clauses, i);
      }
      const unsigned flip = __ballot_sync(kEveryone, wanted.flips(planes.holds(2 * v)));
      if (flip) {
        if (planes.lane < 2) planes[2 * v + planes.lane] ^= flip;
        __syncwarp();
        changed |= flip;
        quiet = 0;
      } else if (++quiet >= clauses.variables) {
        return pass + 1 == passes ? changed : 0;
      }
    }
  }
  return changed;
}

__device__ Cost cost_of(const Clauses& clauses, const Planes& planes) {
  Cost cost = clauses.base;
  for (int c = 0; c < clauses.clauses; ++c) {
    unsigned satisfied = 0;
    for (unsigned l = clauses.start[c]; l < clauses.start[c + 1]; ++l) {
      satisfied |= planes[clauses.literal[l]];
    }
    if (!(satisfied >> planes.lane & 1)) cost += clauses.weight[c];
  }
  return cost;
}

__device__ Report better(const Report& a, const Report& b) {
  const bool other = b.best < a.best || (!(a.best < b.best) && b.individual < a.individual);
  Report best = other ? b : a;
  best.unfinished = a.unfinished + b.unfinished;
  return best;
}

__device__ Report from_lane(const Report& mine, int distance) {
  Report got;
  got.best.hard = __shfl_down_sync(kEveryone, mine.best.hard, distance);
  got.best.soft = __shfl_down_sync(kEveryone, mine.best.soft, distance);
  got.unfinished = __shfl_down_sync(kEveryone, mine.unfinished, distance);
  got.individual = __shfl_down_sync(kEveryone, mine.individual, distance);
  return got;
}

__device__ Report reduced(Report mine) {
  for (int distance = 16; distance; distance /= 2) mine = better(mine, from_lane(mine, distance));
  return mine;
}

}  // namespace

// Blocks (x, y): individuals of run y. bits and costs hold two populations a run, of which the one
// of the present generation is read and the other written.
extern "C" __global__ void __launch_bounds__(kThreads)
    cellular_generation(const Clauses* formula, const Evolution* evolution, const uint64* seeds,
                        const Control* controls, uint64* bits, Cost* costs, Report* reports,
                        unsigned* scratch, int initial) {
  extern __shared__ unsigned shared[];
  const Control control = controls[blockIdx.y];
  if (!initial && control.done) return;
  const Clauses& clauses = *formula;
  const Evolution& rules = *evolution;
  const int population = rules.torus.cells() * rules.torus.islands();
  const int words = (clauses.variables + 63) / 64;
  const uint64 seed = seeds[blockIdx.y];
  const uint64 generation = initial ? 0 : control.generations + 1;

  const Planes planes{kPlanesShared
                          ? shared
                          : scratch + (static_cast<uint64>(blockIdx.y) * gridDim.x + blockIdx.x) *
                                          (2ull * clauses.variables + 1) * kWarps,
                      static_cast<int>(threadIdx.x) / 32, static_cast<int>(threadIdx.x) % 32};
  const unsigned* first = clauses.first;
  const unsigned* others = clauses.others;
  if constexpr (kTableShared) {
    unsigned* table = shared + (2 * clauses.variables + 1) * kWarps;
    const unsigned literals = 2 * clauses.variables;
    const unsigned occurrences = clauses.first[literals];
    const unsigned entries = kThree ? occurrences : clauses.others_from[occurrences];
    for (unsigned i = threadIdx.x; i <= literals; i += kThreads) table[i] = clauses.first[i];
    for (unsigned i = threadIdx.x; i < entries; i += kThreads) {
      table[literals + 1 + i] = clauses.others[i];
    }
    first = table;
    others = table + literals + 1;
  }

  // Lanes beyond the population repeat its last individual, and report nothing.
  const int place = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const bool counts = place < population;
  const int individual = counts ? place : population - 1;
  const uint64 run = static_cast<uint64>(blockIdx.y) * 2;
  const uint64 from = (run + ((generation + 1) & 1)) * population;
  const uint64 to = (run + (generation & 1)) * population;

  const auto spread = [&](int w, uint64 word) {
    __syncwarp();
    const int count = min(64, clauses.variables - 64 * w);
    for (int b = 0; b < count; ++b) {
      const unsigned plane = __ballot_sync(kEveryone, word >> b & 1);
      if (planes.lane < 2) planes[2 * (64 * w + b) + planes.lane] = planes.lane ? ~plane : plane;
    }
  };
  if (initial) {
    auto random = hardscape::maxsat::cellular_stream(seed, individual, 0,
                                                     hardscape::maxsat::Purpose::kInitial);
    for (int w = 0; w < words; ++w) spread(w, random.next());
  } else {
    const bool diffusion = hardscape::maxsat::diffuses(seed, generation, rules.chances);
    const int partner =
        hardscape::maxsat::second_parent(rules.torus, seed, individual, generation, diffusion,
                                         [&](int i) -> const Cost& { return costs[from + i]; });
    const uint64* parent1 = bits + (from + individual) * words;
    const uint64* parent2 = bits + (from + partner) * words;
    hardscape::maxsat::make_child(
        rules.chances, seed, individual, generation, words, [&](int w) { return parent1[w]; },
        [&](int w) { return parent2[w]; }, spread);
  }
  if (planes.lane == 0) planes[2 * clauses.variables] = 0;
  __syncthreads();

  const unsigned changed = initial ? 0 : climb(clauses, planes, first, others, control.passes);
  Cost cost = cost_of(clauses, planes);
  const bool keeps = !initial && !(cost < costs[from + individual]);
  if (keeps) cost = costs[from + individual];
  if (counts) {
    costs[to + individual] = cost;
    for (int w = 0; w < words; ++w) {
      uint64 word = 0;
      if (keeps) {
        word = bits[(from + individual) * words + w];
      } else {
        const int count = min(64, clauses.variables - 64 * w);
        for (int b = 0; b < count; ++b) {
          word |= static_cast<uint64>(planes.holds(2 * (64 * w + b))) << b;
        }
      }
      bits[(to + individual) * words + w] = word;
    }
  }
  const Report warp = reduced({cost, counts && (changed >> planes.lane & 1), individual});
  if (planes.lane == 0) {
    reports[(static_cast<uint64>(blockIdx.y) * gridDim.x + blockIdx.x) * kWarps + planes.warp] =
        warp;
  }
}

namespace {

constexpr unsigned kEven = 0x55555555u;

// Truth of 16 variables and of their negations, side by side; beyond `variables` nothing is true.
__device__ unsigned truth_of(unsigned values, int variables) {
  unsigned x = values & 0xffffu;
  x = (x | x << 8) & 0x00ff00ffu;
  x = (x | x << 4) & 0x0f0f0f0fu;
  x = (x | x << 2) & 0x33333333u;
  x = (x | x << 1) & kEven;
  const unsigned both = x | (~x & kEven) << 1;
  return variables >= 16 ? both : variables <= 0 ? 0 : both & ((1u << 2 * variables) - 1);
}

// The other way: 16 values.
__device__ unsigned values_of(unsigned truth) {
  unsigned x = truth & kEven;
  x = (x | x >> 1) & 0x33333333u;
  x = (x | x >> 2) & 0x0f0f0f0fu;
  x = (x | x >> 4) & 0x00ff00ffu;
  return (x | x >> 8) & 0xffffu;
}

}  // namespace

// Children that are to be walked: a thread each, blocks (x, y) as above. Each child is the source
// of its own walk; runs that are done have none.
extern "C" __global__ void __launch_bounds__(kThreads)
    cellular_children(const Clauses* formula, const Evolution* evolution, const uint64* seeds,
                      const Control* controls, const uint64* bits, const Cost* costs,
                      int truth_words, unsigned* truths, WalkStatus* statuses, int* sources) {
  const Control control = controls[blockIdx.y];
  const Evolution& rules = *evolution;
  const int population = rules.torus.cells() * rules.torus.islands();
  const int individual = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (individual >= population) return;
  const int walk = static_cast<int>(blockIdx.y) * population + individual;
  if (control.done) {
    sources[walk] = -1;
    statuses[walk] = {0, 0, 0, 0};
    return;
  }
  const int words = (formula->variables + 63) / 64;
  const uint64 seed = seeds[blockIdx.y];
  const uint64 generation = control.generations + 1;
  const uint64 from =
      (static_cast<uint64>(blockIdx.y) * 2 + (control.generations & 1)) * population;
  const bool diffusion = hardscape::maxsat::diffuses(seed, generation, rules.chances);
  const int partner =
      hardscape::maxsat::second_parent(rules.torus, seed, individual, generation, diffusion,
                                       [&](int i) -> const Cost& { return costs[from + i]; });
  const uint64* parent1 = bits + (from + individual) * words;
  const uint64* parent2 = bits + (from + partner) * words;
  unsigned* truth = truths + static_cast<uint64>(walk) * truth_words;
  hardscape::maxsat::make_child(
      rules.chances, seed, individual, generation, words, [&](int w) { return parent1[w]; },
      [&](int w) { return parent2[w]; },
      [&](int w, uint64 word) {
        for (int i = 4 * w; i < 4 * w + 4 && i < truth_words; ++i) {
          truth[i] =
              truth_of(static_cast<unsigned>(word >> 16 * (i & 3)), formula->variables - 16 * i);
        }
      });
  const auto random = hardscape::maxsat::cellular_stream(seed, individual, generation,
                                                         hardscape::maxsat::Purpose::kWalk);
  statuses[walk] = {random.state(), 0, 0, 0};
  sources[walk] = walk;
}

// After the walks, whose clauses all weigh the same: children replace the parents that they beat.
extern "C" __global__ void __launch_bounds__(kThreads)
    cellular_replace(const Clauses* formula, const Evolution* evolution, const Control* controls,
                     int truth_words, const unsigned* best_truths, const WalkStatus* statuses,
                     uint64* bits, Cost* costs, Report* reports) {
  const Control control = controls[blockIdx.y];
  if (control.done) return;
  const int population = evolution->torus.cells() * evolution->torus.islands();
  const int words = (formula->variables + 63) / 64;
  const int place = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const bool counts = place < population;
  // Lanes beyond the population repeat its last individual, and change nothing.
  const int individual = counts ? place : population - 1;
  const uint64 walk = static_cast<uint64>(blockIdx.y) * population + individual;
  const uint64 run = static_cast<uint64>(blockIdx.y) * 2;
  const uint64 from = (run + (control.generations & 1)) * population + individual;
  const uint64 to = (run + ((control.generations + 1) & 1)) * population + individual;
  const std::int64_t violated = statuses[walk].best;
  Cost cost = formula->base;
  const Cost weight = formula->clauses ? *formula->weight : Cost{};
  cost += {violated * weight.hard, violated * weight.soft};
  const bool keeps = !(cost < costs[from]);
  if (keeps) cost = costs[from];
  if (counts) {
    costs[to] = cost;
    const unsigned* truth = best_truths + walk * truth_words;
    for (int w = 0; w < words; ++w) {
      uint64 word = 0;
      for (int i = 4 * w; i < 4 * w + 4 && i < truth_words; ++i) {
        word |= static_cast<uint64>(values_of(truth[i])) << 16 * (i & 3);
      }
      bits[to * words + w] = keeps ? bits[from * words + w] : word;
    }
  }
  const Report warp = reduced({cost, 0, individual});
  if (threadIdx.x % 32 == 0) {
    const uint64 row = static_cast<uint64>(blockIdx.y) * gridDim.x + blockIdx.x;
    reports[row * kWarps + threadIdx.x / 32] = warp;
  }
}

// A block of one warp for each run: its control moves on, the best individual is copied out.
extern "C" __global__ void cellular_advance(const Clauses* formula, const Evolution* evolution,
                                            const Report* reports, int warps, const uint64* bits,
                                            Control* controls, uint64* best_bits,
                                            std::int64_t* history, int slots, int initial) {
  const int run = blockIdx.x, lane = threadIdx.x;
  Control control = controls[run];
  if (!initial && control.done) return;
  Report best = reports[static_cast<uint64>(run) * warps];
  best.unfinished = 0;
  for (int i = lane; i < warps; i += 32) {
    best = better(best, reports[static_cast<uint64>(run) * warps + i]);
  }
  best = reduced(best);
  const auto individual =
      static_cast<uint64>(__shfl_sync(kEveryone, static_cast<long long>(best.individual), 0));
  const std::int64_t passes = initial ? 0 : control.passes;
  if (lane == 0) {
    if (initial) {
      hardscape::maxsat::begin_run(control, evolution->rules, best.best);
    } else {
      hardscape::maxsat::end_generation(control, evolution->rules, best.unfinished, best.best);
    }
    controls[run] = control;
    std::int64_t* entry =
        history + (static_cast<uint64>(run) * slots + control.generations % slots) * 3;
    entry[0] = best.best.hard;
    entry[1] = best.best.soft;
    entry[2] = passes;
  }
  const int generations = __shfl_sync(kEveryone, static_cast<int>(control.generations & 1), 0);
  const int words = (formula->variables + 63) / 64;
  const int population = evolution->torus.cells() * evolution->torus.islands();
  const uint64 row = (static_cast<uint64>(run) * 2 + generations) * population + individual;
  for (int w = lane; w < words; w += 32) {
    best_bits[static_cast<uint64>(run) * words + w] = bits[row * words + w];
  }
}
