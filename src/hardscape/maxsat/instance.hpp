// A formula as the searches use it: literals as 2 * variable + negated, variables from 0, and for
// every literal the clauses that hold it. Clauses have no repeated literals and no tautologies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hardscape::maxsat {

struct Instance {
  std::uint32_t num_variables = 0;
  std::uint32_t num_clauses = 0;
  std::uint32_t longest = 0;              // literals of the longest clause
  std::uint32_t uniform = 0;              // literals of every clause, or 0 where they differ
  std::vector<std::uint32_t> clause;      // literals, clause by clause
  std::vector<std::uint32_t> start;       // first of each clause, shape (m + 1,)
  std::vector<std::uint32_t> occurrence;  // clauses, literal by literal
  std::vector<std::uint32_t> first;       // first of each literal, shape (2 n + 1,)

  Instance(std::uint32_t variables, const std::int32_t* literals, const std::int64_t* offsets,
           std::size_t clauses)
      : num_variables(variables), num_clauses(static_cast<std::uint32_t>(clauses)) {
    start.reserve(clauses + 1);
    start.push_back(0);
    first.assign(2 * std::size_t{variables} + 1, 0);
    for (std::size_t c = 0; c < clauses; ++c) {
      for (std::int64_t i = offsets[c]; i < offsets[c + 1]; ++i) {
        const std::int32_t x = literals[i];
        const std::uint32_t literal = x > 0 ? 2u * (x - 1) : 2u * (-x - 1) + 1;
        clause.push_back(literal);
        ++first[literal + 1];
      }
      start.push_back(static_cast<std::uint32_t>(clause.size()));
      const std::uint32_t size = start[c + 1] - start[c];
      uniform = c == 0 || uniform == size ? size : 0;
      if (size > longest) longest = size;
    }
    for (std::size_t l = 1; l < first.size(); ++l) first[l] += first[l - 1];
    occurrence.resize(clause.size());
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
    for (std::uint32_t c = 0; c < num_clauses; ++c)
      for (std::uint32_t i = start[c]; i < start[c + 1]; ++i) occurrence[next[clause[i]]++] = c;
  }
};

}  // namespace hardscape::maxsat
