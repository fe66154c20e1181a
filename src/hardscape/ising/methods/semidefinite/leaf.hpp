// Few spins, searched one after the other: under Russian-doll floors, in doubles that hold
// integers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

namespace hardscape::ising {

constexpr int kLeafSpins = 24;

using LeafFields = std::array<double, kLeafSpins>;

// Calls back for each state of n spins whose energy, of integers below 2^53 in sum, is at most a
// limit: this one, and after each call what it returns. Bit p of a state is set where spin p is
// down. Compiled for each instruction-set level.
void search_spins(int n, const LeafFields& fields,
                  const std::array<LeafFields, kLeafSpins>& couplings, double limit,
                  const std::function<double(std::uint32_t)>& found);

}  // namespace hardscape::ising
