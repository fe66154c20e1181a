// What is wished of a formula, and what is demanded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/methods/hitting/propagation.hpp"

namespace hardscape::maxsat {

// Literals, a soft clause of each, and what it costs where it does not hold.
struct Wishes {
  std::vector<std::uint32_t> literal, clause;
  std::vector<std::uint64_t> price;
  std::vector<std::uint32_t> by_price;  // the dearest first

  std::size_t size() const { return literal.size(); }

  // Demands the hard clauses of a formula; soft ones become wishes: themselves where they are
  // units, else the negation of a variable that relaxes them, after the formula's. False where that
  // was `stopped`; `contradicts` where the hard clauses contradict one another.
  bool take(const Instance& instance, const std::int64_t* weight, const std::uint8_t* hard,
            Propagation& propagation, const Poll& stopped, bool& contradicts) {
    std::vector<std::uint32_t> told;
    std::vector<std::uint32_t> of(2 * std::size_t{instance.num_variables}, 0);
    for (std::uint32_t c = 0; c < instance.num_clauses; ++c)
      for (const std::int32_t x : instance.literals(c).first(std::min(2u, instance.length(c))))
        ++of[Clauses::code(x)];
    propagation.reserve(instance.num_clauses, instance.start[instance.num_clauses], of);
    std::fill(of.begin(), of.end(), Propagation::kNone);
    std::uint32_t top = instance.num_variables;
    for (std::uint32_t c = 0; c < instance.num_clauses; ++c) {
      if (stopped(c)) return false;
      told.clear();
      for (const std::int32_t x : instance.literals(c)) told.push_back(Clauses::code(x));
      const auto dear = static_cast<std::uint64_t>(weight[c]);
      if (!hard[c] && told.size() == 1) {
        std::uint32_t& known = of[told[0]];
        if (known == Propagation::kNone) {
          known = static_cast<std::uint32_t>(size());
          add(told[0], c, dear);
        } else {
          price[known] += dear;
        }
        continue;
      }
      if (!hard[c]) {
        add(2 * top + 1, c, dear);
        told.push_back(2 * top++);
      }
      if (!propagation.add(told)) contradicts = true;
    }
    contradicts = contradicts || propagation.propagate() != Propagation::kNone;
    by_price.resize(size());
    for (std::uint32_t w = 0; w < size(); ++w) by_price[w] = w;
    std::stable_sort(by_price.begin(), by_price.end(),
                     [&](auto a, auto b) { return price[a] > price[b]; });
    return true;
  }

 private:
  void add(std::uint32_t l, std::uint32_t c, std::uint64_t dear) {
    literal.push_back(l);
    clause.push_back(c);
    price.push_back(dear);
  }
};

}  // namespace hardscape::maxsat
