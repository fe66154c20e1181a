// Exhaustive search for the lowest states of an Ising model on the CPU.
//
// Spins are renumbered by position: 14 low ones (a block), then `mid` ones walked by a Gray code,
// then the root ones, whose values number the units of work. Bit 0 is spin +1. Energies are exact
// integers; the walk itself is in `fine` integers (exact >> fine_shift) and the filter in 16 bits
// (fine >> filter_shift). `slack` bounds, in fine units, what the roundings can add up to, so that
// a block is skipped only when no state of it can be at or below the threshold:
// docs/theory/spectrum.md. The roots are the leaves of a binary tree over their spins, whose
// branches are cut by an exact bound.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include "ising/methods/exhaustive/block/block.hpp"
#include "ising/methods/exhaustive/crew.hpp"
#include "ising/methods/exhaustive/pool.hpp"
#include "ising/methods/exhaustive/walk.hpp"
#include "ising/methods/patience.hpp"
#include "native/wide.hpp"

namespace hardscape::ising {

// When a search leaves to others what it has not begun, from a multiple of 2^grain roots on.
struct Patience {
  int grain = 128;  // none by default
  Clock::time_point until = Clock::time_point::max();
};

template <int Limbs, class Code>
class Search : public BlockWalk<Limbs, Code> {
  using Base = BlockWalk<Limbs, Code>;

 public:
  using Base::Base;
  using typename Base::Integer;

  // Searches the roots of [first, last), or those before another `last`, which it sets. With fewer
  // than all spins, energies are the pair energies of those below position `spins`.
  Statistics run(int spins, Code first, Code& last, bool prune, Pool<Limbs, Code>& pool,
                 const volatile std::uint8_t* stop, const Patience& patience) const {
    Task task{{prune, pool, {}}, first, last, stop, patience};
    std::vector<Node> path(spins + 1);
    path[spins] = Node{};
    if (spins == shape_.num_spins) {
      path[spins].energy = offset_;
      std::copy(fields_.begin(), fields_.end(), path[spins].field.begin());
    }
    Walk walk;
    descend(spins, 0, 0, path, walk, task);
    last = task.last;
    return task.statistics;
  }

  // Raises the floors: floors[p] becomes the least pair energy of the spins below position p, found
  // by this very search one spin after the other (Russian doll search: Verfaillie, Lemaitre,
  // Schiex, AAAI 1996), from a position reached before and its least state, up to `limit` or to the
  // first that takes so many seconds. Returns the position reached, and the least state there (bit
  // of a spin set: it is +1, turned to the gauge). With a crew, each of its threads calls this.
  std::tuple<int, Code> raise_floors(int reached, Code best, int limit, double seconds,
                                     const volatile std::uint8_t* stop, Crew* crew, bool leads) {
    const int above = kLow + shape_.mid;
    std::vector<Node> path(shape_.num_spins + 1);
    Walk walk;
    Integer unit = Integer::zero();
    unit.word[0] = 1;
    for (int p = std::max(reached + 1, above); p <= std::min(limit, shape_.num_spins); ++p) {
      const auto late = [began = Clock::now(), seconds] {
        return Clock::now() - began > std::chrono::duration<double>(seconds);
      };
      Integer least = floors_[p - 1];
      std::optional<Integer> threshold;
      if (p > above) {
        // The last doll's state, with the new spin in its field's favour, must be beaten strictly.
        Integer field = Integer::zero();
        for (int q = 0; q < p - 1; ++q) field += coupling(p - 1, q).flipped(!(best & label_[q]));
        least -= field.flipped(field.negative());
        best = field.negative() ? best | label_[p - 1] : best & ~label_[p - 1];
        threshold = least - unit;
      }
      path[p] = Node{};
      const auto found = least_pairs(p, threshold, path, walk, stop, crew, leads);
      if (!found) break;
      if (!found->empty()) {
        least = found->front().energy;
        best = found->front().state ^ gauge_;
      }
      reached = p;
      if (leads) {
        floors_[p] = std::max(floors_[p], least);
        if (crew && late()) crew->enough = true;
      }
      if (crew) crew->meet();
      if (crew ? crew->enough.load() : late()) break;
    }
    if (leads) raise_above(reached);
    return {reached, best};
  }

  // Lists the blocks given by number (root bits above mid bits), as found by another device.
  Statistics open(const std::uint64_t* blocks, std::size_t count, Pool<Limbs, Code>& pool) const {
    Visit visit{false, pool, {}};
    Walk walk;
    std::optional<Code> entered;
    for (std::size_t i = 0; i < count; ++i) {
      const Code root = blocks[i] >> shape_.mid;
      if (entered != root) {
        enter_root(node_at(root, kLow + shape_.mid), code_of_root(root), walk);
        entered = root;
      }
      enter_mid(blocks[i] & ((std::uint64_t{1} << shape_.mid) - 1), walk);
      visit_block(walk, visit);
    }
    return visit.statistics;
  }

 private:
  using Base::bound, Base::code_of, Base::code_of_root, Base::coupling, Base::enter_mid,
      Base::enter_root, Base::fields_, Base::floors_, Base::gauge_, Base::label_, Base::node_at,
      Base::offset_, Base::raise_above, Base::set_spin, Base::shape_, Base::visit_block,
      Base::walk_blocks;
  using typename Base::Node, typename Base::Visit, typename Base::Walk;

  struct Task : Visit {
    Code first, last;
    const volatile std::uint8_t* stop;
    Patience patience;
    bool begun = false;    // something is done: a search that goes on later does not stand still
    bool leaving = false;  // what is not begun is left
    unsigned looked = 0;
    Crew* crew = nullptr;  // who shares 2^depth parts of 2^parts roots
    int parts = 0, depth = 0;

    // The number of a node that is a part of these, or above them; 0 of others.
    std::size_t shared(int below, Code bits) const {
      const int above = below - parts;
      if (!crew || above < 0 || above > depth) return 0;
      return std::size_t{1} << (depth - above) | static_cast<std::size_t>(bits);
    }

    // Whether a part of 2^below roots that is not begun is left to others.
    bool leaves(int below) {
      if (below < patience.grain || !begun) return false;
      if (!leaving) {
        leaving = *stop == kHandOver || (patience.until != Clock::time_point::max() &&
                                         ++looked % 8 == 0 && Clock::now() >= patience.until);
      }
      return leaving;
    }
  };

  // The least pair energy of the spins below position p, if it is below a threshold; nothing where
  // somebody was stopped.
  std::optional<std::vector<Candidate<Limbs, Code>>> least_pairs(
      int p, const std::optional<Integer>& threshold, std::vector<Node>& path, Walk& walk,
      const volatile std::uint8_t* stop, Crew* crew, bool leads) const {
    Pool<Limbs, Code> pool(1, false, std::nullopt, threshold);
    // Pair energies do not change when all spins flip: the last one may stay at +1.
    const int bits = std::max(p - kLow - shape_.mid - 1, 0);
    Task task{{true, pool, {}}, 0, Code{1} << bits, stop, {}};
    if (!crew) {
      descend(p, 0, 0, path, walk, task);
      if (!task.statistics.complete) return std::nullopt;
      return pool.take_sorted();
    }
    if (leads) crew->clear<Limbs, Code>();
    crew->meet();
    try {
      const auto board = crew->board<Limbs, Code>();
      pool.join(board);
      task.crew = crew;
      task.parts = std::max(bits - Crew::kPartBits, 0);
      task.depth = bits - task.parts;
      descend(p, 0, 0, path, walk, task);
      if (!task.statistics.complete) crew->stopped = true;
      const auto found = pool.take_sorted();
      while (!board.tell(found, 1, false, std::nullopt)) std::this_thread::yield();
      crew->meet();
      if (crew->stopped) return std::nullopt;
      const auto lowest = board.lowest();
      std::vector<Candidate<Limbs, Code>> all;
      if (lowest) all.push_back(*lowest);
      return all;
    } catch (...) {
      crew->leave();
      throw;
    }
  }

  // Walks the roots of [first, last) whose upper bits are `bits`, with positions below p open.
  // `code` is the state as reported, open spins down: the least code below this node.
  void descend(int p, Code bits, Code code, std::vector<Node>& path, Walk& walk, Task& task) const {
    const int below = p - kLow - shape_.mid;  // root spins still open
    const Code begin = bits << below;
    const Code end = begin + (Code{1} << below);
    if (!task.statistics.complete || end <= task.first || begin >= task.last) return;
    if (*task.stop == kStop) {
      task.statistics.complete = false;
      return;
    }
    const std::size_t shared = task.shared(below, bits);
    if (shared && task.crew->gone(shared)) return;
    task.pool.look();
    const Node& node = path[p];
    if (task.prune && task.pool.bounded() && task.pool.excludes(bound(node, p), code)) {
      const auto roots =
          static_cast<double>(std::min(end, task.last) - std::max(begin, task.first));
      task.statistics.blocks += std::ldexp(roots, shape_.mid);
      task.statistics.pruned += std::ldexp(roots, shape_.mid);
      task.begun = true;
      if (shared) task.crew->take(shared);
      return;
    }
    if (task.leaves(below)) {
      task.last = begin;
      return;
    }
    if (shared && below == task.parts && !task.crew->take(shared)) return;
    if (below == 0) {
      enter_root(node, code, walk);
      walk_blocks(walk, task);
      task.begun = true;
      return;
    }
    // The gauge state's value first: low states early make a tight threshold.
    for (const bool minus : {false, true}) {
      set_spin(p - 1, minus, node, path[p - 1]);
      descend(p - 1, bits << 1 | minus, code | code_of(p - 1, minus), path, walk, task);
    }
  }
};

}  // namespace hardscape::ising
