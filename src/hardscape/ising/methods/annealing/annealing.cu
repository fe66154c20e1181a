// Runs of simulated annealing with joined elites on a GPU: each of them flips the spins that
// annealing.simd.cpp flips.
//
// A warp makes a run. Gains and directions of the spins are in shared memory. Its lanes look at 32
// spins at once, which are kSets of the CPU's vectors: those of a later one are looked at again
// where an earlier one had a flip.
#include "ising/methods/walkers/walker.cuh"

namespace {

template <int bytes>
struct StoredAs {
  using Type = Number;
};
template <>
struct StoredAs<2> {
  using Type = short;
};
// A gain in shared memory: of 16 bits where all of them fit.
using Stored = StoredAs<kBytes>::Type;

constexpr int kSets = 32 / kLanes;
constexpr double kHalfOfLog2 = 0x1.62e42fefa39efp-2;

// Random thresholds T/2 ln(u / (1 - u)) of the spins that a lane looks at: class Thresholds of
// annealing.simd.cpp. Lanes that are kLanes apart draw from one stream in turns.
template <bool real>
struct Logarithm {
  using Real = float;
  using Word = uint32;
  static constexpr double kUnit = 0x1p-23;
  __device__ static int of(uint32 x) { return __float_as_int(__int2float_rn(static_cast<int>(x))); }
  __device__ static uint32 next(uint32 x) {
    x ^= x << 13;
    x ^= x >> 17;
    return x ^ x << 5;
  }
};
template <>
struct Logarithm<true> {
  using Real = double;
  using Word = uint64;
  static constexpr double kUnit = 0x1p-52;
  __device__ static long long of(uint64 x) {
    return __double_as_longlong(__ll2double_rn(static_cast<long long>(x)));
  }
  __device__ static uint64 next(uint64 x) {
    x ^= x << 13;
    x ^= x >> 7;
    return x ^ x << 17;
  }
};
using Log = Logarithm<kReal>;
using Real = Log::Real;
using Word = Log::Word;

// Of a run, in shared memory, one behind the other.
struct Memory {
  Stored* gains;
  uint32* up;
  uint32* other;  // spins in which two states differ
};

__device__ inline Memory memory_of(unsigned char* pool, int team, int spins) {
  const int gains = (spins + 31) / 32 * 32 * static_cast<int>(sizeof(Stored));
  unsigned char* own = pool + team * (gains + 2 * 128 * kWords);
  auto* up = reinterpret_cast<uint32*>(own + gains);
  return {reinterpret_cast<Stored*>(own), up, up + 32 * kWords};
}

// What a run is at between two sweeps.
enum Searching : int { kNothing, kAnnealing, kDescending };

class Run {
 public:
  __device__ Run(const Problem& problem, int run, const Memory& memory, Talk& talk)
      : p_(problem),
        n_(static_cast<int>(problem.spins)),
        run_(run),
        lane_(threadIdx.x % 32),
        near_(static_cast<const int*>(problem.couplings)),
        twice_(problem.twice),
        memory_(memory),
        team_(lane_, talk),
        status_(problem.statuses[run]),
        random_(RandomStream::resume_after(status_.random, 0)),
        lowest_(lowest_of(problem, run, status_, kWords)),
        elites_(elites_of(problem, run, status_, kWords)) {
    for (int i = lane_; i < n_; i += 32) memory_.gains[i] = saved()[i];
    for (int w = 0; w < kWords; ++w) memory_.up[32 * w + lane_] = saved_up()[32 * w + lane_];
    const uint32 low = static_cast<uint32>(saved_words()[lane_]);
    const uint32 high = static_cast<uint32>(saved_words()[32 + lane_]);
    word_ = static_cast<Word>(static_cast<uint64>(high) << 32 | low);
    __syncwarp();
  }

  // Goes on until so many moves are made, or the run is over. What flips spins has one place each:
  // a copy for each purpose would take the compiler long.
  __device__ void go_on(long long moves) {
    while (status_.stage != kDone) {
      if (joins_ > 0) {
        join(joins_ == 2 ? status_.from : status_.to);
        if (--joins_ == 0) joined();
      } else if (status_.searching == kNothing) {
        begin();
      } else if (anneal(moves)) {
        annealed();
      } else {
        break;
      }
    }
    store();
  }

 private:
  __device__ Number* saved() const { return p_.gains + static_cast<uint64>(run_) * p_.places; }
  __device__ int* saved_words() const { return p_.until + static_cast<uint64>(run_) * p_.places; }
  __device__ uint32* saved_up() const {
    return p_.states + static_cast<uint64>(run_) * kWords * 32;
  }

  __device__ void store() {
    for (int i = lane_; i < n_; i += 32) saved()[i] = memory_.gains[i];
    for (int w = 0; w < kWords; ++w) saved_up()[32 * w + lane_] = memory_.up[32 * w + lane_];
    saved_words()[lane_] = static_cast<int>(static_cast<uint32>(word_));
    saved_words()[32 + lane_] = static_cast<int>(static_cast<uint64>(word_) >> 32);
    status_.random = random_.state();
    status_.elites = elites_.count;
    status_.count = lowest_.count;
    status_.offered = lowest_.offered;
    status_.highest = lowest_.highest;
    status_.limit = lowest_.limit;
    if (lane_ == 0) p_.statuses[run_] = status_;
  }

  __device__ bool left() const { return status_.moves < status_.most; }

  // -- what is annealed next --------------------------------------------------------------------

  __device__ void begin() {
    if (status_.stage == kGiven && (run_ != 0 || status_.given >= p_.given_count)) {
      status_.stage = kRandom;
    }
    if (status_.stage == kRandom && elites_.full()) between();
    if (!left()) {
      status_.stage = kDone;
      return;
    }
    if (status_.stage == kBetween) {
      status_.from = below(random_, status_.pair);
      status_.to = (status_.from + 1 + below(random_, status_.pair - 1)) % status_.pair;
    }
    __syncwarp();
    for (int w = 0; w < kWords; ++w) {
      const int word = 32 * w + lane_;
      memory_.other[word] = goal(w) ^ memory_.up[word];
    }
    __syncwarp();
    go();
    if (status_.stage == kGiven) {
      ++status_.given;
      meet();
      status_.searching = kDescending;
    } else if (status_.stage == kRandom) {
      random_ = RandomStream::resume_after(random_.state(), n_);
      start(p_.hot);
    } else {
      joins_ = 1;
    }
  }

  // Of the state from which is annealed.
  __device__ uint32 goal(int w) const {
    const int word = 32 * w + lane_;
    if (status_.stage == kGiven) {
      return p_.given[static_cast<uint64>(status_.given) * kWords * 32 + word];
    }
    if (status_.stage == kBetween) return elites_.word<kWords>(team_, status_.from, w);
    uint32 goal = 0;
#pragma unroll 1
    for (int b = 0; b < 32; ++b) {
      const int i = 32 * word + b;
      if (i < n_) goal |= static_cast<uint32>(random_.at(i) >> 63) << b;
    }
    return goal;
  }

  __device__ void between() {
    status_.stage = kBetween;
    status_.pair = elites_.count;
    status_.fruitless = 0;
  }

  __device__ bool keep() {
    uint32 state[kWords];
    for (int w = 0; w < kWords; ++w) state[w] = memory_.up[32 * w + lane_];
    return elites_.keep(team_, status_.energy, state);
  }

  // What comes after the bottom is reached: a state between two others is joined with both.
  __device__ void annealed() {
    status_.searching = kNothing;
    if (status_.stage == kBetween) {
      joins_ = 2;
      settles_ = true;
      return;
    }
    const bool kept = keep();
    if (status_.stage == kRandom && !kept && elites_.count > 1) between();
  }

  // What comes after two states are joined.
  __device__ void joined() {
    if (!settles_) {
      start(p_.warm * random_.uniform());
      return;
    }
    settles_ = false;
    status_.fruitless = keep() ? 1 : status_.fruitless + 1;
    if (status_.fruitless >= kFruitless || !left()) {
      elites_.count = 1;
      status_.stage = kRandom;
    }
  }

  // -- flips ------------------------------------------------------------------------------------

  __device__ bool up(int i) const { return memory_.up[i >> 5] >> (i & 31) & 1; }

  // Flips a spin whose neighbours are those from `row.x` to before `row.y`.
  __device__ void flip(int i, uint2 row) {
    const Number own = memory_.gains[i];
    const bool here = up(i);
    for (uint32 k = row.x + lane_; k < row.y; k += 32) {
      int j;
      Number twice;
      if constexpr (kPacked) {
        const int both = __ldg(near_ + k);
        j = both & 0xffff;
        twice = both >> 16;
      } else {
        j = __ldg(near_ + k);
        twice = __ldg(twice_ + k);
      }
      memory_.gains[j] = static_cast<Stored>(memory_.gains[j] - (up(j) == here ? twice : -twice));
    }
    __syncwarp();
    if (lane_ == 0) {
      memory_.gains[i] = static_cast<Stored>(-own);
      memory_.up[i >> 5] ^= 1u << (i & 31);
    }
    __syncwarp();
    status_.energy -= 2 * own;
    status_.hash ^= mix64(static_cast<uint64>(i) + 1);
  }

  __device__ uint2 row(int i) const { return __ldg(reinterpret_cast<const uint2*>(p_.starts) + i); }
  __device__ int near(uint32 k) const {
    const int both = __ldg(near_ + k);
    return kPacked ? both & 0xffff : both;
  }

  __device__ void meet() {
    if (!lowest_.wants(status_.energy)) return;
    uint32 state[kWords];
    for (int w = 0; w < kWords; ++w) state[w] = memory_.up[32 * w + lane_];
    lowest_.offer(team_, status_.energy, status_.hash, state);
  }

  // Flips the spins that differ.
  __device__ void go() {
    for (int word = 0; 32 * word < n_; ++word) {
      for (uint32 bits = memory_.other[word]; bits; bits &= bits - 1) {
        const int i = 32 * word + __ffs(bits) - 1;
        flip(i, row(i));
      }
    }
  }

  // Flips each connected component of the spins in which an elite differs if that does not raise
  // the energy.
  __device__ void join(int elite) {
    __syncwarp();  // some may still look at the words of the last one
    uint32 apart = 0;
    for (int w = 0; w < kWords; ++w) {
      const uint32 bits = elites_.word<kWords>(team_, elite, w) ^ memory_.up[32 * w + lane_];
      memory_.other[32 * w + lane_] = bits;
      apart += __popc(bits);
    }
    if (p_.symmetric && 2 * team_.sum(apart) > n_) {
      for (int w = 0; w < kWords; ++w) {
        const int spins = min(max(n_ - 32 * (32 * w + lane_), 0), 32);
        memory_.other[32 * w + lane_] ^= spins == 32 ? ~0u : (1u << spins) - 1;
      }
    }
    __syncwarp();
    for (int word = 0; 32 * word < n_; ++word) {
      while (const uint32 bits = memory_.other[word]) {
        const int size = component(32 * word + __ffs(bits) - 1);
        const Number before = status_.energy;
        for (int turn = 0; turn < 2; ++turn) {
          for (int k = 0; k < size; ++k) flip(part()[k], row(part()[k]));
          status_.moves += size;
          if (turn == 0 && !(status_.energy > before)) {
            meet();
            break;
          }
        }
      }
    }
  }

  __device__ int* part() const { return p_.path + static_cast<uint64>(run_) * n_; }

  // Takes the component of a spin out of those that differ, into `part`; returns its size.
  __device__ int component(int root) {
    int size = 1;
    __syncwarp();
    if (lane_ == 0) {
      part()[0] = root;
      memory_.other[root >> 5] &= ~(1u << (root & 31));
    }
    __syncwarp();
    for (int at = 0; at < size; ++at) {
      const uint2 ends = row(part()[at]);
      for (uint32 base = ends.x; base < ends.y; base += 32) {
        const int j = base + lane_ < ends.y ? near(base + lane_) : -1;
        const bool found = j >= 0 && (memory_.other[j >> 5] >> (j & 31) & 1);
        const uint32 all = __ballot_sync(kEveryone, found);
        if (found) {
          part()[size + __popc(all & ((1u << lane_) - 1))] = j;
          atomicAnd(&memory_.other[j >> 5], ~(1u << (j & 31)));
        }
        size += __popc(all);
        __syncwarp();
      }
    }
    return size;
  }

  // -- sweeps -----------------------------------------------------------------------------------

  __device__ void start(double hot) {
    status_.hot = status_.temperature = hot;
    status_.move = 0;
    status_.searching = kAnnealing;
  }

  // Sweeps from a temperature down, and to the bottom; whether it is reached before so many moves.
  __device__ bool anneal(long long moves) {
    const double span = status_.hot - p_.cold;
    const double step = (span > 0.0 ? span : 0.0) / static_cast<double>(status_.sweeps);
    while (true) {
      if (status_.searching == kAnnealing && (status_.move >= status_.sweeps || !left())) {
        status_.searching = kDescending;
      }
      const bool warm = status_.searching == kAnnealing;
      if (warm && status_.moves >= moves) return false;
      const Number before = status_.energy;
      sweep(static_cast<Real>(kHalfOfLog2 * status_.temperature * Log::kUnit), warm);
      if (warm) {
        status_.temperature -= step;
        ++status_.move;
      } else if (!(status_.energy < before && left())) {
        return true;
      }
    }
  }

  // Looks at every spin once; what lowers the energy is flipped where it is not `warm`.
  __device__ void sweep(Real scale, bool warm) {
    const int count = (n_ + kLanes - 1) / kLanes, set = lane_ / kLanes;
    for (int v = 0; v < count; v += kSets) {
      const int i = v * kLanes + lane_;
      Real limit =
          kReal ? static_cast<Real>(2.2250738585072014e-308) : static_cast<Real>(1.17549435e-38f);
      if (warm) limit = threshold(scale, set, count - v);
      uint32 chosen = choose(i, limit);
      uint2 mine{};
      for (int s = 0; chosen && s < kSets; ++s) {
        uint32 of_set = chosen & ((kLanes == 16 ? 0xffffu : 0xffu) << s * kLanes);
        if (of_set >> lane_ & 1) mine = row(i);
        bool flipped = false;
        for (; of_set; of_set &= of_set - 1) {
          const int lane = __ffs(of_set) - 1, spin = v * kLanes + lane;
          const Real own = __shfl_sync(kEveryone, limit, lane);
          const uint2 ends{__shfl_sync(kEveryone, mine.x, lane),
                           __shfl_sync(kEveryone, mine.y, lane)};
          if (static_cast<Real>(memory_.gains[spin]) >= own) {
            flip(spin, ends);
            ++status_.moves;
            meet();
            flipped = true;
          }
        }
        if (flipped && s + 1 < kSets) chosen = choose(i, limit);
      }
    }
    status_.moves += count;
  }

  __device__ uint32 choose(int i, Real limit) const {
    return __ballot_sync(kEveryone,
                         i < n_ && static_cast<Real>(memory_.gains[min(i, n_ - 1)]) >= limit);
  }

  // Of the set's vector; `left` vectors, this group's first one included, are drawn in this sweep.
  __device__ Real threshold(Real scale, int set, int left) {
    Word mine = word_;
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      if (s < left) word_ = Log::next(word_);
      if (s == set) mine = word_;
    }
    constexpr Word most = static_cast<Word>(~Word{0}) >> 1;
    const Word uniform = mine >> 1;
    return static_cast<Real>(Log::of(uniform | 1) - Log::of((uniform ^ most) | 1)) * scale;
  }

  const Problem& p_;
  int n_, run_, lane_;
  const int* near_;
  const Number* twice_;
  Memory memory_;
  Team team_;
  Status status_;
  RandomStream random_;
  Lowest lowest_;
  Elites elites_;
  Word word_;
  int joins_ = 0;         // that are to be made
  bool settles_ = false;  // whether a state is done with after them
};

}  // namespace

// Puts all spins up.
extern "C" __global__ void annealing_start(const Problem* problem, unsigned long long seed,
                                           unsigned long long first, const long long* most,
                                           const long long* sweeps) {
  __shared__ Talk talks[kTogether];
  const Problem& p = *problem;
  const int team = threadIdx.x / 32, run = blockIdx.x * kTogether + team, lane = threadIdx.x % 32;
  if (run >= p.runs) return;
  uint32 state[kWords];
  for (int w = 0; w < kWords; ++w) {
    const long long spins = p.spins - 32ll * (32 * w + lane);
    state[w] = spins >= 32 ? ~0u : spins > 0 ? (1u << spins) - 1 : 0;
    p.states[(static_cast<uint64>(run) * kWords + w) * 32 + lane] = state[w];
  }
  const uint64 at = static_cast<uint64>(run) * p.places;
  for (int i = lane; i < p.spins; i += 32) p.gains[at + i] = p.gains_up[i];
  Status status{};
  RandomStream random(seed, first + run, kPurpose);
  const Word word = static_cast<Word>(random.at(lane % kLanes)) | 1;
  p.until[at + lane] = static_cast<int>(static_cast<uint32>(word));
  p.until[at + 32 + lane] = static_cast<int>(static_cast<uint64>(word) >> 32);
  if (lane < kElites) p.elite_places[static_cast<uint64>(run) * kElites + lane] = lane;
  status.most = most[run];
  status.sweeps = sweeps[run];
  status.random = RandomStream::resume_after(random.state(), kLanes).state();
  status.hash = 2;
  status.energy = static_cast<Number>(p.energy_up);
  status.limit = kHighest;
  Team own(lane, talks[team]);
  Lowest lowest = lowest_of(p, run, status, kWords);
  lowest.offer(own, status.energy, status.hash, state);
  status.count = lowest.count;
  status.offered = lowest.offered;
  status.highest = lowest.highest;
  status.limit = lowest.limit;
  if (lane == 0) p.statuses[run] = status;
}

extern __shared__ unsigned char pool[];

extern "C" __global__ void __launch_bounds__(32 * kTogether)
    annealing_run(const Problem* problem, long long moves) {
  __shared__ Talk talks[kTogether];
  const int team = threadIdx.x / 32, run = blockIdx.x * kTogether + team;
  if (run >= problem->runs) return;
  const Memory memory = memory_of(pool, team, static_cast<int>(problem->spins));
  Run(*problem, run, memory, talks[team]).go_on(moves);
}
