// Python's view of gauge transformations of links, and of how well links are in a gauge.
#include <stdexcept>

#include "gauge/links/placed_python.hpp"

namespace hardscape::gauge {
namespace {

constexpr int kLanes = kVectorBytes / sizeof(double);

using Complex = std::complex<double>;
template <class T>
using Links = nb::ndarray<const std::complex<T>, nb::c_contig, nb::device::cpu>;
template <class T>
using NewLinks = nb::ndarray<std::complex<T>, nb::c_contig, nb::device::cpu>;
using Rotations = nb::ndarray<const Complex, nb::c_contig, nb::device::cpu>;

template <class T>
void transform(Links<T> links, Rotations g, int first, int last, NewLinks<T> transformed) {
  const Extents extent = extents_of(links, 3);
  const std::size_t nc = links.shape(links.ndim() - 1);
  const std::size_t sites = links.size() / (extent.directions * nc * nc);
  if (g.size() != sites * nc * nc || transformed.size() != links.size()) {
    throw std::invalid_argument("arrays that do not fit one another");
  }
  if (first < 0 || last < first || static_cast<std::size_t>(last) > sites) {
    throw std::invalid_argument("sites");
  }
  nb::gil_scoped_release release;
  for_group(nc, [&](auto colors) {
    transform_links<colors.value, kLanes>(links.data(), g.data(), extent, first, last,
                                          transformed.data());
  });
}

template <class T>
auto conditions(Links<T> links, Vector<double> weights, int directions, bool abelian, int first,
                int last) {
  const Extents extent = extents_of(links, 3);
  if (first < 0 || last < first || last > extent.slices()) {
    throw std::invalid_argument("timeslices");
  }
  if (weights.size() != static_cast<std::size_t>(extent.directions) || directions < 0 ||
      directions > extent.directions) {
    throw std::invalid_argument("directions");
  }
  const std::size_t slices = last - first;
  std::vector<double> found(3 * slices);
  {
    nb::gil_scoped_release release;
    for_group(links.shape(links.ndim() - 1), [&](auto colors) {
      constexpr int N = colors.value;
      const auto sum = abelian ? &sum_conditions<N, kLanes, AbelianLocal, T>
                               : &sum_conditions<N, kLanes, LinearLocal, T>;
      sum(links.data(), extent, weights.data(), directions, first, last, found.data());
    });
  }
  return to_numpy(std::move(found), {slices, 3});
}

template <class T>
void bind_fixed_of(nb::module_& module) {
  module.def("transform", &transform<T>, nb::arg("links"), nb::arg("g"), nb::arg("first"),
             nb::arg("last"), nb::arg("transformed"),
             "g(x) U_mu(x) g(x+mu)^dagger of sites first to last - 1, into `transformed`.");
  module.def("conditions", &conditions<T>, nb::arg("links"), nb::arg("weights"),
             nb::arg("directions"), nb::arg("abelian"), nb::arg("first"), nb::arg("last"),
             "Of timeslices first to last - 1: sum of the functional, links counted from both "
             "ends, sum and maximum of tr(Delta Delta^dagger) / Nc, (T, 3).");
}

}  // namespace

void bind_fixed(nb::module_& module) {
  bind_fixed_of<double>(module);
  bind_fixed_of<float>(module);
}

}  // namespace hardscape::gauge
