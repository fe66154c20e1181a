// Wishes of which hard clauses forbid pairs are vertices of a weighted independent set, as those of
// vertex covers, auctions and packings; vertices with few neighbours give way (S. Lamm, C. Schulz,
// D. Strash, R. Williger and H. Zhang, ALENEX 2019). A vertex is a literal that occurs in nothing
// but its soft unit; its negation may occur in other clauses, too, unless it is plain.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/presolve/left.hpp"

namespace hardscape::maxsat {

class IndependentSet {
 public:
  // Looks at so many neighbours at most, and takes them from `looks`.
  IndependentSet(Left& left, std::size_t& looks, const Poll& stopped)
      : left_(left), looks_(looks), stopped_(stopped) {}

  // Says how variables that went follow from others, and what any assignment costs besides; adds
  // literals that may be taken to hold as hard units. False if stopped on the way.
  bool run(Links& links, unsigned __int128& constant) {
    if (!find()) return false;
    if (queue_.empty()) return true;
    const std::size_t all = looks_;
    const auto pays = [&] { return looks_ > 0 && all - looks_ < kTried + kEach * gone_; };
    for (std::size_t i = 0; i < queue_.size() && pays(); ++i) {
      if (stopped_(i)) return false;
      const std::uint32_t v = queue_[i];
      queued_[v] = 0;
      if (state_[v] == kPlain) reduce(v);
    }
    if (!changes()) return true;
    links.append(found_);
    constant += constant_;
    rewrite();
    return true;
  }

  // Whether clauses have changed: not for the sake of few variables.
  bool changes() const { return gone_ > 0 && kNoticed * gone_ >= left_.original.size(); }

 private:
  // Of a literal: no vertex, one, one of hard clauses of two alone, one that is settled.
  enum State : std::uint8_t { kOther, kVertex, kPlain, kTrue, kFalse, kWent };

  bool open(std::uint32_t l) const { return state_[l] == kVertex || state_[l] == kPlain; }

  std::uint32_t literal(std::size_t i) const { return Clauses::code(left_.literals[i]); }

  template <class Act>
  bool each_clause(Act&& act) {
    for (std::size_t c = 0; c < left_.clauses(); ++c) {
      if (stopped_(c)) return false;
      act(c, static_cast<std::size_t>(left_.offsets[c]),
          static_cast<std::size_t>(left_.offsets[c + 1]));
    }
    return true;
  }

  // Vertices, and what hard clauses of two forbid beside each.
  bool find() {
    const std::size_t codes = 2 * left_.original.size();
    if (left_.literals.size() > kMost || left_.clauses() == 0) return true;
    unit_.assign(codes, kNone);
    state_.assign(codes, kPlain);
    std::size_t units = 0;
    if (!each_clause([&](std::size_t c, std::size_t begin, std::size_t end) {
          if (end - begin != 1 || left_.hard[c]) return;
          units += unit_[literal(begin)] == kNone;
          state_[literal(begin) ^ 1] = kOther;
          if (unit_[literal(begin)] != kNone) state_[literal(begin)] = kOther;
          unit_[literal(begin)] = static_cast<std::uint32_t>(c);
        }))
      return false;
    if (kNoticed * units < left_.original.size()) return true;
    if (!each_clause([&](std::size_t c, std::size_t begin, std::size_t end) {
          const bool pair = left_.is_pair(c);
          if (end - begin == 1 && !left_.hard[c]) return;
          for (std::size_t i = begin; i < end; ++i) {
            state_[literal(i)] = kOther;
            std::uint8_t& other = state_[literal(i) ^ 1];
            if (!pair && other == kPlain) other = kVertex;
          }
        }))
      return false;
    for (std::uint32_t l = 0; l < codes; ++l)
      if (unit_[l] == kNone) state_[l] = kOther;
    beside_.resize(codes);
    if (!each_clause([&](std::size_t c, std::size_t, std::size_t) {
          if (!left_.is_pair(c)) return;
          const std::uint32_t a = left_.code(c, 0) ^ 1, b = left_.code(c, 1) ^ 1;
          if (open(a)) beside_[a].push_back(b);
          if (open(b)) beside_[b].push_back(a);
        }))
      return false;
    stands_.resize(codes);
    weight_.assign(codes, 0);
    queued_.assign(codes, 0);
    marked_.assign(codes, kNone);
    for (std::uint32_t l = 0; l < codes; ++l) {
      stands_[l] = l;
      if (!open(l)) continue;
      weight_[l] = left_.weights[unit_[l]];
      queue(l);
    }
    return true;
  }

  void queue(std::uint32_t l) {
    if (state_[l] != kPlain || queued_[l]) return;
    queued_[l] = 1;
    queue_.push_back(l);
  }

  // The neighbours of a vertex that are left.
  std::vector<std::uint32_t>& of(std::uint32_t l) {
    std::erase_if(beside_[l], [&](std::uint32_t u) { return state_[u] >= kTrue; });
    looks_ -= std::min(looks_, beside_[l].size() + 1);
    return beside_[l];
  }

  void reduce(std::uint32_t v) {
    const std::vector<std::uint32_t> near = of(v);
    if (near.size() > kNeighbours) return;
    bool vertices = true, clique = true;
    unsigned __int128 sum = 0;
    std::int64_t most = 0;
    for (const std::uint32_t u : near) {
      vertices &= open(u);
      sum += static_cast<std::uint64_t>(weight_[u]);
      most = std::max(most, weight_[u]);
      marked_[u] = v;
    }
    if (vertices && static_cast<std::uint64_t>(weight_[v]) >= sum) {
      settle(v, kTrue);
      for (const std::uint32_t u : near) settle(u, kFalse);
      return;
    }
    bool fewer = false;
    for (const std::uint32_t u : near) {
      if (!open(u)) continue;
      const auto common = std::ranges::count_if(of(u), [&](auto x) { return marked_[x] == v; });
      const bool inside = static_cast<std::size_t>(common) + 1 == near.size();
      clique &= inside;
      if (!inside || weight_[v] < weight_[u]) continue;
      move(v, u);
      settle(u, kFalse);
      marked_[u] = kNone;
      fewer = true;
      break;
    }
    if (fewer)
      queue(v);
    else if (vertices && clique)
      pass_on(v, near);
    else if (vertices && near.size() == 2 && weight_[v] >= most)
      join(v, near[0], near[1]);
  }

  void settle(std::uint32_t l, State as) {
    for (const std::uint32_t u : beside_[l])
      if (open(u)) queue(u);
    leave(l, as);
  }

  void leave(std::uint32_t l, State as) {
    state_[l] = as;
    std::vector<std::uint32_t>().swap(beside_[l]);
    ++gone_;
  }

  // Of neighbours that exclude one another one at most is true, which then costs what the vertex
  // is worth.
  void pass_on(std::uint32_t v, const std::vector<std::uint32_t>& near) {
    unless(v, near);
    for (const std::uint32_t u : near) {
      weight_[u] -= weight_[v];
      constant_ += static_cast<std::uint64_t>(weight_[v]);
      near_changed(u);
    }
    leave(v, kWent);
  }

  // Two neighbours of which one alone is never better than the vertex: y goes with x.
  void join(std::uint32_t v, std::uint32_t x, std::uint32_t y) {
    unless(v, {x, y});
    unless(y ^ 1, {x});
    move(x ^ 1, y ^ 1);
    constant_ += static_cast<std::uint64_t>(weight_[v]);
    weight_[x] = weight_[x] - weight_[v] + weight_[y];
    leave(v, kWent);
    for (const std::uint32_t u : of(x)) marked_[u] = x;
    const std::vector<std::uint32_t> others = of(y);
    if (state_[y] != kPlain) state_[x] = kVertex;
    leave(y, kWent);
    stands_[y] = x;
    for (const std::uint32_t u : others) {
      if (marked_[u] == x) continue;
      beside_[x].push_back(u);
      if (open(u)) beside_[u].push_back(x);
    }
    near_changed(x);
  }

  void near_changed(std::uint32_t l) {
    queue(l);
    for (const std::uint32_t u : of(l)) queue(u);
  }

  // A literal is true where none of some others is.
  void unless(std::uint32_t l, const std::vector<std::uint32_t>& others) {
    found_.gone.push_back(-left_.named(l));
    for (const std::uint32_t u : others) found_.literals.push_back(-left_.named(u));
    found_.offsets.push_back(static_cast<std::int32_t>(found_.literals.size()));
  }

  void move(std::uint32_t to, std::uint32_t from) {
    found_.moves.push_back(left_.named(to));
    found_.moves.push_back(left_.named(from));
  }

  // What stands for a literal.
  std::uint32_t root(std::uint32_t l) const {
    const bool goes = stands_[l] != l;
    std::uint32_t vertex = goes ? l : l ^ 1;
    while (stands_[vertex] != vertex) vertex = stands_[vertex];
    return goes ? vertex : vertex ^ 1;
  }

  // Puts x for what goes with it, and leaves out what went.
  void rewrite() {
    Left left;
    left.original = left_.original;
    left.offsets.push_back(0);
    const auto went = [&](std::size_t i) {
      return state_[literal(i)] == kWent || state_[root(literal(i) ^ 1)] == kWent;
    };
    each_clause([&](std::size_t c, std::size_t begin, std::size_t to) {
      for (std::size_t i = begin; i < to; ++i)
        if (went(i)) return;
      for (std::size_t i = begin; i < to; ++i)
        left.literals.push_back(Clauses::literal(root(literal(i))));
      const std::uint32_t l = literal(begin);
      const bool wish = !left_.hard[c] && to - begin == 1 && state_[l] != kOther;
      left.end(wish ? weight_[l] : left_.weights[c], left_.hard[c]);
    });
    for (std::uint32_t l = 0; l < state_.size(); ++l) {
      if (state_[l] != kTrue && state_[l] != kFalse) continue;
      left.literals.push_back(Clauses::literal(state_[l] == kTrue ? l : l ^ 1));
      left.end(0, 1);
    }
    left_ = std::move(left);
  }

  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kMost = 2'000'000;  // literals of a formula that is looked at
  static constexpr std::size_t kNoticed = 100;     // one in so many variables
  static constexpr std::size_t kNeighbours = 100;  // of a vertex that may go
  // Neighbours that are looked at, and for each vertex that went.
  static constexpr std::size_t kTried = 1'000'000, kEach = 1000;

  Left& left_;
  std::size_t& looks_;
  Poll stopped_;
  // Of each literal: its soft unit, its state, the literal that it goes with, what it is worth,
  // its neighbours, whether it is in the queue, and of which vertex it is known as a neighbour.
  std::vector<std::uint32_t> unit_, stands_, queue_, marked_;
  std::vector<std::uint8_t> state_, queued_;
  std::vector<std::int64_t> weight_;
  std::vector<std::vector<std::uint32_t>> beside_;
  Links found_;
  unsigned __int128 constant_ = 0;
  std::size_t gone_ = 0;
};

}  // namespace hardscape::maxsat
