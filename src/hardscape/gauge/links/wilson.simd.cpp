// Python's view of the Markov chain of the Wilson action.
#include "gauge/links/wilson.hpp"

#include <stdexcept>

#include "gauge/ends/ends.hpp"
#include "gauge/links/placed_python.hpp"

namespace hardscape::gauge {
namespace {

template <int N, int W>
using PeriodicChain = WilsonChain<N, W>;
using PyWilsonChain = PyPlaced<PeriodicChain, AnyWilsonChain>;

// Links with ends in time, fixed on the first (1) or the last slice (2), or both; or without any.
// Planes with time weigh xi in the action, others 1 / xi. Of a lattice of so many slices those from
// `first` on, and the same of rows; 0: these are all.
void make_chain(PyWilsonChain* chain, ComplexLinks links, bool ends, int fixed, double xi,
                int first, int slices, int first_row, int rows) {
  nb::gil_scoped_release release;
  const Extents extent = extents_of(links, 3);
  const Window window{first, slices > 0 ? slices : extent.slices(), slices > 0, first_row, rows};
  const std::size_t nc = links.shape(links.ndim() - 1);
  if (ends || xi != 1) {
    new (chain)
        PyWilsonChain(links, weighed_chain(nc, extent, links.data(),
                                           {ends, (fixed & 1) != 0, (fixed & 2) != 0, xi}, window));
  } else {
    auto made = for_group(nc, [&](auto colors) {
      return in_lanes(extent, window, [&](Layout layout, auto lanes) {
        return placed<AnyWilsonChain, WilsonChain<colors.value, lanes.value>>(layout, links.data());
      });
    });
    new (chain) PyWilsonChain(links, std::move(made));
  }
}

using Sums = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

std::size_t sites(const PyWilsonChain& chain) {
  return static_cast<std::size_t>(chain.extent().slices()) * chain.extent().slice_volume();
}

std::size_t sites_there(const PyWilsonChain& chain, int nu, int at) {
  const Extents& extent = chain.extent();
  if (nu < 0 || nu >= extent.directions || at < 0 || at >= extent[nu]) {
    throw std::invalid_argument("no such sites");
  }
  return sites(chain) / extent[nu];
}

struct PyWilsonSweeps : ChainSweeps {
  PyWilsonSweeps(PyWilsonChain& of, double beta, int overrelax, std::uint64_t seed,
                 std::uint64_t first, int count, int threads)
      : ChainSweeps{beta, overrelax, seed, first, std::vector<double>(count), Steps(threads)},
        chain(*of) {}

  void run(int rank) { chain.run(*this, rank); }

  void step(bool heat, int color, int mu, int sides, int rank, int of) {
    if (color < 0 || color >= chain.colors() || sides < 0 || sides > 2) {
      throw std::invalid_argument("no such sites");
    }
    chain.step(*this, {heat, color, mu, sides}, rank, of);
  }

  AnyWilsonChain& chain;
};

}  // namespace

void bind_wilson(nb::module_& module) {
  const nb::call_guard<nb::gil_scoped_release> released;
  nb::class_<PyWilsonChain>(module, "WilsonChain", "A Markov chain of the Wilson action.")
      .def("__init__", &make_chain, nb::arg("links"), nb::arg("ends") = false, nb::arg("fixed") = 0,
           nb::arg("xi") = 1.0, nb::arg("first") = 0, nb::arg("slices") = 0,
           nb::arg("first_row") = 0, nb::arg("rows") = 0,
           "Of a lattice of so many slices, those from first on, and the same of the slowest "
           "direction in space; 0: these are all.")
      .def("links", &PyWilsonChain::links)
      .def_prop_ro("colors", [](PyWilsonChain& chain) { return (*chain).colors(); })
      .def(
          "face",
          [](PyWilsonChain& chain, int nu, int at, int mu) {
            const std::size_t nc = chain.nc(), sites = sites_there(chain, nu, at);
            std::vector<std::complex<double>> links(sites * nc * nc);
            {
              nb::gil_scoped_release release;
              (*chain).face(nu, at, mu, links.data());
            }
            return to_numpy(std::move(links), {sites, nc, nc});
          },
          nb::arg("nu"), nb::arg("at"), nb::arg("mu"),
          "Links in direction mu where direction nu has a coordinate, (sites, Nc, Nc).")
      .def(
          "set_face",
          [](PyWilsonChain& chain, int nu, int at, int mu, ComplexLinks links) {
            if (links.size() != sites_there(chain, nu, at) * chain.nc() * chain.nc()) {
              throw std::invalid_argument("an array does not fit the sites there");
            }
            nb::gil_scoped_release release;
            (*chain).set_face(nu, at, mu, links.data());
          },
          nb::arg("nu"), nb::arg("at"), nb::arg("mu"), nb::arg("links"))
      .def(
          "site_traces",
          [](PyWilsonChain& chain, Sums sums, int rank, int of) {
            if (sums.size() != sites(chain)) throw std::invalid_argument("one number a site");
            (*chain).site_traces(sums.data(), rank, of);
          },
          nb::arg("sums").noconvert(), nb::arg("rank"), nb::arg("of"), released,
          "Of each site, the sum of Re tr of plaquettes that start there.");
  nb::class_<PyWilsonSweeps>(module, "WilsonSweeps",
                             "Sweeps, each a heatbath and overrelaxations: every thread calls run.")
      .def(nb::init<PyWilsonChain&, double, int, std::uint64_t, std::uint64_t, int, int>(),
           nb::arg("chain"), nb::arg("beta"), nb::arg("overrelax"), nb::arg("seed"),
           nb::arg("first"), nb::arg("count"), nb::arg("threads"), nb::keep_alive<1, 2>())
      .def("run", &PyWilsonSweeps::run, nb::arg("rank"), released)
      .def("step", &PyWilsonSweeps::step, nb::arg("heat"), nb::arg("color"), nb::arg("mu"),
           nb::arg("sides"), nb::arg("rank"), nb::arg("of"), released,
           "Move the links of a colour and direction in the first sweep: of all sites, of those of "
           "a window that others copy (1), or of the others (2).")
      .def(
          "plaquettes",
          [](const PyWilsonSweeps& sweeps) {
            return to_numpy(std::vector(sweeps.plaquettes), {sweeps.plaquettes.size()});
          },
          "The plaquette after each sweep.");
}

}  // namespace hardscape::gauge
