// Clauses of a formula as it was given, as local search reads them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/methods/cellular/genetics.hpp"

namespace hardscape::maxsat {

// Repeated literals count once; clauses that hold a variable and its negation are left out.
struct ClauseTable : Instance {
  std::vector<Cost> weight;  // of each clause
  Cost base;                 // of empty clauses, which nothing satisfies

  ClauseTable() = default;
  ClauseTable(const Clauses& given, const Poll& stopped) {
    weight.reserve(given.count);
    fill(given, stopped, [&](std::size_t c) {
      const std::size_t before = clause.size();
      if (!given.append(c, clause)) return false;
      const Cost cost = given.hard[c] ? Cost{1, 0} : Cost{0, given.weights[c]};
      const bool empty = clause.size() == before;
      if (empty)
        base += cost;
      else
        weight.push_back(cost);
      return !empty;
    });
  }

  // Whether all clauses weigh the same, so that counting them is enough.
  bool alike() const {
    return std::all_of(weight.begin(), weight.end(), [&](const Cost& w) {
      return w.hard == weight.front().hard && w.soft == weight.front().soft;
    });
  }
};

}  // namespace hardscape::maxsat
