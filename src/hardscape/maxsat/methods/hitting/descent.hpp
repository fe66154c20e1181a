// One set of wishes that hold together: they are demanded one after another, and where some
// contradict one another, which is a core, one of them is given up, which is cheap for the cores
// that it was in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "maxsat/methods/hitting/cores.hpp"
#include "maxsat/methods/hitting/propagation.hpp"
#include "maxsat/methods/hitting/wishes.hpp"
#include "native/random.hpp"

namespace hardscape::maxsat {

class Descent {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // What may be given up.
  struct Limits {
    std::uint32_t wanted = kNone;  // a wish that is demanded whatever it costs
    bool near = false;             // whether it is to stay near an assignment
    bool alone = false;            // whether a moment is enough
    bool below = false;            // whether nothing above the ceiling is given up
    std::size_t spare = SIZE_MAX;  // how many wishes, and their price
    unsigned __int128 allowed = ~static_cast<unsigned __int128>(0);
  };

  Descent(Propagation& propagation, const Wishes& wishes, Cores& cores, RandomStream& random)
      : propagation_(propagation), wishes_(wishes), cores_(cores), random_(random) {}

  // Of wishes that are complete.
  void prepare() {
    met_.assign(wishes_.size(), 0);
    state_.assign(wishes_.size(), kWanted);
  }

  // The order of the next descent, to be made, and that of the one before.
  std::vector<std::uint32_t>& order() { return order_; }
  const std::vector<std::uint32_t>& last_order() const { return last_order_; }
  void turn_over() { last_order_.swap(order_); }

  // What the dearest wish costs at least that is given up.
  std::uint64_t ceiling() const { return ceiling_; }
  // Whether the hard clauses contradict one another.
  bool contradicts() const { return contradicts_; }
  // Whether the last one had too many conflicts.
  bool exhausted() const { return conflicts_ > most_conflicts(); }

  // Takes back all levels above one.
  void back(std::uint32_t level) {
    if (level >= propagation_.level()) return;
    next_ = std::min(next_, place_[level]);
    place_.resize(level);
    propagation_.back(level);
  }

  // Begins with what is demanded as before; wishes that are `last` come after all others.
  void begin(const Limits& limits, const std::vector<std::uint8_t>& last) {
    limits_ = limits;
    keep_common();
    if (limits.alone)
      for (std::uint32_t w = 0; w < wishes_.size(); ++w)
        if (last[w]) state_[w] = kLast;
    spent_ = 0;
    began_ = propagation_.assigned();
    conflicts_ = 0;
    again_ = false;
  }

  // Demands all that can be, and gives the variables of `phase` that are left values from there;
  // false if that takes too long or nothing can.
  bool demand_all(std::span<const std::uint8_t> phase, const volatile std::uint8_t* stop) {
    std::uint32_t variable = 0;  // that may be decided
    while (!*stop) {
      const std::uint32_t conflict = propagation_.propagate();
      if (conflict != kNone) {
        if (!resolve(conflict)) return false;
        variable = 0;
      } else if (spent_ > limits_.allowed || limits_.spare == 0) {
        return false;
      } else if (next_ < order_.size()) {
        demand();
      } else if (!again_) {
        demand_again();
      } else {
        std::uint32_t l = kNone;
        while (l == kNone && variable < phase.size()) {
          if (propagation_.value(variable) == Propagation::kOpen)
            l = 2 * variable + !phase[variable];
          else
            ++variable;
        }
        if (l == kNone) return true;
        place_.push_back(next_);
        propagation_.decide(l);
      }
    }
    return false;
  }

  // 1 on average.
  double noise() { return 0.75 + 0.5 * static_cast<double>(random_.next() >> 32) / 4294967296.0; }

 private:
  // Conflicts of one descent, and of one beside a cheapest hitting set; longest core that is learnt
  // as a clause.
  static constexpr std::size_t kConflicts = 300, kQuick = 60, kLongest = 50;
  // Literals assigned before little is taken back, and for each wish.
  static constexpr std::uint64_t kPatience = 1'000'000, kEach = 20;
  // Of a wish: demanded, given up, demanded again after all others, demanded whatever it costs.
  static constexpr std::uint8_t kWanted = 0, kLost = 1, kLast = 2, kForced = 3;

  std::size_t most_conflicts() const { return limits_.alone ? kQuick : kConflicts; }

  // Levels of wishes that are demanded as before stay.
  void keep_common() {
    std::size_t same = 0;
    while (same < std::min(order_.size(), last_order_.size()) &&
           order_[same] == last_order_[same] && state_[order_[same]] == kWanted)
      ++same;
    std::uint32_t level = 0;
    while (level < place_.size() && place_[level] < same) ++level;
    next_ = std::min(next_, same);  // the last descent may have ended before
    back(level);
    std::fill(state_.begin(), state_.end(), kWanted);
    if (limits_.wanted != kNone) state_[limits_.wanted] = kForced;
  }

  // Demands the next wish, or, where it is refused, gives up one of those that refuse it.
  void demand() {
    const std::uint32_t w = order_[next_];
    if (state_[w] == kLost || propagation_.holds(wishes_.literal[w])) {
      ++next_;
      return;
    }
    if (propagation_.open(wishes_.literal[w])) {
      place_.push_back(next_++);
      propagation_.decide(wishes_.literal[w]);
      return;
    }
    propagation_.behind_literal(wishes_.literal[w], levels_);
    core_.assign(1, w);
    for (const std::uint32_t level : levels_) core_.push_back(order_[place_[level - 1]]);
    const std::uint32_t lost = give_up();
    if (lost == w)
      ++next_;
    else
      back(level_of(lost) - 1);
  }

  // Has what was given up and may hold by now come after all others.
  void demand_again() {
    again_ = true;
    for (const std::uint32_t w : wishes_.by_price) {
      if (state_[w] != kLost || propagation_.fails(wishes_.literal[w])) continue;
      state_[w] = kLast;
      order_.push_back(w);
    }
  }

  // Learns from a violated clause, and of a wish's conflicts near an assignment the core; false
  // where this takes too long, or nothing can hold.
  bool resolve(std::uint32_t conflict) {
    if (propagation_.level() == 0) {
      contradicts_ = true;
      return false;
    }
    if (place_.back() >= order_.size() || (!limits_.near && conflicts_ < kConflicts)) {
      if (++conflicts_ > most_conflicts()) {
        if (limits_.below) lift_ceiling();
        return false;
      }
      back(propagation_.learn(conflict, learnt_));
      contradicts_ = !propagation_.add(learnt_);
      return !contradicts_;
    }
    propagation_.behind_clause(conflict, levels_);
    learnt_.clear();
    core_.clear();
    for (const std::uint32_t level : levels_) {
      learnt_.push_back(propagation_.decision(level) ^ 1);
      core_.push_back(order_[place_[level - 1]]);
    }
    if (core_.empty()) {
      contradicts_ = true;
      return false;
    }
    back(level_of(give_up()) - 1);
    if (learnt_.size() <= kLongest) contradicts_ = !propagation_.add(learnt_);
    return !contradicts_;
  }

  // The level on which a wish of the core was decided.
  std::uint32_t level_of(std::uint32_t w) const {
    const auto at = std::find_if(levels_.begin(), levels_.end(), [&](std::uint32_t level) {
      return order_[place_[level - 1]] == w;
    });
    return *at;
  }

  // To the next price, where too little seems to be left to give up.
  void lift_ceiling() {
    const auto dearer = std::find_if(wishes_.by_price.rbegin(), wishes_.by_price.rend(),
                                     [&](auto w) { return wishes_.price[w] > ceiling_; });
    if (dearer != wishes_.by_price.rend()) ceiling_ = wishes_.price[*dearer];
  }

  // Keeps the core, perhaps raises the ceiling by it, and gives up the wish that is cheapest for
  // the cores that it was in, or, after much work, the last one, which takes back the least.
  std::uint32_t give_up() {
    std::uint64_t cheapest = UINT64_MAX;
    for (const std::uint32_t w : core_) cheapest = std::min(cheapest, wishes_.price[w]);
    ceiling_ = std::max(ceiling_, cheapest);
    cores_.add(core_);
    const bool hasty = propagation_.assigned() - began_ > kPatience + kEach * state_.size();
    std::uint32_t lost = kNone;
    double least = 0;
    for (const std::uint32_t w : core_) {
      if (state_[w] == kForced && core_.size() > 1) continue;
      if (limits_.below && state_[w] != kLast && wishes_.price[w] > ceiling_) continue;
      const double price = static_cast<double>(wishes_.price[w]) * noise();
      ++met_[w];
      const double counted = limits_.wanted == kNone ? price / met_[w] : price;
      const double share = state_[w] == kLast ? 0 : counted;
      if (lost != kNone && (hasty || share >= least)) continue;
      lost = w;
      least = share;
    }
    if (state_[lost] == kWanted) {
      spent_ += wishes_.price[lost];
      limits_.spare -= limits_.spare > 0;
    }
    state_[lost] = kLost;
    return lost;
  }

  Propagation& propagation_;
  const Wishes& wishes_;
  Cores& cores_;
  RandomStream& random_;
  Limits limits_;
  std::vector<std::uint32_t> met_;  // in how many cores
  std::vector<std::uint32_t> order_, last_order_;
  std::vector<std::size_t> place_;  // in the order, of each level's decision
  std::vector<std::uint8_t> state_;
  std::vector<std::uint32_t> levels_, learnt_, core_;
  std::size_t conflicts_ = 0, next_ = 0;  // of the order
  std::uint64_t ceiling_ = 0;
  unsigned __int128 spent_ = 0;  // on what was given up
  std::uint64_t began_ = 0;      // in literals assigned
  bool contradicts_ = false, again_ = false;
};

}  // namespace hardscape::maxsat
