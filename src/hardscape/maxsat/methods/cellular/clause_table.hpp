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
    literals_.reserve(static_cast<std::size_t>(given.offsets[given.count]));
    for (std::size_t c = 0; c < given.count; ++c) {
      if (stopped(c)) return;
      take(given, c);
    }
    Instance::operator=({{given.variables, literals_, starts_}, stopped});
  }
  ClauseTable(ClauseTable&&) = default;
  ClauseTable& operator=(ClauseTable&&) = default;

  // Whether all clauses weigh the same, so that counting them is enough.
  bool alike() const {
    return std::all_of(weight.begin(), weight.end(), [&](const Cost& w) {
      return w.hard == weight.front().hard && w.soft == weight.front().soft;
    });
  }

 private:
  void take(const Clauses& given, std::size_t c) {
    if (!given.append(c, codes_)) return;
    const Cost cost = given.hard[c] ? Cost{1, 0} : Cost{0, given.weights[c]};
    if (codes_.empty()) {
      base += cost;
      return;
    }
    for (const std::uint32_t l : codes_) literals_.push_back(Clauses::literal(l));
    codes_.clear();
    starts_.push_back(static_cast<std::int32_t>(literals_.size()));
    weight.push_back(cost);
  }

  std::vector<std::uint32_t> codes_;  // of one clause
  std::vector<std::int32_t> literals_, starts_{0};
};

}  // namespace hardscape::maxsat
