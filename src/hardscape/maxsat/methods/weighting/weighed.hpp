// Clauses under search weights, apart from what they cost, and what follows from an assignment: the
// clauses that it violates, their cost, and the score of each variable, which is the search weight
// that its flip would satisfy less that it would violate.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/methods/weighting/pool.hpp"
#include "maxsat/walker.hpp"

namespace hardscape::maxsat {

// `Score` holds twice the search weights of a variable's clauses.
template <class States, class Score>
class WeighedClauses {
 public:
  std::vector<std::uint8_t> value;   // the assignment
  WideCost cost;                     // of it
  States state;                      // each clause under it
  std::vector<std::uint32_t> place;  // of each variable among the good ones
  Pool<States::kWords> violated_hard{state.table}, violated_soft{state.table};
  Pool<> good{place};                // variables of positive score
  std::vector<std::uint32_t> fresh;  // soft clauses violated since it was emptied, where `notes`
  bool notes = false;

  // What is given, `weight` and `hard` of each clause, must outlive it.
  WeighedClauses(const Instance& instance, const std::int64_t* weight, const std::uint8_t* hard)
      : state(instance), instance_(instance), weight_(weight), hard_(hard) {}

  // The pools refer to its own tables.
  WeighedClauses(const WeighedClauses&) = delete;
  WeighedClauses& operator=(const WeighedClauses&) = delete;

  // Makes room; false if stopped.
  bool prepare(const Poll& stopped) {
    const std::size_t m = instance_.num_clauses, n = instance_.num_variables;
    return extend(state.weight, m, stopped) && extend(state.table, States::kWords * m, stopped) &&
           extend(score_, n, stopped) && extend(place, n, stopped);
  }

  // All that follows from the assignment, with such search weights; false if stopped.
  template <class First>
  bool begin(First&& first, const Poll& stopped) {
    cost = WideCost{};
    violated_hard.clear();
    violated_soft.clear();
    good.clear();
    fresh.clear();
    std::fill(score_.begin(), score_.end(), 0);
    for (std::uint32_t c = 0; c < instance_.num_clauses; ++c) {
      if (stopped(c)) return false;
      set_weight(c, first(c));
      state.clear(c);
      for (const std::int32_t x : instance_.literals(c)) {
        const std::uint32_t v = Clauses::variable(x);
        if (value[v] != (x > 0)) continue;
        state.gain(c, v);
      }
      if (state.trues(c) == 0) {
        violate(c);
        for (const std::int32_t x : instance_.literals(c))
          score_[Clauses::variable(x)] += weight_of(c);
      } else if (state.trues(c) == 1) {
        score_[state.sum(c)] -= weight_of(c);
      }
    }
    for (std::uint32_t v = 0; v < instance_.num_variables; ++v)
      if (score_[v] > 0) good.add(v);
    return true;
  }

  std::int64_t score(std::uint32_t v) const { return score_[v]; }
  std::int64_t weight_of(std::uint32_t c) const { return state.weight[c]; }

  void flip(std::uint32_t x) {
    value[x] ^= 1;
    const std::uint32_t l = 2 * x + !value[x];  // true from now on
    const std::int64_t before = score_[x];
    for (std::uint32_t i = instance_.first[l]; i < instance_.first[l + 1]; ++i) {
      const std::uint32_t c = instance_.occurrence[i];
      const std::uint32_t trues = state.trues(c);
      if (trues == 1) {
        change_score(state.sum(c), weight_of(c));
      } else if (trues == 0) {
        satisfy(c);
        add_to_all(c, -weight_of(c));
        state.clear(c);  // of its place among the violated ones
      }
      state.gain(c, x);
    }
    for (std::uint32_t i = instance_.first[l ^ 1]; i < instance_.first[(l ^ 1) + 1]; ++i) {
      const std::uint32_t c = instance_.occurrence[i];
      state.lose(c, x);
      const std::uint32_t trues = state.trues(c);
      if (trues == 1) {
        change_score(state.sum(c), -weight_of(c));
      } else if (trues == 0) {
        violate(c);
        add_to_all(c, weight_of(c));
      }
    }
    change_score(x, -before - std::int64_t{score_[x]});
  }

  // Has a clause have another search weight.
  void change_weight(std::uint32_t c, std::int64_t weight) {
    const std::int64_t before = weight_of(c);
    set_weight(c, weight);
    const std::int64_t by = weight_of(c) - before;
    if (state.trues(c) == 0)
      add_to_all(c, by);
    else if (state.trues(c) == 1)
      change_score(state.sum(c), -by);
  }

 private:
  void set_weight(std::uint32_t c, std::int64_t weight) {
    using Kept = typename decltype(state.weight)::value_type;
    state.weight[c] = static_cast<Kept>(std::min(weight, States::kMostWeight));
  }

  void violate(std::uint32_t c) {
    if (hard_[c]) {
      violated_hard.add(c);
      ++cost.hard;
    } else {
      violated_soft.add(c);
      cost.soft += static_cast<std::uint64_t>(weight_[c]);
      if (notes) fresh.push_back(c);
    }
  }

  void satisfy(std::uint32_t c) {
    if (hard_[c]) {
      violated_hard.remove(c);
      --cost.hard;
    } else {
      violated_soft.remove(c);
      cost.soft -= static_cast<std::uint64_t>(weight_[c]);
    }
  }

  void change_score(std::uint32_t v, std::int64_t by) {
    const bool was = score_[v] > 0;
    score_[v] += static_cast<Score>(by);
    const bool is = score_[v] > 0;
    if (was == is) return;
    if (is)
      good.add(v);
    else
      good.remove(v);
  }

  void add_to_all(std::uint32_t c, std::int64_t by) {
    for (const std::int32_t x : instance_.literals(c)) change_score(Clauses::variable(x), by);
  }

  const Instance& instance_;
  const std::int64_t* weight_;
  const std::uint8_t* hard_;
  std::vector<Score> score_;
};

}  // namespace hardscape::maxsat
