// Survey propagation and decimation (Braunstein, Mezard, Zecchina, 2005), of random formulas whose
// clauses count alike. A clause's survey of a variable says how likely the clause is to need it:
// how likely all its other variables are to be held at the wrong value by their other clauses.
// Where the surveys stand still, the variables that they say most about are set, with what follows
// by unit propagation, and what is left is surveyed again, until the surveys say nothing: the rest
// is as it was. What contradicts itself on the way stays violated; a walk goes on from there.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/methods/given.hpp"
#include "maxsat/methods/weighting/pool.hpp"
#include "maxsat/walker.hpp"
#include "native/random.hpp"

namespace hardscape::maxsat {

constexpr std::uint64_t kSurveysPurpose = 0x6d787376;

class Surveys {
 public:
  // Makes room, unless stopped.
  explicit Surveys(const Given& given)
      : instance_(given.instance),
        weight_(given.weight),
        hard_(given.hard),
        random_(given.seed, given.stream, kSurveysPurpose),
        shares_(instance_.longest) {
    const std::size_t n = instance_.num_variables, m = instance_.num_clauses;
    const auto room = [&](auto& values, std::size_t count) {
      return extend(values, count, given.stopped);
    };
    complete_ = instance_.complete && room(open_, m) && room(open_literals_, m) &&
                room(survey_, m == 0 ? 0 : instance_.start[m]) && room(none_, 2 * n) &&
                room(value_, n) && room(set_, n);
    if (!complete_) return;
    for (std::size_t v = 0; v < n; ++v)
      value_[v] =
          given.initial ? given.initial[v] : static_cast<std::uint8_t>(random_.next() >> 63);
    for (std::uint32_t c = 0; c < m; ++c) {
      open_[c] = c;
      open_literals_[c] = instance_.length(c);
    }
    for (double& survey : survey_) survey = random_.uniform();
  }

  // False where the constructor was stopped: not to be used.
  bool complete() const { return complete_; }

  // Takes what is better than all that it would find.
  void adopt(const std::uint8_t* value, const volatile std::uint8_t*) {
    value_.assign(value, value + value_.size());
    end();
  }

  // Works on for as long as `flips` of a walk would take, or until `stop`; what comes after its end
  // counts as done.
  std::uint64_t run(std::uint64_t flips, unsigned __int128, const volatile std::uint8_t* stop) {
    std::uint64_t done = std::min(flips, ahead_);
    ahead_ -= done;
    while (!over_ && done < flips && !*stop) {
      done += 1 + sweep() / kUpdates;
      if (moved_ > kStill && ++sweeps_ < kSweeps) continue;
      sweeps_ = 0;
      decide();
    }
    if (over_) return flips;
    ahead_ += done - std::min(done, flips);
    return std::min(done, flips);
  }

  // Nothing is evaluated before the end.
  const WideCost& best_cost() const { return cost_; }
  const std::vector<std::uint8_t>& best() const { return value_; }

 private:
  // Surveys in the time of a flip, and clauses of a block; how far one moves that stands still;
  // sweeps before variables are set all the same.
  static constexpr std::uint64_t kUpdates = 9;
  static constexpr std::size_t kBlock = 64;
  static constexpr double kStill = 0.01;
  static constexpr std::uint32_t kSweeps = 30;
  // Variables that are set at once, one of so many; and how much surveys say, in the mean, that say
  // nothing.
  static constexpr std::uint32_t kPart = 25;
  static constexpr double kNothing = 0.002;
  static constexpr double kMost = 1 - 1e-9;  // of a survey, so that none is divided by zero
  static constexpr std::uint32_t kSatisfied = UINT32_MAX;

  bool is_set(std::int32_t literal) const { return set_[Clauses::variable(literal)]; }

  // The probability that no open clause needs a literal, for each.
  void multiply() {
    std::fill(none_.begin(), none_.end(), 1.0);
    for (const std::uint32_t c : open_)
      for (std::int32_t i = instance_.start[c]; i < instance_.start[c + 1]; ++i)
        if (!is_set(instance_.clause[i]))
          none_[Clauses::code(instance_.clause[i])] *= 1 - survey_[i];
  }

  // Renews each survey once, by the latest ones; returns how many literals were looked at. Blocks
  // of clauses come in random order: in one and the same surveys stand still less often.
  std::uint64_t sweep() {
    multiply();
    moved_ = 0;
    blocks_.resize((open_.size() + kBlock - 1) / kBlock);
    std::iota(blocks_.begin(), blocks_.end(), 0u);
    std::uint64_t count = 0;
    for (auto left = static_cast<std::uint32_t>(blocks_.size()); left > 0; --left) {
      std::swap(blocks_[left - 1], blocks_[pick(random_.next() >> 32, left)]);
      const std::size_t first = kBlock * std::size_t{blocks_[left - 1]};
      const std::size_t last = std::min(open_.size(), first + kBlock);
      for (std::size_t k = first; k < last; ++k) count += renew(open_[k]);
    }
    return count;
  }

  // The surveys of a clause; returns its length.
  std::uint32_t renew(std::uint32_t c) {
    const std::int32_t first = instance_.start[c], last = instance_.start[c + 1];
    for (std::int32_t i = first; i < last; ++i)
      shares_[i - first] = is_set(instance_.clause[i]) ? 1 : held_against(i);
    double before = 1;  // what comes before each and, below, behind it, multiplied
    for (std::int32_t i = first; i < last; ++i) {
      double others = before;
      for (std::int32_t j = i + 1; j < last; ++j) others *= shares_[j - first];
      before *= shares_[i - first];
      if (is_set(instance_.clause[i])) continue;
      const double survey = std::min(kMost, others);
      moved_ = std::max(moved_, std::abs(survey - survey_[i]));
      none_[Clauses::code(instance_.clause[i])] *= 1 - survey;
      survey_[i] = survey;
    }
    return instance_.length(c);
  }

  // How likely the variable of a literal is to be held at the other value by other clauses; this
  // one says nothing of it for now.
  double held_against(std::int32_t i) {
    const std::uint32_t l = Clauses::code(instance_.clause[i]);
    const double against = none_[l ^ 1], with = none_[l] /= 1 - survey_[i];
    const double held = (1 - against) * with, all = held + against;
    return all > 0 ? held / all : 0;
  }

  // Sets what the surveys say most about; it is over where they say nothing.
  void decide() {
    multiply();
    said_.clear();
    double sum = 0;
    for (std::uint32_t v = 0; v < value_.size(); ++v) {
      if (set_[v]) continue;
      const double yes = (1 - none_[2 * v]) * none_[2 * v + 1];
      const double no = (1 - none_[2 * v + 1]) * none_[2 * v];
      const double all = yes + no + none_[2 * v] * none_[2 * v + 1];
      const double says = all > 0 ? (yes - no) / all : 0;
      said_.push_back({-std::abs(says), 2 * v + (says < 0)});
      sum += std::abs(says);
    }
    if (sum <= kNothing * static_cast<double>(said_.size())) {
      end();
      return;
    }
    const auto part = static_cast<std::ptrdiff_t>(1 + (said_.size() - 1) / kPart);
    std::partial_sort(said_.begin(), said_.begin() + part, said_.end());
    for (std::ptrdiff_t i = 0; i < part; ++i) set(said_[static_cast<std::size_t>(i)].second);
    std::erase_if(open_, [&](std::uint32_t c) {
      return open_literals_[c] == kSatisfied || open_literals_[c] == 0;
    });
  }

  // Has a literal hold that is not set, and what follows.
  void set(std::uint32_t literal) {
    units_.assign(1, literal);
    while (!units_.empty()) {
      const std::uint32_t l = units_.back();
      units_.pop_back();
      if (set_[l >> 1]) continue;
      set_[l >> 1] = 1;
      value_[l >> 1] = !(l & 1);
      for (std::uint32_t i = instance_.first[l]; i < instance_.first[l + 1]; ++i)
        open_literals_[instance_.occurrence[i]] = kSatisfied;
      for (std::uint32_t i = instance_.first[l ^ 1]; i < instance_.first[(l ^ 1) + 1]; ++i) {
        const std::uint32_t c = instance_.occurrence[i];
        if (open_literals_[c] == kSatisfied || --open_literals_[c] != 1) continue;
        for (const std::int32_t x : instance_.literals(c))
          if (!is_set(x)) units_.push_back(Clauses::code(x));
      }
    }
  }

  void end() {
    over_ = true;
    cost_ = WideCost{};
    for (std::uint32_t c = 0; c < instance_.num_clauses; ++c) {
      const auto holds = [&](std::int32_t x) { return value_[Clauses::variable(x)] == (x > 0); };
      const auto literals = instance_.literals(c);
      if (std::any_of(literals.begin(), literals.end(), holds)) continue;
      if (hard_[c])
        ++cost_.hard;
      else
        cost_.soft += static_cast<std::uint64_t>(weight_[c]);
    }
  }

  const Instance& instance_;
  const std::int64_t* weight_;
  const std::uint8_t* hard_;
  RandomStream random_;
  std::vector<std::uint32_t> open_;           // clauses that no variable that is set satisfies
  std::vector<std::uint32_t> open_literals_;  // of each clause, or kSatisfied
  std::vector<std::uint32_t> blocks_;         // of open clauses, in the order of a sweep
  std::vector<double> survey_;                // literal by literal
  std::vector<double> none_;                  // of each literal, the probability that none needs it
  std::vector<double> shares_;                // of the clause in hand
  std::vector<std::uint8_t> value_, set_;
  std::vector<std::pair<double, std::uint32_t>> said_;  // how much, falling, and for which literal
  std::vector<std::uint32_t> units_;
  WideCost cost_{UINT64_MAX, 0};
  double moved_ = 0;
  std::uint64_t ahead_ = 0;
  std::uint32_t sweeps_ = 0;
  bool over_ = false, complete_ = false;
};

}  // namespace hardscape::maxsat
