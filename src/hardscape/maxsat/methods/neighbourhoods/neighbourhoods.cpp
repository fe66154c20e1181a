// Parts of a formula around violated soft clauses, as Python sees them.
#include "maxsat/methods/neighbourhoods/neighbourhoods.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "maxsat/instance.hpp"
#include "native/arrays.hpp"

namespace hardscape::maxsat {
namespace {

using Flags = Vector<std::uint8_t>;

class PyNeighbourhoods {
 public:
  PyNeighbourhoods(const nb::object& formula, std::uint64_t seed, std::uint64_t stream,
                   const Flags& initial, const Flags& stop)
      : formula_(formula) {
    const Clauses clauses(formula);
    const Poll stopped(stop.data());
    nb::gil_scoped_release release;
    instance_ = shared_instance(clauses, stopped);
    if (!instance_) return;
    parts_ =
        std::make_unique<Neighbourhoods>(*instance_, clauses.weights, clauses.hard, seed, stream);
    parts_->adopt(initial.data());
  }

  bool complete() const { return parts_ != nullptr; }

  void adopt(const Flags& value) {
    nb::gil_scoped_release release;
    parts_->adopt(value.data());
  }

  auto part(std::size_t size, bool bind) {
    Neighbourhoods::Part part;
    {
      nb::gil_scoped_release release;
      parts_->release_around(size, bind);
      part = parts_->part();
    }
    return std::make_tuple(to_array(parts_->free()), to_array(std::move(part.literals)),
                           to_array(std::move(part.offsets)), to_array(std::move(part.from)));
  }

  void fix(const std::optional<Flags>& values) {
    nb::gil_scoped_release release;
    parts_->fix(values ? values->data() : nullptr);
  }

  auto values() const { return to_array(parts_->values()); }
  std::size_t lost() const { return parts_->lost().size(); }
  std::uint64_t looked() const { return parts_->looked(); }

 private:
  nb::object formula_;
  std::shared_ptr<const Instance> instance_;
  std::unique_ptr<Neighbourhoods> parts_;
};

}  // namespace

void bind_neighbourhoods(nb::module_& module) {
  nb::class_<PyNeighbourhoods>(module, "Neighbourhoods",
                               "Parts of a presolved formula around violated soft clauses.")
      .def(nb::init<const nb::object&, std::uint64_t, std::uint64_t, const Flags&, const Flags&>(),
           nb::arg("formula"), nb::arg("seed"), nb::arg("stream"), nb::arg("initial"),
           nb::arg("stop"), "Begin with an assignment that satisfies the hard clauses.")
      .def_prop_ro("complete", &PyNeighbourhoods::complete,
                   "False where it was stopped at the beginning: not to be used.")
      .def("adopt", &PyNeighbourhoods::adopt, nb::arg("assignment"),
           "Go on from an assignment that satisfies the hard clauses.")
      .def("part", &PyNeighbourhoods::part, nb::arg("size"), nb::arg("bind"),
           "Release variables around a violated soft clause; these, and literals, offsets and the "
           "places in the formula of the clauses that they decide.")
      .def("fix", &PyNeighbourhoods::fix, nb::arg("values").none() = nb::none(),
           "Give what was released these values, which satisfy the hard clauses, or its old ones.")
      .def("values", &PyNeighbourhoods::values, "The assignment, uint8 of shape (n,).")
      .def_prop_ro("lost", &PyNeighbourhoods::lost,
                   "Soft clauses that are violated whatever was released is.")
      .def_prop_ro("looked", &PyNeighbourhoods::looked, "Literals and clauses looked at.");
}

}  // namespace hardscape::maxsat
