// Clause weighting as local search of one individual, where clauses do not weigh the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "maxsat/methods/cellular/clause_table.hpp"
#include "maxsat/methods/weighting/weighting.hpp"

namespace hardscape::maxsat {

class WeightingClimber {
 public:
  WeightingClimber(const ClauseTable& table, const volatile std::uint8_t* stop)
      : value_(static_cast<std::size_t>(table.variables)),
        search_(instance_of(table, stop), weights_of(table), hard_of(table), WeightingOptions{}, 0,
                0, nullptr, stop) {}

  // Searches from an assignment of 64 variables a word; the best one met replaces it. Returns what
  // it costs, without empty clauses. What is there when it is stopped is not to be used.
  Cost search(std::uint64_t* words, std::int64_t flips, const RandomStream& random,
              const volatile std::uint8_t* stop) {
    if (!search_.complete()) return {};
    for (std::size_t v = 0; v < value_.size(); ++v) value_[v] = words[v / 64] >> (v % 64) & 1;
    search_.begin_from(value_, random, stop);
    search_.run(static_cast<std::uint64_t>(flips), 0, stop);
    const std::vector<std::uint8_t>& best = search_.best();
    std::fill_n(words, (best.size() + 63) / 64, 0);
    for (std::size_t v = 0; v < best.size(); ++v) {
      words[v / 64] |= static_cast<std::uint64_t>(best[v]) << (v % 64);
    }
    // The sum of all weights fits 64 bits here.
    const WideCost& cost = search_.best_cost();
    return {static_cast<std::int64_t>(cost.hard), static_cast<std::int64_t>(cost.soft)};
  }

 private:
  static Instance instance_of(const ClauseTable& table, const volatile std::uint8_t* stop) {
    std::vector<std::int32_t> literals;
    for (const std::uint32_t l : table.literal) {
      const auto variable = static_cast<std::int32_t>(l >> 1) + 1;
      literals.push_back(l & 1 ? -variable : variable);
    }
    const std::vector<std::int64_t> offsets(table.start.begin(), table.start.end());
    return Instance(static_cast<std::uint32_t>(table.variables), literals.data(), offsets.data(),
                    table.size(), stop);
  }

  // A hard clause has no weight of its own.
  static std::vector<std::uint64_t> weights_of(const ClauseTable& table) {
    std::vector<std::uint64_t> weights;
    for (const Cost& cost : table.weight) weights.push_back(static_cast<std::uint64_t>(cost.soft));
    return weights;
  }

  static std::vector<std::uint8_t> hard_of(const ClauseTable& table) {
    std::vector<std::uint8_t> hard;
    for (const Cost& cost : table.weight) hard.push_back(cost.hard != 0);
    return hard;
  }

  std::vector<std::uint8_t> value_;
  Weighting search_;
};

}  // namespace hardscape::maxsat
