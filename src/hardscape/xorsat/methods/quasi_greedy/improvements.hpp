// The best clones as time goes by, whatever the order in which they are heard of.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <vector>

namespace hardscape::xorsat {

// A clone worth noting: how many clauses it violates (no fewer than asked for), since which sweep.
struct Finding {
  std::uint32_t worth = ~0u;
  std::uint32_t sweep = ~0u;
  std::uint64_t clone = ~0ull;

  auto operator<=>(const Finding&) const = default;
};

// The findings that were better than all of the same and earlier sweeps; in order of sweeps.
class Improvements {
 public:
  // Takes a finding in; returns whether none before it, of any sweep, violates so few clauses.
  bool add(const Finding& found) {
    const bool fewest = found.worth < best().worth;
    const auto before = [](const Finding& a, const Finding& b) {
      return a.sweep < b.sweep || (a.sweep == b.sweep && a < b);
    };
    auto at = std::lower_bound(steps_.begin(), steps_.end(), found, before);
    if (at != steps_.begin() && (at - 1)->worth <= found.worth) return false;
    const auto worse = [&](const Finding& later) { return later.worth < found.worth; };
    at = steps_.erase(at, std::find_if(at, steps_.end(), worse));
    steps_.insert(at, found);
    return fewest;
  }

  // Fewest violated clauses, then earliest sweep, then lowest clone.
  Finding best() const { return steps_.empty() ? Finding{} : steps_.back(); }

  const std::vector<Finding>& steps() const { return steps_; }

 private:
  std::vector<Finding> steps_;
};

}  // namespace hardscape::xorsat
