// The quasi-greedy dynamics as Python sees it.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "native/arrays.hpp"
#include "xorsat/methods/quasi_greedy/dynamics.hpp"

namespace hardscape::xorsat {
namespace {

// A clone worth noting: how many clauses it violates (no fewer than asked for), since which sweep.
struct Finding {
  std::uint32_t worth = ~0u;
  std::uint32_t sweep = ~0u;
  std::uint64_t clone = ~0ull;

  auto operator<=>(const Finding&) const = default;
};

// The findings that were better than all of the same and earlier sweeps, in order of sweeps,
// whatever the order in which they are heard of.
class Improvements {
 public:
  // Takes a finding in; returns whether none before it, of any sweep, violates so few clauses.
  bool add(const Finding& found) {
    const bool fewest = found.worth < best().worth;
    const auto before = [](const Finding& a, const Finding& b) {
      return a.sweep < b.sweep || (a.sweep == b.sweep && a < b);
    };
    auto at = std::lower_bound(steps_.begin(), steps_.end(), found, before);
    if (at != steps_.begin() && (at - 1)->worth <= found.worth) return false;
    const auto worse = [&](const Finding& later) { return later.worth < found.worth; };
    at = steps_.erase(at, std::find_if(at, steps_.end(), worse));
    steps_.insert(at, found);
    return fewest;
  }

  // Fewest violated clauses, then earliest sweep, then lowest clone.
  Finding best() const { return steps_.empty() ? Finding{} : steps_.back(); }

  const std::vector<Finding>& steps() const { return steps_; }

 private:
  std::vector<Finding> steps_;
};

constexpr int kWords = kGroup / 32;

template <class T>
std::vector<T> copied(const Vector<T>& array) {
  return {array.data(), array.data() + array.shape(0)};
}

using Clock = std::chrono::steady_clock;

// So many seconds from now; never, if they are years.
Clock::time_point after(double seconds) {
  if (seconds > 1e8) return Clock::time_point::max();
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(std::max(seconds, 0.0)));
}

// A probability of 1, in units of 2^-40.
constexpr std::uint64_t kCertain = 1ull << 40;

// The maximal runs of numbers k whose probability lies above coins of a level.
std::vector<Range> accepted(const std::uint64_t* table, int degree, const Thresholds& thresholds,
                            int level) {
  std::vector<Range> ranges;
  for (int k = 0; k <= degree; ++k) {
    // A threshold is reached by coins of its own level: one above the number of those below it.
    if (table[k] == 0 || (table[k] < kCertain && thresholds.level(table[k]) <= level)) continue;
    if (ranges.empty() || ranges.back().last != k) ranges.push_back({k, k});
    ranges.back().last = k + 1;
  }
  // Numbers above the degree do not occur, so the last range need not end.
  if (!ranges.empty() && ranges.back().last > degree) ranges.back().last = 1 << 30;
  return ranges;
}

// What is strictly between 0 and 1 in all tables, ascending, each once.
Thresholds thresholds_of(Vector<std::uint64_t> tables) {
  std::vector<std::uint64_t> values;
  for (const std::uint64_t value : copied(tables)) {
    if (value > 0 && value < kCertain) values.push_back(value);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return Thresholds(std::move(values));
}

class QuasiGreedy {
 public:
  // `tables`: for each degree of `degrees` its flip probabilities, one after the other.
  QuasiGreedy(int variables, Vector<std::int64_t> offsets, Vector<std::int32_t> members,
              Vector<std::uint8_t> parity, Vector<std::int32_t> order, Vector<std::int32_t> starts,
              Vector<std::int32_t> touched, Vector<std::uint8_t> chained,
              Vector<std::int32_t> degrees, Vector<std::uint64_t> tables, bool majority) {
    sweep_.variables = variables;
    sweep_.clauses = static_cast<int>(parity.shape(0));
    sweep_.offsets = copied(offsets);
    sweep_.members = copied(members);
    sweep_.parity = copied(parity);
    sweep_.order = copied(order);
    sweep_.starts = copied(starts);
    sweep_.touched = copied(touched);
    sweep_.chained = copied(chained);
    sweep_.majority = majority;
    sweep_.thresholds = thresholds_of(tables);
    const std::uint64_t* table = tables.data();
    for (std::size_t row = 0; row < degrees.shape(0); ++row) {
      const int degree = degrees.data()[row];
      sweep_.table_of.resize(std::max<std::size_t>(sweep_.table_of.size(), degree + 1));
      sweep_.table_of[degree] = static_cast<std::uint16_t>(row);
      for (int level = 0; level < sweep_.thresholds.levels(); ++level) {
        sweep_.ranges.push_back(accepted(table, degree, sweep_.thresholds, level));
      }
      table += degree + 1;
    }
  }

  // Runs `groups` groups of clones for `sweeps` sweeps or until one reaches `target`. `tell` is
  // called with violated clauses and sweep whenever a look finds fewer than all looks before it.
  // `stop` and the end of `seconds` are noticed at looks.
  auto run(std::uint64_t seed, std::uint64_t first_group, std::uint64_t groups,
           std::uint32_t sweeps, std::uint32_t look, std::uint32_t target, bool exact,
           Vector<std::uint8_t> stop, nb::object tell, double seconds) const {
    Round round{seed,        sweeps,          look,           target, exact,
                stop.data(), std::move(tell), after(seconds), {},     0};
    bool complete = true;
    {
      nb::gil_scoped_release release;
      for (std::uint64_t g = 0; g < groups && complete; ++g) {
        complete = run_group(round, first_group + g, g * kGroup);
      }
    }
    std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>> improvements;
    for (const Finding& found : round.improvements.steps()) {
      improvements.emplace_back(found.worth, found.sweep, found.clone);
    }
    return std::make_tuple(improvements, round.done, complete);
  }

  // The first sweep above `after` (from 0 on if that is 0), up to `until`, after which a clone of a
  // word of 32 is solved: the sweep and the lowest such clone of the word; (until, 32) if there is
  // none.
  std::pair<std::uint32_t, int> first_solved(std::uint64_t seed, std::uint64_t word,
                                             std::uint32_t after, std::uint32_t until) const {
    nb::gil_scoped_release release;
    return replay(seed, word, after, until);
  }

  // Spins of one clone after `sweeps` sweeps.
  auto spins(std::uint64_t seed, std::uint64_t clone, std::uint32_t sweeps) const {
    std::vector<std::uint8_t> result(sweep_.variables);
    {
      nb::gil_scoped_release release;
      Clones<std::uint32_t, 1> clones(sweep_, seed, clone / 32, true);
      for (std::uint32_t t = 0; t < sweeps; ++t) clones.step(t);
      for (int v = 0; v < sweep_.variables; ++v) result[v] = *clones.spin(v) >> clone % 32 & 1;
    }
    const std::size_t count = result.size();
    return to_numpy(std::move(result), {count});
  }

  // Runs one group for so many sweeps of each stage after the other. Violated clauses of all its
  // clones together and of the clone with fewest, at the start and after each stage that ended.
  static auto energies(const std::vector<const QuasiGreedy*>& stages, Vector<std::int64_t> sweeps,
                       std::uint64_t seed, std::uint64_t group, Vector<std::uint8_t> stop,
                       double seconds) {
    std::vector<std::uint64_t> totals;
    std::vector<std::uint32_t> fewest;
    {
      nb::gil_scoped_release release;
      const volatile std::uint8_t* const stopped = stop.data();
      const auto until = after(seconds);
      Clones<Wide, kWords> clones(stages.at(0)->sweep_, seed, group * kWords);
      const auto note = [&] {
        totals.push_back(clones.violated());
        fewest.push_back(clones.least(0).first);
      };
      note();
      std::uint64_t number = 0;
      for (std::size_t stage = 0; stage < stages.size(); ++stage) {
        clones.follow(stages[stage]->sweep_);
        const std::uint64_t end = number + sweeps.data()[stage];
        while (number < end && !*stopped && Clock::now() < until) clones.step(number++);
        if (number < end) break;
        note();
      }
    }
    const std::size_t count = totals.size();
    return std::make_pair(to_numpy(std::move(totals), {count}),
                          to_numpy(std::move(fewest), {count}));
  }

  // Words of all clauses of one group after `sweeps` sweeps, 32 for each clause.
  auto states(std::uint64_t seed, std::uint64_t group, std::uint32_t sweeps) const {
    std::vector<std::uint32_t> result(static_cast<std::size_t>(sweep_.clauses) * kWords);
    {
      nb::gil_scoped_release release;
      Clones<Wide, kWords> clones(sweep_, seed, group * kWords);
      for (std::uint32_t t = 0; t < sweeps; ++t) clones.step(t);
      if (sweep_.clauses) std::copy_n(clones.clause(0), result.size(), result.begin());
    }
    const std::size_t rows = sweep_.clauses, columns = kWords;
    return to_numpy(std::move(result), {rows, columns});
  }

 private:
  std::pair<std::uint32_t, int> replay(std::uint64_t seed, std::uint64_t word, std::uint32_t after,
                                       std::uint32_t until) const {
    Clones<std::uint32_t, 1> clones(sweep_, seed, word);
    for (std::uint32_t t = 0;; clones.step(t++)) {
      // The initial spins count as sweep 0.
      if (t > after || after == 0) {
        std::uint32_t solved = 0;
        clones.solved(&solved);
        if (solved) return {t, std::countr_zero(solved)};
      }
      if (t == until) return {until, 32};
    }
  }

  // What the groups of a round have in common, and what they came to; `done` sweeps of groups.
  struct Round {
    std::uint64_t seed;
    std::uint32_t sweeps, look, target;
    bool exact;
    const std::uint8_t* stop;
    nb::object tell;
    Clock::time_point until;
    Improvements improvements;
    std::uint64_t done;

    bool stopped() const {
      return const_cast<const volatile std::uint8_t*>(stop)[0] || Clock::now() >= until;
    }

    void take(const Finding& found) {
      if (!improvements.add(found) || tell.is_none()) return;
      nb::gil_scoped_acquire acquire;
      tell(found.worth, found.sweep);
    }
  };

  // One group, whose first clone is number `first_clone` of the round; false if it was stopped.
  bool run_group(Round& round, std::uint64_t group, std::uint64_t first_clone) const {
    Clones<Wide, kWords> clones(sweep_, round.seed, group * kWords);
    const auto count = [&](std::uint32_t sweep) {
      const auto [worth, clone] = clones.least(round.target);
      round.take({worth, sweep, first_clone + clone});
    };
    for (std::uint32_t t = 0; t < round.sweeps;) {
      // Once the target is reached, only an earlier sweep (or an equal one, looked up below)
      // counts.
      const Finding best = round.improvements.best();
      if (best.worth <= round.target && t >= best.sweep) return true;
      if (round.stopped()) {
        count(t);
        return false;
      }
      const std::uint32_t until = std::min(round.sweeps, t + round.look), from = t;
      for (; t < until; ++t) clones.step(t);
      round.done += until - from;
      if (round.exact) {
        std::uint32_t solved[kWords];
        clones.solved(solved);
        if (search(round, group, first_clone, from, until, solved)) return true;
        if (t < round.sweeps) continue;
      }
      count(t);
    }
    return true;
  }

  // Replays the words that hold a solution from their start, to learn when it came.
  bool search(Round& round, std::uint64_t group, std::uint64_t first_clone, std::uint32_t after,
              std::uint32_t until, const std::uint32_t* solved) const {
    bool found = false;
    for (int w = 0; w < kWords; ++w) {
      if (!solved[w]) continue;
      found = true;
      const auto [sweep, bit] = replay(round.seed, group * kWords + w, after, until);
      round.take({0, sweep, first_clone + 32 * w + bit});
    }
    return found;
  }

  Sweep sweep_;
};

}  // namespace

void bind_kernel(nb::module_& module) {
  nb::class_<QuasiGreedy>(module, "QuasiGreedy")
      .def(nb::init<int, Vector<std::int64_t>, Vector<std::int32_t>, Vector<std::uint8_t>,
                    Vector<std::int32_t>, Vector<std::int32_t>, Vector<std::int32_t>,
                    Vector<std::uint8_t>, Vector<std::int32_t>, Vector<std::uint64_t>, bool>(),
           nb::arg("variables"), nb::arg("offsets"), nb::arg("members"), nb::arg("parity"),
           nb::arg("order"), nb::arg("starts"), nb::arg("touched"), nb::arg("chained"),
           nb::arg("degrees"), nb::arg("tables"), nb::arg("majority"))
      .def("run", &QuasiGreedy::run, nb::arg("seed"), nb::arg("first_group"), nb::arg("groups"),
           nb::arg("sweeps"), nb::arg("look"), nb::arg("target"), nb::arg("exact"), nb::arg("stop"),
           nb::arg("tell").none() = nb::none(),
           nb::arg("seconds") = std::numeric_limits<double>::infinity(),
           "Run groups of 1024 clones: (improvements, sweeps of groups, complete), an improvement "
           "being (violated, sweep, clone).")
      .def("first_solved", &QuasiGreedy::first_solved, nb::arg("seed"), nb::arg("word"),
           nb::arg("after"), nb::arg("until"),
           "First sweep at which a clone of a word is solved, and the lowest such clone.")
      .def("spins", &QuasiGreedy::spins, nb::arg("seed"), nb::arg("clone"), nb::arg("sweeps"),
           "Variables of one clone after a number of sweeps.")
      .def_static("energies", &QuasiGreedy::energies, nb::arg("stages"), nb::arg("sweeps"),
                  nb::arg("seed"), nb::arg("group"), nb::arg("stop"),
                  nb::arg("seconds") = std::numeric_limits<double>::infinity(),
                  "Violated clauses of a group's clones together, and the fewest of one, at the "
                  "start and after each stage.")
      .def("states", &QuasiGreedy::states, nb::arg("seed"), nb::arg("group"), nb::arg("sweeps"),
           "Words of all clauses of one group after a number of sweeps.");
}

}  // namespace hardscape::xorsat
