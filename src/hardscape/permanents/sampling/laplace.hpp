// The k minors of a (k-1) x k complex matrix, one for each column that is left out: what Laplace's
// expansion along a further row needs. They come up to a common factor, which samplers do not need.
//
// SignMinors sums over signs of the columns. With a further row x, Glynn's formula for k columns is
//   sum over signs d, d_0 = +1, of prod_j d_j (sum_j d_j x_j) prod_i s_i,  s_i = sum_j d_j a_ij,
// so that the minor without column j is the sum of +-prod_i s_i with one more sign d_j: along a
// Gray code a column adds what the sum has grown by since its sign changed, and all minors cost no
// more than one permanent.
//
// SubsetMinors sums over sets of columns, for few of them.
//
// RowMinors sums over multiplicities of equal rows (methods/repeated/terms.hpp), with products of
// all columns but one from prefixes and suffixes: about prod (t_i + 1) / 2 terms.
#pragma once

#include <algorithm>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "permanents/methods/repeated/terms.hpp"

namespace hardscape::permanents {
namespace {

using Complex = std::complex<double>;

// Rows of different outputs.
using ChosenRows = CountedRows<2>;

inline Complex lane_sum(const Number<2>& x) {
  Complex sum = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sum += Complex(x.part[0][lane], x.part[1][lane]);
  }
  return sum;
}

// For few columns: permanents of the first rows and each set of as many columns.
class SubsetMinors {
 public:
  static constexpr std::size_t kMost = 8;  // columns up to which nothing else pays

  void find(const ChosenRows& rows, std::vector<Complex>& minors) {
    const std::size_t k = rows.columns, all = (std::size_t{1} << k) - 1;
    std::size_t of_set[kMost + 1], count = 0;  // the row that a set of so many columns adds
    for (std::size_t i = 0; i < rows.counts.size(); ++i) {
      for (int copy = 0; copy < rows.counts[i]; ++copy) of_set[++count] = i;
    }
    real_[0] = 1;
    imag_[0] = 0;
    for (std::size_t set = 1; set < all; ++set) {
      const double* row = rows.row(of_set[std::popcount(set)]);
      double real = 0, imag = 0;
      for (std::size_t left = set; left; left &= left - 1) {
        const auto j = static_cast<std::size_t>(std::countr_zero(left));
        const std::size_t before = set ^ (std::size_t{1} << j);
        const double x = row[2 * j], y = row[2 * j + 1];
        real += x * real_[before] - y * imag_[before];
        imag += x * imag_[before] + y * real_[before];
      }
      real_[set] = real;
      imag_[set] = imag;
    }
    minors.resize(k);
    for (std::size_t j = 0; j < k; ++j) {
      const std::size_t rest = all ^ (std::size_t{1} << j);
      minors[j] = {real_[rest], imag_[rest]};
    }
  }

 private:
  double real_[1 << kMost], imag_[1 << kMost];
};

class SignMinors {
 public:
  // Terms, in units of the cost of one factor of a product.
  static double cost(std::size_t columns) {
    return std::ldexp(static_cast<double>(columns), static_cast<int>(columns));
  }

  // Fills `minors`, or stops early and tells so.
  bool find(const ChosenRows& rows, const volatile std::uint8_t* stopped,
            std::vector<Complex>& minors) {
    load(rows);
    const std::uint64_t positions = std::uint64_t{1} << (columns_ - kInner);
    for (std::uint64_t position = 0; position < positions; ++position) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(position));
      if (position) turn(bit);
      if (position % kBetweenPolls == 0) {
        if (*stopped) return false;
        add_outer();  // what rounding does to sums that only change does not pile up
      } else {
        change_outer(bit);
      }
      add_terms();
    }
    finish(minors);
    return true;
  }

 private:
  static constexpr std::size_t kLaneColumns = std::bit_width(kLanes) - 1;  // columns 1 to this
  static constexpr std::size_t kPatterns = 4;                              // signs of two more
  static constexpr std::size_t kInner = kLaneColumns + 3;  // the first column has no sign
  static constexpr std::uint64_t kBetweenPolls = 4096;

  static bool minus_in_lane(std::size_t column, std::size_t lane) {
    return column >= 1 && column <= kLaneColumns && (lane >> (column - 1) & 1);
  }
  static bool minus_in_pattern(std::size_t column, std::size_t pattern) {
    return column > kLaneColumns && column < kInner && (pattern >> (column - kLaneColumns - 1) & 1);
  }

  Complex entry(std::size_t i, std::size_t j) const { return column(j)[i]; }
  const Complex* column(std::size_t j) const { return &matrix_[j * rows_]; }

  // The matrix, completed by an identity, and the sums of its inner columns.
  void load(const ChosenRows& rows) {
    columns_ = std::max(rows.columns, kInner);
    rows_ = columns_ - 1;
    matrix_.assign(rows_ * columns_, 0);
    std::size_t k = 0;
    for (std::size_t i = 0; i < rows.counts.size(); ++i) {
      for (int copy = 0; copy < rows.counts[i]; ++copy, ++k) {
        for (std::size_t j = 0; j < rows.columns; ++j) {
          matrix_[j * rows_ + k] = {rows.row(i)[2 * j], rows.row(i)[2 * j + 1]};
        }
      }
    }
    for (; k < rows_; ++k) matrix_[(k + 1) * rows_ + k] = 1;
    width_ = rows.columns;
    inner_.assign(rows_ * kPatterns, {});
    for (std::size_t i = 0; i < rows_; ++i) {
      for (std::size_t pattern = 0; pattern < kPatterns; ++pattern) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          Complex sum = 0;
          for (std::size_t j = 0; j < kInner; ++j) {
            const bool minus = minus_in_lane(j, lane) || minus_in_pattern(j, pattern);
            sum += minus ? -entry(i, j) : entry(i, j);
          }
          inner_[i * kPatterns + pattern].part[0][lane] = sum.real();
          inner_[i * kPatterns + pattern].part[1][lane] = sum.imag();
        }
      }
    }
    outer_.assign(rows_, 0);
    gray_ = 0;
    std::fill_n(total_, kPatterns, Number<2>{});
    since_.assign(columns_, {});
    grown_.assign(columns_, {});
  }

  bool minus(std::size_t column) const { return gray_ >> (column - kInner) & 1; }

  void add_outer() {
    for (std::size_t i = 0; i < rows_; ++i) {
      outer_[i] = 0;
      for (std::size_t j = kInner; j < columns_; ++j) {
        outer_[i] += minus(j) ? -entry(i, j) : entry(i, j);
      }
    }
  }

  // All columns' sums so far, over the inner signs; lanes keep their own.
  Number<2> all() const {
    Number<2> sum = total_[0];
    for (std::size_t p = 0; p < 2; ++p) {
      sum.part[p] += total_[3].part[p] - total_[1].part[p] - total_[2].part[p];
    }
    return sum;
  }

  // Counts what the total has grown by while the column had its sign.
  void close(std::size_t column) {
    const Number<2> now = all();
    const double sign = minus(column) ? -1.0 : 1.0;
    for (std::size_t p = 0; p < 2; ++p) {
      grown_[column].part[p] += sign * (now.part[p] - since_[column].part[p]);
    }
    since_[column] = now;
  }

  void turn(std::size_t bit) {
    close(kInner + bit);
    gray_ ^= std::uint64_t{1} << bit;
  }

  void change_outer(std::size_t bit) {
    const double by = minus(kInner + bit) ? -2.0 : 2.0;
    const Complex* entries = column(kInner + bit);
    for (std::size_t i = 0; i < rows_; ++i) outer_[i] += by * entries[i];
  }

  void add_terms() {
    Number<2> product[kPatterns];
    std::fill_n(product, kPatterns, Number<2>::one());
    for (std::size_t i = 0; i < rows_; ++i) {
      const double real = outer_[i].real(), imag = outer_[i].imag();
      for (std::size_t pattern = 0; pattern < kPatterns; ++pattern) {
        Number<2> sum = inner_[i * kPatterns + pattern];
        sum.part[0] += real;
        sum.part[1] += imag;
        product[pattern] *= sum;
      }
    }
    const double sign = std::popcount(gray_) & 1 ? -1.0 : 1.0;
    for (std::size_t pattern = 0; pattern < kPatterns; ++pattern) {
      for (std::size_t p = 0; p < 2; ++p)
        total_[pattern].part[p] += sign * product[pattern].part[p];
    }
  }

  void finish(std::vector<Complex>& minors) {
    for (std::size_t j = kInner; j < columns_; ++j) close(j);
    minors.assign(width_, 0);
    Vec lane_sign = Vec{} + 1.0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (std::popcount(lane) & 1) lane_sign[lane] = -1.0;
    }
    for (std::size_t j = 0; j < width_; ++j) {
      Number<2> sum = grown_[j];
      if (j < kInner) {
        sum = {};
        for (std::size_t pattern = 0; pattern < kPatterns; ++pattern) {
          const bool odd = (std::popcount(pattern) & 1) != minus_in_pattern(j, pattern);
          for (std::size_t p = 0; p < 2; ++p) {
            sum.part[p] += odd ? -total_[pattern].part[p] : total_[pattern].part[p];
          }
        }
      }
      Vec sign = lane_sign;
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        if (minus_in_lane(j, lane)) sign[lane] = -sign[lane];
      }
      for (Vec& part : sum.part) part *= sign;
      minors[j] = lane_sum(sum);
    }
  }

  std::size_t columns_ = 0, rows_ = 0, width_ = 0;
  std::vector<Complex> matrix_, outer_;
  std::vector<Number<2>> inner_, since_, grown_;
  Number<2> total_[kPatterns];
  std::uint64_t gray_ = 0;
};

class RowMinors {
 public:
  // As that of SignMinors: three products for each term, where that sums one.
  static double cost(const ChosenRows& rows) {
    return 6.0 * rows.terms() * static_cast<double>(rows.columns);
  }

  bool find(const ChosenRows& rows, const volatile std::uint8_t* stopped,
            std::vector<Complex>& minors) {
    RepeatedTerms<2> terms(rows);
    const std::uint64_t steps = terms.steps();
    total_.assign(rows.columns, {});
    prefix_.resize(rows.columns);
    for (std::uint64_t step = 0; step < steps; ++step) {
      if (step % kBetweenPolls == 0 && *stopped) return false;
      if (step) terms.advance();
      for (std::size_t v = 0; v < terms.vectors(); ++v) add(terms, v);
    }
    minors.resize(rows.columns);
    for (std::size_t j = 0; j < rows.columns; ++j) minors[j] = lane_sum(total_[j]);
    return true;
  }

 private:
  static constexpr std::uint64_t kBetweenPolls = 1024;

  void add(const RepeatedTerms<2>& terms, std::size_t vector) {
    Number<2> product = {};
    product.part[0] = terms.weight(vector);
    for (std::size_t j = 0; j < total_.size(); ++j) {
      prefix_[j] = product;
      product *= terms.sum(vector, j);
    }
    product = Number<2>::one();
    for (std::size_t j = total_.size(); j-- > 0;) {
      prefix_[j] *= product;
      for (std::size_t p = 0; p < 2; ++p) total_[j].part[p] += prefix_[j].part[p];
      product *= terms.sum(vector, j);
    }
  }

  std::vector<Number<2>> total_, prefix_;
};

}  // namespace
}  // namespace hardscape::permanents
