// Permanents of one matrix for many patterns: rows and columns as often as each pattern says.
//
// In Glynn's sum over multiplicities of rows (repeated.simd.cpp),
//   per = sum over v of prod_i (-1)^v_i binom(r_i, v_i) / 2^r_i * prod_j s_j(v)^c_j,
//   s_j(v) = sum_i (r_i - 2 v_i) a_ij,
// patterns of the same rows share the sums s_j, and those whose columns begin alike the products of
// these. Patterns are therefore sorted by rows, then by their lists of columns; v are lanes.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "permanents/kernel.hpp"
#include "permanents/numbers/lanes.hpp"

namespace hardscape::permanents {
namespace {

using Counts = Matrix<std::int16_t>;

constexpr std::size_t kGroup =
    32 / kLanes;  // vectors of terms that go through the patterns together
constexpr std::size_t kTerms = kGroup * kLanes;

// A line of each pattern as often as it counts, in order: [pattern][copy].
std::vector<std::uint16_t> listed(const Counts& counts, std::size_t copies) {
  std::vector<std::uint16_t> lists;
  lists.reserve(counts.shape(0) * copies);
  for (std::size_t p = 0; p < counts.shape(0); ++p) {
    for (std::size_t j = 0; j < counts.shape(1); ++j) {
      lists.insert(lists.end(), static_cast<std::size_t>(counts(p, j)),
                   static_cast<std::uint16_t>(j));
    }
  }
  return lists;
}

// The terms of one pattern of rows.
template <std::size_t Parts>
class Terms {
 public:
  // rows: distinct ones and how often each counts, the least frequent one first.
  Terms(std::vector<std::size_t> place, std::vector<std::size_t> count)
      : place_(std::move(place)), radix_(std::move(count)), coefficient_(place_.size()) {
    // One copy of the first row keeps its sign.
    for (std::size_t i = 1; i < radix_.size(); ++i) ++radix_[i];
    for (std::size_t i = 0; i < radix_.size(); ++i) {
      const std::size_t copies = radix_[i] - 1;
      std::vector<double> weights(copies + 1, std::ldexp(1, -static_cast<int>(copies)));
      for (std::size_t v = 1; v <= copies; ++v) {
        weights[v] = -weights[v - 1] * static_cast<double>(copies + 1 - v) / static_cast<double>(v);
      }
      weights_.push_back(std::move(weights));
      size *= radix_[i];
    }
  }

  // Goes to terms first to first + kTerms - 1; those behind the last one have no weight.
  void load(std::size_t first) {
    for (std::size_t t = 0; t < kTerms; ++t) {
      std::size_t rest = first + t;
      double weight = rest < size ? 1 : 0;
      for (std::size_t i = 0; i < radix_.size(); ++i) {
        const std::size_t v = rest % radix_[i], copies = radix_[i] - (i > 0);
        rest /= radix_[i];
        weight *= weights_[i][v];
        coefficient_[i][t / kLanes][t % kLanes] =
            static_cast<double>(copies) - 2 * static_cast<double>(v);
      }
      this->weight[t / kLanes].part[0][t % kLanes] = weight;
    }
  }

  // The sums of column j of entries[row][column][part].
  void add_rows(const double* entries, std::size_t columns, std::size_t j,
                Number<Parts> (&sums)[kGroup]) const {
    for (auto& sum : sums) sum = {};
    for (std::size_t i = 0; i < place_.size(); ++i) {
      const double* entry = entries + (place_[i] * columns + j) * Parts;
      for (std::size_t g = 0; g < kGroup; ++g) {
        for (std::size_t p = 0; p < Parts; ++p) {
          sums[g].part[p] += coefficient_[i].vector[g] * entry[p];
        }
      }
    }
  }

  std::size_t size = 1;
  Number<Parts> weight[kGroup] = {};

 private:
  struct Coefficients {
    Vec vector[kGroup];

    Vec& operator[](std::size_t g) { return vector[g]; }
  };

  std::vector<std::size_t> place_, radix_;
  std::vector<std::vector<double>> weights_;
  std::vector<Coefficients> coefficient_;
};

template <std::size_t Parts>
class Patterns {
 public:
  Patterns(const double* entries, std::size_t width, const Counts& rows, const Counts& columns,
           std::size_t copies)
      : entries_(entries),
        width_(width),
        copies_(copies),
        one_row_(rows.shape(0) == 1),
        rows_(listed(rows, copies)),
        columns_(listed(columns, copies)),
        order_(columns.shape(0)),
        shared_(order_.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    const auto before = [&](std::size_t p, std::size_t q) { return compare(p, q) < 0; };
    if (!std::is_sorted(order_.begin(), order_.end(), before)) {
      std::sort(order_.begin(), order_.end(), before);
    }
    for (std::size_t at = 1; at < order_.size(); ++at) {
      const std::uint16_t *last = column(order_[at - 1]), *next = column(order_[at]);
      shared_[at] =
          static_cast<std::size_t>(std::mismatch(next, next + copies_, last).first - next);
    }
  }

  // Adds values and the sums of the terms' squares, [pattern][part, then square].
  bool sum(const volatile std::uint8_t* stop, double* result) const {
    for (std::size_t first = 0; first < order_.size();) {
      std::size_t last = first + 1;
      while (last < order_.size() && same_rows(order_[first], order_[last])) ++last;
      if (!sum_group(first, last, stop, result)) return false;
      first = last;
    }
    return true;
  }

 private:
  const std::uint16_t* column(std::size_t p) const { return &columns_[p * copies_]; }
  const std::uint16_t* row(std::size_t p) const { return &rows_[one_row_ ? 0 : p * copies_]; }

  bool same_rows(std::size_t p, std::size_t q) const {
    return one_row_ || std::equal(row(p), row(p) + copies_, row(q));
  }

  int compare(std::size_t p, std::size_t q) const {
    const auto ordered = [&](const std::uint16_t* x, const std::uint16_t* y) {
      const auto [a, b] = std::mismatch(x, x + copies_, y);
      return a == x + copies_ ? 0 : *a < *b ? -1 : 1;
    };
    const int by_rows = one_row_ ? 0 : ordered(row(p), row(q));
    return by_rows ? by_rows : ordered(column(p), column(q));
  }

  Terms<Parts> terms_of(std::size_t pattern) const {
    std::vector<std::size_t> place, count;
    for (std::size_t c = 0; c < copies_; ++c) {
      if (c == 0 || row(pattern)[c] != row(pattern)[c - 1]) {
        place.push_back(row(pattern)[c]);
        count.push_back(0);
      }
      ++count.back();
    }
    const auto least =
        static_cast<std::size_t>(std::min_element(count.begin(), count.end()) - count.begin());
    std::swap(place[0], place[least]);
    std::swap(count[0], count[least]);
    return Terms<Parts>(std::move(place), std::move(count));
  }

  // Patterns at places first to last-1, which have the same rows.
  bool sum_group(std::size_t first, std::size_t last, const volatile std::uint8_t* stop,
                 double* result) const {
    struct Product {
      Number<Parts> of[kGroup];
    };
    Terms<Parts> terms = terms_of(order_[first]);
    std::vector<Product> sums(width_), stack(copies_ + 1);
    std::vector<bool> used(width_);
    for (std::size_t at = first; at < last; ++at) {
      for (std::size_t c = 0; c < copies_; ++c) used[column(order_[at])[c]] = true;
    }
    for (std::size_t term = 0; term < terms.size; term += kTerms) {
      if (*stop) return false;
      terms.load(term);
      for (std::size_t j = 0; j < width_; ++j) {
        if (used[j]) terms.add_rows(entries_, width_, j, sums[j].of);
      }
      std::copy_n(terms.weight, kGroup, stack[0].of);
      for (std::size_t at = first; at < last; ++at) {
        const std::uint16_t* list = column(order_[at]);
        for (std::size_t c = at == first ? 0 : shared_[at]; c < copies_; ++c) {
          const Product &factor = sums[list[c]], &before = stack[c];
          Product& next = stack[c + 1];
          for (std::size_t g = 0; g < kGroup; ++g) {
            next.of[g] = before.of[g];
            next.of[g] *= factor.of[g];
          }
        }
        add(stack[copies_].of, result + order_[at] * (Parts + 1));
      }
    }
    return true;
  }

  static void add(const Number<Parts> (&product)[kGroup], double* result) {
    Vec total[Parts] = {}, square = {};
    for (std::size_t g = 0; g < kGroup; ++g) {
      for (std::size_t p = 0; p < Parts; ++p) {
        total[p] += product[g].part[p];
        square += product[g].part[p] * product[g].part[p];
      }
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      for (std::size_t p = 0; p < Parts; ++p) result[p] += total[p][lane];
      result[Parts] += square[lane];
    }
  }

  const double* entries_;
  std::size_t width_, copies_;
  bool one_row_;  // whether all patterns have the same rows
  std::vector<std::uint16_t> rows_, columns_;
  std::vector<std::size_t> order_, shared_;  // of sorted patterns: columns as the one before
};

auto repeated_patterns(Cube entries, Counts rows, Counts columns, std::size_t copies, Stop stop) {
  const std::size_t parts = entries.shape(2);
  return unlocked<double>({columns.shape(0), parts + 1}, [&](auto& result) {
    const auto sum = [&]<std::size_t Parts>() {
      const Patterns<Parts> patterns(entries.data(), entries.shape(1), rows, columns, copies);
      return patterns.sum(stop.data(), result.data());
    };
    return parts == 2 ? sum.template operator()<2>() : sum.template operator()<1>();
  });
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def("repeated_patterns", &repeated_patterns, nb::arg("entries"), nb::arg("rows"),
             nb::arg("columns"), nb::arg("copies"), nb::arg("stop"),
             "Permanents of entries[row][column][part] for each pattern of columns, which add up "
             "to copies, and of rows, or one for all: parts, and the sum of the squares of terms; "
             "also tells whether all were done.");
});

}  // namespace
}  // namespace hardscape::permanents
