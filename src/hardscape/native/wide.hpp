// Two's complement integers of a fixed number of 64-bit words, least significant first.
#pragma once

#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hardscape {

template <int Limbs>
struct Wide {
  std::uint64_t word[Limbs];

  static Wide zero() { return Wide{}; }

  static Wide load(const std::uint64_t* words) {
    Wide x;
    std::memcpy(x.word, words, sizeof x.word);
    return x;
  }

  void store(std::uint64_t* words) const { std::memcpy(words, word, sizeof word); }

  bool negative() const { return static_cast<std::int64_t>(word[Limbs - 1]) < 0; }

  Wide& operator+=(const Wide& other) {
    if constexpr (Limbs == 1) {
      word[0] += other.word[0];
    } else {
      unsigned __int128 carry = 0;
      for (int i = 0; i < Limbs; ++i) {
        carry += static_cast<unsigned __int128>(word[i]) + other.word[i];
        word[i] = static_cast<std::uint64_t>(carry);
        carry >>= 64;
      }
    }
    return *this;
  }

  Wide operator-() const {
    Wide x;
    unsigned __int128 carry = 1;
    for (int i = 0; i < Limbs; ++i) {
      carry += static_cast<std::uint64_t>(~word[i]);
      x.word[i] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    return x;
  }

  Wide& operator-=(const Wide& other) { return *this += -other; }
  friend Wide operator+(Wide a, const Wide& b) { return a += b; }
  friend Wide operator-(Wide a, const Wide& b) { return a -= b; }

  // `this` or its negative.
  Wide flipped(bool minus) const { return minus ? -*this : *this; }

  bool operator==(const Wide& other) const = default;

  std::strong_ordering operator<=>(const Wide& other) const {
    const auto top = static_cast<std::int64_t>(word[Limbs - 1]);
    const auto other_top = static_cast<std::int64_t>(other.word[Limbs - 1]);
    if (top != other_top) return top <=> other_top;
    for (int i = Limbs - 2; i >= 0; --i) {
      if (word[i] != other.word[i]) return word[i] <=> other.word[i];
    }
    return std::strong_ordering::equal;
  }

  // floor(this / 2^shift), clamped to [-limit, limit]; shift >= 0.
  std::int64_t shifted(int shift, std::int64_t limit) const {
    const std::uint64_t fill = negative() ? ~std::uint64_t{0} : 0;
    const int skip = shift / 64;
    const int bits = shift % 64;
    const auto at = [&](int i) { return i < Limbs ? word[i] : fill; };
    std::uint64_t low = at(skip) >> bits;
    if (bits) low |= at(skip + 1) << (64 - bits);
    // Everything above the low word must repeat its sign, or the value is out of range.
    bool fits = static_cast<std::int64_t>(low) < 0 ? fill != 0 : fill == 0;
    for (int i = skip + 1; fits && i <= Limbs; ++i) {
      std::uint64_t high = at(i) >> bits;
      if (bits) high |= at(i + 1) << (64 - bits);
      fits = high == fill;
    }
    if (!fits) return negative() ? -limit : limit;
    const auto value = static_cast<std::int64_t>(low);
    return value > limit ? limit : value < -limit ? -limit : value;
  }

  // this * 2^exponent rounded to nearest, ties to even. The caller keeps the exponent at or above
  // -1074, so that a rounded result is never subnormal and there is no second rounding.
  double to_double(int exponent) const {
    const bool minus = negative();
    const Wide magnitude = flipped(minus);
    int top = Limbs - 1;
    while (top > 0 && magnitude.word[top] == 0) --top;
    if (magnitude.word[top] == 0) return 0.0;
    std::uint64_t head = magnitude.word[top];
    int power = 64 * top;
    if (top > 0) {
      const int lead = __builtin_clzll(head);
      std::uint64_t rest = magnitude.word[top - 1];
      if (lead) {
        head = head << lead | rest >> (64 - lead);
        rest <<= lead;
        power -= lead;
      }
      bool sticky = rest != 0;
      for (int i = top - 2; i >= 0; --i) sticky |= magnitude.word[i] != 0;
      head |= sticky ? 1 : 0;  // 64 significant bits: the last one is well below the rounding bit
    }
    const double value = std::ldexp(static_cast<double>(head), power + exponent);
    return minus ? -value : value;
  }
};

}  // namespace hardscape
