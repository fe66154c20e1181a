// Runs of tabu search with path relinking on a GPU: each of them makes the moves of tabu.simd.cpp.
//
// A thread holds kSlots spins: of each its gain, the move until which it is tabu, and a bit that is
// 1 where it is up. Spin i is slot 4 (i / 4 / kThreads) + i % 4 of thread i / 4 % kThreads, so that
// a team reads a row of couplings four at a time, one beside the other.
#include "ising/methods/walkers/walker.cuh"

namespace {

constexpr int kSlots = 4 * kQuads;
// Blocks at once on a multiprocessor: most of what a run knows is seldom looked at, and need not be
// in registers.
constexpr int kBlocks = kReal || kWarps > 1 ? 1 : kQuads > 4 ? 3 : 7 - kQuads;
static_assert(kSlots <= 32, "the bits of a thread's spins are one word");
// Slots that are looked through together for the best.
constexpr int kGroup = kSlots % 8 == 0 ? 8 : 4, kGroups = kSlots / kGroup;

// Reads and writes an array in registers at an index that is not constant, in few branches.
template <int kFirst = 0, int kCount = kSlots, class T>
__device__ void put(T (&array)[kSlots], int slot, T value) {
  if constexpr (kCount == 1) {
    array[kFirst] = value;
  } else if (slot < kFirst + kCount / 2) {
    put<kFirst, kCount / 2>(array, slot, value);
  } else {
    put<kFirst + kCount / 2, kCount - kCount / 2>(array, slot, value);
  }
}
template <int kFirst = 0, int kCount = kSlots, class T>
__device__ T take(const T (&array)[kSlots], int slot) {
  if constexpr (kCount == 1) {
    return array[kFirst];
  } else if (slot < kFirst + kCount / 2) {
    return take<kFirst, kCount / 2>(array, slot);
  } else {
    return take<kFirst + kCount / 2, kCount - kCount / 2>(array, slot);
  }
}

// Four couplings as numbers.
__device__ inline void read(const void* couplings, uint64 quad, Number (&four)[4]) {
  if constexpr (kBytes == 8) {
    const double2* at = static_cast<const double2*>(couplings) + 2 * quad;
    const double2 a = __ldg(at), b = __ldg(at + 1);
    four[0] = a.x, four[1] = a.y, four[2] = b.x, four[3] = b.y;
  } else if constexpr (kBytes == 4) {
    const int4 a = __ldg(static_cast<const int4*>(couplings) + quad);
    four[0] = a.x, four[1] = a.y, four[2] = a.z, four[3] = a.w;
  } else if constexpr (kBytes == 2) {
    const short4 a = __ldg(static_cast<const short4*>(couplings) + quad);
    four[0] = a.x, four[1] = a.y, four[2] = a.z, four[3] = a.w;
  } else {
    const char4 a = __ldg(static_cast<const char4*>(couplings) + quad);
    four[0] = a.x, four[1] = a.y, four[2] = a.z, four[3] = a.w;
  }
}

// Numbers of a stream, of which the lanes of a warp draw 32 at once.
class Draws {
 public:
  __device__ explicit Draws(std::uint64_t state)
      : stream_(RandomStream::resume_after(state, 0)), lane_(threadIdx.x % 32) {
    skip(0);
  }

  // As below() of walker.cuh.
  __device__ int below(int n) {
    if (taken_ == 32) skip(0);
    return static_cast<int>(__umulhi(__shfl_sync(kEveryone, high_, taken_++), n));
  }

  // The stream from here on, and so many numbers later.
  __device__ RandomStream here() const {
    return RandomStream::resume_after(stream_.state(), taken_);
  }
  __device__ void skip(int numbers) {
    stream_ = RandomStream::resume_after(stream_.state(), taken_ + numbers);
    high_ = static_cast<uint32>(stream_.at(lane_) >> 32);
    taken_ = 0;
  }

 private:
  RandomStream stream_;
  uint32 lane_, high_ = 0;
  int taken_ = 0;
};

struct Board {
  Talk talk;
  uint32 differing[kThreads];
  Number own;
  uint32 up;
};

class Run {
 public:
  __device__ Run(const Problem& problem, int run, int thread, Board& board)
      : p_(problem),
        n_(static_cast<int>(problem.spins)),
        run_(run),
        at_(static_cast<uint64>(run) * kThreads + thread),
        board_(board),
        team_(thread, board.talk),
        status_(problem.statuses[run]),
        random_(status_.random),
        lowest_(lowest_of(problem, run, status_, 1)),
        elites_(elites_of(problem, run, status_, 1)) {
    up_ = p_.states[at_];
    best_ = p_.bests[at_];
    for (int k = 0; k < kSlots; ++k) gain_[k] = p_.gains[at_ * kSlots + k];
    for (int k = 0; k < kSlots; ++k) until_[k] = p_.until[at_ * kSlots + k];
  }

  // Goes on until so many moves are made, or the run is over. All flips are made in one place: a
  // copy of it for each purpose would take the compiler long.
  __device__ void go_on(long long moves) {
    if (status_.stage != kDone && !status_.searching) begin();
    while (status_.stage != kDone) {
      if (purpose_ == kSearching) {
        meet();
        if (status_.move + 1 - status_.last > p_.patience || status_.moves >= status_.most) {
          settle();
          begin();
          continue;
        }
        if (status_.moves >= moves) break;
      }
      const Choice choice = purpose_ == kSearching ? best_move()
                            : purpose_ == kWalking ? step_towards()
                                                   : given_step();
      if (choice.spin < 0) {
        arrive();
        continue;
      }
      flip(choice);
      if (purpose_ == kSearching) moved(choice.spin);
      if (purpose_ == kWalking) walked(choice.spin);
    }
    store();
  }

 private:
  __device__ int index(int slot) const {
    return 4 * (slot / 4 * kThreads + team_.thread) + slot % 4;
  }
  __device__ static int owner(int i) { return i / 4 % kThreads; }
  __device__ static int slot(int i) { return i / 4 / kThreads * 4 + i % 4; }

  __device__ void store() {
    p_.states[at_] = up_;
    p_.bests[at_] = best_;
    for (int k = 0; k < kSlots; ++k) p_.gains[at_ * kSlots + k] = gain_[k];
    for (int k = 0; k < kSlots; ++k) p_.until[at_ * kSlots + k] = until_[k];
    status_.random = random_.here().state();
    status_.elites = elites_.count;
    status_.count = lowest_.count;
    status_.offered = lowest_.offered;
    status_.highest = lowest_.highest;
    status_.limit = lowest_.limit;
    if (team_.thread == 0) p_.statuses[run_] = status_;
  }

  // -- what is searched around ----------------------------------------------------------------

  // Sets out for what is searched around next.
  __device__ void begin() {
    status_.searching = 0;
    if (status_.moves >= status_.most) {
      status_.stage = kDone;
      return;
    }
    if (status_.stage == kGiven && (run_ != 0 || status_.given >= p_.given_count)) {
      status_.stage = kRandom;
    }
    if (status_.stage == kRandom && elites_.full()) between();
    if (status_.stage == kGiven) {
      go_to(p_.given[static_cast<uint64>(status_.given++) * kThreads + team_.thread]);
    } else if (status_.stage == kRandom) {
      uint32 goal = 0;
      const RandomStream here = random_.here();
#pragma unroll 1
      for (int k = 0; k < kSlots; ++k) {
        const int i = index(k);
        if (i < n_) goal |= static_cast<uint32>(here.at(i) >> 63) << k;
      }
      random_.skip(n_);
      go_to(goal);
    } else {
      const int a = random_.below(status_.pair);
      const int b = (a + 1 + random_.below(status_.pair - 1)) % status_.pair;
      towards_ = elites_.word<1>(team_, b, 0);
      go_to(elites_.word<1>(team_, a, 0));
    }
  }

  __device__ void between() {
    status_.stage = kBetween;
    status_.pair = elites_.count;
    status_.fruitless = 0;
  }

  // Takes the best state of a search into the elite.
  __device__ void settle() {
    const uint32 best[1] = {best_};
    const bool kept = elites_.keep(team_, status_.best, best);
    if (status_.stage == kRandom && !kept && elites_.count > 1) {
      between();
    } else if (status_.stage == kBetween) {
      status_.fruitless = kept ? 1 : status_.fruitless + 1;
      if (status_.fruitless >= kFruitless) {
        elites_.count = 1;
        status_.stage = kRandom;
      }
    }
  }

  // What comes after the last flip of a purpose.
  __device__ void arrive() {
    if (purpose_ == kGoing && status_.stage == kBetween) {
      other_ = up_ ^ towards_;
      distance_ = static_cast<int>(team_.sum(__popc(other_)));
      steps_ = best_at_ = 0;
      purpose_ = kWalking;
    } else if (purpose_ == kWalking) {
      team_.sync();
      purpose_ = kReturning;
    } else {
      best_ = up_;
      status_.best = status_.energy;
      for (int k = 0; k < kSlots; ++k) until_[k] = 0;
      status_.move = status_.last = 0;
      status_.searching = 1;
      purpose_ = kSearching;
    }
  }

  // -- flips ----------------------------------------------------------------------------------

  // A spin, its gain and its direction, which all threads know; no spin where nothing is left to
  // do.
  struct Choice {
    int spin;
    Number own;
    bool up;
  };

  __device__ void flip(const Choice& choice) {
    const int i = choice.spin;
    const uint64 row = static_cast<uint64>(i) * (kQuads * kThreads) + team_.thread;
    const uint32 alike = choice.up ? up_ : ~up_;
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      Number four[4];
      read(p_.couplings, row + q * kThreads, four);
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const Number twice = 2 * four[c];
        gain_[4 * q + c] += alike >> (4 * q + c) & 1 ? -twice : twice;
      }
    }
    if (owner(i) == team_.thread) {
      put(gain_, slot(i), -choice.own);
      up_ ^= 1u << slot(i);
    }
    status_.energy -= 2 * choice.own;
    status_.hash ^= __ldg(p_.starts + i);
  }

  // Sets out for another state, spin by spin.
  __device__ void go_to(uint32 goal) {
    team_.sync();
    board_.differing[team_.thread] = goal ^ up_;
    team_.sync();
    quad_ = 0;
    four_ = 0;
    purpose_ = kGoing;
  }

  // The next flip on the way to another state, or back from the end of a walk.
  __device__ Choice given_step() {
    int i = -1;
    if (purpose_ == kReturning) {
      if (steps_ > best_at_) i = p_.path[static_cast<uint64>(run_) * n_ + --steps_];
    } else {
      while (four_ == 0 && 4 * quad_ < n_) {
        four_ = board_.differing[quad_ % kThreads] >> 4 * (quad_ / kThreads) & 15;
        ++quad_;
      }
      if (four_) i = 4 * quad_ - 5 + __ffs(four_);
      four_ &= four_ - 1;
    }
    if (i < 0) return {i, Number{}, false};
    team_.sync();
    if (owner(i) == team_.thread) {
      board_.own = take(gain_, slot(i));
      board_.up = up_ >> slot(i) & 1;
    }
    team_.sync();
    return {i, board_.own, board_.up != 0};
  }

  // The best flip towards another state; the walk stops at the best of the middle.
  __device__ Choice step_towards() {
    if (steps_ >= 2 * distance_ / 3) return {-1, Number{}, false};
    const int first = random_.below(n_);
    Number most = kNever;
#pragma unroll
    for (int k = 0; k < kSlots; ++k) {
      if (other_ >> k & 1) most = greater(most, gain_[k]);
    }
    most = team_.greatest(most);
    uint32 key = ~0u;
#pragma unroll
    for (int k = 0; k < kSlots; ++k) {
      if ((other_ >> k & 1) && gain_[k] == most) {
        const int i = index(k);
        key = min(key, 2u * (i < first ? i + n_ : i) + (up_ >> k & 1));
      }
    }
    key = team_.least(key);
    return {static_cast<int>(key >> 1) % n_, most, (key & 1) != 0};
  }

  __device__ void walked(int i) {
    if (owner(i) == team_.thread) other_ &= ~(1u << slot(i));
    if (team_.thread == 0) p_.path[static_cast<uint64>(run_) * n_ + steps_] = i;
    ++steps_;
    if (steps_ >= distance_ / 3 && (best_at_ == 0 || status_.energy < middle_)) {
      middle_ = status_.energy;
      best_at_ = steps_;
    }
  }

  // -- tabu search ----------------------------------------------------------------------------

  __device__ void meet() {
    if (!lowest_.wants(status_.energy)) return;
    const uint32 state[1] = {up_};
    lowest_.offer(team_, status_.energy, status_.hash, state);
  }

  __device__ void moved(int i) {
    const int until =
        static_cast<int>(status_.move + p_.tenure) + random_.below(static_cast<int>(p_.spread)) + 1;
    if (owner(i) == team_.thread) put(until_, slot(i), until);
    ++status_.moves;
    if (status_.energy < status_.best) {
      status_.best = status_.energy;
      best_ = up_;
      status_.last = status_.move;
    }
  }

  // The flip that lowers the energy most of those allowed, as best_move of tabu.simd.cpp says.
  __device__ Choice best_move() {
    const int move = static_cast<int>(++status_.move);
    const int count = (n_ + kLanes - 1) / kLanes, first = random_.below(count);
    Number of_group[kGroups], best = kNever, every = kNever;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      of_group[g] = kNever;
#pragma unroll
      for (int k = kGroup * g; k < kGroup * (g + 1); ++k) {
        of_group[g] = greater(of_group[g], until_[k] <= move ? gain_[k] : kNever);
        every = greater(every, gain_[k]);
      }
      best = greater(best, of_group[g]);
    }
    team_.greatest(best, every);
    uint32 key = ~0u;
    if (best == kNever || (every > best && status_.energy - 2 * every < status_.best)) {
#pragma unroll
      for (int k = 0; k < kSlots; ++k) {
        if (gain_[k] == every) key = min(key, 2u * index(k) + (up_ >> k & 1));
      }
      key = team_.least(key);
      return {static_cast<int>(key >> 1), every, (key & 1) != 0};
    }
    const int lane = random_.below(kLanes);
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      if (of_group[g] != best) continue;
#pragma unroll
      for (int k = kGroup * g; k < kGroup * (g + 1); ++k) {
        if (gain_[k] != best || until_[k] > move) continue;
        const int i = index(k), v = i / kLanes;
        const uint32 lanes = (i - lane) & (kLanes - 1),
                     vectors = v < first ? v + count - first : v - first;
        key = min(key, (lanes << 26 | vectors) << 1 | (up_ >> k & 1));
      }
    }
    key = team_.least(key);
    const int v = static_cast<int>(key >> 1 & ((1u << 26) - 1)) + first;
    const int i = (v < count ? v : v - count) * kLanes + (((key >> 27) + lane) & (kLanes - 1));
    return {i, best, (key & 1) != 0};
  }

  enum Purpose : int { kSearching, kGoing, kWalking, kReturning };

  const Problem& p_;
  int n_, run_;
  uint64 at_;  // of this thread among those of all runs
  Board& board_;
  Team team_;
  Status status_;
  Draws random_;
  Lowest lowest_;
  Elites elites_;
  Number gain_[kSlots];
  int until_[kSlots];
  uint32 up_, best_;
  // What the flips are for, and how far they are: quads of spins that were looked at, and what is
  // left of the last; where a walk leads, spins that still differ, steps made and those to its best
  // state.
  Purpose purpose_ = kSearching;
  int quad_ = 0;
  uint32 four_ = 0, towards_ = 0, other_ = 0;
  int distance_ = 0, steps_ = 0, best_at_ = 0;
  Number middle_{};
};

}  // namespace

// Puts all spins up.
extern "C" __global__ void tabu_start(const Problem* problem, unsigned long long seed,
                                      unsigned long long first, const long long* most,
                                      const long long*) {
  __shared__ Board boards[kTogether];
  const Problem& p = *problem;
  const int team = threadIdx.x / kThreads, run = blockIdx.x * kTogether + team;
  const int thread = threadIdx.x % kThreads;
  if (run >= p.runs) return;
  const uint64 at = static_cast<uint64>(run) * kThreads + thread;
  uint32 up = 0;
  for (int k = 0; k < kSlots; ++k) {
    const int i = 4 * (k / 4 * kThreads + thread) + k % 4;
    if (i < p.spins) up |= 1u << k;
    p.gains[at * kSlots + k] = i < p.spins ? p.gains_up[i] : kNever;
    p.until[at * kSlots + k] = 0;
  }
  p.states[at] = p.bests[at] = up;
  if (thread < kElites) p.elite_places[static_cast<uint64>(run) * kElites + thread] = thread;
  Status status{};
  status.most = most[run];
  status.random = RandomStream(seed, first + run, kPurpose).state();
  status.hash = 2;
  status.energy = static_cast<Number>(p.energy_up);
  status.limit = kHighest;
  Team own(thread, boards[team].talk);
  Lowest lowest = lowest_of(p, run, status, 1);
  const uint32 state[1] = {up};
  lowest.offer(own, status.energy, status.hash, state);
  status.count = lowest.count;
  status.offered = lowest.offered;
  status.highest = lowest.highest;
  status.limit = lowest.limit;
  if (thread == 0) p.statuses[run] = status;
}

extern "C" __global__ void __launch_bounds__(kThreads* kTogether, kBlocks)
    tabu_run(const Problem* problem, long long moves) {
  __shared__ Board boards[kTogether];
  const int team = threadIdx.x / kThreads, run = blockIdx.x * kTogether + team;
  if (run >= problem->runs) return;
  Run(*problem, run, threadIdx.x % kThreads, boards[team]).go_on(moves);
}
