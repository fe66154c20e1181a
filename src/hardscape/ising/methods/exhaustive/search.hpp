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
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <queue>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "ising/methods/exhaustive/block.hpp"
#include "ising/methods/exhaustive/crew.hpp"
#include "ising/methods/exhaustive/pool.hpp"
#include "ising/methods/patience.hpp"
#include "native/random.hpp"
#include "native/wide.hpp"

namespace hardscape::ising {

using Longs = std::int64_t __attribute__((vector_size(64)));
constexpr int kMaxMid = 16;

struct Shape {
  int num_spins, mid, fine_shift, filter_shift;
  std::int64_t slack;
};

struct Statistics {
  double blocks = 0, pruned = 0, opened = 0, candidates = 0;  // there may be more than 2^64 blocks
  bool complete = true;
};

// When a search leaves to others what it has not begun, from a multiple of 2^grain roots on.
struct Patience {
  int grain = 128;  // none by default
  Clock::time_point until = Clock::time_point::max();
};

// What a search is expected to visit: nodes of the tree, and roots whose blocks are walked.
struct Expected {
  double nodes = 0, roots = 0;
};

// `Code` is an unsigned integer with a bit for each spin: it holds a state, or the number of a
// root.
template <int Limbs, class Code>
class Search {
 public:
  using Integer = Wide<Limbs>;

  // fields (N, limbs) and couplings (N*N, limbs) by position; label[p] is the bit of the spin at
  // position p in a reported state, flipped where `gauge` has that bit.
  Search(const Shape& shape, const std::uint64_t* fields, const std::uint64_t* couplings,
         const std::uint64_t* offset, const std::int64_t* label, Code gauge)
      : shape_(shape), gauge_(gauge), offset_(Integer::load(offset)) {
    const int n = shape.num_spins;
    for (int p = 0; p < n; ++p) {
      fields_.push_back(Integer::load(fields + p * Limbs));
      label_.push_back(Code{1} << label[p]);
      for (int q = 0; q < n; ++q) {
        couplings_.push_back(
            Integer::load(couplings + (static_cast<std::size_t>(p) * n + q) * Limbs));
      }
    }
    floors_.push_back(Integer::zero());
    for (int p = 0; p < n; ++p) {
      Integer floor = floors_.back();
      for (int q = 0; q < p; ++q) floor -= coupling(p, q).flipped(coupling(p, q).negative());
      floors_.push_back(floor);
    }
    fill_tables();
  }

  // Searches the roots of [first, last), or those before another `last`, which it sets. With fewer
  // than all spins, energies are the pair energies of those below position `spins`.
  Statistics run(int spins, Code first, Code& last, bool prune, Pool<Limbs, Code>& pool,
                 const volatile std::uint8_t* stop, const Patience& patience) const {
    Task task{first, last, prune, pool, stop, {}, patience};
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

  // What run() visits of these roots while the threshold stays, estimated: at each position at most
  // `kept` nodes go on, picked in proportion to their weights from all in the order of the room
  // that their bounds leave (stratified sampling of a tree: Chen, SIAM J. Comput. 21 (1992) 295).
  Expected expected(Code first, Code last, const Integer& threshold, std::size_t kept) const {
    const int above = kLow + shape_.mid;
    Expected found;
    RandomStream random(0, static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last));
    std::vector<Sampled> level(1), next, left;
    level[0].node.energy = offset_;
    std::copy(fields_.begin(), fields_.end(), level[0].node.field.begin());
    for (int p = shape_.num_spins; p > above && !level.empty(); --p) {
      next.clear();
      for (const Sampled& one : level) {
        for (const bool minus : {false, true}) {
          const Code bits = one.bits << 1 | minus;
          const int below = p - 1 - above;
          if ((bits + 1) << below <= first || bits << below >= last) continue;
          Sampled& child = next.emplace_back();
          set_spin(p - 1, minus, one.node, child.node);
          child.bits = bits;
          child.weight = one.weight;
          child.room = (threshold - bound(child.node, p - 1)).to_double(0);
          found.nodes += child.weight;
          if (child.room < 0) next.pop_back();
        }
      }
      thin(next, kept, random, left);
      level.swap(next);
    }
    for (const Sampled& one : level) found.roots += one.weight;
    return found;
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

  // Takes the floor of a position, and raises those above it by what a spin more can change.
  void raise_floor(int p, const Integer& floor) {
    floors_[p] = std::max(floors_[p], floor);
    raise_above(p);
  }

  // No state below the roots of these ranges (in order, apart) has a lower energy: the least bound
  // of the tree cut at so many nodes, or at its leaves, the most promising node first.
  std::optional<Integer> least_bound(const std::vector<std::pair<Code, Code>>& ranges,
                                     int nodes) const {
    const int above = kLow + shape_.mid;
    struct Open {
      Integer bound;
      int p;
      Code bits;
      bool operator<(const Open& other) const { return other.bound < bound; }
    };
    std::priority_queue<Open> open;
    open.push({bound(node_at(0, shape_.num_spins), shape_.num_spins), shape_.num_spins, 0});
    while (!open.empty()) {
      const Open least = open.top();
      if (least.p == above || nodes-- == 0) return least.bound;
      open.pop();
      const Node parent = node_at(least.bits, least.p);
      for (const bool minus : {false, true}) {
        const int p = least.p - 1;
        const Code bits = least.bits << 1 | minus;
        const Code begin = bits << (p - above), end = begin + (Code{1} << (p - above));
        const auto range = std::partition_point(
            ranges.begin(), ranges.end(), [&](const auto& one) { return one.second <= begin; });
        if (range == ranges.end() || range->first >= end) continue;
        Node child;
        set_spin(p, minus, parent, child);
        open.push({std::max(least.bound, bound(child, p)), p, bits});
      }
    }
    return std::nullopt;
  }

  const std::vector<Integer>& floors() const { return floors_; }

  void set_floors(const std::uint64_t* words) {
    for (std::size_t p = 0; p < floors_.size(); ++p) floors_[p] = Integer::load(words + p * Limbs);
  }

  // Lists the blocks given by number (root bits above mid bits), as found by another device.
  Statistics open(const std::uint64_t* blocks, std::size_t count, Pool<Limbs, Code>& pool) const {
    static constexpr std::uint8_t kGo = 0;
    Task task{0, 0, false, pool, &kGo, {}, {}};
    Walk walk;
    std::optional<Code> entered;
    for (std::size_t i = 0; i < count; ++i) {
      const Code root = blocks[i] >> shape_.mid;
      if (entered != root) {
        enter_root(node_at(root, kLow + shape_.mid), code_of_root(root), walk);
        entered = root;
      }
      enter_mid(blocks[i] & ((std::uint64_t{1} << shape_.mid) - 1), walk);
      visit_block(walk, task);
    }
    return task.statistics;
  }

 private:
  // Exact energy of the spins set so far, offset included, and the fields on the positions below.
  struct Node {
    Integer energy;
    std::array<Integer, 8 * sizeof(Code)> field;
  };

  // A node that stands for `weight` of its position; `room`: its bound below the threshold.
  struct Sampled {
    Node node;
    Code bits = 0;
    double weight = 1, room = 0;
  };

  void raise_above(int reached) {
    for (int p = reached + 1; p <= shape_.num_spins; ++p) {
      Integer weak = floors_[p - 1];
      for (int q = 0; q < p - 1; ++q) {
        weak -= coupling(p - 1, q).flipped(coupling(p - 1, q).negative());
      }
      floors_[p] = std::max(floors_[p], weak);
    }
  }

  static void thin(std::vector<Sampled>& nodes, std::size_t kept, RandomStream& random,
                   std::vector<Sampled>& left) {
    if (nodes.size() <= kept) return;
    std::vector<std::uint32_t> order(nodes.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](auto i, auto j) { return nodes[i].room > nodes[j].room; });
    double whole = 0;
    for (const Sampled& one : nodes) whole += one.weight;
    const double step = whole / static_cast<double>(kept);
    double at = random.uniform() * step, passed = 0;
    left.clear();
    for (const auto i : order) {
      passed += nodes[i].weight;
      for (; at < passed; at += step) {
        left.push_back(nodes[i]);
        left.back().weight = step;
      }
    }
    nodes.swap(left);
  }

  struct Task {
    Code first, last;
    bool prune;
    Pool<Limbs, Code>& pool;
    const volatile std::uint8_t* stop;
    Statistics statistics;
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

  struct Walk {
    Code code = 0;  // state as reported, low spins down: the least code of the block
    Code root_code = 0;
    Node root;
    std::uint64_t mid = 0;
    std::int64_t base = 0;  // fine energy of the mid spins
    Fields low_field{};     // fine, from root and mid
    Longs mid_field[2]{};   // fine, from root and mid
    std::uint64_t version = ~std::uint64_t{0};
    Code last_tie = 0;
    std::int64_t target = 0;  // threshold - energy, in fine units, slack included
    BlockValues block;
  };

  // The least pair energy of the spins below position p, if it is below a threshold; nothing where
  // somebody was stopped.
  std::optional<std::vector<Candidate<Limbs, Code>>> least_pairs(
      int p, const std::optional<Integer>& threshold, std::vector<Node>& path, Walk& walk,
      const volatile std::uint8_t* stop, Crew* crew, bool leads) const {
    Pool<Limbs, Code> pool(1, false, std::nullopt, threshold);
    // Pair energies do not change when all spins flip: the last one may stay at +1.
    const int bits = std::max(p - kLow - shape_.mid - 1, 0);
    Task task{0, Code{1} << bits, true, pool, stop, {}, {}};
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

  const Integer& coupling(int p, int q) const {
    return couplings_[static_cast<std::size_t>(p) * shape_.num_spins + q];
  }

  std::int64_t rounded(const Integer& x, int shift) const {
    if (shift == 0) return x.shifted(0, kFar);
    Integer half = Integer::zero();
    half.word[(shift - 1) / 64] = std::uint64_t{1} << ((shift - 1) % 64);
    return (x + half).shifted(shift, kFar);
  }

  void fill_tables() {
    const int coarse = shape_.fine_shift + shape_.filter_shift;
    const auto pair_energy = [&](int first, int count, std::uint64_t x) {
      Integer sum = Integer::zero();
      for (int i = 0; i < count; ++i) {
        for (int j = 0; j < i; ++j) {
          sum += coupling(first + i, first + j).flipped(spin(x, i) != spin(x, j));
        }
      }
      return sum;
    };
    for (int x = 0; x < kStatesA; ++x) {
      exact_a_[x] = pair_energy(0, kSpinsA, x);
      tables_.pairs_a[x] = static_cast<std::int16_t>(rounded(exact_a_[x], coarse));
      for (int j = 0; j < kSpinsB; ++j) {
        Integer sum = Integer::zero();
        for (int i = 0; i < kSpinsA; ++i) sum += coupling(i, kSpinsA + j).flipped(spin(x, i) < 0);
        exact_cross_[j][x] = sum;
      }
    }
    std::optional<Integer> least;
    for (int b = 0; b < kStatesB; ++b) {
      exact_b_[b] = pair_energy(kSpinsA, kSpinsB, b);
      tables_.pairs_b[b] = static_cast<std::int32_t>(rounded(exact_b_[b], coarse));
      for (int x = 0; x < kStatesA; ++x) {
        Integer cross = Integer::zero();
        for (int j = 0; j < kSpinsB; ++j) cross += exact_cross_[j][x].flipped(spin(b, j) < 0);
        if (b < kStatesB / 2) {
          tables_.cross[b][x] = static_cast<std::int16_t>(rounded(cross, coarse));
        }
        const Integer energy = exact_a_[x] + exact_b_[b] + cross;
        if (!least || energy < *least) least = energy;
      }
    }
    least_pairs_ = least->shifted(shape_.fine_shift, kFar);
    for (int k = 0; k < shape_.mid; ++k) {
      for (int i = 0; i < kLow; ++i) {
        low_row_[k][i] =
            static_cast<std::int32_t>(2 * rounded(coupling(kLow + k, i), shape_.fine_shift));
      }
      for (int m = 0; m < shape_.mid; ++m) {
        if (m != k) {
          mid_row_[k][m / 8][m % 8] = 2 * rounded(coupling(kLow + k, kLow + m), shape_.fine_shift);
        }
      }
    }
  }

  // Sets the spin at position p of `parent` and leaves the result in `child`.
  void set_spin(int p, bool minus, const Node& parent, Node& child) const {
    child.energy = parent.energy + parent.field[p].flipped(minus);
    const Integer* row = &couplings_[static_cast<std::size_t>(p) * shape_.num_spins];
    for (int q = 0; q < p; ++q) child.field[q] = parent.field[q] + row[q].flipped(minus);
  }

  // No state below this node, with positions below p open, has a lower energy.
  Integer bound(const Node& node, int p) const {
    Integer bound = node.energy + floors_[p];
    for (int q = 0; q < p; ++q) bound -= node.field[q].flipped(node.field[q].negative());
    return bound;
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

  // The node at position `above` whose spins there and higher are `bits`.
  Node node_at(Code bits, int above) const {
    Node node;
    node.energy = offset_;
    std::copy(fields_.begin(), fields_.end(), node.field.begin());
    for (int p = shape_.num_spins - 1; p >= above; --p) {
      Node child;
      set_spin(p, bits >> (p - above) & 1, node, child);
      node = child;
    }
    return node;
  }

  // Bit that a spin contributes to the reported state.
  Code code_of(int p, bool minus) const {
    return (minus ? Code{0} : label_[p]) ^ (gauge_ & label_[p]);
  }

  Code code_of_root(Code root) const {
    const int above = kLow + shape_.mid;
    Code code = 0;
    for (int p = above; p < shape_.num_spins; ++p) code |= code_of(p, root >> (p - above) & 1);
    return code;
  }

  void enter_root(const Node& node, Code code, Walk& walk) const {
    walk.root = node;
    walk.root_code = code;
    walk.version = ~std::uint64_t{0};
    enter_mid(0, walk);
  }

  // Sets the mid spins to the bits of `mid`, from the root's fields.
  void enter_mid(std::uint64_t mid, Walk& walk) const {
    walk.mid = mid;
    walk.base = 0;
    walk.code = walk.root_code;
    for (int k = 0; k < shape_.mid; ++k) walk.code |= code_of(kLow + k, mid >> k & 1);
    for (int i = 0; i < kLow; ++i) {
      walk.low_field[i] = static_cast<std::int32_t>(rounded(walk.root.field[i], shape_.fine_shift));
    }
    for (int k = 0; k < shape_.mid; ++k) {
      walk.mid_field[k / 8][k % 8] = rounded(walk.root.field[kLow + k], shape_.fine_shift);
    }
    for (int k = 0; k < shape_.mid; ++k) {
      const int s = spin(mid, k);
      walk.base += s * walk.mid_field[k / 8][k % 8];  // spins below k are in the field already
      for (int i = 0; i < kLow; ++i) walk.low_field[i] += s * (low_row_[k][i] / 2);
      walk.mid_field[0] += s * (mid_row_[k][0] / 2);
      walk.mid_field[1] += s * (mid_row_[k][1] / 2);
    }
  }

  void walk_blocks(Walk& walk, Task& task) const {
    const std::uint64_t blocks = std::uint64_t{1} << shape_.mid;
    for (std::uint64_t i = 1;; ++i) {
      visit_block(walk, task);
      if (i == blocks) break;
      flip(__builtin_ctzll(i), walk);
    }
    task.statistics.blocks += blocks;
  }

  void flip(int k, Walk& walk) const {
    walk.mid ^= std::uint64_t{1} << k;
    walk.code ^= label_[kLow + k];
    const bool minus = walk.mid >> k & 1;
    const std::int64_t twice = 2 * walk.mid_field[k / 8][k % 8];
    if (minus) {
      walk.base -= twice;
      walk.low_field -= low_row_[k];
      walk.mid_field[0] -= mid_row_[k][0];
      walk.mid_field[1] -= mid_row_[k][1];
    } else {
      walk.base += twice;
      walk.low_field += low_row_[k];
      walk.mid_field[0] += mid_row_[k][0];
      walk.mid_field[1] += mid_row_[k][1];
    }
  }

  void visit_block(Walk& walk, Task& task) const {
    Pool<Limbs, Code>& pool = task.pool;
    if (walk.version != pool.version()) {
      walk.version = pool.version();
      walk.target = kFar;
      walk.last_tie = ~Code{0};
      if (pool.bounded()) {
        if (shape_.fine_shift == 0) walk.last_tie = pool.last_tie();
        walk.target =
            (pool.threshold() - walk.root.energy).shifted(shape_.fine_shift, kFar) + shape_.slack;
      }
    }
    // A block whose codes all come after the last tie has to beat the threshold strictly.
    const std::int64_t room = walk.target - walk.base - (walk.code > walk.last_tie);
    if (task.prune) {
      const Fields magnitude = walk.low_field < 0 ? -walk.low_field : walk.low_field;
      std::int32_t sum = 0;
      for (int i = 0; i < 16; ++i) sum += magnitude[i];
      if (least_pairs_ - sum > room) {
        ++task.statistics.pruned;
        return;
      }
    }
    alignas(64) std::int16_t field[16];
    const Fields half = Fields{} + (shape_.filter_shift ? 1 << (shape_.filter_shift - 1) : 0);
    const Fields scaled = (walk.low_field + half) >> shape_.filter_shift;
    for (int i = 0; i < kLow; ++i) field[i] = static_cast<std::int16_t>(scaled[i]);
    block_fields(tables_, field, walk.block);
    const std::int16_t least = block_minimum(tables_, walk.block);
    const std::int64_t cut = room >> shape_.filter_shift;
    if (least <= cut) {
      ++task.statistics.opened;
      open_block(walk, static_cast<int>(std::min<std::int64_t>(cut, 32767)), task);
    }
  }

  void open_block(const Walk& walk, int cut, Task& task) const {
    Integer base = walk.root.energy;
    std::array<Integer, kLow> field;
    for (int i = 0; i < kLow; ++i) field[i] = walk.root.field[i];
    for (int k = 0; k < shape_.mid; ++k) {
      const bool minus = walk.mid >> k & 1;
      Integer own = walk.root.field[kLow + k];
      for (int m = 0; m < k; ++m) own += coupling(kLow + k, kLow + m).flipped(walk.mid >> m & 1);
      base += own.flipped(minus);
      for (int i = 0; i < kLow; ++i) field[i] += coupling(kLow + k, i).flipped(minus);
    }
    for (int x = 0; x < kStatesA; ++x) {
      if (walk.block.lowest[x] > cut) continue;
      Integer energy_x = base + exact_a_[x];
      Code state_x = walk.code;
      for (int i = 0; i < kSpinsA; ++i) {
        energy_x += field[i].flipped(spin(x, i) < 0);
        state_x |= code_of(i, spin(x, i) < 0);
      }
      for (int b = 0; b < kStatesB; ++b) {
        if (walk.block.at(tables_, x, b) > cut) continue;
        Integer energy = energy_x + exact_b_[b];
        Code state = state_x;
        for (int j = 0; j < kSpinsB; ++j) {
          energy += (field[kSpinsA + j] + exact_cross_[j][x]).flipped(spin(b, j) < 0);
          state |= code_of(kSpinsA + j, spin(b, j) < 0);
        }
        ++task.statistics.candidates;
        task.pool.offer(energy, state);
      }
    }
  }

  Shape shape_;
  Code gauge_;
  Integer offset_;
  std::vector<Integer> fields_, couplings_;
  std::vector<Integer> floors_;  // [p]: no pair energy of the spins below position p is lower
  std::vector<Code> label_;
  BlockTables tables_;
  std::int64_t least_pairs_ = 0;  // least pair energy inside a block, in fine units, rounded down
  std::array<Integer, kStatesA> exact_a_;
  std::array<Integer, kStatesB> exact_b_;
  std::array<std::array<Integer, kStatesA>, kSpinsB> exact_cross_;
  Fields low_row_[kMaxMid]{};    // twice the coupling of a mid spin to the low spins, fine units
  Longs mid_row_[kMaxMid][2]{};  // and to the other mid spins
};

}  // namespace hardscape::ising
