// Clauses as local search reads them. Literal 2 v is variable v, 2 v + 1 its negation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/methods/cellular/genetics.hpp"

namespace hardscape::maxsat {

struct ClauseTable {
  int variables = 0;
  std::vector<std::uint32_t> literal;    // of all clauses, one after the other
  std::vector<std::size_t> start;        // of each clause in `literal`, and the end
  std::vector<Cost> weight;              // of each clause
  std::vector<std::uint32_t> occurs;     // clauses of each literal, one literal after the other
  std::vector<std::size_t> occurs_from;  // of each literal in `occurs`, and the end
  Cost base;                             // of empty clauses, which nothing satisfies
  bool complete = false;                 // false where it was stopped: not to be used

  ClauseTable() = default;

  // Literals are signed numbers as in DIMACS. Repeated ones count once, and clauses that hold a
  // variable and its negation are left out.
  ClauseTable(int n, const std::int32_t* dimacs, const std::int64_t* offsets,
              const std::int64_t* weights, const std::uint8_t* hard, std::size_t clauses,
              const Poll& stopped)
      : variables(n) {
    literal.reserve(static_cast<std::size_t>(offsets[clauses]));
    start.reserve(clauses + 1);
    weight.reserve(clauses);
    start.push_back(0);
    std::vector<std::uint32_t> clause;
    for (std::size_t c = 0; c < clauses; ++c) {
      if (stopped(c)) return;
      clause.clear();
      for (std::int64_t i = offsets[c]; i < offsets[c + 1]; ++i) {
        clause.push_back(2 * static_cast<std::uint32_t>(std::abs(dimacs[i]) - 1) + (dimacs[i] < 0));
      }
      std::sort(clause.begin(), clause.end());
      clause.erase(std::unique(clause.begin(), clause.end()), clause.end());
      const bool always = std::adjacent_find(clause.begin(), clause.end(), [](auto a, auto b) {
                            return (a ^ b) == 1;
                          }) != clause.end();
      if (always) continue;
      const Cost cost = hard[c] ? Cost{1, 0} : Cost{0, weights[c]};
      if (clause.empty()) {
        base += cost;
        continue;
      }
      literal.insert(literal.end(), clause.begin(), clause.end());
      start.push_back(literal.size());
      weight.push_back(cost);
    }
    complete = index(stopped);
  }

  std::size_t size() const { return weight.size(); }

  // Whether all clauses weigh the same, so that counting them is enough.
  bool uniform() const {
    return std::all_of(weight.begin(), weight.end(), [&](const Cost& w) {
      return w.hard == weight.front().hard && w.soft == weight.front().soft;
    });
  }

 private:
  // Where each literal occurs; false if stopped.
  bool index(const Poll& stopped) {
    if (!extend(occurs_from, 2 * static_cast<std::size_t>(variables) + 1, stopped)) return false;
    for (const std::uint32_t l : literal) ++occurs_from[l + 1];
    for (std::size_t l = 0; l + 1 < occurs_from.size(); ++l) occurs_from[l + 1] += occurs_from[l];
    if (!extend(occurs, literal.size(), stopped)) return false;
    std::vector<std::size_t> next(occurs_from.begin(), occurs_from.end() - 1);
    for (std::size_t c = 0; c < size(); ++c) {
      if (stopped(c)) return false;
      for (std::size_t i = start[c]; i < start[c + 1]; ++i) {
        occurs[next[literal[i]]++] = static_cast<std::uint32_t>(c);
      }
    }
    return true;
  }
};

}  // namespace hardscape::maxsat
