// Python's view of the gradient flow.
#include "gauge/links/flow.hpp"

#include "gauge/links/placed_python.hpp"

namespace hardscape::gauge {
namespace {

using PyWilsonFlow = PyPlaced<WilsonFlow, AnyWilsonFlow>;

struct PyFlowSteps : FlowSteps {
  PyFlowSteps(PyWilsonFlow& of, double size, int count, int threads, End first, End last)
      : FlowSteps{size, std::vector<Densities>(count), Steps(threads), first, last}, flow(*of) {}

  void run(int rank) { flow.run(*this, rank); }

  AnyWilsonFlow& flow;
};

}  // namespace

void bind_flow(nb::module_& module) {
  const nb::call_guard<nb::gil_scoped_release> released;
  nb::enum_<End>(module, "End", "What the first or the last timeslice is.")
      .value("NONE", End::none)
      .value("OPEN", End::open)
      .value("FIXED", End::fixed);
  nb::class_<PyWilsonFlow>(module, "WilsonFlow", "Links that flow along the Wilson action.")
      .def(nb::init<ComplexLinks>(), nb::arg("links"), released)
      .def("links", &PyWilsonFlow::links);
  nb::class_<PyFlowSteps>(module, "FlowSteps", "Steps of the flow: every thread calls run.")
      .def(nb::init<PyWilsonFlow&, double, int, int, End, End>(), nb::arg("flow"), nb::arg("size"),
           nb::arg("count"), nb::arg("threads"), nb::arg("first"), nb::arg("last"),
           nb::keep_alive<1, 2>())
      .def("run", &PyFlowSteps::run, nb::arg("rank"), released)
      .def(
          "measured",
          [](const PyFlowSteps& steps) {
            std::vector<double> sums;
            for (const Densities& one : steps.measured) {
              sums.insert(sums.end(), one.begin(), one.end());
            }
            const std::size_t count = steps.measured.size();
            return to_numpy(std::move(sums), {count, std::size_t{3}});
          },
          "Sums over all sites, but of ends, after each step, (count, 3): energy by plaquettes, by "
          "clovers, "
          "charge.");
}

}  // namespace hardscape::gauge
