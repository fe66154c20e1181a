// Blocks of 32 terms of Glynn's formula in floating point, and their sums over the lanes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "permanents/numbers/lanes.hpp"

namespace hardscape::permanents {
namespace {

constexpr std::size_t kInner = 5;
// A pattern x and its complement have sums u + a(x) and u - a(x): half of them are tabulated.
constexpr std::size_t kPatterns = std::size_t{1} << (kInner - 1);
constexpr std::size_t kVectors = kPatterns / kLanes;

// Signs of the patterns: -1 where bit i - 1 is set.
struct Signs {
  Vec of[kInner][kVectors];

  Signs() {
    for (std::size_t i = 0; i < kInner; ++i) {
      for (std::size_t x = 0; x < kPatterns; ++x) {
        of[i][x / kLanes][x % kLanes] = 2 * x >> i & 1 ? -1.0 : 1.0;
      }
    }
  }
};

const Signs kSigns;

// The matrix as kernels read it, and the place on the Gray code.
template <std::size_t Components>
class GrayWalk {
 public:
  // entries: [component][sign][factor].
  GrayWalk(const double* entries, std::size_t n, std::uint64_t position)
      : n_(n),
        outer_(n * Components),
        flip_(n * n * Components),
        inner_(n * Components * kVectors) {
    const std::uint64_t gray = position ^ position >> 1;
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t c = 0; c < Components; ++c) {
        const auto entry = [&](std::size_t i) { return entries[(c * n + i) * n + j]; };
        double sum = entry(0);
        for (std::size_t i = kInner + 1; i < n; ++i) {
          sum += gray >> (i - kInner - 1) & 1 ? -entry(i) : entry(i);
          flip_[(i * n + j) * Components + c] = 2 * entry(i);
        }
        outer_[j * Components + c] = sum;
        for (std::size_t v = 0; v < kVectors; ++v) {
          Vec inner = Vec{} + entry(kInner);
          for (std::size_t i = 1; i < kInner; ++i) inner += kSigns.of[i][v] * entry(i);
          inner_[(j * Components + c) * kVectors + v] = inner;
        }
      }
    }
  }

  // Goes to the block at `position` from the one before it.
  void advance(std::uint64_t position) { step(position, outer_.data()); }

 protected:
  // The column sums of the block at `position`, from those of the one before it.
  void step(std::uint64_t position, double* __restrict result) const {
    const auto bit = static_cast<std::size_t>(std::countr_zero(position));
    const std::uint64_t gray = position ^ position >> 1;
    const double sign = gray >> bit & 1 ? -1.0 : 1.0;
    const double* __restrict flip = &flip_[(kInner + 1 + bit) * n_ * Components];
    const double* outer = outer_.data();
    for (std::size_t j = 0; j < n_ * Components; ++j) result[j] = outer[j] + sign * flip[j];
  }

  std::size_t n_;
  std::vector<double> outer_;  // [factor][component]
  std::vector<double> flip_;   // [sign][factor][component], twice the entries
  std::vector<Vec> inner_;     // [factor][component][pattern]
};

// The sign of a pattern's lane waits for `reduced`.
template <std::size_t Parts>
struct Sums {
  Vec high[Parts] = {}, low[Parts] = {}, magnitude = {}, excess = {};

  // Over the lanes: high of each part, low of each part, magnitude, excess.
  std::vector<double> reduced() const {
    std::vector<double> result(2 * Parts + 2);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double sign = std::popcount(lane) & 1 ? -1.0 : 1.0;
      for (std::size_t p = 0; p < Parts; ++p) {
        add_compensated(result[p], result[Parts + p], sign * high[p][lane]);
        result[Parts + p] += sign * low[p][lane];
      }
      result[2 * Parts] += magnitude[lane];
      result[2 * Parts + 1] += excess[lane];
    }
    return result;
  }
};

}  // namespace
}  // namespace hardscape::permanents
