// Python's view of the Markov chain of the Wilson action.
#include "gauge/wilson.hpp"

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

Extents extents_of(const std::array<std::size_t, 4>& shape) {
  Extents extent;
  for (int mu = 0; mu < 4; ++mu) extent[mu] = static_cast<int>(shape[3 - mu]);
  return extent;
}

class PyWilsonChain {
 public:
  explicit PyWilsonChain(ComplexLinks links)
      : shape_{links.shape(0), links.shape(1), links.shape(2), links.shape(3)},
        nc_(links.shape(5)) {
    const Complex* data = links.data();
    nb::gil_scoped_release release;
    chain_ = nc_ == 2 ? make_chain<2>(extents_of(shape_), data)
                      : make_chain<3>(extents_of(shape_), data);
  }

  nb::object links() const {
    std::vector<Complex> data(shape_[0] * shape_[1] * shape_[2] * shape_[3] * 4 * nc_ * nc_);
    {
      nb::gil_scoped_release release;
      chain_->links(data.data());
    }
    return nb::cast(
        to_numpy(std::move(data), {shape_[0], shape_[1], shape_[2], shape_[3], 4, nc_, nc_}));
  }

  nb::object run(double beta, int overrelax, std::uint64_t seed, std::uint64_t first, int count,
                 int threads) {
    std::vector<double> plaquettes(count);
    {
      nb::gil_scoped_release release;
      const ChainStep step{beta, overrelax, seed, first};
      chain_->run(step, count, threads, plaquettes.data());
    }
    return nb::cast(to_numpy(std::move(plaquettes), {static_cast<std::size_t>(count)}));
  }

 private:
  std::array<std::size_t, 4> shape_;  // T, Z, Y, X
  std::size_t nc_;
  std::unique_ptr<AnyWilsonChain> chain_;
};

}  // namespace

void bind_wilson(nb::module_& module) {
  nb::class_<PyWilsonChain>(module, "WilsonChain", "A Markov chain of the Wilson action.")
      .def(nb::init<ComplexLinks>(), nb::arg("links"))
      .def("links", &PyWilsonChain::links)
      .def("run", &PyWilsonChain::run, nb::arg("beta"), nb::arg("overrelax"), nb::arg("seed"),
           nb::arg("first"), nb::arg("count"), nb::arg("threads"),
           "Sweeps, each a heatbath and overrelaxations; the plaquette after each.");
}

}  // namespace hardscape::gauge
