// Unit propagation over clauses by two watched literals (Moskewicz, Madigan, Zhao, Zhang, Malik,
// DAC 2001), in levels that can be taken back, and what decisions stand behind a literal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace hardscape::maxsat {

class Propagation {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint8_t kOpen = 2;

  void prepare(std::size_t variables) {
    value_.assign(variables, kOpen);
    level_.assign(variables, 0);
    reason_.assign(variables, kNone);
    seen_.assign(variables, 0);
    watches_.resize(2 * variables);
    start_.assign(1, 0);
  }
  // Makes room for so many clauses and literals, and for so many clauses that watch each literal.
  void reserve(std::size_t clauses, std::size_t literals, std::span<const std::uint32_t> watching) {
    start_.reserve(clauses + 1);
    literals_.reserve(literals);
    for (std::size_t l = 0; l < watching.size(); ++l) watches_[l].reserve(watching[l]);
  }

  std::uint8_t value(std::uint32_t v) const { return value_[v]; }
  bool holds(std::uint32_t l) const { return value_[l >> 1] == !(l & 1); }
  bool fails(std::uint32_t l) const { return value_[l >> 1] == (l & 1); }
  bool open(std::uint32_t l) const { return value_[l >> 1] == kOpen; }
  std::uint32_t level() const { return static_cast<std::uint32_t>(levels_.size()); }
  // What holds, in the order in which it was assigned.
  std::span<const std::uint32_t> trail() const { return trail_; }
  // Literals assigned so far, those taken back included.
  std::uint64_t assigned() const { return assigned_; }
  std::size_t literals() const { return literals_.size(); }
  std::size_t clauses() const { return start_.size() - 1; }

  // Takes a clause; false where the clauses contradict one another at level 0, which this one must
  // then not be told at another. Two literals that are open, or were assigned last, come first.
  bool add(std::span<const std::uint32_t> clause) {
    const std::uint32_t id = static_cast<std::uint32_t>(start_.size() - 1);
    const std::size_t at = literals_.size();
    literals_.insert(literals_.end(), clause.begin(), clause.end());
    start_.push_back(literals_.size());
    const auto rank = [&](std::uint32_t l) { return fails(l) ? level_[l >> 1] : kNone; };
    for (std::size_t i = 0; i < std::min<std::size_t>(2, clause.size()); ++i)
      for (std::size_t j = i + 1; j < clause.size(); ++j)
        if (rank(literals_[at + j]) > rank(literals_[at + i]))
          std::swap(literals_[at + i], literals_[at + j]);
    if (clause.size() >= 2) {
      const std::uint32_t a = literals_[at], b = literals_[at + 1];
      watches_[a].push_back({id, b});
      watches_[b].push_back({id, a});
    }
    if (clause.empty() || fails(literals_[at])) return false;
    if (open(literals_[at]) && (clause.size() == 1 || fails(literals_[at + 1])))
      assign(literals_[at], id);
    return true;
  }

  // Forgets all clauses but the first so many, at level 0, where nobody asks for reasons.
  void forget(std::size_t clauses) {
    if (clauses >= this->clauses()) return;
    for (std::vector<Watch>& watches : watches_)
      std::erase_if(watches, [&](const Watch& w) { return w.clause >= clauses; });
    start_.resize(clauses + 1);
    literals_.resize(start_.back());
  }

  // Makes an open literal true, on a level of its own.
  void decide(std::uint32_t l) {
    levels_.push_back(static_cast<std::uint32_t>(trail_.size()));
    assign(l, kNone);
  }

  // Follows what was assigned; the clause that is violated then, or kNone.
  std::uint32_t propagate() {
    while (head_ < trail_.size()) {
      const std::uint32_t found = visit(trail_[head_++] ^ 1);
      if (found != kNone) return found;
    }
    return kNone;
  }

  // Takes back all levels above one.
  void back(std::uint32_t level) {
    if (level >= levels_.size()) return;
    const std::uint32_t left = levels_[level];
    for (std::size_t i = left; i < trail_.size(); ++i) value_[trail_[i] >> 1] = kOpen;
    trail_.resize(left);
    levels_.resize(level);
    head_ = left;
  }

  // The levels whose decisions stand behind a violated clause, highest first.
  void behind_clause(std::uint32_t clause, std::vector<std::uint32_t>& levels) {
    levels.clear();
    for (std::size_t i = start_[clause]; i < start_[clause + 1]; ++i) see(literals_[i]);
    trace(levels);
  }
  // The same of a false literal.
  void behind_literal(std::uint32_t l, std::vector<std::uint32_t>& levels) {
    levels.clear();
    see(l);
    trace(levels);
  }

  // What a violated clause teaches: one literal of the last level, and others that were false
  // before (the first unique implication point: Marques-Silva and Sakallah, 1999). The level to go
  // back to.
  std::uint32_t learn(std::uint32_t clause, std::vector<std::uint32_t>& learnt) {
    learnt.assign(1, 0);
    std::uint32_t back = 0;
    const auto take = [&](std::uint32_t reason, std::uint32_t but) {
      for (std::size_t j = start_[reason]; j < start_[reason + 1]; ++j) {
        const std::uint32_t l = literals_[j], v = l >> 1;
        if (v == but || level_[v] == 0 || seen_[v]) continue;
        seen_[v] = 1;
        if (level_[v] == level()) {
          ++unexplained_;
        } else {
          learnt.push_back(l);
          back = std::max(back, level_[v]);
        }
      }
    };
    take(clause, kNone);
    for (std::size_t i = trail_.size();; --i) {
      const std::uint32_t l = trail_[i - 1], v = l >> 1;
      if (!seen_[v]) continue;
      seen_[v] = 0;
      if (--unexplained_ == 0) {
        learnt[0] = l ^ 1;
        break;
      }
      take(reason_[v], v);
    }
    for (const std::uint32_t l : learnt) seen_[l >> 1] = 0;
    return back;
  }

  // The literal that was decided on a level, from 1 on.
  std::uint32_t decision(std::uint32_t level) const { return trail_[levels_[level - 1]]; }

 private:
  struct Watch {
    std::uint32_t clause, other;  // another literal, which may be true
  };

  void assign(std::uint32_t l, std::uint32_t reason) {
    value_[l >> 1] = !(l & 1);
    level_[l >> 1] = level();
    reason_[l >> 1] = reason;
    trail_.push_back(l);
    ++assigned_;
  }

  // Looks at the clauses that watch a literal which has become false.
  std::uint32_t visit(std::uint32_t l) {
    std::vector<Watch>& watches = watches_[l];
    std::size_t kept = 0, i = 0;
    std::uint32_t conflict = kNone;
    for (; i < watches.size() && conflict == kNone; ++i) {
      const Watch w = watches[i];
      if (holds(w.other)) {
        watches[kept++] = w;
        continue;
      }
      std::uint32_t* const c = literals_.data() + start_[w.clause];
      const std::size_t size = start_[w.clause + 1] - start_[w.clause];
      if (c[0] == l) std::swap(c[0], c[1]);
      std::size_t k = 2;
      if (!holds(c[0]))
        while (k < size && fails(c[k])) ++k;
      else
        k = size;
      if (k < size) {
        std::swap(c[1], c[k]);
        watches_[c[1]].push_back({w.clause, c[0]});
        continue;
      }
      watches[kept++] = {w.clause, c[0]};
      if (holds(c[0])) continue;
      if (fails(c[0]))
        conflict = w.clause;
      else
        assign(c[0], w.clause);
    }
    for (; i < watches.size(); ++i) watches[kept++] = watches[i];
    watches.resize(kept);
    return conflict;
  }

  void see(std::uint32_t l) {
    const std::uint32_t v = l >> 1;
    if (level_[v] == 0 || seen_[v]) return;
    seen_[v] = 1;
    behind_.push_back(v);
  }

  void trace(std::vector<std::uint32_t>& levels) {
    for (std::size_t i = 0; i < behind_.size(); ++i) {
      const std::uint32_t v = behind_[i], reason = reason_[v];
      if (reason == kNone) {
        levels.push_back(level_[v]);
        continue;
      }
      for (std::size_t j = start_[reason]; j < start_[reason + 1]; ++j) see(literals_[j]);
    }
    for (const std::uint32_t v : behind_) seen_[v] = 0;
    behind_.clear();
    std::sort(levels.begin(), levels.end(), std::greater<>());
  }

  std::vector<std::uint32_t> literals_;  // clause by clause
  std::vector<std::size_t> start_;
  std::vector<std::vector<Watch>> watches_;  // of each literal
  std::vector<std::uint8_t> value_, seen_;
  std::vector<std::uint32_t> level_, reason_, trail_, levels_, behind_;
  std::size_t head_ = 0, unexplained_ = 0;
  std::uint64_t assigned_ = 0;
};

}  // namespace hardscape::maxsat
