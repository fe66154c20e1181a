// Python's view of a lattice: one class for all groups, both kinds of gauge, both precisions.
#include <algorithm>
#include <memory>
#include <stdexcept>

#include "gauge/links/placed_python.hpp"

namespace hardscape::gauge {

namespace {

using ComplexArray = nb::ndarray<const Complex, nb::c_contig, nb::device::cpu>;
template <class T>
using Output = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
using Flags = Vector<std::uint8_t>;
using RowArray = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void expect(bool fits) {
  if (!fits) throw std::invalid_argument("an array does not fit the lattice");
}

class PyLattice {
 public:
  PyLattice(ComplexArray links, Vector<double> weights, int directions, bool abelian, bool single,
            int first, int slices, int first_row, int rows)
      : nc_(links.shape(links.ndim() - 1)), extent_(extents_of(links, 3)) {
    LatticeProblem problem{extent_,
                           {first, slices, slices > 0, first_row, rows},
                           directions,
                           links.data(),
                           weights.data()};
    if (slices == 0) problem.window.slices = extent_.slices();
    expect(weights.size() == static_cast<std::size_t>(extent_.directions));
    expect(first >= 0 && first < problem.window.slices);
    expect(first_row >= 0 && first_row < std::max(rows, 1));
    for_group(nc_, [&](auto colors) {
      constexpr int N = colors.value;
      components_ = Algebra<N, double>::kSize;
      lattice_ = make_lattice<N>(problem, abelian, single);
    });
  }

  AnyLattice& lattice() { return *lattice_; }
  std::size_t slices() const { return extent_.slices(); }

  void set_transformation(ComplexArray g) {
    expect(g.size() == sites() * nc_ * nc_);
    lattice_->set_transformation(g.data());
  }

  void randomize(std::uint64_t seed) { lattice_->randomize(seed); }

  auto transformation() const {
    std::vector<Complex> g(sites() * nc_ * nc_);
    {
      nb::gil_scoped_release release;
      lattice_->transformation(g.data());
    }
    return on_sites(std::move(g), extent_, {nc_, nc_});
  }

  auto face(int mu, int at) const {
    const std::size_t count = sites_there(mu, at);
    std::vector<Complex> g(count * nc_ * nc_);
    {
      nb::gil_scoped_release release;
      lattice_->face(mu, at, g.data());
    }
    return to_numpy(std::move(g), {count, nc_, nc_});
  }

  void set_face(int mu, int at, ComplexArray g) {
    expect(g.size() == sites_there(mu, at) * nc_ * nc_);
    lattice_->set_face(mu, at, g.data());
  }

  int colors() const { return lattice_->colors(); }

  void measure(Output<double> functional, Output<double> theta, int rank, int of) const {
    expect(functional.size() == sites() && theta.size() == sites());
    lattice_->measure(functional.data(), theta.data(), Share{rank, of});
  }

  void gradient(Output<Complex> delta, int rank, int of) const {
    expect(delta.size() == components_ * sites());
    lattice_->gradient(delta.data(), Share{rank, of});
  }

  void move(ComplexArray direction, Vector<double> step, int rank, int of) {
    expect(direction.size() == components_ * sites() && step.size() == slices());
    lattice_->move(direction.data(), step.data(), Share{rank, of});
  }

 private:
  std::size_t sites_there(int mu, int at) const {
    expect(mu >= 0 && mu < extent_.directions && at >= 0 && at < extent_[mu]);
    return sites() / extent_[mu];
  }

  std::size_t sites() const { return slices() * extent_.slice_volume(); }

  std::size_t nc_, components_ = 0;
  Extents extent_;
  std::unique_ptr<AnyLattice> lattice_;
};

struct PySweeps : Sweeps {
  PySweeps(PyLattice& of, int method, Vector<double> step, std::uint64_t seed, std::uint64_t first,
           int count, Flags moving, int threads, Flags stops, int color, int sides)
      : Sweeps{static_cast<Method>(method),
               {step(0), step(1), step(2), step(3)},
               seed,
               first,
               count,
               {moving.data(), moving.data() + moving.size()},
               {},
               stops.data(),
               Steps(threads)},
        lattice(of.lattice()),
        kept(stops) {
    expect(moving.size() == of.slices());
    expect(sides >= Which::kAll && sides <= Which::kInner);
    stages = lattice.moving_stages(active.data(), {color, static_cast<Which::Sides>(sides)});
  }

  void run(int rank) { lattice.sweep(*this, rank); }

  AnyLattice& lattice;
  Flags kept;  // what `stop` points into
};

// Of each row of a timeslice: sums of functional and theta, and the largest theta. So a slice adds
// up to the same bits wherever its rows lie.
auto row_sums(RowArray functional, RowArray theta) {
  const std::size_t rows = functional.shape(0) * functional.shape(1), volume = functional.shape(2);
  expect(theta.shape(0) * theta.shape(1) == rows && theta.shape(2) == volume);
  std::vector<double> sums(3 * rows);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = row * volume; i < (row + 1) * volume; ++i) {
      const double violation = theta.data()[i];
      sums[row] += functional.data()[i];
      sums[rows + row] += violation;
      // Not std::max: a NaN must come through.
      if (!(violation <= sums[2 * rows + row])) sums[2 * rows + row] = violation;
    }
  }
  return to_numpy(std::move(sums), {3, functional.shape(0), functional.shape(1)});
}

}  // namespace

void bind_lattice(nb::module_& module) {
  const nb::call_guard<nb::gil_scoped_release> released;
  nb::class_<PyLattice>(
      module, "Lattice",
      "A gauge field and the transformation g(x) that fixes its gauge. What takes "
      "rank and of does the share of one thread of so many.")
      .def(nb::init<ComplexArray, Vector<double>, int, bool, bool, int, int, int, int>(),
           nb::arg("links"), nb::arg("weights"), nb::arg("directions"), nb::arg("abelian"),
           nb::arg("single"), nb::arg("first") = 0, nb::arg("slices") = 0, nb::arg("first_row") = 0,
           nb::arg("rows") = 0, released,
           "Of a lattice of so many slices, those from first on, and the same of the slowest "
           "direction in space; 0: these are all.")
      .def("set_transformation", &PyLattice::set_transformation, nb::arg("g"), released)
      .def("randomize", &PyLattice::randomize, nb::arg("seed"), released,
           "Set g from the Haar measure.")
      .def("transformation", &PyLattice::transformation)
      .def("face", &PyLattice::face, nb::arg("mu"), nb::arg("at"),
           "g where direction mu has a coordinate, number for number, (sites, Nc, Nc).")
      .def("set_face", &PyLattice::set_face, nb::arg("mu"), nb::arg("at"), nb::arg("g"), released)
      .def_prop_ro("colors", &PyLattice::colors)
      .def("measure", &PyLattice::measure, nb::arg("functional").noconvert(),
           nb::arg("theta").noconvert(), nb::arg("rank"), nb::arg("of"), released,
           "Of each site: functional (links counted from both ends) and "
           "tr(Delta Delta^dagger) / Nc.")
      .def("gradient", &PyLattice::gradient, nb::arg("delta").noconvert(), nb::arg("rank"),
           nb::arg("of"), released, "Delta of each site, packed: component, t, ..., y, x.")
      .def("move", &PyLattice::move, nb::arg("direction"), nb::arg("step"), nb::arg("rank"),
           nb::arg("of"), released, "g <- exp(step[t] direction) g.");
  nb::class_<PySweeps>(module, "Sweeps",
                       "Visits to the sites of the active timeslices: every thread calls run.")
      .def(nb::init<PyLattice&, int, Vector<double>, std::uint64_t, std::uint64_t, int, Flags, int,
                    Flags, int, int>(),
           nb::arg("lattice"), nb::arg("method"), nb::arg("step"), nb::arg("seed"),
           nb::arg("first"), nb::arg("count"), nb::arg("active"), nb::arg("threads"),
           nb::arg("stop"), nb::arg("color") = -1, nb::arg("sides") = 0, nb::keep_alive<1, 2>(),
           released,
           "Of one colour, or all; of a window's sites those that others copy (sides = 1), or the "
           "others (2), or all.")
      .def("run", &PySweeps::run, nb::arg("rank"), released)
      .def_ro("done", &PySweeps::done, "Sweeps done before stop became 1.");
  module.def(
      "row_sums", &row_sums, nb::arg("functional"), nb::arg("theta"),
      "Of each row of sites, (T, Z, sites): sum of the functional, sum and maximum of theta, "
      "(3, T, Z).");
}

}  // namespace hardscape::gauge
