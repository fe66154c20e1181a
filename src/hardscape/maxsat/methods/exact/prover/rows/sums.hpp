// Linear constraints that clauses hide, found again.
//
// Totalizers, counters, and polynomial watchdogs say that literals weigh no more than so much with
// variables of their own, which rules set. The values of such variables come in modules, of which
// others read the outputs: a tree, if what several read is thought of as many. By dynamic
// programming over the tree follow, for any weights at all, the most that a choice of inputs weighs
// that the rules allow, and the least that one weighs that they refute. The former is a bound
// whatever the weights are; where it is below the latter, the row says the same as the clauses. So
// weights may be guessed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "maxsat/methods/exact/prover/rows/modules.hpp"
#include "maxsat/methods/exact/prover/rows/rules.hpp"
#include "maxsat/methods/exact/prover/rows/shapes.hpp"

namespace hardscape::maxsat::rows {

// The literals that hold weigh no more than so much.
struct Sum {
  std::vector<std::int32_t> literals;
  std::vector<std::int64_t> weights;
  std::int64_t most = 0;
};

// The rows that clauses say by variables that are not named.
class Sums {
 public:
  std::vector<Sum> rows;             // with the clauses that are left they say what all say
  std::vector<std::uint8_t> said;    // whether each clause is not left
  std::vector<std::int32_t> hidden;  // variables of no clause that is left

  Sums(std::vector<std::int32_t> literals, std::vector<std::int32_t> offsets,
       std::span<const std::int32_t> named)
      : literals_(std::move(literals)),
        offsets_(std::move(offsets)),
        clauses_{literals_, offsets_},
        rules_(clauses_, named),
        module_(rules_.hidden.size()),
        place_(2 * rules_.hidden.size()) {
    said.resize(clauses_.clauses());
    if (2 * count(rules_.of) <= said.size()) return;
    exclude();
    for (const std::vector<std::uint32_t>& part : parts(clauses_, rules_)) {
      if (!look(part)) continue;
      order_.insert(order_.end(), part.begin(), part.end());
      for (const std::uint32_t c : part) said[c] = 1;
    }
    // What refutes comes last.
    std::ranges::stable_sort(order_, {}, [&](std::uint32_t c) { return rules_.rank(c); });
    for (const std::uint32_t c : order_)
      if (rules_.sets[c] != 0) hidden.push_back(std::abs(rules_.sets[c]));
    hidden.erase(std::unique(hidden.begin(), hidden.end()), hidden.end());
  }

  // Whether most clauses are said by rows.
  bool prevail() const { return 2 * count(said) > said.size(); }

  // Gives the hidden variables values that suit those of the others; false if there are none.
  bool complete(std::span<std::uint8_t> values) const {
    for (const std::int32_t v : hidden) values[v - 1] = rules_.hidden[v] < 0;
    for (const std::uint32_t c : order_) {
      const std::int32_t set = rules_.sets[c];
      const bool fires = std::ranges::all_of(clauses_[c], [&](std::int32_t y) {
        return y == set || values[std::abs(y) - 1] == (y < 0);
      });
      if (fires && set == 0) return false;
      if (fires) values[std::abs(set) - 1] = set > 0;
    }
    return true;
  }

 private:
  // How much more a row may allow than what is refuted, to be one, and most that one weighs.
  static constexpr double kNear = 1.25, kMostOfRow = 1e18;

  static std::size_t count(const std::vector<std::uint8_t>& marks) {
    return static_cast<std::size_t>(std::ranges::count(marks, 1));
  }
  static std::uint64_t pair(std::int32_t a, std::int32_t b) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 |
           static_cast<std::uint32_t>(b);
  }
  static std::size_t code(std::int32_t x) { return 2 * std::abs(x) + (x < 0); }

  // Pairs of literals that exclude one another by clauses that are no rules.
  void exclude() {
    for (std::size_t c = 0; c < clauses_.clauses(); ++c) {
      const auto clause = clauses_[c];
      if (rules_.of[c] || clause.size() != 2) continue;
      apart_.insert(pair(-clause[0], -clause[1]));
      apart_.insert(pair(-clause[1], -clause[0]));
    }
  }

  // Finds the rows of a part; whether they say the same. Parts of counters, or less, are left.
  bool look(const std::vector<std::uint32_t>& part) {
    if (std::ranges::all_of(part, [&](std::uint32_t c) { return clauses_[c].size() == 2; }))
      return false;
    const std::vector<Module> modules = Modules(clauses_, rules_, part, module_).all;
    std::vector<std::int32_t> shapes;
    for (const Module& module : modules) {
      shapes.push_back(shape(module, modules, shapes));
      if (!shapes_[shapes.back()]) return false;
    }
    bool same = true;
    for (std::size_t m = 0; m < modules.size(); ++m) {
      if (!modules[m].top) continue;
      const std::int64_t most = shapes_[shapes[m]]->heaviest();
      const std::int64_t refuted = shapes_[shapes[m]]->refuted;
      std::optional<Sum> row = sum(m, modules, shapes);
      same = same && row && most < refuted;
      if (row && static_cast<double>(most) <= kNear * static_cast<double>(refuted) &&
          std::reduce(row->weights.begin(), row->weights.end()) > row->most)
        rows.push_back(std::move(*row));
    }
    return same;
  }

  // The number of a module's shape, where those of the modules before are known. Equal ones are
  // found once.
  std::int32_t shape(const Module& module, const std::vector<Module>& modules,
                     const std::vector<std::int32_t>& shapes) {
    std::vector<const Shape*> below;
    std::vector<std::int32_t> key;
    std::int32_t columns = 0;
    for (const std::size_t m : module.below) {
      below.push_back(&*shapes_[shapes[m]]);
      key.push_back(shapes[m]);
      for (const std::int32_t x : modules[m].outputs) place_[code(x)] = columns++;
    }
    for (const std::int32_t x : module.inputs) place_[code(x)] = columns++;
    const auto outputs = static_cast<std::int32_t>(module.outputs.size());
    for (std::int32_t i = 0; i < outputs; ++i) place_[code(-module.outputs[i])] = i;
    place_[0] = outputs;
    std::vector<Numbered> rules;
    for (const std::uint32_t c : module.rules) {
      const std::int32_t set = rules_.sets[c];
      Numbered rule{place_[code(-set)], {}};
      for (const std::int32_t y : clauses_[c])
        if (y != set) rule.reads.push_back(place_[code(-y)]);
      std::ranges::sort(rule.reads);
      rules.push_back(std::move(rule));
    }
    std::ranges::sort(rules);
    std::vector<std::pair<std::int32_t, std::int32_t>> apart;
    for (std::size_t i = 0; i < module.inputs.size() && !apart_.empty(); ++i)
      for (std::size_t j = i + 1; j < module.inputs.size(); ++j)
        if (const auto a = module.inputs[i], b = module.inputs[j]; apart_.contains(pair(a, b)))
          apart.emplace_back(place_[code(a)], place_[code(b)]);
    const std::size_t inputs = module.inputs.size();
    key.insert(key.end(), {-1, static_cast<std::int32_t>(inputs), outputs});
    for (const Numbered& rule : rules) {
      key.push_back(rule.sets);
      key.insert(key.end(), rule.reads.begin(), rule.reads.end());
      key.push_back(-1);
    }
    for (const auto& [a, b] : apart) key.insert(key.end(), {a, b});
    const auto [at, fresh] = known_.try_emplace(std::move(key), shapes_.size());
    if (fresh) {
      shapes_.push_back(
          Shaping(std::move(below), inputs, std::move(rules), std::move(apart), outputs).run());
    }
    return at->second;
  }

  // The row of a module at the top; nothing where it weighs too much.
  std::optional<Sum> sum(std::size_t top, const std::vector<Module>& modules,
                         const std::vector<std::int32_t>& shapes) const {
    std::vector<std::int64_t> times(modules.size());
    std::map<std::int32_t, std::int64_t> weights;
    times[top] = 1;
    double all = 0;
    for (std::size_t m = top + 1; m-- > 0;) {  // readers come after what they read
      if (times[m] == 0) continue;
      const std::size_t below = modules[m].below.size();
      for (std::size_t i = 0; i < below + modules[m].inputs.size(); ++i) {
        const std::int64_t by = shapes_[shapes[m]]->times[i];
        all += static_cast<double>(by) * static_cast<double>(times[m]);
        if (all > kMostOfRow) return std::nullopt;
        std::int64_t& of =
            i < below ? times[modules[m].below[i]] : weights[modules[m].inputs[i - below]];
        of += by * times[m];
      }
    }
    return reduced(std::move(weights), shapes_[shapes[top]]->heaviest());
  }

  // As little as possible in each weight; of a literal and its negation one always holds.
  static Sum reduced(std::map<std::int32_t, std::int64_t> weights, std::int64_t most) {
    std::int64_t divisor = 0;
    for (auto& [x, weight] : weights) {
      if (const auto other = weights.find(-x); other != weights.end()) {
        const std::int64_t both = std::min(weight, other->second);
        most -= both;
        weight -= both;
        other->second -= both;
      }
    }
    Sum row;
    for (const auto& [x, weight] : weights) {
      if (weight == 0) continue;
      divisor = std::gcd(divisor, weight);
      row.literals.push_back(x);
      row.weights.push_back(weight);
    }
    if (divisor == 0) return row;
    for (std::int64_t& weight : row.weights) weight /= divisor;
    // Towards less where it is negative, too.
    row.most = most / divisor - (most % divisor < 0);
    return row;
  }

  std::vector<std::int32_t> literals_, offsets_;
  Flat clauses_;
  Rules rules_;
  std::unordered_set<std::uint64_t> apart_;
  std::vector<std::int32_t> module_, place_;
  std::deque<std::optional<Shape>> shapes_;
  std::unordered_map<std::vector<std::int32_t>, std::int32_t, Hash> known_;
  std::vector<std::uint32_t> order_;  // rules that are not left, as they complete values
};

}  // namespace hardscape::maxsat::rows
