// What clause-weighting walks on CUDA read, and what they keep: see weighing.cu.
//
// Constants of the kernel: `kWide` where literals take 32 bits, and not 16, and what of a walk is
// in shared memory: the bits of its variables where `kBitsNear`, and its scores where `kNear`.
#pragma once

#include "maxsat/methods/islands/weighing/weighing.hpp"

namespace {

using hardscape::maxsat::WeighingStatus;
using hardscape::maxsat::WeighingTemper;

using uint64 = std::uint64_t;
using uint32 = std::uint32_t;

template <bool wide>
struct LiteralOf {
  using Type = unsigned short;
};
template <>
struct LiteralOf<true> {
  using Type = uint32;
};

constexpr unsigned kEveryone = 0xffffffffu;
constexpr uint32 kNobody = 0xffffffffu;

// An occurrence: a clause, from the first bit on where it begins, and from the second one on its
// length, or `kLong`.
constexpr int kBegins = 28, kLength = 58;
constexpr uint32 kLong = 63;

}  // namespace

// Hard clauses come first.
struct WeighingTables {
  const uint64* occurrence;                        // literal by literal
  const uint32* first;                             // occurrence of each literal
  const uint32* start;                             // literal of each clause
  const typename LiteralOf<kWide>::Type* literal;  // clause by clause
  const int* unit;                                 // first search weight of each clause
  const uint64* cost;                              // of each clause
  const WeighingTemper* tempers;
  uint32 variables, clauses;
  uint32 num_hard, num_tempers;
  uint32 most;     // search weight of a hard clause
  uint32 lasting;  // one walk in so many keeps the last temper, none if 0
};

// What walks keep in global memory, each a part of its own.
struct WeighingArrays {
  uint32* truths;       // bits of the variables
  uint32* best_truths;  // of the best assignment
  uint32* goods;        // bits of the variables of positive score, where they are not near
  int* weights;         // of the clauses
  int* scores;          // of the variables
  uint32* ages;         // of the variables: the step of the last flip
  uint32* lists;        // violated clauses: hard ones, and from `num_hard` on soft ones
  uint32* places;       // of each clause in its list
  WeighingStatus* statuses;
};
