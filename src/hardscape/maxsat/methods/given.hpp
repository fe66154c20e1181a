// What every search that is compiled is given.
#pragma once

#include <cstdint>

#include "maxsat/instance.hpp"

namespace hardscape::maxsat {

// The formula, with the weight of each clause and whether it is hard, outlives the search; values
// to begin with, if there are any, and `stopped`, upon which a search makes no more room, do not.
struct Given {
  const Instance& instance;
  const std::int64_t* weight;
  const std::uint8_t* hard;
  std::uint64_t seed, stream;
  const std::uint8_t* initial;
  const Poll& stopped;
};

}  // namespace hardscape::maxsat
