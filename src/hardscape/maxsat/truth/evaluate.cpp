// What one assignment does to a formula, in one pass over its clauses.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "maxsat/instance.hpp"

namespace hardscape::maxsat {
namespace {

// 64 variables a word: of millions, the values then stay in the cache.
std::vector<std::uint64_t> packed(const std::uint8_t* value, std::size_t count) {
  std::vector<std::uint64_t> words((count + 63) / 64);
  for (std::size_t v = 0; v < count; ++v) words[v / 64] |= std::uint64_t{value[v] != 0} << (v % 64);
  return words;
}

// Whether one of the literals holds. A few at once, because a branch that cannot be foreseen takes
// longer than the literals of a short clause.
bool any_holds(const std::int32_t* literal, std::int64_t count, const std::uint64_t* value) {
  constexpr std::int64_t kAtOnce = 8;
  bool holds = false;
  for (std::int64_t from = 0; from < count && !holds; from += kAtOnce) {
    const std::int64_t to = std::min(count, from + kAtOnce);
    for (std::int64_t i = from; i < to; ++i) {
      const std::int32_t x = literal[i], negative = x < 0;
      const std::uint32_t v = (x ^ -negative) + negative - 1;
      holds |= ((value[v / 64] >> (v % 64)) & 1) != static_cast<std::uint64_t>(negative);
    }
  }
  return holds;
}

}  // namespace

Evaluation evaluate(const Clauses& f, const std::uint8_t* assignment) {
  Evaluation found;
  const std::vector<std::uint64_t> words = packed(assignment, f.variables);
  for (std::size_t c = 0; c < f.count; ++c) {
    const std::int64_t from = f.offsets[c];
    const bool holds = any_holds(f.literals + from, f.offsets[c + 1] - from, words.data());
    found.satisfied += holds;
    if (holds) continue;
    if (f.hard[c])
      ++found.violated;
    else
      found.cost += static_cast<std::uint64_t>(f.weights[c]);
  }
  return found;
}

void bind_evaluate(nb::module_& module) {
  module.def(
      "evaluate",
      [](const nb::object& formula, Vector<std::uint8_t> assignment) {
        const Clauses f(formula);
        Evaluation found;
        {
          nb::gil_scoped_release release;
          found = evaluate(f, assignment.data());
        }
        return std::make_tuple(found.violated, static_cast<std::uint64_t>(found.cost >> 64),
                               static_cast<std::uint64_t>(found.cost), found.satisfied);
      },
      nb::arg("formula"), nb::arg("assignment"),
      "Hard clauses violated, cost in two words, and clauses satisfied.");
}

}  // namespace hardscape::maxsat
