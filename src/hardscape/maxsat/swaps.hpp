// A walk over the sets of soft clauses that can hold together. A violated soft clause is asked for
// beside all that hold; where the hard clauses refuse, the solver says which of those stand against
// it, and the lightest of them is given up, until an assignment is found. It crosses chains of
// implications, as encodings have them, that no flip can cross.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "maxsat/cdcl.hpp"
#include "maxsat/instance.hpp"
#include "maxsat/walker.hpp"
#include "maxsat/weighting.hpp"
#include "native/random.hpp"

namespace hardscape::maxsat {

constexpr std::uint64_t kSwapsPurpose = 0x6d787377;

class Swaps {
 public:
  Swaps(const Instance& instance, std::vector<std::uint64_t>&& weight,
        const std::vector<std::uint8_t>& hard, std::uint64_t seed, std::uint64_t stream,
        const std::uint8_t* initial, const volatile std::uint8_t* stop)
      : variables_(instance.num_variables),
        weight_(std::move(weight)),
        solver_(instance.num_variables + relaxers(instance, hard)),
        random_(seed, stream, kSwapsPurpose) {
    const Poll stopped(stop);
    std::uint32_t relaxer = instance.num_variables;
    std::vector<std::uint32_t> clause;
    for (std::uint32_t c = 0; c < instance.num_clauses && !given_up_; ++c) {
      given_up_ = stopped(c);
      const std::uint32_t* begin = instance.clause.data() + instance.start[c];
      const std::uint32_t size = instance.start[c + 1] - instance.start[c];
      if (hard[c]) {
        solver_.add(begin, size);
      } else if (size == 1) {
        wishes_.push_back({begin[0], c});
      } else {
        clause.assign(begin, begin + size);
        clause.push_back(2 * relaxer);
        solver_.add(clause.data(), clause.size());
        wishes_.push_back({2 * relaxer++ + 1, c});
      }
    }
    if (given_up_) return;
    of_literal_.assign(2 * std::size_t{relaxer}, kNone);
    for (std::uint32_t i = 0; i < wishes_.size(); ++i) of_literal_[wishes_[i].literal] = i;
    if (initial) begin_with(instance, hard, initial);
    prefer_wishes();
  }

  // Until `steps` more steps are done, the cost is at most `target`, or `stop`; a step is kWork
  // literals assigned by the solver. Returns the steps done. What a move does beyond them is taken
  // off the next run's, so that the walk does not depend on how it is cut into runs; only where the
  // target is reached, more than `steps` may be returned. Where nothing is left to try they count
  // as done.
  std::uint64_t run(std::uint64_t steps, unsigned __int128 target,
                    const volatile std::uint8_t* stop) {
    const std::uint64_t before = granted_;
    granted_ += steps;
    while (solver_.work / kWork < granted_ && !given_up_) {
      if (*stop || (best_.hard == 0 && best_.soft <= target)) {
        granted_ = std::max(before, solver_.work / kWork);
        return granted_ - before;
      }
      if (current_.hard)
        first(stop);
      else
        move(stop);
    }
    if (best_.hard == 0 && best_.soft <= target) granted_ = std::max(before, solver_.work / kWork);
    return granted_ - before;
  }

  const WideCost& best_cost() const { return best_; }
  const std::vector<std::uint8_t>& best() const { return best_value_; }
  bool given_up() const { return given_up_; }

 private:
  static constexpr std::uint64_t kWork = 8;         // literals assigned for what counts as a flip
  static constexpr std::uint64_t kConflicts = 200;  // of one question

  struct Wish {
    std::uint32_t literal, clause;
  };

  static std::uint32_t relaxers(const Instance& instance, const std::vector<std::uint8_t>& hard) {
    std::uint32_t count = 0;
    for (std::uint32_t c = 0; c < instance.num_clauses; ++c)
      count += !hard[c] && instance.start[c + 1] - instance.start[c] > 1;
    return count;
  }

  // Phases of an assignment, and where it satisfies all hard clauses, the place to start from.
  void begin_with(const Instance& instance, const std::vector<std::uint8_t>& hard,
                  const std::uint8_t* initial) {
    std::vector<std::uint8_t>& model = solver_.model;
    model.assign(initial, initial + variables_);
    std::copy(model.begin(), model.end(), solver_.phase.begin());
    bool sound = true;
    for (std::uint32_t c = 0; c < instance.num_clauses; ++c) {
      bool holds = false;
      for (std::uint32_t i = instance.start[c]; i < instance.start[c + 1]; ++i)
        holds = holds || initial[instance.clause[i] >> 1] != (instance.clause[i] & 1);
      if (hard[c])
        sound = sound && holds;
      else if (instance.start[c + 1] - instance.start[c] > 1)
        model.push_back(!holds);
    }
    if (sound) take();
  }

  void prefer_wishes() {
    for (const Wish& wish : wishes_) solver_.phase[wish.literal >> 1] = !(wish.literal & 1);
  }

  void first(const volatile std::uint8_t* stop) {
    const auto answer = solver_.solve({}, 10 * kConflicts, stop);
    if (answer == Cdcl::Answer::kYes)
      take();
    else if (answer == Cdcl::Answer::kNo)
      given_up_ = true;
  }

  // What the solver's model makes of the wishes.
  void take() {
    const std::vector<std::uint32_t> before = std::move(held_);
    std::vector<std::uint8_t> listed(wishes_.size());
    held_.clear();
    lost_.clear();
    current_ = WideCost{};
    const auto holds = [&](std::uint32_t i) {
      const std::uint32_t l = wishes_[i].literal;
      return solver_.model[l >> 1] == !(l & 1);
    };
    for (std::uint32_t i : before)  // in their old order: the solver keeps what it knows of them
      if (holds(i)) held_.push_back(i), listed[i] = 1;
    for (std::uint32_t i = 0; i < wishes_.size(); ++i) {
      if (listed[i]) continue;
      if (holds(i)) {
        held_.push_back(i);
      } else {
        lost_.push_back(i);
        current_.soft += weight_[wishes_[i].clause];
      }
    }
    std::copy_n(solver_.model.begin(), variables_, solver_.phase.begin());
    prefer_wishes();
    if (!(current_ < best_)) return;
    best_ = current_;
    best_value_.assign(solver_.model.begin(), solver_.model.begin() + variables_);
  }

  // Asks for a lost wish, and gives up held ones that stand against it: no more than it weighs, but
  // now and then whatever it takes.
  void move(const volatile std::uint8_t* stop) {
    if (lost_.empty()) {
      given_up_ = true;
      return;
    }
    const std::uint32_t wanted = lost_[pick(random_.next() >> 32, size(lost_))];
    const bool anything = random_.next() >> 61 == 0;
    const unsigned __int128 worth = weight_[wishes_[wanted].clause];
    unsigned __int128 lost = 0;
    asked_.clear();
    for (std::uint32_t i : held_) asked_.push_back(wishes_[i].literal);
    asked_.push_back(wishes_[wanted].literal);
    while (!*stop) {
      const auto answer = solver_.solve(asked_, kConflicts, stop);
      if (answer == Cdcl::Answer::kYes) return take();
      if (answer == Cdcl::Answer::kUnknown) return;
      const std::uint32_t given = lightest(wishes_[wanted].literal);
      if (given == kNone) return forget(wanted);
      lost += weight_[wishes_[given].clause];
      if (lost > worth && !anything) return;
      std::erase(asked_, wishes_[given].literal);
    }
  }

  // The lightest wish of the core but the one wanted, a random one of several.
  std::uint32_t lightest(std::uint32_t wanted) {
    std::uint32_t found = kNone, ties = 0;
    for (std::uint32_t l : solver_.core) {
      if (l == wanted) continue;
      const std::uint32_t i = of_literal_[l];
      const std::uint64_t w = weight_[wishes_[i].clause];
      const std::uint64_t least = found == kNone ? 0 : weight_[wishes_[found].clause];
      if (found == kNone || w < least) {
        found = i;
        ties = 1;
      } else if (w == least && pick(random_.next() >> 32, ++ties) == 0) {
        found = i;
      }
    }
    return found;
  }

  // The hard clauses alone refuse this wish.
  void forget(std::uint32_t wish) { std::erase(lost_, wish); }

  static std::uint32_t size(const std::vector<std::uint32_t>& list) {
    return static_cast<std::uint32_t>(list.size());
  }

  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::uint32_t variables_;
  std::vector<std::uint64_t> weight_;
  Cdcl solver_;
  RandomStream random_;
  std::vector<Wish> wishes_;
  std::vector<std::uint32_t> held_, lost_, asked_;  // wishes, wishes, literals
  std::vector<std::uint32_t> of_literal_;           // the wish of each literal, or kNone
  std::vector<std::uint8_t> best_value_;
  WideCost current_{UINT64_MAX, 0}, best_{UINT64_MAX, 0};
  std::uint64_t granted_ = 0;  // steps of all runs
  bool given_up_ = false;
};

}  // namespace hardscape::maxsat
