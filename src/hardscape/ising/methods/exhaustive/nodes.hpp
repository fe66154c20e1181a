// Spins of an Ising model fixed from the highest position down: exact energies, bounds of what is
// below by floors, and what a search of the tree would visit.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "ising/methods/exhaustive/block/block.hpp"
#include "native/random.hpp"
#include "native/wide.hpp"

namespace hardscape::ising {

struct Shape {
  int num_spins, mid, fine_shift, filter_shift;
  std::int64_t slack;
};

// What a search is expected to visit: nodes of the tree, and roots whose blocks are walked.
struct Expected {
  double nodes = 0, roots = 0;
};

// `Code` is an unsigned integer with a bit for each spin: it holds a state, or the number of a
// root.
template <int Limbs, class Code>
class Nodes {
 public:
  using Integer = Wide<Limbs>;

  // fields (N, limbs) and couplings (N*N, limbs) by position; label[p] is the bit of the spin at
  // position p in a reported state, flipped where `gauge` has that bit.
  Nodes(const Shape& shape, const std::uint64_t* fields, const std::uint64_t* couplings,
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
  }

  // What a search visits of these roots while the threshold stays, estimated: at each position at
  // most `kept` nodes go on, picked in proportion to their weights from all in the order of the
  // room that their bounds leave (stratified sampling of a tree: Chen, SIAM J. Comput. 21 (1992)
  // 295).
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

 protected:
  // Exact energy of the spins set so far, offset included, and the fields on the positions below.
  struct Node {
    Integer energy;
    std::array<Integer, 8 * sizeof(Code)> field;
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

  const Integer& coupling(int p, int q) const {
    return couplings_[static_cast<std::size_t>(p) * shape_.num_spins + q];
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

  Shape shape_;
  Code gauge_;
  Integer offset_;
  std::vector<Integer> fields_, couplings_;
  std::vector<Integer> floors_;  // [p]: no pair energy of the spins below position p is lower
  std::vector<Code> label_;

 private:
  // A node that stands for `weight` of its position; `room`: its bound below the threshold.
  struct Sampled {
    Node node;
    Code bits = 0;
    double weight = 1, room = 0;
  };

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
};

}  // namespace hardscape::ising
