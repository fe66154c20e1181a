// Python's view of links as they lie in memory: plaquettes, distance from the group, random ones.
#include <array>
#include <complex>
#include <cstdint>
#include <stdexcept>

#include "gauge/plaquette.hpp"
#include "gauge/su2.hpp"
#include "gauge/unitarity.hpp"
#include "native/arrays.hpp"
#include "native/vector.hpp"

namespace hardscape::gauge {
namespace {

constexpr int kLanes = kVectorBytes / sizeof(double);

using Complex = std::complex<double>;
template <class T>
using Links = nb::ndarray<const std::complex<T>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::object plaquette_traces(Links<T> links, int threads) {
  const std::array<std::size_t, 4> shape{links.shape(0), links.shape(1), links.shape(2),
                                         links.shape(3)};
  const std::size_t nc = links.shape(5);
  const std::complex<T>* data = links.data();
  Extents extent;
  for (int mu = 0; mu < 4; ++mu) extent[mu] = static_cast<int>(shape[3 - mu]);
  std::vector<double> sums(6 * shape[0]);
  {
    nb::gil_scoped_release release;
    if (nc == 2) {
      sum_plaquettes<2, kLanes>(data, extent, threads, sums.data());
    } else {
      sum_plaquettes<3, kLanes>(data, extent, threads, sums.data());
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

template <class T>
nb::tuple worst_matrix(Links<T> matrices, int threads) {
  const std::size_t nc = matrices.shape(matrices.ndim() - 1), count = matrices.size() / (nc * nc);
  const std::complex<T>* data = matrices.data();
  Deviation worst;
  {
    nb::gil_scoped_release release;
    worst = nc == 2 ? largest_deviation<2>(data, count, threads)
                    : largest_deviation<3>(data, count, threads);
  }
  return nb::make_tuple(worst.size, worst.index);
}

}  // namespace

void bind_links(nb::module_& module) {
  module.def("plaquette_traces", &plaquette_traces<double>, nb::arg("links"), nb::arg("threads"),
             "Sums of Re tr over the plaquettes of each timeslice, (T, 6): planes xy, xz, xt, yz, "
             "yt, zt.");
  module.def("plaquette_traces", &plaquette_traces<float>, nb::arg("links"), nb::arg("threads"));
  module.def("random_elements", &random_elements, nb::arg("count"), nb::arg("nc"), nb::arg("seed"),
             "Matrices of the Haar measure, element n from stream n.");
  module.def(
      "worst_matrix", &worst_matrix<double>, nb::arg("matrices"), nb::arg("threads"),
      "Largest entry of |U U^dagger - 1| and |det U - 1|, and the first matrix that has it.");
  module.def("worst_matrix", &worst_matrix<float>, nb::arg("matrices"), nb::arg("threads"));
}

}  // namespace hardscape::gauge
