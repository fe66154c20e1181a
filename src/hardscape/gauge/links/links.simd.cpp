// Python's view of links as they lie in memory: plaquettes, distance from the group and back
// to it, random ones.
#include <nanobind/stl/pair.h>

#include <complex>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "gauge/links/placed_python.hpp"

namespace hardscape::gauge {
namespace {

constexpr int kLanes = kVectorBytes / sizeof(double);

using Complex = std::complex<double>;
template <class T>
using Links = nb::ndarray<const std::complex<T>, nb::c_contig, nb::device::cpu>;
template <class T>
using NewLinks = nb::ndarray<std::complex<T>, nb::c_contig, nb::device::cpu>;

template <class T>
auto plaquette_traces(Links<T> links, int first, int last) {
  const Extents extent = extents_of(links, 3);
  if (first < 0 || last < first || last > extent.slices()) {
    throw std::invalid_argument("timeslices");
  }
  const std::size_t nc = links.shape(links.ndim() - 1), slices = last - first;
  const std::size_t planes = extent.directions * (extent.directions - 1) / 2;
  std::vector<double> sums(planes * slices);
  {
    nb::gil_scoped_release release;
    for_group(nc, [&](auto colors) {
      sum_plaquettes<colors.value, kLanes>(links.data(), extent, first, last, sums.data());
    });
  }
  return to_numpy(std::move(sums), {slices, planes});
}

auto random_elements(std::size_t count, std::size_t nc, std::uint64_t seed) {
  std::vector<Complex> data(count * nc * nc);
  {
    nb::gil_scoped_release release;
    for_group(nc, [&](auto colors) { fill_random<colors.value>(data.data(), count, seed); });
  }
  return to_numpy(std::move(data), {count, nc, nc});
}

template <class T>
std::pair<double, std::size_t> worst_matrix(Links<T> matrices, std::size_t first,
                                            std::size_t last) {
  const std::size_t nc = matrices.shape(matrices.ndim() - 1);
  if (last < first || last > matrices.size() / (nc * nc)) throw std::invalid_argument("matrices");
  nb::gil_scoped_release release;
  return for_group(nc, [&](auto colors) {
    const Deviation worst = largest_deviation<colors.value>(matrices.data(), first, last);
    return std::pair(worst.size, worst.index);
  });
}

template <class T>
std::size_t reprojected(Links<T> matrices, std::size_t first, std::size_t last,
                        NewLinks<T> projected) {
  const std::size_t nc = matrices.shape(matrices.ndim() - 1);
  if (last < first || last > matrices.size() / (nc * nc)) throw std::invalid_argument("matrices");
  if (projected.size() != matrices.size()) {
    throw std::invalid_argument("arrays that do not fit one another");
  }
  nb::gil_scoped_release release;
  return for_group(nc, [&](auto colors) {
    return reproject<colors.value, kLanes>(matrices.data(), first, last, projected.data());
  });
}

template <class T>
void bind_links_of(nb::module_& module) {
  module.def(
      "plaquette_traces", &plaquette_traces<T>, nb::arg("links"), nb::arg("first"), nb::arg("last"),
      "Sums of Re tr over the plaquettes of timeslices first to last - 1, (T, planes): planes xy, "
      "xz, xt, yz, yt, zt in four dimensions.");
  module.def(
      "worst_matrix", &worst_matrix<T>, nb::arg("matrices"), nb::arg("first"), nb::arg("last"),
      "Largest entry of |U U^dagger - 1| and |det U - 1| among matrices first to last - 1, and "
      "the first matrix that has it.");
  module.def(
      "reproject", &reprojected<T>, nb::arg("matrices"), nb::arg("first"), nb::arg("last"),
      nb::arg("projected"),
      "Bring matrices first to last - 1 back to the group, into `projected`; the first of them "
      "that does not tell which element it meant, or `last`.");
}

}  // namespace

void bind_links(nb::module_& module) {
  bind_links_of<double>(module);
  bind_links_of<float>(module);
  module.def("random_elements", &random_elements, nb::arg("count"), nb::arg("nc"), nb::arg("seed"),
             "Matrices of the Haar measure, element n from stream n.");
}

}  // namespace hardscape::gauge
