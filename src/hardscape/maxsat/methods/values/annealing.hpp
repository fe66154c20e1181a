// Simulated annealing over the values of things: one thing after another may take another value, at
// once, whatever clauses say the two; what each value would cost is kept, so a move that is refused
// costs next to nothing. Cycles of cooling become longer and longer; all machines round alike. What
// a violated hard clause weighs falls after a cycle that ends without any and rises after one that
// does not.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/methods/given.hpp"
#include "maxsat/methods/values/values.hpp"
#include "maxsat/methods/weighting/weighting.hpp"

namespace hardscape::maxsat {

constexpr std::uint64_t kAnnealingPurpose = 0x6d78616e;

class Annealing final : public AnyWeighting {
 public:
  explicit Annealing(const Given& given)
      : instance_(given.instance),
        random_(given.seed, given.stream, kAnnealingPurpose),
        problem_(given.instance, given.weight, given.hard, given.stopped) {
    if (!problem_.found) return;
    length_ = kFirst * (problem_.values() - problem_.things());
    work_ = 2 * (1 + instance_.occurrence.size() / instance_.num_variables);
    value_.resize(problem_.things());
    for (std::uint32_t t = 0; t < problem_.things(); ++t) value_[t] = drawn(t);
    if (given.initial) take(given.initial);
    evaluate();
    warm_up();
    start_cycle();
  }

  bool complete() const override { return problem_.found; }

  void adopt(const std::uint8_t* value, const volatile std::uint8_t*) override {
    take(value);
    evaluate();
  }

  // A flip is as much work as one of clause weighting.
  std::uint64_t run(std::uint64_t flips, unsigned __int128 target,
                    const volatile std::uint8_t* stop) override {
    std::uint64_t done = 0;
    while (done < flips && !*stop) {
      if (best_cost_.hard == 0 && best_cost_.soft <= target) return done;
      const std::uint64_t steps = std::min<std::uint64_t>(kPoll, ends_[level_] - step_);
      for (std::uint64_t i = 0; i < steps; ++i) propose();
      step_ += steps;
      looked_ += kLook * steps;
      heat_[level_].add(energy(cost_));
      cool();
      done += looked_ / work_;
      looked_ %= work_;
    }
    return std::min(done, flips);
  }

  const WideCost& best_cost() const override { return best_cost_; }
  const std::vector<std::uint8_t>& best() const override {
    if (!written_) write();
    return assignment_;
  }
  std::uint64_t restarts() const override { return cycles_; }
  void temper(Tempers) override {}

 private:
  // Moves between two looks; conflicts that one that is refused takes as long as; moves of the
  // first cycle, for each there is; and by which part each cycle is longer than the one before.
  static constexpr std::uint64_t kPoll = 256, kLook = 2, kFirst = 16, kLonger = 4;
  // Temperatures of a cycle; moves tried before the first one.
  static constexpr std::uint32_t kLevels = 32, kTried = 1024;
  static constexpr double kMost = 40;  // temperatures that a move may cost
  // Part of a cycle that all temperatures have alike, and what becomes of a hard clause's weight.
  static constexpr double kEqual = 0.3, kHarder = 1.5, kSofter = 0.8;

  // Mean and deviation of what was added.
  class Spread {
   public:
    void add(double x) {
      ++count_;
      const double from = x - mean_;
      mean_ += from / count_;
      square_ += from * (x - mean_);
    }
    double deviation() const { return count_ > 1 ? std::sqrt(square_ / count_) : 0; }

   private:
    double count_ = 0, mean_ = 0, square_ = 0;
  };

  std::uint32_t drawn(std::uint32_t t) {
    const std::uint32_t from = problem_.first[t];
    return from + pick(random_.next() >> 32, problem_.first[t + 1] - from);
  }

  // The values under an assignment; of two that hold the one that some clause asks for.
  void take(const std::uint8_t* assignment) {
    for (std::uint32_t t = 0; t < problem_.things(); ++t) {
      std::uint32_t most = 0;
      for (std::uint32_t v = problem_.first[t]; v < problem_.first[t + 1]; ++v) {
        const std::uint32_t l = problem_.literal[v];
        const std::uint32_t asks = 1 + instance_.first[l + 1] - instance_.first[l];
        if (assignment[l >> 1] == (l & 1) || asks <= most) continue;
        value_[t] = v;
        most = asks;
      }
    }
  }

  void evaluate() {
    penalty_ = problem_.alone;
    cost_ = {};
    for (std::uint32_t t = 0; t < problem_.things(); ++t) {
      cost_ += penalty_[value_[t]];  // of values before, and its own
      enter(value_[t]);
    }
    note();
  }

  void enter(std::uint32_t v) {
    for (std::uint32_t i = problem_.begin[v]; i < problem_.begin[v + 1]; ++i)
      penalty_[problem_.conflicts[i].with] += problem_.conflicts[i];
    looked_ += problem_.begin[v + 1] - problem_.begin[v];
  }
  void leave(std::uint32_t v) {
    for (std::uint32_t i = problem_.begin[v]; i < problem_.begin[v + 1]; ++i)
      penalty_[problem_.conflicts[i].with] -= problem_.conflicts[i];
    looked_ += problem_.begin[v + 1] - problem_.begin[v];
  }

  void note() {
    const WideCost cost{static_cast<std::uint64_t>(cost_.hard),
                        static_cast<unsigned __int128>(cost_.soft)};
    if (!(cost < best_cost_)) return;
    best_cost_ = cost;
    best_value_ = value_;
    written_ = false;
  }

  double energy(const Penalty& p) const {
    return static_cast<double>(p.soft) + hardness_ * static_cast<double>(p.hard);
  }

  // Whether a number drawn is less than exp(-x), by operations that all machines round alike.
  bool accepted(double x) {
    if (x > kMost) return false;
    const double part = x / 256;  // its exponential by four terms
    double inverse = 1 + part * (1 + part / 2 * (1 + part / 3));
    for (int i = 0; i < 8; ++i) inverse *= inverse;
    return random_.uniform() * inverse < 1;
  }

  void propose() {
    const std::uint64_t draw = random_.next();
    const std::uint32_t t = pick(draw >> 32, static_cast<std::uint32_t>(problem_.things()));
    const std::uint32_t from = problem_.first[t], old = value_[t];
    std::uint32_t v = from + pick(draw & UINT32_MAX, problem_.first[t + 1] - from - 1);
    v += v >= old;
    Penalty by = penalty_[v];
    by -= penalty_[old];
    const double more = energy(by);
    if (more > 0 && !accepted(more / temperature_)) return;
    leave(old);
    enter(v);
    value_[t] = v;
    cost_ += by;
    if (by.soft < 0 || by.hard < 0) note();
  }

  // As hot as the mean change of a move, as cold as hardly any costs more.
  void warm_up() {
    double sum = 0, least = 0, up = 0;
    std::uint64_t count = 0, ups = 0;
    const auto meet = [&](std::int64_t soft) {
      if (soft == 0) return;
      const auto weight = static_cast<double>(soft);
      least = count == 0 ? weight : std::min(least, weight);
      sum += weight;
      ++count;
    };
    for (const ValueProblem::Conflict& each : problem_.conflicts) meet(each.soft);
    for (const Penalty& each : problem_.alone) meet(each.soft);
    if (count > 0) hardness_ = sum / static_cast<double>(count);
    for (std::uint32_t i = 0; i < kTried; ++i) {
      const std::uint32_t v =
          pick(random_.next() >> 32, static_cast<std::uint32_t>(problem_.values()));
      Penalty by = penalty_[v];
      by -= penalty_[value_[problem_.thing[v]]];
      if (energy(by) > 0) up += energy(by), ++ups;
    }
    const double hot = ups > 0 ? up / static_cast<double>(ups) : 1;
    double ratio = std::min(hot / 4, std::max(1.0, least) / 5) / hot;
    for (std::uint32_t levels = 1; levels < kLevels; levels *= 2) ratio = std::sqrt(ratio);
    temperatures_[0] = hot;
    for (std::uint32_t k = 1; k < kLevels; ++k) temperatures_[k] = temperatures_[k - 1] * ratio;
  }

  // How long a cycle is at each level: as the cost's deviation was of the temperature there, since
  // where it is frozen, or does not depend on the temperature yet, nothing is decided.
  void start_cycle() {
    double sum = 0;
    std::array<double, kLevels> part;
    for (std::uint32_t k = 0; k < kLevels; ++k)
      sum += part[k] = heat_[k].deviation() / temperatures_[k];
    double ends = 0;
    for (std::uint32_t k = 0; k < kLevels; ++k) {
      ends += sum > 0 ? kEqual / kLevels + (1 - kEqual) * part[k] / sum : 1.0 / kLevels;
      ends_[k] = static_cast<std::uint64_t>(ends * static_cast<double>(length_));
      heat_[k] = {};
    }
    ends_.back() = length_;
    level_ = step_ = 0;
    temperature_ = temperatures_[0];
    cool();
  }

  // To the level of the next step.
  void cool() {
    while (level_ < kLevels && step_ == ends_[level_]) ++level_;
    if (level_ < kLevels)
      temperature_ = temperatures_[level_];
    else
      end_cycle();
  }

  void end_cycle() {
    hardness_ *= cost_.hard > 0 ? kHarder : kSofter;
    ++cycles_;
    length_ += length_ / kLonger;
    start_cycle();
  }

  // A value's literal holds where it is taken, and what relaxes where two are that need it.
  void write() const {
    assignment_.assign(instance_.num_variables, 0);
    const auto set = [&](std::uint32_t l, bool holds) {
      assignment_[l >> 1] = holds != static_cast<bool>(l & 1);
    };
    const auto taken = [&](std::uint32_t v) { return best_value_[problem_.thing[v]] == v; };
    for (std::uint32_t v = 0; v < problem_.values(); ++v) set(problem_.literal[v], taken(v));
    for (const ValueProblem::Relaxed& each : problem_.relaxed) set(each.literal, false);
    for (const ValueProblem::Relaxed& each : problem_.relaxed)
      if (taken(each.a) && taken(each.b)) set(each.literal, true);
    written_ = true;
  }

  const Instance& instance_;
  RandomStream random_;
  ValueProblem problem_;
  std::vector<std::uint32_t> value_, best_value_;  // of each thing
  std::vector<Penalty> penalty_;                   // of each value, were it taken
  Penalty cost_;
  WideCost best_cost_{UINT64_MAX, 0};
  mutable std::vector<std::uint8_t> assignment_;
  mutable bool written_ = false;
  double hardness_ = 1, temperature_ = 1;
  std::array<double, kLevels> temperatures_;
  std::array<Spread, kLevels> heat_;           // what the cost was at each
  std::array<std::uint64_t, kLevels> ends_{};  // steps of a cycle when each level ends
  std::uint32_t level_ = 0;
  std::uint64_t length_ = 0, step_ = 0, cycles_ = 0;
  std::uint64_t looked_ = 0, work_ = 1;  // conflicts, and how many of them a flip is
};

}  // namespace hardscape::maxsat
