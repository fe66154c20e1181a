// The walk over soft clauses of swaps.hpp on one thread.
#include "maxsat/swaps.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "native/arrays.hpp"

namespace hardscape::maxsat {
namespace {

class PySwaps {
 public:
  PySwaps(std::uint32_t variables, Vector<std::int32_t> literals, Vector<std::int64_t> offsets,
          Vector<std::int64_t> weights, Vector<std::uint8_t> hard, std::uint64_t seed,
          std::uint64_t stream, std::optional<Vector<std::uint8_t>> initial,
          std::optional<Vector<std::uint8_t>> stop) {
    nb::gil_scoped_release release;
    const std::size_t m = weights.shape(0);
    const volatile std::uint8_t* flag = stop ? stop->data() : nullptr;
    const Instance instance(variables, literals.data(), offsets.data(), m, flag);
    if (!instance.complete) return;
    search_ = std::make_unique<Swaps>(
        instance, std::vector<std::uint64_t>(weights.data(), weights.data() + m),
        std::vector<std::uint8_t>(hard.data(), hard.data() + m), seed, stream,
        initial ? initial->data() : nullptr, flag);
  }

  std::uint64_t run(std::uint64_t flips, std::uint64_t target_high, std::uint64_t target_low,
                    nb::ndarray<std::uint8_t, nb::ndim<1>, nb::device::cpu> stop) {
    if (!search_) return 0;
    nb::gil_scoped_release release;
    return search_->run(flips, (static_cast<unsigned __int128>(target_high) << 64) | target_low,
                        stop.data());
  }

  nb::tuple best_cost() const {
    const WideCost cost = search_ ? search_->best_cost() : WideCost{UINT64_MAX, 0};
    return nb::make_tuple(cost.hard, static_cast<std::uint64_t>(cost.soft >> 64),
                          static_cast<std::uint64_t>(cost.soft));
  }

  auto best() const {
    std::vector<std::uint8_t> copy;
    if (search_) copy = search_->best();
    const std::size_t n = copy.size();
    return to_numpy(std::move(copy), {n});
  }

  bool given_up() const { return search_ && search_->given_up(); }

 private:
  std::unique_ptr<Swaps> search_;
};

}  // namespace

void bind_swaps(nb::module_& module) {
  nb::class_<PySwaps>(module, "Swaps", "Walk over the sets of soft clauses that hold together.")
      .def(nb::init<std::uint32_t, Vector<std::int32_t>, Vector<std::int64_t>, Vector<std::int64_t>,
                    Vector<std::uint8_t>, std::uint64_t, std::uint64_t,
                    std::optional<Vector<std::uint8_t>>, std::optional<Vector<std::uint8_t>>>(),
           nb::arg("num_variables"), nb::arg("literals"), nb::arg("offsets"), nb::arg("weights"),
           nb::arg("hard"), nb::arg("seed"), nb::arg("stream"),
           nb::arg("initial").none() = nb::none(), nb::arg("stop").none() = nb::none())
      .def("run", &PySwaps::run, nb::arg("flips"), nb::arg("target_high"), nb::arg("target_low"),
           nb::arg("stop"), "Search; returns the work done, in what costs about as much as a flip.")
      .def_prop_ro("best_cost", &PySwaps::best_cost,
                   "As that of Weighting; an assignment that violates hard clauses is never found.")
      .def_prop_ro("given_up", &PySwaps::given_up, "Whether nothing is left to try.")
      .def("best", &PySwaps::best,
           "The best assignment, uint8 of shape (n,); empty if there is none.");
}

}  // namespace hardscape::maxsat
