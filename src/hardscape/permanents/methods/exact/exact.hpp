// What exact Glynn sums share: blocks of 32 terms that have the signs of all rows but five in
// common.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "native/vector.hpp"

namespace hardscape::permanents {

// Each instruction-set level has its own: nothing here may be merged by the linker.
namespace {

constexpr std::size_t kInner = 5;
constexpr std::size_t kPatterns = std::size_t{1} << kInner;
constexpr std::uint64_t kBlocksBetweenPolls = 1024;

template <class T>
struct alignas(64) Patterns {
  T value[kPatterns];
};

template <class T>
struct Integers {
  T add(T a, T b) const { return a + b; }
  T subtract(T a, T b) const { return a - b; }
};

// The signed column sums of all patterns of a block: outer[j] + inner[j].value[x]. Row 0 has sign
// +, rows 1 to 5 the bits of x, the others a Gray code.
template <class T, class Ring>
class Sums {
 public:
  Sums(const T* matrix, std::size_t n, std::uint64_t position, const Ring& ring)
      : outer(n), inner(n), matrix_(matrix), ring_(ring), gray_(position ^ position >> 1) {
    for (std::size_t j = 0; j < n; ++j) {
      outer[j] = matrix[j];
      for (std::size_t i = kInner + 1; i < n; ++i) {
        outer[j] = signed_sum(outer[j], matrix[i * n + j], gray_ >> (i - kInner - 1) & 1);
      }
      for (std::size_t x = 0; x < kPatterns; ++x) {
        T sum = 0;
        for (std::size_t i = 0; i < kInner; ++i) {
          sum = signed_sum(sum, matrix[(i + 1) * n + j], x >> i & 1);
        }
        inner[j].value[x] = sum;
      }
    }
  }

  // Goes to the block at `position` from the one before it.
  void advance(std::uint64_t position) {
    const auto bit = static_cast<std::size_t>(std::countr_zero(position));
    gray_ ^= std::uint64_t{1} << bit;
    const bool minus = gray_ >> bit & 1;
    const std::size_t n = outer.size();
    const T* row = matrix_ + (bit + kInner + 1) * n;
    for (std::size_t j = 0; j < n; ++j) {
      outer[j] = signed_sum(signed_sum(outer[j], row[j], minus), row[j], minus);
    }
  }

  bool negative() const { return std::popcount(gray_) & 1; }

  std::vector<T> outer;
  std::vector<Patterns<T>> inner;

 private:
  T signed_sum(T sum, T term, bool minus) const {
    return minus ? ring_.subtract(sum, term) : ring_.add(sum, term);
  }

  const T* matrix_;
  Ring ring_;
  std::uint64_t gray_;
};

// Calls step(position) for blocks first to last-1 until stopped; tells whether all were done.
template <class Step>
bool walk(std::uint64_t first, std::uint64_t last, const volatile std::uint8_t* stopped,
          Step&& step) {
  for (std::uint64_t position = first; position < last; ++position) {
    if ((position - first) % kBlocksBetweenPolls == 0 && *stopped) return false;
    step(position);
  }
  return true;
}

}  // namespace
}  // namespace hardscape::permanents
