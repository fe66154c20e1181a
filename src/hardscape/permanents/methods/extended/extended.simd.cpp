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

#include "native/arrays.hpp"
#include "permanents/numbers/lanes.hpp"

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

constexpr std::size_t kInner = 5;
constexpr std::size_t kPatterns = std::size_t{1} << (kInner - 1);  // their complements apart
constexpr std::size_t kVectors = kPatterns / kLanes;
constexpr std::uint64_t kBlocksBetweenPolls = 256;

// Matrix and place on the Gray code. A component is the high or the low part of a real part.
template <int Parts>
class Walk {
 public:
  static constexpr std::size_t kComponents = 2 * Parts;

  // entries: [component][sign][factor], the high components first.
  Walk(const double* entries, std::size_t n, std::uint64_t position)
      : n_(n),
        outer_(n * kComponents),
        flip_(n * n * kComponents),
        inner_(n * kComponents * kVectors) {
    const std::uint64_t gray = position ^ position >> 1;
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t c = 0; c < kComponents; ++c) {
        const auto entry = [&](std::size_t i) { return entries[(c * n + i) * n + j]; };
        double sum = entry(0);
        for (std::size_t i = kInner + 1; i < n; ++i) {
          sum += gray >> (i - kInner - 1) & 1 ? -entry(i) : entry(i);
          flip_[(i * n + j) * kComponents + c] = 2 * entry(i);
        }
        outer_[j * kComponents + c] = sum;
        for (std::size_t x = 0; x < kPatterns; ++x) {
          double inner = entry(kInner);
          for (std::size_t i = 1; i < kInner; ++i) {
            inner += x >> (i - 1) & 1 ? -entry(i) : entry(i);
          }
          inner_[(j * kComponents + c) * kVectors + x / kLanes][x % kLanes] = inner;
        }
      }
    }
  }

  void advance(std::uint64_t position) {
    const auto bit = static_cast<std::size_t>(std::countr_zero(position));
    const double sign = (position ^ position >> 1) >> bit & 1 ? -1.0 : 1.0;
    const double* __restrict flip = &flip_[(kInner + 1 + bit) * n_ * kComponents];
    for (std::size_t j = 0; j < n_ * kComponents; ++j) outer_[j] += sign * flip[j];
  }

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

 private:
  std::size_t n_;
  std::vector<double> outer_;  // [factor][component]
  std::vector<double> flip_;   // [sign][factor][component], twice the entries
  std::vector<Vec> inner_;     // [factor][component][pattern]
};

template <int Parts>
struct ExtendedSums {
  Vec high[Parts] = {}, low[Parts] = {}, magnitude = {};

  // Adds the 32 terms of a block. The sign of a pattern's lane waits for `reduced`.
  void add_block(const Walk<Parts>& walk, bool negative) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      Extended<Vec, Parts> product[2];
      walk.multiply(v, product);
      const bool odd = (std::popcount(v) & 1) != negative;
      for (std::size_t p = 0; p < Parts; ++p) {
        // A complement has an odd number of signs more or less.
        const DoubleDouble<Vec> pair = product[0].part[p] + -product[1].part[p];
        add_compensated(high[p], low[p], odd ? -pair.high : pair.high);
        low[p] += odd ? -pair.low : pair.low;
        magnitude += absolute(product[0].part[p].high) + absolute(product[1].part[p].high);
      }
    }
  }

  // High parts, low parts and magnitude over all lanes.
  std::vector<double> reduced() const {
    std::vector<double> result(2 * Parts + 1);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double sign = std::popcount(lane) & 1 ? -1.0 : 1.0;
      for (std::size_t p = 0; p < Parts; ++p) {
        add_compensated(result[p], result[Parts + p], sign * high[p][lane]);
        result[Parts + p] += sign * low[p][lane];
      }
      result[2 * Parts] += magnitude[lane];
    }
    return result;
  }
};

template <int Parts>
std::vector<double> sum_blocks(const double* entries, std::size_t n, std::uint64_t first,
                               std::uint64_t last, const volatile std::uint8_t* stopped,
                               std::uint64_t& done) {
  Walk<Parts> walk(entries, n, first);
  ExtendedSums<Parts> sums;
  done = first;
  while (done < last && !*stopped) {
    const std::uint64_t poll_at = std::min(last, done + kBlocksBetweenPolls);
    while (done < poll_at) {
      sums.add_block(walk, done & 1);
      if (++done < last) walk.advance(done);
    }
  }
  return sums.reduced();
}

using Entries = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

auto glynn_extended(Entries entries, std::uint64_t first, std::uint64_t last,
                    Vector<std::uint8_t> stop) {
  const auto sum = entries.shape(0) == 4 ? &sum_blocks<2> : &sum_blocks<1>;
  std::uint64_t done = 0;
  std::vector<double> result;
  {
    nb::gil_scoped_release release;
    result = sum(entries.data(), entries.shape(1), first, last, stop.data(), done);
  }
  const std::size_t size = result.size();
  return std::make_tuple(to_numpy(std::move(result), {size}), done == last);
}

}  // namespace

void bind_extended(nb::module_& module) {
  module.def(
      "glynn_extended", &glynn_extended, nb::arg("entries"), nb::arg("first"), nb::arg("last"),
      nb::arg("stop"),
      "Sum the terms of blocks first to last-1 of entries[component][sign][factor], high "
      "parts before low ones, with double-double products: high and low parts and magnitude; "
      "also tells whether all were done.");
}

}  // namespace hardscape::permanents
