// Hill climbing of one individual, with the gain of every flip kept up to date; for any weights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "maxsat/methods/cellular/clause_table.hpp"

namespace hardscape::maxsat {

class GainClimber {
 public:
  explicit GainClimber(const ClauseTable& table)
      : table_(table),
        value_(table.num_variables),
        gain_(table.num_variables),
        true_(table.num_clauses) {}

  // Starts from an assignment of 64 variables a word; false if stopped.
  bool start(const std::uint64_t* words, const Poll& stopped) {
    unpack(words, value_);
    std::fill(gain_.begin(), gain_.end(), Cost{});
    cost_ = table_.base;
    for (std::uint32_t c = 0; c < table_.num_clauses; ++c) {
      if (stopped(c)) return false;
      true_[c] = 0;
      std::uint32_t last = 0;
      for (const std::int32_t x : table_.literals(c)) {
        if (!holds(x)) continue;
        ++true_[c];
        last = Clauses::variable(x);
      }
      if (true_[c] == 1) gain_[last] -= table_.weight[c];
      if (true_[c] == 0) {
        cost_ += table_.weight[c];
        for_each(c, [&](std::uint32_t v) { gain_[v] += table_.weight[c]; });
      }
    }
    return true;
  }

  // Climbs for `passes` passes; returns whether the last one still improved.
  bool climb(std::int64_t passes, const Poll& stopped) {
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      bool improved = false;
      for (std::uint32_t v = 0; v < table_.num_variables; ++v) {
        if (stopped(v)) return false;
        if (!gain_[v].positive()) continue;
        flip(v);
        improved = true;
      }
      if (!improved) return false;
      if (pass + 1 == passes) return true;
    }
    return false;
  }

  const Cost& cost() const { return cost_; }

  const std::vector<std::uint8_t>& value() const { return value_; }

 private:
  bool holds(std::int32_t x) const { return value_[Clauses::variable(x)] == (x > 0); }

  template <class Body>
  void for_each(std::uint32_t clause, Body&& body) const {
    for (const std::int32_t x : table_.literals(clause)) body(Clauses::variable(x));
  }

  // The variable whose literal alone satisfies a clause.
  std::uint32_t critical(std::uint32_t clause) const {
    const std::int32_t* x = table_.literals(clause).data();
    while (!holds(*x)) ++x;
    return Clauses::variable(*x);
  }

  void flip(std::uint32_t v) {
    cost_ -= gain_[v];
    const std::uint32_t was = 2 * v + (value_[v] ? 0 : 1);
    // Before the flip `critical` finds the other literal of a clause that gains v's; after it, the
    // one that is left where v's is lost.
    for (std::size_t i = table_.first[was ^ 1]; i < table_.first[(was ^ 1) + 1]; ++i) {
      const std::size_t c = table_.occurrence[i];
      const Cost& w = table_.weight[c];
      if (true_[c] == 0) {
        for_each(c, [&](std::uint32_t u) { gain_[u] -= w; });
        gain_[v] -= w;
      } else if (true_[c] == 1) {
        gain_[critical(c)] += w;
      }
      ++true_[c];
    }
    value_[v] ^= 1;
    for (std::size_t i = table_.first[was]; i < table_.first[was + 1]; ++i) {
      const std::size_t c = table_.occurrence[i];
      const Cost& w = table_.weight[c];
      --true_[c];
      if (true_[c] == 0) {
        gain_[v] += w;
        for_each(c, [&](std::uint32_t u) { gain_[u] += w; });
      } else if (true_[c] == 1) {
        gain_[critical(c)] -= w;
      }
    }
  }

  const ClauseTable& table_;
  std::vector<std::uint8_t> value_;
  std::vector<Cost> gain_;           // what a flip of each variable takes off the cost
  std::vector<std::uint32_t> true_;  // true literals of each clause
  Cost cost_;
};

}  // namespace hardscape::maxsat
