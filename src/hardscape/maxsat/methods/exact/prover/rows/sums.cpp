// Linear constraints behind clauses as Python asks for them.
#include "maxsat/methods/exact/prover/rows/sums.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "maxsat/instance.hpp"
#include "native/arrays.hpp"

namespace hardscape::maxsat {
namespace {

template <class T>
std::span<const T> span(const Vector<T>& values) {
  return {values.data(), values.shape(0)};
}

// Literals, how many each row has, weights, and the most that each allows.
using Rows = std::tuple<NumpyArray<std::int32_t>, NumpyArray<std::int64_t>,
                        NumpyArray<std::int64_t>, NumpyArray<std::int64_t>>;

Rows rows_of(const rows::Sums& sums) {
  std::vector<std::int32_t> literals;
  std::vector<std::int64_t> sizes, weights, most;
  for (const rows::Sum& row : sums.rows) {
    literals.insert(literals.end(), row.literals.begin(), row.literals.end());
    weights.insert(weights.end(), row.weights.begin(), row.weights.end());
    sizes.push_back(static_cast<std::int64_t>(row.literals.size()));
    most.push_back(row.most);
  }
  return {to_array(std::move(literals)), to_array(std::move(sizes)), to_array(std::move(weights)),
          to_array(std::move(most))};
}

// Clauses one behind another, where each begins, variables that none of them defines, and whether
// what is defined is known by numbers.
void look(rows::Sums* self, const Vector<std::int32_t>& literals,
          const Vector<std::int32_t>& offsets, const Vector<std::int32_t>& named, bool numbered) {
  const auto of = [](const auto& values) {
    return std::vector<std::int32_t>(values.data(), values.data() + values.shape(0));
  };
  nb::gil_scoped_release release;
  new (self) rows::Sums(of(literals), of(offsets), span(named), numbered);
}

NumpyArray<std::int32_t> leaves(const rows::Sums& self, std::size_t tree) {
  return to_array(self.open.at(tree).leaves);
}

// Choices that weigh most of those allowed, and least of those refuted, a row each.
std::tuple<NumpyArray<std::uint8_t>, NumpyArray<std::uint8_t>> extremes(
    const rows::Sums& self, std::size_t tree, const Vector<std::int64_t>& weights,
    std::size_t count) {
  const rows::Tree& of = self.open.at(tree);
  if (weights.shape(0) != of.leaves.size()) throw nb::value_error("one weight for each leaf");
  const rows::Extremes found(of, span(weights));
  const auto matrix = [&](const std::vector<rows::Choice>& choices) {
    std::vector<std::uint8_t> held;
    for (const rows::Choice& each : choices)
      held.insert(held.end(), each.held.begin(), each.held.end());
    return to_numpy(std::move(held), {choices.size(), of.leaves.size()});
  };
  return {matrix(found.heaviest(count)), matrix(found.lightest(count))};
}

bool settle(rows::Sums& self, std::size_t tree, const Vector<std::int64_t>& weights) {
  if (weights.shape(0) != self.open.at(tree).leaves.size())
    throw nb::value_error("one weight for each leaf");
  return self.settle(tree, span(weights));
}

bool complete(const rows::Sums& self,
              nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> values) {
  return self.complete({values.data(), values.shape(0)});
}

bool may_prevail(const Vector<std::int32_t>& literals, const Vector<std::int32_t>& offsets,
                 const Vector<std::int32_t>& named) {
  nb::gil_scoped_release release;
  return rows::may_prevail({span(literals), span(offsets)}, span(named));
}

}  // namespace

void bind_sums(nb::module_& module) {
  nb::class_<rows::Sums>(module, "Sums", "Linear constraints that clauses hide.")
      .def("__init__", &look, nb::arg("literals"), nb::arg("offsets"), nb::arg("named"),
           nb::arg("numbered"))
      .def("rows", &rows_of, "Literals, how many each row has, weights, and what is most.")
      .def(
          "said", [](const rows::Sums& self) { return to_array(self.said); },
          "Whether each clause is said by rows.")
      .def(
          "hidden", [](const rows::Sums& self) { return to_array(self.hidden()); },
          "Variables of clauses that rows say alone.")
      .def_prop_ro("prevail", &rows::Sums::prevail, "Whether most clauses are said by rows.")
      .def_prop_ro("may_prevail", &rows::Sums::may_prevail,
                   "Whether most are, or would be if all open trees had weights.")
      .def_prop_ro(
          "open", [](const rows::Sums& self) { return self.open.size(); },
          "How many trees there are whose weights are not known.")
      .def("leaves", &leaves, nb::arg("tree"), "The literals that a tree reads, place by place.")
      .def("extremes", &extremes, nb::arg("tree"), nb::arg("weights"), nb::arg("count"),
           "Choices of leaves that weigh most and are allowed, and least and are refuted.")
      .def("settle", &settle, nb::arg("tree"), nb::arg("weights"),
           "Take weights of leaves, none below 0; whether they say the same as the clauses.")
      .def("complete", &complete, nb::arg("values").noconvert(),
           "Give hidden variables values that suit those of the others; false if there are none.");
  module.def("sums_may_prevail", &may_prevail, nb::arg("literals"), nb::arg("offsets"),
             nb::arg("named"),
             "Whether nearly all clauses are rules or of named variables alone, and many long.");
}

}  // namespace hardscape::maxsat
