// Clauses as rules, "if these literals hold, then that one does", of variables that others define.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <span>
#include <vector>

namespace hardscape::maxsat::rows {

// Most literals that a rule reads.
inline constexpr std::size_t kMostRead = 3;

// Clauses one behind another, and where each begins; they must live as long.
struct Flat {
  std::span<const std::int32_t> literals, offsets;

  std::size_t clauses() const { return offsets.size() - 1; }
  std::span<const std::int32_t> operator[](std::size_t c) const {
    return literals.subspan(offsets[c], offsets[c + 1] - offsets[c]);
  }
  std::size_t variables() const {
    std::int32_t largest = 0;
    for (const std::int32_t x : literals) largest = std::max(largest, std::abs(x));
    return largest;
  }
};

// Which clauses are rules, and what they set.
//
// Variables are numbered in the order of their definitions: of each clause the last one is set by
// the others, or refuted. What is set by one literal is read by that one alone, and what is read
// by nobody is only refuted. Named variables are neither.
class Rules {
 public:
  std::vector<std::int32_t> hidden;  // the literal of each variable, from 1, that rules set, or 0
  std::vector<std::uint8_t> of;      // whether each clause is one
  std::vector<std::int32_t> sets;    // the literal that each sets, 0 where it refutes

  Rules(const Flat& clauses, std::span<const std::int32_t> named)
      : hidden(clauses.variables() + 1), of(clauses.clauses()), sets(clauses.clauses()) {
    choose(clauses, named);
    for (int round = 0; round < 2; ++round) drop_double(clauses);
    for (std::size_t c = 0; c < clauses.clauses(); ++c) {
      for (const std::int32_t x : clauses[c]) {
        of[c] |= hidden[std::abs(x)] != 0;
        if (hidden[std::abs(x)] == x) sets[c] = x;
      }
    }
  }

  // When a rule applies: after those that set what it reads, and last where it refutes.
  std::uint32_t rank(std::size_t c) const {
    return sets[c] ? static_cast<std::uint32_t>(std::abs(sets[c])) : UINT32_MAX;
  }

 private:
  void choose(const Flat& clauses, std::span<const std::int32_t> named) {
    std::vector<std::array<std::uint8_t, 2>> set(hidden.size()), read(hidden.size());
    std::vector<std::uint8_t> barred(hidden.size());
    for (std::size_t c = 0; c < clauses.clauses(); ++c) {
      const auto clause = clauses[c];
      std::int32_t last = 0;
      for (const std::int32_t x : clause) last = std::max(last, std::abs(x));
      int times = 0;
      for (const std::int32_t x : clause) {
        if (std::abs(x) == last) {
          set[last][x > 0] = 1;
          ++times;
        } else {
          read[std::abs(x)][x < 0] = 1;
        }
      }
      if (clause.size() > 1 && clause.size() <= kMostRead + 1 && times == 1) continue;
      for (const std::int32_t x : clause) barred[std::abs(x)] = 1;
    }
    for (const std::int32_t v : named)
      if (v < static_cast<std::int32_t>(barred.size())) barred[v] = 1;
    for (std::int32_t v = 1; v < static_cast<std::int32_t>(hidden.size()); ++v) {
      const bool positive = read[v][1] || (set[v][1] && !read[v][0]);
      if (barred[v] || (read[v][0] && read[v][1]) || !set[v][positive]) continue;
      hidden[v] = positive ? v : -v;
    }
  }

  // No clause sets two.
  void drop_double(const Flat& clauses) {
    std::vector<std::int32_t> dropped;
    for (std::size_t c = 0; c < clauses.clauses(); ++c) {
      const auto clause = clauses[c];
      const auto is_set = [&](std::int32_t x) { return hidden[std::abs(x)] == x; };
      if (std::count_if(clause.begin(), clause.end(), is_set) < 2) continue;
      std::copy_if(clause.begin(), clause.end(), std::back_inserter(dropped), is_set);
    }
    for (const std::int32_t x : dropped) hidden[std::abs(x)] = 0;
  }
};

// Whether nearly all clauses are rules or of named variables alone, and many have three literals.
inline bool may_prevail(const Flat& clauses, std::span<const std::int32_t> named) {
  // Most literals of all clauses, share of clauses with three, and of rules among those of other
  // variables than named ones.
  constexpr double kMostLiterals = 600'000, kTernary = 0.25, kRules = 0.95;
  if (static_cast<double>(clauses.literals.size()) > kMostLiterals) return false;
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
  const Rules rules(clauses, named);
  return static_cast<double>(std::ranges::count(rules.of, 1)) > kRules * others;
}

}  // namespace hardscape::maxsat::rows
