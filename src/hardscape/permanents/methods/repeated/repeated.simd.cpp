// Glynn's formula with repeated rows and columns.
//
// A row of multiplicity r takes its sum of r signs, r - 2 v, in binom(r, v) ways:
//   2^n per(A) = sum over v of prod_i (-1)^v_i binom(r_i, v_i) * prod_j s_j^c_j,
//   s_j = sum_i (r_i - 2 v_i) a_ij.
// One copy of the first row keeps its sign, which halves the sum. The v of a few rows are inner
// ones: their combinations are lanes of independent products. The others walk a mixed-radix Gray
// code, in which one v changes by one at a time.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "permanents/kernel.hpp"
#include "permanents/numbers/lanes.hpp"
#include "permanents/numbers/residues.hpp"

namespace hardscape::permanents {
namespace {

constexpr std::size_t kGroup = 4;  // vectors of products that are formed at the same time
constexpr std::uint64_t kStepsBetweenPolls = 256;

// Digits of a reflected Gray code of mixed radix, lowest first.
class GrayDigits {
 public:
  GrayDigits(const std::int64_t* radix, std::size_t count, std::uint64_t position)
      : radix_(radix, radix + count), plain_(count), digit(count) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto r = static_cast<std::uint64_t>(radix_[i]);
      plain_[i] = static_cast<std::int64_t>(position % r);
      position /= r;
      digit[i] = position & 1 ? radix_[i] - 1 - plain_[i] : plain_[i];
      rising_.push_back(!(position & 1));
    }
  }

  // Goes on by one, which must not leave the code; returns the place of the digit that changes.
  std::size_t advance() {
    std::size_t i = 0;
    while (plain_[i] == radix_[i] - 1) {
      plain_[i] = 0;
      rising_[i] = !rising_[i];
      ++i;
    }
    ++plain_[i];
    digit[i] += rising_[i] ? 1 : -1;
    return i;
  }

  bool rising(std::size_t i) const { return rising_[i]; }

 private:
  std::vector<std::int64_t> radix_, plain_;
  std::vector<bool> rising_;

 public:
  std::vector<std::int64_t> digit;
};

// What the double-precision kernel reads; see repeated.py.
struct Problem {
  const double* inner;         // [part][column][lane]: sums of the inner rows
  const double* inner_weight;  // [lane]
  const double* start;         // [part][column]: sum of all other rows, every v = 0
  const double* outer;         // [part][row][column]
  const std::int64_t* radix;   // [row]
  const double* weight;        // of v of each row, one row after the other
  const std::int64_t* power;   // [column]
  const double* slack;         // [column], or null
  std::size_t columns, lanes, rows;
};

// The products of all lanes at one step of the outer rows, weighted and added up.
template <std::size_t Parts, bool Guarded>
void add_lanes(const Problem& p, const double* outer, double weight, double* sums) {
  typedef Number<Parts> T;
  Vec total[Parts] = {}, magnitude = {}, excess = {};
  for (std::size_t first = 0; first < p.lanes; first += kGroup * kLanes) {
    T product[kGroup];
    Perturbation guard[kGroup];
    for (std::size_t g = 0; g < kGroup; ++g) {
      product[g] = T::one();
      guard[g] = {Vec{} + 1.0, Vec{}};
    }
    for (std::size_t j = 0; j < p.columns; ++j) {
      T sum[kGroup];
      for (std::size_t g = 0; g < kGroup; ++g) {
        for (std::size_t q = 0; q < Parts; ++q) {
          const double* at = p.inner + (q * p.columns + j) * p.lanes + first + g * kLanes;
          sum[g].part[q] = *reinterpret_cast<const Vec*>(at) + outer[q * p.columns + j];
        }
        if constexpr (Guarded) {
          const Vec modulus = sum[g].modulus();
          for (std::int64_t c = 0; c < p.power[j]; ++c) guard[g].multiply(modulus, p.slack[j]);
        }
      }
      for (std::int64_t c = p.power[j];;) {
        if (c & 1) {
          for (std::size_t g = 0; g < kGroup; ++g) product[g] *= sum[g];
        }
        if (!(c >>= 1)) break;
        for (std::size_t g = 0; g < kGroup; ++g) {
          const T same = sum[g];
          sum[g] *= same;
        }
      }
    }
    for (std::size_t g = 0; g < kGroup; ++g) {
      const Vec w = *reinterpret_cast<const Vec*>(p.inner_weight + first + g * kLanes);
      for (std::size_t q = 0; q < Parts; ++q) total[q] += w * product[g].part[q];
      magnitude += absolute(w) * product[g].one_norm();
      if constexpr (Guarded) excess += absolute(w) * guard[g].excess;
    }
  }
  const auto across = [](Vec x) {
    double sum = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) sum += x[lane];
    return sum;
  };
  for (std::size_t q = 0; q < Parts; ++q) {
    add_compensated(sums[q], sums[Parts + q], weight * across(total[q]));
  }
  sums[2 * Parts] += std::abs(weight) * across(magnitude);
  sums[2 * Parts + 1] += std::abs(weight) * across(excess);
}

// Sums steps first to last-1 of the outer rows: high and low parts, magnitude, excess.
template <std::size_t Parts, bool Guarded>
std::uint64_t sum_steps(const Problem& p, std::uint64_t first, std::uint64_t last,
                        const volatile std::uint8_t* stopped, double* sums) {
  GrayDigits digits(p.radix, p.rows, first);
  std::vector<std::size_t> weights_of(p.rows);
  for (std::size_t i = 1; i < p.rows; ++i) {
    weights_of[i] = weights_of[i - 1] + static_cast<std::size_t>(p.radix[i - 1]);
  }
  std::vector<double> outer(p.start, p.start + Parts * p.columns);
  const auto add_row = [&](std::size_t i, double times) {
    for (std::size_t q = 0; q < Parts; ++q) {
      for (std::size_t j = 0; j < p.columns; ++j) {
        outer[q * p.columns + j] += times * p.outer[(q * p.rows + i) * p.columns + j];
      }
    }
  };
  // product_above[i] is the weight of the digits from i on.
  std::vector<double> product_above(p.rows + 1, 1.0);
  const auto weigh = [&](std::size_t from) {
    for (std::size_t i = from + 1; i-- > 0;) {
      const auto v = static_cast<std::size_t>(digits.digit[i]);
      product_above[i] = product_above[i + 1] * p.weight[weights_of[i] + v];
    }
  };
  for (std::size_t i = 0; i < p.rows; ++i) {
    add_row(i, -2.0 * static_cast<double>(digits.digit[i]));
  }
  if (p.rows) weigh(p.rows - 1);
  for (std::uint64_t position = first;;) {
    if ((position - first) % kStepsBetweenPolls == 0 && *stopped) return position;
    add_lanes<Parts, Guarded>(p, outer.data(), product_above[0], sums);
    if (++position == last) return last;
    const std::size_t i = digits.advance();
    add_row(i, digits.rising(i) ? -2.0 : 2.0);
    weigh(i);
  }
}

auto repeated_sum(Cube inner, Vector<double> inner_weight, Matrix<double> start, Cube outer,
                  Vector<std::int64_t> radix, Vector<double> weight, Vector<std::int64_t> power,
                  std::optional<Vector<double>> slack, std::uint64_t first, std::uint64_t last,
                  Stop stop) {
  const std::size_t parts = inner.shape(0);
  // NumPy aligns to 16 bytes; vectors are loaded whole.
  std::vector<Vec> aligned((inner.size() + inner_weight.size()) / kLanes);
  auto* memory = reinterpret_cast<double*>(aligned.data());
  std::copy_n(inner.data(), inner.size(), memory);
  std::copy_n(inner_weight.data(), inner_weight.size(), memory + inner.size());
  const Problem problem = {
      memory,       memory + inner.size(), start.data(), outer.data(),
      radix.data(), weight.data(),         power.data(), slack ? slack->data() : nullptr,
      power.size(), inner_weight.size(),   radix.size()};
  const auto sum = parts == 2 ? (slack ? &sum_steps<2, true> : &sum_steps<2, false>)
                              : (slack ? &sum_steps<1, true> : &sum_steps<1, false>);
  return unlocked<double>({2 * parts + 2}, [&](auto& sums) {
    return sum(problem, first, last, stop.data(), sums.data()) == last;
  });
}

constexpr std::size_t kPrimes = 4;  // chains of products that run side by side

// Steps first to last-1 modulo `count` <= kPrimes primes. All numbers are Montgomery's: x 2^64 mod
// p.
struct ResidueProblem {
  const std::uint64_t* matrix;  // [prime][row][column]
  const std::uint64_t* weight;  // [prime][row and v]
  const std::int64_t* radix;    // [row]; the first row has one copy more than its radix says
  const std::int64_t* power;    // [column]
  std::size_t rows, columns, weights;
};

bool residue_steps(const ResidueProblem& p, const Residues* ring, std::size_t count,
                   std::uint64_t first, std::uint64_t last, const volatile std::uint8_t* stopped,
                   std::uint64_t* total) {
  GrayDigits digits(p.radix, p.rows, first);
  std::vector<std::size_t> weights_of(p.rows);
  for (std::size_t i = 1; i < p.rows; ++i) {
    weights_of[i] = weights_of[i - 1] + static_cast<std::size_t>(p.radix[i - 1]);
  }
  std::vector<std::uint64_t> sums(p.columns * kPrimes), above((p.rows + 1) * kPrimes);
  const auto entry = [&](std::size_t k, std::size_t i, std::size_t j) {
    return p.matrix[(k * p.rows + i) * p.columns + j];
  };
  const auto add_row = [&](std::size_t i, bool plus) {
    for (std::size_t j = 0; j < p.columns; ++j) {
      for (std::size_t k = 0; k < count; ++k) {
        std::uint64_t& sum = sums[j * kPrimes + k];
        const std::uint64_t x = entry(k, i, j);
        sum = plus ? ring[k].add(sum, x) : ring[k].subtract(sum, x);
      }
    }
  };
  const auto weigh = [&](std::size_t from) {
    for (std::size_t i = from + 1; i-- > 0;) {
      const std::size_t at = weights_of[i] + static_cast<std::size_t>(digits.digit[i]);
      for (std::size_t k = 0; k < count; ++k) {
        const std::uint64_t higher = above[(i + 1) * kPrimes + k];
        above[i * kPrimes + k] = ring[k].multiply(higher, p.weight[k * p.weights + at]);
      }
    }
  };
  for (std::size_t i = 0; i < p.rows; ++i) {
    const std::int64_t copies = p.radix[i] - (i ? 1 : 0);
    const std::int64_t times = copies - 2 * digits.digit[i];
    for (std::int64_t c = 0; c < std::abs(times); ++c) add_row(i, times > 0);
  }
  for (std::size_t k = 0; k < count; ++k) {
    // 2^64 modulo p is Montgomery's 1.
    above[p.rows * kPrimes + k] = (UINT64_MAX % ring[k].p + 1) % ring[k].p;
    total[k] = 0;
  }
  weigh(p.rows - 1);
  for (std::uint64_t position = first;;) {
    if ((position - first) % kStepsBetweenPolls == 0 && *stopped) return false;
    std::uint64_t product[kPrimes];
    for (std::size_t k = 0; k < count; ++k) product[k] = above[k];
    for (std::size_t j = 0; j < p.columns; ++j) {
      std::uint64_t sum[kPrimes];
      for (std::size_t k = 0; k < count; ++k) sum[k] = sums[j * kPrimes + k];
      for (std::int64_t c = p.power[j];;) {
        if (c & 1) {
          for (std::size_t k = 0; k < count; ++k) product[k] = ring[k].multiply(product[k], sum[k]);
        }
        if (!(c >>= 1)) break;
        for (std::size_t k = 0; k < count; ++k) sum[k] = ring[k].multiply(sum[k], sum[k]);
      }
    }
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint64_t term = product[k] >= ring[k].p ? product[k] - ring[k].p : product[k];
      total[k] = ring[k].add(total[k], term);
    }
    if (++position == last) return true;
    const std::size_t i = digits.advance();
    for (int twice = 0; twice < 2; ++twice) add_row(i, !digits.rising(i));
    weigh(i);
  }
}

auto repeated_residues(Matrix<std::uint64_t> matrices, Matrix<std::uint64_t> weights,
                       Vector<std::uint64_t> primes, Vector<std::int64_t> radix,
                       Vector<std::int64_t> power, std::uint64_t first, std::uint64_t last,
                       Stop stop) {
  const std::size_t size = radix.size() * power.size();
  return unlocked<std::uint64_t>({primes.size()}, [&](auto& residues) {
    bool done = true;
    for (std::size_t k = 0; k < primes.size() && done; k += kPrimes) {
      const std::size_t count = std::min(kPrimes, primes.size() - k);
      std::vector<Residues> rings;
      for (std::size_t i = 0; i < count; ++i) rings.emplace_back(primes.data()[k + i]);
      const ResidueProblem problem = {matrices.data() + k * size,
                                      weights.data() + k * weights.shape(1),
                                      radix.data(),
                                      power.data(),
                                      radix.size(),
                                      power.size(),
                                      weights.shape(1)};
      done = residue_steps(problem, rings.data(), count, first, last, stop.data(), &residues[k]);
    }
    return done;
  });
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def("repeated_sum", &repeated_sum, nb::arg("inner"), nb::arg("inner_weight"),
             nb::arg("start"), nb::arg("outer"), nb::arg("radix"), nb::arg("weight"),
             nb::arg("power"), nb::arg("slack").none(), nb::arg("first"), nb::arg("last"),
             nb::arg("stop"),
             "Sum Glynn's formula with multiplicities over steps first to last-1 of the outer "
             "rows: high and low parts, magnitude, excess; tells whether all were done.");
  module.def(
      "repeated_residues", &repeated_residues, nb::arg("matrices"), nb::arg("weights"),
      nb::arg("primes"), nb::arg("radix"), nb::arg("power"), nb::arg("first"), nb::arg("last"),
      nb::arg("stop"),
      "The same modulo primes, all numbers times 2^64; matrices has (primes, rows * columns).");
});

}  // namespace
}  // namespace hardscape::permanents
