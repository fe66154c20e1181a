// Faults that are never needed: what a gate's output decides passes through another gate, in every
// part, whose wish is no dearer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "maxsat/methods/diagnosis/circuit.hpp"

namespace hardscape::maxsat {

class Dominators {
 public:
  explicit Dominators(const Circuit& circuit, std::size_t variables)
      : circuit_(circuit),
        node_(variables),
        constraint_(circuit.wishes().size(), kNone),
        met_(circuit.wishes().size(), 0),
        instead_(circuit.wishes().size()) {}

  // Takes one part: gates that some constraint depends on, in their order, and its constraints.
  void add(std::span<const std::uint32_t> gates, std::span<const Circuit::Constraint> constraints) {
    // Node 0 is behind all constraints. Then come gates, and constraints by their wishes.
    parent_.assign(1 + gates.size(), kNone);
    depth_.assign(1 + gates.size(), 0);
    wish_.assign(1, kNone);
    for (std::uint32_t g = 0; g < gates.size(); ++g) {
      const Circuit::Gate& gate = circuit_.gates()[gates[g]];
      node_[gate.variable] = g + 1;
      wish_.push_back(gate.wish);
    }
    for (const Circuit::Constraint& each : constraints) {
      const std::uint32_t node = node_of(each.wish);
      circuit_.each_literal(each.clause, [&](std::uint32_t l) { join(node_[l >> 1], node); });
    }
    for (auto g = static_cast<std::uint32_t>(gates.size()); g-- > 0;) {
      const Circuit::Gate& gate = circuit_.gates()[gates[g]];
      depth_[g + 1] = depth_[parent_[g + 1]] + 1;
      for (std::uint32_t i = gate.first; i < gate.last; ++i)
        for (const std::uint32_t l : circuit_.cube(i)) join(node_[l >> 1], g + 1);
      if (gate.wish != kNone) meet(gate.wish, parent_[g + 1]);
    }
    for (const Circuit::Constraint& each : constraints)
      if (each.wish != kNone) {
        meet(each.wish, 0);
        constraint_[each.wish] = kNone;
      }
  }

  // Whether a wish need never be given up.
  bool needless(std::uint32_t wish) const { return met_[wish] && !instead_[wish].empty(); }

 private:
  static constexpr std::uint32_t kNone = Circuit::kNone;

  std::uint32_t node_of(std::uint32_t wish) {
    if (wish == kNone) return 0;
    if (constraint_[wish] == kNone) {
      constraint_[wish] = static_cast<std::uint32_t>(parent_.size());
      parent_.push_back(0);
      depth_.push_back(1);
      wish_.push_back(wish);
    }
    return constraint_[wish];
  }

  // All ways from a node that were known, and those through another, meet at its parent.
  void join(std::uint32_t node, std::uint32_t through) {
    std::uint32_t& at = parent_[node];
    if (at == kNone) {
      at = through;
      return;
    }
    while (at != through) {
      if (depth_[at] >= depth_[through])
        at = parent_[at];
      else
        through = parent_[through];
    }
  }

  // What may be given up in place of a wish: of what it may be so far, what all ways from a node on
  // pass through.
  void meet(std::uint32_t wish, std::uint32_t node) {
    passed_.clear();
    for (; node != 0; node = parent_[node]) {
      const std::uint32_t other = wish_[node];
      if (other != kNone && other != wish &&
          circuit_.wishes()[other].price <= circuit_.wishes()[wish].price)
        passed_.push_back(other);
    }
    std::vector<std::uint32_t>& instead = instead_[wish];
    if (!met_[wish])
      instead = passed_;
    else
      std::erase_if(instead, [&](std::uint32_t other) {
        return std::find(passed_.begin(), passed_.end(), other) == passed_.end();
      });
    met_[wish] = 1;
  }

  const Circuit& circuit_;
  std::vector<std::uint32_t> node_;                   // of variables
  std::vector<std::uint32_t> constraint_;             // nodes of wishes, of a part
  std::vector<std::uint32_t> parent_, depth_, wish_;  // of nodes
  std::vector<std::uint8_t> met_;                     // of wishes
  std::vector<std::vector<std::uint32_t>> instead_;   // of wishes
  std::vector<std::uint32_t> passed_;
};

}  // namespace hardscape::maxsat
