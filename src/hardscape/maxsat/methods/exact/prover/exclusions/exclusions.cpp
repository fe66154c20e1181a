// Wishes that exclude one another, as Python calls them.
#include "maxsat/methods/exact/prover/exclusions/exclusions.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

namespace hardscape::maxsat {
namespace {

namespace nb = nanobind;

using Lists = nb::typed<nb::list, nb::typed<nb::list, std::int32_t>>;
using Against = nb::typed<nb::dict, std::int32_t, nb::typed<nb::set, std::int32_t>>;

// Lists are read one by one: arrays would have to be made of them.
void make(Exclusions* self, const Lists& clauses, std::vector<std::int32_t> wishes,
          std::size_t looked, std::uint32_t variables) {
  if (looked > wishes.size()) throw nb::value_error("no more are looked at than there are");
  const auto checked = [&](std::int32_t x) {
    if (x == 0 || x == INT32_MIN || static_cast<std::uint32_t>(std::abs(x)) > variables)
      throw nb::value_error("a literal of none of the variables");
    return x;
  };
  for (const std::int32_t x : wishes) checked(x);
  new (self) Exclusions(variables, std::move(wishes), looked);
  std::vector<std::int32_t> clause;
  for (const nb::handle each : clauses) {
    clause.clear();
    for (const nb::handle x : nb::cast<nb::list>(each))
      clause.push_back(checked(nb::cast<std::int32_t>(x)));
    self->take(clause);
  }
}

Against against(const Exclusions& self) {
  Against found;
  for (std::size_t i = 0; i < self.wishes().size(); ++i) {
    if (self.others(i).empty()) continue;
    nb::set others;
    for (const std::uint32_t other : self.others(i)) others.add(self.wishes()[other]);
    found[nb::int_(self.wishes()[i])] = others;
  }
  return found;
}

std::vector<std::pair<std::vector<std::int32_t>, std::uint64_t>> cliques(
    const Exclusions& self, std::vector<std::uint64_t> weights, int order_by) {
  if (weights.size() != self.wishes().size()) throw nb::value_error("one weight for each wish");
  std::vector<std::pair<std::vector<std::int32_t>, std::uint64_t>> found;
  for (Exclusions::Clique& clique : self.cliques(std::move(weights), order_by))
    found.emplace_back(std::move(clique.members), clique.paid);
  return found;
}

}  // namespace

void bind_exclusions(nb::module_& module) {
  nb::class_<Exclusions>(module, "Exclusions", "Wishes that exclude one another in pairs.")
      .def("__init__", &make, nb::arg("clauses"), nb::arg("wishes"), nb::arg("looked"),
           nb::arg("variables"))
      .def("run", &Exclusions::run, nb::arg("count"), nb::call_guard<nb::gil_scoped_release>(),
           "Look at so many more wishes; whether some are left.")
      .def("close", &Exclusions::close, "Wishes that cannot hold; no more are looked at.")
      .def_prop_ro("pairs", &Exclusions::pairs, "How many were found so far.")
      .def("against", &against, "Which wishes each one excludes.")
      .def("cliques", &cliques, nb::arg("weights"), nb::arg("order_by"),
           "Wishes that exclude one another, and what the least of them weighs.");
}

}  // namespace hardscape::maxsat
