// Arithmetic modulo a prime, by Montgomery's products.
#pragma once

#include <cstdint>

namespace hardscape::permanents {

// Integers modulo an odd p < 2^62. A product of a, b < 2 p comes divided by 2^64 and is below 2 p
// again (P. L. Montgomery, Math. Comp. 44, 519 (1985)).
struct Residues {
  std::uint64_t p, inverse;  // inverse = -1 / p modulo 2^64

  explicit Residues(std::uint64_t modulus) : p(modulus), inverse(modulus) {
    // p is its own inverse modulo 8; each step doubles the bits.
    for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - p * inverse;
    inverse = -inverse;
  }

  std::uint64_t add(std::uint64_t a, std::uint64_t b) const {
    const std::uint64_t sum = a + b;
    return sum >= p ? sum - p : sum;
  }
  std::uint64_t subtract(std::uint64_t a, std::uint64_t b) const {
    return a >= b ? a - b : a + p - b;
  }
  std::uint64_t multiply(std::uint64_t a, std::uint64_t b) const {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    const std::uint64_t quotient = static_cast<std::uint64_t>(product) * inverse;
    return static_cast<std::uint64_t>((product + static_cast<unsigned __int128>(quotient) * p) >>
                                      64);
  }
};

}  // namespace hardscape::permanents
