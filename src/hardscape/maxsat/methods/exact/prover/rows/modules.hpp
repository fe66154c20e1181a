// Outputs that rules set which read the same, as modules; these read one another without circles.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "maxsat/methods/exact/prover/rows/rules.hpp"

namespace hardscape::maxsat::rows {

struct Module {
  std::vector<std::int32_t> inputs;   // literals
  std::vector<std::size_t> below;     // modules, earlier ones
  std::vector<std::uint32_t> rules;   // clauses
  std::vector<std::int32_t> outputs;  // literals
  bool top = true;                    // read by nobody
};

struct Hash {
  std::size_t operator()(const std::vector<std::int32_t>& key) const {
    std::uint64_t h = key.size();
    for (const std::int32_t x : key) {
      h = (h ^ static_cast<std::uint32_t>(x)) * 0x9E3779B97F4A7C15u;
      h ^= h >> 29;
    }
    return h;
  }
};

// Rules that outputs join, part by part.
inline std::vector<std::vector<std::uint32_t>> parts(const Flat& clauses, const Rules& rules) {
  std::vector<std::int32_t> parent(rules.hidden.size()), part(rules.hidden.size(), -1);
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](std::int32_t v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
  };
  const auto hidden = [&](std::int32_t x) { return rules.hidden[std::abs(x)] != 0; };
  const auto name = [&](std::size_t c) {
    return std::abs(*std::find_if(clauses[c].begin(), clauses[c].end(), hidden));
  };
  for (std::size_t c = 0; c < clauses.clauses(); ++c)
    if (rules.of[c])
      for (const std::int32_t x : clauses[c])
        if (hidden(x)) parent[root(std::abs(x))] = root(name(c));
  std::vector<std::vector<std::uint32_t>> found;
  for (std::uint32_t c = 0; c < clauses.clauses(); ++c) {
    if (!rules.of[c]) continue;
    std::int32_t& of = part[root(name(c))];
    if (of < 0) {
      of = static_cast<std::int32_t>(found.size());
      found.emplace_back();
    }
    found[of].push_back(c);
  }
  return found;
}

// The modules of a part, each after what it reads; `module` is room for every variable.
class Modules {
 public:
  std::vector<Module> all;

  Modules(const Flat& clauses, const Rules& rules, std::vector<std::uint32_t> part,
          std::vector<std::int32_t>& module)
      : clauses_(clauses), rules_(rules), module_(module) {
    // Those that set an output one behind another, and what refutes at last.
    std::ranges::stable_sort(part, {}, [&](std::uint32_t c) { return rules.rank(c); });
    for (std::size_t i = 0, j = 0; i < part.size(); i = j) {
      const std::int32_t output = rules.sets[part[i]];
      do ++j;
      while (j < part.size() && output != 0 && rules.sets[part[j]] == output);
      const std::size_t m = place({&part[i], j - i});
      all[m].rules.insert(all[m].rules.end(), &part[i], &part[i] + (j - i));
      if (output == 0) continue;
      all[m].outputs.push_back(output);
      module_[std::abs(output)] = static_cast<std::int32_t>(m);
    }
  }

 private:
  // The module that reads what some rules read.
  std::size_t place(std::span<const std::uint32_t> some) {
    std::vector<std::int32_t> below, inputs;
    for (const std::uint32_t c : some) {
      for (const std::int32_t y : clauses_[c]) {
        if (y == rules_.sets[c]) continue;
        if (rules_.hidden[std::abs(y)]) {
          below.push_back(module_[std::abs(y)]);
        } else {
          inputs.push_back(-y);
        }
      }
    }
    only(below);
    only(inputs);
    std::ranges::stable_sort(inputs, {}, [](std::int32_t x) { return std::abs(x); });
    std::vector<std::int32_t> key(below);
    key.push_back(-1);
    key.insert(key.end(), inputs.begin(), inputs.end());
    const auto [at, fresh] = found_.try_emplace(std::move(key), all.size());
    if (fresh) {
      std::ranges::sort(below, {}, [&](std::int32_t m) { return std::abs(all[m].outputs[0]); });
      for (const std::int32_t m : below) all[m].top = false;
      all.push_back({std::move(inputs), {below.begin(), below.end()}, {}, {}, true});
    }
    return at->second;
  }

  static void only(std::vector<std::int32_t>& values) {
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }

  const Flat& clauses_;
  const Rules& rules_;
  std::vector<std::int32_t>& module_;  // of each variable
  std::unordered_map<std::vector<std::int32_t>, std::size_t, Hash> found_;
};

}  // namespace hardscape::maxsat::rows
