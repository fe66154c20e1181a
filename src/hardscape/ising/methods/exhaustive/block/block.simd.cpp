// The filter over one block, in the widest vectors.
#include "ising/methods/exhaustive/block/block.hpp"

#include <algorithm>
#include <cstdint>

namespace hardscape::ising {
namespace {

#if defined(__AVX512BW__)
constexpr int kLanes = 32;
#elif defined(__AVX2__)
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif
constexpr int kVectors = kStatesA / kLanes;
constexpr int kTile = 8;  // accumulators that stay in registers

using Shorts = std::int16_t __attribute__((vector_size(2 * kLanes)));
using Words = std::int32_t __attribute__((vector_size(2 * kLanes)));
// Keeps the compiler from loading a value again for each of its two uses: loads are the bottleneck.
Shorts in_register(Shorts a) {
#if defined(__x86_64__)
  asm("" : "+v"(a));
#endif
  return a;
}

Shorts lower(Shorts a, Shorts b) { return a < b ? a : b; }

// Sets t and e from the fields of the low spins, already in units of the filter.
void block_fields(const BlockTables& tables, const std::int16_t* field, BlockValues& out) {
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
std::int16_t block_minimum(const BlockTables& tables, BlockValues& out) {
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

}  // namespace

std::int16_t block_minimum(const BlockTables& tables, const Fields& low_field, int shift,
                           BlockValues& out) {
  alignas(64) std::int16_t field[16];
  const Fields half = Fields{} + (shift ? 1 << (shift - 1) : 0);
  const Fields scaled = (low_field + half) >> shift;
  for (int i = 0; i < kLow; ++i) field[i] = static_cast<std::int16_t>(scaled[i]);
  block_fields(tables, field, out);
  return block_minimum(tables, out);
}

}  // namespace hardscape::ising
