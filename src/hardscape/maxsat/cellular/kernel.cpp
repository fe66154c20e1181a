// The cellular genetic algorithm on the CPU: one generation of a range of sub-populations.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "maxsat/cellular/bit_sliced.hpp"
#include "maxsat/cellular/clause_table.hpp"
#include "maxsat/cellular/gain_climber.hpp"
#include "maxsat/cellular/genetics.hpp"
#include "maxsat/cellular/walk_climber.hpp"
#include "maxsat/cellular/weighting_climber.hpp"
#include "native/arrays.hpp"

namespace hardscape::maxsat {
namespace {

using Bits = Matrix<std::uint64_t>;
using Costs = Matrix<std::int64_t>;  // violated hard clauses, weight of violated soft clauses

Cost cost_at(const Costs& costs, std::size_t i) {
  return {costs.data()[2 * i], costs.data()[2 * i + 1]};
}

class CellularSearch {
 public:
  CellularSearch(int variables, Vector<std::int32_t> literals, Vector<std::int64_t> offsets,
                 Vector<std::int64_t> weights, Vector<std::uint8_t> hard,
                 Vector<std::int32_t> torus, Vector<std::uint64_t> chances, std::int64_t walk_flips,
                 Vector<std::uint32_t> break_weights)
      : table_(variables, literals.data(), offsets.data(), weights.data(), hard.data(),
               weights.shape(0)),
        torus_{torus.data()[0], torus.data()[1], torus.data()[2], torus.data()[3]},
        chances_{chances.data()[0], chances.data()[1], chances.data()[2]},
        words_((static_cast<std::size_t>(variables) + 63) / 64),
        uniform_(table_.uniform()),
        walk_flips_(walk_flips) {
    // On large formulas each of these takes a while: only what is used.
    if (uniform_) sliced_.emplace(table_);
    if (uniform_ && walk_flips_) walk_clauses_.emplace(table_, break_weights.data());
  }

  // Random individuals of the sub-populations first to last - 1, with their costs.
  nb::object initial(std::uint64_t seed, int first, int last, Vector<std::uint8_t> stop) const {
    Offspring born(*this, first, last);
    {
      nb::gil_scoped_release release;
      born.fill(stop.data(), [&](int individual, std::uint64_t* child) {
        RandomStream random = cellular_stream(seed, individual, 0, Purpose::kInitial);
        for (std::size_t w = 0; w < words_; ++w) child[w] = random.next();
      });
      born.climb(0, stop.data());  // no passes: the costs alone
    }
    return born.arrays();
  }

  // The next generation of the sub-populations first to last - 1: bits, costs, and how many
  // individuals still improved in the last pass.
  nb::object generation(Bits bits, Costs costs, std::uint64_t seed, std::uint64_t generation,
                        std::int64_t passes, int first, int last, Vector<std::uint8_t> stop) const {
    Offspring born(*this, first, last);
    {
      nb::gil_scoped_release release;
      const bool diffusion = diffuses(seed, generation, chances_);
      born.fill(stop.data(), [&](int individual, std::uint64_t* child) {
        const int partner =
            second_parent(torus_, seed, individual, generation, diffusion,
                          [&](int i) { return cost_at(costs, static_cast<std::size_t>(i)); });
        const std::uint64_t* parent1 = bits.data() + individual * words_;
        const std::uint64_t* parent2 = bits.data() + partner * words_;
        make_child(
            chances_, seed, individual, generation, static_cast<int>(words_),
            [&](int w) { return parent1[w]; }, [&](int w) { return parent2[w]; },
            [&](int w, std::uint64_t word) { child[w] = word; });
      });
      if (walk_flips_ && uniform_) {
        born.walk(seed, generation, stop.data());
      } else if (walk_flips_) {
        born.weigh(seed, generation, stop.data());
      } else {
        born.climb(passes, stop.data());
      }
      born.replace(bits, costs);
    }
    return born.arrays();
  }

  // Literals, starts, weights, occurrences, where each literal's begin, cost of empty clauses, and
  // whether all clauses weigh the same.
  nb::object tables() const {
    std::vector<std::int64_t> weights;
    for (const Cost& weight : table_.weight) {
      weights.push_back(weight.hard);
      weights.push_back(weight.soft);
    }
    const auto copy = [](auto values) {
      const std::size_t count = values.size();
      return to_numpy(std::move(values), {count});
    };
    return nb::make_tuple(copy(table_.literal), copy(table_.start),
                          to_numpy(std::move(weights), {table_.size(), 2}), copy(table_.occurs),
                          copy(table_.occurs_from),
                          nb::make_tuple(table_.base.hard, table_.base.soft), uniform_);
  }

 private:
  // Children of a range of sub-populations.
  class Offspring {
   public:
    Offspring(const CellularSearch& search, int first, int last)
        : search_(search),
          from_(static_cast<std::size_t>(first) * search.torus_.cells()),
          count_(static_cast<std::size_t>(last - first) * search.torus_.cells()),
          bits_(count_ * search.words_),
          costs_(count_) {}

    template <class Make>
    void fill(const std::uint8_t* stop, Make&& make) {
      for (std::size_t i = 0; i < count_; ++i) {
        if (i && *stop) return repeat_first(i);
        make(static_cast<int>(from_ + i), row(i));
        if (search_.words_) {
          row(i)[search_.words_ - 1] &=
              word_mask(search_.table_.variables, static_cast<int>(search_.words_) - 1);
        }
      }
    }

    void climb(std::int64_t passes, const std::uint8_t* stop) {
      search_.uniform_ ? climb_sliced(passes, stop) : climb_each(passes, stop);
    }

    void walk(std::uint64_t seed, std::uint64_t generation, const std::uint8_t* stop) {
      if (search_.walk_clauses_->three()) {
        walk_by<3, std::uint32_t, 28>(seed, generation, stop);
      } else {
        walk_by<0, std::uint64_t, 40>(seed, generation, stop);
      }
    }

    void weigh(std::uint64_t seed, std::uint64_t generation, const std::uint8_t* stop) {
      WeightingClimber climber(search_.table_);
      for (std::size_t i = 0; i < count_; ++i) {
        if (i && *stop) return repeat_first(i);
        costs_[i] = search_.table_.base;
        costs_[i] +=
            climber.search(row(i), search_.walk_flips_,
                           cellular_stream(seed, from_ + i, generation, Purpose::kWalk), stop);
      }
    }

    // Keeps the parent where the child is not better.
    void replace(const Bits& bits, const Costs& costs) {
      for (std::size_t i = 0; i < count_; ++i) {
        const Cost parent = cost_at(costs, from_ + i);
        if (costs_[i] < parent) continue;
        costs_[i] = parent;
        std::copy_n(bits.data() + (from_ + i) * search_.words_, search_.words_, row(i));
      }
    }

    nb::object arrays() {
      std::vector<std::int64_t> costs(2 * count_);
      for (std::size_t i = 0; i < count_; ++i) {
        costs[2 * i] = costs_[i].hard;
        costs[2 * i + 1] = costs_[i].soft;
      }
      return nb::make_tuple(to_numpy(std::move(bits_), {count_, search_.words_}),
                            to_numpy(std::move(costs), {count_, 2}), unfinished_);
    }

   private:
    std::uint64_t* row(std::size_t i) { return bits_.data() + i * search_.words_; }

    void climb_each(std::int64_t passes, const std::uint8_t* stop) {
      GainClimber climber(search_.table_);
      for (std::size_t i = 0; i < count_; ++i) {
        if (i && *stop) return repeat_first(i);
        climber.start(row(i));
        unfinished_ += climber.climb(passes, stop);
        climber.store(row(i));
        costs_[i] = climber.cost();
      }
    }

    // Where there is no time for the rest: individuals from `i` on become the first one, so that
    // bits and costs agree.
    void repeat_first(std::size_t i) {
      for (; i < count_; ++i) {
        std::copy_n(row(0), search_.words_, row(i));
        costs_[i] = costs_[0];
      }
    }

    // All clauses weigh the same.
    template <int K, class Word, int Count>
    void walk_by(std::uint64_t seed, std::uint64_t generation, const std::uint8_t* stop) {
      WalkClimber<K, Word, Count> climber(*search_.walk_clauses_);
      const ClauseTable& table = search_.table_;
      const Cost weight = table.weight.empty() ? Cost{} : table.weight.front();
      for (std::size_t i = 0; i < count_; ++i) {
        if (i && *stop) return repeat_first(i);
        const auto violated = static_cast<std::int64_t>(
            climber.walk(row(i), search_.walk_flips_,
                         cellular_stream(seed, from_ + i, generation, Purpose::kWalk), stop));
        costs_[i] = table.base;
        costs_[i] += {violated * weight.hard, violated * weight.soft};
      }
    }

    void climb_sliced(std::int64_t passes, const std::uint8_t* stop) {
      std::vector<Plane> literal = search_.sliced_->planes();
      for (std::size_t i = 0; i < count_; i += kPlaneBits) {
        if (i && *stop) return repeat_first(i);
        const std::size_t together = std::min<std::size_t>(kPlaneBits, count_ - i);
        to_planes(i, together, literal.data());
        const Plane changed = search_.sliced_->climb(literal.data(), passes, stop);
        for (int word = 0; word < kPlaneWords; ++word) {
          const int lanes = static_cast<int>(together) - 64 * word;
          if (lanes > 0) unfinished_ += std::popcount(changed[word] & word_mask(lanes, 0));
        }
        std::fill_n(costs_.begin() + i, together, search_.table_.base);
        search_.sliced_->add_costs(literal.data(), together, costs_.data() + i);
        to_rows(i, together, literal.data());
      }
    }

    // Lanes beyond `together` repeat the first individual, so that they never take longer.
    void to_planes(std::size_t i, std::size_t together, Plane* literal) {
      const int variables = search_.table_.variables;
      std::uint64_t block[64];
      for (int lanes = 0; lanes < kPlaneWords; ++lanes) {
        for (std::size_t w = 0; w < search_.words_; ++w) {
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
      const int variables = search_.table_.variables;
      std::uint64_t block[64];
      for (int lanes = 0; lanes < kPlaneWords; ++lanes) {
        for (std::size_t w = 0; w < search_.words_; ++w) {
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
    std::vector<std::uint64_t> bits_;
    std::vector<Cost> costs_;
    std::int64_t unfinished_ = 0;
  };

  ClauseTable table_;
  Torus torus_;
  Chances chances_;
  std::size_t words_;
  bool uniform_;
  std::int64_t walk_flips_;                  // 0: hill climbing
  std::optional<BitSlicedClimber> sliced_;   // where all clauses weigh the same
  std::optional<WalkClauses> walk_clauses_;  // and the local search is the random walk
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
      .def(nb::init<int, Vector<std::int32_t>, Vector<std::int64_t>, Vector<std::int64_t>,
                    Vector<std::uint8_t>, Vector<std::int32_t>, Vector<std::uint64_t>, std::int64_t,
                    Vector<std::uint32_t>>(),
           nb::arg("variables"), nb::arg("literals"), nb::arg("offsets"), nb::arg("weights"),
           nb::arg("hard"), nb::arg("torus"), nb::arg("chances"), nb::arg("walk_flips"),
           nb::arg("break_weights"))
      .def("initial", &CellularSearch::initial, nb::arg("seed"), nb::arg("first"), nb::arg("last"),
           nb::arg("stop"), "Random individuals of the sub-populations first to last-1.")
      .def("generation", &CellularSearch::generation, nb::arg("bits"), nb::arg("costs"),
           nb::arg("seed"), nb::arg("generation"), nb::arg("passes"), nb::arg("first"),
           nb::arg("last"), nb::arg("stop"),
           "The next generation of the sub-populations first to last-1.")
      .def("tables", &CellularSearch::tables, "Clauses and occurrences, for a GPU.");
}

}  // namespace hardscape::maxsat
