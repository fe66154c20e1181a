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

#include "ising/methods/exhaustive/board.hpp"
#include "native/wide.hpp"

namespace hardscape::ising {

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

  // Each state has a partner of the same energy and a higher code than all that are offered.
  void pair() { paired_ = true; }

  // Others that search the same model, and what they have found.
  void join(Board<Limbs, Code> board) {
    board_ = board;
    if (!board_) return;
    if (board_.version() == 0) board_.tell({}, wanted_, paired_, window_);
    hear();
  }

  // Looks for news of others, and has some for them now and then.
  void look() {
    if (!board_) return;
    if (board_.version() != heard_) hear();
    if (told_ < candidates_.size() && ++looked_ % kLooks == 0) tell();
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
    if (window_) narrow({energy + *window_, ~Code{0}});
    candidates_.push_back(candidate);
    if (candidates_.size() >= capacity_) compact();
  }

  // Keeps the lowest and tightens the threshold to the last of them.
  void compact() {
    const bool told = tell();
    if (limit_) {
      std::erase_if(candidates_, [&](const auto& c) { return limit_->energy < c.energy; });
    }
    if (candidates_.size() > wanted_) {
      const auto cut = candidates_.begin() + static_cast<std::ptrdiff_t>(wanted_);
      std::nth_element(candidates_.begin(), cut, candidates_.end());
      candidates_.resize(wanted_);
    }
    if (auto last = last_of(candidates_, wanted_, paired_)) {
      const auto listed = last_of(candidates_, listed_, paired_);
      // The others are not told of that: who runs again what one did that is lost has to find the
      // witness.
      if (listed && listed->energy == last->energy) last = listed;
      narrow(*last);
    }
    told_ = told ? candidates_.size() : 0;
    if (window_) capacity_ = std::min(2 * candidates_.size(), 2 * wanted_) + kSpare;
  }

  std::vector<Candidate<Limbs, Code>> take_sorted() {
    compact();
    std::sort(candidates_.begin(), candidates_.end());
    return std::move(candidates_);
  }

 private:
  static constexpr std::size_t kSpare = 4096;
  static constexpr unsigned kLooks = 256;  // between two times that there is news for others

  void narrow(const Candidate<Limbs, Code>& limit) {
    if (!limit_ || limit < *limit_) {
      limit_ = limit;
      ++version_;
    }
  }

  void hear() {
    if (const auto limit = board_.hear(heard_)) narrow(*limit);
  }

  // Whether the others have all that there is.
  bool tell() {
    const auto from = candidates_.begin() + static_cast<std::ptrdiff_t>(told_);
    if (!board_ || from == candidates_.end()) return true;
    if (!board_.tell({from, candidates_.end()}, wanted_, paired_, window_)) return false;
    told_ = candidates_.size();
    hear();
    return true;
  }

  std::size_t listed_, wanted_;
  bool paired_ = false;
  std::optional<Integer> window_;
  std::size_t capacity_;
  std::optional<Candidate<Limbs, Code>> limit_;
  std::vector<Candidate<Limbs, Code>> candidates_;
  std::uint64_t version_ = 0;
  Board<Limbs, Code> board_;
  std::size_t told_ = 0;  // candidates that the board has
  std::uint64_t heard_ = 0;
  unsigned looked_ = 0;
};

}  // namespace hardscape::ising
