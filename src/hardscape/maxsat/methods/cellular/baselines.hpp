// The operators that the paper's own took the place of (its Table 1), for comparison on the CPU:
// two-point crossover and the inversion of one gene, each of some individuals only, tournaments in
// the whole sub-population, and migration of the sorted best.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "maxsat/methods/cellular/genetics.hpp"

namespace hardscape::maxsat {

struct Operators {
  bool two_point = false, one_gene = false, panmictic = false, sorted = false;

  explicit Operators(std::uint64_t bits)
      : two_point(bits & 1), one_gene(bits & 2), panmictic(bits & 4), sorted(bits & 8) {}
};

inline std::size_t below(RandomStream& random, std::size_t count) {
  return static_cast<std::size_t>((random.next() >> 32) * count >> 32);
}

inline bool happens(RandomStream& random, std::uint64_t chance) {
  return random.next() >> 32 < chance;
}

// Second parent: the better of two of the whole sub-population, the first one on a tie.
template <class CostOf>
int panmictic_parent(const Torus& torus, std::uint64_t seed, int individual,
                     std::uint64_t generation, CostOf&& cost) {
  RandomStream random = cellular_stream(seed, individual, generation, Purpose::kSelection);
  const int start = individual / torus.cells() * torus.cells();
  const auto cells = static_cast<std::size_t>(torus.cells());
  const int first = start + static_cast<int>(below(random, cells));
  const int second = start + static_cast<int>(below(random, cells));
  return cost(second) < cost(first) ? second : first;
}

// Bits of word w from `from` to `to` - 1.
inline std::uint64_t bits_between(std::size_t w, std::size_t from, std::size_t to) {
  std::uint64_t mask = 0;
  for (std::size_t v = std::max(from, 64 * w); v < std::min(to, 64 * w + 64); ++v) {
    mask |= std::uint64_t{1} << (v - 64 * w);
  }
  return mask;
}

// What the mask of recombination is in `generation`: with the chance of it all bits between two
// points, else none.
inline std::pair<std::size_t, std::size_t> crossed(RandomStream& random, std::uint64_t chance,
                                                   std::size_t variables) {
  if (!happens(random, chance)) return {0, 0};
  const std::size_t a = below(random, variables + 1), b = below(random, variables + 1);
  return {std::min(a, b), std::max(a, b)};
}

// A child by the old operators where they are asked for, and by masks else.
inline void make_old_child(const Operators& operators, const Chances& chances, std::uint64_t seed,
                           int individual, std::uint64_t generation, std::size_t variables,
                           const std::uint64_t* parent1, const std::uint64_t* parent2,
                           std::uint64_t* child) {
  RandomStream recombination =
      cellular_stream(seed, individual, generation, Purpose::kRecombination);
  RandomStream mutation = cellular_stream(seed, individual, generation, Purpose::kMutation);
  const auto points = operators.two_point ? crossed(recombination, chances.recombination, variables)
                                          : std::pair<std::size_t, std::size_t>{0, 0};
  const std::size_t gene = operators.one_gene && happens(mutation, chances.mutation)
                               ? below(mutation, variables)
                               : variables;
  for (std::size_t w = 0; 64 * w < variables; ++w) {
    const std::uint64_t mask = operators.two_point
                                   ? bits_between(w, points.first, points.second)
                                   : random_mask(recombination, chances.recombination);
    const std::uint64_t flips = operators.one_gene
                                    ? bits_between(w, gene, std::min(gene + 1, variables))
                                    : random_mask(mutation, chances.mutation);
    child[w] = ((parent1[w] & ~mask) | (parent2[w] & mask)) ^ flips;
  }
}

// The best tenth of each sub-population take the places of the worst tenth of the next one.
inline void migrate_sorted(const Torus& torus, std::size_t words, std::uint64_t* bits,
                           std::int64_t* costs) {
  const auto cells = static_cast<std::size_t>(torus.cells());
  const auto islands = static_cast<std::size_t>(torus.islands());
  const std::size_t count = std::max<std::size_t>(1, cells / 10);
  std::vector<std::size_t> order(cells * islands);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto better = [&](std::size_t a, std::size_t b) {
    return Cost{costs[2 * a], costs[2 * a + 1]} < Cost{costs[2 * b], costs[2 * b + 1]};
  };
  std::vector<std::uint64_t> moved;
  std::vector<std::int64_t> paid;
  for (std::size_t island = 0; island < islands; ++island) {
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(island * cells);
    std::stable_sort(first, first + static_cast<std::ptrdiff_t>(cells), better);
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t from = first[static_cast<std::ptrdiff_t>(k)];
      moved.insert(moved.end(), bits + from * words, bits + (from + 1) * words);
      paid.insert(paid.end(), costs + 2 * from, costs + 2 * from + 2);
    }
  }
  for (std::size_t island = 0; island < islands; ++island) {
    const std::size_t source = (island + islands - 1) % islands;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t into = order[(island + 1) * cells - 1 - k], from = source * count + k;
      std::copy_n(moved.data() + from * words, words, bits + into * words);
      std::copy_n(paid.data() + 2 * from, 2, costs + 2 * into);
    }
  }
}

}  // namespace hardscape::maxsat
