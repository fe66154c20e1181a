// The tree of a search whose nodes are bounded many at a time elsewhere, by a GPU: what is open,
// which nodes are bounded next, and what the bounds need to know of them. Nodes are taken the
// deepest first, so that few are open, and where there are few, some levels are skipped.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ising/methods/semidefinite/bounded.hpp"
#include "ising/methods/semidefinite/branching.hpp"
#include "ising/methods/semidefinite/certificate.hpp"

namespace hardscape::ising {

template <int Limbs>
class Rounds {
 public:
  using Tree = Branching<Limbs>;
  using States = typename Tree::States;
  using Code = typename Tree::Code;

  // Of the tree below the states whose first `places` spins have numbers in [first, last). Nodes
  // of at most `leaf` spins are searched here. Duals have `slots` places to lie at.
  Rounds(const Tree& tree, int places, std::uint64_t first, std::uint64_t last, States pool,
         std::vector<Code> known, int leaf, int slots)
      : tree_(tree),
        pool_(std::move(pool)),
        leaf_(std::min(leaf, kLeafSpins)),
        task_{pool_, nullptr, places, first, last, Clock::time_point::max(), {}, {}} {
    task_.known = std::move(known);
    for (int slot = slots; slot-- > 0;) free_.push_back(slot);
    measure();
  }

  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  States& pool() { return pool_; }
  const Counted& counted() const { return task_.counted; }
  bool over() const { return begun_ && open_.empty() && leaves_.empty() && pending_.empty(); }
  int width() const { return tree_.n_ + 1; }

  // The nodes that are to be bounded: those below `most` open ones, but no more than `full` where
  // that is more than two for each of them.
  std::vector<Bounded> take(std::size_t most, std::size_t full, std::vector<double>& fields) {
    pool_.look();
    if (!begun_) {
      begun_ = true;
      admit({tree_.root_, 0, 0, kNowhere}, 0);
    }
    while (pending_.empty() && !pool_.bounded() && !open_.empty()) {
      const Open node = pop();
      release(node.slot);
      below(node, 1);
      search_leaves();
    }
    std::stable_sort(open_.begin(), open_.end(),
                     [](const Open& a, const Open& b) { return a.p < b.p; });
    const std::size_t count = std::min(open_.size(), most);
    int levels = 1;
    while (levels < kMostLevels && count << (levels + 1) <= full) ++levels;
    for (std::size_t i = 0; i < count; ++i) {
      const Open node = pop();
      if (node.slot != kNowhere) spent_.push_back(node.slot);
      below(node, levels);
    }
    return described(full, fields);
  }

  // Searches the leaves met; false if it was stopped.
  bool search_leaves(const volatile std::uint8_t* stop = nullptr) {
    while (!leaves_.empty()) {
      if (stop && *stop == kStop) return false;
      const Open leaf = std::move(leaves_.back());
      leaves_.pop_back();
      tree_.search_leaf(leaf.p, leaf.node, task_);
    }
    return true;
  }

  // What came of the nodes that were taken.
  void give(const Bound* bounds) {
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (bounds[i].cut) {
        ++task_.counted.cut;
        release(pending_[i].slot);
      } else {
        offer(pending_[i], bounds[i]);
        open_.push_back(std::move(pending_[i]));
      }
    }
    pending_.clear();
    from_.clear();
    for (const int slot : spent_) release(slot);
    spent_.clear();
    pool_.compact();
  }

 private:
  using Node = typename Tree::Node;
  static constexpr int kNowhere = -1, kMostLevels = 9, kRootRounds = 40, kFewRounds = 10,
                       kMostRounds = 24;

  struct Open {
    Node node;
    int p;               // spins that are fixed
    std::uint64_t bits;  // those of the first ones that differ from the gauge state
    int slot;            // where its dual is
  };

  // Of the couplings among the spins from each place on.
  void measure() {
    const int n = tree_.n_;
    for (auto* x : {&sizes_, &squares_, &largest_}) x->assign(n + 1, 0);
    for (int p = n; p-- > 0;) {
      sizes_[p] = sizes_[p + 1];
      squares_[p] = squares_[p + 1];
      largest_[p] = largest_[p + 1];
      for (int q = p + 1; q < n; ++q) {
        const double x = std::abs(tree_.fine_[tree_.at(p, q)]);
        sizes_[p] += x;
        squares_[p] += 2 * x * x;
        largest_[p] = std::max(largest_[p], x);
      }
    }
  }

  Open pop() {
    Open last = std::move(open_.back());
    open_.pop_back();
    return last;
  }

  void release(int slot) {
    if (slot != kNowhere) free_.push_back(slot);
  }

  // Some levels below a node, the nodes that are to be bounded.
  void below(const Open& above, int levels) {
    for (const bool differs : {true, false}) {
      Open child{above.node.child(tree_, above.p, differs != tree_.gauge_up_[above.p]), above.p + 1,
                 above.bits, above.slot};
      if (child.p <= task_.places) child.bits = above.bits << 1 | differs;
      admit(std::move(child), levels - 1);
    }
  }

  void admit(Open&& node, int levels) {
    const int under = task_.places - node.p;
    bool whole = true;
    if (under >= 0) {
      const std::uint64_t begin = node.bits << under, end = (node.bits + 1) << under;
      if (end <= task_.first || begin >= task_.last) return;
      whole = begin >= task_.first && end <= task_.last;
    }
    const int open = tree_.n_ - node.p;
    if (open <= leaf_ && whole) {
      ++task_.counted.nodes;
      leaves_.push_back(std::move(node));
    } else if (!pool_.bounded()) {
      node.slot = kNowhere;
      open_.push_back(std::move(node));
    } else if (levels > 0 && open > leaf_ + 1) {  // a bound is quicker than many leaves
      below(node, levels);
    } else {
      from_.push_back(node.slot);
      node.slot = kNowhere;
      if (!free_.empty()) {
        node.slot = free_.back();
        free_.pop_back();
      }
      pending_.push_back(std::move(node));
    }
  }

  std::vector<Bounded> described(std::size_t full, std::vector<double>& fields) {
    // Who is slow would be waited for; its children go on from where it ended, side by side.
    const int rounds = pending_.size() <= full ? kFewRounds : kMostRounds;
    std::vector<Bounded> all;
    fields.assign(pending_.size() * width(), 0);
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      const Open& one = pending_[i];
      const int open = tree_.n_ - one.p;
      double sum = sizes_[one.p], squares = 0, largest = largest_[one.p];
      for (int q = 0; q < open; ++q) {
        const double x = tree_.fine(one.node.fields[q]);
        fields[i * width() + open - q] = x;
        sum += std::abs(x);
        squares += x * x;
        largest = std::max(largest, std::abs(x));
      }
      // Variable 0 may stand for many; the others set the scale.
      if (squares_[one.p] > 0) squares = squares_[one.p];
      const double m = open + 1, scale = squares > 0 ? std::sqrt(squares / (m * m)) : 1.0;
      const Grid grid = Grid::of(sum);
      const bool root = one.p == 0;
      all.push_back({tree_.wanted(one.node, open, pool_), scale, grid.unit, grid.most, open + 1,
                     from_[i], one.slot, root ? kRootRounds : rounds, root,
                     bits_of(largest / scale), last_ones(one), 0});
      ++task_.counted.nodes;
    }
    return all;
  }

  // Which of the spins that were fixed last are up, the last one first.
  std::int32_t last_ones(const Open& one) const {
    std::uint32_t up = 0;
    for (int k = 0; k < std::min(one.p, kMostLevels); ++k) {
      up |= std::uint32_t{one.node.code.at(tree_.label_[one.p - 1 - k])} << k;
    }
    return static_cast<std::int32_t>(up);
  }

  // Of a multiplier below 1, so that entries have 27 at most and leave room for sums of
  // multipliers.
  static int bits_of(double largest) {
    int bits = 20;
    while (std::ldexp(largest, bits) > 0x1p27) --bits;
    return bits;
  }

  // The state that a bound came upon, if it may be wanted.
  void offer(const Open& one, const Bound& bound) {
    const int p = one.p, open = tree_.n_ - p;
    if (bound.rounded > tree_.wanted(one.node, open, pool_)) return;
    const auto is_down = [&](int q) {
      const int variable = open - q;
      return bound.down[variable / 32] >> variable % 32 & 1;
    };
    std::uint64_t bits = one.bits;
    for (int q = 0; p + q < task_.places; ++q) {
      bits = bits << 1 | (tree_.gauge_up_[p + q] == is_down(q));
    }
    if (bits < task_.first || bits >= task_.last) return;
    auto exact = one.node.energy;
    Code code = one.node.code;
    for (int q = 0; q < open; ++q) {
      auto own = one.node.fields[q];
      for (int r = 0; r < q; ++r) own += tree_.coupling(p + q, p + r).flipped(is_down(r));
      exact += own.flipped(is_down(q));
      if (!is_down(q)) code.set(tree_.label_[p + q]);
    }
    auto& known = task_.known;
    const auto place = std::lower_bound(known.begin(), known.end(), code);
    if (place != known.end() && *place == code) return;
    known.insert(place, code);
    pool_.offer(exact, code);
  }

  const Tree& tree_;
  States pool_;
  int leaf_;
  typename Tree::Task task_;
  bool begun_ = false;
  std::vector<double> sizes_, squares_, largest_;
  std::vector<Open> open_, pending_, leaves_;
  std::vector<int> from_;  // where the duals that pending nodes go on from are
  std::vector<int> free_, spent_;
};

}  // namespace hardscape::ising
