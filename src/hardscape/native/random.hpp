// Random numbers as a pure function of (seed, stream, purpose, counter): SplitMix64's output
// function (Steele, Lea, Flood, OOPSLA 2014) over a Weyl sequence whose start is a hash of the key.
// Integers only, so that host and device agree, and so do any number of workers.
#pragma once

#include <cstdint>

#include "native/device.hpp"

namespace hardscape {

HS_HD inline std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

class RandomStream {
 public:
  HS_HD RandomStream(std::uint64_t seed, std::uint64_t stream, std::uint64_t purpose)
      : state_(mix64(mix64(mix64(seed + kGolden) + stream + kGolden) + purpose + kGolden)) {}

  // Goes on where a stream of that state stopped, so many numbers later.
  HS_HD static RandomStream resume_after(std::uint64_t state, std::uint64_t numbers) {
    return RandomStream(state + numbers * kGolden);
  }
  HS_HD std::uint64_t state() const { return state_; }

  HS_HD std::uint64_t next() { return mix64(state_ += kGolden); }

  // The number that call `index` of next() on a fresh stream returns, counted from 0.
  HS_HD std::uint64_t at(std::uint64_t index) const {
    return mix64(state_ + (index + 1) * kGolden);
  }

  // Uniform in [0, 1), 53 bits.
  HS_HD double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  HS_HD explicit RandomStream(std::uint64_t state) : state_(state) {}

  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ull;
  std::uint64_t state_;
};

}  // namespace hardscape
