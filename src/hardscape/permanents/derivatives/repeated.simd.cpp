// Derivatives of the permanent of rows that repeat r_i times and columns that repeat c_j times: by
// Glynn's formula (methods/repeated/terms.hpp), with N rows in all,
//   2^N d per / d a_ij = sum over v of weight (r_i - 2 v_i) c_j s_j^(c_j - 1) prod_(l != j)
//   s_l^(c_l).
// Products over all columns but one come from prefixes and suffixes. Sums over the steps of inner
// rows' factors are taken at the end, when each lane has its own total.
#include "permanents/kernel.hpp"
#include "permanents/methods/repeated/terms.hpp"

namespace hardscape::permanents {
namespace {

constexpr std::uint64_t kStepsBetweenSums = 256;

template <std::size_t Parts>
Number<Parts> power(Number<Parts> base, int exponent) {
  Number<Parts> result = Number<Parts>::one();
  for (; exponent; exponent >>= 1) {
    if (exponent & 1) result *= base;
    if (exponent > 1) base *= base;
  }
  return result;
}

template <std::size_t Parts>
class RepeatedMinors {
 public:
  RepeatedMinors(const CountedRows<Parts>& rows, const int* columns, std::vector<double>& result)
      : rows_(rows),
        counts_(columns),
        terms_(rows),
        totals_(terms_.vectors() * rows.columns),
        prefix_(rows.columns),
        lower_(rows.columns),
        whole_(rows.columns * Parts),
        result_(result) {}

  bool run(std::uint64_t first, std::uint64_t last, const volatile std::uint8_t* stopped) {
    terms_.go_to(first);
    for (std::uint64_t step = first; step < last; ++step) {
      if (step > first) terms_.advance();
      add();
      if ((step - first + 1) % kStepsBetweenSums == 0) {
        flush();
        if (*stopped) return false;
      }
    }
    flush();
    return true;
  }

 private:
  void add() {
    std::fill(whole_.begin(), whole_.end(), 0.0);
    for (std::size_t v = 0; v < terms_.vectors(); ++v) {
      Number<Parts> product = {};
      product.part[0] = terms_.weight(v);
      for (std::size_t j = 0; j < rows_.columns; ++j) {
        const Number<Parts> sum = terms_.sum(v, j);
        prefix_[j] = product;
        lower_[j] = power(sum, counts_[j] - 1);
        product *= lower_[j];
        product *= sum;
      }
      product = Number<Parts>::one();
      for (std::size_t j = rows_.columns; j-- > 0;) {
        Number<Parts> term = prefix_[j];
        term *= product;
        term *= lower_[j];
        product *= lower_[j];
        product *= terms_.sum(v, j);
        for (std::size_t p = 0; p < Parts; ++p) {
          totals_[v * rows_.columns + j].part[p] += term.part[p];
          for (std::size_t lane = 0; lane < kLanes; ++lane) {
            whole_[j * Parts + p] += term.part[p][lane];
          }
        }
      }
    }
    for (std::size_t i = 0; i < rows_.counts.size(); ++i) {
      if (terms_.is_inner(i)) continue;
      for (std::size_t j = 0; j < rows_.columns; ++j) {
        for (std::size_t p = 0; p < Parts; ++p) {
          give(i, j, p, terms_.outer_factor(i) * whole_[j * Parts + p]);
        }
      }
    }
  }

  // What the inner rows get from the steps since the last time.
  void flush() {
    for (std::size_t v = 0; v < terms_.vectors(); ++v) {
      for (std::size_t j = 0; j < rows_.columns; ++j) {
        Number<Parts>& total = totals_[v * rows_.columns + j];
        for (std::size_t i = 0; i < rows_.counts.size(); ++i) {
          if (!terms_.is_inner(i)) continue;
          for (std::size_t p = 0; p < Parts; ++p) {
            const Vec share = total.part[p] * terms_.inner_factor(v, i);
            for (std::size_t lane = 0; lane < kLanes; ++lane) give(i, j, p, share[lane]);
          }
        }
        total = {};
      }
    }
  }

  // result: [high or low][part][row][column]
  void give(std::size_t i, std::size_t j, std::size_t part, double x) {
    const std::size_t size = rows_.counts.size() * rows_.columns;
    double* at = &result_[part * size + i * rows_.columns + j];
    add_compensated(*at, at[Parts * size], counts_[j] * x);
  }

  const CountedRows<Parts>& rows_;
  const int* counts_;
  RepeatedTerms<Parts> terms_;
  std::vector<Number<Parts>> totals_, prefix_, lower_;
  std::vector<double> whole_;
  std::vector<double>& result_;
};

using Counts = Vector<std::int32_t>;

template <std::size_t Parts>
CountedRows<Parts> counted(const Cube& entries, const Counts& rows) {
  const std::size_t m = entries.shape(1), n = entries.shape(2);
  CountedRows<Parts> result{n, {}, {rows.data(), rows.data() + m}};
  for (std::size_t at = 0; at < m * n; ++at) {
    for (std::size_t p = 0; p < Parts; ++p)
      result.entries.push_back(entries.data()[p * m * n + at]);
  }
  return result;
}

template <std::size_t Parts>
bool minors_of(const Cube& entries, const Counts& rows, const Counts& cols, std::uint64_t first,
               std::uint64_t last, const Stop& stop, std::vector<double>& result) {
  const CountedRows<Parts> given = counted<Parts>(entries, rows);
  return RepeatedMinors<Parts>(given, cols.data(), result).run(first, last, stop.data());
}

auto repeated_minors(Cube entries, Counts rows, Counts cols, std::uint64_t first,
                     std::uint64_t last, Stop stop) {
  const std::size_t parts = entries.shape(0), m = entries.shape(1), n = entries.shape(2);
  const auto run = parts == 2 ? &minors_of<2> : &minors_of<1>;
  return unlocked<double>({2, parts, m, n}, [&](auto& result) {
    return run(entries, rows, cols, first, last, stop, result);
  });
}

std::uint64_t repeated_steps(Counts rows) {
  const CountedRows<1> none{0, {}, {rows.data(), rows.data() + rows.size()}};
  return RepeatedTerms<1>(none).steps();
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def(
      "repeated_minors", &repeated_minors, nb::arg("entries"), nb::arg("rows"), nb::arg("cols"),
      nb::arg("first"), nb::arg("last"), nb::arg("stop"),
      "Derivatives of the permanent of repeated rows and columns by each entry, of steps first "
      "to last-1: (high and low, part, row, column); tells whether all were done.");
  module.def("repeated_steps", &repeated_steps, nb::arg("rows"), "Steps of repeated_minors.");
});

}  // namespace
}  // namespace hardscape::permanents
