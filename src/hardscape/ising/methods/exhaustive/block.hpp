// The 16-bit filter over one block: the 2^14 states that share all spins but the 14 low ones.
//
// The low spins are split in A (8 spins, index x) and B (6 spins, index b). In units of the filter,
//   E(x, b) = t[x] + D[b][x] + e[b],
// where D, the cross terms, are constants of the instance, and t and e hold the fields of the
// block. D changes sign when all spins of B flip, so one load serves b and its complement.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hardscape::ising {

inline constexpr int kSpinsA = 8, kSpinsB = 6, kLow = kSpinsA + kSpinsB;
inline constexpr int kStatesA = 1 << kSpinsA, kStatesB = 1 << kSpinsB;

#if defined(__AVX512BW__)
inline constexpr int kLanes = 32;
#elif defined(__AVX2__)
inline constexpr int kLanes = 16;
#else
inline constexpr int kLanes = 8;
#endif
inline constexpr int kVectors = kStatesA / kLanes;
inline constexpr int kTile = 8;  // accumulators that stay in registers

using Shorts = std::int16_t __attribute__((vector_size(2 * kLanes)));
using Words = std::int32_t __attribute__((vector_size(2 * kLanes)));
using Fields = std::int32_t __attribute__((vector_size(64)));  // 16 lanes, one a low spin

// Keeps the compiler from loading a value again for each of its two uses: loads are the bottleneck.
inline Shorts in_register(Shorts a) {
#if defined(__x86_64__)
  asm("" : "+v"(a));
#endif
  return a;
}

inline Shorts lower(Shorts a, Shorts b) { return a < b ? a : b; }

// +1 for an even, -1 for an odd bit: spin of bit i in index x, as everywhere in this family.
inline constexpr int spin(std::uint64_t x, int i) { return (x >> i) & 1 ? -1 : 1; }

struct BlockTables {
  alignas(64) std::int16_t cross[kStatesB / 2][kStatesA];  // D[b][x] for b below its complement
  alignas(64) std::int16_t pairs_a[kStatesA];              // couplings inside A
  alignas(64) std::int32_t pairs_b[kStatesB];              // couplings inside B
};

struct BlockValues {
  alignas(64) std::int16_t t[kStatesA];
  alignas(64) std::int32_t e[kStatesB];       // twice in a word, for a broadcast of 32 bits
  alignas(64) std::int16_t lowest[kStatesA];  // min over b of E(x, b)

  std::int16_t at(const BlockTables& tables, int x, int b) const {
    const int complement = kStatesB - 1 - b;
    const int cross = b < complement ? tables.cross[b][x] : -tables.cross[complement][x];
    return static_cast<std::int16_t>(t[x] + cross + static_cast<std::int16_t>(e[b]));
  }
};

// Sets t and e from the fields of the low spins, already in units of the filter.
inline void block_fields(const BlockTables& tables, const std::int16_t* field, BlockValues& out) {
  Shorts t[kVectors];
  t[0] = Shorts{};
  int bit = 0;
  for (int i = 1; i < kLanes; i *= 2, ++bit) {
    Shorts sign;
    for (int lane = 0; lane < kLanes; ++lane)
      sign[lane] = static_cast<std::int16_t>(spin(lane, bit));
    t[0] += sign * field[bit];
  }
  for (int filled = 1; filled < kVectors; filled *= 2, ++bit) {
    for (int v = 0; v < filled; ++v) {
      t[v + filled] = t[v] - field[bit];
      t[v] += field[bit];
    }
  }
  const auto* pairs = reinterpret_cast<const Shorts*>(tables.pairs_a);
  auto* stored = reinterpret_cast<Shorts*>(out.t);
  for (int v = 0; v < kVectors; ++v) stored[v] = t[v] + pairs[v];

  Fields e[kStatesB / 16];
  e[0] = Fields{};
  for (int i = 0; i < 4; ++i) {
    Fields sign;
    for (int lane = 0; lane < 16; ++lane) sign[lane] = spin(lane, i);
    e[0] += sign * static_cast<std::int32_t>(field[kSpinsA + i]);
  }
  bit = kSpinsA + 4;
  for (int filled = 1; filled < kStatesB / 16; filled *= 2, ++bit) {
    const std::int32_t f = field[bit];
    for (int v = 0; v < filled; ++v) {
      e[v + filled] = e[v] - f;
      e[v] += f;
    }
  }
  const auto* pairs_b = reinterpret_cast<const Fields*>(tables.pairs_b);
  auto* stored_e = reinterpret_cast<Fields*>(out.e);
  for (int v = 0; v < kStatesB / 16; ++v) {
    const Fields sum = e[v] + pairs_b[v];
    stored_e[v] = (sum & 0xffff) | (sum << 16);
  }
}

// Fills out.lowest and returns the least of it.
inline std::int16_t block_minimum(const BlockTables& tables, BlockValues& out) {
  Shorts least = Shorts{} + std::int16_t{32767};
  for (int tile = 0; tile < kVectors; tile += kTile) {
    Shorts best[kTile];
    for (int v = 0; v < kTile; ++v) best[v] = Shorts{} + std::int16_t{32767};
    for (int b = 0; b < kStatesB / 2; ++b) {
      const auto e = reinterpret_cast<Shorts>(Words{} + out.e[b]);
      const auto complement = reinterpret_cast<Shorts>(Words{} + out.e[kStatesB - 1 - b]);
      const auto* cross = reinterpret_cast<const Shorts*>(tables.cross[b]) + tile;
      for (int v = 0; v < kTile; ++v) {
        const Shorts d = in_register(cross[v]);
        best[v] = lower(best[v], d + e);
        best[v] = lower(best[v], complement - d);
      }
    }
    const auto* t = reinterpret_cast<const Shorts*>(out.t) + tile;
    auto* lowest = reinterpret_cast<Shorts*>(out.lowest) + tile;
    for (int v = 0; v < kTile; ++v) {
      lowest[v] = best[v] + t[v];
      least = lower(least, lowest[v]);
    }
  }
  std::int16_t result = 32767;
  for (int lane = 0; lane < kLanes; ++lane) result = std::min<std::int16_t>(result, least[lane]);
  return result;
}

}  // namespace hardscape::ising
