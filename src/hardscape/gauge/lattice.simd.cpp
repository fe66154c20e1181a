// Python's view of a lattice: one class for both groups, both kinds of gauge, both precisions.
#include "gauge/lattice.hpp"

#include <memory>
#include <stdexcept>

#include "native/arrays.hpp"
#include "native/vector.hpp"

namespace hardscape::gauge {

namespace {

using ComplexArray = nb::ndarray<const Complex, nb::c_contig, nb::device::cpu>;
using Flags = Vector<std::uint8_t>;

struct Problem {
  Extents extent;
  int directions;
  const Complex* links;
  const double* weights;
};

template <int N, class T, template <int, class> class Local>
std::unique_ptr<AnyLattice> make(const Problem& p) {
  constexpr int W = kVectorBytes / sizeof(T);
  if (Layout::fits(p.extent, W)) {
    return std::make_unique<Lattice<N, T, W, Local>>(Layout(p.extent, p.directions, W), p.links,
                                                     p.weights);
  }
  return std::make_unique<Lattice<N, T, 1, Local>>(Layout(p.extent, p.directions, 1), p.links,
                                                   p.weights);
}

template <int N, class T>
std::unique_ptr<AnyLattice> make(const Problem& p, bool abelian) {
  return abelian ? make<N, T, AbelianLocal>(p) : make<N, T, LinearLocal>(p);
}

template <int N>
std::unique_ptr<AnyLattice> make(const Problem& p, bool abelian, bool single) {
  return single ? make<N, float>(p, abelian) : make<N, double>(p, abelian);
}

class PyLattice {
 public:
  PyLattice(ComplexArray links, Vector<double> weights, int directions, bool abelian, bool single)
      : nc_(links.shape(5)),
        shape_{links.shape(0), links.shape(1), links.shape(2), links.shape(3)} {
    Problem problem{{}, directions, links.data(), weights.data()};
    for (int mu = 0; mu < 4; ++mu) problem.extent[mu] = static_cast<int>(shape_[3 - mu]);
    nb::gil_scoped_release release;
    lattice_ = nc_ == 2 ? make<2>(problem, abelian, single) : make<3>(problem, abelian, single);
  }

  void set_transformation(ComplexArray g) {
    if (g.size() != sites() * nc_ * nc_) throw std::invalid_argument("g does not fit the links");
    nb::gil_scoped_release release;
    lattice_->set_transformation(g.data());
  }

  void randomize(std::uint64_t seed) {
    nb::gil_scoped_release release;
    lattice_->randomize(seed);
  }

  nb::object transformation() const {
    return matrices(1, [&](Complex* g) { lattice_->transformation(g); });
  }

  nb::object gradient(int threads) const {
    const std::size_t components = nc_ == 2 ? 2 : 4;
    std::vector<Complex> delta(components * sites());
    {
      nb::gil_scoped_release release;
      lattice_->gradient(delta.data(), threads);
    }
    return nb::cast(
        to_numpy(std::move(delta), {components, shape_[0], shape_[1], shape_[2], shape_[3]}));
  }

  void move(ComplexArray direction, Vector<double> step, int threads) {
    const std::size_t components = nc_ == 2 ? 2 : 4;
    if (direction.size() != components * sites() || step.size() != shape_[0]) {
      throw std::invalid_argument("direction or step does not fit the links");
    }
    nb::gil_scoped_release release;
    lattice_->move(direction.data(), step.data(), threads);
  }

  int sweep(int method, Vector<double> step, std::uint64_t seed, std::uint64_t first, int count,
            Flags active, int threads, Flags stop) {
    if (active.size() != shape_[0] || step.size() != 4) throw std::invalid_argument("sweep");
    const double* s = step.data();
    nb::gil_scoped_release release;
    return lattice_->sweep(static_cast<Method>(method), Step{s[0], s[1], s[2], s[3]}, seed, first,
                           count, active.data(), threads, stop.data());
  }

  nb::object measure(int threads) const {
    std::vector<double> functional(sites()), theta(sites());
    const std::size_t slices = shape_[0], volume = sites() / slices;
    std::vector<double> sums(3 * slices);
    {
      nb::gil_scoped_release release;
      lattice_->measure(functional.data(), theta.data(), threads);
      for (std::size_t t = 0; t < slices; ++t) {
        for (std::size_t i = t * volume; i < (t + 1) * volume; ++i) {
          sums[t] += functional[i];
          sums[slices + t] += theta[i];
          // Not std::max: a NaN must come through.
          sums[2 * slices + t] = theta[i] <= sums[2 * slices + t] ? sums[2 * slices + t] : theta[i];
        }
      }
    }
    return nb::cast(to_numpy(std::move(sums), {3, slices}));
  }

 private:
  std::size_t sites() const { return shape_[0] * shape_[1] * shape_[2] * shape_[3]; }

  template <class Fill>
  nb::object matrices(std::size_t per_site, const Fill& fill) const {
    std::vector<Complex> data(sites() * per_site * nc_ * nc_);
    {
      nb::gil_scoped_release release;
      fill(data.data());
    }
    if (per_site == 1) {
      return nb::cast(
          to_numpy(std::move(data), {shape_[0], shape_[1], shape_[2], shape_[3], nc_, nc_}));
    }
    return nb::cast(to_numpy(std::move(data),
                             {shape_[0], shape_[1], shape_[2], shape_[3], per_site, nc_, nc_}));
  }

  std::size_t nc_;
  std::array<std::size_t, 4> shape_;  // T, Z, Y, X
  std::unique_ptr<AnyLattice> lattice_;
};

}  // namespace

void bind_lattice(nb::module_& module) {
  nb::class_<PyLattice>(module, "Lattice",
                        "A gauge field and the transformation g(x) that fixes its gauge.")
      .def(nb::init<ComplexArray, Vector<double>, int, bool, bool>(), nb::arg("links"),
           nb::arg("weights"), nb::arg("directions"), nb::arg("abelian"), nb::arg("single"))
      .def("set_transformation", &PyLattice::set_transformation, nb::arg("g"))
      .def("randomize", &PyLattice::randomize, nb::arg("seed"), "Set g from the Haar measure.")
      .def("transformation", &PyLattice::transformation)
      .def("gradient", &PyLattice::gradient, nb::arg("threads"),
           "Delta of each site, packed: component, t, z, y, x.")
      .def("move", &PyLattice::move, nb::arg("direction"), nb::arg("step"), nb::arg("threads"),
           "g <- exp(step[t] direction) g.")
      .def("sweep", &PyLattice::sweep, nb::arg("method"), nb::arg("step"), nb::arg("seed"),
           nb::arg("first"), nb::arg("count"), nb::arg("active"), nb::arg("threads"),
           nb::arg("stop"), "Visit the sites of the active timeslices; returns the sweeps done.")
      .def("measure", &PyLattice::measure, nb::arg("threads"),
           "Of each timeslice: functional (links counted from both ends), sum and maximum of "
           "tr(Delta Delta^dagger) / Nc.");
}

}  // namespace hardscape::gauge
