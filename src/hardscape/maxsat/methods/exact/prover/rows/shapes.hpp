// What modules of rules can tell of their inputs: states, and what inputs weigh that lead to them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace hardscape::maxsat::rows {

// What is refuted by nothing, and more than anything may weigh.
inline constexpr std::int64_t kNever = std::int64_t{1} << 60, kMostWeight = std::int64_t{1} << 44;

// Least sets of outputs that rules demand, as bits from the highest of the first word.
struct States {
  std::size_t words = 1;
  std::vector<std::uint64_t> bits;

  std::size_t size() const { return bits.size() / words; }
  const std::uint64_t* operator[](std::size_t s) const { return &bits[s * words]; }
  static std::uint64_t bit(std::size_t i) { return std::uint64_t{1} << (63 - i % 64); }
  bool holds(std::size_t s, std::size_t i) const { return (*this)[s][i / 64] & bit(i); }
};

struct Shape {
  static constexpr std::int32_t kRefuted = -1, kExcluded = -2;

  std::vector<std::int64_t> times;  // of what is read
  std::vector<std::int32_t> to;     // the state of each combination, or one of these
  std::size_t outputs = 0;
  States states;
  std::vector<std::int64_t> least, most;  // what inputs weigh that lead to a state
  std::int64_t refuted = kNever;          // the least weight that rules refute here and below

  std::int64_t heaviest() const { return *std::max_element(most.begin(), most.end()); }
};

// A rule by numbers: the place that it sets, and the columns that it reads, which are the outputs
// of all that is read one behind another; of a rule that reads places, these count down from -1.
struct Numbered {
  std::int32_t sets;
  std::vector<std::int32_t> reads;

  auto operator<=>(const Numbered&) const = default;
};

// A module by numbers. Places are its outputs, what it sets for itself, and last what refutes.
struct Outline {
  std::vector<const Shape*> below;
  std::vector<std::uint8_t> both;  // whether the negation of each input is a column, too
  std::vector<Numbered> rules;     // that read columns alone
  std::vector<Numbered> inner;     // that read places, in their order
  std::vector<std::pair<std::int32_t, std::int32_t>> apart;  // inputs that exclude one another
  std::size_t outputs = 0, handed_on = 0, places = 0;        // outputs that are handed on are first
};

// Rules over shapes and single inputs after these.
class Shaping {
 public:
  // Most combinations of states of what is read, and steps that these take.
  static constexpr double kMostStates = 50'000, kMostWork = 20e6;

  explicit Shaping(const Outline& outline) : outline_(outline) {
    for (Shape* input : {&one_, &both_}) {
      input->outputs = input == &both_ ? 2 : 1;
      input->states.bits = {input == &both_ ? States::bit(1) : 0, States::bit(0)};
      input->least = input->most = {0, 1};
    }
    read_ = outline.below;
    for (const std::uint8_t both : outline.both) read_.push_back(both ? &both_ : &one_);
  }

  // Nothing where that takes too much. Inputs that are apart exclude one another by other clauses,
  // which may have made rules needless.
  std::optional<Shape> run() {
    if (work() > kMostWork) return std::nullopt;
    enumerate();
    Shape found;
    found.times = times();
    if (!weigh(found.times)) return std::nullopt;
    return collect(std::move(found)) ? std::optional(std::move(found)) : std::nullopt;
  }

 private:
  static constexpr std::size_t kLookedAt = 8;  // outputs, by a guess

  double work() const {
    double states = 1, steps = 0;
    for (std::size_t d = 0; d + 1 < read_.size(); ++d) {
      const Shape* const shape = read_[d];
      states *= static_cast<double>(shape->states.size());
      steps += states * static_cast<double>(outline_.rules.size());
    }
    states *= static_cast<double>(read_.back()->states.size());
    if (states > kMostStates) return kMostWork + 1;
    const double words = static_cast<double>(outline_.places) / 64 + 1;
    const double bits = static_cast<double>(read_.back()->outputs) * words;
    return steps + states * (bits + static_cast<double>(outline_.inner.size()));
  }

  // The truths of all places for all combinations.
  void enumerate() {
    std::int32_t columns = 0;
    for (std::size_t d = 0; d < read_.size(); ++d) {
      first_.push_back(columns);
      columns += static_cast<std::int32_t>(read_[d]->outputs);
      dimension_.resize(columns, static_cast<std::uint32_t>(d));
    }
    first_.push_back(columns);
    truths_.words = outline_.places / 64 + 1;
    set_.assign(truths_.words * read_.back()->outputs, 0);
    std::vector<Alive> all;
    for (const Numbered& rule : outline_.rules) all.push_back({&rule, 0});
    chosen_.assign(read_.size(), 0);
    descend(0, all);
  }

  struct Alive {
    const Numbered* rule;
    std::size_t met;  // of what it reads
  };

  // Whether the state of one that is read has what a rule reads of it, which then is met.
  bool meet(std::size_t d, std::size_t s, Alive& alive) const {
    const auto& reads = alive.rule->reads;
    for (; alive.met < reads.size() && reads[alive.met] < first_[d + 1]; ++alive.met)
      if (!read_[d]->states.holds(s, reads[alive.met] - first_[d])) return false;
    return true;
  }

  void descend(std::size_t d, const std::vector<Alive>& alive) {
    if (d + 1 == read_.size()) return end(alive);
    std::vector<Alive> left;
    for (std::size_t s = 0; s < read_[d]->states.size(); ++s) {
      left.clear();
      for (Alive each : alive)
        if (meet(d, s, each)) left.push_back(each);
      chosen_[d] = static_cast<std::uint32_t>(s);
      descend(d + 1, left);
    }
  }

  // All states of the last that is read.
  void end(const std::vector<Alive>& alive) {
    const std::size_t d = read_.size() - 1, words = truths_.words;
    std::fill(set_.begin(), set_.end(), 0);
    std::vector<std::uint64_t> always(words, 0);
    std::vector<Alive> more;
    for (const Alive& each : alive) {
      const std::size_t left = each.rule->reads.size() - each.met, to = each.rule->sets;
      if (left > 1) {
        more.push_back(each);
      } else {
        std::uint64_t* const of =
            left ? &set_[words * (each.rule->reads.back() - first_[d])] : always.data();
        of[to / 64] |= States::bit(to);
      }
    }
    for (std::size_t s = 0; s < read_[d]->states.size(); ++s) {
      const std::size_t at = truths_.bits.size();
      truths_.bits.insert(truths_.bits.end(), always.begin(), always.end());
      for (std::size_t i = 0; i < read_[d]->outputs; ++i) {
        if (!read_[d]->states.holds(s, i)) continue;
        for (std::size_t w = 0; w < words; ++w) truths_.bits[at + w] |= set_[words * i + w];
      }
      for (Alive each : more)
        if (meet(d, s, each))
          truths_.bits[at + each.rule->sets / 64] |= States::bit(each.rule->sets);
      chosen_[d] = static_cast<std::uint32_t>(s);
      for (const Numbered& rule : outline_.inner)
        if (fires(rule, &truths_.bits[at]))
          truths_.bits[at + rule.sets / 64] |= States::bit(rule.sets);
      combinations_.insert(combinations_.end(), chosen_.begin(), chosen_.end());
    }
  }

  // Whether a rule does that reads places, too.
  bool fires(const Numbered& rule, const std::uint64_t* truths) const {
    return std::ranges::all_of(rule.reads, [&](std::int32_t i) {
      if (i < 0) return (truths[(-1 - i) / 64] & States::bit(-1 - i)) != 0;
      const std::uint32_t d = dimension_[i];
      return read_[d]->states.holds(chosen_[d], i - first_[d]);
    });
  }

  // The state of one that is read, in a combination.
  std::size_t state(std::size_t combination, std::size_t d) const {
    return combinations_[combination * read_.size() + d];
  }

  // What each combination weighs at least and at most; false where that is too much.
  bool weigh(const std::vector<std::int64_t>& times) {
    double heaviest = 0;
    for (std::size_t d = 0; d < read_.size(); ++d)
      heaviest += static_cast<double>(times[d]) * static_cast<double>(read_[d]->heaviest());
    if (heaviest >= static_cast<double>(kMostWeight)) return false;
    lowest_.assign(truths_.size(), 0);
    highest_.assign(truths_.size(), 0);
    for (std::size_t i = 0; i < truths_.size(); ++i) {
      for (std::size_t d = 0; d < read_.size(); ++d) {
        lowest_[i] += times[d] * read_[d]->least[state(i, d)];
        highest_[i] += times[d] * read_[d]->most[state(i, d)];
      }
    }
    return true;
  }

  // Combinations of the same outputs are a state; false where there is none.
  bool collect(Shape&& found) {
    for (std::size_t d = 0; d < outline_.below.size(); ++d) {
      const __int128 refuted = static_cast<__int128>(found.times[d]) * read_[d]->refuted;
      if (refuted < found.refuted) found.refuted = static_cast<std::int64_t>(refuted);
    }
    const std::size_t outputs = outline_.outputs,
                      words = std::max<std::size_t>(1, (outputs + 63) / 64);
    std::vector<std::uint32_t> kept;
    found.to.assign(truths_.size(), Shape::kExcluded);
    for (std::uint32_t i = 0; i < truths_.size(); ++i) {
      if (excluded(i)) continue;
      if (truths_.holds(i, outline_.places)) {
        found.refuted = std::min(found.refuted, lowest_[i]);
        found.to[i] = Shape::kRefuted;
        continue;
      }
      kept.push_back(i);
      std::uint64_t& last = truths_.bits[i * truths_.words + words - 1];
      if (outputs % 64 != 0 || outputs == 0) last &= ~(~std::uint64_t{0} >> outputs % 64);
    }
    const auto bits = [&](std::uint32_t i) {
      return std::span<const std::uint64_t>(truths_[i], words);
    };
    std::sort(kept.begin(), kept.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::ranges::lexicographical_compare(bits(a), bits(b));
    });
    found.outputs = outputs;
    found.states.words = words;
    for (std::size_t k = 0; k < kept.size(); ++k) {
      const std::uint32_t i = kept[k];
      if (k == 0 || !std::ranges::equal(bits(kept[k - 1]), bits(i))) {
        found.states.bits.insert(found.states.bits.end(), bits(i).begin(), bits(i).end());
        found.least.push_back(lowest_[i]);
        found.most.push_back(highest_[i]);
      } else {
        found.least.back() = std::min(found.least.back(), lowest_[i]);
        found.most.back() = std::max(found.most.back(), highest_[i]);
      }
      found.to[i] = static_cast<std::int32_t>(found.least.size() - 1);
    }
    return !kept.empty();
  }

  bool excluded(std::size_t combination) const {
    const std::size_t below = outline_.below.size();
    return std::ranges::any_of(outline_.apart, [&](const auto& pair) {
      return state(combination, below + pair.first) && state(combination, below + pair.second);
    });
  }

  // How many parts what is read weighs: a guess by which what sets an output weighs about the same.
  std::vector<std::int64_t> times() const {
    if (read_.size() != 2) return std::vector<std::int64_t>(read_.size(), 1);
    const auto slopes = this->slopes();
    if (!slopes.empty()) {
      const auto usual = std::max_element(slopes.begin(), slopes.end(), [](auto& a, auto& b) {
        const auto rank = [](auto& x) {
          return std::make_tuple(x.second, -(x.first.first + x.first.second), x.first);
        };
        return rank(a) < rank(b);
      });
      return {usual->first.first, usual->first.second};
    }
    return {1, outline_.below.size() == 1 ? makes_up() : 1};
  }

  // How often a step of the first makes up for a step of the second, on the edges of what sets an
  // output.
  std::map<std::pair<std::int64_t, std::int64_t>, int> slopes() const {
    const auto &first = read_[0]->least, &second = read_[1]->least;
    std::vector<std::size_t> order(second.size()), outputs;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return second[a] < second[b]; });
    for (std::size_t c = outline_.handed_on; c <= outline_.places; ++c) {
      bool any = false;
      for (std::size_t i = 0; i < truths_.size() && !any; ++i) any = truths_.holds(i, c);
      if (any) outputs.push_back(c);
    }
    std::map<std::pair<std::int64_t, std::int64_t>, int> found;
    const std::size_t step = 1 + outputs.size() / kLookedAt;
    for (std::size_t c = 0; c < outputs.size(); c += step) {
      std::vector<std::int64_t> fewest(second.size(), kNever);  // of the first, that set it
      for (std::size_t i = 0; i < truths_.size(); ++i) {
        std::int64_t& of = fewest[state(i, 1)];
        if (truths_.holds(i, outputs[c])) of = std::min(of, first[state(i, 0)]);
      }
      std::int64_t a = kNever, b = 0;
      for (const std::size_t s : order) {
        if (fewest[s] >= a) continue;
        if (a < kNever) {
          const std::int64_t up = second[s] - b, down = a - fewest[s], by = std::gcd(up, down);
          ++found[{up / by, down / by}];
        }
        a = fewest[s];
        b = second[s];
      }
    }
    return found;
  }

  // As much as makes up for all that the module below may weigh.
  std::int64_t makes_up() const {
    const auto &first = read_[0]->least, &most = read_[0]->most;
    std::int64_t lone = kNever, below = 0;
    for (std::size_t i = 0; i < truths_.size(); ++i) {
      const auto any = [](std::uint64_t word) { return word != 0; };
      const std::span<const std::uint64_t> bits(truths_[i], truths_.words);
      if (state(i, 1) == 1 && std::ranges::any_of(bits, any))
        lone = std::min(lone, first[state(i, 0)]);
    }
    if (lone == kNever) return 1;
    for (std::size_t s = 0; s < first.size(); ++s)
      if (first[s] < lone) below = std::max(below, most[s]);
    return std::max<std::int64_t>(1, read_[0]->heaviest() - below);
  }

  const Outline& outline_;
  std::vector<const Shape*> read_;
  Shape one_, both_;                      // inputs
  std::vector<std::int32_t> first_;       // column of each that is read
  std::vector<std::uint32_t> dimension_;  // and the other way
  std::vector<std::uint32_t> chosen_, combinations_;
  std::vector<std::uint64_t> set_;  // by each output of the last that is read
  States truths_;
  std::vector<std::int64_t> lowest_, highest_;
};

}  // namespace hardscape::maxsat::rows
