// What Python holds of links that lie in vectors.
#pragma once

#include <array>
#include <memory>

#include "gauge/links/placed.hpp"
#include "native/arrays.hpp"
#include "native/vector.hpp"

namespace hardscape::gauge {

using ComplexLinks = nb::ndarray<const std::complex<double>, nb::c_contig, nb::device::cpu>;

// A `Made<N, lanes>` of links of shape (T, Z, Y, X, 4, N, N), as its base class `Any`.
template <template <int, int> class Made, class Any>
class PyPlaced {
 public:
  explicit PyPlaced(ComplexLinks links)
      : shape_{links.shape(0), links.shape(1), links.shape(2), links.shape(3)},
        nc_(links.shape(5)) {
    Extents extent;
    for (int mu = 0; mu < 4; ++mu) extent[mu] = static_cast<int>(shape_[3 - mu]);
    made_ = for_group(nc_, [&](auto colors) { return make<colors.value>(extent, links.data()); });
  }

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
  static constexpr int kLanes = kVectorBytes / sizeof(double);

  // Lane by lane where the extents do not fit the vectors.
  template <int N>
  static std::unique_ptr<Any> make(const Extents& extent, const std::complex<double>* links) {
    if (Layout::fits(extent, kLanes)) {
      return std::make_unique<Made<N, kLanes>>(Layout(extent, 4, kLanes), links);
    }
    return std::make_unique<Made<N, 1>>(Layout(extent, 4, 1), links);
  }

  std::array<std::size_t, 4> shape_;  // T, Z, Y, X
  std::size_t nc_;
  std::unique_ptr<Any> made_;
};

}  // namespace hardscape::gauge
