// Local search for cheapest covers: formulas whose soft clauses are units, and whose hard clauses
// ("rows") hold none of their literals. A variable that violates its soft clauses is taken and
// pays for it; a row is open while none of its variables is taken. Sought is a cover cheaper than
// the best one: the taken variable that keeps least weight of rows closed for its cost is given
// up, then of one open row the variable that closes most is taken, as long as the cost stays below
// the best, and rows that are open still gain weight. After RWLS (Gao, Weise, Li, 2015, set covers)
// and NuMVC (Cai, Su, Luo, Sattar, JAIR 46, 687, 2013, vertex covers).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/methods/given.hpp"
#include "maxsat/methods/weighting/best.hpp"
#include "maxsat/methods/weighting/pool.hpp"
#include "maxsat/walker.hpp"
#include "native/random.hpp"

namespace hardscape::maxsat {

constexpr std::uint64_t kCoveringPurpose = 0x6d786376;

class Covering {
 public:
  // Of a formula as described above. Makes room, unless stopped.
  explicit Covering(const Given& given)
      : instance_(given.instance),
        random_(given.seed, given.stream, kCoveringPurpose),
        open_(row_place_),
        best_(instance_.num_variables) {
    const std::size_t n = instance_.num_variables, m = instance_.num_clauses;
    const auto room = [&](auto& values, std::size_t count) {
      return extend(values, count, given.stopped);
    };
    complete_ = instance_.complete && room(cost_of_, n) && room(dear_, n) && room(score_, n) &&
                room(flipped_at_, n) && room(may_return_, n) && room(blocked_, n) &&
                room(value_, n) && room(row_weight_, m) && room(taken_, m) && room(sum_, m) &&
                room(row_place_, m) && to_give_.prepare(n, given.stopped);
    if (!complete_) return;
    for (std::size_t c = 0; c < m; ++c) {
      row_weight_[c] = given.hard[c];
      const std::uint32_t l = Clauses::code(instance_.literals(c)[0]);
      if (given.hard[c]) continue;
      cost_of_[l >> 1] += static_cast<std::uint64_t>(given.weight[c]);
      dear_[l >> 1] = l & 1;
    }
    for (std::size_t v = 0; v < n; ++v) value_[v] = given.initial ? given.initial[v] : !dear_[v];
  }

  // False where the constructor was stopped: not to be used.
  bool complete() const { return complete_; }

  // Goes on from an assignment that is better than the best one.
  void adopt(const std::uint8_t* value, const volatile std::uint8_t* stop) {
    value_.assign(value, value + instance_.num_variables);
    begun_ = begin(Poll(stop));
  }

  // Until the cost of a cover is at most `target`, what costs as much as `flips` is done, or
  // `stop`.
  std::uint64_t run(std::uint64_t flips, unsigned __int128 target,
                    const volatile std::uint8_t* stop) {
    if (!begun_) begun_ = begin(Poll(stop));
    std::uint64_t done = std::min(flips, ahead_);
    ahead_ -= done;
    while (begun_ && done < flips && !*stop) {
      const std::uint64_t until = std::min(flips, done + kPoll);
      while (done < until) {
        if (best_cost_.hard == 0 && best_cost_.soft <= target) return done;
        ++now_;
        done += 1 + open_.size() / kOpen;
        const std::uint32_t x = next();
        if (x == kNone) continue;
        flip(x);
        best_.flipped(x);
        improve();
      }
    }
    ahead_ += done - std::min(done, flips);
    return std::min(done, flips);
  }

  const WideCost& best_cost() const { return best_cost_; }
  const std::vector<std::uint8_t>& best() const { return best_.value(); }

 private:
  static constexpr std::uint64_t kPoll = 512;
  static constexpr std::uint64_t kOpen = 256;  // open rows that gain weight in the time of a flip
  static constexpr std::uint32_t kNone = Tournament::kNone;
  static constexpr std::uint64_t kBlocked = 2;  // exchanges in which what was taken is kept

  bool is_taken(std::uint32_t v) const { return value_[v] == dear_[v]; }

  // Everything that follows from the assignment; the weights of rows stay. False if stopped.
  bool begin(const Poll& stopped) {
    open_.clear();
    blocked_now_.clear();
    std::fill(blocked_.begin(), blocked_.end(), 0);
    std::fill(may_return_.begin(), may_return_.end(), 1);
    std::fill(score_.begin(), score_.end(), 0);
    cost_ = WideCost{};
    give_ = false;
    for (std::uint32_t c = 0; c < instance_.num_clauses; ++c) {
      if (stopped(c)) return false;
      if (row_weight_[c] == 0) continue;
      taken_[c] = sum_[c] = 0;
      each_of(c, [&](std::uint32_t v) {
        if (is_taken(v)) ++taken_[c], sum_[c] ^= v;
      });
      if (taken_[c] == 0) {
        open_.add(c);
        each_of(c, [&](std::uint32_t v) { score_[v] += row_weight_[c]; });
      } else if (taken_[c] == 1) {
        score_[sum_[c]] -= row_weight_[c];
      }
    }
    cost_.hard = open_.size();
    to_give_.clear();
    for (std::uint32_t v = 0; v < instance_.num_variables; ++v) {
      if (stopped(v)) return false;
      if (!is_taken(v)) continue;
      cost_.soft += cost_of_[v];
      rank(v);
    }
    best_.wander();
    improve();
    return true;
  }

  void improve() {
    if (!(cost_ < best_cost_)) return;
    best_cost_ = cost_;
    best_.improved(value_);
  }

  // Whether taking v, or nothing, leaves room below the best.
  bool cheap(std::uint64_t more) const {
    return best_cost_.hard != 0 || cost_.soft + more < best_cost_.soft;
  }

  // The variable to flip, or kNone where there is none.
  std::uint32_t next() {
    if (!give_) {
      if (open_.size() != 0) {
        const std::uint32_t x = best_of(open_[pick(random_.next() >> 32, open_.size())]);
        if (x != kNone && cheap(cost_of_[x])) return x;
      }
      give_ = true;
      ++exchanges_;
      while (!blocked_now_.empty() && blocked_now_.front().second < exchanges_) release();
    }
    while (to_give_.first() == kNone && !blocked_now_.empty()) release();
    return to_give_.first();
  }

  std::uint32_t best_of(std::uint32_t row) {
    std::uint32_t found = kNone;
    each_of(row, [&](std::uint32_t v) {
      if (may_return_[v] && (found == kNone || before(v, found))) found = v;
    });
    return found;
  }

  // The score that a variable has for its cost, the older one where they are equal.
  bool before(std::uint32_t a, std::uint32_t b) const {
    const double x = static_cast<double>(score_[a]) * static_cast<double>(cost_of_[b]);
    const double y = static_cast<double>(score_[b]) * static_cast<double>(cost_of_[a]);
    return x != y                             ? x > y
           : flipped_at_[a] != flipped_at_[b] ? flipped_at_[a] < flipped_at_[b]
                                              : a < b;
  }

  void rank(std::uint32_t v) {
    to_give_.set(v, is_taken(v) && !blocked_[v],
                 [this](std::uint32_t a, std::uint32_t b) { return before(a, b); });
  }

  void release() {
    const std::uint32_t v = blocked_now_.front().first;
    blocked_now_.pop_front();
    blocked_[v] = 0;
    rank(v);
  }

  void flip(std::uint32_t x) {
    const bool take = !is_taken(x);
    const std::int64_t score = score_[x];
    value_[x] ^= 1;
    flipped_at_[x] = now_;
    const std::uint32_t l = 2 * x + !dear_[x];  // in rows
    if (take) {
      cost_.soft += cost_of_[x];
      for (std::uint32_t i = instance_.first[l]; i < instance_.first[l + 1]; ++i)
        close(instance_.occurrence[i], x);
      blocked_[x] = 1;
      blocked_now_.emplace_back(x, exchanges_ + kBlocked);
    } else {
      cost_.soft -= cost_of_[x];
      for (std::uint32_t i = instance_.first[l]; i < instance_.first[l + 1]; ++i)
        reopen(instance_.occurrence[i], x);
      may_return_[x] = 0;
    }
    score_[x] = -score;
    rank(x);
    cost_.hard = open_.size();
    if (take)
      for (const std::uint32_t row : open_) {
        ++row_weight_[row];
        each_of(row, [&](std::uint32_t v) { ++score_[v]; });
      }
    else
      give_ = open_.size() == 0 || !cheap(0);
  }

  void close(std::uint32_t row, std::uint32_t x) {
    const std::uint32_t taken = taken_[row]++;
    if (taken == 0) {
      open_.remove(row);
      each_of(row, [&](std::uint32_t v) {
        score_[v] -= row_weight_[row];
        may_return_[v] = 1;
      });
    } else if (taken == 1) {
      score_[sum_[row]] += row_weight_[row];
      rank(sum_[row]);
    }
    sum_[row] ^= x;
  }

  void reopen(std::uint32_t row, std::uint32_t x) {
    const std::uint32_t taken = --taken_[row];
    sum_[row] ^= x;
    if (taken == 0) {
      open_.add(row);
      each_of(row, [&](std::uint32_t v) {
        score_[v] += row_weight_[row];
        may_return_[v] = 1;
      });
    } else if (taken == 1) {
      score_[sum_[row]] -= row_weight_[row];
      rank(sum_[row]);
    }
  }

  template <class Visit>
  void each_of(std::uint32_t row, Visit&& visit) const {
    for (const std::int32_t x : instance_.literals(row)) visit(Clauses::variable(x));
  }

  const Instance& instance_;
  RandomStream random_;
  std::vector<std::uint64_t> cost_of_;            // of a variable that is taken
  std::vector<std::uint8_t> dear_;                // its value then
  std::vector<std::int64_t> score_, row_weight_;  // weights are 0 for soft clauses
  std::vector<std::uint64_t> flipped_at_;
  std::vector<std::uint8_t> may_return_, blocked_, value_;
  std::vector<std::uint32_t> taken_, sum_,
      row_place_;  // of a row: how many are taken, and their xor
  Pool<> open_;
  Tournament to_give_;
  std::deque<std::pair<std::uint32_t, std::uint64_t>> blocked_now_;  // and until which exchange
  BestAssignment best_;
  WideCost cost_, best_cost_{UINT64_MAX, 0};
  bool complete_ = false, begun_ = false, give_ = false;
  std::uint64_t now_ = 0, exchanges_ = 0;
  std::uint64_t ahead_ = 0;  // done beyond what a run was to do
};

}  // namespace hardscape::maxsat
