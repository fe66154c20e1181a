// The lowest states seen so far: at most `listed` of them, all within `window` of the lowest. With
// a `witness`, one state more, which tells whether the last one's energy has others: once it has,
// states of that energy are wanted for smaller codes alone. A state is an integer of 64 or 128
// bits, its code.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "native/wide.hpp"

namespace hardscape::ising {

template <int Limbs, class Code>
struct Candidate {
  Wide<Limbs> energy;
  Code state;

  // The documented order of the spectrum: energy, then the state read as an integer.
  bool operator<(const Candidate& other) const {
    if (energy != other.energy) return energy < other.energy;
    return state < other.state;
  }
};

template <int Limbs, class Code>
class Pool {
 public:
  using Integer = Wide<Limbs>;

  Pool(std::size_t listed, bool witness, std::optional<Integer> window,
       std::optional<Integer> threshold)
      : listed_(listed),
        wanted_(listed + witness),
        window_(window),
        capacity_(2 * wanted_ + kSpare) {
    if (threshold) limit_ = Candidate<Limbs, Code>{*threshold, ~Code{0}};
    if (window_) capacity_ = std::max(capacity_ / 2, kSpare) + kSpare;
  }

  bool bounded() const { return limit_.has_value(); }
  // No state above this energy can belong to the answer. Only when bounded().
  const Integer& threshold() const { return limit_->energy; }
  // Largest state that is wanted at the threshold. Only when bounded().
  Code last_tie() const { return limit_->state; }
  // Whether nothing with at least this energy and this code is wanted. Only when bounded().
  bool excludes(const Integer& energy, Code state) const {
    return *limit_ < Candidate<Limbs, Code>{energy, state};
  }
  // Grows by one with each tightening, so that loops see when to look again.
  std::uint64_t version() const { return version_; }

  void offer(const Integer& energy, Code state) {
    const Candidate<Limbs, Code> candidate{energy, state};
    if (limit_ && *limit_ < candidate) return;
    if (window_) narrow(energy);
    candidates_.push_back(candidate);
    if (candidates_.size() >= capacity_) compact();
  }

  // Keeps the lowest and tightens the threshold to the last of them.
  void compact() {
    if (window_) {
      std::erase_if(candidates_, [&](const auto& c) { return limit_->energy < c.energy; });
    }
    if (candidates_.size() > wanted_) {
      const auto cut = candidates_.begin() + static_cast<std::ptrdiff_t>(wanted_ - 1);
      std::nth_element(candidates_.begin(), cut, candidates_.end());
      candidates_.resize(wanted_);
    }
    if (candidates_.size() == wanted_) {
      const auto highest = std::max_element(candidates_.begin(), candidates_.end());
      std::iter_swap(highest, candidates_.end() - 1);
      const auto listed = candidates_.begin() + static_cast<std::ptrdiff_t>(listed_);
      const auto last = std::max_element(candidates_.begin(), listed);
      const auto& limit = last->energy == candidates_.back().energy ? *last : candidates_.back();
      if (!limit_ || limit < *limit_) {
        limit_ = limit;
        ++version_;
      }
    }
    if (window_) capacity_ = std::min(2 * candidates_.size(), 2 * wanted_) + kSpare;
  }

  std::vector<Candidate<Limbs, Code>> take_sorted() {
    compact();
    std::sort(candidates_.begin(), candidates_.end());
    return std::move(candidates_);
  }

 private:
  static constexpr std::size_t kSpare = 4096;

  void narrow(const Integer& energy) {
    const Candidate<Limbs, Code> candidate{energy + *window_, ~Code{0}};
    if (!limit_ || candidate < *limit_) {
      limit_ = candidate;
      ++version_;
    }
  }

  std::size_t listed_, wanted_;
  std::optional<Integer> window_;
  std::size_t capacity_;
  std::optional<Candidate<Limbs, Code>> limit_;
  std::vector<Candidate<Limbs, Code>> candidates_;
  std::uint64_t version_ = 0;
};

}  // namespace hardscape::ising
