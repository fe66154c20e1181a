// What presolve leaves of a formula, and what went.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "maxsat/instance.hpp"

namespace hardscape::maxsat {

// A formula that presolve has left, and the numbers that its variables had, from 1.
struct Left {
  std::vector<std::int32_t> original, literals, offsets;
  std::vector<std::int64_t> weights;
  std::vector<std::uint8_t> hard;

  std::size_t clauses() const { return weights.size(); }
  std::size_t length(std::size_t c) const {
    return static_cast<std::size_t>(offsets[c + 1] - offsets[c]);
  }
  // Literal k of a clause.
  std::uint32_t code(std::size_t c, std::size_t k) const {
    return Clauses::code(literals[static_cast<std::size_t>(offsets[c]) + k]);
  }
  // Whether one of two literals is demanded.
  bool is_pair(std::size_t c) const { return hard[c] && length(c) == 2; }
  // Of a literal, the number that its variable had, with its sign.
  std::int32_t named(std::uint32_t l) const { return l & 1 ? -original[l >> 1] : original[l >> 1]; }

  // Has the literals that came since the last clause be one.
  void end(std::int64_t weight, std::uint8_t firm) {
    offsets.push_back(static_cast<std::int32_t>(literals.size()));
    weights.push_back(weight);
    hard.push_back(firm);
  }
};

// What went, in order, by the numbers of the whole formula: literals of the variables, and of each
// others, as those of the clauses that hold it: it is true where one of them is false. Of two
// literals of a move the first may be made true where the second one is, which then no longer
// matters.
struct Links {
  std::vector<std::int32_t> gone, offsets{0}, literals, moves;

  void append(const Links& more) {
    const auto add = [](std::vector<std::int32_t>& to, const std::vector<std::int32_t>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    const auto before = static_cast<std::int32_t>(literals.size());
    add(gone, more.gone);
    add(literals, more.literals);
    add(moves, more.moves);
    for (std::size_t i = 1; i < more.offsets.size(); ++i)
      offsets.push_back(before + more.offsets[i]);
  }
};

}  // namespace hardscape::maxsat
