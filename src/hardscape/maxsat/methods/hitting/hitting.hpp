// A search by cores that unit propagation finds: soft clauses are demanded one after another, and
// where some contradict one another, one of them is given up, which is cheap for the cores that it
// was in. The next sets to be given up are cheap hitting sets of all cores met so far (implicit
// hitting sets: Davies and Bacchus, CP 2011), mostly of wishes that cost no more than the dearest
// one must, or what the best assignment violates, but for one.
// Where few wishes hit all cores, the cheapest such sets are tried one after another. Most often
// the surroundings of one violated clause are searched instead.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/methods/hitting/cores.hpp"
#include "maxsat/methods/hitting/propagation.hpp"
#include "maxsat/methods/hitting/reduced.hpp"
#include "maxsat/methods/hitting/surroundings.hpp"
#include "maxsat/methods/weighting/best.hpp"
#include "maxsat/methods/weighting/pool.hpp"
#include "maxsat/walker.hpp"
#include "native/random.hpp"

namespace hardscape::maxsat {

constexpr std::uint64_t kHittingPurpose = 0x6d786869;

class Hitting {
 public:
  // Of a formula that must outlive it; values of `initial` are tried first. Makes room, unless
  // stopped.
  Hitting(const Instance& instance, const std::int64_t* weight, const std::uint8_t* hard,
          std::uint64_t seed, std::uint64_t stream, const std::uint8_t* initial,
          const Poll& stopped)
      : instance_(instance), weight_(weight), hard_(hard), random_(seed, stream, kHittingPurpose) {
    std::uint32_t top = instance_.num_variables;
    for (std::uint32_t c = 0; c < instance_.num_clauses; ++c)
      top += !hard[c] && instance_.length(c) > 1;
    propagation_.prepare(top);
    phase_.assign(top, 0);
    if (initial) std::copy_n(initial, instance_.num_variables, phase_.begin());
    relaxes_ = instance_.num_variables;
    complete_ = instance_.complete && tell(stopped);
  }

  // False where the constructor was stopped: not to be used.
  bool complete() const { return complete_; }
  // Whether nothing is left to try: the best assignment costs no more than the lower bound, or the
  // hard clauses contradict one another.
  bool given_up() const {
    return contradicts_ || (best_cost_.hard == 0 && best_cost_.soft <= bound());
  }
  // Whether few wishes hit all cores met so far, and such sets are soon tried.
  bool few() const { return few_; }
  // What all that satisfies the hard clauses costs at least: no core and no contradiction since the
  // best assignment says anything of what costs as much.
  unsigned __int128 lower() const {
    if (best_cost_.hard) return bound();
    return contradicts_ ? best_cost_.soft : std::min(bound(), best_cost_.soft);
  }

  // Goes on from an assignment that satisfies the hard clauses.
  void adopt(const std::uint8_t* value, const volatile std::uint8_t*) {
    std::copy_n(value, instance_.num_variables, phase_.begin());
    offer(value, true);
  }

  // Of the linear program, made once.
  const Rows& rows() {
    if (rows_.size() == 0) rows_ = rows_of(instance_, hard_);
    return rows_;
  }

  // Looks through what costs less than the best assignment by a vertex of that program; whether all
  // was tried that keeps what was held there. See `ReducedCosts`.
  bool look(const Vertex& vertex, std::span<const double> weight) {
    back(0);
    if (contradicts_) return true;
    const unsigned __int128 best =
        best_cost_.hard ? ~static_cast<unsigned __int128>(0) >> 1 : best_cost_.soft;
    return reduced_.look(vertex, weight, best, [&] {
      accept(false);
      return best_cost_.soft;
    });
  }
  // All was tried that costs less than the best assignment.
  void close() { contradicts_ = contradicts_ || best_cost_.hard == 0; }

  // Until the best assignment costs at most `target`, eight literals were assigned for each of so
  // many `flips`, about, or `stop`.
  std::uint64_t run(std::uint64_t flips, unsigned __int128 target,
                    const volatile std::uint8_t* stop) {
    // What a descent does beyond `flips` is taken off the next run's, so that it is the same search
    // however it is cut into runs.
    const std::uint64_t before = granted_;
    granted_ += flips;
    const auto done = [&] { return worked() / kLiterals; };
    const auto arrived = [&] { return best_cost_.hard == 0 && best_cost_.soft <= target; };
    while (done() < granted_ && !arrived() && !given_up() && !*stop) {
      const std::uint64_t from = worked();
      near_ = goes_near();
      descend(stop);
      (near_ ? near_work_ : alone_ ? alone_work_ : loose_work_) += worked() - from;
    }
    if (arrived() || *stop) granted_ = std::max(before, done());
    return granted_ - before;
  }

  const WideCost& best_cost() const { return best_cost_; }
  const std::vector<std::uint8_t>& best() const { return best_; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint64_t kLiterals = 8;  // assigned in the time of a flip
  // Conflicts of one descent, and of one beside a cheapest hitting set; longest core that is learnt
  // as a clause; literals of what is learnt, in those of the formula.
  static constexpr std::size_t kConflicts = 300, kQuick = 60, kLongest = 50, kLearnt = 2;
  // Of a wish: demanded, given up, demanded again after all others, demanded whatever it costs.
  static constexpr std::uint8_t kWanted = 0, kLost = 1, kLast = 2, kForced = 3;
  // Descents near the last assignment for one by a hitting set, at first and at most; and for a
  // return to the best assignment.
  static constexpr std::size_t kOften = 2, kRarely = 64, kStale = 30;
  static constexpr std::uint32_t kAnything = 8;  // one in so many is gone on from whatever it costs
  // Of so many descents by a hitting set, those that give up nothing above the ceiling.
  static constexpr std::uint32_t kHittings = 8, kBelow = 7;
  // What a wish above it counts in a hitting set, in its price.
  static constexpr double kDear = 1000;
  // Wishes that are few; those given up beside a cheapest hitting set of few before the next one is
  // tried; their work, in that of other descents by a hitting set, and that of both before any near
  // an assignment, in literals assigned.
  static constexpr std::size_t kFew = 6, kGiven = 3, kAlone = 2;
  static constexpr std::uint64_t kStart = 400'000;
  // Of so many descents near an assignment, those that give way to a look around one clause.
  static constexpr std::uint32_t kShares = 10, kAround = 9;

  // Demands the hard clauses; soft ones become wishes: themselves where they are units, else the
  // negation of a variable that relaxes them.
  bool tell(const Poll& stopped) {
    std::vector<std::uint32_t> clause;
    std::vector<std::uint32_t> of(2 * std::size_t{instance_.num_variables}, 0);
    for (std::uint32_t c = 0; c < instance_.num_clauses; ++c)
      for (const std::int32_t x : instance_.literals(c).first(std::min(2u, instance_.length(c))))
        ++of[Clauses::code(x)];
    propagation_.reserve(instance_.num_clauses, instance_.start[instance_.num_clauses], of);
    std::fill(of.begin(), of.end(), kNone);
    std::uint32_t top = instance_.num_variables;
    for (std::uint32_t c = 0; c < instance_.num_clauses; ++c) {
      if (stopped(c)) return false;
      clause.clear();
      for (const std::int32_t x : instance_.literals(c)) clause.push_back(Clauses::code(x));
      const auto weight = static_cast<std::uint64_t>(weight_[c]);
      if (!hard_[c] && clause.size() == 1) {
        std::uint32_t& known = of[clause[0]];
        if (known == kNone) {
          known = static_cast<std::uint32_t>(wishes_.size());
          wishes_.literal.push_back(clause[0]);
          wishes_.clause.push_back(c);
          wishes_.price.push_back(weight);
        } else {
          wishes_.price[known] += weight;
        }
        continue;
      }
      if (!hard_[c]) {
        wishes_.literal.push_back(2 * top + 1);
        wishes_.clause.push_back(c);
        wishes_.price.push_back(weight);
        clause.push_back(2 * top++);
      }
      if (!propagation_.add(clause)) contradicts_ = true;
    }
    contradicts_ = contradicts_ || propagation_.propagate() != kNone;
    given_ = propagation_.clauses();
    most_literals_ = (1 + kLearnt) * propagation_.literals() + 10'000;
    residue_ = wishes_.price;
    met_.assign(wishes_.size(), 0);
    cores_.prepare(wishes_.price);
    state_.assign(wishes_.size(), kWanted);
    demanded_.assign(wishes_.size(), 0);
    wishes_.by_price.resize(wishes_.size());
    for (std::uint32_t w = 0; w < wishes_.by_price.size(); ++w) wishes_.by_price[w] = w;
    std::stable_sort(wishes_.by_price.begin(), wishes_.by_price.end(),
                     [&](auto a, auto b) { return wishes_.price[a] > wishes_.price[b]; });
    return true;
  }

  // What the cores cost together, or the cheapest set that hits them.
  unsigned __int128 bound() const { return std::max(lower_, hit_); }

  // In literals assigned.
  std::uint64_t worked() const {
    return propagation_.assigned() + looked_ + surroundings_.looked() + reduced_.looked() +
           cores_.looked();
  }

  // Whether the next descent is near the last assignment. Hitting sets of few wishes have a start,
  // and then as much work.
  bool goes_near() const {
    return !satisfied_.empty() && until_hitting_ > 0 &&
           !(few_ && alone_work_ + loose_work_ <= kStart + near_work_);
  }

  // One set of wishes, and an assignment under which they hold, if one is found.
  void descend(const volatile std::uint8_t* stop) {
    looked_ += 1 + wishes_.size() / kLiterals;
    if (!harden()) return;
    if (propagation_.literals() > most_literals_) {
      back(0);
      propagation_.forget(given_);
    }
    if (near_ && draw(kShares) < kAround) {
      --until_hitting_;
      look_around();
      return;
    }
    last_order_.swap(order_);
    alone_ = false;
    below_ = !near_ && draw(kHittings) < kBelow;
    if (near_) {
      --until_hitting_;
      if (++stale_ > kStale && !best_.empty()) offer(best_.data(), true);
      order_near();
    } else {
      until_hitting_ = interval_;
      interval_ = std::min(2 * interval_, kRarely);
      order_hitting();
    }
    keep_common();
    if (alone_)
      for (std::uint32_t w = 0; w < wishes_.size(); ++w)
        if (hits_[w]) state_[w] = kLast;
    spare_ = alone_ ? kGiven : SIZE_MAX;
    spent_ = 0;
    const bool anyway = near_ && draw(kAnything) == 0;
    allowed_ = near_ && wanted_ != kNone && !anyway ? wishes_.price[wanted_]
                                                    : ~static_cast<unsigned __int128>(0);
    conflicts_ = 0;
    again_ = false;
    if (demand_all(stop)) accept(anyway);
  }

  // Takes the propagation's values, an assignment.
  void accept(bool anyway) {
    found_.resize(relaxes_);
    for (std::uint32_t v = 0; v < relaxes_; ++v) found_[v] = propagation_.value(v);
    std::copy(found_.begin(), found_.end(), phase_.begin());
    offer(found_.data(), anyway);
  }

  // Demands the wishes that nothing better than the best assignment gives up: beside what the cores
  // cost, each would cost what they have not counted of it. False where nothing better is left.
  bool harden() {
    if (best_cost_.hard || best_cost_.soft - lower_ >= hardened_) return true;
    hardened_ = best_cost_.soft - lower_;
    for (std::uint32_t w = 0; w < wishes_.size() && !contradicts_; ++w) {
      if (residue_[w] < hardened_ || demanded_[w]) continue;
      demanded_[w] = 1;
      back(0);
      contradicts_ =
          !propagation_.add({&wishes_.literal[w], 1}) || propagation_.propagate() != kNone;
    }
    return !contradicts_;
  }

  // What costs no more and satisfies a clause more, around that alone.
  void look_around() {
    std::uint32_t lost = 0;
    wanted_ = kNone;
    for (std::uint32_t w = 0; w < wishes_.size(); ++w)
      if (!satisfied_[w] && draw(++lost) == 0) wanted_ = w;
    if (wanted_ == kNone) return;
    back(0);
    const auto draws = [&](std::uint32_t count) { return draw(count); };
    if (!surroundings_.search(wanted_, current_, satisfied_, draws, found_)) return;
    std::copy(found_.begin(), found_.end(), phase_.begin());
    offer(found_.data(), false);
  }

  // Demands all that can be, and decides the rest; false if that takes too long or nothing can.
  bool demand_all(const volatile std::uint8_t* stop) {
    std::uint32_t variable = 0;  // that may be decided
    for (;;) {
      const std::uint32_t conflict = propagation_.propagate();
      if (conflict != kNone) {
        if (!resolve(conflict) || *stop) return false;
        variable = 0;
      } else if (spent_ > allowed_ || spare_ == 0) {
        return false;
      } else if (next_ < order_.size()) {
        demand();
      } else if (!again_) {
        demand_again();
      } else {
        std::uint32_t l = kNone;
        while (l == kNone && variable < relaxes_) {
          if (propagation_.value(variable) == Propagation::kOpen)
            l = 2 * variable + !phase_[variable];
          else
            ++variable;
        }
        if (l == kNone) return true;
        place_.push_back(next_);
        propagation_.decide(l);
      }
    }
  }

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
    if (wanted_ != kNone) state_[wanted_] = kForced;
  }

  // The wishes of a cheap hitting set come last.
  void order_hitting() {
    cover();
    wanted_ = kNone;
    order_ = wishes_.by_price;
    std::stable_partition(order_.begin(), order_.end(), [&](auto w) { return !hits_[w]; });
  }

  // What the assignment satisfies that is gone on from, in the order of before, then one wish that
  // it does not, and then the others.
  void order_near() {
    order_.clear();
    taken_.assign(wishes_.size(), 0);
    for (const std::uint32_t w : last_order_)
      if (satisfied_[w] && !taken_[w]) {
        taken_[w] = 1;
        order_.push_back(w);
      }
    const std::size_t held = order_.size();
    for (const std::uint32_t w : wishes_.by_price)
      if (!taken_[w]) order_.push_back(w);
    wanted_ = kNone;
    const auto lost = static_cast<std::uint32_t>(order_.size() - held);
    if (lost == 0) return;
    std::swap(order_[held], order_[held + draw(lost)]);
    wanted_ = order_[held];
  }

  std::uint32_t draw(std::uint32_t count) { return pick(random_.next() >> 32, count); }

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
    if (place_.back() >= order_.size() || (!near_ && conflicts_ < kConflicts)) {
      if (++conflicts_ > (alone_ ? kQuick : kConflicts)) {
        if (below_) lift_ceiling();
        few_ = few_ && !alone_;  // such sets are not soon tried
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

  // Takes back all levels above one.
  void back(std::uint32_t level) {
    if (level >= propagation_.level()) return;
    next_ = std::min(next_, place_[level]);
    place_.resize(level);
    propagation_.back(level);
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

  // Keeps the core, raises the lower bound and perhaps the ceiling by it, and gives up the wish
  // that is cheapest for the cores that it was in.
  std::uint32_t give_up() {
    std::uint64_t paid = UINT64_MAX, cheapest = UINT64_MAX;
    for (const std::uint32_t w : core_) {
      paid = std::min(paid, residue_[w]);
      cheapest = std::min(cheapest, wishes_.price[w]);
    }
    ceiling_ = std::max(ceiling_, cheapest);
    for (const std::uint32_t w : core_) residue_[w] -= paid;
    lower_ += paid;
    cores_.add(core_);
    std::uint32_t lost = kNone;
    double least = 0;
    for (const std::uint32_t w : core_) {
      if (state_[w] == kForced && core_.size() > 1) continue;
      if (below_ && state_[w] != kLast && wishes_.price[w] > ceiling_) continue;
      const double price = static_cast<double>(wishes_.price[w]) * noise();
      ++met_[w];
      const double share = state_[w] == kLast ? 0 : wanted_ == kNone ? price / met_[w] : price;
      if (lost != kNone && share >= least) continue;
      lost = w;
      least = share;
    }
    if (state_[lost] == kWanted) {
      spent_ += wishes_.price[lost];
      spare_ -= spare_ > 0;
    }
    state_[lost] = kLost;
    return lost;
  }

  // 1 on average.
  double noise() { return 0.75 + 0.5 * static_cast<double>(random_.next() >> 32) / 4294967296.0; }

  // A cheap hitting set of all cores. Where few wishes hit them, most descents try a cheapest set,
  // by turns by its price, which then bounds what an assignment costs, and by its price and twice
  // that bound for each wish: fewer ones are sooner tried all.
  void cover() {
    cores_.cover(
        [&](std::uint32_t w) {
          const double price = static_cast<double>(wishes_.price[w]) * noise();
          return below_ && wishes_.price[w] > ceiling_ ? kDear * price : price;
        },
        hits_);
    if (few_ && alone_work_ > kAlone * loose_work_) return;
    constexpr unsigned __int128 most = std::uint64_t{1} << 62;
    const bool least = turn_++ % 2;
    const auto more = least ? 0 : static_cast<std::uint64_t>(std::min(most, 2 * bound()));
    few_ = cores_.lower(hits_, more);
    const auto count = std::accumulate(hits_.begin(), hits_.end(), std::size_t{0});
    few_ = few_ && count <= kFew && (count > 0 || turn_ == 1);
    if (!few_) return;
    alone_ = true;
    unsigned __int128 cost = 0;
    for (std::uint32_t w = 0; w < wishes_.size(); ++w)
      if (hits_[w]) cost += wishes_.price[w];
    if (least) hit_ = std::max(hit_, cost);
  }

  // Goes on from an assignment that costs no more than the last such one, or whatever it costs.
  void offer(const std::uint8_t* value, bool anyway) {
    WideCost cost{};
    for (std::uint32_t c = 0; c < instance_.num_clauses; ++c) {
      if (holds(c, value)) continue;
      if (hard_[c])
        ++cost.hard;
      else
        cost.soft += static_cast<std::uint64_t>(weight_[c]);
    }
    if (cost < best_cost_) {
      best_cost_ = cost;
      best_.assign(value, value + instance_.num_variables);
      if (wanted_ == kNone) interval_ = kOften;
    }
    if (!(best_cost_ < cost)) stale_ = 0;
    if (current_cost_ < cost && !anyway) return;
    current_cost_ = cost;
    current_.assign(value, value + instance_.num_variables);
    satisfied_.resize(wishes_.size());
    for (std::uint32_t w = 0; w < wishes_.size(); ++w)
      satisfied_[w] = holds(wishes_.clause[w], value);
  }

  bool holds(std::uint32_t c, const std::uint8_t* value) const {
    const auto literals = instance_.literals(c);
    return std::any_of(literals.begin(), literals.end(),
                       [&](auto x) { return value[Clauses::variable(x)] == (x > 0); });
  }

  const Instance& instance_;
  const std::int64_t* weight_;
  const std::uint8_t* hard_;
  RandomStream random_;
  Propagation propagation_;
  std::uint32_t relaxes_ = 0;  // the first variable that relaxes a clause
  Wishes wishes_;
  Cores cores_;
  Surroundings surroundings_{instance_, propagation_, wishes_};
  Rows rows_;
  ReducedCosts reduced_{propagation_, rows_, wishes_};
  std::vector<std::uint64_t> residue_;  // of wishes; what the lower bound has not counted
  std::vector<std::uint32_t> met_;      // in how many cores
  std::vector<std::uint32_t> order_, last_order_;
  std::vector<std::size_t> place_;  // in the order, of each level's decision
  std::vector<std::uint8_t> state_, phase_, found_, best_, current_, satisfied_, hits_, taken_,
      demanded_;
  std::vector<std::uint32_t> levels_, learnt_, core_;
  std::uint64_t near_work_ = 0, alone_work_ = 0, loose_work_ = 0;
  std::uint64_t granted_ = 0, looked_ = 0;     // looks at wishes, in literals assigned
  std::size_t most_literals_ = 0, given_ = 0;  // clauses
  std::size_t until_hitting_ = 0, interval_ = kOften, stale_ = 0;  // descents
  std::size_t spare_ = 0;                                          // that may be given up
  std::size_t conflicts_ = 0, next_ = 0;                           // of the order
  std::uint32_t wanted_ = kNone, turn_ = 0;                        // of hitting sets of few wishes
  std::uint64_t ceiling_ = 0;        // what the dearest wish costs at least that is given up
  bool alone_ = false;               // whether little is given up beside the hitting set
  bool near_ = false, few_ = false;  // whether few wishes hit all cores
  bool below_ = false;               // whether nothing above it is
  unsigned __int128 lower_ = 0, hit_ = 0, spent_ = 0, allowed_ = 0;  // on what a descent gave up
  unsigned __int128 hardened_ = ~static_cast<unsigned __int128>(0);  // between the bounds, at last
  WideCost best_cost_{UINT64_MAX, 0}, current_cost_{UINT64_MAX, 0};
  bool complete_ = false, contradicts_ = false, again_ = false;
};

}  // namespace hardscape::maxsat
