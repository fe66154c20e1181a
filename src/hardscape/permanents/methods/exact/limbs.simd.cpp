// Exact permanents of small integers: Glynn's sum modulo 2^(31 L), L limbs of 31 bits in vector
// lanes.
//
// Products of column sums that fit 31 bits multiply a number of limbs, one term a 64-bit lane. The
// number has as many limbs as its bound needs so far, the uppermost one signed; once it would have
// more than L, all limbs are taken modulo 2^31 and what leaves the uppermost one is dropped.
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#if defined(__SSE4_1__)
#include <immintrin.h>
#endif

#include "permanents/kernel.hpp"
#include "permanents/methods/exact/exact.hpp"

namespace hardscape::permanents {
namespace {

constexpr int kLimbBits = 31, kMaxLimbs = 18;
typedef std::int32_t Shorts __attribute__((vector_size(kVectorBytes), may_alias));
typedef std::int64_t Longs __attribute__((vector_size(kVectorBytes)));
typedef std::uint64_t Bits __attribute__((vector_size(kVectorBytes)));
constexpr std::size_t kShorts = kVectorBytes / sizeof(std::int32_t);
constexpr std::int64_t kMask = (std::int64_t{1} << kLimbBits) - 1;

// What follows a column: more of its product, or the product is multiplied to the number, which
// then fits the limbs that it has, takes one more, or is cut.
enum End : std::uint8_t { kMore = 0, kFits = 1, kGrows = 2, kCut = 3 };

// The products of the lower halves of the lanes, as signed numbers.
inline Longs multiply_low(Longs x, Longs y) {
#if defined(__AVX512F__)
  return (Longs)_mm512_mul_epi32((__m512i)x, (__m512i)y);
#elif defined(__AVX2__)
  return (Longs)_mm256_mul_epi32((__m256i)x, (__m256i)y);
#elif defined(__SSE4_1__)
  return (Longs)_mm_mul_epi32((__m128i)x, (__m128i)y);
#else
  return (x << 32 >> 32) * (y << 32 >> 32);
#endif
}

// Shifts numbers of magnitude 2^62 at most, with their signs.
inline Longs shifted(Longs x) {
#if defined(__AVX512F__)
  return x >> kLimbBits;
#else
  // Older levels have no such shift of 64 bits.
  constexpr std::int64_t kOffset = std::int64_t{1} << 62;
  return (Longs)((Bits)(x + kOffset) >> kLimbBits) - (kOffset >> kLimbBits);
#endif
}

struct Columns {
  const Sums<std::int32_t, Integers<std::int32_t>>& sums;
  const std::uint8_t* ends;
  std::size_t vector;  // of the patterns

  // The next product that fits 31 bits; `column` goes behind it.
  Shorts product(std::size_t& column) const {
    Shorts result = load(column);
    while (ends[column] == kMore) result *= load(++column);
    ++column;
    return result;
  }

 private:
  Shorts load(std::size_t j) const {
    return reinterpret_cast<const Shorts*>(sums.inner[j].value)[vector] + sums.outer[j];
  }
};

// The terms of the even and of the odd lanes of a vector of Shorts.
struct Terms {
  Longs limb[2][kMaxLimbs];

  void start(Shorts factor) {
    const Longs both = (Longs)factor;
    limb[0][0] = (Longs)((Bits)both << 32) >> 32;
    limb[1][0] = both >> 32;
  }

  // Multiplies with the products of columns from `column` on and adds the numbers to `totals`; Used
  // limbs are set. Each number of limbs has its own loop, which holds them in registers.
  template <int Used = 1>
  [[gnu::always_inline]] void multiply(const Columns& columns, std::size_t column, std::size_t n,
                                       Longs* totals) {
    while (column < n) {
      const Longs even = (Longs)columns.product(column);
      const Longs factor[2] = {even, (Longs)((Bits)even >> 32)};
      const std::uint8_t end = columns.ends[column - 1];
      Longs carry[2] = {};
#pragma GCC unroll 18
      for (int i = 0; i < Used - 1; ++i) {
#pragma GCC unroll 2
        for (int h = 0; h < 2; ++h) {
          const Longs t = multiply_low(limb[h][i], factor[h]) + carry[h];
          limb[h][i] = t & kMask;
          carry[h] = shifted(t);
        }
      }
      Longs top[2];
#pragma GCC unroll 2
      for (int h = 0; h < 2; ++h) {
        top[h] = multiply_low(limb[h][Used - 1], factor[h]) + carry[h];
        limb[h][Used - 1] = end == kFits ? top[h] : top[h] & kMask;
      }
      if constexpr (Used < kMaxLimbs) {
        if (end == kGrows) {
          limb[0][Used] = shifted(top[0]);
          limb[1][Used] = shifted(top[1]);
          return multiply<Used + 1>(columns, column, n, totals);
        }
      }
    }
#pragma GCC unroll 18
    for (int i = 0; i < Used; ++i) totals[i] += limb[0][i] + limb[1][i];
  }
};

// Adds value * 2^bit modulo 2^(64 words).
void add_shifted(std::vector<std::uint64_t>& words, std::int64_t value, int bit) {
  const __int128 moved = static_cast<__int128>(value) << bit % 64;
  const std::uint64_t sign = value < 0 ? ~std::uint64_t{0} : 0;
  const std::uint64_t parts[2] = {static_cast<std::uint64_t>(moved),
                                  static_cast<std::uint64_t>(moved >> 64)};
  unsigned __int128 carry = 0;
  for (std::size_t first = bit / 64, i = first; i < words.size(); ++i) {
    carry += words[i];
    carry += i - first < 2 ? parts[i - first] : sign;
    words[i] = static_cast<std::uint64_t>(carry);
    carry >>= 64;
  }
}

bool sum_limbs(const std::int32_t* matrix, std::size_t n, const std::uint8_t* ends,
               std::uint64_t first, std::uint64_t last, const volatile std::uint8_t* stopped,
               std::vector<std::uint64_t>& words) {
  Patterns<std::int32_t> signs;
  for (std::size_t x = 0; x < kPatterns; ++x) signs.value[x] = std::popcount(x) & 1 ? -1 : 0;
  std::array<Longs, kMaxLimbs> totals{};
  const auto flush = [&] {
    for (int i = 0; i < kMaxLimbs; ++i) {
      std::int64_t sum = 0;
      for (std::size_t lane = 0; lane < kVectorBytes / 8; ++lane) sum += totals[i][lane];
      add_shifted(words, sum, kLimbBits * i);
      totals[i] = Longs{};
    }
  };
  Sums<std::int32_t, Integers<std::int32_t>> sums(matrix, n, first, {});
  const bool done = walk(first, last, stopped, [&](std::uint64_t position) {
    if (position != first) sums.advance(position);
    const std::int32_t negative = sums.negative() ? -1 : 0;
    for (std::size_t v = 0; v < kPatterns / kShorts; ++v) {
      const Columns columns{sums, ends, v};
      const Shorts sign = reinterpret_cast<const Shorts*>(signs.value)[v] ^ negative;
      std::size_t column = 0;
      const Shorts factor = columns.product(column);
      Terms terms;
      terms.start((factor ^ sign) - sign);
      terms.multiply(columns, column, n, totals.data());
    }
    // A lane has grown by less than 2^31 times 16 in each block.
    if ((position - first) % kBlocksBetweenPolls == 0) flush();
  });
  flush();
  return done;
}

auto exact_glynn_limbs(Matrix<std::int32_t> matrix, Vector<std::uint8_t> ends, int limbs,
                       std::uint64_t first, std::uint64_t last, Stop stop) {
  if (limbs < 2 || limbs > kMaxLimbs || limbs % 2) {
    throw std::invalid_argument(std::to_string(limbs) + " limbs are not compiled in");
  }
  const std::size_t size = (kLimbBits * limbs + 63) / 64;
  return unlocked<std::uint64_t>({size}, [&](auto& words) {
    return sum_limbs(matrix.data(), matrix.shape(0), ends.data(), first, last, stop.data(), words);
  });
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def("exact_glynn_limbs", &exact_glynn_limbs, nb::arg("matrix"), nb::arg("ends"),
             nb::arg("limbs"), nb::arg("first"), nb::arg("last"), nb::arg("stop"),
             "Glynn's sum over blocks first to last-1 modulo 2^(31 limbs), in words of 64 bits.");
});

}  // namespace
}  // namespace hardscape::permanents
