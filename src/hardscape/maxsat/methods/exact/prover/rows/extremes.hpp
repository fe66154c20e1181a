// What inputs weigh at most that modules allow, and at least that they refute, for given weights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "maxsat/methods/exact/prover/rows/modules.hpp"
#include "maxsat/methods/exact/prover/rows/shapes.hpp"

namespace hardscape::maxsat::rows {

// The tree of modules under one at the top; each place where an input is read is a leaf.
struct Tree {
  std::vector<Module> modules;       // the top is the last one
  std::vector<const Shape*> shapes;  // of each
  std::vector<std::int32_t> leaves;  // literals, module by module
};

// A choice of leaves, and what it weighs.
struct Choice {
  std::int64_t weight = 0;
  std::vector<std::uint8_t> held;  // by leaf
};

// Dynamic programming over a tree whose leaves weigh something, none less than nothing.
class Extremes {
 public:
  Extremes(const Tree& tree, std::span<const std::int64_t> weights)
      : tree_(tree), weights_(weights), values_(tree.modules.size()) {
    std::size_t leaf = 0;
    for (std::size_t m = 0; m < tree.modules.size(); ++m) {
      values_[m].leaf = leaf;
      leaf += tree.modules[m].inputs.size();
      ascend(m);
    }
  }

  // Choices that are allowed and weigh most, one for each of some combinations at the top.
  std::vector<Choice> heaviest(std::size_t count) const {
    std::vector<End> ends;
    const std::size_t top = tree_.modules.size() - 1;
    const std::vector<std::int32_t>& to = tree_.shapes[top]->to;
    for (std::size_t c = 0; c < to.size(); ++c)
      if (to[c] >= 0) ends.push_back({-sum(top, c, true), top, c});
    return choices(std::move(ends), count, true);
  }

  // Choices that are refuted and weigh least, one for each of some combinations anywhere.
  std::vector<Choice> lightest(std::size_t count) const {
    std::vector<End> ends;
    for (std::size_t m = 0; m < tree_.modules.size(); ++m) {
      const std::vector<std::int32_t>& to = tree_.shapes[m]->to;
      for (std::size_t c = 0; c < to.size(); ++c)
        if (to[c] == Shape::kRefuted) ends.push_back({sum(m, c, false), m, c});
    }
    return choices(std::move(ends), count, false);
  }

 private:
  struct Values {
    std::size_t leaf = 0;  // the first
    std::vector<std::int64_t> least, most;
    std::vector<std::uint32_t> to_least, to_most;  // combinations
  };
  struct End {
    std::int64_t weight;
    std::size_t module, combination;
  };

  // Does something with each that a module reads, and its state in a combination, from the last.
  template <class Does>
  void each(std::size_t m, std::size_t combination, Does does) const {
    const Module& module = tree_.modules[m];
    const std::size_t below = module.below.size();
    for (std::size_t d = below + module.inputs.size(); d-- > 0;) {
      const std::size_t size =
          d < below ? tree_.shapes[module.below[d]]->states.size() : std::size_t{2};
      does(d, combination % size);
      combination /= size;
    }
  }

  std::int64_t sum(std::size_t m, std::size_t combination, bool most) const {
    const Module& module = tree_.modules[m];
    const std::size_t below = module.below.size();
    std::int64_t found = 0;
    each(m, combination, [&](std::size_t d, std::size_t s) {
      if (d >= below) {
        found += s == 0 ? 0 : weights_[values_[m].leaf + d - below];
      } else {
        const Values& of = values_[module.below[d]];
        found += most ? of.most[s] : of.least[s];
      }
    });
    return found;
  }

  void ascend(std::size_t m) {
    const Shape& shape = *tree_.shapes[m];
    Values& of = values_[m];
    of.least.assign(shape.states.size(), INT64_MAX);
    of.most.assign(shape.states.size(), INT64_MIN);
    of.to_least.resize(of.least.size());
    of.to_most.resize(of.least.size());
    for (std::size_t c = 0; c < shape.to.size(); ++c) {
      const std::int32_t s = shape.to[c];
      if (s < 0) continue;
      if (const std::int64_t low = sum(m, c, false); low < of.least[s]) {
        of.least[s] = low;
        of.to_least[s] = static_cast<std::uint32_t>(c);
      }
      if (const std::int64_t high = sum(m, c, true); high > of.most[s]) {
        of.most[s] = high;
        of.to_most[s] = static_cast<std::uint32_t>(c);
      }
    }
  }

  std::vector<Choice> choices(std::vector<End> ends, std::size_t count, bool most) const {
    count = std::min(count, ends.size());
    std::ranges::partial_sort(ends, ends.begin() + static_cast<std::ptrdiff_t>(count), {},
                              &End::weight);
    std::vector<Choice> found;
    for (const End& end : std::span(ends).first(count)) {
      found.push_back(
          {most ? -end.weight : end.weight, std::vector<std::uint8_t>(tree_.leaves.size())});
      descend(end.module, end.combination, most, found.back().held);
    }
    return found;
  }

  void descend(std::size_t m, std::size_t combination, bool most,
               std::vector<std::uint8_t>& held) const {
    const Module& module = tree_.modules[m];
    const std::size_t below = module.below.size();
    each(m, combination, [&](std::size_t d, std::size_t s) {
      if (d >= below) {
        held[values_[m].leaf + d - below] = s != 0;
      } else {
        const Values& of = values_[module.below[d]];
        descend(module.below[d], most ? of.to_most[s] : of.to_least[s], most, held);
      }
    });
  }

  const Tree& tree_;
  std::span<const std::int64_t> weights_;
  std::vector<Values> values_;
};

}  // namespace hardscape::maxsat::rows
