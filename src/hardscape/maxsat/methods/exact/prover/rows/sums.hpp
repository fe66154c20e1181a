// Linear constraints that clauses hide, found again.
//
// Totalizers, counters, sorting networks, decision diagrams and polynomial watchdogs say that
// literals weigh no more than so much with variables of their own, which rules set. The values of
// such variables come in modules, of which others read the outputs like a tree. By dynamic
// programming over the tree follow, for any weights at all, the most that a choice of inputs weighs
// that the rules allow, and the least that one weighs that they refute. The former is a bound
// whatever the weights are; where it is below the latter, the row says the same as the clauses. So
// weights may be guessed, or learned from choices that are allowed or refuted.
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

#include "maxsat/methods/exact/prover/rows/extremes.hpp"
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
  std::vector<Sum> rows;           // with the clauses that are left they say what all say
  std::vector<std::uint8_t> said;  // whether each clause is not left
  std::deque<Tree> open;           // trees whose weights are not known

  Sums(std::vector<std::int32_t> literals, std::vector<std::int32_t> offsets,
       std::span<const std::int32_t> named, bool numbered)
      : literals_(std::move(literals)),
        offsets_(std::move(offsets)),
        clauses_{literals_, offsets_},
        rules_(clauses_, named, numbered),
        room_(rules_.hidden.size()) {
    said.resize(clauses_.clauses());
    if (2 * count(rules_.of) <= said.size()) return;
    exclude();
    for (const std::vector<std::uint32_t>& part : parts(clauses_, rules_)) look(part);
  }

  // Whether most clauses are said by rows.
  bool prevail() const { return 2 * count(said) > said.size(); }

  // Whether most are, or would be if all open trees had weights.
  bool may_prevail() const {
    std::size_t all = 0;
    for (const Part& part : parts_) all += part.lost ? 0 : part.clauses.size();
    return 2 * all > said.size();
  }

  // Variables of no clause that is left.
  std::vector<std::int32_t> hidden() const {
    std::vector<std::uint8_t> found(rules_.hidden.size());
    for (std::size_t c = 0; c < said.size(); ++c)
      if (said[c]) found[std::abs(rules_.sets[c])] = 1;
    std::vector<std::int32_t> variables;
    for (std::int32_t v = 1; v < static_cast<std::int32_t>(found.size()); ++v)
      if (found[v]) variables.push_back(v);
    return variables;
  }

  // Takes weights for the leaves of an open tree; whether they say the same as its clauses.
  bool settle(std::size_t tree, std::span<const std::int64_t> weights) {
    const Extremes extremes(open[tree], weights);
    const std::vector<Choice> most = extremes.heaviest(1), refuted = extremes.lightest(1);
    if (most.empty() || (!refuted.empty() && most[0].weight >= refuted[0].weight)) return false;
    std::map<std::int32_t, std::int64_t> sums;
    for (std::size_t i = 0; i < weights.size(); ++i) sums[open[tree].leaves[i]] += weights[i];
    Sum row = reduced(std::move(sums), most[0].weight);
    const auto [part, near] = of_[tree];
    if (near < rows.size()) {
      rows[near] = std::move(row);  // says more
    } else {
      rows.push_back(std::move(row));
    }
    close(part);
    return true;
  }

  // Gives the hidden variables values that suit those of the others; false if there are none.
  bool complete(std::span<std::uint8_t> values) const {
    std::vector<std::uint32_t> order;
    for (std::uint32_t c = 0; c < said.size(); ++c)
      if (said[c]) order.push_back(c);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t c) { return rules_.rank(c); });
    for (const std::int32_t v : hidden()) values[v - 1] = rules_.hidden[v] < 0;
    for (const std::uint32_t c : order) {
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
  // Of an open tree, with its modules; and trees: learning the weights of one takes half a
  // millisecond and more.
  static constexpr std::size_t kMostLeaves = 4000, kMostTrees = 1000;

  static std::size_t count(const std::vector<std::uint8_t>& marks) {
    return static_cast<std::size_t>(std::ranges::count(marks, 1));
  }
  static std::uint64_t pair(std::int32_t a, std::int32_t b) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 |
           static_cast<std::uint32_t>(b);
  }

  // Pairs of literals that exclude one another by clauses that are no rules.
  void exclude() {
    for (std::size_t c = 0; c < clauses_.clauses(); ++c) {
      const auto clause = clauses_[c];
      if (rules_.of[c] || clause.size() != 2) continue;
      apart_.insert(pair(-clause[0], -clause[1]));
      apart_.insert(pair(-clause[1], -clause[0]));
    }
  }

  // Finds the rows of a part. Parts of counters, or less, are left.
  void look(const std::vector<std::uint32_t>& part) {
    if (std::ranges::all_of(part, [&](std::uint32_t c) { return clauses_[c].size() == 2; })) return;
    if (!look(part, true)) look(part, false);
  }

  // The same with each input read once, or in several places; false where that takes too much.
  bool look(const std::vector<std::uint32_t>& part, bool once) {
    const Modules found(clauses_, rules_, part, room_, once);
    const std::vector<Module>& modules = found.all;
    std::vector<std::int32_t> shapes;
    for (const Module& module : modules) {
      shapes.push_back(shape(module, found, shapes));
      if (!shapes_[shapes.back()]) return false;
    }
    std::vector<std::size_t> tops;
    for (std::size_t m = 0; m < modules.size(); ++m)
      if (modules[m].top) tops.push_back(m);
    if (tops.empty()) return false;
    parts_.push_back({part, tops.size(), false});
    for (const std::size_t m : tops) {
      const std::int64_t most = shapes_[shapes[m]]->heaviest();
      const std::int64_t refuted = shapes_[shapes[m]]->refuted;
      std::optional<Sum> row = sum(m, modules, shapes);
      const bool same = row && most < refuted;
      const std::size_t at = rows.size();
      if (row && static_cast<double>(most) <= kNear * static_cast<double>(refuted) &&
          std::reduce(row->weights.begin(), row->weights.end()) > row->most)
        rows.push_back(std::move(*row));
      if (same) {
        close(parts_.size() - 1);
        continue;
      }
      Tree grown = open.size() < kMostTrees ? tree(m, modules, shapes) : Tree{};
      if (!grown.leaves.empty()) {
        open.push_back(std::move(grown));
        of_.emplace_back(parts_.size() - 1, rows.size() > at ? at : SIZE_MAX);
      } else {
        parts_.back().lost = true;
      }
    }
    return true;
  }

  // Has one tree less of a part that is not said.
  void close(std::size_t part) {
    if (--parts_[part].open == 0)
      for (const std::uint32_t c : parts_[part].clauses) said[c] = 1;
  }

  // Modules that several read are there as often; no leaves where these are too many.
  Tree tree(std::size_t top, const std::vector<Module>& modules,
            const std::vector<std::int32_t>& shapes) const {
    Tree found;
    std::size_t left = kMostLeaves;
    const auto plant = [&](auto& self, std::size_t m) -> std::uint32_t {
      std::vector<std::uint32_t> below;
      for (const std::uint32_t b : modules[m].below) below.push_back(self(self, b));
      left -= std::min(left, 1 + modules[m].inputs.size());
      if (left == 0) return 0;
      found.modules.push_back(modules[m]);
      found.modules.back().below = std::move(below);
      found.shapes.push_back(&*shapes_[shapes[m]]);
      found.leaves.insert(found.leaves.end(), modules[m].inputs.begin(), modules[m].inputs.end());
      return static_cast<std::uint32_t>(found.modules.size() - 1);
    };
    plant(plant, top);
    if (left == 0) return {};
    return found;
  }

  // The number of a module's shape, where those of the modules before are known. Equal ones are
  // found once.
  std::int32_t shape(const Module& module, const Modules& modules,
                     const std::vector<std::int32_t>& shapes) {
    std::vector<std::int32_t> key;
    const Outline outline = outlined(module, modules, shapes);
    for (const std::uint32_t m : module.below) key.push_back(shapes[m]);
    key.push_back(-1);
    key.insert(key.end(), outline.both.begin(), outline.both.end());
    for (const std::size_t count : {outline.outputs, outline.handed_on, outline.places})
      key.push_back(static_cast<std::int32_t>(count));
    for (const auto& rules : {std::cref(outline.rules), std::cref(outline.inner)}) {
      for (const Numbered& rule : rules.get()) {
        key.push_back(rule.sets);
        key.insert(key.end(), rule.reads.begin(), rule.reads.end());
        key.push_back(INT32_MIN);
      }
      key.push_back(INT32_MIN);
    }
    for (const auto& [a, b] : outline.apart) key.insert(key.end(), {a, b});
    const auto [at, fresh] = known_.try_emplace(std::move(key), shapes_.size());
    if (fresh) shapes_.push_back(Shaping(outline).run());
    return at->second;
  }

  Outline outlined(const Module& module, const Modules& modules,
                   const std::vector<std::int32_t>& shapes) {
    Outline found;
    std::int32_t columns = 0, places = 0;
    std::vector<std::int32_t>& column = room_.column;
    for (const std::uint32_t m : module.below) {
      found.below.push_back(&*shapes_[shapes[m]]);
      for (const std::int32_t x : modules.all[m].outputs) column[Flat::code(x)] = columns++;
    }
    for (const std::int32_t x : module.inputs) {
      found.both.push_back(modules.both(x));
      column[Flat::code(x)] = columns++;
      if (found.both.back()) column[Flat::code(-x)] = columns++;
    }
    // Places are those of negations of what is set, which nothing reads.
    for (const std::int32_t x : module.set) column[Flat::code(-x)] = INT32_MAX;
    for (const std::int32_t x : module.outputs) {
      if (rules_.hidden[std::abs(x)] != 0 && column[Flat::code(-x)] == INT32_MAX) continue;
      found.rules.push_back({places++, {column[Flat::code(x)]}});
    }
    found.handed_on = places;
    for (const std::int32_t x : module.outputs)
      if (rules_.hidden[std::abs(x)] != 0 && column[Flat::code(-x)] == INT32_MAX)
        column[Flat::code(-x)] = places++;
    found.outputs = places;
    for (const std::int32_t x : module.set) {
      if (column[Flat::code(-x)] == INT32_MAX) column[Flat::code(-x)] = places++;
      column[Flat::code(x)] = -1 - column[Flat::code(-x)];
    }
    found.places = places;
    for (const std::uint32_t c : module.rules) {
      const std::int32_t set = rules_.sets[c];
      Numbered rule{set == 0 ? places : column[Flat::code(-set)], {}};
      for (const std::int32_t y : clauses_[c])
        if (y != set) rule.reads.push_back(column[Flat::code(-y)]);
      std::ranges::sort(rule.reads);
      (rule.reads[0] < 0 ? found.inner : found.rules).push_back(std::move(rule));
    }
    std::ranges::sort(found.rules);
    const std::vector<std::int32_t>& inputs = module.inputs;
    for (std::size_t i = 0; i < inputs.size() && !apart_.empty(); ++i)
      for (std::size_t j = i + 1; j < inputs.size(); ++j)
        if (apart_.contains(pair(inputs[i], inputs[j])))
          found.apart.emplace_back(static_cast<std::int32_t>(i), static_cast<std::int32_t>(j));
    return found;
  }

  // The row of a module at the top; nothing where it weighs too much.
  std::optional<Sum> sum(std::size_t top, const std::vector<Module>& modules,
                         const std::vector<std::int32_t>& shapes) const {
    std::vector<std::int64_t> times(modules.size());
    std::map<std::int32_t, std::int64_t> weights;
    times[top] = 1;
    double all = 0;
    for (std::size_t m = top + 1; m-- > 0;) {  // what is read comes before
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
  Room room_;
  std::deque<std::optional<Shape>> shapes_;
  std::unordered_map<std::vector<std::int32_t>, std::int32_t, Hash> known_;
  struct Part {
    std::vector<std::uint32_t> clauses;
    std::size_t open;   // trees that no row says
    bool lost = false;  // whether one of them is not to be learned
  };
  std::vector<Part> parts_;
  std::vector<std::pair<std::size_t, std::size_t>> of_;  // part and row of each open tree
};

}  // namespace hardscape::maxsat::rows
