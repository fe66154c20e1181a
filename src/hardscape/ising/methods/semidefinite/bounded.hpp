// A node whose bound a GPU finds, and what comes of it.
#pragma once

#include <cstdint>

namespace hardscape::ising {

struct Bounded {
  double target;          // of the pair energy, to be exceeded
  double scale;           // of the entries of W
  double unit, most;      // of the proof: certificate.hpp
  std::int32_t m;         // variables
  std::int32_t from, to;  // where its parent's dual is, and where its own is to be, or negative
  std::int32_t rounds;    // at most
  std::int32_t dogged;    // whether it goes on for as long as it gains anything
  std::int32_t bits;      // of a multiplier below 1 in the integers of M
  std::int32_t up;        // bit k: variable m + k of the parent's, now fixed, is up
  std::int32_t unused;
};

struct Bound {
  double energy;     // the bound, if the vectors had converged
  double rounded;    // pair energy of a state near the vectors
  std::int32_t cut;  // whether the target is proven to be exceeded
  std::int32_t rounds;
  std::uint32_t down[8];  // that state; bit j: variable j differs from variable 0
};

}  // namespace hardscape::ising
