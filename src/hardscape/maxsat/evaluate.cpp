// What one assignment does to a formula, in one pass over its clauses.
#include <nanobind/nanobind.h>

#include <cstdint>

#include "native/arrays.hpp"

namespace hardscape::maxsat {
namespace {

// (hard clauses violated, cost in two words, clauses satisfied).
nb::tuple evaluate(Vector<std::int32_t> literals, Vector<std::int64_t> offsets,
                   Vector<std::int64_t> weights, Vector<std::uint8_t> hard,
                   Vector<std::uint8_t> assignment) {
  std::uint64_t violated = 0, satisfied = 0;
  unsigned __int128 cost = 0;
  {
    nb::gil_scoped_release release;
    const std::int32_t* literal = literals.data();
    const std::uint8_t* value = assignment.data();
    for (std::size_t c = 0; c < weights.shape(0); ++c) {
      bool holds = false;
      for (std::int64_t i = offsets.data()[c]; i < offsets.data()[c + 1] && !holds; ++i) {
        const std::int32_t x = literal[i];
        holds = x > 0 ? value[x - 1] : !value[-x - 1];
      }
      satisfied += holds;
      if (holds) continue;
      if (hard.data()[c])
        ++violated;
      else
        cost += static_cast<std::uint64_t>(weights.data()[c]);
    }
  }
  return nb::make_tuple(violated, static_cast<std::uint64_t>(cost >> 64),
                        static_cast<std::uint64_t>(cost), satisfied);
}

}  // namespace

void bind_evaluate(nb::module_& module) {
  module.def("evaluate_maxsat", &evaluate, nb::arg("literals"), nb::arg("offsets"),
             nb::arg("weights"), nb::arg("hard"), nb::arg("assignment"),
             "Hard clauses violated, cost in two words, and clauses satisfied.");
}

}  // namespace hardscape::maxsat
