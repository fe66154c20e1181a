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
  PyWeighting(std::uint32_t variables, Vector<std::int32_t> literals, Vector<std::int64_t> offsets,
              Vector<std::int64_t> weights, Vector<std::uint8_t> hard, std::uint64_t seed,
              std::uint64_t stream, std::uint32_t samples, std::uint32_t clauses, double hard_start,
              double hard_increase, double soft_increase, std::int64_t soft_limit,
              std::uint64_t patience, std::optional<Vector<std::uint8_t>> initial,
              std::optional<Vector<std::uint8_t>> stop) {
    nb::gil_scoped_release release;
    const std::size_t m = weights.shape(0);
    Instance instance(variables, literals.data(), offsets.data(), m, stop ? stop->data() : nullptr);
    if (!instance.complete) return;
    auto search = std::make_unique<Weighting>(
        std::move(instance), std::vector<std::uint64_t>(weights.data(), weights.data() + m),
        std::vector<std::uint8_t>(hard.data(), hard.data() + m),
        WeightingOptions{samples, clauses, hard_start, hard_increase, soft_increase, soft_limit,
                         patience},
        seed, stream, initial ? initial->data() : nullptr, stop ? stop->data() : nullptr);
    if (search->complete()) search_ = std::move(search);
  }

  std::uint64_t run(std::uint64_t flips, std::uint64_t target_high, std::uint64_t target_low,
                    nb::ndarray<std::uint8_t, nb::ndim<1>, nb::device::cpu> stop) {
    if (!search_) return 0;
    nb::gil_scoped_release release;
    return search_->run(flips, (static_cast<unsigned __int128>(target_high) << 64) | target_low,
                        stop.data());
  }

  auto best_cost() const {
    const WideCost cost = search_ ? search_->best_cost() : WideCost{UINT64_MAX, 0};
    return std::make_tuple(cost.hard, static_cast<std::uint64_t>(cost.soft >> 64),
                           static_cast<std::uint64_t>(cost.soft));
  }

  auto best() const {
    std::vector<std::uint8_t> copy;
    if (search_) copy = search_->best();
    const std::size_t n = copy.size();
    return to_numpy(std::move(copy), {n});
  }

  std::uint64_t restarts() const { return search_ ? search_->restarts() : 0; }

 private:
  std::unique_ptr<Weighting> search_;
};

}  // namespace

void bind_weighting(nb::module_& module) {
  nb::class_<PyWeighting>(module, "Weighting", "Clause-weighting search on a weighted formula.")
      .def(nb::init<std::uint32_t, Vector<std::int32_t>, Vector<std::int64_t>, Vector<std::int64_t>,
                    Vector<std::uint8_t>, std::uint64_t, std::uint64_t, std::uint32_t,
                    std::uint32_t, double, double, double, std::int64_t, std::uint64_t,
                    std::optional<Vector<std::uint8_t>>, std::optional<Vector<std::uint8_t>>>(),
           nb::arg("num_variables"), nb::arg("literals"), nb::arg("offsets"), nb::arg("weights"),
           nb::arg("hard"), nb::arg("seed"), nb::arg("stream"), nb::arg("samples"),
           nb::arg("clauses"), nb::arg("hard_start"), nb::arg("hard_increase"),
           nb::arg("soft_increase"), nb::arg("soft_limit"), nb::arg("patience"),
           nb::arg("initial").none() = nb::none(), nb::arg("stop").none() = nb::none())
      .def("run", &PyWeighting::run, nb::arg("flips"), nb::arg("target_high"),
           nb::arg("target_low"), nb::arg("stop"), "Search; returns the flips done.")
      .def_prop_ro(
          "best_cost", &PyWeighting::best_cost,
          "Hard clauses violated, and the cost in two words, at best so far; 2**64 - 1 hard "
          "clauses before anything was evaluated.")
      .def_prop_ro("restarts", &PyWeighting::restarts, "Restarts so far.")
      .def("best", &PyWeighting::best, "The best assignment, uint8 of shape (n,).");
}

}  // namespace hardscape::maxsat
