// A state of many spins: bit i is set where spin i is up.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace hardscape::ising {

// As the integers of 64 and 128 bits that are codes elsewhere; 512 bits.
struct LongCode {
  static constexpr std::size_t kCount = 8;

  std::array<std::uint64_t, kCount> word{};  // least significant first

  static LongCode load(const std::uint64_t* words, std::size_t count) {
    LongCode code;
    std::copy(words, words + count, code.word.begin());
    return code;
  }

  bool at(std::int64_t bit) const { return word[bit / 64] >> (bit % 64) & 1; }
  void set(std::int64_t bit) { word[bit / 64] |= std::uint64_t{1} << (bit % 64); }

  LongCode operator~() const {
    LongCode flipped = *this;
    for (auto& one : flipped.word) one = ~one;
    return flipped;
  }

  bool operator==(const LongCode&) const = default;
  std::strong_ordering operator<=>(const LongCode& other) const {
    for (std::size_t i = kCount; i-- > 0;) {
      if (word[i] != other.word[i]) return word[i] <=> other.word[i];
    }
    return std::strong_ordering::equal;
  }
};

}  // namespace hardscape::ising
