// The clause-weighting search and the search for covers on one thread, as Python sees them.
#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "maxsat/methods/diagnosis/diagnosis.hpp"
#include "maxsat/methods/given.hpp"
#include "maxsat/methods/hitting/hitting.hpp"
#include "maxsat/methods/surveys/surveys.hpp"
#include "maxsat/methods/values/annealing.hpp"
#include "maxsat/methods/weighting/alternation.hpp"
#include "maxsat/methods/weighting/covering.hpp"
#include "native/arrays.hpp"

namespace hardscape::maxsat {
namespace {

using Flags = Vector<std::uint8_t>;

template <class Search>
class PySearch {
 public:
  // `make(given)` gives the search.
  template <class Make>
  PySearch(const nb::object& formula, std::uint64_t seed, std::uint64_t stream,
           const std::optional<Flags>& initial, const std::optional<Flags>& stop, Make&& make)
      : formula_(formula) {
    const Clauses clauses(formula);
    const Poll stopped(stop);
    nb::gil_scoped_release release;
    instance_ = shared_instance(clauses, stopped);
    if (!instance_) return;
    auto search = make(Given{*instance_, clauses.weights, clauses.hard, seed, stream,
                             initial ? initial->data() : nullptr, stopped});
    if (search->complete()) search_ = std::move(search);
  }

  std::uint64_t run(std::uint64_t flips, std::uint64_t target_high, std::uint64_t target_low,
                    nb::ndarray<std::uint8_t, nb::ndim<1>, nb::device::cpu> stop) {
    if (!search_) return 0;
    nb::gil_scoped_release release;
    return search_->run(flips, (static_cast<unsigned __int128>(target_high) << 64) | target_low,
                        stop.data());
  }

  void adopt(const Flags& value, const Flags& stop) {
    if (!search_) return;
    nb::gil_scoped_release release;
    search_->adopt(value.data(), stop.data());
  }

  auto best_cost() const {
    const WideCost cost = search_ ? search_->best_cost() : WideCost{UINT64_MAX, 0};
    return std::make_tuple(cost.hard, static_cast<std::uint64_t>(cost.soft >> 64),
                           static_cast<std::uint64_t>(cost.soft));
  }

  auto best() const { return to_array(search_ ? search_->best() : std::vector<std::uint8_t>()); }

  Search* search() const { return search_.get(); }

  // What all have in common.
  static auto bind(nb::module_& module, const char* name, const char* doc) {
    return nb::class_<PySearch>(module, name, doc)
        .def("run", &PySearch::run, nb::arg("flips"), nb::arg("target_high"), nb::arg("target_low"),
             nb::arg("stop"), "Search; returns the flips done.")
        .def("adopt", &PySearch::adopt, nb::arg("assignment"), nb::arg("stop"),
             "Go on from an assignment, as the best.")
        .def_prop_ro(
            "best_cost", &PySearch::best_cost,
            "Hard clauses violated, and the cost in two words, at best so far; 2**64 - 1 hard "
            "clauses before anything was evaluated.")
        .def("best", &PySearch::best, "The best assignment, uint8 of shape (n,).");
  }

 private:
  nb::object formula_;
  std::shared_ptr<const Instance> instance_;
  std::unique_ptr<Search> search_;
};

WeightingOptions options_of(const nb::object& options) {
  WeightingOptions o;
  const auto take = [&]<class T>(const char* name, T& into) {
    into = nb::cast<T>(options.attr(name));
  };
  take("samples", o.samples);
  take("clauses", o.clauses);
  take("hard_start", o.hard_start);
  take("hard_increase", o.hard_increase);
  take("soft_increase", o.soft_increase);
  take("soft_limit", o.soft_limit);
  take("patience", o.patience);
  return o;
}

using Numbers = Vector<double>;
using PyWeighting = PySearch<AnyWeighting>;
using PyHitting = PySearch<Hitting>;

template <class T>
std::span<const T> view(const Vector<T>& values) {
  return {values.data(), values.size()};
}

// Literals of all rows, and of each row how many there are and how many hold.
auto rows_told(const PyHitting& search) {
  std::vector<std::int32_t> literals, sizes, least;
  if (search.search()) {
    const Rows& rows = search.search()->rows();
    for (const std::uint32_t l : rows.literals) literals.push_back(Clauses::literal(l));
    for (std::size_t r = 0; r < rows.size(); ++r)
      sizes.push_back(static_cast<std::int32_t>(rows[r].size()));
    least.assign(rows.least.begin(), rows.least.end());
  }
  return std::make_tuple(to_array(std::move(literals)), to_array(std::move(sizes)),
                         to_array(std::move(least)));
}

bool look(const PyHitting& search, const Numbers& value, const Numbers& multiplier,
          const Vector<std::uint32_t>& held, const Numbers& weight) {
  if (!search.search()) return false;
  nb::gil_scoped_release release;
  return search.search()->look({view(value), view(multiplier), view(held)}, view(weight));
}

// A search without options.
template <class Search>
auto bind_plain(nb::module_& module, const char* name, const char* doc) {
  using Py = PySearch<Search>;
  return Py::bind(module, name, doc)
      .def(
          "__init__",
          [](Py* self, const nb::object& formula, std::uint64_t seed, std::uint64_t stream,
             const std::optional<Flags>& initial, const std::optional<Flags>& stop) {
            new (self) Py(formula, seed, stream, initial, stop,
                          [](const Given& given) { return std::make_unique<Search>(given); });
          },
          nb::arg("formula"), nb::arg("seed"), nb::arg("stream"),
          nb::arg("initial").none() = nb::none(), nb::arg("stop").none() = nb::none());
}

// One that ends, and knows what everything costs at least.
template <class Search>
auto bind_bounding(nb::module_& module, const char* name, const char* doc) {
  using Py = PySearch<Search>;
  return bind_plain<Search>(module, name, doc)
      .def_prop_ro(
          "given_up", [](const Py& self) { return !self.search() || self.search()->given_up(); },
          "Whether nothing is left to try.")
      .def_prop_ro(
          "lower",
          [](const Py& self) {
            const unsigned __int128 lower = self.search() ? self.search()->lower() : 0;
            return std::make_tuple(static_cast<std::uint64_t>(lower >> 64),
                                   static_cast<std::uint64_t>(lower));
          },
          "What all that satisfies the hard clauses costs at least, in two words.");
}

}  // namespace

void bind_weighting(nb::module_& module) {
  PyWeighting::bind(module, "Weighting", "Clause-weighting search on a weighted formula.")
      .def(
          "__init__",
          [](PyWeighting* self, const nb::object& formula, const nb::object& options,
             std::uint64_t seed, std::uint64_t stream, const std::optional<Flags>& initial,
             const std::optional<Flags>& stop) {
            new (self) PyWeighting(
                formula, seed, stream, initial, stop,
                [o = options_of(options)](const Given& given) { return weighting_of(given, o); });
          },
          nb::arg("formula"), nb::arg("options"), nb::arg("seed"), nb::arg("stream"),
          nb::arg("initial").none() = nb::none(), nb::arg("stop").none() = nb::none())
      .def_prop_ro(
          "restarts",
          [](const PyWeighting& self) { return self.search() ? self.search()->restarts() : 0; },
          "Restarts so far.");
  bind_plain<Annealing>(module, "Annealing", "Annealing over the values of things.");
  bind_plain<Covering>(module, "Covering", "Search for cheapest covers.");
  bind_plain<Surveys>(module, "Surveys", "Survey propagation and decimation.");
  bind_bounding<Hitting>(module, "Hitting", "Search by cores of unit propagation.")
      .def("rows", &rows_told,
           "The linear program's rows: literals of all, which variables that relax soft clauses\n"
           "come after, and of each row how many there are and how many hold.")
      .def("look", &look, nb::arg("values"), nb::arg("multipliers"), nb::arg("held"),
           nb::arg("weights"),
           "Look through what costs less than the best assignment by a vertex of that program;\n"
           "whether all was tried under the literals held, which are 2 v or, negated, 2 v + 1.\n"
           "Variables near to a half are decided in the order of `weights`.")
      .def(
          "close",
          [](const PyHitting& self) {
            if (self.search()) self.search()->close();
          },
          "All was tried that costs less than the best assignment.")
      .def_prop_ro(
          "few", [](const PyHitting& self) { return self.search() && self.search()->few(); },
          "Whether few wishes hit all cores met so far, and such sets are soon tried.");
  bind_bounding<Diagnosis>(module, "Diagnosis", "Search for the cheapest faults of a circuit.");
}

}  // namespace hardscape::maxsat
