// Glynn's formula with double-double products; see glynn.cpp for the formula and extended.py for
// the error. Compiled without contraction of products and sums.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#if defined(__FMA__)
#include <immintrin.h>
#endif

#include "permanents/kernel.hpp"
#include "permanents/methods/glynn/walk.hpp"

namespace hardscape::permanents {
namespace {

// a b + c, rounded once.
inline Vec fused(Vec a, Vec b, Vec c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_pd(a, b, c);
#else
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    c[lane] = __builtin_fma(a[lane], b[lane], c[lane]);
  }
  return c;
#endif
}

}  // namespace
}  // namespace hardscape::permanents

#include "permanents/methods/extended/extended.hpp"

namespace hardscape::permanents {
namespace {

constexpr std::uint64_t kBlocksBetweenPolls = 256;

// A component is the high or the low part of a real part; the high ones come first.
template <int Parts>
class Walk : public GrayWalk<2 * Parts> {
  using Base = GrayWalk<2 * Parts>;

 public:
  using Base::Base;

  // Adds the 32 terms of a block.
  void add_block(Sums<Parts>& sums, bool negative) const {
    for (std::size_t v = 0; v < kVectors; ++v) {
      Extended<Vec, Parts> product[2];
      multiply(v, product);
      const bool odd = (std::popcount(v) & 1) != negative;
      for (std::size_t p = 0; p < Parts; ++p) {
        // A complement has an odd number of signs more or less.
        const DoubleDouble<Vec> pair = product[0].part[p] + -product[1].part[p];
        add_compensated(sums.high[p], sums.low[p], odd ? -pair.high : pair.high);
        sums.low[p] += odd ? -pair.low : pair.low;
        sums.magnitude += absolute(product[0].part[p].high) + absolute(product[1].part[p].high);
      }
    }
  }

 private:
  using Base::inner_, Base::n_, Base::outer_;
  static constexpr std::size_t kComponents = 2 * Parts;

  // Products of vector v of the patterns, with signs: the sums at plus, then at minus.
  void multiply(std::size_t v, Extended<Vec, Parts> (&product)[2]) const {
    for (auto& x : product) {
      x = {};
      x.part[0].high = Vec{} + 1.0;
    }
    for (std::size_t j = 0; j < n_; ++j) {
      Extended<Vec, Parts> plus, minus;
      for (std::size_t p = 0; p < Parts; ++p) {
        const std::size_t high = j * kComponents + p, low = high + Parts;
        const Vec a = inner_[high * kVectors + v], b = inner_[low * kVectors + v];
        plus.part[p] = two_sum(outer_[high] + a, outer_[low] + b);
        minus.part[p] = two_sum(outer_[high] - a, outer_[low] - b);
      }
      product[0].multiply(plus);
      product[1].multiply(minus);
    }
  }
};

template <int Parts>
std::vector<double> sum_blocks(const double* entries, std::size_t n, std::uint64_t first,
                               std::uint64_t last, const volatile std::uint8_t* stopped,
                               std::uint64_t& done) {
  Walk<Parts> walk(entries, n, first);
  Sums<Parts> sums;
  done = first;
  // Of the last of 2^64 blocks, `last` is 0.
  for (std::uint64_t left = last - first; left > 0 && !*stopped;) {
    const std::uint64_t poll_at = left - std::min(left, kBlocksBetweenPolls);
    while (left > poll_at) {
      walk.add_block(sums, done & 1);
      ++done;
      if (--left > 0) walk.advance(done);
    }
  }
  return sums.reduced();
}

auto glynn_extended(Cube entries, std::uint64_t first, std::uint64_t last, Stop stop) {
  const auto sum = entries.shape(0) == 4 ? &sum_blocks<2> : &sum_blocks<1>;
  return unlocked<double>({entries.shape(0) + 2}, [&](auto& result) {
    std::uint64_t done = 0;
    result = sum(entries.data(), entries.shape(1), first, last, stop.data(), done);
    return done == last;
  });
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def(
      "glynn_extended", &glynn_extended, nb::arg("entries"), nb::arg("first"), nb::arg("last"),
      nb::arg("stop"),
      "Sum the terms of blocks first to last-1 of entries[component][sign][factor], high "
      "parts before low ones, with double-double products: high and low parts and magnitude; "
      "also tells whether all were done.");
});

}  // namespace
}  // namespace hardscape::permanents
