// When a search ends, and when it leaves to others what it has not begun.
#pragma once

#include <chrono>
#include <cstdint>

namespace hardscape::ising {

// Values of the byte that a search looks at: end at once, or leave to others what is not begun.
constexpr std::uint8_t kStop = 1, kHandOver = 2;

constexpr std::int64_t kFar = std::int64_t{1} << 61;  // beyond any relative energy in fine units

using Clock = std::chrono::steady_clock;

// So many seconds from now; never, if they are very many.
inline Clock::time_point after(double seconds) {
  if (!(seconds < 1e9)) return Clock::time_point::max();
  return Clock::now() + std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * seconds));
}

}  // namespace hardscape::ising
