// One part of a circuit under 512 sets of faults at once, a bit each: which of them satisfy its
// constraints.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "maxsat/methods/diagnosis/circuit.hpp"
#include "maxsat/methods/diagnosis/dominators.hpp"

namespace hardscape::maxsat {

class Worlds {
 public:
  static constexpr std::uint32_t kNone = Circuit::kNone;
  static constexpr std::size_t kCount = 512;
  using Mask = std::array<std::uint64_t, kCount / 64>;

  // What may be given up in this part: a wish, whether it is behind a constraint, and the gates
  // that it is behind, whose outputs may then be flipped.
  struct Fault {
    std::uint32_t wish;
    std::uint64_t price;
    bool constrained;
    std::vector<std::uint32_t> gates;
  };

  // Gates that some constraint depends on, in their order, and the constraints of one part; writes
  // the places of variables.
  Worlds(const Circuit& circuit, std::span<const std::uint32_t> gates,
         std::span<const Circuit::Constraint> constraints, const Dominators& dominators,
         std::vector<std::uint32_t>& place) {
    for (std::uint32_t g = 0; g < gates.size(); ++g) place[circuit.gates()[gates[g]].variable] = g;
    const auto code = [&](std::uint32_t l) { return 2 * place[l >> 1] + (l & 1); };
    std::vector<std::pair<std::uint32_t, std::uint32_t>> behind;  // wish and gate, or kNone
    for (std::uint32_t g = 0; g < gates.size(); ++g) {
      const Circuit::Gate& gate = circuit.gates()[gates[g]];
      variable_.push_back(gate.variable);
      negated_.push_back(gate.negated ? ~std::uint64_t{0} : 0);
      for (std::uint32_t i = gate.first; i < gate.last; ++i) {
        for (const std::uint32_t l : circuit.cube(i)) literals_.push_back(code(l));
        cube_.push_back(static_cast<std::uint32_t>(literals_.size()));
      }
      cubes_.push_back(static_cast<std::uint32_t>(cube_.size()));
      if (gate.wish != kNone && !dominators.needless(gate.wish)) behind.push_back({gate.wish, g});
    }
    for (const Circuit::Constraint& each : constraints) {
      circuit.each_literal(each.clause, [&](std::uint32_t l) { literals_.push_back(code(l)); });
      cube_.push_back(static_cast<std::uint32_t>(literals_.size()));
      guard_.push_back(each.wish);
      if (each.wish != kNone) behind.push_back({each.wish, kNone});
    }
    gather(circuit, behind);
    for (std::uint32_t& wish : guard_) wish = wish == kNone ? kNone : fault_of(wish);
    value_.resize(gates.size());
    flipped_.resize(gates.size());
    allowed_.resize(faults_.size());
  }

  // The cheapest first.
  const std::vector<Fault>& faults() const { return faults_; }
  // The place of a wish's, or kNone.
  std::uint32_t fault_of(std::uint32_t wish) const {
    const auto at = std::lower_bound(place_.begin(), place_.end(), std::pair{wish, 0u});
    return at != place_.end() && at->first == wish ? at->second : kNone;
  }
  std::uint32_t variable(std::uint32_t gate) const { return variable_[gate]; }
  // Literals that one evaluation looks at.
  std::size_t size() const { return literals_.size(); }

  // In one world, flips a gate's output, or allows what a fault is behind to be violated.
  void flip(std::size_t world, std::uint32_t gate) { set(flipped_[gate], world); }
  void allow(std::size_t world, std::uint32_t fault) { set(allowed_[fault], world); }

  // The worlds in which all constraints hold that must; begins anew.
  const Mask& evaluate() {
    std::uint32_t cube = 0;
    for (std::uint32_t g = 0; g < value_.size(); ++g) {
      Mask any = flipped_[g];
      for (std::uint64_t& word : any) word ^= negated_[g];
      Mask holds{};
      for (; cube < cubes_[g]; ++cube) add(cube, holds);
      for (std::size_t i = 0; i < any.size(); ++i) value_[g][i] = any[i] ^ holds[i];
      flipped_[g].fill(0);
    }
    good_.fill(~std::uint64_t{0});
    for (const std::uint32_t fault : guard_) {
      Mask violated{};
      add(cube++, violated);
      for (std::size_t i = 0; i < violated.size(); ++i)
        good_[i] &= ~violated[i] | (fault == kNone ? 0 : allowed_[fault][i]);
    }
    for (const std::uint32_t fault : guard_)
      if (fault != kNone) allowed_[fault].fill(0);
    return good_;
  }

 private:
  static void set(Mask& mask, std::size_t world) {
    mask[world / 64] |= std::uint64_t{1} << world % 64;
  }

  // Adds the worlds in which all literals of a cube are false.
  void add(std::uint32_t cube, Mask& to) const {
    Mask all;
    all.fill(~std::uint64_t{0});
    for (std::uint32_t k = cube ? cube_[cube - 1] : 0; k < cube_[cube]; ++k) {
      const Mask& value = value_[literals_[k] >> 1];
      const std::uint64_t wanted = literals_[k] & 1 ? 0 : ~std::uint64_t{0};
      for (std::size_t i = 0; i < all.size(); ++i) all[i] &= value[i] ^ wanted;
    }
    for (std::size_t i = 0; i < all.size(); ++i) to[i] |= all[i];
  }

  void gather(const Circuit& circuit,
              std::vector<std::pair<std::uint32_t, std::uint32_t>>& behind) {
    std::sort(behind.begin(), behind.end());
    for (const auto& [wish, gate] : behind) {
      if (faults_.empty() || faults_.back().wish != wish)
        faults_.push_back({wish, circuit.wishes()[wish].price, false, {}});
      if (gate == kNone)
        faults_.back().constrained = true;
      else
        faults_.back().gates.push_back(gate);
    }
    std::stable_sort(faults_.begin(), faults_.end(),
                     [](const Fault& a, const Fault& b) { return a.price < b.price; });
    for (std::uint32_t f = 0; f < faults_.size(); ++f) place_.push_back({faults_[f].wish, f});
    std::sort(place_.begin(), place_.end());
  }

  std::vector<std::uint32_t> variable_, cubes_;  // of gates; cubes end before
  std::vector<std::uint64_t> negated_;
  std::vector<std::uint32_t> cube_, literals_;  // of cubes and constraints; literals end before
  std::vector<std::uint32_t> guard_;            // faults, of constraints
  std::vector<Fault> faults_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> place_;  // of wishes' faults
  std::vector<Mask> value_, flipped_, allowed_;
  Mask good_;
};

}  // namespace hardscape::maxsat
