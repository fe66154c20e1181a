// Clause-weighting local search for weighted partial formulas, after SATLike (Lei and Cai, IJCAI
// 2018) and NuWLS (Chu, Cai, Luo, AAAI 2023): clauses have search weights apart from their costs,
// and a variable's score is the search weight that its flip would satisfy less that it would
// violate. The best of a few variables of positive score is flipped; where there is none, violated
// clauses gain weight, the hard ones first, the soft ones in proportion to their cost and up to a
// limit. Weights grow in small steps and restarts come early: on covering problems that decides
// whether the optimum is met.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/methods/given.hpp"
#include "maxsat/methods/weighting/best.hpp"
#include "maxsat/methods/weighting/decimation.hpp"
#include "maxsat/methods/weighting/pool.hpp"
#include "maxsat/methods/weighting/tempers.hpp"
#include "maxsat/methods/weighting/weighed.hpp"
#include "maxsat/walker.hpp"

namespace hardscape::maxsat {

constexpr std::uint64_t kWeightingPurpose = 0x6d787775;

struct WeightingOptions {
  std::uint32_t samples = 50;   // variables of positive score of which the best is flipped
  std::uint32_t clauses = 5;    // violated soft clauses of which the best flip is taken
  double hard_start = 0.3;      // a hard clause's first search weight, in mean soft weights
  double hard_increase = 0.1;   // of a violated hard clause, in mean soft weights
  double soft_increase = 0.03;  // of a violated soft clause, in its first search weight
  std::int64_t soft_limit = 5;  // of a soft clause's search weight, in its first one
  std::uint64_t patience = 1;   // flips without improvement before a restart, in variables
};

// The mean soft clause's first search weight.
constexpr std::int64_t kUnit = 1 << 16;
// The most pressure.
constexpr double kMostPressure = 1e6;

// The i-th term, from 1, of 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ... (Luby, Sinclair, Zuckerman 1993).
inline std::uint64_t luby(std::uint64_t i) {
  for (;;) {
    const int bits = 64 - __builtin_clzll(i);
    if (i == (std::uint64_t{1} << bits) - 1) return std::uint64_t{1} << (bits - 1);
    i -= (std::uint64_t{1} << (bits - 1)) - 1;
  }
}

// The search, whatever it keeps of each clause.
class AnyWeighting {
 public:
  virtual ~AnyWeighting() = default;
  virtual bool complete() const = 0;
  virtual void adopt(const std::uint8_t* value, const volatile std::uint8_t* stop) = 0;
  virtual std::uint64_t run(std::uint64_t flips, unsigned __int128 target,
                            const volatile std::uint8_t* stop) = 0;
  virtual const WideCost& best_cost() const = 0;
  virtual const std::vector<std::uint8_t>& best() const = 0;
  virtual std::uint64_t restarts() const = 0;
  // Has other tempers from the next restart on, which comes at once where it presses.
  virtual void temper(Tempers tempers) = 0;
};

template <class States, class Score>
class WeightingOf final : public AnyWeighting {
 public:
  WeightingOf(const Given& given, const WeightingOptions& options, Tempers tempers = kTempers,
              std::uint64_t purpose = kWeightingPurpose)
      : instance_(given.instance),
        weight_(given.weight),
        hard_(given.hard),
        options_(options),
        tempers_(tempers),
        random_(given.seed, given.stream, purpose),
        decimation_(instance_, weight_, hard_),
        clauses_(instance_, weight_, hard_),
        best_(instance_.num_variables) {
    complete_ = instance_.complete && prepare(given.stopped);
    if (complete_ && given.initial)
      clauses_.value.assign(given.initial, given.initial + instance_.num_variables);
  }

  // False where the constructor was stopped: not to be used.
  bool complete() const override { return complete_; }

  // Starts over from an assignment, by other random numbers; from then on it never restarts.
  void begin_from(const std::vector<std::uint8_t>& value, const RandomStream& random,
                  const volatile std::uint8_t* stop) {
    random_ = random;
    clauses_.value = value;
    restarts_ = 0;
    set_temper();
    begun_ = begin(stop);
    best_.set(clauses_.value);
    best_cost_ = clauses_.cost;
    now_ = improved_at_ = best_at_ = 0;
    patience_ = UINT64_MAX;
  }

  // Goes on from an assignment that is better than the best one, with first search weights.
  void adopt(const std::uint8_t* value, const volatile std::uint8_t* stop) override {
    clauses_.value.assign(value, value + instance_.num_variables);
    if (!begun_) return start(stop);
    begun_ = begin(stop);
    if (!begun_) return;
    best_.set(clauses_.value);
    best_cost_ = clauses_.cost;
    improved_at_ = now_;
  }

  // Until the cost is at most `target` with all hard clauses satisfied, `flips` are done, or
  // `stop`.
  std::uint64_t run(std::uint64_t flips, unsigned __int128 target,
                    const volatile std::uint8_t* stop) override {
    std::uint64_t done = 0;
    if (!begun_) start(stop);
    while (begun_ && done < flips && !*stop) {
      const std::uint64_t until = flips - done < kPoll ? flips : done + kPoll;
      for (; done < until; ++done) {
        if (best_cost_.hard == 0 && best_cost_.soft <= target) return done;
        const bool over = temper_.from_nothing && pressure_ >= kMostPressure;
        if ((now_ - improved_at_ > patience_ || over) && !restart(stop)) return done;
        if (now_ - best_at_ > back_) go_back();
        // By a restart, too.
        if (clauses_.violated_hard.size() + clauses_.violated_soft.size() == 0) return done;
        if (static_cast<std::uint32_t>(++now_) == 0)
          std::fill(flipped_at_.begin(), flipped_at_.end(), 0);
        std::uint32_t x = best_good();
        if (x == kNone) x = escape();
        flipped_at_[x] = static_cast<std::uint32_t>(now_);
        last_ = x;
        clauses_.flip(x);
        best_.flipped(x);
        if (clauses_.cost < best_cost_) {
          best_cost_ = clauses_.cost;
          best_.improved(clauses_.value);
          improved_at_ = best_at_ = now_;
        }
      }
    }
    return done;
  }

  const WideCost& best_cost() const override { return best_cost_; }
  const std::vector<std::uint8_t>& best() const override { return best_.value(); }
  std::uint64_t restarts() const override { return restarts_; }
  void temper(Tempers tempers) override {
    tempers_ = tempers;
    if (temper_.press > 0) patience_ = 0;
  }

 private:
  static constexpr std::uint64_t kPoll = 512;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Makes room, and sets what does not depend on the assignment; false if stopped.
  bool prepare(const Poll& stopped) {
    return clauses_.prepare(stopped) && extend(flipped_at_, instance_.num_variables, stopped) &&
           set_units(stopped);
  }

  // First search weights are proportional to the costs, and their mean is kUnit.
  bool set_units(const Poll& stopped) {
    double total = 0, soft = 0;
    for (std::size_t c = 0; c < instance_.num_clauses; ++c)
      if (!hard_[c]) total += static_cast<double>(weight_[c]), ++soft;
    hard_unit_ = at_least_one(options_.hard_start * kUnit);
    soft_unit_ = soft > 0 ? soft / total * kUnit : 0;
    if (soft == static_cast<double>(instance_.num_clauses)) return true;
    soft_.reserve(static_cast<std::size_t>(soft));
    for (std::uint32_t c = 0; c < instance_.num_clauses; ++c) {
      if (stopped(c)) return false;
      if (!hard_[c]) soft_.push_back(c);
    }
    return true;
  }

  // How the search weights grow until the next restart, and when that comes.
  void set_temper() {
    temper_ = tempers_[restarts_ % tempers_.size()];
    soft_increase_ = options_.soft_increase * temper_.increase;
    hard_increase_ = at_least_one(options_.hard_increase * temper_.hard * kUnit);
    const double most = std::round(static_cast<double>(options_.soft_limit) * temper_.limit);
    soft_limit_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(most));
    patience_ = temper_.patience == kForever ? kForever
                                             : luby(restarts_ + 1) * options_.patience *
                                                   temper_.patience * instance_.num_variables;
    back_ = temper_.back == 0 ? kForever : temper_.back * instance_.num_variables;
  }

  // In the first run and not before, because on large formulas it takes long enough to be stopped.
  void start(const volatile std::uint8_t* stop) {
    if (clauses_.value.empty()) {
      decimate(stop);
      if (*stop) return clauses_.value.clear();
      if (tempers_[0].alike) make_alike(Poll(stop));
    }
    set_temper();
    begun_ = begin(stop);
    if (begun_ && clauses_.cost < best_cost_) {
      best_.set(clauses_.value);
      best_cost_ = clauses_.cost;
    }
  }

  void decimate(const volatile std::uint8_t* stop) {
    decimation_.run(clauses_.value, clauses_.state.table, clauses_.state.scratch(), clauses_.place,
                    random_, stop);
  }

  // All variables become false, or true, where no clause is hard and that costs less.
  void make_alike(const Poll& stopped) {
    double given = 0, alike[2] = {0, 0};
    for (std::uint32_t c = 0; c < instance_.num_clauses; ++c) {
      if (stopped(c)) return;
      bool holds = false, some[2] = {false, false};
      for (const std::int32_t x : instance_.literals(c)) {
        some[x > 0] = true;
        holds |= clauses_.value[Clauses::variable(x)] == (x > 0);
      }
      const auto weight = static_cast<double>(weight_[c]);
      given += holds ? 0 : weight;
      for (const int b : {0, 1}) alike[b] += some[b] ? 0 : weight;
    }
    const int better = alike[1] < alike[0];
    if (alike[better] < given) std::fill(clauses_.value.begin(), clauses_.value.end(), better);
  }

  // From the assignment, with first search weights; false if stopped.
  bool begin(const volatile std::uint8_t* stop) {
    pressure_ = temper_.from_nothing ? 0 : 1;
    last_ = kNone;
    best_at_ = now_;
    heavy_.clear();
    for (const std::uint32_t c : growing_) listed_[c] = false;
    growing_.clear();
    clauses_.notes = temper_.press == 0;
    listed_.resize(clauses_.notes ? instance_.num_clauses : 0);
    std::fill(flipped_at_.begin(), flipped_at_.end(), 0);
    return clauses_.begin([&](std::uint32_t c) { return hard_[c] ? hard_unit_ : pressed(c); },
                          Poll(stop));
  }

  // Goes on from the best assignment, with the weights that it has: where it has been in vain for
  // long, what has been learnt on the way leads elsewhere from there.
  void go_back() {
    for (std::uint32_t v = 0; v < instance_.num_variables; ++v)
      if (clauses_.value[v] != best_.value()[v]) clauses_.flip(v);
    best_.returned();
    best_at_ = now_;
  }

  // Fresh weights; every other time the best assignment, else one by decimation. False if stopped:
  // the next run begins where this one would have.
  bool restart(const volatile std::uint8_t* stop) {
    if (++restarts_ & 1)
      decimate(stop);
    else
      clauses_.value = best_.value();
    set_temper();
    begun_ = begin(stop);
    improved_at_ = now_;
    best_.wander();
    if (!begun_) return false;
    if (clauses_.cost < best_cost_) {
      best_cost_ = clauses_.cost;
      best_.improved(clauses_.value);
    }
    return true;
  }

  bool better(std::uint32_t v, std::uint32_t than) const {
    return clauses_.score(v) != clauses_.score(than) ? clauses_.score(v) > clauses_.score(than)
                                                     : flipped_at_[v] < flipped_at_[than];
  }

  // Best from multiple selections (Cai, IJCAI 2015) of the variables of positive score, but for the
  // one flipped last: what an escape has just given up would come back at once.
  std::uint32_t best_good() {
    std::uint32_t found = kNone;
    const auto look = [&](std::uint32_t v) {
      if ((v != last_ || temper_.returns) && (found == kNone || better(v, found))) found = v;
    };
    if (temper_.good > 0 && clauses_.good.size() != 0 && chance(temper_.good))
      return clauses_.good[pick(random_.next() >> 32, clauses_.good.size())];
    if (clauses_.good.size() <= options_.samples) {
      for (std::uint32_t v : clauses_.good) look(v);
    } else {
      for (std::uint32_t i = 0; i < options_.samples; ++i)
        look(clauses_.good[pick(random_.next() >> 32, clauses_.good.size())]);
    }
    return found;
  }

  // No flip gains weight: violated clauses become heavier, and one of them is satisfied. Soft
  // clauses wait for the hard ones, unless what they cost is already too much (SPB-MaxSAT treats
  // "better than the best" as one more constraint); those that grow from nothing always wait.
  std::uint32_t escape() {
    const bool hard = clauses_.violated_hard.size() != 0;
    const bool dear = best_cost_.hard == 0 && !(clauses_.cost.soft < best_cost_.soft);
    for (std::uint32_t c : clauses_.violated_hard)
      clauses_.change_weight(c, clauses_.weight_of(c) + hard_increase_);
    list_violated();
    if (temper_.press > 0) {
      if (temper_.from_nothing ? !hard : dear) press();
    } else if (!hard || dear) {
      grow_violated();
    }
    if (temper_.smooth > 0 && chance(temper_.smooth)) smooth();
    const Pool<States::kWords>& list = hard ? clauses_.violated_hard : clauses_.violated_soft;
    if (temper_.escape > 0 && chance(temper_.escape)) {
      const std::uint32_t c = list[pick(random_.next() >> 32, list.size())];
      const std::span<const std::int32_t> literals = instance_.literals(c);
      return Clauses::variable(literals[pick(random_.next() >> 32, instance_.length(c))]);
    }
    std::uint32_t found = kNone;
    const bool one = hard || temper_.smooth > 0 || temper_.returns;
    for (std::uint32_t t = 0; t < (one ? 1 : options_.clauses); ++t) {
      const std::uint32_t c = list[pick(random_.next() >> 32, list.size())];
      for (const std::int32_t x : instance_.literals(c)) {
        const std::uint32_t v = Clauses::variable(x);
        if (found == kNone || better(v, found)) found = v;
      }
    }
    return found;
  }

  // All soft clauses become heavier alike; where none is hard, that changes nothing.
  void press() {
    const double pressure = pressure_;
    pressure_ = std::min(kMostPressure, temper_.press * (pressure_ + 1));
    if (pressure == pressure_) return;
    for (const std::uint32_t c : soft_) clauses_.change_weight(c, pressed(c));
  }

  // Soft clauses that have been violated are listed, each once.
  void list_violated() {
    for (const std::uint32_t c : clauses_.fresh) {
      if (listed_[c]) continue;
      listed_[c] = true;
      growing_.push_back(c);
    }
    clauses_.fresh.clear();
  }

  // Violated soft clauses, each by itself, up to its limit. Most are there soon, and are not looked
  // at again until they are violated anew.
  void grow_violated() {
    std::erase_if(growing_, [&](std::uint32_t c) {
      const bool grows = clauses_.state.trues(c) == 0 && clauses_.weight_of(c) < limit(c);
      if (grows)
        grow(c);
      else
        listed_[c] = false;
      return !grows;
    });
  }

  // A violated soft clause by itself.
  void grow(std::uint32_t c) {
    if (temper_.smooth > 0 && clauses_.weight_of(c) == soft_unit(c)) heavy_.push_back(c);
    clauses_.change_weight(c, clauses_.weight_of(c) + increase(c));
  }

  // Satisfied soft clauses that have grown lose one increase.
  void smooth() {
    std::erase_if(heavy_, [&](std::uint32_t c) {
      if (clauses_.state.trues(c) == 0) return false;
      const std::int64_t least = soft_unit(c);
      clauses_.change_weight(c, std::max(least, clauses_.weight_of(c) - increase(c)));
      return clauses_.weight_of(c) == least;
    });
  }

  // Of a soft clause's search weight.
  std::int64_t increase(std::uint32_t c) const {
    return at_least_one(soft_increase_ * static_cast<double>(soft_unit(c)));
  }

  bool chance(double share) {
    return static_cast<double>(random_.next() >> 11) < share * static_cast<double>(1ULL << 53);
  }

  // First search weight of a soft clause.
  std::int64_t soft_unit(std::uint32_t c) const {
    return at_least_one(static_cast<double>(weight_[c]) * soft_unit_);
  }

  // The same under pressure.
  std::int64_t pressed(std::uint32_t c) const {
    return at_least_one(pressure_ * static_cast<double>(soft_unit(c)));
  }

  __int128 limit(std::uint32_t c) const {
    return static_cast<__int128>(soft_limit_) * soft_unit(c);
  }

  // Rounded; of numbers above 0.
  static std::int64_t at_least_one(double x) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(x + 0.5));
  }

  const Instance& instance_;
  const std::int64_t* weight_;
  const std::uint8_t* hard_;
  WeightingOptions options_;
  Tempers tempers_;
  RandomStream random_;
  Decimation decimation_;
  WeighedClauses<States, Score> clauses_;
  std::vector<std::uint32_t> soft_;     // clauses, where others are hard
  std::vector<std::uint32_t> heavy_;    // soft ones that have grown, where they lose it again
  std::vector<std::uint32_t> growing_;  // violated soft ones that may be below their limits
  std::vector<bool> listed_;            // whether a clause is among these
  std::vector<std::uint32_t> flipped_at_;
  BestAssignment best_;
  WideCost best_cost_{UINT64_MAX, 0};
  std::int64_t soft_limit_ = 0, hard_increase_ = 1, hard_unit_ = 1;
  double soft_increase_ = 1, soft_unit_ = 1;  // the latter of a weight of 1
  bool complete_ = false, begun_ = false;
  Temper temper_;
  double pressure_ = 1;         // how many times all soft clauses have grown
  std::uint32_t last_ = kNone;  // flipped
  std::uint64_t now_ = 0, improved_at_ = 0, patience_ = 0, restarts_ = 0;
  std::uint64_t best_at_ = 0, back_ = kForever;  // was at its best, and when it goes back there
};

using Weighting = WeightingOf<WideStates, std::int64_t>;

}  // namespace hardscape::maxsat
