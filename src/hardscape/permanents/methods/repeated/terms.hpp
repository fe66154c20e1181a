// The terms of Glynn's formula for rows that repeat t_i times, a vector of them at a time:
//   sum over v of prod_i (-1)^(v_i) C(t_i, v_i) * (products of s_j),  s_j = sum_i (t_i - 2 v_i)
//   a_ij,
// over all 0 <= v_i <= t_i. The v of some rows, the inner ones, are tabulated in the lanes of
// vectors; an odometer turns those of the others. A term and that of t - v are equal, or each
// other's negative where its formula says so twice: where some t_i is odd, one of both is summed.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "permanents/numbers/lanes.hpp"

namespace hardscape::permanents {
namespace {

// Rows of different direction, `columns` entries of each part, and how often each occurs.
template <std::size_t Parts>
struct CountedRows {
  std::size_t columns;
  std::vector<double> entries;  // [row][column][part]
  std::vector<int> counts;

  const double* row(std::size_t i) const { return &entries[i * columns * Parts]; }

  double terms() const {
    double product = 1;
    for (const int count : counts) product *= count + 1;
    return product;
  }
};

template <std::size_t Parts>
class RepeatedTerms {
 public:
  explicit RepeatedTerms(const CountedRows<Parts>& rows) : rows_(&rows) {
    order_.resize(rows.counts.size());
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
    const auto odd = std::find_if(order_.begin(), order_.end(),
                                  [&](std::size_t i) { return rows.counts[i] % 2; });
    halved_ = odd != order_.end();
    if (halved_) std::rotate(odd, odd + 1, order_.end());
    const std::size_t free = order_.size() - halved_;
    std::size_t terms = 1;
    while (inner_ < free && terms < kVectors * kLanes) {
      terms *= static_cast<std::size_t>(rows.counts[order_[inner_++]]) + 1;
    }
    for (std::size_t i = 0; i < order_.size(); ++i) weights_.push_back(binomials(rows.counts[i]));
    for (std::size_t k = inner_; k < order_.size(); ++k) last_.push_back(rows.counts[order_[k]]);
    if (halved_) last_.back() /= 2;
    tabulate(terms);
    digits_.assign(last_.size(), 0);
    outer_.assign(rows.columns * Parts, 0);
    place();
  }

  // Steps of the odometer.
  std::uint64_t steps() const {
    std::uint64_t product = 1;
    for (const int last : last_) product *= static_cast<std::uint64_t>(last) + 1;
    return product;
  }

  void go_to(std::uint64_t step) {
    for (std::size_t k = 0; k < last_.size(); ++k) {
      const auto radix = static_cast<std::uint64_t>(last_[k]) + 1;
      digits_[k] = static_cast<int>(step % radix);
      step /= radix;
    }
    place();
  }

  // To the next step, from the last to the first.
  void advance() {
    for (std::size_t k = 0; k < last_.size(); ++k) {
      digits_[k] = digits_[k] == last_[k] ? 0 : digits_[k] + 1;
      if (digits_[k]) break;
    }
    place();
  }

  std::size_t vectors() const { return inner_weights_.size(); }
  std::size_t columns() const { return rows_->columns; }

  // Of the terms of a vector, at this step; the weights of all terms add up to 1 at most.
  Vec weight(std::size_t vector) const { return inner_weights_[vector] * outer_weight_; }

  Number<Parts> sum(std::size_t vector, std::size_t column) const {
    Number<Parts> sum = inner_sums_[vector * columns() + column];
    for (std::size_t p = 0; p < Parts; ++p) sum.part[p] += outer_[column * Parts + p];
    return sum;
  }

  // t_i - 2 v_i of the terms of a vector, where row i is an inner one; else at this step.
  bool is_inner(std::size_t row) const { return place_[row] < inner_; }
  Vec inner_factor(std::size_t vector, std::size_t row) const {
    return inner_factors_[vector * inner_ + place_[row]];
  }
  double outer_factor(std::size_t row) const {
    return rows_->counts[row] - 2.0 * digits_[place_[row] - inner_];
  }

 private:
  static constexpr std::size_t kVectors = 4;  // of inner terms, at least

  // (-1)^v C(t, v) / 2^t
  static std::vector<double> binomials(int count) {
    std::vector<double> found{1};
    for (int v = 1; v <= count; ++v) found.push_back(-found.back() * (count + 1 - v) / v);
    for (double& x : found) x = std::ldexp(x, -count);
    return found;
  }

  void tabulate(std::size_t terms) {
    const std::size_t vectors = (terms + kLanes - 1) / kLanes;
    inner_weights_.assign(vectors, Vec{});
    inner_sums_.assign(vectors * columns(), {});
    inner_factors_.assign(vectors * inner_, Vec{});
    place_.resize(order_.size());
    for (std::size_t k = 0; k < order_.size(); ++k) place_[order_[k]] = k;
    for (std::size_t term = 0; term < terms; ++term) {
      const std::size_t vector = term / kLanes, lane = term % kLanes;
      double weight = halved_ ? 2 : 1;
      std::size_t left = term;
      for (std::size_t k = 0; k < inner_; ++k) {
        const std::size_t i = order_[k];
        const auto radix = static_cast<std::size_t>(rows_->counts[i]) + 1;
        weight *= weights_[i][left % radix];
        const double times = rows_->counts[i] - 2.0 * static_cast<double>(left % radix);
        left /= radix;
        inner_factors_[vector * inner_ + k][lane] = times;
        for (std::size_t j = 0; j < columns(); ++j) {
          for (std::size_t p = 0; p < Parts; ++p) {
            inner_sums_[vector * columns() + j].part[p][lane] +=
                times * rows_->row(i)[j * Parts + p];
          }
        }
      }
      inner_weights_[vector][lane] = weight;
    }
  }

  void place() {
    outer_weight_ = 1;
    std::fill(outer_.begin(), outer_.end(), 0.0);
    for (std::size_t k = 0; k < digits_.size(); ++k) {
      const std::size_t i = order_[inner_ + k];
      outer_weight_ *= weights_[i][static_cast<std::size_t>(digits_[k])];
      const double times = rows_->counts[i] - 2.0 * digits_[k];
      const double* row = rows_->row(i);
      for (std::size_t at = 0; at < outer_.size(); ++at) outer_[at] += times * row[at];
    }
  }

  const CountedRows<Parts>* rows_;
  std::vector<std::size_t> order_, place_;  // inner rows first; the place of each
  std::size_t inner_ = 0;
  bool halved_ = false;
  std::vector<std::vector<double>> weights_;
  std::vector<Vec> inner_weights_, inner_factors_;
  std::vector<Number<Parts>> inner_sums_;
  std::vector<int> digits_, last_;
  std::vector<double> outer_;
  double outer_weight_ = 1;
};

}  // namespace
}  // namespace hardscape::permanents
