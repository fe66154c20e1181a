// Clauses as rules, "if these literals hold, then that one does", of variables that others define.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "maxsat/methods/exact/prover/rows/orientation.hpp"

namespace hardscape::maxsat::rows {

// Which clauses are rules, and what they set. Named variables are defined by none.
class Rules {
 public:
  std::vector<std::int32_t> hidden;  // the literal of each variable, from 1, that rules set, or 0
  std::vector<std::uint8_t> of;      // whether each clause is one
  std::vector<std::int32_t> sets;    // the literal that each sets, 0 where it refutes
  std::vector<std::int32_t> order;   // hidden variables, each after those that it is made of

  Rules(const Flat& clauses, std::span<const std::int32_t> named, bool numbered)
      : of(clauses.clauses()), sets(clauses.clauses()), place_(clauses.variables() + 1) {
    Orientation oriented(clauses, barred(clauses, named));
    if (numbered) {
      oriented.number();
    } else {
      oriented.choose();
    }
    hidden = oriented.set;
    for (std::int32_t& x : hidden)
      if (x != 0 && oriented.with(x).empty()) x = 0;
    arrange(clauses, oriented);
    for (std::size_t c = 0; c < clauses.clauses(); ++c) {
      for (const std::int32_t x : clauses[c]) {
        of[c] |= hidden[std::abs(x)] != 0;
        if (hidden[std::abs(x)] == x) sets[c] = x;
      }
    }
  }

  // How many there are at most.
  static std::size_t most(const Flat& clauses, std::span<const std::int32_t> named) {
    const std::vector<std::uint8_t> none = barred(clauses, named);
    std::size_t count = 0;
    for (std::size_t c = 0; c < clauses.clauses(); ++c)
      count += std::ranges::any_of(clauses[c], [&](auto x) { return !none[std::abs(x)]; });
    return count;
  }

  // When a rule applies: after those that set what it reads, and last where it refutes.
  std::uint32_t rank(std::size_t c) const {
    return sets[c] ? place_[std::abs(sets[c])] : UINT32_MAX;
  }

 private:
  static constexpr std::size_t kMostRead = 3;  // literals by a rule

  static std::vector<std::uint8_t> barred(const Flat& clauses,
                                          std::span<const std::int32_t> named) {
    std::vector<std::uint8_t> found(clauses.variables() + 1);
    for (const std::int32_t v : named)
      if (v < static_cast<std::int32_t>(found.size())) found[v] = 1;
    for (std::size_t c = 0; c < clauses.clauses(); ++c) {
      const auto clause = clauses[c];
      bool plain = clause.size() > 1 && clause.size() <= kMostRead + 1;
      for (std::size_t i = 0; plain && i < clause.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) plain &= std::abs(clause[i]) != std::abs(clause[j]);
      for (const std::int32_t x : clause) found[std::abs(x)] |= !plain;
    }
    return found;
  }

  // Those that are made of themselves, or of such ones, are not hidden.
  void arrange(const Flat& clauses, const Orientation& oriented) {
    const auto set = [&](std::int32_t x) { return x != 0 && hidden[std::abs(x)] == x; };
    std::vector<std::uint32_t> waits(hidden.size());
    for (std::size_t c = 0; c < clauses.clauses(); ++c) {
      const auto clause = clauses[c];
      const auto to = std::ranges::find_if(clause, set);
      if (to == clause.end()) continue;
      for (const std::int32_t y : clause) waits[std::abs(*to)] += y != *to && set(-y);
    }
    for (std::int32_t v = 1; v < static_cast<std::int32_t>(hidden.size()); ++v)
      if (hidden[v] != 0 && waits[v] == 0) order.push_back(v);
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const std::uint32_t c : oriented.with(-hidden[order[i]])) {
        const auto to = std::ranges::find_if(clauses[c], set);
        if (to != clauses[c].end() && --waits[std::abs(*to)] == 0) order.push_back(std::abs(*to));
      }
    }
    std::vector<std::int32_t> found(hidden.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      found[order[i]] = hidden[order[i]];
      place_[order[i]] = static_cast<std::uint32_t>(i);
    }
    hidden = found;
  }

  std::vector<std::uint32_t> place_;  // of each variable in the order
};
// Whether nearly all clauses are rules or of named variables alone, and many have three literals.
inline bool may_prevail(const Flat& clauses, std::span<const std::int32_t> named) {
  // Share of clauses with three literals, and of rules among those of other variables than named
  // ones.
  constexpr double kTernary = 0.125, kRules = 0.95;
  std::vector<std::uint8_t> is_named(clauses.variables() + 1);
  for (const std::int32_t v : named)
    if (v < static_cast<std::int32_t>(is_named.size())) is_named[v] = 1;
  double ternary = 0, others = 0;
  for (std::size_t c = 0; c < clauses.clauses(); ++c) {
    if (clauses[c].empty()) return false;
    ternary += clauses[c].size() == 3;
    others += std::ranges::any_of(clauses[c], [&](auto x) { return !is_named[std::abs(x)]; });
  }
  if (ternary <= kTernary * static_cast<double>(clauses.clauses())) return false;
  const auto enough = [&](auto rules) { return static_cast<double>(rules) > kRules * others; };
  const auto found = [&](bool numbered) {
    return std::ranges::count(Rules(clauses, named, numbered).of, 1);
  };
  return enough(Rules::most(clauses, named)) && (enough(found(true)) || enough(found(false)));
}

}  // namespace hardscape::maxsat::rows
