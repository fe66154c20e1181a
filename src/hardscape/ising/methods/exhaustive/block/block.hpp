// The 16-bit filter over one block: the 2^14 states that share all spins but the 14 low ones.
//
// The low spins are split in A (8 spins, index x) and B (6 spins, index b). In units of the filter,
//   E(x, b) = t[x] + D[b][x] + e[b],
// where D, the cross terms, are constants of the instance, and t and e hold the fields of the
// block. D changes sign when all spins of B flip, so one load serves b and its complement.
#pragma once

#include <cstdint>

namespace hardscape::ising {

inline constexpr int kSpinsA = 8, kSpinsB = 6, kLow = kSpinsA + kSpinsB;
inline constexpr int kStatesA = 1 << kSpinsA, kStatesB = 1 << kSpinsB;

using Fields = std::int32_t __attribute__((vector_size(64)));  // 16 lanes, one a low spin

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

// The least of all states, and that of each x, from the fields of the low spins in units of
// 2^-shift of the filter's. Compiled for each instruction-set level.
std::int16_t block_minimum(const BlockTables& tables, const Fields& low_field, int shift,
                           BlockValues& out);

}  // namespace hardscape::ising
