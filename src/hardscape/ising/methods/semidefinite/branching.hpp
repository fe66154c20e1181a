// Branch and bound for the lowest states of an Ising model, under semidefinite bounds.
//
// Spins are fixed in a given order; the values of the first ones number the units of work. A node
// is cut where its bound proves that no wanted state lies below it: energies are exact integers,
// bounds are of `fine` integers (exact >> shift), whose roundings `slack` counts.
#pragma once

#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "ising/methods/exhaustive/pool.hpp"
#include "ising/methods/patience.hpp"
#include "ising/methods/semidefinite/elliptope/elliptope.hpp"
#include "ising/methods/semidefinite/leaf.hpp"
#include "ising/methods/semidefinite/long_code.hpp"
#include "native/wide.hpp"

namespace hardscape::ising {

struct Counted {
  double nodes = 0, cut = 0, leaves = 0, candidates = 0;
  bool complete = true;
};

// What the children of the nodes above a place go on from, from the root on.
using Trail = std::vector<Dual>;

// Where searches ended, by the number that is next, for those that go on from there.
class Trails {
 public:
  Trail take(std::uint64_t next) {
    const std::lock_guard<std::mutex> locked(mutex_);
    const auto found = std::find_if(trails_.begin(), trails_.end(),
                                    [&](const auto& one) { return one.first == next; });
    if (found == trails_.end()) return {};
    Trail trail = std::move(found->second);
    trails_.erase(found);
    return trail;
  }

  void put(std::uint64_t next, Trail&& trail) {
    if (trail.empty()) return;
    const std::lock_guard<std::mutex> locked(mutex_);
    if (trails_.size() == kMost) trails_.erase(trails_.begin());
    trails_.emplace_back(next, std::move(trail));
  }

 private:
  static constexpr std::size_t kMost = 64;
  std::mutex mutex_;
  std::vector<std::pair<std::uint64_t, Trail>> trails_;
};

template <int Limbs>
class Rounds;

template <int Limbs>
class Branching {
 public:
  using Integer = Wide<Limbs>;
  using Code = LongCode;
  using States = Pool<Limbs, Code>;
  using Known = std::pair<Code, Integer>;  // a state and its energy

  // fields (N, limbs) and couplings (N*N, limbs) in the order in which spins are fixed; label[p] is
  // the bit of the spin at place p. `step`: energies differ by multiples of it, in fine units (1 if
  // shift).
  Branching(int shift, std::int64_t step, const std::uint64_t* fields,
            const std::uint64_t* couplings, const std::uint64_t* offset,
            std::vector<std::int64_t> label, const Code& gauge)
      : n_(static_cast<int>(label.size())), shift_(shift), step_(step), label_(std::move(label)) {
    for (const std::int64_t bit : label_) gauge_up_.push_back(gauge.at(bit));
    root_.energy = Integer::load(offset);
    for (int p = 0; p < n_; ++p) {
      root_.fields.push_back(Integer::load(fields + p * Limbs));
      for (int q = 0; q < n_; ++q) {
        couplings_.push_back(
            Integer::load(couplings + (static_cast<std::size_t>(p) * n_ + q) * Limbs));
        fine_.push_back(fine(couplings_.back()));
      }
    }
    sums_.assign(n_ + 1, 0);
    for (int p = n_; p-- > 0;) {
      sums_[p] = sums_[p + 1];
      for (int q = p + 1; q < n_; ++q) sums_[p] += fine_[at(p, q)];
    }
  }

  // Searches the states whose first `places` spins differ from the gauge where the bits of a number
  // in [first, last) are set, the first spin's bit being the highest; or those before another
  // `last`, which it sets, if it is asked to hand over or after `until`.
  // `pool` may hold the states that are `known`, in order.
  Counted run(int places, std::uint64_t first, std::uint64_t& last, States& pool,
              const std::vector<Known>& known, const volatile std::uint8_t* stop,
              Clock::time_point until) const {
    Task task{pool, stop, places, first, last, until, {}, {}};
    task.known = codes(known);
    task.resumed = trails_.take(first);
    Node node = root_;
    descend(0, 0, node, task, held_by_root(known));
    last = task.last;
    trails_.put(last, std::move(task.left));
    return task.counted;
  }

  // No state of these ranges of numbers, in order and apart, has a lower energy: the least bound of
  // the tree as it is after so many seconds, the most promising node first.
  std::optional<Integer> least_bound(
      int places, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges,
      double seconds) const {
    struct Open {
      Integer bound;
      int p;
      std::uint64_t bits;
      Node node;
    };
    const auto until = after(seconds);
    const auto later = [](const Open& a, const Open& b) { return b.bound < a.bound; };
    Elliptope elliptope;
    std::vector<Open> open;
    Node root = root_;
    const auto first = bound(0, root, elliptope);
    if (!first) return std::nullopt;
    open.push_back({*first, 0, 0, std::move(root)});
    while (!open.empty()) {
      std::pop_heap(open.begin(), open.end(), later);
      const Open least = std::move(open.back());
      open.pop_back();
      if (least.p == places || Clock::now() >= until) return least.bound;
      const Dual contracted = least.node.dual.contracted();
      for (const bool differs : {false, true}) {
        const std::uint64_t bits = least.bits << 1 | differs;
        const int below = places - least.p - 1;
        const std::uint64_t begin = bits << below, end = (bits + 1) << below;
        const auto range = std::partition_point(
            ranges.begin(), ranges.end(), [&](const auto& one) { return one.second <= begin; });
        if (range == ranges.end() || range->first >= end) continue;
        Node child = least.node.child(*this, least.p, differs != gauge_up_[least.p]);
        child.dual = contracted;
        const auto own = bound(least.p + 1, child, elliptope);
        const Integer highest = own ? std::max(*own, least.bound) : least.bound;
        open.push_back({highest, least.p + 1, bits, std::move(child)});
        std::push_heap(open.begin(), open.end(), later);
      }
    }
    return std::nullopt;
  }

  // W of all open spins, but for row 0, and its width: see `fill`.
  std::pair<std::vector<double>, std::size_t> pairs() const {
    Node node = root_;
    std::fill(node.fields.begin(), node.fields.end(), Integer::zero());
    std::vector<double> w;
    fill(0, node, w);
    return {std::move(w), static_cast<std::size_t>(n_) + 1};
  }

  // Share of random paths that go on with the first of two children.
  static constexpr double kFirst = 0.7;

  // What a processor has spent on this thread.
  static double thread_seconds() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  // How long a search takes, in seconds, by one random path from the root, along children that are
  // not cut: each stands for as many as it was likely (D. E. Knuth, Math. Comp. 29 (1975) 121).
  double probe(bool symmetric, std::uint64_t seed, States& pool, const std::vector<Known>& known,
               const volatile std::uint8_t* stop) const {
    Task task{pool, stop, 0, 0, 1, Clock::time_point::max(), {}, {}};
    task.known = codes(known);
    double seconds = 0, stands_for = 1;
    const auto is_done = [&](int p, Node& node, const Held& held) {
      const double began = thread_seconds();
      const bool leaf = n_ - p <= kLeafSpins;
      const bool done = leaf || cut(p, node, task, held);
      if (leaf) search_leaf(p, node, task);
      seconds += stands_for * (thread_seconds() - began);
      return done;
    };
    Node node = root_;
    Held held = held_by_root(known);
    if (is_done(0, node, held)) return seconds;
    for (int p = 0; *stop != kStop; ++p) {
      std::vector<std::pair<Node, Held>> open;  // the children that are not cut
      for (const bool other : {false, true}) {
        if (other && symmetric && p == 0) continue;
        const bool up = gauge_up_[p] != other;
        Node child = node.child(*this, p, up);
        child.dual = node.dual.contracted();
        Held below = held_below(held, p, up);
        if (!is_done(p + 1, child, below)) open.emplace_back(std::move(child), std::move(below));
      }
      if (open.empty()) break;
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      // The first child, nearer to the gauge state, has more below it.
      const bool second = static_cast<double>(seed >> 11) * 0x1p-53 >= kFirst;
      if (open.size() > 1) stands_for /= second ? 1 - kFirst : kFirst;
      std::tie(node, held) = std::move(open[second && open.size() > 1]);
    }
    return seconds;
  }

 private:
  friend class Rounds<Limbs>;

  struct Node {
    Integer energy;               // of the spins that are fixed
    std::vector<Integer> fields;  // on the others
    Code code{};                  // the state, open spins down
    Dual dual;

    // With one spin more fixed, that at place p; it has no dual yet.
    Node child(const Branching& all, int p, bool up) const {
      Node child;
      child.energy = energy + fields[0].flipped(!up);
      child.fields.reserve(fields.size() - 1);
      for (std::size_t q = 1; q < fields.size(); ++q) {
        const Integer& coupling = all.couplings_[all.at(p, p + static_cast<int>(q))];
        child.fields.push_back(fields[q] + coupling.flipped(!up));
      }
      child.code = code;
      if (up) child.code.set(all.label_[p]);
      return child;
    }
  };

  struct Task {
    States& pool;
    const volatile std::uint8_t* stop;
    int places;
    std::uint64_t first, last;
    Clock::time_point until;
    Elliptope elliptope;
    std::vector<double> matrix;
    Counted counted{};
    std::vector<Code> known{};         // in order
    std::vector<const Dual*> trail{};  // what the children of the nodes above go on from
    Trail resumed{}, left{};           // the same where the search before this one ended; and here
  };

  const Integer& coupling(int p, int q) const {
    return couplings_[static_cast<std::size_t>(p) * n_ + q];
  }
  double fine(const Integer& x) const { return static_cast<double>(x.shifted(shift_, kFar)); }

  // Those of the known states that are below a node.
  using Held = std::vector<const Known*>;

  static std::vector<Code> codes(const std::vector<Known>& known) {
    std::vector<Code> codes;
    for (const Known& state : known) codes.push_back(state.first);
    return codes;
  }

  static Held held_by_root(const std::vector<Known>& known) {
    Held held;
    for (const Known& state : known) held.push_back(&state);
    return held;
  }

  Held held_below(const Held& held, int p, bool up) const {
    Held below;
    for (const Known* state : held) {
      if (state->first.at(label_[p]) == up) below.push_back(state);
    }
    return below;
  }

  // Whether a known state forbids that a node is cut.
  bool open_for_sure(const Node& node, const Held& held, const States& pool) const {
    const Integer most = pool.threshold();
    const bool below = !shift_ && node.code > pool.last_tie();  // see `wanted`
    return std::any_of(held.begin(), held.end(), [&](const Known* state) {
      return below ? state->second < most : !(most < state->second);
    });
  }

  void descend(int p, std::uint64_t bits, Node& node, Task& task, const Held& held) const {
    const int below = task.places - p;
    bool whole = true;  // whether all below this node is to be searched
    if (below >= 0) {
      const std::uint64_t begin = bits << below, end = (bits + 1) << below;
      if (end <= task.first || begin > task.last) return;
      if (begin > task.first && (*task.stop == kHandOver || Clock::now() >= task.until)) {
        task.last = begin;
      }
      if (begin == task.last) {
        for (const Dual* dual : task.trail) task.left.push_back(*dual);
        return;
      }
      whole = begin >= task.first && end <= task.last;
    }
    if (*task.stop == kStop) task.counted.complete = false;
    if (!task.counted.complete) return;
    ++task.counted.nodes;
    task.pool.look();
    if (n_ - p <= kLeafSpins && below <= 0) {
      search_leaf(p, node, task);
      return;
    }
    if (whole && task.pool.bounded() && cut(p, node, task, held)) {
      ++task.counted.cut;
      return;
    }
    const bool resumed =
        !whole && task.resumed.size() > task.trail.size() && bits << below < task.first;
    const Dual contracted = resumed ? std::move(task.resumed[p]) : node.dual.contracted();
    task.trail.push_back(&contracted);
    for (const bool differs : {false, true}) {
      const bool up = differs != gauge_up_[p];
      Node child = node.child(*this, p, up);
      child.dual = contracted;
      descend(p + 1, bits << 1 | differs, child, task, held_below(held, p, up));
    }
    task.trail.pop_back();
  }

  // The highest relative energy, in fine units, that a wanted state below the node can have.
  double wanted(const Node& node, int open, const States& pool) const {
    const Integer room = pool.threshold() - node.energy;
    auto most = static_cast<double>(room.shifted(shift_, kFar));
    if (shift_) return most + 2 + 0.5 * open * (open + 1);
    if (node.code > pool.last_tie()) most -= 1;
    // All relative energies leave the same remainder.
    double sum = sums_[n_ - open];
    for (const Integer& field : node.fields) sum += fine(field);
    return most - positive_remainder(most - sum);
  }

  double positive_remainder(double x) const {
    const auto step = static_cast<double>(step_);
    const double rest = std::fmod(x, step);
    return rest < 0 ? rest + step : rest;
  }

  std::size_t at(int p, int q) const { return static_cast<std::size_t>(p) * n_ + q; }

  // Variable 0 stands for all that is fixed; the next spin to be fixed is the last one.
  void fill(int p, const Node& node, std::vector<double>& w) const {
    const int open = n_ - p, m = open + 1;
    w.assign(static_cast<std::size_t>(m) * m, 0);
    for (int q = 0; q < open; ++q) {
      const int row = open - q;
      w[row] = w[static_cast<std::size_t>(row) * m] = fine(node.fields[q]);
      for (int r = q + 1; r < open; ++r) {
        const int col = open - r;
        const double x = fine_[at(p + q, p + r)];
        w[static_cast<std::size_t>(row) * m + col] = x;
        w[static_cast<std::size_t>(col) * m + row] = x;
      }
    }
  }

  // No state below the node has a lower energy, if anything is found.
  std::optional<Integer> bound(int p, Node& node, Elliptope& elliptope) const {
    const int rounds = p == 0 ? 40 : 8;  // children go on from their parents
    std::vector<double> matrix;
    fill(p, node, matrix);
    const int open = n_ - p;
    const double found = elliptope.bound(open + 1, matrix.data(), rounds, node.dual);
    if (!(std::abs(found) < 0x1p60)) return std::nullopt;
    const double slack = shift_ ? 0.5 * open * (open + 1) : 0;
    const auto relative = static_cast<std::int64_t>(std::floor(found - slack));
    Integer exact;
    std::fill(std::begin(exact.word), std::end(exact.word), relative < 0 ? ~std::uint64_t{0} : 0);
    exact.word[0] = static_cast<std::uint64_t>(relative);
    for (int k = 0; k < shift_; ++k) exact += exact;
    return node.energy + exact;
  }

  bool cut(int p, Node& node, Task& task, const Held& held) const {
    fill(p, node, task.matrix);
    const int open = n_ - p;
    if (p > 0 && open_for_sure(node, held, task.pool)) {
      task.elliptope.improve(open + 1, task.matrix.data(), node.dual);
      return false;
    }
    return task.elliptope.exceeds(open + 1, task.matrix.data(), wanted(node, open, task.pool),
                                  node.dual, p == 0, task.stop);
  }

  void search_leaf(int p, const Node& node, Task& task) const {
    const int open = n_ - p;
    ++task.counted.leaves;
    LeafFields fields{};
    std::array<LeafFields, kLeafSpins> couplings{};
    for (int q = 0; q < open; ++q) {
      fields[q] = fine(node.fields[q]);
      for (int r = 0; r < open; ++r) couplings[q][r] = q == r ? 0 : fine_[at(p + q, p + r)];
    }
    const auto limit = [&] { return task.pool.bounded() ? wanted(node, open, task.pool) : 0x1p60; };
    std::uint64_t version = task.pool.version();
    double most = limit();
    search_spins(open, fields, couplings, most, [&](std::uint32_t down) {
      ++task.counted.candidates;
      offer(p, node, down, task);
      if (version != task.pool.version()) {
        version = task.pool.version();
        most = limit();
      }
      return most;
    });
    task.pool.compact();  // the next bounds profit from what was found
  }

  // The exact energy of a state of the open spins, bit q set where spin p + q is down.
  void offer(int p, const Node& node, std::uint32_t down, Task& task) const {
    Integer energy = node.energy;
    Code code = node.code;
    for (int q = 0; q < n_ - p; ++q) {
      const bool minus = down >> q & 1;
      Integer own = node.fields[q];
      for (int r = 0; r < q; ++r) own += coupling(p + q, p + r).flipped(down >> r & 1);
      energy += own.flipped(minus);
      if (!minus) code.set(label_[p + q]);
    }
    if (!std::binary_search(task.known.begin(), task.known.end(), code)) {
      task.pool.offer(energy, code);
    }
  }

  int n_, shift_;
  std::int64_t step_;
  std::vector<std::int64_t> label_;
  std::vector<bool> gauge_up_;
  Node root_;
  std::vector<Integer> couplings_;
  std::vector<double> fine_;
  std::vector<double> sums_;  // of the couplings among the spins from each place on
  mutable Trails trails_;
};

}  // namespace hardscape::ising
