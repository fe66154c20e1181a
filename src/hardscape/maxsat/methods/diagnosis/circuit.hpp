// Circuits whose gates may be faulty, as formulas have them: a wish of its own says of each gate
// that it works, and clauses that hold the wish's negation say what its output then is. Outputs
// are sought from what is given on: a variable is one where the clauses of one wish, or of none,
// that hold nothing else unknown leave it one value for all values of the others. What is no such
// definition is a constraint.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "maxsat/instance.hpp"

namespace hardscape::maxsat {

class Circuit {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // A gate's output is whether some cube holds, a set of literals that are all false, or its
  // negation. Without its wish it is free.
  struct Gate {
    std::uint32_t variable, wish, first, last;  // its cubes
    bool negated;
  };
  // A clause that is no definition, in the part of the formula that it belongs to.
  struct Constraint {
    std::uint32_t wish, clause, part;
  };
  struct Wish {
    std::uint32_t literal;
    std::uint64_t price;
  };

  // False where the formula is no such circuit, or stopped.
  bool read(const Instance& instance, const std::int64_t* weight, const std::uint8_t* hard,
            const Poll& stopped) {
    instance_ = &instance;
    hard_ = hard;
    return find_wishes(weight) && find_guards(stopped) && peel(stopped) && divide(stopped);
  }

  const std::vector<Wish>& wishes() const { return wishes_; }
  // In an order in which each one's inputs come before it.
  const std::vector<Gate>& gates() const { return gates_; }
  const std::vector<Constraint>& constraints() const { return constraints_; }
  // Parts of the formula that have no variables in common but those of wishes.
  std::uint32_t parts() const { return parts_; }
  std::uint32_t part(std::uint32_t variable) const { return part_[variable]; }
  // Whether all but wishes are outputs of gates, so that these decide all values.
  bool whole() const { return whole_; }
  // Literals, all false where a cube holds.
  std::span<const std::uint32_t> cube(std::uint32_t i) const {
    return {literals_.data() + cube_[i], cube_[i + 1] - cube_[i]};
  }
  // The literals of a clause but its wish's.
  template <class Visit>
  void each_literal(std::uint32_t clause, const Visit& visit) const {
    for (const std::int32_t x : instance_->literals(clause))
      if (wish_[Clauses::variable(x)] == kNone) visit(Clauses::code(x));
  }

  // A gate's output under values of what comes before it.
  bool output(const Gate& gate, const std::vector<std::uint8_t>& value) const {
    for (std::uint32_t i = gate.first; i < gate.last; ++i) {
      const auto literals = cube(i);
      if (std::all_of(literals.begin(), literals.end(),
                      [&](std::uint32_t l) { return value[l >> 1] == (l & 1); }))
        return !gate.negated;
    }
    return gate.negated;
  }

 private:
  // Inputs of a gate at most; looks at clauses for each literal of the formula.
  static constexpr std::size_t kInputs = 6, kLooks = 16;

  // Clauses that hold a variable, and may define it.
  struct Ready {
    std::uint32_t wish, clause;
    bool positive;
  };

  // Soft clauses are single literals, whose variables no hard clause holds but negated.
  bool find_wishes(const std::int64_t* weight) {
    const Instance& f = *instance_;
    wish_.assign(f.num_variables, kNone);
    for (std::uint32_t c = 0; c < f.num_clauses; ++c) {
      if (hard_[c]) continue;
      if (f.length(c) != 1) return false;
      const std::uint32_t l = Clauses::code(f.literals(c)[0]);
      if (f.first[l + 1] - f.first[l] != 1 || wish_[l >> 1] != kNone) return false;
      wish_[l >> 1] = static_cast<std::uint32_t>(wishes_.size());
      wishes_.push_back({l, static_cast<std::uint64_t>(weight[c])});
    }
    return !wishes_.empty();
  }

  // No clause holds two wishes, or nothing else.
  bool find_guards(const Poll& stopped) {
    const Instance& f = *instance_;
    guard_.assign(f.num_clauses, kNone);
    unknown_.resize(f.num_clauses);
    for (std::uint32_t c = 0; c < f.num_clauses; ++c) {
      if (stopped(c)) return false;
      if (!hard_[c]) continue;
      for (const std::int32_t x : f.literals(c)) {
        const std::uint32_t w = wish_[Clauses::variable(x)];
        if (w == kNone)
          ++unknown_[c];
        else if (guard_[c] != kNone)
          return false;
        else
          guard_[c] = w;
      }
      if (unknown_[c] == 0) return false;
    }
    return true;
  }

  // Gates in an order from what is given on; where none is ready, the first variable is free.
  bool peel(const Poll& stopped) {
    const Instance& f = *instance_;
    known_.assign(f.num_variables, 0);
    touched_.assign(f.num_variables, 0);
    used_.assign(f.num_clauses, 0);
    definition_.assign(f.num_variables, {0, 0});
    cube_.assign(1, 0);
    for (std::uint32_t c = 0; c < f.num_clauses; ++c)
      if (hard_[c] && unknown_[c] == 1) touch(c);
    look_at_touched();
    std::uint32_t free = 0;
    for (std::size_t step = 0;; ++step) {
      if (stopped(step) || looked_ > kLooks * static_cast<std::size_t>(f.start[f.num_clauses]))
        return false;
      if (ready_.empty()) {
        while (free < f.num_variables && (known_[free] || wish_[free] != kNone)) ++free;
        if (free == f.num_variables) return true;
        whole_ = false;
        const auto none = static_cast<std::uint32_t>(cube_.size() - 1);
        gates_.push_back({free, kNone, none, none, false});
        know(free);
        continue;
      }
      const std::uint32_t v = ready_.top();
      ready_.pop();
      define(v);
      know(v);
    }
  }

  // Notes the one unknown variable of a clause.
  void touch(std::uint32_t c) {
    each_literal(c, [&](std::uint32_t l) {
      if (known_[l >> 1] || touched_[l >> 1]) return;
      touched_[l >> 1] = 1;
      looks_.push_back(l >> 1);
    });
  }

  void look_at_touched() {
    for (const std::uint32_t v : looks_) {
      touched_[v] = 0;
      const auto found = defined(v);
      if (found.size() <= definition_[v].second) continue;
      if (definition_[v].second == 0) ready_.push(v);
      definition_[v] = {definitions_.size(), found.size()};
      definitions_.insert(definitions_.end(), found.begin(), found.end());
    }
    looks_.clear();
  }

  void know(std::uint32_t v) {
    const Instance& f = *instance_;
    known_[v] = 1;
    for (std::uint32_t i = f.first[2 * v]; i < f.first[2 * v + 2]; ++i) {
      const std::uint32_t c = f.occurrence[i];
      if (--unknown_[c] == 1) touch(c);
    }
    look_at_touched();
  }

  // The clauses that define a variable, which say most, if there are such.
  std::span<const Ready> defined(std::uint32_t v) {
    const Instance& f = *instance_;
    candidates_.clear();
    looked_ += f.first[2 * v + 2] - f.first[2 * v];
    for (const std::uint32_t l : {2 * v, 2 * v + 1})
      for (std::uint32_t i = f.first[l]; i < f.first[l + 1]; ++i) {
        const std::uint32_t c = f.occurrence[i];
        if (unknown_[c] == 1 && !used_[c]) candidates_.push_back({guard_[c], c, l == 2 * v});
      }
    const auto by_wish = [](const Ready& a, const Ready& b) { return a.wish < b.wish; };
    if (!std::is_sorted(candidates_.begin(), candidates_.end(), by_wish))
      std::stable_sort(candidates_.begin(), candidates_.end(), by_wish);
    std::span<const Ready> best;
    for (auto from = candidates_.begin(); from != candidates_.end();) {
      const auto to = std::find_if(from, candidates_.end(),
                                   [&](const Ready& each) { return each.wish != from->wish; });
      const std::span<const Ready> own{from, to};
      if (own.size() > best.size() && decides(own, v)) best = own;
      from = to;
    }
    return best;
  }

  // Whether clauses leave a variable one value for all values of the others.
  bool decides(std::span<const Ready> clauses, std::uint32_t v) {
    constexpr std::array<std::uint64_t, kInputs> kTrue{0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc,
                                                       0xf0f0f0f0f0f0f0f0, 0xff00ff00ff00ff00,
                                                       0xffff0000ffff0000, 0xffffffff00000000};
    std::array<std::uint32_t, kInputs> input{};
    std::size_t inputs = 0;
    std::uint64_t forced[2] = {0, 0};
    for (const Ready& each : clauses) {
      std::uint64_t open = ~std::uint64_t{0};  // where its other literals are false
      bool fits = true;
      each_literal(each.clause, [&](std::uint32_t l) {
        if (l >> 1 == v || !fits) return;
        const auto end = input.begin() + static_cast<std::ptrdiff_t>(inputs);
        const auto at = std::find(input.begin(), end, l >> 1);
        fits = at != end || inputs < kInputs;
        if (!fits) return;
        if (at == end) input[inputs++] = l >> 1;
        const std::uint64_t true_at = kTrue[static_cast<std::size_t>(at - input.begin())];
        open &= l & 1 ? true_at : ~true_at;
      });
      if (!fits) return false;
      forced[each.positive] |= open;
    }
    return (forced[0] ^ forced[1]) == ~std::uint64_t{0};
  }

  // The gate of which a variable is the output, by those of its clauses that are fewer.
  void define(std::uint32_t v) {
    const auto [from, count] = definition_[v];
    const std::span<const Ready> clauses{definitions_.data() + from, count};
    const auto positive = static_cast<std::size_t>(std::count_if(
        clauses.begin(), clauses.end(), [](const Ready& each) { return each.positive; }));
    const bool by_positive = 2 * positive <= clauses.size();
    Gate gate{v, clauses.front().wish, static_cast<std::uint32_t>(cube_.size() - 1), 0,
              !by_positive};
    for (const Ready& each : clauses) {
      used_[each.clause] = 1;
      if (each.positive != by_positive) continue;
      each_literal(each.clause, [&](std::uint32_t l) {
        if (l >> 1 != v) literals_.push_back(l);
      });
      cube_.push_back(literals_.size());
    }
    gate.last = static_cast<std::uint32_t>(cube_.size() - 1);
    gates_.push_back(gate);
  }

  // Parts, and the clauses that define nothing.
  bool divide(const Poll& stopped) {
    const Instance& f = *instance_;
    part_.resize(f.num_variables);
    std::iota(part_.begin(), part_.end(), 0u);
    const auto root = [&](std::uint32_t v) {
      while (part_[v] != v) v = part_[v] = part_[part_[v]];
      return v;
    };
    for (std::uint32_t c = 0; c < f.num_clauses; ++c) {
      if (stopped(c)) return false;
      if (!hard_[c]) continue;
      std::uint32_t first = kNone;
      each_literal(c, [&](std::uint32_t l) {
        const std::uint32_t at = root(l >> 1);
        const std::uint32_t least = std::min(first, at);  // kNone is the greatest
        if (first != kNone) part_[std::max(first, at)] = least;
        first = least;
      });
    }
    // A root is the first variable of its part, so it has its number before the others.
    for (std::uint32_t v = 0; v < f.num_variables; ++v)
      part_[v] = wish_[v] != kNone ? kNone : part_[v] == v ? parts_++ : part_[part_[v]];
    for (std::uint32_t c = 0; c < f.num_clauses; ++c) {
      if (!hard_[c] || used_[c]) continue;
      std::uint32_t in = kNone;
      each_literal(c, [&](std::uint32_t l) { in = part_[l >> 1]; });
      constraints_.push_back({guard_[c], c, in});
    }
    return true;
  }

  const Instance* instance_ = nullptr;
  const std::uint8_t* hard_ = nullptr;
  std::vector<Wish> wishes_;
  std::vector<Gate> gates_;
  std::vector<Constraint> constraints_;
  std::vector<std::uint32_t> literals_;
  std::vector<std::size_t> cube_;
  std::vector<std::uint32_t> wish_, part_;      // of variables
  std::vector<std::uint32_t> guard_, unknown_;  // of clauses
  std::vector<std::uint8_t> used_;              // clauses
  std::vector<std::uint8_t> known_, touched_;   // variables
  std::vector<std::uint32_t> looks_;
  std::vector<Ready> candidates_, definitions_;
  std::vector<std::pair<std::size_t, std::size_t>> definition_;  // of variables: first, and count
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready_;
  std::size_t looked_ = 0;
  std::uint32_t parts_ = 0;
  bool whole_ = true;
};

}  // namespace hardscape::maxsat
