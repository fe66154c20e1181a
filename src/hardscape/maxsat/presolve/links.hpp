// Variables that only hard clauses of two literals have, as those of ladders, chains of orders and
// counters of at most one: each goes where its clauses' resolvents are few (bounded variable
// elimination, N. Een and A. Biere, SAT 2005). What is left holds if and only if values of those
// that went make all of it hold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/presolve/left.hpp"

namespace hardscape::maxsat {

class Linking {
 public:
  Linking(Left& left, const Poll& stopped) : left_(left), stopped_(stopped) {}

  // For a search, where that pays. False if stopped on the way.
  bool run(Links& links) {
    find();
    const std::size_t literals = left_.literals.size();
    return !pays() || resolve(links, most(literals) - literals);
  }

  // Wherever there are any, up to so many more literals. False if stopped on the way.
  bool run(Links& links, std::size_t most) {
    find();
    return many_ == 0 || resolve(links, most);
  }

  // Whether counters are what nearly all hard clauses say.
  bool counts() {
    find();
    return many_ > 0 && prevail();
  }

  // Whether the formula would have grown by too much.
  bool refused() const { return refused_; }

 private:
  // Nothing goes where the formula would grow by too much: chains that are cut in the middle are
  // harder for a search than whole ones.
  bool resolve(Links& links, std::size_t most) {
    most_ = static_cast<std::ptrdiff_t>(most);
    beside_.resize(2 * only_.size());
    met_.assign(kFirstSlots, 0);
    for (std::size_t c = 0; c < left_.clauses(); ++c) {
      if (stopped_(c)) return false;
      if (left_.is_pair(c)) add(left_.code(c, 0), left_.code(c, 1));
    }
    for (std::uint32_t v = 0; v < only_.size(); ++v) {
      if (stopped_(v)) return false;
      if (!only_[v] || consider(v, links)) continue;
      links = {};
      refused_ = true;
      return true;
    }
    if (!links.gone.empty()) collect();
    return true;
  }

  // Which variables are in hard clauses of two literals alone; few of them that are linked to
  // others of hard clauses of two and three are parts of sums, which a prover knows as a whole.
  void find() {
    only_.assign(left_.original.size(), 1);
    for (std::size_t c = 0; c < left_.clauses(); ++c) {
      if (left_.is_pair(c)) continue;
      for (std::int32_t i = left_.offsets[c]; i < left_.offsets[c + 1]; ++i)
        only_[Clauses::variable(left_.literals[i])] = 0;
    }
    std::vector<std::uint8_t> ruled(only_.size(), 1), linked(only_.size());
    for (std::size_t c = 0; c < left_.clauses(); ++c) {
      if (left_.hard[c] && left_.length(c) <= 3) continue;
      for (std::int32_t i = left_.offsets[c]; i < left_.offsets[c + 1]; ++i)
        ruled[Clauses::variable(left_.literals[i])] = 0;
    }
    for (std::size_t c = 0; c < left_.clauses(); ++c) {
      if (!left_.is_pair(c)) continue;
      for (const std::size_t k : {0, 1}) {
        const std::uint32_t other = left_.code(c, 1 - k) >> 1;
        if (ruled[other] && !only_[other]) linked[left_.code(c, k) >> 1] = 1;
      }
    }
    std::size_t parts = 0;
    for (std::size_t v = 0; v < only_.size(); ++v) parts += linked[v] && only_[v];
    if (kFewParts * parts <= static_cast<std::size_t>(std::ranges::count(only_, 1)))
      for (std::size_t v = 0; v < only_.size(); ++v)
        if (linked[v]) only_[v] = 0;
    many_ = static_cast<std::size_t>(std::ranges::count(only_, 1));
  }

  // Not where they are few, nor where counters are what is left to prove, for which a prover has
  // cliques.
  bool pays() const { return many_ > 0 && many_ >= only_.size() / kNoticed && !prevail(); }

  // Whether nearly all hard clauses have one that is there with both signs.
  bool prevail() const {
    std::vector<std::uint8_t> signs(only_.size());
    const auto pairs = [&](auto&& act) {
      for (std::size_t c = 0; c < left_.clauses(); ++c)
        if (left_.is_pair(c)) act(left_.code(c, 0), left_.code(c, 1));
    };
    pairs([&](std::uint32_t a, std::uint32_t b) {
      signs[a >> 1] |= 1 << (a & 1);
      signs[b >> 1] |= 1 << (b & 1);
    });
    const auto links = [&](std::uint32_t l) { return only_[l >> 1] && signs[l >> 1] == 3; };
    std::size_t linked = 0;
    pairs([&](std::uint32_t a, std::uint32_t b) { linked += links(a) || links(b); });
    const auto hard = static_cast<double>(std::ranges::count(left_.hard, 1));
    return hard > 0 && static_cast<double>(linked) >= kPrevails * hard;
  }

  bool gone(std::uint32_t l) const { return only_[l >> 1] == kGone; }

  // The clauses of a literal, by the other one; those whose other one went are forgotten.
  std::vector<std::uint32_t>& of(std::uint32_t l) {
    std::erase_if(beside_[l], [&](std::uint32_t other) { return gone(other); });
    return beside_[l];
  }

  // Where a clause of two literals is in the table, or would be.
  std::size_t place(std::uint64_t key) const {
    const std::size_t mask = met_.size() - 1;
    std::size_t at = (key * 0x9e3779b97f4a7c15ull >> 32) & mask;
    while (met_[at] != 0 && met_[at] != key) at = (at + 1) & mask;
    return at;
  }

  // Knows a clause of two literals; false if it did before.
  bool add(std::uint32_t a, std::uint32_t b) {
    if (a > b) std::swap(a, b);
    const std::uint64_t key = std::uint64_t{a} << 32 | b;  // not 0: a is less than b
    const std::size_t at = place(key);
    if (met_[at] == key) return false;
    met_[at] = key;
    if (2 * ++known_ > met_.size()) {
      std::vector<std::uint64_t> keys(4 * met_.size());
      keys.swap(met_);
      for (const std::uint64_t each : keys)
        if (each != 0) met_[place(each)] = each;
    }
    if (only_[a >> 1]) beside_[a].push_back(b);
    if (only_[b >> 1]) beside_[b].push_back(a);
    return true;
  }

  // Lets a variable go, unless a resolvent is a single literal; false where the formula grows by
  // too much.
  bool consider(std::uint32_t v, Links& links) {
    const std::vector<std::uint32_t>&with = of(2 * v), &without = of(2 * v + 1);
    const auto before = static_cast<std::ptrdiff_t>(with.size() + without.size());
    const auto product = static_cast<std::ptrdiff_t>(with.size() * without.size());
    if (product > kMost) return true;
    if (grown_ + 2 * (product - before) > most_) return false;
    for (const std::uint32_t a : with)
      if (std::ranges::find(without, a) != without.end()) return true;
    only_[v] = kGone;
    grown_ -= 2 * before;
    for (const std::uint32_t a : with)
      for (const std::uint32_t b : without)
        if (a != (b ^ 1) && add(a, b)) {
          fresh_.emplace_back(a, b);
          grown_ += 2;
        }
    links.gone.push_back(left_.original[v]);
    for (const std::uint32_t a : with) links.literals.push_back(left_.named(a));
    links.offsets.push_back(static_cast<std::int32_t>(links.literals.size()));
    std::vector<std::uint32_t>().swap(beside_[2 * v]);
    std::vector<std::uint32_t>().swap(beside_[2 * v + 1]);
    return true;
  }

  // Leaves out what went, adds what it left, and numbers the variables anew.
  void collect() {
    const auto went = [&](std::size_t c) {
      return left_.is_pair(c) && (gone(left_.code(c, 0)) || gone(left_.code(c, 1)));
    };
    std::erase_if(fresh_, [&](const auto& pair) { return gone(pair.first) || gone(pair.second); });
    std::vector<std::int32_t> number(only_.size());
    for (std::size_t c = 0; c < left_.clauses(); ++c)
      if (!went(c))
        for (std::int32_t i = left_.offsets[c]; i < left_.offsets[c + 1]; ++i)
          number[Clauses::variable(left_.literals[i])] = 1;
    for (const auto& [a, b] : fresh_) number[a >> 1] = number[b >> 1] = 1;
    Left left;
    for (std::uint32_t v = 0; v < only_.size(); ++v) {
      if (number[v] == 0) continue;  // what is in no clause any more does not matter
      left.original.push_back(left_.original[v]);
      number[v] = static_cast<std::int32_t>(left.original.size());
    }
    const auto put = [&](std::uint32_t l) {
      left.literals.push_back(l & 1 ? -number[l >> 1] : number[l >> 1]);
    };
    left.offsets.push_back(0);
    for (std::size_t c = 0; c < left_.clauses(); ++c) {
      if (went(c)) continue;
      for (std::int32_t i = left_.offsets[c]; i < left_.offsets[c + 1]; ++i)
        put(Clauses::code(left_.literals[i]));
      left.end(left_.weights[c], left_.hard[c]);
    }
    for (const auto& [a, b] : fresh_) {
      put(a);
      put(b);
      left.end(0, 1);
    }
    left_ = std::move(left);
  }

  // Literals that so many may become.
  static std::size_t most(std::size_t literals) {
    return std::min<std::size_t>(std::max(kLarge, literals + literals / 4), INT32_MAX);
  }

  static constexpr std::size_t kNoticed = 16, kFewParts = 16;  // one in so many variables
  static constexpr double kPrevails = 0.9;                     // share of the hard clauses
  static constexpr std::ptrdiff_t kMost = 100;                 // resolvents of a variable
  static constexpr std::size_t kLarge = 2'000'000, kFirstSlots = 1024;
  static constexpr std::uint8_t kGone = 2;  // of only_: 0 where the variable has other clauses

  Left& left_;
  Poll stopped_;
  std::vector<std::uint8_t> only_;
  std::vector<std::vector<std::uint32_t>> beside_;  // of literals that may go
  std::vector<std::uint64_t> met_;                  // clauses of two literals, with open addresses
  std::vector<std::pair<std::uint32_t, std::uint32_t>> fresh_;  // resolvents
  std::size_t many_ = 0, known_ = 0;
  bool refused_ = false;
  std::ptrdiff_t grown_ = 0, most_ = 0;  // literals
};

}  // namespace hardscape::maxsat
