// Lengths of runs between restarts.
#pragma once

#include <cstdint>

namespace hardscape::maxsat {

// The i-th term, from 1, of 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ... (Luby, Sinclair, Zuckerman 1993).
inline std::uint64_t luby(std::uint64_t i) {
  for (;;) {
    const int bits = 64 - __builtin_clzll(i);
    if (i == (std::uint64_t{1} << bits) - 1) return std::uint64_t{1} << (bits - 1);
    i -= (std::uint64_t{1} << (bits - 1)) - 1;
  }
}

}  // namespace hardscape::maxsat
