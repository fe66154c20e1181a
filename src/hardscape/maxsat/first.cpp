// A first assignment, before anything else is known of a formula: the best of a few by unit
// propagation, or, for formulas so large that this takes a while, one of three passes over the
// clauses: literals that a clause still needs are chosen by how often and how heavily they occur,
// hard clauses first, and a walk repairs those that are violated then.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/methods/weighting/decimation.hpp"
#include "native/arrays.hpp"
#include "native/random.hpp"

namespace hardscape::maxsat {
namespace {

constexpr std::uint8_t kOpen = 2;
// Literals, or variables, from which on unit propagation would take long; and literals that it
// may look at, about: more would be noticed in calls of milliseconds.
constexpr std::int64_t kLarge = 300'000, kEffort = 10'000;
constexpr std::uint64_t kFirstPurpose = 0x6d786669;

// What the positive literal of each variable weighs more than the negative one; a hard clause
// weighs as much as a mean soft one, both shared among their literals.
std::vector<float> balance(const Clauses& f, const Poll& stopped) {
  std::vector<float> found(f.variables);
  double total = 0, soft = 1;
  for (std::size_t c = 0; c < f.count && !stopped(c); ++c) {
    total += static_cast<double>(f.weights[c]);
    soft += !f.hard[c];
  }
  const double mean = total > 0 ? total / soft : 1;
  for (std::size_t c = 0; c < f.count && !stopped(c); ++c) {
    const auto size = static_cast<double>(f.offsets[c + 1] - f.offsets[c]);
    const double weight = f.hard[c] ? 1 : static_cast<double>(f.weights[c]) / mean;
    const auto share = static_cast<float>(weight / (size * size));
    for (std::int64_t i = f.offsets[c]; i < f.offsets[c + 1]; ++i) {
      const std::int32_t l = f.literals[i];
      found[(l > 0 ? l : -l) - 1] += l > 0 ? share : -share;
    }
  }
  return found;
}

// Gives the clause a true literal where it has none and one is open.
void satisfy(const Clauses& f, std::size_t c, const std::vector<float>& balance,
             std::vector<std::uint8_t>& value) {
  std::int32_t best = 0;
  float most = 0;
  for (std::int64_t i = f.offsets[c]; i < f.offsets[c + 1]; ++i) {
    const std::int32_t l = f.literals[i];
    const std::uint32_t v = (l > 0 ? l : -l) - 1;
    if (value[v] == (l > 0)) return;
    if (value[v] != kOpen) continue;
    const float gain = l > 0 ? balance[v] : -balance[v];
    if (best == 0 || gain > most) {
      best = l;
      most = gain;
    }
  }
  if (best) value[(best > 0 ? best : -best) - 1] = best > 0;
}

// A focused random walk over the hard clauses (WalkSAT; Selman, Kautz and Cohen, 1994) from an
// assignment that violates a few of them, for as many flips as there are variables, about, or less
// where these are dear: who comes to satisfy them does so within as many looks at clauses.
class Repair {
 public:
  Repair(const Clauses& f, std::vector<std::uint8_t>& value, const Poll& stopped)
      : f_(f), value_(value), first_(2 * std::size_t{f.variables} + 1) {
    for_hard(stopped, [&](std::size_t, std::uint32_t l) { ++first_[l + 1]; });
    for (std::size_t l = 1; l < first_.size(); ++l) first_[l] += first_[l - 1];
    if (!extend(occurrence_, first_.back(), stopped) || !extend(trues_, f.count, stopped)) return;
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for_hard(stopped, [&](std::size_t c, std::uint32_t l) {
      occurrence_[next[l]++] = static_cast<std::uint32_t>(c);
      trues_[c] += holds(l);
    });
    for (std::size_t c = 0; c < f.count && !stopped(c); ++c)
      if (f.hard[c] && trues_[c] == 0) violated_.push_back(static_cast<std::uint32_t>(c));
    ready_ = !stopped(0);
  }

  void run(const Poll& stopped) {
    RandomStream random(0, 0, kFirstPurpose);
    const std::size_t most = f_.variables + 10 * violated_.size();
    const std::size_t looks = kLooks * occurrence_.size();
    for (std::size_t step = 0; ready_ && !violated_.empty() && step < most && !stopped(step);) {
      if (looks_ > looks) return;
      std::uint32_t& drawn = violated_[pick(random.next() >> 32, size())];
      const std::uint32_t c = drawn;
      if (trues_[c] > 0 || f_.offsets[c] == f_.offsets[c + 1]) {  // it holds by now, or never will
        drawn = violated_.back();
        violated_.pop_back();
        continue;
      }
      flip(choose(c, random));
      ++step;
    }
  }

 private:
  static constexpr std::uint64_t kNoise = std::uint64_t{1} << 30;  // of 2^32
  static constexpr std::size_t kLooks = 16;                        // for each literal of all

  std::uint32_t size() const { return static_cast<std::uint32_t>(violated_.size()); }
  bool holds(std::uint32_t l) const { return value_[l >> 1] != (l & 1); }

  template <class Do>
  void for_hard(const Poll& stopped, Do&& act) {
    for (std::size_t c = 0; c < f_.count && !stopped(c); ++c)
      for (std::int64_t i = f_.offsets[c]; f_.hard[c] && i < f_.offsets[c + 1]; ++i)
        act(c, Clauses::code(f_.literals[i]));
  }

  // The literal of a violated clause whose flip breaks the fewest, or, now and then, any.
  std::uint32_t choose(std::uint32_t c, RandomStream& random) {
    const std::int64_t from = f_.offsets[c];
    const auto length = static_cast<std::uint32_t>(f_.offsets[c + 1] - from);
    std::uint32_t best = Clauses::code(f_.literals[from + pick(random.next() >> 32, length)]);
    std::size_t least = breaks(best);
    if (least == 0 || random.next() >> 32 < kNoise) return best;
    for (std::int64_t i = from; i < f_.offsets[c + 1]; ++i) {
      const std::uint32_t l = Clauses::code(f_.literals[i]);
      const std::size_t found = breaks(l);
      if (found >= least) continue;
      best = l;
      least = found;
    }
    return best;
  }

  // Clauses that hold by the negation of a false literal alone.
  std::size_t breaks(std::uint32_t l) {
    std::size_t found = 0;
    looks_ += first_[(l ^ 1) + 1] - first_[l ^ 1];
    for (std::uint32_t i = first_[l ^ 1]; i < first_[(l ^ 1) + 1]; ++i)
      found += trues_[occurrence_[i]] == 1;
    return found;
  }

  // Makes a false literal true.
  void flip(std::uint32_t l) {
    value_[l >> 1] ^= 1;
    looks_ += first_[(l | 1) + 1] - first_[l & ~1u];
    for (std::uint32_t i = first_[l]; i < first_[l + 1]; ++i) ++trues_[occurrence_[i]];
    for (std::uint32_t i = first_[l ^ 1]; i < first_[(l ^ 1) + 1]; ++i)
      if (--trues_[occurrence_[i]] == 0) violated_.push_back(occurrence_[i]);
  }

  const Clauses& f_;
  std::vector<std::uint8_t>& value_;
  std::vector<std::uint32_t> first_, occurrence_, trues_, violated_;
  std::size_t looks_ = 0;
  bool ready_ = false;
};

std::vector<std::uint8_t> greedy(const Clauses& f, const Poll& stopped) {
  std::vector<std::uint8_t> value(f.variables, kOpen);
  const std::vector<float> sums = balance(f, stopped);
  for (int firm = 1; firm >= 0; --firm)
    for (std::size_t c = 0; c < f.count && !stopped(c); ++c)
      if (f.hard[c] == firm) satisfy(f, c, sums, value);
  for (std::size_t v = 0; v < value.size(); ++v)
    if (value[v] == kOpen) value[v] = sums[v] > 0;
  Repair(f, value, stopped).run(stopped);
  return value;
}

// The arrays of a formula as it was given, but for what `Clauses::append` leaves out.
struct Cleaned {
  std::uint32_t variables;
  std::vector<std::int32_t> literals, offsets{0};
  std::vector<std::int64_t> weights;
  std::vector<std::uint8_t> hard;

  explicit Cleaned(const Clauses& f) : variables(f.variables) {
    std::vector<std::uint32_t> clause;
    for (std::size_t c = 0; c < f.count; ++c) {
      clause.clear();
      if (!f.append(c, clause)) continue;
      for (const std::uint32_t l : clause) literals.push_back(Clauses::literal(l));
      offsets.push_back(static_cast<std::int32_t>(literals.size()));
      weights.push_back(f.weights[c]);
      hard.push_back(f.hard[c]);
    }
  }

  Clauses clauses() const { return {variables, literals, offsets, weights, hard}; }
};

// Whether clauses are short and hold no variable twice: to look for that in pairs is faster than
// to clean them.
bool is_clean(const Clauses& f) {
  constexpr std::ptrdiff_t kFew = 8;
  for (std::size_t c = 0; c < f.count; ++c) {
    const std::int32_t* const begin = f.literals + f.offsets[c];
    const std::int32_t* const end = f.literals + f.offsets[c + 1];
    if (end - begin > kFew) return false;
    for (const std::int32_t* i = begin; i < end; ++i)
      for (const std::int32_t* j = begin; j < i; ++j)
        if (Clauses::variable(*i) == Clauses::variable(*j)) return false;
  }
  return true;
}

// The best of a few, of a formula that is clean.
std::vector<std::uint8_t> propagated(const Clauses& f) {
  const Instance instance(f, Poll(nullptr));
  Decimation decimation(instance, f.weights, f.hard);
  std::vector<std::uint32_t> left, units(instance.num_clauses), order;
  RandomStream random(0, 0, kFirstPurpose);
  const std::uint8_t never = 0;
  std::vector<std::uint8_t> value, best;
  Evaluation least;
  for (std::int64_t effort = kEffort; effort > 0;
       effort -= f.offsets[f.count] + std::int64_t{f.variables} + 1) {
    decimation.run(value, left, units, order, random, &never);
    const Evaluation found = evaluate(f, value.data());
    const auto order = [](const Evaluation& x) { return std::make_pair(x.violated, x.cost); };
    if (!best.empty() && order(found) >= order(least)) continue;
    best = value;
    least = found;
  }
  return best;
}

}  // namespace

std::vector<std::uint8_t> first_assignment(const Clauses& f, const Poll& stopped) {
  const auto size = std::max<std::int64_t>(f.offsets[f.count], f.variables);
  if (size > kLarge) return greedy(f, stopped);
  return is_clean(f) ? propagated(f) : propagated(Cleaned(f).clauses());
}

void bind_first(nb::module_& module) {
  module.def(
      "first",
      [](const nb::object& formula, std::optional<Vector<std::uint8_t>> stop) {
        const Clauses f(formula);
        const Poll stopped(stop);
        std::vector<std::uint8_t> value;
        {
          nb::gil_scoped_release release;
          value = first_assignment(f, stopped);
        }
        return to_array(std::move(value));
      },
      nb::arg("formula"), nb::arg("stop").none() = nb::none(),
      "A first assignment, uint8 of shape (n,); of formulas that are not large always the same.");
}

}  // namespace hardscape::maxsat
