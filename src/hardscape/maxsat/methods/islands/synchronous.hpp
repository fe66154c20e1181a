// The rules of a focused random walk that flips several variables at once, the same on every
// device.
//
// A step draws as many numbers as it may flip variables. The list of violated clauses is cut into
// as many equal parts as it flips variables; of each part, a clause drawn by the low half of a
// number names a literal, drawn by the high half with the weight of its break count before the
// step. A clause that holds a literal which the clause of an earlier part names is silent. Then all
// literals become true that the others name. Clauses that hold one of them leave the list, and the
// others move up. Clauses that lost all their true literals join it, as a literal lost and the
// others in cyclic order: in rounds, in each so many occurrences of literal after literal, and
// those that lost several with the lowest one.
#pragma once

#include <cstdint>

#include "native/random.hpp"

namespace hardscape::maxsat {

// Most flips of a step, which are as many numbers as it draws.
constexpr std::uint32_t kMostAtOnce = 8;
// Violated clauses for each flip of a step.
constexpr std::uint32_t kViolatedEach = 1;
// Occurrences of all literals that are looked at in a round, in equal shares.
constexpr std::uint32_t kRound = 32;

// Whether so many violated clauses allow so many flips of a step.
HS_HD inline bool allows(std::uint32_t flips, std::uint32_t violated) {
  return violated >= flips * kViolatedEach;
}

HS_HD inline std::uint32_t flips_at_once(std::uint32_t violated) {
  return allows(8, violated) ? 8 : allows(4, violated) ? 4 : allows(2, violated) ? 2 : 1;
}
static_assert(kMostAtOnce == 8);

// Place in the list of the clause that part `q` of `most` draws.
HS_HD inline std::uint32_t place_drawn(std::uint32_t q, std::uint32_t most, std::uint32_t violated,
                                       std::uint32_t picked) {
  return (q * violated + picked) / most;
}

// How the tables hold literals, occurrences, and rows of occurrences.
constexpr std::uint32_t kLiteral = 0x7fff;  // literals are 15-bit numbers
constexpr int kFirst = 18;                  // bits of the place of a first occurrence
constexpr std::uint32_t kPlace = (1u << kFirst) - 1;

}  // namespace hardscape::maxsat
