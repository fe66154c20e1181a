// A formula as the searches use it: literals as 2 * variable + negated, variables from 0, and for
// every literal the clauses that hold it. Clauses have no repeated literals and no tautologies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hardscape::maxsat {

// Looks at a stop flag now and then; nothing is asked of a null one.
class Poll {
 public:
  explicit Poll(const volatile std::uint8_t* stop) : stop_(stop) {}
  bool operator()(std::size_t step) const { return step % 4096 == 0 && stop_ && *stop_; }

 private:
  const volatile std::uint8_t* stop_;
};

// Makes a vector longer, which takes a while where the memory is new; false if stopped on the way.
template <class T>
bool extend(std::vector<T>& vector, std::size_t size, const Poll& stopped) {
  constexpr std::size_t kStep = 1 << 18;  // polled every time
  vector.reserve(size);
  while (vector.size() < size) {
    if (stopped(0)) return false;
    vector.resize(std::min(size, vector.size() + kStep));
  }
  return true;
}

struct Instance {
  std::uint32_t num_variables = 0;
  std::uint32_t num_clauses = 0;
  std::uint32_t longest = 0;              // literals of the longest clause
  std::uint32_t uniform = 0;              // literals of every clause, or 0 where they differ
  std::vector<std::uint32_t> clause;      // literals, clause by clause
  std::vector<std::uint32_t> start;       // first of each clause, shape (m + 1,)
  std::vector<std::uint32_t> occurrence;  // clauses, literal by literal
  std::vector<std::uint32_t> first;       // first of each literal, shape (2 n + 1,)
  bool complete = false;                  // false where `stop` cut it short: not to be used

  Instance(std::uint32_t variables, const std::int32_t* literals, const std::int64_t* offsets,
           std::size_t clauses, const volatile std::uint8_t* stop = nullptr)
      : num_variables(variables), num_clauses(static_cast<std::uint32_t>(clauses)) {
    const Poll stopped(stop);
    start.reserve(clauses + 1);
    start.push_back(0);
    clause.reserve(static_cast<std::size_t>(offsets[clauses]));
    first.assign(2 * std::size_t{variables} + 1, 0);
    for (std::size_t c = 0; c < clauses; ++c) {
      if (stopped(c)) return;
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
    if (!extend(occurrence, clause.size(), stopped)) return;
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
    for (std::uint32_t c = 0; c < num_clauses; ++c) {
      if (stopped(c)) return;
      for (std::uint32_t i = start[c]; i < start[c + 1]; ++i) occurrence[next[clause[i]]++] = c;
    }
    complete = true;
  }
};

}  // namespace hardscape::maxsat
