// The clause-weighting search of weighting.hpp on one thread.
#include "maxsat/methods/weighting/weighting.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "native/arrays.hpp"

namespace hardscape::maxsat {
namespace {

class PyWeighting {
 public:
  PyWeighting(const nb::object& formula, const nb::object& options, std::uint64_t seed,
              std::uint64_t stream, std::optional<Vector<std::uint8_t>> initial,
              std::optional<Vector<std::uint8_t>> stop) {
    const Clauses given(formula);
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
    const Poll stopped(stop);
    nb::gil_scoped_release release;
    Instance instance(given, stopped);
    if (!instance.complete) return;
    auto search = std::make_unique<Weighting>(
        std::move(instance), std::vector<std::uint64_t>(given.weights, given.weights + given.count),
        std::vector<std::uint8_t>(given.hard, given.hard + given.count), o, seed, stream,
        initial ? initial->data() : nullptr, stopped);
    if (search->complete()) search_ = std::move(search);
  }

  std::uint64_t run(std::uint64_t flips, std::uint64_t target_high, std::uint64_t target_low,
                    nb::ndarray<std::uint8_t, nb::ndim<1>, nb::device::cpu> stop) {
    if (!search_) return 0;
    nb::gil_scoped_release release;
    return search_->run(flips, (static_cast<unsigned __int128>(target_high) << 64) | target_low,
                        stop.data());
  }

  void adopt(const Vector<std::uint8_t>& value, const Vector<std::uint8_t>& stop) {
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

  std::uint64_t restarts() const { return search_ ? search_->restarts() : 0; }

 private:
  std::unique_ptr<Weighting> search_;
};

}  // namespace

void bind_weighting(nb::module_& module) {
  nb::class_<PyWeighting>(module, "Weighting", "Clause-weighting search on a weighted formula.")
      .def(nb::init<const nb::object&, const nb::object&, std::uint64_t, std::uint64_t,
                    std::optional<Vector<std::uint8_t>>, std::optional<Vector<std::uint8_t>>>(),
           nb::arg("formula"), nb::arg("options"), nb::arg("seed"), nb::arg("stream"),
           nb::arg("initial").none() = nb::none(), nb::arg("stop").none() = nb::none())
      .def("run", &PyWeighting::run, nb::arg("flips"), nb::arg("target_high"),
           nb::arg("target_low"), nb::arg("stop"), "Search; returns the flips done.")
      .def("adopt", &PyWeighting::adopt, nb::arg("assignment"), nb::arg("stop"),
           "Go on from an assignment, as the best.")
      .def_prop_ro(
          "best_cost", &PyWeighting::best_cost,
          "Hard clauses violated, and the cost in two words, at best so far; 2**64 - 1 hard "
          "clauses before anything was evaluated.")
      .def_prop_ro("restarts", &PyWeighting::restarts, "Restarts so far.")
      .def("best", &PyWeighting::best, "The best assignment, uint8 of shape (n,).");
}

}  // namespace hardscape::maxsat
