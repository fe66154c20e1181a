// Parts of a formula around a violated soft clause, as formulas of their own: what is not around
// keeps its value (large neighbourhood search: Shaw, CP 1998).
//
// An assignment that satisfies the hard clauses is kept as decisions and what unit propagation
// makes of them, with the clause that is the reason of each implied value. Variables around a
// clause are released with all that was implied by them, and what the others still imply is fixed
// again. So outputs of counters, diagrams and circuits come along with the inputs that are around,
// and do not hold these fast. A part costs what the occurrences of released variables have
// literals, whatever the size of the formula.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/walker.hpp"
#include "native/random.hpp"

namespace hardscape::maxsat {

constexpr std::uint64_t kNeighbourhoodPurpose = 0x6d786e62;

class Neighbourhoods {
 public:
  // The clauses that the free variables decide, without literals that are fixed: those of the whole
  // formula that they come from, and literals by the places that variables have among the free.
  struct Part {
    std::vector<std::uint32_t> from;
    std::vector<std::int32_t> literals, offsets;
  };

  // All variables are free at first.
  Neighbourhoods(const Instance& instance, const std::int64_t* weight, const std::uint8_t* hard,
                 std::uint64_t seed, std::uint64_t stream)
      : f_(instance),
        weight_(weight),
        hard_(hard),
        random_(seed, stream, kNeighbourhoodPurpose),
        value_(f_.num_variables, 0),
        fixed_(f_.num_variables, 0),
        reached_(f_.num_variables, 0),
        taken_(f_.num_clauses, 0),
        reason_(f_.num_variables, kNone),
        implies_(f_.num_clauses, kNone),
        holds_(f_.num_clauses, 0),
        open_(f_.num_clauses),
        place_(f_.num_clauses, kNone),
        rules_(2 * std::size_t{f_.num_variables}, 0),
        number_(f_.num_variables, 0) {
    for (std::uint32_t c = 0; c < f_.num_clauses; ++c) {
      open_[c] = f_.length(c);
      if (!hard_[c] || f_.length(c) != 2) continue;
      for (const std::int32_t x : f_.literals(c)) ++rules_[Clauses::code(x) ^ 1];
    }
    for (std::uint32_t v = 0; v < f_.num_variables; ++v) free_.push_back(v);
  }

  // Goes on from an assignment of all variables that satisfies the hard clauses.
  void adopt(const std::uint8_t* value) {
    for (std::uint32_t v = 0; v < f_.num_variables; ++v)
      if (fixed_[v] && value_[v] != value[v]) release_all(v);
    for (const std::uint32_t v : free_) value_[v] = value[v];
    settle();
  }

  // Releases about `size` variables around a soft clause that is violated, a heavy one rather than
  // a light one, if there is one; only over clauses that `bind` the value of a variable, or all.
  void release_around(std::size_t size, bool bind) {
    if (lost_.empty()) return;
    std::uint32_t clause = lost_[draw(lost_.size())];
    const std::uint32_t other = lost_[draw(lost_.size())];
    if (weight_[other] > weight_[clause]) clause = other;
    queue_.clear();
    reach(clause);
    const std::uint64_t most = looked_ + kMost * size;
    for (std::size_t i = 0; i < queue_.size() && free_.size() < size && looked_ < most;) {
      // So many that what is fixed again after each batch is looked at a few times at most.
      std::size_t count = 0;
      const std::size_t batch = std::max(kBatch, std::min(free_.size(), size - free_.size()));
      for (; i < queue_.size() && count < batch && looked_ < most; ++i) {
        const std::size_t before = free_.size();
        expand(queue_[i], bind);
        if (fixed_[queue_[i]]) release_all(queue_[i]);
        count += free_.size() - before;
      }
      imply();
    }
    for (const std::uint32_t v : queue_) reached_[v] = 0;
  }

  Part part() {
    Part part;
    part.offsets.push_back(0);
    for (std::size_t i = 0; i < free_.size(); ++i)
      number_[free_[i]] = static_cast<std::int32_t>(i) + 1;
    for (const std::uint32_t v : free_)
      for (const std::uint32_t c : occurrences(v)) {
        if (holds_[c] || taken_[c]) continue;
        taken_[c] = 1;
        part.from.push_back(c);
        looked_ += f_.length(c);
        for (const std::int32_t x : f_.literals(c)) {
          const std::uint32_t u = Clauses::variable(x);
          if (!fixed_[u]) part.literals.push_back(x > 0 ? number_[u] : -number_[u]);
        }
        part.offsets.push_back(static_cast<std::int32_t>(part.literals.size()));
      }
    for (const std::uint32_t c : part.from) taken_[c] = 0;
    return part;
  }

  // Gives the free variables these values, under which the hard clauses hold, or none: the old
  // ones.
  void fix(const std::uint8_t* value) {
    if (value)
      for (std::size_t i = 0; i < free_.size(); ++i) value_[free_[i]] = value[i];
    settle();
  }

  const std::vector<std::uint32_t>& free() const { return free_; }
  // Of all variables.
  const std::vector<std::uint8_t>& values() const { return value_; }
  // Soft clauses that are violated, whatever the free variables are.
  const std::vector<std::uint32_t>& lost() const { return lost_; }
  // Literals and clauses looked at.
  std::uint64_t looked() const { return looked_; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kBatch = 8;
  static constexpr std::uint64_t kMost = 500;  // looks for each variable that is wanted

  std::uint32_t draw(std::size_t count) {
    return pick(random_.next() >> 32, static_cast<std::uint32_t>(count));
  }

  std::uint32_t holding(std::uint32_t v) const { return 2 * v + !value_[v]; }

  std::span<const std::uint32_t> with(std::uint32_t literal) const {
    return {f_.occurrence.data() + f_.first[literal], f_.occurrence.data() + f_.first[literal + 1]};
  }
  // Clauses with a variable, plain and negated.
  std::span<const std::uint32_t> occurrences(std::uint32_t v) {
    const std::uint32_t from = f_.first[2 * v], to = f_.first[2 * v + 2];
    looked_ += 1 + to - from;
    return {f_.occurrence.data() + from, f_.occurrence.data() + to};
  }

  void assign(std::uint32_t v, std::uint32_t reason) {
    fixed_[v] = 1;
    reason_[v] = reason;
    if (reason != kNone) implies_[reason] = v;
    looked_ += 1 + f_.first[2 * v + 2] - f_.first[2 * v];
    for (const std::uint32_t c : with(holding(v))) {
      ++holds_[c];
      --open_[c];
    }
    for (const std::uint32_t c : with(holding(v) ^ 1)) {
      --open_[c];
      if (holds_[c]) continue;
      if (hard_[c] && open_[c] == 1) units_.push_back(c);
      if (!hard_[c] && open_[c] == 0) lose(c);
    }
  }

  // Releases a variable and all that has it behind its reasons.
  void release_all(std::uint32_t v) {
    cascade_.push_back(v);
    while (!cascade_.empty()) {
      const std::uint32_t next = cascade_.back();
      cascade_.pop_back();
      if (fixed_[next]) release(next);
    }
  }

  void release(std::uint32_t v) {
    free_.push_back(v);
    fixed_[v] = 0;
    if (reason_[v] != kNone) implies_[reason_[v]] = kNone;
    looked_ += 1 + f_.first[2 * v + 2] - f_.first[2 * v];
    for (const std::uint32_t c : with(holding(v))) {
      --holds_[c];
      ++open_[c];
    }
    for (const std::uint32_t c : with(holding(v) ^ 1)) {
      ++open_[c];
      if (implies_[c] != kNone) cascade_.push_back(implies_[c]);
      if (place_[c] != kNone) regain(c);
    }
  }

  void lose(std::uint32_t c) {
    place_[c] = static_cast<std::uint32_t>(lost_.size());
    lost_.push_back(c);
  }
  void regain(std::uint32_t c) {
    place_[lost_.back()] = place_[c];
    lost_[place_[c]] = lost_.back();
    lost_.pop_back();
    place_[c] = kNone;
  }

  // Fixes what is implied; the rest stays free.
  void imply() {
    for (const std::uint32_t v : free_) {
      if (fixed_[v]) continue;
      for (const std::uint32_t c : occurrences(v))
        if (hard_[c] && !holds_[c] && open_[c] == 1) units_.push_back(c);
    }
    follow();
    std::erase_if(free_, [&](std::uint32_t v) { return fixed_[v] != 0; });
  }

  void follow() {
    while (!units_.empty()) {
      const std::uint32_t c = units_.back();
      units_.pop_back();
      if (holds_[c] || open_[c] != 1) continue;
      for (const std::int32_t x : f_.literals(c)) {
        const std::uint32_t v = Clauses::variable(x);
        if (fixed_[v]) continue;
        assign(v, c);
        break;
      }
    }
  }

  // Fixes all: first what follows, then by decisions, those first that have most rules of two
  // literals: few decisions leave few that hold fast what others imply.
  void settle() {
    imply();
    std::sort(free_.begin(), free_.end(), [&](std::uint32_t a, std::uint32_t b) {
      const std::uint32_t left = rules_[holding(a)], right = rules_[holding(b)];
      return left != right ? left > right : a < b;
    });
    for (const std::uint32_t v : free_) {
      if (fixed_[v]) continue;
      assign(v, kNone);
      follow();
    }
    free_.clear();
  }

  // The variables of a clause, from a random one on.
  void reach(std::uint32_t c) {
    const std::span<const std::int32_t> literals = f_.literals(c);
    looked_ += literals.size();
    const std::uint32_t shift = draw(literals.size());
    for (std::size_t i = 0; i < literals.size(); ++i) {
      const std::uint32_t v = Clauses::variable(literals[(shift + i) % literals.size()]);
      if (reached_[v]) continue;
      reached_[v] = 1;
      queue_.push_back(v);
    }
  }

  // Those that share a clause with a variable, or, of clauses that `bind` it, a hard one that
  // nothing else satisfies.
  void expand(std::uint32_t v, bool bind) {
    const auto clauses = bind ? with(holding(v)) : occurrences(v);
    if (clauses.empty()) return;
    const std::uint32_t shift = draw(clauses.size());
    for (std::size_t i = 0; i < clauses.size(); ++i) {
      const std::uint32_t c = clauses[(shift + i) % clauses.size()];
      if (!bind || (hard_[c] && binds(c))) reach(c);
    }
  }

  bool binds(std::uint32_t c) {
    looked_ += f_.length(c);
    std::uint32_t hold = 0;
    for (const std::int32_t x : f_.literals(c)) hold += value_[Clauses::variable(x)] == (x > 0);
    return hold == 1;
  }

  const Instance& f_;
  const std::int64_t* weight_;
  const std::uint8_t* hard_;
  RandomStream random_;
  std::vector<std::uint8_t> value_, fixed_, reached_, taken_;
  std::vector<std::uint32_t> reason_;   // clause, or kNone: decided
  std::vector<std::uint32_t> implies_;  // variable that a clause is the reason of
  std::vector<std::uint32_t> holds_;    // fixed literals of each clause that are true
  std::vector<std::uint32_t> open_;     // literals of each clause that are free
  std::vector<std::uint32_t> place_;    // of each clause among the lost
  std::vector<std::uint32_t> rules_;    // hard clauses of two with a literal's negation
  std::vector<std::int32_t> number_;
  std::vector<std::uint32_t> lost_, free_, queue_, cascade_, units_;
  std::uint64_t looked_ = 0;
};

}  // namespace hardscape::maxsat
