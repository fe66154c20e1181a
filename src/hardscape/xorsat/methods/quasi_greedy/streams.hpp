// Which random streams the quasi-greedy dynamics draws from; the same on host and device.
#pragma once

#include "native/random.hpp"

namespace hardscape::xorsat {

// Stream = word of 32 clones; number v / 2 holds the spins of variables v (low half) and v + 1.
inline constexpr std::uint64_t kSpins = 0x7370696e73;
// Stream = group of 1024 clones; number sweep * words + u / 8 holds in byte u % 8 the coin of
// update u.
inline constexpr std::uint64_t kCoins = 0x636f696e73;
// Stream = group of 1024 clones; the upper half of number sweep * updates + u goes on with update
// u's coin: 32 bits that are looked at only where a threshold has the coin's byte and more.
inline constexpr std::uint64_t kFine = 0x66696e65;
// Clones that share their coins.
inline constexpr int kGroup = 1024;

}  // namespace hardscape::xorsat
