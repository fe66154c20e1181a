// The best assignment of a search, and the one that it goes on from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/methods/hitting/wishes.hpp"
#include "maxsat/methods/weighting/pool.hpp"

namespace hardscape::maxsat {

class Assignments {
 public:
  // Of a formula and its wishes, which must outlive this.
  Assignments(const Instance& instance, const std::int64_t* weight, const std::uint8_t* hard,
              const Wishes& wishes)
      : instance_(instance), weight_(weight), hard_(hard), wishes_(wishes) {}

  const WideCost& best_cost() const { return best_cost_; }
  const std::vector<std::uint8_t>& best() const { return best_; }
  // The one that is gone on from, and the wishes that it satisfies: none before there is one.
  const std::vector<std::uint8_t>& current() const { return current_; }
  const std::vector<std::uint8_t>& satisfied() const { return satisfied_; }

  // Keeps the best, and goes on from what costs no more than the last such one, or whatever it
  // costs. Whether it is better than the best one was, and whether it is as good.
  struct Quality {
    bool better, good;
  };
  Quality offer(const std::uint8_t* value, bool anyway) {
    WideCost cost{};
    for (std::uint32_t c = 0; c < instance_.num_clauses; ++c) {
      if (holds(c, value)) continue;
      if (hard_[c])
        ++cost.hard;
      else
        cost.soft += static_cast<std::uint64_t>(weight_[c]);
    }
    const Quality quality{cost < best_cost_, !(best_cost_ < cost)};
    if (quality.better) {
      best_cost_ = cost;
      best_.assign(value, value + instance_.num_variables);
    }
    if (current_cost_ < cost && !anyway) return quality;
    current_cost_ = cost;
    current_.assign(value, value + instance_.num_variables);
    satisfied_.resize(wishes_.size());
    for (std::uint32_t w = 0; w < wishes_.size(); ++w)
      satisfied_[w] = holds(wishes_.clause[w], value);
    return quality;
  }

 private:
  bool holds(std::uint32_t c, const std::uint8_t* value) const {
    const auto literals = instance_.literals(c);
    return std::any_of(literals.begin(), literals.end(),
                       [&](auto x) { return value[Clauses::variable(x)] == (x > 0); });
  }

  const Instance& instance_;
  const std::int64_t* weight_;
  const std::uint8_t* hard_;
  const Wishes& wishes_;
  std::vector<std::uint8_t> best_, current_, satisfied_;
  WideCost best_cost_{UINT64_MAX, 0}, current_cost_{UINT64_MAX, 0};
};

}  // namespace hardscape::maxsat
