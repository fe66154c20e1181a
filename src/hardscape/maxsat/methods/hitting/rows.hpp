// The rows of a formula's linear program: clauses, soft ones with a variable that relaxes them, and
// in place of pairs of literals that exclude one another cliques of them, of which all but one are
// denied. A clique says more than its pairs do where values lie between 0 and 1.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "maxsat/instance.hpp"

namespace hardscape::maxsat {

// Of the literals of each row at least so many hold.
struct Rows {
  std::vector<std::uint32_t> literals, least;
  std::vector<std::size_t> start{0};

  std::size_t size() const { return least.size(); }
  std::span<const std::uint32_t> operator[](std::size_t r) const {
    return {literals.data() + start[r], start[r + 1] - start[r]};
  }
  void end(std::size_t k) {
    start.push_back(literals.size());
    least.push_back(static_cast<std::uint32_t>(k));
  }
};

// Pairs of literals that exclude one another, and cliques that cover them all.
class Exclusions {
 public:
  explicit Exclusions(std::size_t variables) : others_(2 * variables), met_(2 * variables, 0) {}

  void add(std::uint32_t a, std::uint32_t b) {
    others_[a].push_back({b, false});
    others_[b].push_back({a, false});
  }

  // A row of each clique: those of the literals with most pairs first, each as large as it gets.
  void cover(Rows& rows) {
    std::vector<std::uint32_t> order(others_.size());
    std::iota(order.begin(), order.end(), 0u);
    for (auto& others : others_) {
      std::sort(others.begin(), others.end());
      others.erase(std::unique(others.begin(), others.end()), others.end());
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return others_[a].size() > others_[b].size(); });
    for (const std::uint32_t first : order)
      for (const Other& other : others_[first])
        if (!other.covered) grow(first, other.literal, rows);
  }

 private:
  struct Other {
    std::uint32_t literal;
    bool covered;

    auto operator<=>(const Other&) const = default;
  };

  void grow(std::uint32_t first, std::uint32_t second, Rows& rows) {
    clique_.clear();
    join(first);
    join(second);
    for (const Other& other : others_[first])
      if (met_[other.literal] == clique_.size()) join(other.literal);
    for (const std::uint32_t a : clique_)
      for (Other& other : others_[a]) {
        met_[other.literal] = 0;
        other.covered |= std::find(clique_.begin(), clique_.end(), other.literal) != clique_.end();
      }
    for (const std::uint32_t l : clique_) rows.literals.push_back(l ^ 1);
    rows.end(clique_.size() - 1);
  }

  void join(std::uint32_t l) {
    clique_.push_back(l);
    for (const Other& other : others_[l]) ++met_[other.literal];
  }

  std::vector<std::vector<Other>> others_;
  std::vector<std::uint32_t> met_, clique_;  // members that each literal excludes
};

// Variables that relax soft clauses of several literals come after the others, in the order of
// these.
inline Rows rows_of(const Instance& instance, const std::uint8_t* hard) {
  Rows rows;
  Exclusions exclusions(instance.num_variables);
  std::uint32_t top = instance.num_variables;
  for (std::uint32_t c = 0; c < instance.num_clauses; ++c) {
    const auto clause = instance.literals(c);
    if (!hard[c] && clause.size() == 1) continue;
    if (hard[c] && clause.size() == 2) {
      exclusions.add(Clauses::code(clause[0]) ^ 1, Clauses::code(clause[1]) ^ 1);
      continue;
    }
    for (const std::int32_t x : clause) rows.literals.push_back(Clauses::code(x));
    if (!hard[c]) rows.literals.push_back(2 * top++);
    rows.end(1);
  }
  exclusions.cover(rows);
  return rows;
}

}  // namespace hardscape::maxsat
