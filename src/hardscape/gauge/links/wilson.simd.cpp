// Python's view of the Markov chain of the Wilson action.
#include "gauge/links/wilson.hpp"

#include <array>
#include <memory>

#include "native/arrays.hpp"
#include "native/vector.hpp"

namespace hardscape::gauge {
namespace {

constexpr int kLanes = kVectorBytes / sizeof(double);

using Complex = std::complex<double>;
using ComplexLinks = nb::ndarray<const Complex, nb::c_contig, nb::device::cpu>;

template <int N>
std::unique_ptr<AnyWilsonChain> make_chain(const Extents& extent, const Complex* links) {
  if (Layout::fits(extent, kLanes)) {
    return std::make_unique<WilsonChain<N, kLanes>>(Layout(extent, 4, kLanes), links);
  }
  return std::make_unique<WilsonChain<N, 1>>(Layout(extent, 4, 1), links);
}

class PyWilsonChain {
 public:
  explicit PyWilsonChain(ComplexLinks links)
      : shape_{links.shape(0), links.shape(1), links.shape(2), links.shape(3)},
        nc_(links.shape(5)) {
    Extents extent;
    for (int mu = 0; mu < 4; ++mu) extent[mu] = static_cast<int>(shape_[3 - mu]);
    chain_ =
        for_group(nc_, [&](auto colors) { return make_chain<colors.value>(extent, links.data()); });
  }

  AnyWilsonChain& chain() { return *chain_; }

  auto links() const {
    std::vector<Complex> data(shape_[0] * shape_[1] * shape_[2] * shape_[3] * 4 * nc_ * nc_);
    {
      nb::gil_scoped_release release;
      chain_->links(data.data());
    }
    return to_numpy(std::move(data), {shape_[0], shape_[1], shape_[2], shape_[3], 4, nc_, nc_});
  }

 private:
  std::array<std::size_t, 4> shape_;  // T, Z, Y, X
  std::size_t nc_;
  std::unique_ptr<AnyWilsonChain> chain_;
};

struct PyWilsonSweeps : ChainSweeps {
  PyWilsonSweeps(PyWilsonChain& of, double beta, int overrelax, std::uint64_t seed,
                 std::uint64_t first, int count, int threads)
      : ChainSweeps{beta, overrelax, seed, first, std::vector<double>(count), Steps(threads)},
        chain(of.chain()) {}

  void run(int rank) { chain.run(*this, rank); }

  AnyWilsonChain& chain;
};

}  // namespace

void bind_wilson(nb::module_& module) {
  const nb::call_guard<nb::gil_scoped_release> released;
  nb::class_<PyWilsonChain>(module, "WilsonChain", "A Markov chain of the Wilson action.")
      .def(nb::init<ComplexLinks>(), nb::arg("links"), released)
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
