// Python's view of smeared links, and of loops of lines of links.
#include "gauge/links/smearing.hpp"

#include <stdexcept>

#include "gauge/links/placed_python.hpp"

namespace hardscape::gauge {
namespace {

using PySmearing = PyPlaced<Smearing, AnySmearing>;

struct PySmearingSteps : SmearingSteps {
  PySmearingSteps(PySmearing& of, double weight, bool stout, int directions, int count, int threads)
      : SmearingSteps{weight, stout, directions, count, Steps(threads)}, smearing(*of) {}

  void run(int rank) { smearing.run(*this, rank); }

  AnySmearing& smearing;
};

double loop_sum(ComplexLinks space, ComplexLinks time, int mu, int length, int duration, int first,
                int last) {
  const Extents extent = extents_of(space, 2);
  if (first < 0 || last < first || last > extent.slices() || mu < 0 || mu >= extent.time() ||
      length < 0 || duration < 0 || time.size() != space.size()) {
    throw std::invalid_argument("lines");
  }
  nb::gil_scoped_release release;
  return for_group(space.shape(space.ndim() - 1), [&](auto colors) {
    constexpr int kLanes = kVectorBytes / sizeof(double);
    return sum_loops<colors.value, kLanes>(space.data(), time.data(), extent, mu, length, duration,
                                           first, last);
  });
}

}  // namespace

void bind_smearing(nb::module_& module) {
  const nb::call_guard<nb::gil_scoped_release> released;
  nb::class_<PySmearing>(module, "Smearing", "Links that are smeared.")
      .def(nb::init<ComplexLinks>(), nb::arg("links"), released)
      .def("links", &PySmearing::links);
  nb::class_<PySmearingSteps>(module, "SmearingSteps", "Steps of smearing: every thread calls run.")
      .def(nb::init<PySmearing&, double, bool, int, int, int>(), nb::arg("smearing"),
           nb::arg("weight"), nb::arg("stout"), nb::arg("directions"), nb::arg("count"),
           nb::arg("threads"), nb::keep_alive<1, 2>())
      .def("run", &PySmearingSteps::run, nb::arg("rank"), released);
  module.def("loop_sum", &loop_sum, nb::arg("space"), nb::arg("time"), nb::arg("mu"),
             nb::arg("length"), nb::arg("duration"), nb::arg("first"), nb::arg("last"),
             "Sum of Re tr over the loops that start on timeslices first to last - 1, of lines in "
             "space, `length` along mu, and lines in time, `duration` along t, (T, ..., X, N, N).");
}

}  // namespace hardscape::gauge
