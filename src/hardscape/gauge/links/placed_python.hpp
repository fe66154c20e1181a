// Python's arrays of sites, and what it holds of links that lie in vectors.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "gauge/many_colors/instances.hpp"
#include "native/arrays.hpp"
#include "native/vector.hpp"

namespace hardscape::gauge {

// Of an array with `beside` axes after those of the lattice.
template <class Array>
Extents extents_of(const Array& array, int beside) {
  Extents extent{static_cast<int>(array.ndim()) - beside, {}};
  for (int mu = 0; mu < extent.directions; ++mu) {
    extent[mu] = static_cast<int>(array.shape(extent.directions - 1 - mu));
  }
  return extent;
}

// Hands a vector's memory to a NumPy array of sites, without copying; of one timeslice where
// `first` is 1.
template <class T>
NumpyArray<T> on_sites(std::vector<T>&& data, const Extents& extent,
                       std::initializer_list<std::size_t> beside, int first = 0) {
  std::vector<std::size_t> shape;
  for (int mu = extent.time() - first; mu >= 0; --mu) shape.push_back(extent[mu]);
  shape.insert(shape.end(), beside);
  auto owned = std::make_unique<std::vector<T>>(std::move(data));
  T* pointer = owned->data();
  nb::capsule owner(owned.release(),
                    [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return NumpyArray<T>(pointer, shape.size(), shape.data(), owner);
}

using ComplexLinks = nb::ndarray<const std::complex<double>, nb::c_contig, nb::device::cpu>;

// Calls make(layout, lanes), lanes a constant: one where the extents do not fit the vectors.
template <class Make>
auto in_lanes(const Extents& extent, const Window& window, Make&& make) {
  constexpr int kLanes = kVectorBytes / sizeof(double);
  if (Layout::fits(extent, kLanes, window)) {
    return make(Layout(extent, extent.directions, kLanes, window),
                std::integral_constant<int, kLanes>{});
  }
  return make(Layout(extent, extent.directions, 1, window), std::integral_constant<int, 1>{});
}

// The same where the lattice is whole.
template <class Make>
auto in_lanes(const Extents& extent, Make&& make) {
  return in_lanes(extent, Window{0, extent.slices()}, std::forward<Make>(make));
}

// A `Made<N, lanes>` of links of shape (T, ..., Y, X, Nd, N, N), as its base class `Any`.
template <template <int, int> class Made, class Any>
class PyPlaced {
 public:
  explicit PyPlaced(ComplexLinks links)
      : PyPlaced(links, for_group(links.shape(links.ndim() - 1), [&](auto colors) {
                   return in_lanes(extents_of(links, 3), [&](Layout layout, auto lanes) {
                     return placed<Any, Made<colors.value, lanes.value>>(layout, links.data());
                   });
                 })) {}

  // What was made elsewhere of such links.
  PyPlaced(const ComplexLinks& links, std::unique_ptr<Any> made)
      : extent_(extents_of(links, 3)), nc_(links.shape(links.ndim() - 1)), made_(std::move(made)) {}

  Any& operator*() { return *made_; }
  const Extents& extent() const { return extent_; }
  std::size_t nc() const { return nc_; }

  auto links() const {
    const std::size_t directions = extent_.directions;
    std::vector<std::complex<double>> data(directions * extent_.slices() * extent_.slice_volume() *
                                           nc_ * nc_);
    {
      nb::gil_scoped_release release;
      made_->links(data.data());
    }
    return on_sites(std::move(data), extent_, {directions, nc_, nc_});
  }

 private:
  Extents extent_;
  std::size_t nc_;
  std::unique_ptr<Any> made_;
};

}  // namespace hardscape::gauge
