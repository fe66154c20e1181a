// Wishes that exclude one another in pairs, as far as unit propagation tells, and cliques of them,
// of which at most one member can hold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "maxsat/methods/hitting/propagation.hpp"

namespace hardscape::maxsat {

class Exclusions {
 public:
  struct Clique {
    std::vector<std::int32_t> members;
    std::uint64_t paid = 0;  // what the least of them weighs
  };

  // The first `looked` wishes are asked what they imply; the others imply nothing by themselves.
  Exclusions(std::uint32_t variables, std::vector<std::int32_t> wishes, std::size_t looked)
      : wishes_(std::move(wishes)),
        looked_(looked),
        others_(wishes_.size()),
        place_(2 * variables) {
    propagation_.prepare(variables);
    for (std::size_t i = 0; i < wishes_.size(); ++i)
      place_[code(wishes_[i]) ^ 1] = static_cast<std::uint32_t>(i) + 1;
  }

  // Takes a clause, before the first wish is looked at.
  void take(std::span<const std::int32_t> clause) {
    clause_.clear();
    for (const std::int32_t x : clause) clause_.push_back(code(x));
    contradicted_ = contradicted_ || !propagation_.add(clause_);
  }

  // Looks at so many more; whether some are left.
  bool run(std::size_t count) {
    contradicted_ = contradicted_ || propagation_.propagate() != Propagation::kNone;
    for (; count > 0 && next_ < looked_ && !contradicted_; --count) look(next_++);
    return next_ < looked_ && !contradicted_;
  }

  // Those that cannot hold, once no more are looked at: what excludes another one is excluded by
  // it from now on.
  std::vector<std::int32_t> close() {
    std::vector<std::int32_t> refuted;
    for (const std::uint32_t i : refuted_) {
      refuted.push_back(wishes_[i]);
      others_[i].clear();
    }
    // What each is excluded by, and what it excludes, in order.
    Lists by = transposed(others_);
    for (const std::uint32_t i : refuted_) by[i].clear();
    const Lists told = transposed(by);
    for (std::size_t i = 0; i < by.size(); ++i) {
      others_[i].clear();
      std::set_union(by[i].begin(), by[i].end(), told[i].begin(), told[i].end(),
                     std::back_inserter(others_[i]));
    }
    return refuted;
  }

  std::size_t pairs() const { return pairs_; }
  const std::vector<std::int32_t>& wishes() const { return wishes_; }
  const std::vector<std::uint32_t>& others(std::size_t i) const { return others_[i]; }

  // Greedy ones among wishes of these weights: around those first that exclude few others (1), or
  // many (-1), or as they are given (0), where what belongs together stands together.
  std::vector<Clique> cliques(std::vector<std::uint64_t> left, int order_by) const {
    using Entry = std::pair<std::int64_t, std::uint32_t>;
    std::vector<std::int64_t> degree(wishes_.size());
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> order;
    const auto rank = [&](std::uint32_t i) { return order_by * degree[i]; };
    for (std::uint32_t i = 0; i < wishes_.size(); ++i) {
      degree[i] = static_cast<std::int64_t>(others_[i].size());
      if (degree[i] && left[i]) order.emplace(rank(i), i);
    }
    std::vector<Clique> found;
    std::vector<std::uint32_t> met(wishes_.size()), members, common;
    while (!order.empty()) {
      const auto [at, first] = order.top();
      order.pop();
      if (at != rank(first) || !left[first]) continue;
      members.assign(1, first);
      common = others_[first];
      std::stable_sort(common.begin(), common.end(),
                       [&](std::uint32_t a, std::uint32_t b) { return rank(a) < rank(b); });
      for (const std::uint32_t i : common) met[i] = 1;
      for (const std::uint32_t i : common) {
        if (met[i] < members.size() || !left[i]) continue;
        members.push_back(i);
        for (const std::uint32_t other : others_[i]) met[other] += met[other] > 0;
      }
      for (const std::uint32_t i : common) met[i] = 0;
      if (members.size() == 1) continue;
      found.push_back(paid(members, left));
      common.assign(1, first);  // those that stand elsewhere now
      for (const std::uint32_t i : members)
        for (const std::uint32_t other : others_[i]) {
          if (left[i] || !left[other]) continue;
          --degree[other];
          if (met[other]++ == 0) common.push_back(other);
        }
      for (const std::uint32_t i : common) {
        met[i] = 0;
        if (left[i]) order.emplace(rank(i), i);
      }
    }
    return found;
  }

 private:
  using Lists = std::vector<std::vector<std::uint32_t>>;

  // Who is in the list of whom, each once, in order.
  static Lists transposed(const Lists& lists) {
    Lists found(lists.size());
    for (std::uint32_t i = 0; i < lists.size(); ++i)
      for (const std::uint32_t other : lists[i]) found[other].push_back(i);
    return found;
  }

  static std::uint32_t code(std::int32_t x) {
    return 2 * static_cast<std::uint32_t>(x < 0 ? -x : x) - 2 + (x < 0);
  }

  void look(std::size_t i) {
    const std::uint32_t l = code(wishes_[i]);
    if (propagation_.holds(l)) return;
    if (propagation_.open(l)) {
      const std::size_t before = propagation_.trail().size();
      propagation_.decide(l);
      const bool possible = propagation_.propagate() == Propagation::kNone;
      if (possible)
        for (const std::uint32_t implied : propagation_.trail().subspan(before))
          if (const std::uint32_t other = place_[implied]; other > 0)
            others_[i].push_back(other - 1);
      pairs_ += others_[i].size();
      propagation_.back(0);
      if (possible) return;
      const std::uint32_t unit[] = {l ^ 1};
      contradicted_ = !propagation_.add(unit) || propagation_.propagate() != Propagation::kNone;
    }
    refuted_.push_back(static_cast<std::uint32_t>(i));
  }

  Clique paid(std::span<const std::uint32_t> members, std::vector<std::uint64_t>& left) const {
    Clique clique;
    clique.paid = UINT64_MAX;
    for (const std::uint32_t i : members) {
      clique.members.push_back(wishes_[i]);
      clique.paid = std::min(clique.paid, left[i]);
    }
    for (const std::uint32_t i : members) left[i] -= clique.paid;
    return clique;
  }

  Propagation propagation_;
  std::vector<std::int32_t> wishes_;
  std::size_t looked_, next_ = 0, pairs_ = 0;
  bool contradicted_ = false;         // the clauses, which others will find
  Lists others_;                      // that each one excludes, by their places
  std::vector<std::uint32_t> place_;  // of the wish that a literal denies, from 1 on
  std::vector<std::uint32_t> refuted_, clause_;
};

}  // namespace hardscape::maxsat
