// Searches under semidefinite bounds as Python calls them.
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "ising/methods/lists.hpp"
#include "ising/methods/semidefinite/branching.hpp"
#include "ising/methods/semidefinite/rounds.hpp"
#include "native/arrays.hpp"
#include "native/wide.hpp"

namespace hardscape::ising {
namespace {

// States (n, words), energies, whether all was done; nodes, of which cut; leaves; candidates; the
// number before which all is searched.
using Found = std::tuple<Words64, Words64, bool, double, double, double, double, std::uint64_t>;

using Known = Matrix<std::uint64_t>;

// A tree whose nodes are bounded elsewhere: rounds.hpp.
class AnyRounds {
 public:
  virtual ~AnyRounds() = default;
  virtual std::tuple<NumpyArray<std::uint8_t>, NumpyArray<double>> take(std::size_t most,
                                                                        std::size_t full) = 0;
  virtual bool search_leaves(Vector<std::uint8_t> stop) = 0;
  virtual void give(Vector<std::uint8_t> bounds) = 0;
  virtual bool over() const = 0;
  virtual Found found() = 0;
};

class AnyBranching {
 public:
  virtual ~AnyBranching() = default;
  virtual Found run(int places, std::uint64_t first, std::uint64_t last, std::size_t listed,
                    bool witness, std::optional<Vector<std::uint64_t>> threshold,
                    std::optional<Vector<std::uint64_t>> window, Known states, Known energies,
                    std::optional<SharedWords> board, Vector<std::uint8_t> stop,
                    double seconds) const = 0;
  virtual std::optional<Words64> least_bound(int places, Vector<std::uint64_t> ranges,
                                             double seconds) const = 0;
  virtual double probe(bool symmetric, std::uint64_t seed, std::size_t listed, bool witness,
                       std::optional<Vector<std::uint64_t>> threshold,
                       std::optional<Vector<std::uint64_t>> window, Known states, Known energies,
                       Vector<std::uint8_t> stop) const = 0;
  virtual NumpyArray<double> pairs() const = 0;
  virtual std::unique_ptr<AnyRounds> rounds(int places, std::uint64_t first, std::uint64_t last,
                                            std::size_t listed, bool witness,
                                            std::optional<Vector<std::uint64_t>> threshold,
                                            std::optional<Vector<std::uint64_t>> window,
                                            Known states, Known energies,
                                            std::optional<SharedWords> board, int leaf,
                                            int slots) const = 0;
};

template <int Limbs>
class RoundsOf final : public AnyRounds {
 public:
  template <class... Args>
  explicit RoundsOf(std::size_t words, std::optional<SharedWords> board, Args&&... args)
      : words_(words), board_(std::move(board)), rounds_(std::forward<Args>(args)...) {
    if (board_) rounds_.pool().join(Board<Limbs, LongCode>(board_->data()));
  }

  std::tuple<NumpyArray<std::uint8_t>, NumpyArray<double>> take(std::size_t most,
                                                                std::size_t full) override {
    std::vector<double> fields;
    std::vector<std::uint8_t> bytes;
    {
      nb::gil_scoped_release release;
      const auto nodes = rounds_.take(most, full, fields);
      const auto* begin = reinterpret_cast<const std::uint8_t*>(nodes.data());
      bytes.assign(begin, begin + nodes.size() * sizeof(Bounded));
    }
    const std::size_t size = bytes.size(), width = rounds_.width(), count = fields.size() / width;
    return {to_numpy(std::move(bytes), {size}), to_numpy(std::move(fields), {count, width})};
  }

  bool search_leaves(Vector<std::uint8_t> stop) override {
    nb::gil_scoped_release release;
    return rounds_.search_leaves(stop.data());
  }

  void give(Vector<std::uint8_t> bounds) override {
    nb::gil_scoped_release release;
    rounds_.give(reinterpret_cast<const Bound*>(bounds.data()));
  }

  bool over() const override { return rounds_.over(); }

  Found found() override {
    auto [states, energies] = words_of(rounds_.pool(), words_);
    const std::size_t count = energies.size() / Limbs;
    const auto& told = rounds_.counted();
    return {to_numpy(std::move(states), {count, words_}),
            to_numpy(std::move(energies), {count, Limbs}),
            rounds_.over(),
            told.nodes,
            told.cut,
            told.leaves,
            told.candidates,
            0};
  }

 private:
  std::size_t words_;  // of a state
  std::optional<SharedWords> board_;
  Rounds<Limbs> rounds_;
};

template <int Limbs>
class BranchingOf final : public AnyBranching {
  using Integer = Wide<Limbs>;
  using Code = LongCode;
  using Words = std::optional<Vector<std::uint64_t>>;

 public:
  template <class... Args>
  explicit BranchingOf(std::size_t words, Args&&... args)
      : words_(words), branching_(std::forward<Args>(args)...) {}

  Found run(int places, std::uint64_t first, std::uint64_t last, std::size_t listed, bool witness,
            Words threshold, Words window, Known states, Known energies,
            std::optional<SharedWords> board, Vector<std::uint8_t> stop,
            double seconds) const override {
    const auto until = after(seconds);
    auto [found_states, found_energies, told] = collect<Limbs, Code>(
        listed, witness, threshold, window,
        [&](Pool<Limbs, Code>& pool) {
          const auto known = offered(pool, states, energies);
          if (board) pool.join(Board<Limbs, Code>(board->data()));
          return branching_.run(places, first, last, pool, known, stop.data(), until);
        },
        words_);
    return {std::move(found_states),
            std::move(found_energies),
            told.complete,
            told.nodes,
            told.cut,
            told.leaves,
            told.candidates,
            last};
  }

  std::optional<Words64> least_bound(int places, Vector<std::uint64_t> ranges,
                                     double seconds) const override {
    std::optional<Integer> bound;
    {
      nb::gil_scoped_release release;
      std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
      for (std::size_t i = 0; i + 1 < ranges.shape(0); i += 2) {
        pairs.emplace_back(ranges.data()[i], ranges.data()[i + 1]);
      }
      bound = branching_.least_bound(places, pairs, seconds);
    }
    if (!bound) return std::nullopt;
    std::vector<std::uint64_t> words(Limbs);
    bound->store(words.data());
    return to_numpy(std::move(words), {1, Limbs});
  }

  double probe(bool symmetric, std::uint64_t seed, std::size_t listed, bool witness,
               Words threshold, Words window, Known states, Known energies,
               Vector<std::uint8_t> stop) const override {
    const auto told = collect<Limbs, Code>(
        listed, witness, threshold, window,
        [&](Pool<Limbs, Code>& pool) {
          return branching_.probe(symmetric, seed, pool, offered(pool, states, energies),
                                  stop.data());
        },
        words_);
    return std::get<2>(told);
  }

  NumpyArray<double> pairs() const override {
    auto [pairs, width] = branching_.pairs();
    return to_numpy(std::move(pairs), {width, width});
  }

  std::unique_ptr<AnyRounds> rounds(int places, std::uint64_t first, std::uint64_t last,
                                    std::size_t listed, bool witness, Words threshold, Words window,
                                    Known states, Known energies, std::optional<SharedWords> board,
                                    int leaf, int slots) const override {
    const auto integer = [](const Words& words) -> std::optional<Integer> {
      if (!words) return std::nullopt;
      return Integer::load(words->data());
    };
    Pool<Limbs, Code> pool(listed, witness, integer(window), integer(threshold));
    std::vector<Code> known;
    for (const auto& state : offered(pool, states, energies)) known.push_back(state.first);
    return std::make_unique<RoundsOf<Limbs>>(words_, std::move(board), branching_, places, first,
                                             last, std::move(pool), std::move(known), leaf, slots);
  }

 private:
  // Known states in order, of which the pool has the lowest.
  std::vector<std::pair<Code, Integer>> offered(Pool<Limbs, Code>& pool, const Known& states,
                                                const Known& energies) const {
    std::vector<std::pair<Code, Integer>> known;
    for (std::size_t i = 0; i < states.shape(0); ++i) {
      known.emplace_back(Code::load(states.data() + i * words_, words_),
                         Integer::load(energies.data() + i * Limbs));
      pool.offer(known.back().second, known.back().first);
    }
    pool.compact();
    std::sort(known.begin(), known.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    return known;
  }

  std::size_t words_;  // of a state
  Branching<Limbs> branching_;
};

std::unique_ptr<AnyBranching> make_branching(
    int shift, std::int64_t step, Matrix<std::uint64_t> fields, Matrix<std::uint64_t> couplings,
    Vector<std::uint64_t> offset, Vector<std::int64_t> label, Vector<std::uint64_t> gauge) {
  const std::vector<std::int64_t> labels(label.data(), label.data() + label.shape(0));
  const std::size_t words = gauge.shape(0);
  if (words > LongCode::kCount) {
    throw std::invalid_argument("states of more than 512 spins are not compiled in");
  }
  return for_width(offset.shape(0), [&]<int Limbs>() -> std::unique_ptr<AnyBranching> {
    return std::make_unique<BranchingOf<Limbs>>(words, shift, step, fields.data(), couplings.data(),
                                                offset.data(), labels,
                                                LongCode::load(gauge.data(), words));
  });
}

}  // namespace

void bind_semidefinite(nb::module_& module) {
  nb::class_<AnyBranching>(module, "SemidefiniteSearch")
      .def("run", &AnyBranching::run, nb::arg("places"), nb::arg("first"), nb::arg("last"),
           nb::arg("listed"), nb::arg("witness"), nb::arg("threshold").none(),
           nb::arg("window").none(), nb::arg("states"), nb::arg("energies"),
           nb::arg("board").none(), nb::arg("stop"), nb::arg("seconds"),
           "Search the states whose first spins are those of a range of numbers.")
      .def("least_bound", &AnyBranching::least_bound, nb::arg("places"), nb::arg("ranges"),
           nb::arg("seconds"),
           "A lower bound on the states of ranges of numbers; None where none is found.")
      .def("probe", &AnyBranching::probe, nb::arg("symmetric"), nb::arg("seed"), nb::arg("listed"),
           nb::arg("witness"), nb::arg("threshold").none(), nb::arg("window").none(),
           nb::arg("states"), nb::arg("energies"), nb::arg("stop"),
           "Seconds that a search takes, by one random path.")
      .def("pairs", &AnyBranching::pairs,
           "Couplings as bounds have them, by variables: the last one is fixed first, 0 is fixed.")
      .def("rounds", &AnyBranching::rounds, nb::keep_alive<0, 1>(), nb::arg("places"),
           nb::arg("first"), nb::arg("last"), nb::arg("listed"), nb::arg("witness"),
           nb::arg("threshold").none(), nb::arg("window").none(), nb::arg("states"),
           nb::arg("energies"), nb::arg("board").none(), nb::arg("leaf"), nb::arg("slots"),
           "The same search, of which somebody else finds the bounds.");
  nb::class_<AnyRounds>(module, "SemidefiniteRounds")
      .def("take", &AnyRounds::take, nb::arg("most"), nb::arg("full"),
           "Nodes that are to be bounded, as bytes, and their fields, a row each.")
      .def("search_leaves", &AnyRounds::search_leaves, nb::arg("stop"),
           "Search the leaves met; False if it was stopped.")
      .def("give", &AnyRounds::give, nb::arg("bounds"), "What came of those nodes, as bytes.")
      .def("over", &AnyRounds::over, "Whether all is searched.")
      .def("found", &AnyRounds::found,
           "States, energies, whether all was done, and counters; it ends the search.");
  module.def("semidefinite_search", &make_branching, nb::arg("shift"), nb::arg("step"),
             nb::arg("fields"), nb::arg("couplings"), nb::arg("offset"), nb::arg("label"),
             nb::arg("gauge"), "Prepare a search of one model, spins in the order of branching.");
}

}  // namespace hardscape::ising
