// The focused random walk as local search of one individual ("memetic").
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "maxsat/best.hpp"
#include "maxsat/methods/cellular/clause_table.hpp"
#include "maxsat/walker.hpp"

namespace hardscape::maxsat {

// Clauses as the walk reads them.
class WalkClauses {
 public:
  WalkClauses(const ClauseTable& table, const std::uint32_t* break_weights)
      : start_(table.start.begin(), table.start.end()),
        first_(table.occurs_from.begin(), table.occurs_from.end()),
        weight_(break_weights, break_weights + kBreakWeights),
        formula_{table.literal.data(), start_.data(),  table.occurs.data(),
                 first_.data(),        weight_.data(), static_cast<std::uint32_t>(table.variables)},
        clauses_(table.size()) {
    three_ = 3ull * formula_.num_variables < 1u << 28 && clauses_ < 1u << 28;
    for (std::size_t c = 0; c < clauses_; ++c) three_ = three_ && start_[c + 1] - start_[c] == 3;
  }

  const WalkFormula<std::uint32_t>& formula() const { return formula_; }
  std::size_t size() const { return clauses_; }
  bool three() const { return three_; }

 private:
  std::vector<std::uint32_t> start_, first_, weight_;
  WalkFormula<std::uint32_t> formula_;
  std::size_t clauses_;
  bool three_;  // whether all clauses have three literals, and numbers fit the smaller words
};

// K literals a clause, or any number where K is 0; the other two are those of WalkState.
template <int K, class Word, int Count>
class WalkClimber {
 public:
  explicit WalkClimber(const WalkClauses& clauses)
      : clauses_(clauses),
        word_(clauses.size()),
        breaks_(std::size_t{clauses.formula().num_variables} + kSpareBreaks),
        value_(clauses.formula().num_variables),
        violated_(clauses.size() + 1),
        leaving_(clauses.size()),
        best_(clauses.formula().num_variables),
        state_{word_.data(), breaks_.data(), value_.data(), violated_.data(), leaving_.data(), 0} {}

  // Walks from an assignment of 64 variables a word; the best one met replaces it. Returns the
  // number of clauses that it violates. What is there when it is stopped is not to be used.
  std::uint32_t walk(std::uint64_t* words, std::int64_t flips, RandomStream random,
                     const volatile std::uint8_t* stop) {
    if (!start(words, Poll(stop))) return 0;
    std::uint32_t least = state_.num_violated;
    for (std::int64_t flip = 0; flip < flips && state_.num_violated && !*stop; ++flip) {
      best_.flipped(step<K>(clauses_.formula(), state_, random));
      if (state_.num_violated < least) {
        least = state_.num_violated;
        best_.improved(value_);
      }
    }
    const std::vector<std::uint8_t>& best = best_.value();
    std::fill_n(words, (best.size() + 63) / 64, 0);
    for (std::size_t v = 0; v < best.size(); ++v) {
      words[v / 64] |= static_cast<std::uint64_t>(best[v]) << (v % 64);
    }
    return least;
  }

 private:
  using State = WalkState<std::uint32_t, Word, Count>;

  bool start(const std::uint64_t* words, const Poll& stopped) {
    const WalkFormula<std::uint32_t>& formula = clauses_.formula();
    for (std::size_t v = 0; v < value_.size(); ++v) value_[v] = words[v / 64] >> (v % 64) & 1;
    best_.set(value_);
    std::fill(breaks_.begin(), breaks_.end(), 0);
    state_.num_violated = 0;
    for (std::size_t c = 0; c < clauses_.size(); ++c) {
      if (stopped(c)) return false;
      Word word = 0;
      for (std::uint32_t i = formula.start[c]; i < formula.start[c + 1]; ++i) {
        const std::uint32_t l = formula.clause[i];
        if (value_[l >> 1] != (l & 1)) word += State::kOne + (l >> 1);
      }
      if (word >> Count == 0) {
        word = state_.num_violated;
        violated_[state_.num_violated++] = static_cast<std::uint32_t>(c);
      } else if (word >> Count == 1) {
        ++breaks_[word & State::kSum];
      }
      word_[c] = word;
    }
    return true;
  }

  const WalkClauses& clauses_;
  std::vector<Word> word_;
  std::vector<std::uint32_t> breaks_;
  std::vector<std::uint8_t> value_;
  std::vector<std::uint32_t> violated_, leaving_;
  BestAssignment best_;
  State state_;
};

}  // namespace hardscape::maxsat
