// Words of clones: one bit each, as wide as the registers of this instruction-set level.
#pragma once

#include <cstdint>
#include <cstring>

#include "native/vector.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace hardscape::xorsat {

using Wide = std::uint64_t __attribute__((vector_size(kVectorBytes)));

template <class Word>
inline Word load(const std::uint32_t* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

template <class Word>
inline void store(std::uint32_t* to, Word word) {
  std::memcpy(to, &word, sizeof word);
}

// All bits of a word equal to the lowest bits of `mask`, which is 0 or ~0.
template <class Word>
inline Word spread(std::uint64_t mask) {
  if constexpr (sizeof(Word) == sizeof(std::uint32_t)) {
    return static_cast<Word>(mask);
  } else {
    return Word{} + mask;
  }
}

// Flips of a variable in three clauses: where two or three are violated, or one and the coin is up.
template <class Word>
inline Word flips_of_three(Word a, Word b, Word c, Word coin) {
  const Word some = a | b;
  return (a & b) | (c & (some | coin)) | (some & coin);
}

#if defined(__AVX512F__)
// Truth tables over a = 0xf0, b = 0xcc, c = 0xaa.
template <>
inline Wide flips_of_three<Wide>(Wide a, Wide b, Wide c, Wide coin) {
  const auto x = reinterpret_cast<__m512i>(a), y = reinterpret_cast<__m512i>(b);
  const auto z = reinterpret_cast<__m512i>(c), up = reinterpret_cast<__m512i>(coin);
  const __m512i two = _mm512_ternarylogic_epi64(x, y, z, 0xe8);
  const __m512i one = _mm512_ternarylogic_epi64(x, y, z, 0xfe);
  return reinterpret_cast<Wide>(_mm512_ternarylogic_epi64(two, one, up, 0xf8));
}
#endif

}  // namespace hardscape::xorsat
