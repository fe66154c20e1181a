// Python's view of the Markov chain of the Wilson action.
#include "gauge/links/wilson.hpp"

#include "gauge/ends/ends.hpp"
#include "gauge/links/placed_python.hpp"

namespace hardscape::gauge {
namespace {

template <int N, int W>
using PeriodicChain = WilsonChain<N, W>;
using PyWilsonChain = PyPlaced<PeriodicChain, AnyWilsonChain>;

// Links with ends in time, fixed there or not; or without any. Planes with time weigh xi in the
// action, others 1 / xi.
void make_chain(PyWilsonChain* chain, ComplexLinks links, bool ends, bool fixed, double xi) {
  nb::gil_scoped_release release;
  if (ends || xi != 1) {
    new (chain)
        PyWilsonChain(links, weighed_chain(links.shape(links.ndim() - 1), extents_of(links, 3),
                                           links.data(), {ends, fixed, xi}));
  } else {
    new (chain) PyWilsonChain(links);
  }
}

struct PyWilsonSweeps : ChainSweeps {
  PyWilsonSweeps(PyWilsonChain& of, double beta, int overrelax, std::uint64_t seed,
                 std::uint64_t first, int count, int threads)
      : ChainSweeps{beta, overrelax, seed, first, std::vector<double>(count), Steps(threads)},
        chain(*of) {}

  void run(int rank) { chain.run(*this, rank); }

  AnyWilsonChain& chain;
};

}  // namespace

void bind_wilson(nb::module_& module) {
  const nb::call_guard<nb::gil_scoped_release> released;
  nb::class_<PyWilsonChain>(module, "WilsonChain", "A Markov chain of the Wilson action.")
      .def("__init__", &make_chain, nb::arg("links"), nb::arg("ends") = false,
           nb::arg("fixed") = false, nb::arg("xi") = 1.0)
      .def("links", &PyWilsonChain::links);
  nb::class_<PyWilsonSweeps>(module, "WilsonSweeps",
                             "Sweeps, each a heatbath and overrelaxations: every thread calls run.")
      .def(nb::init<PyWilsonChain&, double, int, std::uint64_t, std::uint64_t, int, int>(),
           nb::arg("chain"), nb::arg("beta"), nb::arg("overrelax"), nb::arg("seed"),
           nb::arg("first"), nb::arg("count"), nb::arg("threads"), nb::keep_alive<1, 2>())
      .def("run", &PyWilsonSweeps::run, nb::arg("rank"), released)
      .def(
          "plaquettes",
          [](const PyWilsonSweeps& sweeps) {
            return to_numpy(std::vector(sweeps.plaquettes), {sweeps.plaquettes.size()});
          },
          "The plaquette after each sweep.");
}

}  // namespace hardscape::gauge
