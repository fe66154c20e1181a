// The rules of a focused random walk that flips several variables at once, the same on every
// device.
//
// A step draws four numbers. Up to four violated clauses, each drawn by the low half of a number,
// name a literal each, drawn by the high half with the weight of its break count before the step; a
// clause that holds a literal named before it names none. Then all literals named become true.
// Clauses that hold one of them leave the list of violated clauses, and the others move up. Clauses
// that lost all their true literals join it: in rounds, in each so many occurrences of literal
// after literal, and those that lost two of them where the first one named stands.
#pragma once

#include <cstdint>

#include "native/random.hpp"

namespace hardscape::maxsat {

// Most flips of a step, which are as many numbers as it draws.
constexpr std::uint32_t kMostAtOnce = 4;
// Violated clauses for each flip of a step: with fewer, flips would be in each other's way.
constexpr std::uint32_t kViolatedEach = 2;
// Occurrences of all literals that are looked at in a round, in equal shares.
constexpr std::uint32_t kRound = 32;

HS_HD inline std::uint32_t flips_at_once(std::uint32_t violated) {
  return violated >= 4 * kViolatedEach ? 4 : violated >= 2 * kViolatedEach ? 2 : 1;
}

// How the tables hold literals, occurrences, and rows of occurrences.
constexpr std::uint32_t kLiteral = 0x7fff;  // literals are 15-bit numbers
constexpr int kFirst = 18;                  // bits of the place of a first occurrence
constexpr std::uint32_t kPlace = (1u << kFirst) - 1;

}  // namespace hardscape::maxsat
