// What Python holds of links that lie in vectors.
#pragma once

#include <array>
#include <memory>
#include <type_traits>
#include <utility>

#include "gauge/many_colors/instances.hpp"
#include "native/arrays.hpp"
#include "native/vector.hpp"

namespace hardscape::gauge {

using ComplexLinks = nb::ndarray<const std::complex<double>, nb::c_contig, nb::device::cpu>;

inline Extents extents_of(const ComplexLinks& links) {
  Extents extent;
  for (int mu = 0; mu < 4; ++mu) extent[mu] = static_cast<int>(links.shape(3 - mu));
  return extent;
}

// Calls make(layout, lanes), lanes a constant: one where the extents do not fit the vectors.
template <class Make>
auto in_lanes(const Extents& extent, Make&& make) {
  constexpr int kLanes = kVectorBytes / sizeof(double);
  if (Layout::fits(extent, kLanes)) {
    return make(Layout(extent, 4, kLanes), std::integral_constant<int, kLanes>{});
  }
  return make(Layout(extent, 4, 1), std::integral_constant<int, 1>{});
}

// A `Made<N, lanes>` of links of shape (T, Z, Y, X, 4, N, N), as its base class `Any`.
template <template <int, int> class Made, class Any>
class PyPlaced {
 public:
  explicit PyPlaced(ComplexLinks links)
      : PyPlaced(links, for_group(links.shape(5), [&](auto colors) {
                   return in_lanes(extents_of(links), [&](Layout layout, auto lanes) {
                     return placed<Any, Made<colors.value, lanes.value>>(layout, links.data());
                   });
                 })) {}

  // What was made elsewhere of such links.
  PyPlaced(const ComplexLinks& links, std::unique_ptr<Any> made)
      : shape_{links.shape(0), links.shape(1), links.shape(2), links.shape(3)},
        nc_(links.shape(5)),
        made_(std::move(made)) {}

  Any& operator*() { return *made_; }

  auto links() const {
    std::vector<std::complex<double>> data(shape_[0] * shape_[1] * shape_[2] * shape_[3] * 4 * nc_ *
                                           nc_);
    {
      nb::gil_scoped_release release;
      made_->links(data.data());
    }
    return to_numpy(std::move(data), {shape_[0], shape_[1], shape_[2], shape_[3], 4, nc_, nc_});
  }

 private:
  std::array<std::size_t, 4> shape_;  // T, Z, Y, X
  std::size_t nc_;
  std::unique_ptr<Any> made_;
};

}  // namespace hardscape::gauge
