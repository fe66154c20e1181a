// Glynn's formula for the permanent in double precision.
//
// D. G. Glynn, "The permanent of a square matrix", European Journal of Combinatorics 31 (2010):
//   2^(n-1) per(A) = sum over signs d, d_0 = +1, of prod_k d_k * prod_j s_j, s_j = sum_i d_i a_ij.
// Five signs are inner ones: their 32 patterns are independent running products, so that no
// multiplication waits for another. The others walk a Gray code. The caller gives entries on a grid
// on which every sum s_j is exact (see glynn.py), so only products and the final sum round.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "permanents/given.hpp"
#include "permanents/kernel.hpp"
#include "permanents/methods/glynn/scaling.hpp"
#include "permanents/methods/glynn/walk.hpp"
#include "permanents/structure/matching.hpp"

namespace hardscape::permanents {
namespace {

constexpr std::uint64_t kBlocksBetweenPolls = 1024;
// Power of two of a permanent that is 0, and of its error.
constexpr std::int32_t kZero = -(1 << 30);
// Where 32 patterns are too few vectors to hide the latency of products and the ends of loops, two
// blocks go together.
constexpr bool kTwoBlocks = kLanes == 8;

template <std::size_t Parts>
class Walk : public GrayWalk<Parts> {
  using Base = GrayWalk<Parts>;

 public:
  Walk(const double* entries, std::size_t n, std::uint64_t position)
      : Base(entries, n, position), next_(n * Parts) {}

  // Adds the 32 terms of the block at `position`.
  template <bool Guarded>
  void add_block(std::uint64_t position, const double* slack, Sums<Parts>& sums) const {
    constexpr std::size_t group = Parts == 1 && !Guarded ? (kVectors < 4 ? kVectors : 4) : 2;
    const double* outer[1] = {outer_.data()};
    Number<Parts> term[1] = {};
    for (std::size_t first = 0; first < kVectors; first += group) {
      add_patterns<Guarded, group, 1>(first, outer, slack, term, sums);
    }
    add_term(position, term[0], sums);
  }

  // Adds the blocks at an even `position` and behind it, and goes to the latter.
  void add_two_blocks(std::uint64_t position, Sums<Parts>& sums) {
    step(position + 1, next_.data());
    const double* outer[2] = {outer_.data(), next_.data()};
    Number<Parts> term[2] = {};
    for (std::size_t first = 0; first < kVectors; first += 2) {
      add_patterns<false, 2, 2>(first, outer, nullptr, term, sums);
    }
    add_term(position, term[0], sums);
    add_term(position + 1, term[1], sums);
    outer_.swap(next_);
  }

 private:
  using Base::inner_, Base::n_, Base::outer_, Base::step;

  static void add_term(std::uint64_t position, const Number<Parts>& term, Sums<Parts>& sums) {
    for (std::size_t p = 0; p < Parts; ++p) {
      const Vec signed_term = position & 1 ? -term.part[p] : term.part[p];
      add_compensated(sums.high[p], sums.low[p], signed_term);
    }
  }

  // Each pass keeps the products of 2 * Group vectors for each block in registers.
  template <bool Guarded, std::size_t Group, std::size_t Blocks>
  void add_patterns(std::size_t first, const double* const (&outer)[Blocks], const double* slack,
                    Number<Parts> (&term)[Blocks], Sums<Parts>& sums) const {
    constexpr std::size_t count = Blocks * Group;
    Number<Parts> product[2 * count];
    Perturbation guard[2 * count];
#pragma GCC unroll 8
    for (std::size_t v = 0; v < 2 * count; ++v) {
      product[v] = {};
      product[v].part[0] = Vec{} + 1.0;
      guard[v] = {Vec{} + 1.0, Vec{}};
    }
    const Vec* __restrict inner = inner_.data() + first;
    for (std::size_t j = 0; j < n_; ++j, inner += Parts * kVectors) {
#pragma GCC unroll 8
      for (std::size_t v = 0; v < count; ++v) {
        Number<Parts> plus, minus;
        for (std::size_t p = 0; p < Parts; ++p) {
          const double shared = outer[v / Group][j * Parts + p];
          plus.part[p] = shared + inner[p * kVectors + v % Group];
          minus.part[p] = shared - inner[p * kVectors + v % Group];
        }
        product[2 * v] *= plus;
        product[2 * v + 1] *= minus;
        if constexpr (Guarded) {
          guard[2 * v].multiply(plus.modulus(), slack[j]);
          guard[2 * v + 1].multiply(minus.modulus(), slack[j]);
        }
      }
    }
#pragma GCC unroll 8
    for (std::size_t v = 0; v < count; ++v) {
      const bool odd = std::popcount(first + v % Group) & 1;
      for (std::size_t p = 0; p < Parts; ++p) {
        // A complement has an odd number of signs more or less.
        const Vec pair = product[2 * v].part[p] - product[2 * v + 1].part[p];
        term[v / Group].part[p] += odd ? -pair : pair;
      }
      sums.magnitude += product[2 * v].one_norm() + product[2 * v + 1].one_norm();
      if constexpr (Guarded) sums.excess += guard[2 * v].excess + guard[2 * v + 1].excess;
    }
  }

  std::vector<double> next_;  // column sums of the block behind it
};

template <std::size_t Parts, bool Guarded>
std::vector<double> sum_blocks(const double* entries, std::size_t n, const double* slack,
                               std::uint64_t first, std::uint64_t last,
                               const volatile std::uint8_t* stopped, std::uint64_t& done) {
  Walk<Parts> walk(entries, n, first);
  Sums<Parts> sums;
  done = first;
  // Of the last of 2^64 blocks, `last` is 0.
  for (std::uint64_t left = last - first; left > 0 && !*stopped;) {
    const std::uint64_t poll_at = left - std::min(left, kBlocksBetweenPolls);
    while (left > poll_at) {
      const bool two = kTwoBlocks && !Guarded && done % 2 == 0 && left > 1;
      if (two) {
        walk.add_two_blocks(done, sums);
      } else {
        walk.template add_block<Guarded>(done, slack, sums);
      }
      done += two ? 2 : 1;
      left -= two ? 2 : 1;
      if (left > 0) walk.advance(done);
    }
  }
  return sums.reduced();
}

auto glynn_sum(Cube entries, std::optional<Vector<double>> slack, std::uint64_t first,
               std::uint64_t last, Stop stop) {
  const bool complex = entries.shape(0) == 2, guarded = slack.has_value();
  const auto sum = complex ? (guarded ? &sum_blocks<2, true> : &sum_blocks<2, false>)
                           : (guarded ? &sum_blocks<1, true> : &sum_blocks<1, false>);
  return unlocked<double>({2 * entries.shape(0) + 2}, [&](auto& result) {
    std::uint64_t done = 0;
    result = sum(entries.data(), entries.shape(1), guarded ? slack->data() : nullptr, first, last,
                 stop.data(), done);
    return done == last;
  });
}

using Batch = nb::ndarray<const double, nb::ndim<4>, nb::c_contig, nb::device::cpu>;

// High and low parts and magnitude of each matrix given[matrix][sign][factor][part], one behind the
// other; `exponents` are to be taken times. Zeros that make a permanent 0 are found before. Stops
// early if asked to, and says so.
template <std::size_t Parts>
bool sum_batch(const Batch& given, std::size_t side, const volatile std::uint8_t* stopped,
               std::vector<double>& sums, std::vector<std::int32_t>& exponents) {
  const std::size_t count = given.shape(0), n = given.shape(1);
  const std::uint64_t blocks = std::uint64_t{1} << (side - 1 - kInner);
  Scaling<Parts> scaling(n, side);
  std::vector<double> entries(Parts * side * side);
  for (std::size_t i = 0; i < count; ++i) {
    const double* matrix = given.data() + i * n * n * Parts;
    if (!has_matching<Parts>(matrix, n)) {
      exponents.push_back(kZero);
      sums.resize(sums.size() + 2 * Parts + 1);
      continue;
    }
    exponents.push_back(scaling.scale(matrix, entries.data()));
    std::uint64_t done = 0;
    const auto found =
        sum_blocks<Parts, false>(entries.data(), side, nullptr, 0, blocks, stopped, done);
    if (done < blocks) return false;
    sums.insert(sums.end(), found.begin(), found.end() - 1);  // the last one is of the guard
  }
  return true;
}

auto glynn_batch(Batch given, std::size_t side, Stop stop) {
  const std::size_t count = given.shape(0), parts = given.shape(3);
  bool complete = true;
  std::vector<double> sums;
  std::vector<std::int32_t> exponents;
  {
    nb::gil_scoped_release release;
    sums.reserve(count * (2 * parts + 1));
    exponents.reserve(count);
    const auto sum = parts == 2 ? &sum_batch<2> : &sum_batch<1>;
    complete = sum(given, side, stop.data(), sums, exponents);
    sums.resize(count * (2 * parts + 1));
    exponents.resize(count);
  }
  return std::make_tuple(to_numpy(std::move(sums), {count, 2 * parts + 1}),
                         to_numpy(std::move(exponents), {count}), complete);
}

// The permanent of a matrix of up to `kMostGiven` rows; None for others, and where its error is
// probably above rtol of it. The estimate is that of batch.py.
template <std::size_t Parts>
nb::object permanent_of(const double (*given)[2], std::size_t n, double rtol) {
  std::array<double, Parts * kMostGiven * kMostGiven> plain, entries;
  for (std::size_t at = 0; at < n * n; ++at) {
    for (std::size_t p = 0; p < Parts; ++p) plain[at * Parts + p] = given[at][p];
  }
  if (!has_matching<Parts>(plain.data(), n)) return shifted(0, 0, Parts == 2);
  const int exponent = Scaling<Parts>(n, n).scale(plain.data(), entries.data());
  const volatile std::uint8_t stop = 0;
  std::uint64_t done = 0;
  std::vector<double> sums;
  {
    const nb::gil_scoped_release release;
    const std::uint64_t blocks = std::uint64_t{1} << (n - 1 - kInner);
    sums = sum_blocks<Parts, false>(entries.data(), n, nullptr, 0, blocks, &stop, done);
  }
  const auto terms = static_cast<double>(std::uint64_t{1} << (n - 1));
  double typical = static_cast<double>(Parts * n * n * n) / 3;
  for (std::size_t i = 1; i <= n; ++i) {
    typical *= static_cast<double>(i) / static_cast<double>(n * n);
  }
  const double off = terms * 0x1p-53 * std::sqrt(typical);
  const double likely = 0x1p-46 / std::sqrt(terms) * sums[2 * Parts] + off;
  const std::complex<double> value{sums[0] + sums[Parts],
                                   Parts == 2 ? sums[1] + sums[Parts + 1] : 0};
  if (!(likely <= rtol * std::abs(value))) return nb::none();
  return shifted(value, exponent + 1 - static_cast<int>(n), Parts == 2);
}

nb::object glynn_permanent(nb::handle array, double rtol) {
  const Given given(array);
  double entries[kMostGiven * kMostGiven][2];
  if (given.side() <= kInner || given.side() > kMostGiven || !given.read(entries))
    return nb::none();
  const auto is_finite = [](const auto& x) { return std::isfinite(x[0]) && std::isfinite(x[1]); };
  if (!std::all_of(entries, entries + given.side() * given.side(), is_finite)) return nb::none();
  return given.is_complex() ? permanent_of<2>(entries, given.side(), rtol)
                            : permanent_of<1>(entries, given.side(), rtol);
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def("glynn_sum", &glynn_sum, nb::arg("entries"), nb::arg("slack").none(), nb::arg("first"),
             nb::arg("last"), nb::arg("stop"),
             "Sum the terms of blocks first to last-1 of entries[part][sign][factor]: high and low "
             "parts, magnitude, and what the slack of each factor may change; also tells whether "
             "all were done.");
  module.def("glynn_batch", &glynn_batch, nb::arg("given"), nb::arg("side"), nb::arg("stop"),
             "Scale each matrix of given[matrix][sign][factor][part], completed to a side, and sum "
             "its terms: high and low parts and magnitude, powers of two to take them times; also "
             "tells whether all were done.");
  module.def("glynn_permanent", &glynn_permanent, nb::arg("array"), nb::arg("rtol"),
             nb::sig("def glynn_permanent(array: object, rtol: float) -> float | complex | None"),
             "Permanent of a square floating array of 6 to 20 rows; None for others, and where its "
             "error is probably above rtol of it.");
});

}  // namespace
}  // namespace hardscape::permanents
