// CRC-32 of the polynomial that Ethernet, zlib and SciDAC's files have.
//
// On x86 with carry-less multiplication 64 bytes are folded at once: a piece that stands d bits
// before another one is the same, modulo the polynomial P, as its product with x^d mod P there (V.
// Gopal et al., "Fast CRC computation for generic polynomials using PCLMULQDQ instruction", Intel
// 2009). What is left of a message, 16 bytes, goes through tables, as all of it does on other
// machines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hardscape::gauge {

class Crc32 {
 public:
  Crc32() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    folds_ = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
#endif
  }

  std::uint32_t operator()(const std::uint8_t* data, std::size_t size) const {
#if defined(__x86_64__)
    if (folds_ && size >= 64) return folded(data, size);
#endif
    return ~by_tables(~0u, data, size);
  }

 private:
  static constexpr std::uint32_t kPolynomial = 0xedb88320;  // P without x^32, the lowest power last

  using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

  static constexpr Tables tables() {
    Tables made{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      std::uint32_t x = byte;
      for (int bit = 0; bit < 8; ++bit) x = (x >> 1) ^ (x & 1 ? kPolynomial : 0);
      made[0][byte] = x;
    }
    for (int ahead = 1; ahead < 8; ++ahead) {
      for (int byte = 0; byte < 256; ++byte) {
        const std::uint32_t x = made[ahead - 1][byte];
        made[ahead][byte] = (x >> 8) ^ made[0][x & 255];
      }
    }
    return made;
  }

  // Eight bytes at once, each through the table of those that follow it.
  static std::uint32_t by_tables(std::uint32_t state, const std::uint8_t* data, std::size_t size) {
    static constexpr Tables kTables = tables();
    for (; size >= 8; data += 8, size -= 8) {
      std::uint32_t next = 0;
      for (int i = 0; i < 4; ++i) {
        next ^= kTables[7 - i][(state >> 8 * i & 255) ^ data[i]] ^ kTables[3 - i][data[4 + i]];
      }
      state = next;
    }
    for (; size; ++data, --size) state = (state >> 8) ^ kTables[0][(state & 255) ^ *data];
    return state;
  }

#if defined(__x86_64__)
  // x^n mod P in 33 bits, the lowest power last; products of such numbers lack one bit, put in
  // here.
  static constexpr std::int64_t power(int n) {
    std::uint32_t x = 0x80000000;
    for (int i = 0; i < n; ++i) x = (x >> 1) ^ (x & 1 ? kPolynomial : 0);
    return static_cast<std::int64_t>(x) << 1;
  }

  // The number that stands `keys` bits before, moved to where `onto` stands.
  [[gnu::target("pclmul,sse4.1")]] static __m128i fold(__m128i x, __m128i keys, __m128i onto) {
    const __m128i low = _mm_clmulepi64_si128(x, keys, 0x00);
    return _mm_xor_si128(_mm_xor_si128(low, _mm_clmulepi64_si128(x, keys, 0x11)), onto);
  }

  [[gnu::target("pclmul,sse4.1")]] static __m128i load(const std::uint8_t* data) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
  }

  [[gnu::target("pclmul,sse4.1")]] static std::uint32_t folded(const std::uint8_t* data,
                                                               std::size_t size) {
    const __m128i by_four = _mm_set_epi64x(power(4 * 128 - 32), power(4 * 128 + 32));
    const __m128i by_one = _mm_set_epi64x(power(128 - 32), power(128 + 32));
    __m128i x[4];
    for (int i = 0; i < 4; ++i) x[i] = load(data + 16 * i);
    x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128(-1));
    for (data += 64, size -= 64; size >= 64; data += 64, size -= 64) {
      for (int i = 0; i < 4; ++i) x[i] = fold(x[i], by_four, load(data + 16 * i));
    }
    __m128i sum = x[0];
    for (int i = 1; i < 4; ++i) sum = fold(sum, by_one, x[i]);
    for (; size >= 16; data += 16, size -= 16) sum = fold(sum, by_one, load(data));
    std::uint8_t left[16];
    std::memcpy(left, &sum, sizeof left);
    return ~by_tables(by_tables(0, left, sizeof left), data, size);
  }

  bool folds_ = false;
#endif
};

}  // namespace hardscape::gauge
