// The cellular genetic algorithm of Munawar, Wahib, Munetomo and Akama, Genetic Programming and
// Evolvable Machines 10, 391 (2009): what host and device must do alike.
//
// Individuals live on a torus of sub-populations, each a torus of cells. A random stream is keyed
// by (seed, individual, generation, purpose), so a trajectory depends on nothing else.
#pragma once

#include "native/random.hpp"

namespace hardscape::maxsat {

// Violated hard clauses, then weight of the violated soft ones.
struct Cost {
  std::int64_t hard = 0, soft = 0;

  HS_HD Cost& operator+=(const Cost& other) {
    hard += other.hard;
    soft += other.soft;
    return *this;
  }
  HS_HD Cost& operator-=(const Cost& other) {
    hard -= other.hard;
    soft -= other.soft;
    return *this;
  }
  HS_HD bool positive() const { return hard > 0 || (hard == 0 && soft > 0); }
  HS_HD friend bool operator<(const Cost& a, const Cost& b) {
    return a.hard < b.hard || (a.hard == b.hard && a.soft < b.soft);
  }
};

enum class Purpose : std::uint64_t {
  kInitial = 1,
  kSelection = 2,
  kRecombination = 3,
  kMutation = 4,
  kDiffusion = 5,
  kWalk = 6,
};

HS_HD inline RandomStream cellular_stream(std::uint64_t seed, std::uint64_t individual,
                                          std::uint64_t generation, Purpose purpose) {
  return RandomStream(seed, generation << 32 | individual, static_cast<std::uint64_t>(purpose));
}

// Seed of one of several runs.
HS_HD inline std::uint64_t cellular_seed(std::uint64_t seed, std::uint64_t run) {
  return RandomStream(seed, run, 0).next();
}

// 64 independent bits, each 1 with probability chance / 2^32. Random words are compared with the
// chance bit by bit from the top, until all 64 comparisons are settled: 7 words on average.
HS_HD inline std::uint64_t random_mask(RandomStream& random, std::uint64_t chance) {
  if (chance >> 32) return ~std::uint64_t{0};
  if (chance == 0) return 0;
  std::uint64_t below = 0, open = ~std::uint64_t{0};
  for (int bit = 31; bit >= 0 && open; --bit) {
    const std::uint64_t drawn = random.next();
    if (chance >> bit & 1) {
      below |= open & ~drawn;
      open &= drawn;
    } else {
      open &= ~drawn;
    }
  }
  return below;
}

// `columns` x `rows` sub-populations of `width` x `height` cells.
struct Torus {
  int width, height, columns, rows;

  HS_HD int cells() const { return width * height; }
  HS_HD int islands() const { return columns * rows; }

  // The individual north (0), east (1), south (2) or west (3) of one. A sub-population is a torus
  // of its own; with diffusion all of them together are one.
  HS_HD int neighbour(int individual, int direction, bool diffusion) const {
    const int island = individual / cells(), cell = individual % cells();
    int x = cell % width, y = cell / width;
    int column = island % columns, row = island / columns;
    const int dx = direction == 1 ? 1 : direction == 3 ? -1 : 0;
    const int dy = direction == 2 ? 1 : direction == 0 ? -1 : 0;
    x += dx;
    y += dy;
    const bool leaves = x < 0 || x == width || y < 0 || y == height;
    x = (x + width) % width;
    y = (y + height) % height;
    if (leaves && diffusion) {
      column = (column + dx + columns) % columns;
      row = (row + dy + rows) % rows;
    }
    return (row * columns + column) * cells() + y * width + x;
  }
};

// Chances are in units of 2^-32.
struct Chances {
  std::uint64_t diffusion, recombination, mutation;
};

HS_HD inline bool diffuses(std::uint64_t seed, std::uint64_t generation, const Chances& chances) {
  return cellular_stream(seed, 0, generation, Purpose::kDiffusion).next() >> 32 < chances.diffusion;
}

// Second parent: the better of two neighbours drawn with repetition, the first one on a tie.
// `cost(individual)` is that of the present generation.
template <class CostOf>
HS_HD int second_parent(const Torus& torus, std::uint64_t seed, int individual,
                        std::uint64_t generation, bool diffusion, CostOf&& cost) {
  RandomStream random = cellular_stream(seed, individual, generation, Purpose::kSelection);
  const int first = torus.neighbour(individual, static_cast<int>(random.next() >> 62), diffusion);
  const int second = torus.neighbour(individual, static_cast<int>(random.next() >> 62), diffusion);
  return cost(second) < cost(first) ? second : first;
}

// Recombination by a mask, then mutation by a mask: `write(w, word)` receives the child's words.
template <class Parent1, class Parent2, class Write>
HS_HD void make_child(const Chances& chances, std::uint64_t seed, int individual,
                      std::uint64_t generation, int words, Parent1&& parent1, Parent2&& parent2,
                      Write&& write) {
  RandomStream recombination =
      cellular_stream(seed, individual, generation, Purpose::kRecombination);
  RandomStream mutation = cellular_stream(seed, individual, generation, Purpose::kMutation);
  for (int w = 0; w < words; ++w) {
    const std::uint64_t mask = random_mask(recombination, chances.recombination);
    const std::uint64_t flips = random_mask(mutation, chances.mutation);
    write(w, ((parent1(w) & ~mask) | (parent2(w) & mask)) ^ flips);
  }
}

// Bits of word w that belong to variables.
HS_HD inline std::uint64_t word_mask(int variables, int w) {
  const int left = variables - 64 * w;
  return left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
}

// When passes rise and fall, and when a run ends.
struct Rules {
  std::int64_t most_passes, step, crowd, patience, most_generations;
  Cost target;
};

// What a run carries from generation to generation.
struct Control {
  std::int64_t passes, generations, stagnant, done;
  Cost best;
};

HS_HD inline void begin_run(Control& control, const Rules& rules, const Cost& best) {
  control = {rules.most_passes, 0, 0, !(rules.target < best), best};
}

// After a generation: `unfinished` individuals still improved in their last pass.
HS_HD inline void end_generation(Control& control, const Rules& rules, std::int64_t unfinished,
                                 const Cost& best) {
  ++control.generations;
  if (best < control.best) {
    control.best = best;
    control.stagnant = 0;
  } else {
    ++control.stagnant;
  }
  const std::int64_t passes =
      control.passes + (unfinished > rules.crowd ? rules.step : -rules.step);
  control.passes = passes > rules.most_passes ? rules.most_passes : passes < 1 ? 1 : passes;
  control.done = !(rules.target < control.best) || control.stagnant >= rules.patience ||
                 control.generations >= rules.most_generations;
}

}  // namespace hardscape::maxsat
