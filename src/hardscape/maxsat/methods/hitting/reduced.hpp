// Branch and bound by what a linear program says of its variables and rows. With a vertex x*, a
// reduced cost c of each variable and a multiplier q of each row, of whose literals at least k
// hold,
//   cost = least + sum of |c| where x differs from x* + sum of q (literals that hold beyond k),
// so what may be spent above the least decides most variables, and soon all that is left of some
// rows. All of it is rounded: it says what is tried, and proves nothing.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "maxsat/methods/hitting/propagation.hpp"
#include "maxsat/methods/hitting/rows.hpp"

namespace hardscape::maxsat {

// What the program says of its variables and rows, the literals that were held in it, and what
// assignments that keep these cost at least.
struct Vertex {
  std::span<const double> value, reduced, multiplier;
  std::span<const std::uint32_t> held;
  double least;
};

class ReducedCosts {
 public:
  ReducedCosts(Propagation& propagation, const Rows& rows)
      : propagation_(propagation), rows_(rows) {}

  // Whether all was tried that costs no more than `most`, little above the least first, then twice
  // as much, within some nodes each. Variables near to a half are decided in the order of their
  // distance from a whole number times `weight`. Costs are multiples of `step`, but for `nothing`.
  // `offer` takes the propagation's values, an assignment, and says what the best one costs. Begins
  // and ends at level 0.
  template <class Offer>
  bool look(const Vertex& vertex, std::span<const double> weight, double most, double step,
            double nothing, const Offer& offer) {
    take(vertex, weight, nothing);
    const auto spare = [&] { return most - vertex.least + nothing; };
    const auto offered = [&] {
      most = std::min(most, offer() - step);
      return spare();
    };
    const double next = std::ceil((vertex.least - nothing) / step) * step - vertex.least;
    double budget = std::max(next + nothing, spare() * kFirst);
    for (; spare() >= 0; budget *= 2) {
      if (!search(std::min(budget, spare()), offered)) return false;
      if (budget >= spare()) break;
    }
    return true;
  }

  // Looks at variables and rows, in literals assigned.
  std::uint64_t looked() const { return looked_; }

 private:
  // How far from a whole number a value may lie; what is spent at first, of all that may be; nodes
  // before more is spent.
  static constexpr double kWhole = 1e-6, kFirst = 1.0 / 16;
  static constexpr std::size_t kNodes = 500;
  static constexpr std::uint64_t kLooks = 32;  // in the time of an assignment

  struct Paid {  // a row
    std::uint32_t row;
    double multiplier;
    std::uint32_t least, holds;
  };
  struct Branch {
    std::uint32_t literal, level;
    std::size_t counted, at;  // of the trail and of the order
    double spent;
    bool other;  // whether its negation is tried
  };

  void take(const Vertex& vertex, std::span<const double> weight, double nothing) {
    const std::size_t variables = vertex.value.size();
    held_ = vertex.held;
    price_.resize(variables);
    prefers_.resize(variables);
    order_.resize(variables);
    part_.resize(variables);
    std::iota(order_.begin(), order_.end(), 0u);
    for (std::size_t v = 0; v < variables; ++v) {
      prefers_[v] = vertex.value[v] >= 0.5;
      price_[v] = std::abs(vertex.reduced[v]);
      part_[v] = std::abs(vertex.value[v] - prefers_[v]);
      part_[v] = part_[v] > kWhole ? part_[v] * weight[v] : 0;
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](auto a, auto b) { return part_[a] > part_[b]; });
    of_.resize(2 * variables);
    for (std::vector<std::uint32_t>& rows : of_) rows.clear();
    paid_.clear();
    for (std::uint32_t r = 0; r < vertex.multiplier.size(); ++r) {
      if (vertex.multiplier[r] <= nothing) continue;
      for (const std::uint32_t l : rows_[r])
        of_[l].push_back(static_cast<std::uint32_t>(paid_.size()));
      paid_.push_back({r, vertex.multiplier[r], rows_.least[r], 0});
    }
  }

  // Whether all that spends no more was tried; what is `offered` says what may be spent from then
  // on.
  template <class Offered>
  bool search(double budget, const Offered& offered) {
    std::size_t nodes = kNodes;
    budget_ = budget;
    branches_.clear();
    bool possible = hold();
    for (;;) {
      possible = possible && settle();
      if (possible) {
        std::size_t at = branches_.empty() ? 0 : branches_.back().at;
        while (at < order_.size() && !propagation_.open(2 * order_[at])) ++at;
        if (at < order_.size()) {
          if (nodes-- == 0) break;
          const std::uint32_t l = preferred(order_[at]);
          branches_.push_back({l, propagation_.level(), counted_, at, spent_, false});
          propagation_.decide(l);
          continue;
        }
        budget_ = std::min(budget_, offered());
      }
      while (!branches_.empty() && branches_.back().other) branches_.pop_back();
      if (branches_.empty()) break;
      Branch& last = branches_.back();
      last.other = possible = true;
      back(last.level, last.counted, last.spent);
      propagation_.decide(last.literal ^ 1);
    }
    back(0, 0, 0);
    return branches_.empty();
  }

  std::uint32_t preferred(std::uint32_t v) const { return 2 * v + !prefers_[v]; }

  bool hold() {
    for (const std::uint32_t l : held_) {
      if (propagation_.fails(l)) return false;
      if (propagation_.open(l)) propagation_.decide(l);
    }
    return true;
  }

  // Follows the clauses, and what may still be spent; false where they contradict one another.
  bool settle() {
    do {
      if (propagation_.propagate() != Propagation::kNone || !count()) return false;
      looked_ += 1 + (order_.size() + paid_.size()) / kLooks;
    } while (keep_variables() || keep_rows());
    return true;
  }

  // Decides the variables that are too dear to differ; whether there were any.
  bool keep_variables() {
    const std::uint32_t before = propagation_.level();
    for (const std::uint32_t v : order_)
      if (price_[v] > budget_ - spent_ && propagation_.open(2 * v))
        propagation_.decide(preferred(v));
    return propagation_.level() > before;
  }

  // Denies what is left of rows of which no more may hold; whether there were any.
  bool keep_rows() {
    const std::uint32_t before = propagation_.level();
    for (const Paid& paid : paid_) {
      if (paid.multiplier <= budget_ - spent_ || paid.holds != paid.least) continue;
      for (const std::uint32_t l : rows_[paid.row])
        if (propagation_.open(l)) propagation_.decide(l ^ 1);
    }
    return propagation_.level() > before;
  }

  // Counts what was assigned; false where that is too much.
  bool count() {
    const auto trail = propagation_.trail();
    for (; counted_ < trail.size(); ++counted_) {
      const std::uint32_t l = trail[counted_];
      if (l != preferred(l >> 1)) spent_ += price_[l >> 1];
      for (const std::uint32_t i : of_[l])
        if (++paid_[i].holds > paid_[i].least) spent_ += paid_[i].multiplier;
    }
    return spent_ <= budget_;
  }

  void back(std::uint32_t level, std::size_t counted, double spent) {
    const auto trail = propagation_.trail();
    while (counted_ > counted)
      for (const std::uint32_t i : of_[trail[--counted_]]) --paid_[i].holds;
    spent_ = spent;
    propagation_.back(level);
  }

  Propagation& propagation_;
  const Rows& rows_;
  std::span<const std::uint32_t> held_;
  std::vector<double> price_, part_;  // of each variable, where it differs; from a whole value
  std::vector<std::uint8_t> prefers_;
  std::vector<std::uint32_t> order_;
  std::vector<std::vector<std::uint32_t>> of_;  // rows that are paid, of each literal
  std::vector<Paid> paid_;
  std::vector<Branch> branches_;
  std::size_t counted_ = 0;  // of the trail
  double spent_ = 0, budget_ = 0;
  std::uint64_t looked_ = 0;
};

}  // namespace hardscape::maxsat
