// Presolve as Python calls it, and the way back from what it leaves.
#include "maxsat/presolve/presolve.hpp"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/presolve/dominated.hpp"
#include "maxsat/presolve/equals.hpp"
#include "maxsat/presolve/independent_set.hpp"
#include "maxsat/presolve/links.hpp"
#include "native/arrays.hpp"

namespace hardscape::maxsat {
namespace {

// Whether the formula stays as it is, unsatisfiable, constant high, constant low, fixed, original,
// literals, offsets, weights, hard, and Links.
using Presolved =
    std::tuple<bool, bool, std::uint64_t, std::uint64_t, NumpyArray<std::int8_t>,
               NumpyArray<std::int32_t>, NumpyArray<std::int32_t>, NumpyArray<std::int32_t>,
               NumpyArray<std::int64_t>, NumpyArray<std::uint8_t>, NumpyArray<std::int32_t>,
               NumpyArray<std::int32_t>, NumpyArray<std::int32_t>, NumpyArray<std::int32_t>>;

// Clauses of literals that follow from others, and neighbours, that are looked at, a tenth of a
// second.
constexpr std::size_t kLooks = 10'000'000;

// Presolves what is left once more; false if stopped.
bool again(Left& left, std::vector<std::int8_t>& fixed, unsigned __int128& constant,
           bool& unsatisfiable, const Poll& stopped) {
  const Clauses given(static_cast<std::uint32_t>(left.original.size()), left.literals, left.offsets,
                      left.weights, left.hard);
  Presolve work(given, stopped);
  work.run();
  if (work.incomplete) return false;
  unsatisfiable = work.unsatisfiable;
  constant += work.constant;
  for (std::size_t v = 0; v < left.original.size(); ++v)
    if (work.fixed[v] >= 0) fixed[static_cast<std::size_t>(left.original[v]) - 1] = work.fixed[v];
  Left next;
  if (!unsatisfiable) next = work.collect();
  if (work.incomplete) return false;
  for (std::int32_t& v : next.original) v = left.original[static_cast<std::size_t>(v) - 1];
  left = std::move(next);
  return true;
}

// Nothing where `stop` was set meanwhile.
std::optional<Presolved> presolve(const nb::object& formula,
                                  std::optional<Vector<std::uint8_t>> stop) {
  const Poll stopped(stop);
  if (stopped(0)) return std::nullopt;
  const Clauses given(formula);
  Left left;
  Links links;
  std::vector<std::int8_t> fixed;
  bool spared = false, unsatisfiable = false, incomplete = false;
  unsigned __int128 constant = 0;
  {
    nb::gil_scoped_release release;
    Presolve work(given, stopped);
    work.run();
    unsatisfiable = work.unsatisfiable;
    constant = work.constant;
    spared = !unsatisfiable && !work.incomplete && work.spared();
    if (!spared && !unsatisfiable && !work.incomplete) left = work.collect();
    fixed = std::move(work.fixed);
    incomplete = work.incomplete || !Linking(left, stopped).run(links);
    std::size_t looks = kLooks;
    for (bool changes = true; changes && !incomplete && !unsatisfiable;) {
      Equals equals(left, looks, stopped);
      incomplete = !equals.run(links);
      changes = !incomplete && equals.changes();
      if (changes) incomplete = !again(left, fixed, constant, unsatisfiable, stopped);
    }
    if (!incomplete && !unsatisfiable) {
      IndependentSet vertices(left, looks, stopped);
      incomplete = !vertices.run(links, constant);
      if (!incomplete && vertices.changes())
        incomplete = !again(left, fixed, constant, unsatisfiable, stopped);
    }
    for (bool changes = true; changes && !incomplete && !unsatisfiable;) {
      Dominated dominated(left, looks, stopped);
      incomplete = !dominated.run(links);
      changes = !incomplete && dominated.changes();
      if (changes) incomplete = !again(left, fixed, constant, unsatisfiable, stopped);
    }
  }
  if (incomplete) return std::nullopt;
  return Presolved(spared, unsatisfiable, static_cast<std::uint64_t>(constant >> 64),
                   static_cast<std::uint64_t>(constant), to_array(std::move(fixed)),
                   to_array(std::move(left.original)), to_array(std::move(left.literals)),
                   to_array(std::move(left.offsets)), to_array(std::move(left.weights)),
                   to_array(std::move(left.hard)), to_array(std::move(links.gone)),
                   to_array(std::move(links.offsets)), to_array(std::move(links.literals)),
                   to_array(std::move(links.moves)));
}

// Numbers of the variables that are left, literals, offsets, weights and hard.
using Unlinked =
    std::tuple<NumpyArray<std::int32_t>, NumpyArray<std::int32_t>, NumpyArray<std::int32_t>,
               NumpyArray<std::int64_t>, NumpyArray<std::uint8_t>>;

// A formula as if presolve had left all of it.
Left whole(const Clauses& given) {
  Left left;
  left.original.resize(given.variables);
  std::iota(left.original.begin(), left.original.end(), 1);
  left.offsets.assign(given.offsets, given.offsets + given.count + 1);
  left.literals.assign(given.literals, given.literals + left.offsets.back());
  left.weights.assign(given.weights, given.weights + given.count);
  left.hard.assign(given.hard, given.hard + given.count);
  return left;
}

// Whether nearly all hard clauses say counters of at most one.
bool counters_prevail(const nb::object& formula) {
  const Clauses given(formula);
  nb::gil_scoped_release release;
  Left left = whole(given);
  return Linking(left, Poll(nullptr)).counts();
}

// Nothing where the formula would have more than so many more literals.
std::optional<Unlinked> unlinked(const nb::object& formula, std::size_t most) {
  const Clauses given(formula);
  Left left = whole(given);
  {
    nb::gil_scoped_release release;
    Linking linking(left, Poll(nullptr));
    Links links;
    linking.run(links, most);
    if (linking.refused()) return std::nullopt;
  }
  return Unlinked(to_array(std::move(left.original)), to_array(std::move(left.literals)),
                  to_array(std::move(left.offsets)), to_array(std::move(left.weights)),
                  to_array(std::move(left.hard)));
}

using Rows = nb::ndarray<std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

bool holds(const std::uint8_t* row, std::int32_t x) { return row[Clauses::variable(x)] == (x > 0); }

// Gives variables that went their values in each row, the last one first.
void complete(Rows rows, Vector<std::int32_t> gone, Vector<std::int32_t> offsets,
              Vector<std::int32_t> literals) {
  for (std::size_t r = 0; r < rows.shape(0); ++r) {
    std::uint8_t* const row = rows.data() + r * rows.shape(1);
    for (std::size_t i = gone.shape(0); i-- > 0;) {
      const auto begin = literals.data() + offsets.data()[i];
      const auto end = literals.data() + offsets.data()[i + 1];
      const bool value = std::any_of(begin, end, [&](std::int32_t x) { return !holds(row, x); });
      row[Clauses::variable(gone.data()[i])] = value == (gone.data()[i] > 0);
    }
  }
}

// Makes the first literal of each pair true in a row where the second one is.
void follow(Rows rows, Vector<std::int32_t> moves) {
  for (std::size_t r = 0; r < rows.shape(0); ++r) {
    std::uint8_t* const row = rows.data() + r * rows.shape(1);
    for (const auto* move = moves.data(); move != moves.data() + moves.shape(0); move += 2)
      if (holds(row, move[1])) row[Clauses::variable(move[0])] = move[0] > 0;
  }
}

}  // namespace

void bind_presolve(nb::module_& module) {
  module.def("presolve", &presolve, nb::arg("formula"), nb::arg("stop").none() = nb::none(),
             "What is left of a formula, and what every assignment of it costs besides.");
  module.def("unlinked", &unlinked, nb::arg("formula"), nb::arg("most"),
             "What is left of a formula without variables of hard clauses of two literals alone.");
  module.def("counters_prevail", &counters_prevail, nb::arg("formula"),
             "Whether nearly all hard clauses say counters of at most one.");
  module.def("complete", &complete, nb::arg("rows").noconvert(), nb::arg("gone"),
             nb::arg("offsets"), nb::arg("literals"),
             "Values of the variables that went, in assignments of the whole formula.");
  module.def("follow", &follow, nb::arg("rows").noconvert(), nb::arg("moves"),
             "Where the second literal of a pair holds, the first one does, too, pair by pair.");
}

}  // namespace hardscape::maxsat
