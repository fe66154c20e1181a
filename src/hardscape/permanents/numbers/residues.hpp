// Arithmetic modulo a prime, by Montgomery's products, for host and device.
#pragma once

#include <cstdint>

#include "native/device.hpp"

namespace hardscape::permanents {

// Integers modulo an odd p < 2^62. A product of a, b < 2 p comes divided by 2^64 and is below 2 p
// again (P. L. Montgomery, Math. Comp. 44, 519 (1985)).
struct Residues {
  std::uint64_t p, inverse;  // inverse = -1 / p modulo 2^64

  HS_HD explicit Residues(std::uint64_t modulus) : p(modulus), inverse(modulus) {
    // p is its own inverse modulo 8; each step doubles the bits.
    for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - p * inverse;
    inverse = -inverse;
  }

  HS_HD std::uint64_t add(std::uint64_t a, std::uint64_t b) const {
    const std::uint64_t sum = a + b;
    return sum >= p ? sum - p : sum;
  }
  HS_HD std::uint64_t subtract(std::uint64_t a, std::uint64_t b) const {
    return a >= b ? a - b : a + p - b;
  }
  HS_HD std::uint64_t multiply(std::uint64_t a, std::uint64_t b) const {
#if defined(__CUDA_ARCH__)
    const std::uint64_t low = a * b, quotient = low * inverse;
    // The low halves of both products add up to 0 or to 2^64.
    return __umul64hi(a, b) + __umul64hi(quotient, p) + (low != 0);
#else
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    const std::uint64_t quotient = static_cast<std::uint64_t>(product) * inverse;
    return static_cast<std::uint64_t>((product + static_cast<unsigned __int128>(quotient) * p) >>
                                      64);
#endif
  }
};

}  // namespace hardscape::permanents
