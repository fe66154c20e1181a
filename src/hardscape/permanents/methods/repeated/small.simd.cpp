// The permanent of a few rows and columns, each as often as it counts, straight from Python's
// array.
//
// It is prod_j c_j! times the coefficient of prod_j x_j^c_j in the product of the rows' linear
// forms sum_j a_ij x_j. With f(v), the coefficient of x^v in the product of the first |v| forms,
//   f(v) = sum_j a_ij f(v - e_j), i the row of form |v|,
// and g the same from the last form on, it is the sum of f(v) g(c - v) over all v of half the
// degree: prod_j (c_j + 1) numbers of as many products as there are columns. Equal rows are spread
// over the product, so that no part of it grows far beyond the whole. An error of f(v) enters times
// g(c - v), and the other way round, so with n forms in k columns
//   n (k + 3) u sum |f(v) g(c - v)|, u = 2^-53,
// is hardly ever exceeded by the error.
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "native/arrays.hpp"
#include "native/family.hpp"
#include "permanents/given.hpp"
#include "permanents/numbers/lanes.hpp"

namespace hardscape::permanents {
namespace {

// Products that take tens of milliseconds, those that take no longer than to look closer, and how
// many of Glynn's formula one of them stands for. Bits that sums of them may have more than one.
constexpr double kMostProducts = 1 << 24, kFewProducts = 1 << 14, kOthers = 14, kMostBits = 400;

// Two complex numbers, of f and of g, and two that others are multiplied with.
typedef double Two __attribute__((vector_size(16)));
typedef double Four __attribute__((vector_size(32)));

struct Factor {
  Four straight, crossed;

  static Factor of(Two f, Two g) {
    return {Four{f[0], f[0], g[0], g[0]}, Four{f[1], -f[1], g[1], -g[1]}};
  }
};

// A sum of products, in two parts that do not wait for one another.
struct Products {
  Four straight = {}, crossed = {};

  void add(const Factor& x, const Four& y) {
    straight += x.straight * y;
    crossed += x.crossed * y;
  }
  Four sum() const { return straight + __builtin_shufflevector(crossed, crossed, 1, 0, 3, 2); }
};

// Multiplicities that are integers of 0 or more; None stands for ones.
std::optional<std::vector<std::size_t>> counts_of(nb::handle given, std::size_t size) {
  if (given.is_none()) return std::vector<std::size_t>(size, 1);
  // What can be read only once is not read here.
  const bool is_sequence = PySequence_Check(given.ptr());
  const bool fits = is_sequence && PySequence_Size(given.ptr()) == static_cast<Py_ssize_t>(size);
  const auto items = nb::steal(fits ? PySequence_Fast(given.ptr(), "") : nullptr);
  PyErr_Clear();
  if (!items.is_valid()) return {};
  std::vector<std::size_t> counts;
  for (nb::handle item : nb::borrow<nb::sequence>(items)) {
    if (PyBool_Check(item.ptr()) || !PyIndex_Check(item.ptr())) return {};
    const Py_ssize_t count = PyNumber_AsSsize_t(item.ptr(), nullptr);
    PyErr_Clear();
    if (count < 0 || count > 1000) return {};
    counts.push_back(static_cast<std::size_t>(count));
  }
  return counts;
}

// The lines that count, the most frequent one first.
struct Lines {
  std::vector<std::size_t> place, count;
  std::size_t total = 0;

  explicit Lines(const std::vector<std::size_t>& counts) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i]) place.push_back(i);
    }
    const auto more = [&](std::size_t i, std::size_t j) { return counts[i] > counts[j]; };
    std::stable_sort(place.begin(), place.end(), more);
    for (const std::size_t i : place) {
      count.push_back(counts[i]);
      total += counts[i];
    }
  }

  // Numbers of the sums over these columns, times the columns.
  double products() const {
    double product = static_cast<double>(count.size());
    for (const std::size_t c : count) product *= static_cast<double>(c + 1);
    return product;
  }
};

class Forms {
 public:
  // entry(i, j) of lines.
  template <class Entry>
  Forms(const Lines& rows, const Lines& columns, Entry&& entry)
      : columns_(columns.count), forms_(rows.total * columns_.size()) {
    const std::size_t k = columns_.size(), n = rows.total;
    // Copy number t of r of a row comes behind (t + 1/2) / r of all forms.
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < rows.count.size(); ++i) {
      for (std::size_t t = 0; t < rows.count[i]; ++t) {
        order.emplace_back((static_cast<double>(t) + 0.5) / static_cast<double>(rows.count[i]), i);
      }
    }
    std::sort(order.begin(), order.end());
    for (std::size_t j = 0; j < k; ++j) {
      double most = 0;
      for (std::size_t i = 0; i < rows.count.size(); ++i) {
        const Two x = entry(i, j);
        most = std::max(most, std::max(std::abs(x[0]), std::abs(x[1])));
      }
      const int power = most > 0 && std::isfinite(most) ? std::ilogb(most) + 1 : 0;
      exponent += power * static_cast<int>(columns_[j]);
      const auto scaled = [&](std::size_t t) {
        const Two x = entry(order[t].second, j);
        return Two{std::ldexp(x[0], -power), std::ldexp(x[1], -power)};
      };
      for (std::size_t t = 0; t < n; ++t) {
        forms_[t * k + j] = Factor::of(scaled(t), scaled(n - 1 - t));
      }
    }
    stride_.push_back(1);
    for (const std::size_t c : columns_) stride_.push_back(stride_.back() * (c + 1));
  }

  // The coefficient, and the sum of magnitudes of the products that it is a sum of.
  std::pair<std::complex<double>, double> coefficient() const {
    const std::size_t n = forms_.size() / columns_.size(), half = n / 2;
    // A thread keeps its memory: to have the system clear it again takes as long as the sums.
    // Large pages gain nothing here, and a system may take long to give them. What is not written
    // is not read either.
    thread_local std::unique_ptr<Four[]> kept;
    thread_local std::size_t size = 0;
    if (size < stride_.back()) {
      kept = std::make_unique_for_overwrite<Four[]>(stride_.back());
      size = stride_.back();
    }
    Four* const sums = kept.get();
    grow(sums, n - half);
    Two high = {}, low = {};
    double magnitude = 0;
    each_run([&](std::size_t at, std::size_t degree, const std::vector<std::size_t>&) {
      if (degree > half || half - degree > columns_[0]) return;
      at += half - degree;
      const Four& f = sums[at];
      const Four& g = sums[stride_.back() - 1 - at];
      const Two term = {f[0] * g[2] - f[1] * g[3], f[0] * g[3] + f[1] * g[2]};
      add_compensated(high, low, term);
      magnitude += std::abs(term[0]) + std::abs(term[1]);
    });
    return {{high[0] + low[0], high[1] + low[1]}, magnitude};
  }

  int exponent = 0;  // the permanent is to be taken times 2 to this power

 private:
  // Calls visit(place, degree, exponents) for all monomials without the first column, by place.
  template <class Visit>
  void each_run(Visit&& visit) const {
    std::vector<std::size_t> digit(columns_.size());
    std::size_t degree = 0;
    for (std::size_t at = 0; at < stride_.back(); at += stride_[1]) {
      visit(at, degree, digit);
      for (std::size_t j = 1; j < digit.size(); ++j) {
        if (digit[j] < columns_[j]) {
          ++digit[j];
          ++degree;
          break;
        }
        degree -= digit[j];
        digit[j] = 0;
      }
    }
  }

  // Coefficients of the products of up to so many forms, the first ones and the last ones, by
  // place; those of larger degree are not written.
  void grow(Four* sums, std::size_t forms) const {
    const std::size_t k = columns_.size();
    std::vector<std::size_t> there(k);
    each_run([&](std::size_t at, std::size_t degree, const std::vector<std::size_t>& digit) {
      if (degree > forms) return;
      std::size_t count = 0;
      for (std::size_t j = 1; j < k; ++j) {
        if (digit[j]) there[count++] = j;
      }
      const std::size_t last = std::min(columns_[0], forms - degree);
      for (std::size_t d = 0; d <= last; ++d) {
        Four* place = &sums[at + d];
        if (degree + d == 0) {
          *place = Four{1, 0, 1, 0};
          continue;
        }
        const Factor* row = &forms_[(degree + d - 1) * k];
        Products products;
        for (std::size_t c = 0; c < count; ++c) {
          products.add(row[there[c]], *(place - stride_[there[c]]));
        }
        if (d) products.add(row[0], *(place - 1));
        *place = products.sum();
      }
    });
  }

  std::vector<std::size_t> columns_, stride_;  // how often each counts; of places
  std::vector<Factor> forms_;                  // [form][column]
};

nb::object repeated_permanent(nb::handle array, nb::handle rows, nb::handle cols, double rtol) {
  const Given given(array);
  const auto row_counts = counts_of(rows, given.rows);
  const auto column_counts = counts_of(cols, given.columns);
  if (!row_counts || !column_counts) return nb::none();
  Lines left(*row_counts), right(*column_counts);
  const std::size_t n = left.total;
  const bool turned = left.products() < right.products();
  if (n == 0 || n != right.total) return nb::none();
  if (turned) std::swap(left, right);
  const auto k = static_cast<double>(right.count.size());
  const auto degree = static_cast<double>(n);
  const double dense = std::ldexp(degree, static_cast<int>(n) - 1) / kOthers;
  if (right.products() > std::min(kMostProducts, std::max(kFewProducts, dense)) ||
      degree * std::log2(k) > kMostBits) {
    return nb::none();
  }
  std::vector<Two> entries(given.rows * given.columns);
  bool finite = true;
  const auto take = [&](std::size_t at, double x, double y) {
    finite = finite && std::isfinite(x) && std::isfinite(y);
    entries[at] = Two{x, y};
  };
  if (!given.floating(take) || !finite) return nb::none();
  const Forms forms(left, right, [&](std::size_t i, std::size_t j) {
    const std::size_t row = (turned ? right : left).place[turned ? j : i];
    const std::size_t column = (turned ? left : right).place[turned ? i : j];
    return entries[row * given.columns + column];
  });
  std::complex<double> value;
  double magnitude, copies = 1;
  {
    const nb::gil_scoped_release release;
    std::tie(value, magnitude) = forms.coefficient();
  }
  for (const std::size_t c : right.count) {
    for (std::size_t t = 2; t <= c; ++t) copies *= static_cast<double>(t);
  }
  const double size = std::abs(value);
  const double units = 0x1p-53 * degree;
  const double likely = units * ((k + 3) * magnitude + 4 * size);
  if (!(size > 0x1p-400) || !(likely <= rtol * size) || !std::isfinite(copies)) return nb::none();
  return shifted(value * copies, forms.exponent, given.is_complex());
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def("repeated_permanent", &repeated_permanent, nb::arg("array"), nb::arg("rows").none(),
             nb::arg("cols").none(), nb::arg("rtol"),
             nb::sig("def repeated_permanent(array: object, rows: object, cols: object, "
                     "rtol: float) -> float | complex | None"),
             "Permanent of a floating array with rows and columns as often as they count, 0 or "
             "more; None if it takes long, and where its error is probably above rtol of it.");
});

}  // namespace
}  // namespace hardscape::permanents
