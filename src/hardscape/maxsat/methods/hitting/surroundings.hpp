// The best of the assignments that differ from a given one around one wish alone (large
// neighbourhood search: Shaw, CP 1998): all other variables keep their values, and those around it
// are tried by branch and bound, wish after wish, the dear ones first. How many are around grows
// where all was tried, and shrinks where that took too long.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/methods/hitting/propagation.hpp"
#include "maxsat/methods/hitting/wishes.hpp"

namespace hardscape::maxsat {

class Surroundings {
 public:
  Surroundings(const Instance& instance, Propagation& propagation, const Wishes& wishes)
      : instance_(instance), propagation_(propagation), wishes_(wishes) {}

  // Whether an assignment of the propagation's variables is `found` under which the wish holds and
  // that costs no more than `value`, which satisfies the hard clauses and, of the wishes, those
  // that are `satisfied`. Begins and ends at level 0; `shift` is a random number below its
  // argument.
  template <class Shift>
  bool search(std::uint32_t wish, const std::vector<std::uint8_t>& value,
              const std::vector<std::uint8_t>& satisfied, const Shift& shift,
              std::vector<std::uint8_t>& found) {
    gather(wishes_.clause[wish], shift);
    looked_ += 1 + (value.size() + wishes_.size()) / kLooks;
    const bool open = keep_others(value) && propagation_.open(wishes_.literal[wish]);
    bool better = false;
    if (open) {
      within_.clear();
      allowed_ = 0;
      for (const std::uint32_t w : wishes_.by_price) {
        if (!propagation_.open(wishes_.literal[w])) continue;
        within_.push_back(w);
        if (!satisfied[w]) allowed_ += wishes_.price[w];
      }
      propagation_.decide(wishes_.literal[wish]);
      better = branch(value, found);
    }
    propagation_.back(0);
    if (open && !tried_all_)
      most_ = std::max(kLeast, most_ - most_ / 6);
    else
      most_ = std::min<std::size_t>(most_ + most_ / 5, value.size());
    return better;
  }

  // Looks at wishes and variables, in literals assigned.
  std::uint64_t looked() const { return looked_; }

 private:
  static constexpr std::uint32_t kNone = Propagation::kNone;
  static constexpr std::size_t kFirst = 80, kLeast = 8, kNodes = 200;
  static constexpr std::uint64_t kLooks = 32;  // in the time of an assignment

  struct Branch {
    std::uint32_t literal;
    bool other;  // whether its negation is tried
  };

  // Variables by the clauses that they share, from those of one clause on.
  template <class Shift>
  void gather(std::uint32_t clause, const Shift& shift) {
    inside_.resize(instance_.num_variables);
    for (const std::uint32_t v : around_) inside_[v] = 0;
    around_.clear();
    add(clause);
    for (std::size_t i = 0; i < around_.size() && around_.size() < most_; ++i) {
      const std::uint32_t from = instance_.first[2 * around_[i]];
      const std::uint32_t count = instance_.first[2 * around_[i] + 2] - from;
      const std::uint32_t first = shift(count);
      for (std::uint32_t k = 0; k < count && around_.size() < most_; ++k)
        add(instance_.occurrence[from + (first + k) % count]);
    }
  }

  void add(std::uint32_t clause) {
    for (const std::int32_t x : instance_.literals(clause)) {
      const std::uint32_t v = Clauses::variable(x);
      if (inside_[v] || around_.size() >= most_) continue;
      inside_[v] = 1;
      around_.push_back(v);
    }
  }

  // Gives all other variables their values.
  bool keep_others(const std::vector<std::uint8_t>& value) {
    for (std::uint32_t v = 0; v < value.size(); ++v) {
      if (inside_[v] || propagation_.value(v) != Propagation::kOpen) continue;
      propagation_.decide(2 * v + !value[v]);
      if (propagation_.propagate() != kNone) return false;
    }
    return true;
  }

  bool branch(const std::vector<std::uint8_t>& value, std::vector<std::uint8_t>& found) {
    const std::uint32_t ground = propagation_.level();
    bool better = false;
    branches_.clear();
    tried_all_ = false;
    for (std::size_t node = 0; node < kNodes; ++node) {
      std::uint32_t next = kNone;
      const bool possible = propagation_.propagate() == kNone && choose(value, next);
      if (possible && next != kNone) {
        branches_.push_back({next, false});
        propagation_.decide(next);
        continue;
      }
      if (possible) {
        found.resize(value.size());
        for (std::uint32_t v = 0; v < value.size(); ++v) found[v] = propagation_.value(v);
        better = true;
        if (cost_ == 0) return true;
        allowed_ = cost_ - 1;
      }
      while (!branches_.empty() && branches_.back().other) branches_.pop_back();
      tried_all_ = branches_.empty();
      if (tried_all_) return better;
      branches_.back().other = true;
      propagation_.back(ground + static_cast<std::uint32_t>(branches_.size()) - 1);
      propagation_.decide(branches_.back().literal ^ 1);
    }
    return better;
  }

  // A literal that is open, if there is one; false where what fails by now costs too much.
  bool choose(const std::vector<std::uint8_t>& value, std::uint32_t& next) {
    looked_ += 1 + within_.size() / kLooks;
    cost_ = 0;
    for (const std::uint32_t w : within_) {
      const std::uint32_t l = wishes_.literal[w];
      if (propagation_.fails(l))
        cost_ += wishes_.price[w];
      else if (next == kNone && propagation_.open(l))
        next = l;
    }
    if (cost_ > allowed_) return false;
    for (std::size_t i = 0; i < around_.size() && next == kNone; ++i)
      if (propagation_.value(around_[i]) == Propagation::kOpen)
        next = 2 * around_[i] + !value[around_[i]];
    return true;
  }

  const Instance& instance_;
  Propagation& propagation_;
  const Wishes& wishes_;
  std::vector<std::uint32_t> around_, within_;  // variables, and wishes that they decide
  std::vector<std::uint8_t> inside_;            // whether a variable is around
  std::vector<Branch> branches_;
  std::size_t most_ = kFirst;  // variables
  std::uint64_t looked_ = 0;
  unsigned __int128 cost_ = 0, allowed_ = 0;
  bool tried_all_ = false;
};

}  // namespace hardscape::maxsat
