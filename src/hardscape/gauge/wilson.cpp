// Python's view of the Wilson action: the Markov chain, plaquettes, and random links.
#include "gauge/wilson.hpp"

#include <array>
#include <stdexcept>

#include "gauge/plaquette.hpp"
#include "native/arrays.hpp"

namespace hardscape::gauge {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 8;
#elif defined(__AVX2__)
constexpr int kLanes = 4;
#else
constexpr int kLanes = 2;
#endif

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

template <class T>
nb::object plaquette_traces(nb::ndarray<const std::complex<T>, nb::c_contig, nb::device::cpu> links,
                            int threads) {
  const std::array<std::size_t, 4> shape{links.shape(0), links.shape(1), links.shape(2),
                                         links.shape(3)};
  const std::size_t nc = links.shape(5);
  const std::complex<T>* data = links.data();
  std::vector<double> sums(6 * shape[0]);
  {
    nb::gil_scoped_release release;
    if (nc == 2) {
      sum_plaquettes<2, kLanes>(data, extents_of(shape), threads, sums.data());
    } else {
      sum_plaquettes<3, kLanes>(data, extents_of(shape), threads, sums.data());
    }
  }
  return nb::cast(to_numpy(std::move(sums), {shape[0], 6}));
}

constexpr std::uint64_t kRandomLinks = 0x6c696e6b73ull;  // purpose of their streams: "links"

template <int N>
void fill_random(std::vector<Complex>& data, std::uint64_t seed) {
  for (std::size_t n = 0; n < data.size() / (N * N); ++n) {
    RandomStream random(seed, n, kRandomLinks);
    const Matrix<N, double> a = random_element<N>(random);
    for (int i = 0; i < N; ++i) {
      for (int j = 0; j < N; ++j) data[(n * N + i) * N + j] = {a.re[i][j], a.im[i][j]};
    }
  }
}

nb::object random_elements(std::size_t count, std::size_t nc, std::uint64_t seed) {
  if (nc != 2 && nc != 3) throw std::invalid_argument("nc");
  std::vector<Complex> data(count * nc * nc);
  {
    nb::gil_scoped_release release;
    nc == 2 ? fill_random<2>(data, seed) : fill_random<3>(data, seed);
  }
  return nb::cast(to_numpy(std::move(data), {count, nc, nc}));
}

}  // namespace

void bind_wilson(nb::module_& module) {
  nb::class_<PyWilsonChain>(module, "WilsonChain", "A Markov chain of the Wilson action.")
      .def(nb::init<ComplexLinks>(), nb::arg("links"))
      .def("links", &PyWilsonChain::links)
      .def("run", &PyWilsonChain::run, nb::arg("beta"), nb::arg("overrelax"), nb::arg("seed"),
           nb::arg("first"), nb::arg("count"), nb::arg("threads"),
           "Sweeps, each a heatbath and overrelaxations; the plaquette after each.");
  module.def("plaquette_traces", &plaquette_traces<double>, nb::arg("links"), nb::arg("threads"),
             "Sums of Re tr over the plaquettes of each timeslice, (T, 6): planes xy, xz, xt, yz, "
             "yt, zt.");
  module.def("plaquette_traces", &plaquette_traces<float>, nb::arg("links"), nb::arg("threads"));
  module.def("random_elements", &random_elements, nb::arg("count"), nb::arg("nc"), nb::arg("seed"),
             "Matrices of the Haar measure, element n from stream n.");
}

}  // namespace hardscape::gauge
