// Python's view of the Faddeev-Popov operator, and the sums of a conjugate gradient on many fields.
#include <complex>
#include <stdexcept>

#include "gauge/links/placed_python.hpp"

namespace hardscape::gauge {
namespace {

using Complex = std::complex<double>;
using Fields = nb::ndarray<const Complex, nb::c_contig, nb::device::cpu>;
// What is written takes no copy: its argument is "noconvert".
using NewFields = nb::ndarray<Complex, nb::c_contig, nb::device::cpu>;

void faddeev_popov(Fields links, Vector<double> weights, Fields from, NewFields to, int first,
                   int last) {
  const Extents extent = extents_of(links, 3);
  const long volume = static_cast<long>(extent.slice_volume()) * extent.slices();
  const std::size_t nc = links.shape(links.ndim() - 1);
  const int fields = static_cast<int>(from.shape(from.ndim() - 1));
  if (first < 0 || last < first || last > volume || from.size() != to.size() ||
      weights.size() != static_cast<std::size_t>(extent.directions) ||
      from.size() != volume * nc * nc * fields) {
    throw std::invalid_argument("fields");
  }
  nb::gil_scoped_release release;
  for_group(nc, [&](auto colors) {
    constexpr int kLanes = kVectorBytes / sizeof(double);
    apply_faddeev_popov<colors.value, kLanes>(links.data(), extent, weights.data(), from.data(),
                                              to.data(), fields, first, last);
  });
}

// Re a^* b of rows first to last - 1, for each field.
auto field_products(Fields a, Fields b, std::size_t first, std::size_t last) {
  const std::size_t fields = a.shape(a.ndim() - 1);
  if (a.size() != b.size() || last < first || last * fields > a.size()) {
    throw std::invalid_argument("fields");
  }
  std::vector<double> sums(fields);
  {
    nb::gil_scoped_release release;
    const double* x = reinterpret_cast<const double*>(a.data());
    const double* y = reinterpret_cast<const double*>(b.data());
    for (std::size_t row = first; row < last; ++row) {
      const std::size_t at = 2 * row * fields;
      for (std::size_t f = 0; f < fields; ++f) {
        sums[f] += x[at + 2 * f] * y[at + 2 * f] + x[at + 2 * f + 1] * y[at + 2 * f + 1];
      }
    }
  }
  return to_numpy(std::move(sums), {fields});
}

// y = a x + b y for rows first to last - 1, with numbers a and b for each field.
void combine_fields(NewFields y, Vector<double> a, Fields x, Vector<double> b, std::size_t first,
                    std::size_t last) {
  const std::size_t fields = x.shape(x.ndim() - 1);
  if (x.size() != y.size() || a.size() != fields || b.size() != fields || last < first ||
      last * fields > x.size()) {
    throw std::invalid_argument("fields");
  }
  nb::gil_scoped_release release;
  for (std::size_t row = first; row < last; ++row) {
    Complex* to = y.data() + row * fields;
    const Complex* from = x.data() + row * fields;
    for (std::size_t f = 0; f < fields; ++f) to[f] = a.data()[f] * from[f] + b.data()[f] * to[f];
  }
}

}  // namespace

void bind_ghost(nb::module_& module) {
  module.def("faddeev_popov", &faddeev_popov, nb::arg("links"), nb::arg("weights"),
             nb::arg("fields"), nb::arg("found").noconvert(), nb::arg("first"), nb::arg("last"),
             "The Faddeev-Popov operator of Landau gauge on fields (T, ..., X, N, N, fields), for "
             "sites first to last - 1.");
  module.def("field_products", &field_products, nb::arg("a"), nb::arg("b"), nb::arg("first"),
             nb::arg("last"));
  module.def("combine_fields", &combine_fields, nb::arg("y").noconvert(), nb::arg("a"),
             nb::arg("x"), nb::arg("b"), nb::arg("first"), nb::arg("last"));
}

}  // namespace hardscape::gauge
