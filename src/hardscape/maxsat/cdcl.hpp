// A small solver for satisfiability under assumptions: conflict-driven clause learning with watched
// literals, variable activities, saved phases and Luby restarts (Een, Soerensson, SAT 2003). Its
// answers move a search; no proof rests on it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "maxsat/luby.hpp"

namespace hardscape::maxsat {

class Cdcl {
 public:
  enum class Answer { kYes, kNo, kUnknown };

  // Literals are 2 * variable + negated.
  explicit Cdcl(std::uint32_t variables)
      : phase(variables),
        watch_(2 * std::size_t{variables}),
        value_(variables, kOpen),
        level_(variables),
        reason_(variables, kNone),
        activity_(variables),
        place_(variables),
        seen_(variables) {
    for (std::uint32_t v = 0; v < variables; ++v) {
      place_[v] = v;
      heap_.push_back(v);
    }
  }

  std::vector<std::uint8_t> phase;  // the value that a decision gives each variable
  std::vector<std::uint32_t> core;  // after kNo: assumptions that cannot hold together
  std::vector<std::uint8_t> model;  // after kYes, shape (variables,)
  std::uint64_t work = 0;           // literals assigned so far

  // Adds a clause without repeated literals; only between calls of `solve`.
  void add(const std::uint32_t* literals, std::size_t size) {
    clause_.clear();
    for (std::size_t i = 0; i < size; ++i) {
      if (is_true(literals[i])) return;
      if (!is_false(literals[i])) clause_.push_back(literals[i]);
    }
    if (clause_.empty())
      contradiction_ = true;
    else if (clause_.size() == 1)
      assign(clause_[0], kNone);
    else
      attach(clause_);
  }

  // Looks for an assignment that satisfies all clauses and assumptions. What the first of them, as
  // far as they are those of the last call, brought about is kept.
  Answer solve(const std::vector<std::uint32_t>& assumptions, std::uint64_t conflicts,
               const volatile std::uint8_t* stop) {
    core.clear();
    if (given_ == 0) given_ = arena_.size();
    std::uint32_t same = 0;
    while (same < asked_.size() && same < assumptions.size() && asked_[same] == assumptions[same])
      ++same;
    asked_ = assumptions;
    backtrack(same);
    if (arena_.size() > 2 * given_ + kSpare) forget();
    return contradiction_ ? Answer::kNo : search(conflicts, stop);
  }

 private:
  static constexpr std::uint8_t kOpen = 2;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint64_t kRestart = 64;  // conflicts, times Luby's sequence

  static constexpr std::size_t kSpare = std::size_t{1} << 22;  // words of learnt clauses

  struct Watch {
    std::uint32_t clause, other;
  };

  bool is_true(std::uint32_t l) const { return value_[l >> 1] == !(l & 1); }
  bool is_false(std::uint32_t l) const { return value_[l >> 1] == (l & 1); }
  std::uint32_t depth() const { return static_cast<std::uint32_t>(decided_.size()); }

  std::uint32_t attach(const std::vector<std::uint32_t>& literals) {
    const auto at = static_cast<std::uint32_t>(arena_.size());
    arena_.push_back(static_cast<std::uint32_t>(literals.size()));
    arena_.insert(arena_.end(), literals.begin(), literals.end());
    watch_[literals[0] ^ 1].push_back({at, literals[1]});
    watch_[literals[1] ^ 1].push_back({at, literals[0]});
    return at;
  }

  // Drops all learnt clauses, and those that hold for good.
  void forget() {
    backtrack(0);
    if (propagate() != kNone) contradiction_ = true;
    if (contradiction_) return;
    for (std::vector<Watch>& list : watch_) list.clear();
    for (std::size_t at = 0; at < given_; at += arena_[at] + 1) {
      std::uint32_t* c = arena_.data() + at + 1;
      std::uint32_t open = 0;
      bool holds = false;
      for (std::uint32_t j = 0; j < arena_[at]; ++j) {
        holds = holds || is_true(c[j]);
        if (!is_false(c[j]) && open < 2) std::swap(c[open++], c[j]);
      }
      if (holds) continue;
      watch_[c[0] ^ 1].push_back({static_cast<std::uint32_t>(at), c[1]});
      watch_[c[1] ^ 1].push_back({static_cast<std::uint32_t>(at), c[0]});
    }
    arena_.resize(given_);
  }

  void assign(std::uint32_t l, std::uint32_t reason) {
    const std::uint32_t v = l >> 1;
    value_[v] = !(l & 1);
    level_[v] = depth();
    reason_[v] = reason;
    trail_.push_back(l);
    ++work;
  }

  // A clause that is violated, or kNone. A watch list is that of the literal whose truth wakes it.
  std::uint32_t propagate() {
    for (; next_ < trail_.size(); ++next_) {
      const std::uint32_t l = trail_[next_];
      std::vector<Watch>& list = watch_[l];
      std::size_t kept = 0;
      for (std::size_t i = 0; i < list.size(); ++i) {
        const Watch w = list[i];
        if (is_true(w.other)) {
          list[kept++] = w;
          continue;
        }
        std::uint32_t* c = arena_.data() + w.clause + 1;
        if (c[0] == (l ^ 1)) std::swap(c[0], c[1]);
        if (is_true(c[0])) {
          list[kept++] = {w.clause, c[0]};
          continue;
        }
        const std::uint32_t size = arena_[w.clause];
        std::uint32_t j = 2;
        while (j < size && is_false(c[j])) ++j;
        if (j < size) {
          std::swap(c[1], c[j]);
          watch_[c[1] ^ 1].push_back({w.clause, c[0]});
          continue;
        }
        list[kept++] = {w.clause, c[0]};
        if (is_false(c[0])) {
          while (++i < list.size()) list[kept++] = list[i];
          list.resize(kept);
          next_ = trail_.size();
          return w.clause;
        }
        assign(c[0], w.clause);
      }
      list.resize(kept);
    }
    return kNone;
  }

  Answer search(std::uint64_t conflicts, const volatile std::uint8_t* stop) {
    std::uint64_t done = 0, run = 0, rounds = 1;
    for (;;) {
      const std::uint32_t violated = propagate();
      if (violated != kNone) {
        if (depth() == 0) {
          contradiction_ = true;
          return Answer::kNo;
        }
        learn(violated);
        ++done;
        ++run;
        continue;
      }
      if (done >= conflicts || *stop) return Answer::kUnknown;
      if (run >= kRestart * luby(rounds)) {
        run = 0;
        ++rounds;
        backtrack(0);
      }
      std::uint32_t l = kNone;
      while (depth() < asked_.size()) {
        const std::uint32_t a = asked_[depth()];
        if (is_false(a)) {
          explain(a);
          return Answer::kNo;
        }
        if (!is_true(a)) {
          l = a;
          break;
        }
        decided_.push_back(trail_.size());  // a level without a decision
      }
      if (l == kNone) l = decide();
      if (l == kNone) {
        model = value_;
        return Answer::kYes;
      }
      decided_.push_back(trail_.size());
      assign(l, kNone);
    }
  }

  std::uint32_t decide() {
    while (!heap_.empty()) {
      const std::uint32_t v = heap_[0];
      pop();
      if (value_[v] == kOpen) return 2 * v + !phase[v];
    }
    return kNone;
  }

  // Learns the clause of the first unique implication point, goes back and asserts its literal.
  void learn(std::uint32_t violated) {
    clause_.assign(1, 0);
    std::uint32_t open = 0, at = violated, l = kNone;
    std::size_t i = trail_.size();
    do {
      const std::uint32_t* c = arena_.data() + at + 1;
      for (std::uint32_t j = 0; j < arena_[at]; ++j) {
        const std::uint32_t v = c[j] >> 1;
        if (c[j] == l || seen_[v] || level_[v] == 0) continue;
        seen_[v] = 1;
        bump(v);
        if (level_[v] == depth())
          ++open;
        else
          clause_.push_back(c[j]);
      }
      while (!seen_[trail_[--i] >> 1]) {
      }
      l = trail_[i];
      seen_[l >> 1] = 0;
      at = reason_[l >> 1];
    } while (--open > 0);
    clause_[0] = l ^ 1;
    marked_ = clause_;
    const auto implied = [&](std::uint32_t k) { return k != clause_[0] && redundant(k); };
    shorter_.clear();
    for (std::uint32_t k : clause_)
      if (!implied(k)) shorter_.push_back(k);
    for (std::uint32_t k : marked_) seen_[k >> 1] = 0;
    step_ *= 1 / 0.95;
    std::uint32_t back = 0;
    for (std::size_t k = 1; k < shorter_.size(); ++k) {
      if (level_[shorter_[k] >> 1] <= back) continue;
      back = level_[shorter_[k] >> 1];
      std::swap(shorter_[1], shorter_[k]);
    }
    backtrack(back);
    assign(shorter_[0], shorter_.size() > 1 ? attach(shorter_) : kNone);
  }

  // Whether the other literals of a learnt clause imply this one.
  bool redundant(std::uint32_t l) const {
    const std::uint32_t at = reason_[l >> 1];
    if (at == kNone) return false;
    for (std::uint32_t j = 0; j < arena_[at]; ++j) {
      const std::uint32_t v = arena_[at + 1 + j] >> 1;
      if (v != l >> 1 && !seen_[v] && level_[v] > 0) return false;
    }
    return true;
  }

  // The assumptions that make assumption `a` false, and `a`.
  void explain(std::uint32_t a) {
    core.assign(1, a);
    if (level_[a >> 1] == 0) return;
    seen_[a >> 1] = 1;
    for (std::size_t i = trail_.size(); i-- > decided_[0];) {
      const std::uint32_t v = trail_[i] >> 1;
      if (!seen_[v]) continue;
      seen_[v] = 0;
      const std::uint32_t at = reason_[v];
      if (at == kNone) {
        core.push_back(trail_[i]);
        continue;
      }
      for (std::uint32_t j = 0; j < arena_[at]; ++j) {
        const std::uint32_t u = arena_[at + 1 + j] >> 1;
        if (u != v && level_[u] > 0) seen_[u] = 1;
      }
    }
    seen_[a >> 1] = 0;
  }

  void backtrack(std::uint32_t to) {
    if (depth() <= to) return;
    for (std::size_t i = trail_.size(); i-- > decided_[to];) {
      const std::uint32_t v = trail_[i] >> 1;
      value_[v] = kOpen;
      if (place_[v] == kNone) insert(v);
    }
    trail_.resize(decided_[to]);
    decided_.resize(to);
    next_ = trail_.size();
  }

  void bump(std::uint32_t v) {
    activity_[v] += step_;
    if (activity_[v] > 1e100) {
      for (double& x : activity_) x *= 1e-100;
      step_ *= 1e-100;
    }
    if (place_[v] != kNone) up(place_[v]);
  }

  // A heap of the variables by activity.
  void insert(std::uint32_t v) {
    place_[v] = static_cast<std::uint32_t>(heap_.size());
    heap_.push_back(v);
    up(place_[v]);
  }

  void pop() {
    place_[heap_[0]] = kNone;
    const std::uint32_t last = heap_.back();
    heap_.pop_back();
    if (heap_.empty()) return;
    heap_[0] = last;
    place_[last] = 0;
    down(0);
  }

  void up(std::uint32_t i) {
    const std::uint32_t v = heap_[i];
    for (; i > 0 && activity_[v] > activity_[heap_[(i - 1) / 2]]; i = (i - 1) / 2) {
      heap_[i] = heap_[(i - 1) / 2];
      place_[heap_[i]] = i;
    }
    heap_[i] = v;
    place_[v] = i;
  }

  void down(std::uint32_t i) {
    const std::uint32_t v = heap_[i];
    const auto size = static_cast<std::uint32_t>(heap_.size());
    for (std::uint32_t child = 2 * i + 1; child < size; child = 2 * i + 1) {
      if (child + 1 < size && activity_[heap_[child + 1]] > activity_[heap_[child]]) ++child;
      if (activity_[heap_[child]] <= activity_[v]) break;
      heap_[i] = heap_[child];
      place_[heap_[i]] = i;
      i = child;
    }
    heap_[i] = v;
    place_[v] = i;
  }

  std::vector<std::uint32_t> arena_;  // of each clause its size and its literals
  std::vector<std::vector<Watch>> watch_;
  std::vector<std::uint8_t> value_;
  std::vector<std::uint32_t> level_, reason_, trail_, heap_;
  std::vector<std::size_t> decided_;  // where in the trail each level begins
  std::vector<double> activity_;
  std::vector<std::uint32_t> place_;  // in the heap, or kNone
  std::vector<std::uint8_t> seen_;
  std::vector<std::uint32_t> clause_, marked_, shorter_, asked_;
  std::size_t next_ = 0, given_ = 0;
  double step_ = 1;
  bool contradiction_ = false;
};

}  // namespace hardscape::maxsat
