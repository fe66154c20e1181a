// Brings a matrix to the grid of multiples of 2^-52 on which its column sums are exact: powers of
// two are taken off its rows and columns until the magnitudes of each add up to about the same, and
// those of each column to less than 1. On GPUs scale.cu does the same.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace hardscape::permanents {
namespace {

// Sweeps that balance rows and columns, at most; random matrices take one or two.
constexpr int kSweeps = 8;
constexpr int kNoExponent = -(1 << 20);

// Exponent e with 2^(e-1) <= x < 2^e. Zeros come without order, so they are no branch.
inline int exponent_above(double x) {
  const auto biased = static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52);
  const bool is_zero = x == 0;
  if ((biased == 0) & !is_zero) return std::ilogb(x) + 1;
  return is_zero ? kNoExponent : biased - 1022;
}

// A line of zeros keeps its place.
inline int of_nonzero(int exponent) { return exponent > kNoExponent / 2 ? exponent : 0; }

// x 2^k, rounded once.
inline double times_power(double x, int k) {
  if (k < -1022 || k > 1023) return std::ldexp(x, k);
  return x * std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

// Scales finite matrices of side n, completed to `side` rows by an identity.
template <std::size_t Parts>
class Scaling {
 public:
  Scaling(std::size_t n, std::size_t side)
      : n_(n), side_(side), row_(n), column_(n), sum_(n), size_(n * n), scaled_(n * n) {}

  // From given[sign][factor][part] to entries[part][sign][factor]. The permanent of `given` is that
  // of `entries` times 2 to the power that is returned.
  int scale(const double* given, double* entries) {
    for (std::size_t at = 0; at < n_ * n_; ++at) {
      size_[at] = 0;
      for (std::size_t p = 0; p < Parts; ++p) {
        size_[at] = std::max(size_[at], std::abs(given[at * Parts + p]));
      }
    }
    bring_into_range();
    for (int sweep = 0; sweep < kSweeps && balance(); ++sweep) {
    }
    shorten_columns(given);
    std::fill_n(entries, Parts * side_ * side_, 0.0);
    for (std::size_t i = n_; i < side_; ++i) entries[i * side_ + i] = 1;
    for (std::size_t p = 0; p < Parts; ++p) {
      for (std::size_t i = 0; i < n_; ++i) {
        for (std::size_t j = 0; j < n_; ++j) {
          const double x = given[(i * n_ + j) * Parts + p];
          const double grid = std::rint(times_power(x, 52 - row_[i] - column_[j]));
          entries[(p * side_ + i) * side_ + j] = grid * 0x1p-52;
        }
      }
    }
    return std::accumulate(row_.begin(), row_.end(), 0) +
           std::accumulate(column_.begin(), column_.end(), 0);
  }

 private:
  // Takes the largest entries' exponents off columns, then off rows. They are numbers apart:
  // entries may leave the range of float64 on the way.
  void bring_into_range() {
    std::fill(sum_.begin(), sum_.end(), 0.0);
    double* __restrict factors = sum_.data();
    for (std::size_t i = 0; i < n_; ++i) {
      const double* __restrict line = &size_[i * n_];
      for (std::size_t j = 0; j < n_; ++j) factors[j] = line[j] > factors[j] ? line[j] : factors[j];
    }
    for (std::size_t j = 0; j < n_; ++j) {
      column_[j] = of_nonzero(exponent_above(factors[j]));
      factors[j] = times_power(1, -column_[j]);
    }
    for (std::size_t i = 0; i < n_; ++i) {
      const double* __restrict line = &size_[i * n_];
      double* __restrict scaled = &scaled_[i * n_];
      double most = 0;
      for (std::size_t j = 0; j < n_; ++j) {
        scaled[j] = line[j] * factors[j];
        most = scaled[j] > most ? scaled[j] : most;
      }
      if (most > 0x1p-900 && most < 2) {
        row_[i] = exponent_above(most);
        const double factor = times_power(1, -row_[i]);
        for (std::size_t j = 0; j < n_; ++j) scaled[j] *= factor;
      } else {
        bring_far_row(i);
      }
    }
  }

  // The same of one row whose entries leave that range.
  void bring_far_row(std::size_t i) {
    int most = kNoExponent;
    for (std::size_t j = 0; j < n_; ++j) {
      most = std::max(most, exponent_above(size_[i * n_ + j]) - column_[j]);
    }
    row_[i] = of_nonzero(most);
    for (std::size_t j = 0; j < n_; ++j) {
      scaled_[i * n_ + j] = times_power(size_[i * n_ + j], -row_[i] - column_[j]);
    }
  }

  // Brings the sums of rows, then those of columns, between 1/2 and 1. Says whether rows changed.
  bool balance() {
    bool changed = false;
    std::fill(sum_.begin(), sum_.end(), 0.0);
    for (std::size_t i = 0; i < n_; ++i) {
      double* __restrict line = &scaled_[i * n_];
      double* __restrict sums = sum_.data();
      double sum = 0;
      for (std::size_t j = 0; j < n_; ++j) sum += line[j];
      const int more = of_nonzero(exponent_above(sum));
      row_[i] += more;
      changed = changed || more != 0;
      const double factor = times_power(1, -more);
      for (std::size_t j = 0; j < n_; ++j) sums[j] += line[j] *= factor;
    }
    for (std::size_t j = 0; j < n_; ++j) {
      const int more = of_nonzero(exponent_above(sum_[j]));
      column_[j] += more;
      sum_[j] = times_power(1, -more);
    }
    for (std::size_t i = 0; i < n_; ++i) {
      double* __restrict line = &scaled_[i * n_];
      const double* __restrict factors = sum_.data();
      for (std::size_t j = 0; j < n_; ++j) line[j] *= factors[j];
    }
    return changed;
  }

  // The parts' sums of columns come below 1.
  void shorten_columns(const double* given) {
    std::vector<double> longest(n_);
    for (std::size_t p = 0; p < Parts; ++p) {
      std::fill(sum_.begin(), sum_.end(), 0.0);
      for (std::size_t i = 0; i < n_; ++i) {
        for (std::size_t j = 0; j < n_; ++j) {
          const double x = std::abs(given[(i * n_ + j) * Parts + p]);
          sum_[j] += times_power(x, -row_[i] - column_[j]);
        }
      }
      for (std::size_t j = 0; j < n_; ++j) longest[j] = std::max(longest[j], sum_[j]);
    }
    for (std::size_t j = 0; j < n_; ++j) column_[j] += std::max(0, exponent_above(longest[j]));
  }

  std::size_t n_, side_;
  std::vector<int> row_, column_;  // powers of two that are taken off
  std::vector<double> sum_;        // of columns, then factors
  std::vector<double> size_;       // of the entries' larger parts
  std::vector<double> scaled_;     // the same less these powers
};

}  // namespace
}  // namespace hardscape::permanents
