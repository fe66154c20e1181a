// The k minors of a (k-1) x k complex matrix, one for each column that is left out: what Laplace's
// expansion along a further row needs. They come up to a common factor, which samplers do not need.
//
// SignMinors sums over signs of the columns. With a further row x, Glynn's formula for k columns is
//   sum over signs d, d_0 = +1, of prod_j d_j (sum_j d_j x_j) prod_i s_i,  s_i = sum_j d_j a_ij,
// so that the minor without column j is the sum of +-prod_i s_i with one more sign d_j: along a
// Gray code a column adds what the sum has grown by since its sign changed, and all minors cost no
// more than one permanent.
//
// RowMinors sums over multiplicities v_i = 0..t_i of equal rows,
//   minor_j ~ sum over v of prod_i (-1)^(v_i) C(t_i, v_i) prod_(l != j) s_l,
//   s_l = sum_i (t_i - 2 v_i) a_il,
// with products of all columns but one from prefixes and suffixes: about prod (t_i + 1) / 2 terms.
#pragma once

#include <algorithm>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "permanents/numbers/lanes.hpp"

namespace hardscape::permanents {
namespace {

using Complex = std::complex<double>;

// Rows of different outputs, `columns` entries each, and how often each occurs.
struct ChosenRows {
  std::size_t columns;
  std::vector<Complex> entries;
  std::vector<int> counts;

  const Complex* row(std::size_t i) const { return &entries[i * columns]; }
};

inline Complex lane_sum(const Number<2>& x) {
  Complex sum = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sum += Complex(x.part[0][lane], x.part[1][lane]);
  }
  return sum;
}

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
        for (std::size_t j = 0; j < rows.columns; ++j) matrix_[j * rows_ + k] = rows.row(i)[j];
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
    double terms = 0.5;
    for (const int count : rows.counts) terms *= count + 1;
    return 12.0 * terms * static_cast<double>(rows.columns);
  }

  bool find(const ChosenRows& rows, const volatile std::uint8_t* stopped,
            std::vector<Complex>& minors) {
    load(rows);
    std::fill(total_.begin(), total_.end(), Number<2>{});
    digits_.assign(outer_.size(), 0);
    for (std::uint64_t step = 0;; ++step) {
      if (step % kBetweenPolls == 0 && *stopped) return false;
      add_terms(rows);
      std::size_t k = 0;
      while (k < outer_.size() && digits_[k] == last_[k]) digits_[k++] = 0;
      if (k == outer_.size()) break;
      ++digits_[k];
    }
    minors.resize(rows.columns);
    for (std::size_t j = 0; j < rows.columns; ++j) minors[j] = lane_sum(total_[j]);
    return true;
  }

 private:
  static constexpr std::uint64_t kBetweenPolls = 1024;
  static constexpr std::size_t kVectors = 4;  // of inner terms, at least

  // Terms v and t - v are equal: where some t is odd, half of its v will do.
  void load(const ChosenRows& rows) {
    std::vector<std::size_t> order(rows.counts.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto odd =
        std::find_if(order.begin(), order.end(), [&](std::size_t i) { return rows.counts[i] % 2; });
    const bool halved = odd != order.end();
    if (halved) std::rotate(odd, odd + 1, order.end());
    const std::size_t free = order.size() - halved;
    std::size_t inner = 0, terms = 1;
    while (inner < free && terms < kVectors * kLanes) terms *= rows.counts[order[inner++]] + 1;
    outer_.assign(order.begin() + static_cast<std::ptrdiff_t>(inner), order.end());
    last_.clear();
    for (const std::size_t i : outer_) last_.push_back(rows.counts[i]);
    if (halved) last_.back() /= 2;
    binomials_.clear();
    for (const int count : rows.counts) binomials_.push_back(signed_binomials(count));

    vectors_ = (terms + kLanes - 1) / kLanes;
    weights_.assign(vectors_, Vec{});
    sums_.assign(vectors_ * rows.columns, {});
    for (std::size_t term = 0; term < terms; ++term) {
      double weight = 1;
      std::size_t left = term;
      for (std::size_t k = 0; k < inner; ++k) {
        const std::size_t i = order[k], v = left % (rows.counts[i] + 1);
        left /= rows.counts[i] + 1;
        weight *= binomials_[i][v];
        const double times = rows.counts[i] - 2.0 * static_cast<double>(v);
        for (std::size_t j = 0; j < rows.columns; ++j) {
          Number<2>& sum = sums_[term / kLanes * rows.columns + j];
          sum.part[0][term % kLanes] += times * rows.row(i)[j].real();
          sum.part[1][term % kLanes] += times * rows.row(i)[j].imag();
        }
      }
      weights_[term / kLanes][term % kLanes] = weight;
    }
    total_.resize(rows.columns);
    prefix_.resize(rows.columns);
    shift_.resize(rows.columns);
  }

  static std::vector<double> signed_binomials(int count) {
    std::vector<double> found{1};
    for (int v = 1; v <= count; ++v) found.push_back(-found.back() * (count + 1 - v) / v);
    return found;
  }

  void add_terms(const ChosenRows& rows) {
    double weight = 1;
    std::fill(shift_.begin(), shift_.end(), 0);
    for (std::size_t k = 0; k < outer_.size(); ++k) {
      const std::size_t i = outer_[k];
      weight *= binomials_[i][digits_[k]];
      const double times = rows.counts[i] - 2.0 * digits_[k];
      for (std::size_t j = 0; j < rows.columns; ++j) shift_[j] += times * rows.row(i)[j];
    }
    for (std::size_t v = 0; v < vectors_; ++v) {
      const Number<2>* sums = &sums_[v * rows.columns];
      const auto sum = [&](std::size_t j) {
        Number<2> shifted = sums[j];
        shifted.part[0] += shift_[j].real();
        shifted.part[1] += shift_[j].imag();
        return shifted;
      };
      Number<2> product = {};
      product.part[0] = weights_[v] * weight;
      for (std::size_t j = 0; j < rows.columns; ++j) {
        prefix_[j] = product;
        product *= sum(j);
      }
      product = Number<2>::one();
      for (std::size_t j = rows.columns; j-- > 0;) {
        prefix_[j] *= product;
        for (std::size_t p = 0; p < 2; ++p) total_[j].part[p] += prefix_[j].part[p];
        product *= sum(j);
      }
    }
  }

  std::vector<std::size_t> outer_;
  std::vector<int> digits_, last_;
  std::vector<std::vector<double>> binomials_;
  std::size_t vectors_ = 0;
  std::vector<Vec> weights_;
  std::vector<Number<2>> sums_, total_, prefix_;
  std::vector<Complex> shift_;
};

}  // namespace
}  // namespace hardscape::permanents
