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

// Clauses one behind another, where each begins, and variables that none of them defines.
void look(rows::Sums* self, const Vector<std::int32_t>& literals,
          const Vector<std::int32_t>& offsets, const Vector<std::int32_t>& named) {
  const auto of = [](const auto& values) {
    return std::vector<std::int32_t>(values.data(), values.data() + values.shape(0));
  };
  nb::gil_scoped_release release;
  new (self) rows::Sums(of(literals), of(offsets), span(named));
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
      .def("__init__", &look, nb::arg("literals"), nb::arg("offsets"), nb::arg("named"))
      .def("rows", &rows_of, "Literals, how many each row has, weights, and what is most.")
      .def(
          "said", [](const rows::Sums& self) { return to_array(self.said); },
          "Whether each clause is said by rows.")
      .def(
          "hidden", [](const rows::Sums& self) { return to_array(self.hidden); },
          "Variables of clauses that rows say alone.")
      .def_prop_ro("prevail", &rows::Sums::prevail, "Whether most clauses are said by rows.")
      .def("complete", &complete, nb::arg("values").noconvert(),
           "Give hidden variables values that suit those of the others; false if there are none.");
  module.def("sums_may_prevail", &may_prevail, nb::arg("literals"), nb::arg("offsets"),
             nb::arg("named"),
             "Whether nearly all clauses are rules or of named variables alone, and many long.");
}

}  // namespace hardscape::maxsat
