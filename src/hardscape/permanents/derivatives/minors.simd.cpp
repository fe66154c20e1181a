// All first minors of a permanent by Glynn's formula.
//
//   2^(n-1) per(A without i, j) = sum over signs d, d_0 = +1, of prod_k d_k * d_i * prod_(l != j)
//   s_l,
// the derivative of the formula of glynn.cpp. Products over all columns but one come from prefixes
// and suffixes. The sum over terms with the sign d_i is not formed term by term: along a Gray code
// the sign of a row stays for a while, and what the running total grows by in that time counts at
// once.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "permanents/kernel.hpp"
#include "permanents/numbers/lanes.hpp"
#include "permanents/numbers/residues.hpp"

namespace hardscape::permanents {
namespace {

constexpr std::size_t kLaneRows = std::bit_width(kLanes) - 1;  // rows 1 to kLaneRows
constexpr std::size_t kPairRow = kLaneRows + 1;
constexpr std::size_t kFirstOuter = kPairRow + 1;
constexpr std::uint64_t kPositionsBetweenSums = 256;

bool minus_in_lane(std::size_t row, std::size_t lane) {
  return row >= 1 && row <= kLaneRows && (lane >> (row - 1) & 1);
}

// A table of one number for each row and column.
template <class T>
class Table {
 public:
  Table(std::size_t rows, std::size_t columns) : columns_(columns), values_(rows * columns) {}
  T* operator[](std::size_t row) { return &values_[row * columns_]; }
  void clear() { std::fill(values_.begin(), values_.end(), T{}); }

 private:
  std::size_t columns_;
  std::vector<T> values_;
};

template <std::size_t Parts>
class MinorSums {
 public:
  typedef Number<Parts> T;

  // entries: [part][row][column], on a grid on which sums are exact.
  MinorSums(const double* entries, std::size_t n, std::uint64_t position)
      : n_(n),
        entries_(entries),
        outer_(n * Parts),
        inner_(n),
        pair_(n * Parts),
        prefix_(n),
        sums_(n),
        total_(n),
        other_(n),
        since_(n, n),
        grown_(n, n),
        high_(n * n * Parts),
        low_(n * n * Parts),
        gray_(position ^ position >> 1) {
    for (std::size_t p = 0; p < Parts; ++p) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = entry(p, 0, j);
        for (std::size_t i = kFirstOuter; i < n; ++i) {
          sum += minus(i) ? -entry(p, i, j) : entry(p, i, j);
        }
        outer_[j * Parts + p] = sum;
        pair_[j * Parts + p] = entry(p, kPairRow, j);
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          double inner = 0;
          for (std::size_t i = 1; i <= kLaneRows; ++i) {
            inner += minus_in_lane(i, lane) ? -entry(p, i, j) : entry(p, i, j);
          }
          inner_[j].part[p][lane] = inner;
        }
      }
    }
  }

  // Adds the terms of the current position.
  void add() {
    const double sign = std::popcount(gray_) & 1 ? -1.0 : 1.0;
    T plus = T::one(), minus = T::one();
    for (std::size_t j = 0; j < n_; ++j) {
      Pair& sum = sums_[j];
      for (std::size_t p = 0; p < Parts; ++p) {
        const Vec middle = outer_[j * Parts + p] + inner_[j].part[p];
        sum.plus.part[p] = middle + pair_[j * Parts + p];
        sum.minus.part[p] = middle - pair_[j * Parts + p];
      }
      prefix_[j] = {plus, minus};
      plus *= sum.plus;
      minus *= sum.minus;
    }
    plus = minus = T::one();
    plus.part[0] *= sign;
    minus.part[0] *= sign;
    for (std::size_t j = n_; j-- > 0;) {
      T first = prefix_[j].plus, second = prefix_[j].minus;
      first *= plus;
      second *= minus;
      for (std::size_t p = 0; p < Parts; ++p) {
        // The term of the lower sign of the pair row is negative, and its derivative positive
        // again.
        total_[j].part[p] += first.part[p] - second.part[p];
        other_[j].part[p] += first.part[p] + second.part[p];
      }
      plus *= sums_[j].plus;
      minus *= sums_[j].minus;
    }
  }

  // Goes to `position` from the one before it.
  void advance(std::uint64_t position) {
    const auto bit = static_cast<std::size_t>(std::countr_zero(position));
    const std::size_t row = bit + kFirstOuter;
    close(row);
    gray_ ^= std::uint64_t{1} << bit;
    const double twice = minus(row) ? -2.0 : 2.0;
    for (std::size_t p = 0; p < Parts; ++p) {
      for (std::size_t j = 0; j < n_; ++j) outer_[j * Parts + p] += twice * entry(p, row, j);
    }
  }

  // Adds what has come together to the result, and starts again from zero.
  void flush() {
    for (std::size_t i = kFirstOuter; i < n_; ++i) close(i);
    for (std::size_t i = 0; i < n_; ++i) {
      const T* from = i >= kFirstOuter ? grown_[i] : i == kPairRow ? other_.data() : total_.data();
      for (std::size_t j = 0; j < n_; ++j) {
        for (std::size_t p = 0; p < Parts; ++p) {
          double sum = 0;
          for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const bool odd = (std::popcount(lane) & 1) != minus_in_lane(i, lane);
            sum += odd ? -from[j].part[p][lane] : from[j].part[p][lane];
          }
          const std::size_t at = (p * n_ + i) * n_ + j;
          add_compensated(high_[at], low_[at], sum);
        }
      }
    }
    std::fill(total_.begin(), total_.end(), T{});
    std::fill(other_.begin(), other_.end(), T{});
    since_.clear();
    grown_.clear();
  }

  // High parts, then low parts.
  std::vector<double> result() const {
    std::vector<double> both = high_;
    both.insert(both.end(), low_.begin(), low_.end());
    return both;
  }

 private:
  struct Pair {
    T plus, minus;
  };

  double entry(std::size_t p, std::size_t i, std::size_t j) const {
    return entries_[(p * n_ + i) * n_ + j];
  }
  bool minus(std::size_t row) const { return gray_ >> (row - kFirstOuter) & 1; }

  // Counts, with the sign of a row, what the totals have grown by since the row was closed last.
  void close(std::size_t row) {
    T* since = since_[row];
    T* grown = grown_[row];
    const double sign = minus(row) ? -1.0 : 1.0;
    for (std::size_t j = 0; j < n_; ++j) {
      for (std::size_t p = 0; p < Parts; ++p) {
        grown[j].part[p] += sign * (total_[j].part[p] - since[j].part[p]);
      }
      since[j] = total_[j];
    }
  }

  std::size_t n_;
  const double* entries_;
  std::vector<double> outer_;
  std::vector<T> inner_;
  std::vector<double> pair_;
  std::vector<Pair> prefix_, sums_;
  std::vector<T> total_, other_;  // with the sign of a term, and without that of the pair row
  Table<T> since_, grown_;
  std::vector<double> high_, low_;
  std::uint64_t gray_;
};

template <std::size_t Parts>
std::uint64_t minor_sums(const double* entries, std::size_t n, std::uint64_t first,
                         std::uint64_t last, const volatile std::uint8_t* stopped,
                         std::vector<double>& result) {
  MinorSums<Parts> sums(entries, n, first);
  std::uint64_t done = first;
  while (done < last && !*stopped) {
    const std::uint64_t until = std::min(last, done + kPositionsBetweenSums);
    while (done < until) {
      sums.add();
      if (++done < last) {
        if (done == until) sums.flush();
        sums.advance(done);
      }
    }
  }
  sums.flush();
  result = sums.result();
  return done;
}

auto glynn_minors(Cube entries, std::uint64_t first, std::uint64_t last, Stop stop) {
  const std::size_t parts = entries.shape(0), n = entries.shape(1);
  const auto run = parts == 2 ? &minor_sums<2> : &minor_sums<1>;
  return unlocked<double>({2, parts, n, n}, [&](auto& result) {
    return run(entries.data(), n, first, last, stop.data(), result) == last;
  });
}

// The same modulo a prime, all numbers times 2^64; a position is one term.
class MinorResidues {
 public:
  MinorResidues(const std::uint64_t* matrix, std::size_t n, const Residues& ring,
                std::uint64_t position)
      : n_(n),
        matrix_(matrix),
        ring_(ring),
        sums_(matrix, matrix + n),
        prefix_(n),
        total_(n),
        since_(n, n),
        grown_(n, n),
        gray_(position ^ position >> 1) {
    for (std::size_t i = 1; i < n; ++i) add_row(i, minus(i));
  }

  void add() {
    const bool negative = std::popcount(gray_) & 1;
    // 2^64 modulo p is Montgomery's 1.
    const std::uint64_t one = (UINT64_MAX % ring_.p + 1) % ring_.p;
    std::uint64_t product = one;
    for (std::size_t j = 0; j < n_; ++j) {
      prefix_[j] = product;
      product = ring_.multiply(product, sums_[j]);
    }
    product = one;
    for (std::size_t j = n_; j-- > 0;) {
      std::uint64_t term = ring_.multiply(prefix_[j], product);
      if (term >= ring_.p) term -= ring_.p;
      total_[j] = negative ? ring_.subtract(total_[j], term) : ring_.add(total_[j], term);
      product = ring_.multiply(product, sums_[j]);
    }
  }

  void advance(std::uint64_t position) {
    const auto bit = static_cast<std::size_t>(std::countr_zero(position));
    close(bit + 1);
    gray_ ^= std::uint64_t{1} << bit;
    for (int twice = 0; twice < 2; ++twice) add_row(bit + 1, minus(bit + 1));
  }

  void finish(std::uint64_t* result) {
    std::copy(total_.begin(), total_.end(), result);
    for (std::size_t i = 1; i < n_; ++i) {
      close(i);
      std::copy_n(grown_[i], n_, result + i * n_);
    }
  }

 private:
  bool minus(std::size_t row) const { return gray_ >> (row - 1) & 1; }

  void add_row(std::size_t row, bool minus) {
    for (std::size_t j = 0; j < n_; ++j) {
      const std::uint64_t x = matrix_[row * n_ + j];
      sums_[j] = minus ? ring_.subtract(sums_[j], x) : ring_.add(sums_[j], x);
    }
  }

  void close(std::size_t row) {
    for (std::size_t j = 0; j < n_; ++j) {
      const std::uint64_t more = ring_.subtract(total_[j], since_[row][j]);
      std::uint64_t& grown = grown_[row][j];
      grown = minus(row) ? ring_.subtract(grown, more) : ring_.add(grown, more);
      since_[row][j] = total_[j];
    }
  }

  std::size_t n_;
  const std::uint64_t* matrix_;
  Residues ring_;
  std::vector<std::uint64_t> sums_, prefix_, total_;
  Table<std::uint64_t> since_, grown_;
  std::uint64_t gray_;
};

auto exact_minors(Matrix<std::uint64_t> matrices, Vector<std::uint64_t> primes, std::uint64_t first,
                  std::uint64_t last, Stop stop) {
  const std::size_t n = matrices.shape(1), count = primes.size();
  return unlocked<std::uint64_t>({count, n, n}, [&](auto& result) {
    bool complete = true;
    for (std::size_t k = 0; k < count && complete; ++k) {
      MinorResidues sums(matrices.data() + k * n * n, n, Residues(primes.data()[k]), first);
      for (std::uint64_t done = first; done < last && complete;) {
        sums.add();
        if (++done < last) sums.advance(done);
        complete = done % kPositionsBetweenSums || !*stop.data();
      }
      sums.finish(&result[k * n * n]);
    }
    return complete;
  });
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def(
      "minor_rows", [] { return kFirstOuter; },
      "Rows that glynn_minors sums at each position, the first one included.");
  module.def(
      "glynn_minors", &glynn_minors, nb::arg("entries"), nb::arg("first"), nb::arg("last"),
      nb::arg("stop"),
      "All first minors times 2^(n-1), summed over positions first to last-1: (high and low, "
      "part, row, column); tells whether all were done.");
  module.def("exact_minors", &exact_minors, nb::arg("matrices"), nb::arg("primes"),
             nb::arg("first"), nb::arg("last"), nb::arg("stop"),
             "The same modulo primes, times 2^64; matrices has (primes * n, n).");
});

}  // namespace
}  // namespace hardscape::permanents
