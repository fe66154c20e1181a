// What searches with weights on clauses have in common.
#pragma once

#include <cstdint>
#include <vector>

namespace hardscape::maxsat {

// A cost that any sum of weights fits.
struct WideCost {
  std::uint64_t hard = 0;  // violated hard clauses
  unsigned __int128 soft = 0;
  bool operator<(const WideCost& other) const {
    return hard != other.hard ? hard < other.hard : soft < other.soft;
  }
};

// A set of clauses or variables that gives any of them in constant time.
class Pool {
 public:
  explicit Pool(std::vector<std::uint32_t>& place) : place_(place) {}
  void clear() { items_.clear(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(items_.size()); }
  std::uint32_t operator[](std::uint32_t i) const { return items_[i]; }
  void add(std::uint32_t item) {
    place_[item] = size();
    items_.push_back(item);
  }
  void remove(std::uint32_t item) {
    const std::uint32_t last = items_.back(), at = place_[item];
    items_[at] = last;
    place_[last] = at;
    items_.pop_back();
  }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<std::uint32_t> items_;
  std::vector<std::uint32_t>& place_;
};

}  // namespace hardscape::maxsat
