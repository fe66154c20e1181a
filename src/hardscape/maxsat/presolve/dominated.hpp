// Labels that others do for, as dominated sets of a cover: subsumed labels, and those subsumed by a
// group (T. Korhonen, J. Berg, P. Saikko and M. Jarvisalo, SAT 2017). A label is a literal whose
// negation is in nothing but a soft unit, whose weight it costs where it holds. A group may hold in
// its place where each of its clauses has one of them, and they cost no more together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/presolve/left.hpp"

namespace hardscape::maxsat {

class Dominated {
 public:
  // Looks at so many literals at most, and takes them from `looks`.
  Dominated(Left& left, std::size_t& looks, const Poll& stopped)
      : left_(left), looks_(looks), stopped_(stopped) {}

  // Says who is to hold in place of whom, and adds labels that may be taken to be false as hard
  // units. False if stopped on the way.
  bool run(Links& links) {
    if (left_.literals.size() > kMost || !find_labels() || !find_clauses()) return !stopped_(0);
    for (std::uint32_t x = 0; x < cost_.size() && looks_ > 0; ++x) {
      if (stopped_(x)) return false;
      if (!of(x).empty() && replaced(x)) leave(x);
    }
    if (!changes()) return true;
    links.append(found_);
    for (const std::uint32_t x : gone_) {
      left_.literals.push_back(Clauses::literal(x ^ 1));
      left_.end(0, 1);
    }
    return true;
  }

  // Whether clauses have changed: not for the sake of few variables.
  bool changes() const { return !gone_.empty() && enough(std::ssize(gone_)); }

 private:
  bool is_wish(std::size_t c) const { return left_.length(c) == 1 && !left_.hard[c]; }

  bool enough(std::ptrdiff_t labels) const {
    return kNoticed * static_cast<std::size_t>(labels) >= left_.original.size();
  }

  // Acts on all clauses but soft units; false if stopped.
  template <class Act>
  bool each_clause(Act&& act) {
    for (std::size_t c = 0; c < left_.clauses(); ++c) {
      if (stopped_(c)) return false;
      if (!is_wish(c)) act(c);
    }
    return true;
  }

  // Acts on the literals of a clause.
  template <class Act>
  void each(std::size_t c, Act&& act) const {
    for (std::size_t k = 0; k < left_.length(c); ++k) act(left_.code(c, k));
  }

  // What each label costs, and other literals nothing; false if there are few, or stopped.
  bool find_labels() {
    cost_.assign(2 * left_.original.size(), 0);
    for (std::size_t c = 0; c < left_.clauses(); ++c) {
      if (!is_wish(c)) continue;
      std::int64_t& cost = cost_[left_.code(c, 0) ^ 1];
      cost =
          cost == 0 ? left_.weights[c] : kNone;  // several would weigh more than one number holds
    }
    if (!each_clause([&](std::size_t c) { each(c, [&](std::uint32_t l) { cost_[l ^ 1] = 0; }); }))
      return false;
    return enough(std::ranges::count_if(cost_, [](std::int64_t cost) { return cost > 0; }));
  }

  // Clauses of the labels for which, in each of them, some other one would do; false as above.
  bool find_clauses() {
    std::vector<std::uint8_t> alone(cost_.size());
    if (!each_clause([&](std::size_t c) {
          std::int64_t least = kNever, next = kNever;
          each(c, [&](std::uint32_t l) {
            if (cost_[l] > 0) next = std::min(next, std::max(least, cost_[l]));
            if (cost_[l] > 0) least = std::min(least, cost_[l]);
          });
          each(c,
               [&](std::uint32_t l) { alone[l] |= cost_[l] < (cost_[l] == least ? next : least); });
        }))
      return false;
    first_.assign(cost_.size() + 1, 0);
    const auto each_of_some = [&](auto&& act) {
      return each_clause([&](std::size_t c) {
        each(c, [&](std::uint32_t l) {
          if (cost_[l] > 0 && !alone[l]) act(c, l);
        });
      });
    };
    if (!each_of_some([&](std::size_t, std::uint32_t l) { ++first_[l + 1]; })) return false;
    if (!enough(std::ranges::count_if(first_, [](std::uint32_t n) { return n > 0; }))) return false;
    for (std::size_t l = 0; l < cost_.size(); ++l) first_[l + 1] += first_[l];
    clause_.resize(first_.back());
    times_.assign(cost_.size(), 0);
    std::vector<std::uint32_t> at(first_.begin(), first_.end() - 1);
    return each_of_some(
        [&](std::size_t c, std::uint32_t l) { clause_[at[l]++] = static_cast<std::uint32_t>(c); });
  }

  // The clauses of a label.
  std::span<const std::uint32_t> of(std::uint32_t l) const {
    return {clause_.data() + first_[l], clause_.data() + first_[l + 1]};
  }

  // Whether a group, which is then known, does for a label.
  bool replaced(std::uint32_t x) {
    group_.clear();
    bare_.assign(of(x).begin(), of(x).end());
    for (std::int64_t rest = cost_[x]; !bare_.empty();) {
      const std::uint32_t y = most_for_its_cost(x, rest);
      if (y == kNobody) return false;
      rest -= cost_[y];
      group_.push_back(y);
      std::erase_if(bare_, [&](std::uint32_t c) {
        bool has = false;
        each(c, [&](std::uint32_t l) { has |= l == y; });
        return has;
      });
    }
    return true;
  }

  // Who is in most clauses that have none of the group yet, each by its cost; who is in all of them
  // before others. None where all cost too much.
  std::uint32_t most_for_its_cost(std::uint32_t x, std::int64_t rest) {
    met_.clear();
    for (const std::uint32_t c : bare_) {
      looks_ -= std::min(looks_, left_.length(c));
      each(c, [&](std::uint32_t y) {
        if (y != x && cost_[y] > 0 && cost_[y] <= rest && ++times_[y] == 1) met_.push_back(y);
      });
    }
    std::uint32_t best = kNobody;
    for (const std::uint32_t y : met_)
      if (best == kNobody || better(y, best)) best = y;
    for (const std::uint32_t y : met_) times_[y] = 0;
    return best;
  }

  bool better(std::uint32_t a, std::uint32_t b) const {
    const bool all = times_[a] == bare_.size();
    if (all != (times_[b] == bare_.size())) return all;
    const auto for_cost = [&](std::uint32_t y, std::uint32_t other) {
      return static_cast<unsigned __int128>(times_[y]) * static_cast<std::uint64_t>(cost_[other]);
    };
    return for_cost(a, b) > for_cost(b, a);
  }

  void leave(std::uint32_t x) {
    cost_[x] = 0;  // does for nobody
    gone_.push_back(x);
    for (const std::uint32_t y : group_) {
      found_.moves.push_back(left_.named(y));
      found_.moves.push_back(left_.named(x));
    }
  }

  static constexpr std::uint32_t kNobody = UINT32_MAX;
  static constexpr std::int64_t kNone = -1, kNever = INT64_MAX;
  static constexpr std::size_t kMost = 2'000'000;  // literals of a formula that is looked at
  static constexpr std::size_t kNoticed = 100;     // one in so many variables

  Left& left_;
  std::size_t& looks_;
  Poll stopped_;
  std::vector<std::int64_t> cost_;
  std::vector<std::uint32_t> first_, clause_;             // clauses of each label that is looked at
  std::vector<std::uint32_t> times_;                      // in how many of some clauses each is
  std::vector<std::uint32_t> gone_, group_, bare_, met_;  // bare: clauses without any of the group
  Links found_;
};

}  // namespace hardscape::maxsat
