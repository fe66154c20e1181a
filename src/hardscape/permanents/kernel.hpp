// Kernels of this family at the Python border.
#pragma once

#include <functional>
#include <numeric>

#include "native/arrays.hpp"
#include "native/family.hpp"

namespace hardscape::permanents {

// Each instruction-set level has its own: nothing here may be merged by the linker.
namespace {

using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Stop = Vector<std::uint8_t>;

// An array that run(vector) fills without Python's lock, and what it returns: whether all was done.
template <class T, class Run>
auto unlocked(std::initializer_list<std::size_t> shape, Run&& run) {
  std::vector<T> result(
      std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies{}));
  bool done;
  {
    nb::gil_scoped_release release;
    done = run(result);
  }
  return std::make_tuple(to_numpy(std::move(result), shape), done);
}

}  // namespace
}  // namespace hardscape::permanents
