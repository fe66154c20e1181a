// The best assignment of a search, kept at the price of one store a flip: the flips since it was
// met are a trail, and only when that is longer than copying takes is the whole assignment copied.
#pragma once

#include <cstdint>
#include <vector>

namespace hardscape::maxsat {

class BestAssignment {
 public:
  explicit BestAssignment(std::size_t variables)
      : trail_(variables / kCopied + 1), value_(variables) {}

  // Takes over a whole assignment.
  void set(const std::vector<std::uint8_t>& value) {
    value_ = value;
    length_ = 0;
  }

  void flipped(std::uint32_t variable) {
    if (length_ < trail_.size()) trail_[length_++] = variable;
  }

  // The search goes on from another assignment: the trail is lost.
  void wander() { length_ = trail_.size(); }

  // The search is at the best assignment again.
  void returned() { length_ = 0; }

  // The assignment reached now is the best; `value` is that assignment.
  void improved(const std::vector<std::uint8_t>& value) {
    if (length_ == trail_.size())
      value_ = value;
    else
      for (std::size_t i = 0; i < length_; ++i) value_[trail_[i]] ^= 1;
    length_ = 0;
  }

  const std::vector<std::uint8_t>& value() const { return value_; }

 private:
  static constexpr std::size_t kCopied = 8;  // values copied in the time of a flip, about

  std::vector<std::uint32_t> trail_;
  std::vector<std::uint8_t> value_;
  std::size_t length_ = 0;
};

}  // namespace hardscape::maxsat
