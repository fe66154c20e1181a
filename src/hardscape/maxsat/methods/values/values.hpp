// A formula about things that have one value each, where clauses say which values of two things do
// not go together: colours, frequencies, times, places. Things are found as hard clauses of which
// at least one literal holds, and no two need to. Variables besides have two values, and those that
// relax what two things say are left out: at most one of their clauses can be violated, so each of
// these costs what the variable would.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "maxsat/instance.hpp"

namespace hardscape::maxsat {

// What a value costs: weight of soft clauses, and hard ones violated.
struct Penalty {
  std::int64_t soft = 0, hard = 0;

  Penalty& operator+=(const auto& other) {
    soft += other.soft;
    hard += other.hard;
    return *this;
  }
  Penalty& operator-=(const auto& other) {
    soft -= other.soft;
    hard -= other.hard;
    return *this;
  }
};

class ValueProblem {
 public:
  struct Conflict {
    std::uint32_t with;
    std::int32_t hard;
    std::int64_t soft;
  };

  std::vector<std::uint32_t> first;    // value of each thing, and behind the last one
  std::vector<std::uint32_t> thing;    // of each value
  std::vector<std::uint32_t> literal;  // that holds where the value is taken
  std::vector<Penalty> alone;          // what each value costs whatever the others are
  std::vector<std::uint32_t> begin;    // first conflict of each value, and behind the last one
  std::vector<Conflict> conflicts;
  // Literals that relax, each with two values of which one must not be taken unless it holds.
  struct Relaxed {
    std::uint32_t literal, a, b;
  };
  std::vector<Relaxed> relaxed;
  bool found = false;  // whether the formula is one

  // `weight` and `hard` of each clause. Not found where it was stopped.
  ValueProblem(const Instance& instance, const std::int64_t* weight, const std::uint8_t* hard,
               const Poll& stopped)
      : instance_(instance), weight_(weight), hard_(hard), stopped_(stopped) {
    found = instance.complete && light() && gather() && relax() && connect();
    std::vector<std::uint32_t>().swap(value_);
    std::vector<std::uint8_t>().swap(done_);
    std::vector<Pair>().swap(pairs_);
  }

  std::size_t things() const { return first.size() - 1; }
  std::size_t values() const { return literal.size(); }

 private:
  struct Pair {
    std::uint32_t a, b;
    Penalty costs;
  };
  struct Range {
    std::uint32_t begin, end;
  };

  bool is_hard(std::uint32_t c) const { return hard_[c]; }
  Penalty cost_of(std::uint32_t c) const {
    return is_hard(c) ? Penalty{0, 1} : Penalty{weight_[c], 0};
  }
  std::span<const std::uint32_t> clauses(std::uint32_t l) const {
    return {&instance_.occurrence[instance_.first[l]], instance_.first[l + 1] - instance_.first[l]};
  }

  // Whether sums of weights are small.
  bool light() const {
    std::int64_t left = kMostWeight;
    for (std::uint32_t c = 0; c < instance_.num_clauses; ++c) {
      if (is_hard(c)) continue;
      if (weight_[c] > left) return false;
      left -= weight_[c];
    }
    return true;
  }

  // Things of three values and more, from the longest clauses on, if they have half of the
  // variables.
  bool gather() {
    value_.assign(2 * std::size_t{instance_.num_variables}, kNone);
    done_.assign(instance_.num_clauses, 0);
    first.assign(1, 0);
    std::vector<std::uint32_t> long_;
    for (std::uint32_t c = 0; c < instance_.num_clauses; ++c) {
      if (stopped_(c)) return false;
      if (is_hard(c) && instance_.length(c) >= 3) long_.push_back(c);
    }
    std::ranges::stable_sort(long_, std::ranges::greater{},
                             [&](std::uint32_t c) { return instance_.length(c); });
    std::size_t looks = 4 * instance_.occurrence.size();
    std::vector<std::uint32_t> met(instance_.num_variables * std::size_t{2}, kNone);
    for (const std::uint32_t c : long_) {
      if (stopped_(0)) return false;
      if (looks == 0) break;
      if (is_thing(c, met, looks)) add(instance_.literals(c), c);
    }
    grouped_ = values();
    return grouped_ > 0 && 2 * grouped_ >= instance_.num_variables;
  }

  // Whether no two literals of a clause need to hold: they exclude one another, but for those that
  // no other clause asks for.
  bool is_thing(std::uint32_t c, std::vector<std::uint32_t>& met, std::size_t& looks) const {
    const auto is_asked = [&](std::uint32_t l) { return clauses(l).size() > 1; };
    std::uint32_t asked = 0;
    for (const std::int32_t x : instance_.literals(c)) {
      const std::uint32_t l = Clauses::code(x);
      if (value_[l] != kNone || value_[l ^ 1] != kNone) return false;
      asked += is_asked(l);
      met[l] = c;
    }
    for (const std::int32_t x : instance_.literals(c)) {
      const std::uint32_t l = Clauses::code(x);
      if (!is_asked(l)) continue;
      std::uint32_t excluded = 0;
      looks -= std::min(looks, clauses(l ^ 1).size());
      for (const std::uint32_t d : clauses(l ^ 1)) {
        if (!is_hard(d) || instance_.length(d) != 2) continue;
        const auto pair = instance_.literals(d);
        const std::uint32_t other = Clauses::code(pair[0]) ^ Clauses::code(pair[1]) ^ l;
        excluded += met[other] == c && is_asked(other);  // not l or not `other`
      }
      if (excluded + 1 < asked) return false;
    }
    return true;
  }

  void add(std::span<const std::int32_t> literals, std::uint32_t c) {
    done_[c] = 1;
    for (const std::int32_t x : literals) put(Clauses::code(x));
    first.push_back(static_cast<std::uint32_t>(values()));
  }

  void put(std::uint32_t l) {
    value_[l] = static_cast<std::uint32_t>(values());
    literal.push_back(l);
    thing.push_back(static_cast<std::uint32_t>(things()));
  }

  // Variables of no thing: those that relax, and those of two values.
  bool relax() {
    for (std::uint32_t v = 0; v < instance_.num_variables; ++v) {
      if (stopped_(v)) return false;
      if (value_[2 * v] != kNone || value_[2 * v + 1] != kNone) continue;
      if (relaxes(2 * v) || relaxes(2 * v + 1)) continue;
      put(2 * v);
      put(2 * v + 1);
      first.push_back(static_cast<std::uint32_t>(values()));
    }
    return true;
  }

  // Whether a literal costs something, and is in hard clauses about values of the same two things.
  bool relaxes(std::uint32_t l) {
    if (clauses(l ^ 1).size() != 1 || clauses(l).empty()) return false;
    const std::uint32_t unit = clauses(l ^ 1)[0];
    if (is_hard(unit) || instance_.length(unit) != 1) return false;
    const std::size_t before = relaxed.size();
    std::uint64_t things_of = 0;
    const auto refuse = [&] { return relaxed.resize(before), false; };
    for (const std::uint32_t c : clauses(l)) {
      if (!is_hard(c) || instance_.length(c) != 3) return refuse();
      std::uint32_t of[2] = {kNone, kNone}, count = 0;
      for (const std::int32_t x : instance_.literals(c))
        if (Clauses::code(x) != l) of[count++] = value_[Clauses::code(x) ^ 1];
      if (of[0] == kNone || of[1] == kNone) return refuse();
      if (thing[of[0]] > thing[of[1]]) std::swap(of[0], of[1]);
      if (thing[of[0]] == thing[of[1]] || of[1] >= grouped_) return refuse();
      const std::uint64_t both = std::uint64_t{thing[of[0]]} << 32 | thing[of[1]];
      if (relaxed.size() > before && both != things_of) return refuse();
      things_of = both;
      relaxed.push_back({l, of[0], of[1]});
    }
    done_[unit] = 1;
    for (const std::uint32_t c : clauses(l)) done_[c] = 1;
    for (std::size_t i = before; i < relaxed.size(); ++i)
      pairs_.push_back({relaxed[i].a, relaxed[i].b, cost_of(unit)});
    return true;
  }

  // What every other clause says of one value, or of two.
  bool connect() {
    alone.resize(values());
    const std::size_t most = pairs_.size() + 4 * instance_.occurrence.size();
    std::vector<std::vector<std::uint32_t>> sets;
    for (std::uint32_t c = 0; c < instance_.num_clauses; ++c) {
      if (stopped_(c) || pairs_.size() > most) return false;
      if (!done_[c] && !violated_by(c, sets)) return false;
    }
    return pairs_.size() <= most && index();
  }

  // The values of a thing under which a literal does not hold.
  Range values_of(std::uint32_t l) const {
    const std::uint32_t t = thing[value_[l] != kNone ? value_[l] : value_[l ^ 1]];
    return {first[t], first[t + 1]};
  }
  bool falsifies(std::uint32_t value, std::uint32_t l) const {
    return value_[l] != kNone ? value != value_[l] : value == value_[l ^ 1];
  }

  // False where a clause is about three things or more.
  bool violated_by(std::uint32_t c, std::vector<std::vector<std::uint32_t>>& sets) {
    sets.clear();
    for (const std::int32_t x : instance_.literals(c)) {
      const std::uint32_t l = Clauses::code(x);
      if (value_[l] == kNone && value_[l ^ 1] == kNone) return false;  // of one that relaxes
      const Range range = values_of(l);
      const auto same = std::ranges::find_if(
          sets, [&](const auto& set) { return thing[set[0]] == thing[range.begin]; });
      if (same == sets.end()) {
        if (sets.size() == 2) return false;
        sets.emplace_back();
        for (std::uint32_t value = range.begin; value < range.end; ++value)
          if (falsifies(value, l)) sets.back().push_back(value);
      } else {
        std::erase_if(*same, [&](std::uint32_t value) { return !falsifies(value, l); });
        if (same->empty()) return true;  // it always holds
      }
    }
    if (sets.size() == 1)
      for (const std::uint32_t a : sets[0]) alone[a] += cost_of(c);
    else
      for (const std::uint32_t a : sets[0])
        for (const std::uint32_t b : sets[1]) pairs_.push_back({a, b, cost_of(c)});
    return true;
  }

  // Conflicts by values, those of the same two as one.
  bool index() {
    for (Pair& pair : pairs_)
      if (pair.a > pair.b) std::swap(pair.a, pair.b);
    std::ranges::sort(pairs_, {}, [](const Pair& p) { return std::uint64_t{p.a} << 32 | p.b; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      if (stopped_(i)) return false;
      if (kept > 0 && pairs_[kept - 1].a == pairs_[i].a && pairs_[kept - 1].b == pairs_[i].b)
        pairs_[kept - 1].costs += pairs_[i].costs;
      else
        pairs_[kept++] = pairs_[i];
    }
    pairs_.resize(kept);
    begin.assign(values() + 1, 0);
    for (const Pair& pair : pairs_) ++begin[pair.a + 1], ++begin[pair.b + 1];
    for (std::size_t v = 0; v < values(); ++v) begin[v + 1] += begin[v];
    conflicts.resize(begin.back());
    std::vector<std::uint32_t> at(begin.begin(), begin.end() - 1);
    for (const Pair& pair : pairs_) {
      const auto hard = static_cast<std::int32_t>(pair.costs.hard);
      conflicts[at[pair.a]++] = {pair.b, hard, pair.costs.soft};
      conflicts[at[pair.b]++] = {pair.a, hard, pair.costs.soft};
    }
    return true;
  }

  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::int64_t kMostWeight = std::int64_t{1} << 52;

  const Instance& instance_;
  const std::int64_t* weight_;
  const std::uint8_t* hard_;
  Poll stopped_;
  std::vector<std::uint32_t> value_;  // of each literal that is one
  std::vector<std::uint8_t> done_;    // clauses that need not be looked at any more
  std::vector<Pair> pairs_;
  std::size_t grouped_ = 0;  // values of things of three and more
};

}  // namespace hardscape::maxsat
