// The cellular genetic algorithm on the CPU: one generation of a range of sub-populations.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "maxsat/methods/cellular/baselines.hpp"
#include "maxsat/methods/cellular/bit_sliced.hpp"
#include "maxsat/methods/cellular/clause_table.hpp"
#include "maxsat/methods/cellular/gain_climber.hpp"
#include "maxsat/methods/cellular/genetics.hpp"
#include "maxsat/methods/given.hpp"
#include "maxsat/methods/weighting/walk.hpp"
#include "maxsat/methods/weighting/weighting.hpp"
#include "native/arrays.hpp"

namespace hardscape::maxsat {
namespace {

using Flag = Vector<std::uint8_t>;
// Individuals of the whole population, and of each: violated hard clauses, weight of violated soft
// ones.
using Bits = Matrix<std::uint64_t>;
using Costs = Matrix<std::int64_t>;
using NewBits = nb::ndarray<std::uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using NewCosts = nb::ndarray<std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Cost cost_at(const Costs& costs, std::size_t i) {
  return {costs.data()[2 * i], costs.data()[2 * i + 1]};
}

class CellularSearch {
 public:
  // `stop` may cut it short: see `complete`.
  CellularSearch(const nb::object& formula, Vector<std::int32_t> torus,
                 Vector<std::uint64_t> chances, std::uint64_t operators, std::uint64_t walk_flips,
                 Vector<std::uint32_t> break_weights, std::optional<Flag> stop)
      : torus_{torus.data()[0], torus.data()[1], torus.data()[2], torus.data()[3]},
        chances_{chances.data()[0], chances.data()[1], chances.data()[2]},
        operators_(operators),
        walk_flips_(walk_flips),
        break_weights_(break_weights.data(), break_weights.data() + kBreakWeights) {
    const Clauses given(formula);
    const Poll stopped(stop);
    words_ = (std::size_t{given.variables} + 63) / 64;
    nb::gil_scoped_release release;
    table_ = ClauseTable(given, stopped);
    if (!table_.complete) return;
    uniform_ = table_.alike();
    if (uniform_ && !sliced_.emplace(table_, stopped).complete()) return;
    complete_ = true;
  }

  CellularSearch(const CellularSearch&) = delete;  // its parts refer to one another
  CellularSearch& operator=(const CellularSearch&) = delete;

  // False where the constructor was stopped: not to be used.
  bool complete() const { return complete_; }

  // Random individuals of the sub-populations first to last - 1, with their costs; returns 0, or
  // None where it was stopped.
  std::optional<std::int64_t> initial(std::uint64_t seed, int first, int last, NewBits bits,
                                      NewCosts costs, Flag stop) const {
    Offspring born(*this, first, last, bits.data(), costs.data(), stop.data());
    {
      nb::gil_scoped_release release;
      born.fill([&](int individual, std::uint64_t* child) {
        RandomStream random = cellular_stream(seed, individual, 0, Purpose::kInitial);
        for (std::size_t w = 0; w < words_; ++w) child[w] = random.next();
      });
      born.climb(0);  // no passes: the costs alone
      born.store_costs();
    }
    return born.unfinished();
  }

  // The next generation of the sub-populations first to last - 1; returns how many individuals
  // still improved in the last pass, or None where it was stopped.
  std::optional<std::int64_t> generation(Bits parents, Costs costs, std::uint64_t seed,
                                         std::uint64_t generation, std::int64_t passes, int first,
                                         int last, NewBits bits, NewCosts new_costs,
                                         Flag stop) const {
    Offspring born(*this, first, last, bits.data(), new_costs.data(), stop.data());
    {
      nb::gil_scoped_release release;
      const bool diffusion = !operators_.sorted && diffuses(seed, generation, chances_);
      const auto cost = [&](int i) { return cost_at(costs, static_cast<std::size_t>(i)); };
      born.fill([&](int individual, std::uint64_t* child) {
        const int partner =
            operators_.panmictic
                ? panmictic_parent(torus_, seed, individual, generation, cost)
                : second_parent(torus_, seed, individual, generation, diffusion, cost);
        const std::uint64_t* parent1 = parents.data() + individual * words_;
        const std::uint64_t* parent2 = parents.data() + partner * words_;
        if (operators_.two_point || operators_.one_gene) {
          make_old_child(operators_, chances_, seed, individual, generation, table_.num_variables,
                         parent1, parent2, child);
          return;
        }
        make_child(
            chances_, seed, individual, generation, static_cast<int>(words_),
            [&](int w) { return parent1[w]; }, [&](int w) { return parent2[w]; },
            [&](int w, std::uint64_t word) { child[w] = word; });
      });
      if (walk_flips_ && uniform_) {
        born.walk(seed, generation);
      } else if (walk_flips_) {
        born.weigh(seed, generation);
      } else {
        born.climb(passes);
      }
      born.replace(parents, costs);
      born.store_costs();
    }
    return born.unfinished();
  }

  // After a generation: migration of the sorted best, where that is asked for and happens.
  void migrate(std::uint64_t seed, std::uint64_t generation, NewBits bits, NewCosts costs) const {
    if (!operators_.sorted || !diffuses(seed, generation, chances_)) return;
    nb::gil_scoped_release release;
    migrate_sorted(torus_, words_, bits.data(), costs.data());
  }

  // Literals, starts, weights, occurrences, where each literal's begin, cost of empty clauses, and
  // whether all clauses weigh the same.
  auto tables() const {
    std::vector<std::int64_t> weights;
    std::vector<std::uint32_t> codes, starts{0};
    for (const Cost& weight : table_.weight) {
      weights.push_back(weight.hard);
      weights.push_back(weight.soft);
    }
    for (std::uint32_t c = 0; c < table_.num_clauses; ++c) {
      for (const std::int32_t x : table_.literals(c)) codes.push_back(Clauses::code(x));
      starts.push_back(static_cast<std::uint32_t>(codes.size()));
    }
    return std::make_tuple(to_array(std::move(codes)), to_array(std::move(starts)),
                           to_numpy(std::move(weights), {table_.num_clauses, 2}),
                           to_array(table_.occurrence), to_array(table_.first),
                           std::make_tuple(table_.base.hard, table_.base.soft), uniform_);
  }

 private:
  // Children of a range of sub-populations. Once `stop` is set nothing more is done: those that
  // were not finished then cost more than anything.
  class Offspring {
   public:
    // `bits` and `costs` are those of the whole population.
    Offspring(const CellularSearch& search, int first, int last, std::uint64_t* bits,
              std::int64_t* costs, const volatile std::uint8_t* stop)
        : search_(search),
          from_(static_cast<std::size_t>(first) * search.torus_.cells()),
          count_(static_cast<std::size_t>(last - first) * search.torus_.cells()),
          bits_(bits + from_ * search.words_),
          stored_(costs + 2 * from_),
          costs_(count_, kUnknown),
          stop_(stop),
          stopped_(stop) {}

    template <class Make>
    void fill(Make&& make) {
      for (std::size_t i = 0; i < count_ && !*stop_; ++i) {
        make(static_cast<int>(from_ + i), row(i));
        if (search_.words_) {
          row(i)[search_.words_ - 1] &= word_mask(static_cast<int>(search_.table_.num_variables),
                                                  static_cast<int>(search_.words_) - 1);
        }
      }
    }

    void climb(std::int64_t passes) {
      if (*stop_) return;
      search_.uniform_ ? climb_sliced(passes) : climb_each(passes);
    }

    void walk(std::uint64_t seed, std::uint64_t generation) {
      if (*stop_) return;
      const ClauseTable& table = search_.table_;
      // Numbers of variables and clauses fit the smaller words.
      if (table.uniform == 3 && 3ull * table.num_variables < 1u << 28 &&
          table.num_clauses < 1u << 28) {
        walk_by<3, std::uint32_t, 28>(seed, generation);
      } else {
        walk_by<0, std::uint64_t, 40>(seed, generation);
      }
    }

    void weigh(std::uint64_t seed, std::uint64_t generation) {
      if (*stop_) return;
      const ClauseTable& table = search_.table_;
      std::vector<std::int64_t> weights;  // a hard clause has none of its own
      std::vector<std::uint8_t> hard, value(table.num_variables);
      for (const Cost& weight : table.weight) {
        weights.push_back(weight.soft);
        hard.push_back(weight.hard != 0);
      }
      Weighting climber(Given{table, weights.data(), hard.data(), 0, 0, nullptr, stopped_},
                        WeightingOptions{});
      for (std::size_t i = 0; i < count_ && climber.complete() && !*stop_; ++i) {
        unpack(row(i), value);
        climber.begin_from(value, cellular_stream(seed, from_ + i, generation, Purpose::kWalk),
                           stop_);
        climber.run(search_.walk_flips_, 0, stop_);
        pack(climber.best(), row(i));
        const WideCost& found = climber.best_cost();  // the sum of all weights fits 64 bits here
        Cost cost{static_cast<std::int64_t>(found.hard), static_cast<std::int64_t>(found.soft)};
        if (!*stop_) costs_[i] = cost += table.base;
      }
    }

    // Keeps the parent where the child is not better.
    void replace(const Bits& bits, const Costs& costs) {
      for (std::size_t i = 0; i < count_ && !*stop_; ++i) {
        const Cost parent = cost_at(costs, from_ + i);
        if (costs_[i] < parent) continue;
        costs_[i] = parent;
        std::copy_n(bits.data() + (from_ + i) * search_.words_, search_.words_, row(i));
      }
    }

    void store_costs() {
      for (std::size_t i = 0; i < count_; ++i) {
        stored_[2 * i] = costs_[i].hard;
        stored_[2 * i + 1] = costs_[i].soft;
      }
    }

    std::optional<std::int64_t> unfinished() const {
      return *stop_ ? std::nullopt : std::optional<std::int64_t>(unfinished_);
    }

   private:
    static constexpr Cost kUnknown{INT64_MAX, INT64_MAX};

    std::uint64_t* row(std::size_t i) { return bits_ + i * search_.words_; }

    void climb_each(std::int64_t passes) {
      GainClimber climber(search_.table_);
      for (std::size_t i = 0; i < count_ && !*stop_; ++i) {
        if (!climber.start(row(i), stopped_)) continue;
        unfinished_ += climber.climb(passes, stopped_);
        pack(climber.value(), row(i));
        costs_[i] = climber.cost();
      }
    }

    // All clauses weigh the same.
    template <int K, class Word, int Count>
    void walk_by(std::uint64_t seed, std::uint64_t generation) {
      const ClauseTable& table = search_.table_;
      Walker<K, std::int32_t, std::uint32_t, Word, Count> climber(
          {table.clause, table.start, table.occurrence.data(), table.first.data(),
           search_.break_weights_.data(), table.num_variables},
          table.num_clauses, stopped_);
      const Cost weight = table.weight.empty() ? Cost{} : table.weight.front();
      for (std::size_t i = 0; i < count_ && !*stop_; ++i) {
        unpack(row(i), climber.value());
        if (!climber.begin(stopped_)) return;
        RandomStream random = cellular_stream(seed, from_ + i, generation, Purpose::kWalk);
        climber.run(search_.walk_flips_, 0, random, stop_);
        pack(climber.best(), row(i));
        const auto violated = static_cast<std::int64_t>(climber.best_cost());
        Cost cost{violated * weight.hard, violated * weight.soft};
        if (!*stop_) costs_[i] = cost += table.base;
      }
    }

    void climb_sliced(std::int64_t passes) {
      const BitSlicedClimber& climber = *search_.sliced_;
      std::vector<Plane> literal;
      if (!climber.make_planes(literal, stopped_)) return;
      for (std::size_t i = 0; i < count_ && !*stop_; i += kPlaneBits) {
        const std::size_t together = std::min<std::size_t>(kPlaneBits, count_ - i);
        to_planes(i, together, literal.data());
        const Plane changed = climber.climb(literal.data(), passes, stopped_);
        for (int word = 0; word < kPlaneWords; ++word) {
          const int lanes = static_cast<int>(together) - 64 * word;
          if (lanes > 0) unfinished_ += std::popcount(changed[word] & word_mask(lanes, 0));
        }
        std::vector<Cost> costs(together, search_.table_.base);
        if (!climber.add_costs(literal.data(), together, costs.data(), stopped_)) return;
        to_rows(i, together, literal.data());
        if (!*stop_) std::copy(costs.begin(), costs.end(), costs_.begin() + i);
      }
    }

    // Lanes beyond `together` repeat the first individual, so that they never take longer.
    void to_planes(std::size_t i, std::size_t together, Plane* literal) {
      const int variables = static_cast<int>(search_.table_.num_variables);
      std::uint64_t block[64];
      for (int lanes = 0; lanes < kPlaneWords; ++lanes) {
        for (std::size_t w = 0; w < search_.words_; ++w) {
          if (stopped_(w)) return;
          for (std::size_t k = 0; k < 64; ++k) {
            const std::size_t lane = 64 * lanes + k;
            block[k] = row(i + (lane < together ? lane : 0))[w];
          }
          transpose(block);
          const int vars = std::min(64, variables - 64 * static_cast<int>(w));
          for (int b = 0; b < vars; ++b) {
            literal[2 * (64 * w + b)][lanes] = block[b];
            literal[2 * (64 * w + b) + 1][lanes] = ~block[b];
          }
        }
      }
    }

    void to_rows(std::size_t i, std::size_t together, const Plane* literal) {
      const int variables = static_cast<int>(search_.table_.num_variables);
      std::uint64_t block[64];
      for (int lanes = 0; lanes < kPlaneWords; ++lanes) {
        for (std::size_t w = 0; w < search_.words_; ++w) {
          if (stopped_(w)) return;
          const int vars = std::min(64, variables - 64 * static_cast<int>(w));
          for (int b = 0; b < 64; ++b) block[b] = b < vars ? literal[2 * (64 * w + b)][lanes] : 0;
          transpose(block);
          for (std::size_t k = 0; k < 64 && 64 * lanes + k < together; ++k) {
            row(i + 64 * lanes + k)[w] = block[k];
          }
        }
      }
    }

    const CellularSearch& search_;
    std::size_t from_, count_;
    std::uint64_t* bits_;
    std::int64_t* stored_;
    std::vector<Cost> costs_;
    const volatile std::uint8_t* stop_;
    Poll stopped_;
    std::int64_t unfinished_ = 0;
  };

  ClauseTable table_;
  Torus torus_;
  Chances chances_;
  std::size_t words_ = 0;
  bool uniform_ = false, complete_ = false;
  Operators operators_;
  std::uint64_t walk_flips_;  // 0: hill climbing
  std::vector<std::uint32_t> break_weights_;
  std::optional<BitSlicedClimber> sliced_;  // where all clauses weigh the same
};

// Control and rules as int64 arrays, field by field.
using Fields = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void begin(Fields control, Vector<std::int64_t> rules, std::int64_t hard, std::int64_t soft) {
  begin_run(*reinterpret_cast<Control*>(control.data()),
            *reinterpret_cast<const Rules*>(rules.data()), {hard, soft});
}

void end(Fields control, Vector<std::int64_t> rules, std::int64_t unfinished, std::int64_t hard,
         std::int64_t soft) {
  end_generation(*reinterpret_cast<Control*>(control.data()),
                 *reinterpret_cast<const Rules*>(rules.data()), unfinished, {hard, soft});
}

}  // namespace

void bind_cellular(nb::module_& module) {
  module.def("cellular_seed", &cellular_seed, nb::arg("seed"), nb::arg("run"),
             "Seed of one of several runs.");
  module.def("cellular_begin", &begin, nb::arg("control"), nb::arg("rules"), nb::arg("hard"),
             nb::arg("soft"), "Set a run's control from the cost of its best first individual.");
  module.def("cellular_end", &end, nb::arg("control"), nb::arg("rules"), nb::arg("unfinished"),
             nb::arg("hard"), nb::arg("soft"), "Move a run's control past a generation.");
  nb::class_<CellularSearch>(module, "CellularSearch")
      .def(nb::init<const nb::object&, Vector<std::int32_t>, Vector<std::uint64_t>, std::uint64_t,
                    std::uint64_t, Vector<std::uint32_t>, std::optional<Flag>>(),
           nb::arg("formula"), nb::arg("torus"), nb::arg("chances"), nb::arg("operators"),
           nb::arg("walk_flips"), nb::arg("break_weights"), nb::arg("stop").none() = nb::none())
      .def_prop_ro("complete", &CellularSearch::complete,
                   "False where `stop` cut the construction short: not to be used.")
      .def("initial", &CellularSearch::initial, nb::arg("seed"), nb::arg("first"), nb::arg("last"),
           nb::arg("bits"), nb::arg("costs"), nb::arg("stop"),
           "Random individuals of the sub-populations first to last-1, into `bits` and `costs` of "
           "the population; None where `stop` came first.")
      .def("generation", &CellularSearch::generation, nb::arg("parents"), nb::arg("parents_costs"),
           nb::arg("seed"), nb::arg("generation"), nb::arg("passes"), nb::arg("first"),
           nb::arg("last"), nb::arg("bits"), nb::arg("costs"), nb::arg("stop"),
           "The next generation of the sub-populations first to last-1, into `bits` and `costs`; "
           "how many individuals improved in the last pass, or None where `stop` came first.")
      .def("migrate", &CellularSearch::migrate, nb::arg("seed"), nb::arg("generation"),
           nb::arg("bits"), nb::arg("costs"), "Move the sorted best on, in generations that do.")
      .def("tables", &CellularSearch::tables, "Clauses and occurrences, for a GPU.");
}

}  // namespace hardscape::maxsat
