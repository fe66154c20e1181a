// Random numbers whose mean is a permanent: signs in Glynn's formula, and Huber and Law's
// acceptance.
#include <algorithm>
#include <cmath>

#include "native/random.hpp"
#include "permanents/kernel.hpp"
#include "permanents/numbers/lanes.hpp"

namespace hardscape::permanents {
namespace {

constexpr std::uint64_t kSigns = 0x7369676e73;     // "signs"
constexpr std::uint64_t kAccepted = 0x6163636570;  // "accep"
constexpr std::uint64_t kBetweenPolls = 64;

// prod_i x_i prod_j sum_i x_i a_ij for signs x of samples first to last-1: sums of the values and
// of their squares, part by part. Gives how many were drawn.
template <std::size_t Parts>
std::uint64_t sign_samples(const double* entries, std::size_t n, std::uint64_t seed,
                           std::uint64_t first, std::uint64_t last,
                           const volatile std::uint8_t* stopped, std::vector<double>& sums) {
  std::vector<Number<Parts>> columns(n);
  std::uint64_t at = first;
  for (std::uint64_t step = 0; at < last; ++step) {
    if (step % kBetweenPolls == 0 && *stopped) break;
    const std::size_t count = std::min<std::uint64_t>(kLanes, last - at);
    std::fill(columns.begin(), columns.end(), Number<Parts>{});
    std::vector<RandomStream> streams;
    for (std::size_t lane = 0; lane < kLanes; ++lane) streams.emplace_back(seed, at + lane, kSigns);
    std::uint64_t bits[kLanes] = {};
    Number<Parts> value = Number<Parts>::one();
    for (std::size_t i = 0; i < n; ++i) {
      Vec sign;
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        if (i % 64 == 0) bits[lane] = streams[lane].next();
        sign[lane] = bits[lane] & 1 ? -1.0 : 1.0;
        bits[lane] >>= 1;
      }
      for (Vec& part : value.part) part *= sign;
      for (std::size_t p = 0; p < Parts; ++p) {
        const double* row = entries + (p * n + i) * n;
        for (std::size_t j = 0; j < n; ++j) columns[j].part[p] += sign * row[j];
      }
    }
    for (const Number<Parts>& sum : columns) value *= sum;
    for (std::size_t p = 0; p < Parts; ++p) {
      for (std::size_t lane = 0; lane < count; ++lane) {
        sums[p] += value.part[p][lane];
        sums[Parts + p] += value.part[p][lane] * value.part[p][lane];
      }
    }
    at += count;
  }
  return at - first;
}

auto glynn_samples(Cube entries, std::uint64_t seed, std::uint64_t first, std::uint64_t last,
                   Stop stop) {
  const std::size_t parts = entries.shape(0);
  std::vector<double> sums(2 * parts);
  std::uint64_t done;
  {
    nb::gil_scoped_release release;
    const auto run = parts == 2 ? &sign_samples<2> : &sign_samples<1>;
    done = run(entries.data(), entries.shape(1), seed, first, last, stop.data(), sums);
  }
  return std::make_tuple(to_numpy(std::move(sums), {2, parts}), done);
}

// Huber and Law's bound of a row whose entries are 1 at most, in e.
double row_bound(double sum) {
  return sum >= 1 ? sum + 0.5 * std::log(sum) + (M_E - 1) : 1 + (M_E - 1) * std::max(sum, 0.0);
}

// One column after the other takes a row i, with the probability a_ij times the bound of what is
// left over the bound before, or none: then the sample is rejected.
class Acceptance {
 public:
  Acceptance(const double* entries, std::size_t n)  // [column][row]
      : n_(n), entries_(entries), sums_(n), bounds_(n), left_(n), rows_(n) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < n; ++i) sums_[i] += entries[j * n + i];
    }
    for (std::size_t i = 0; i < n; ++i) bounds_[i] = row_bound(sums_[i]);
  }

  bool accepts(RandomStream random) {
    std::vector<double> sums = sums_, bounds = bounds_;
    std::size_t count = n_;
    for (std::size_t i = 0; i < n_; ++i) rows_[i] = i;
    for (std::size_t j = 0; j < n_; ++j) {
      const double* column = entries_ + j * n_;
      double ratio = 1;
      for (std::size_t k = 0; k < count; ++k) {
        const std::size_t i = rows_[k];
        left_[k] = column[i] ? row_bound(sums[i] - column[i]) : bounds[i];
        ratio *= left_[k] / bounds[i];
      }
      double target = random.uniform() / (M_E * ratio);
      std::size_t chosen = count;
      for (std::size_t k = 0; k < count && chosen == count; ++k) {
        target -= column[rows_[k]] / left_[k];
        if (target < 0) chosen = k;
      }
      if (chosen == count) return false;
      for (std::size_t k = 0; k < count; ++k) {
        sums[rows_[k]] -= column[rows_[k]];
        bounds[rows_[k]] = left_[k];
      }
      rows_[chosen] = rows_[--count];
    }
    return true;
  }

 private:
  std::size_t n_;
  const double* entries_;
  std::vector<double> sums_, bounds_, left_;
  std::vector<std::size_t> rows_;
};

auto huber_law(Matrix<double> entries, std::uint64_t seed, std::uint64_t first, std::uint64_t last,
               Stop stop) {
  std::uint64_t accepted = 0, done = first;
  {
    nb::gil_scoped_release release;
    Acceptance acceptance(entries.data(), entries.shape(0));
    for (; done < last && ((done - first) % kBetweenPolls || !*stop.data()); ++done) {
      accepted += acceptance.accepts(RandomStream(seed, done, kAccepted));
    }
  }
  return std::make_tuple(accepted, done - first);
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def(
      "glynn_samples", &glynn_samples, nb::arg("entries"), nb::arg("seed"), nb::arg("first"),
      nb::arg("last"), nb::arg("stop"),
      "Sums of Glynn's estimates of samples first to last-1, and of their squares (2, parts), "
      "and how many there were.");
  module.def(
      "huber_law", &huber_law, nb::arg("entries"), nb::arg("seed"), nb::arg("first"),
      nb::arg("last"), nb::arg("stop"),
      "How many of the samples first to last-1 Huber and Law's algorithm accepts, for entries "
      "(column, row) from 0 to 1, and how many there were.");
});

}  // namespace
}  // namespace hardscape::permanents
