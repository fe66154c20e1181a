// The focused random walk of walker.hpp on one thread: its state, and the best assignment met.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/methods/weighting/best.hpp"
#include "maxsat/walker.hpp"

namespace hardscape::maxsat {

// K literals a clause, or any number where K is 0; the other parameters are those of WalkState.
template <int K, class Literal, class Index, class Word, int Count>
class Walker {
 public:
  // What `formula` points to must outlive it. Makes room, unless stopped: not to be used then.
  Walker(const WalkFormula<Literal, Index>& formula, std::size_t clauses, const Poll& stopped)
      : formula_(formula),
        breaks_(std::size_t{formula.num_variables} + kSpareBreaks),
        value_(formula.num_variables),
        best_(formula.num_variables) {
    if (!extend(word_, clauses, stopped) || !extend(leaving_, most_occurrences(), stopped)) return;
    // Not set, and so no memory where it is never long.
    violated_ = std::make_unique_for_overwrite<Index[]>(clauses + 1);
    state_ = {word_.data(), breaks_.data(), value_.data(), violated_.get(), leaving_.data(), 0};
    complete_ = true;
  }

  // Where it is; to be followed by `begin` after a change.
  std::vector<std::uint8_t>& value() { return value_; }

  // Forgets what came before; false if stopped.
  bool begin(const Poll& stopped) {
    if (!complete_) return false;
    best_.set(value_);
    std::fill(breaks_.begin(), breaks_.end(), 0);
    state_.num_violated = 0;
    for (std::uint32_t c = 0; c < word_.size(); ++c) {
      if (stopped(c)) return false;
      place(c);
    }
    best_cost_ = state_.num_violated;
    return true;
  }

  // Walks until `target` clauses or fewer are violated, `flips` are done, or `stop` is set; returns
  // the flips done.
  std::uint64_t run(std::uint64_t flips, std::uint64_t target, RandomStream& stream,
                    const volatile std::uint8_t* stop) {
    // Copies that the compiler can hold in registers.
    const WalkFormula<Literal, Index> formula = formula_;
    State state = state_;
    RandomStream random = stream;
    std::uint64_t done = 0;
    bool reached = false;
    while (done < flips && !reached && !*stop) {
      const std::uint64_t until = flips - done < kPoll ? flips : done + kPoll;
      for (; done < until; ++done) {
        if (state.num_violated <= target || state.num_violated == 0) {
          reached = true;
          break;
        }
        best_.flipped(step<K>(formula, state, random));
        if (state.num_violated < best_cost_) {
          best_cost_ = state.num_violated;
          best_.improved(value_);
        }
      }
    }
    state_ = state;
    stream = random;
    return done;
  }

  std::uint64_t best_cost() const { return best_cost_; }
  std::uint64_t cost() const { return state_.num_violated; }
  const std::vector<std::uint8_t>& best() const { return best_.value(); }

 private:
  using State = WalkState<Index, Word, Count>;
  static constexpr std::uint64_t kPoll = 2048;  // flips between two looks at `stop`, some 0.1 ms

  // Of one literal.
  std::size_t most_occurrences() const {
    std::uint32_t most = 0;
    for (std::uint32_t l = 0; l < 2 * formula_.num_variables; ++l)
      most = std::max(most, formula_.first[l + 1] - formula_.first[l]);
    return most;
  }

  void place(std::uint32_t c) {
    Word word = 0;
    for (std::int32_t i = formula_.start[c]; i < formula_.start[c + 1]; ++i) {
      const std::uint32_t l = code_of(formula_.clause[i]);
      if (value_[l >> 1] != (l & 1)) word += State::kOne + (l >> 1);
    }
    if (word >> Count == 0) {
      word = state_.num_violated;
      violated_[state_.num_violated++] = static_cast<Index>(c);
    } else if (word >> Count == 1) {
      ++breaks_[word & State::kSum];
    }
    word_[c] = word;
  }

  WalkFormula<Literal, Index> formula_;
  std::vector<Word> word_;
  std::vector<std::uint32_t> breaks_;
  std::vector<std::uint8_t> value_;
  std::unique_ptr<Index[]> violated_;
  std::vector<std::uint32_t> leaving_;
  BestAssignment best_;
  State state_{};
  std::uint64_t best_cost_ = UINT64_MAX;
  bool complete_ = false;
};

}  // namespace hardscape::maxsat
