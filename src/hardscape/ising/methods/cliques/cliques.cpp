// Branch and bound for the lowest states of a QUBO with penalties, under clique covers of
// conflicts.
//
// Spins are variables x, 1 where a spin is up (or down: `down_is_one`), in a given order; the
// values of the first ones number the units of work. Below these, a node branches on the variables
// of which one must be 1. All is exact integers.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "ising/methods/cliques/cover.hpp"
#include "ising/methods/lists.hpp"
#include "ising/methods/patience.hpp"
#include "native/arrays.hpp"
#include "native/family.hpp"
#include "native/wide.hpp"

namespace hardscape::ising {
namespace {

// Of so many states that are wanted, one has to be new before the threshold is sought again.
constexpr std::size_t kOffersPerState = 16;

struct Counted {
  double nodes = 0, cut = 0, candidates = 0;
  bool complete = true;
};

template <int Limbs, class Code>
class Covering {
 public:
  using Integer = Wide<Limbs>;
  using States = Pool<Limbs, Code>;

  // linear (n, limbs) and pairs (n*n, limbs) of x by place; `offset`: the energy of x = 0; label[p]
  // is the bit of the spin at place p. `lexical`: states are met in the order of their codes, for
  // which places go from the highest bit down.
  Covering(const std::uint64_t* linear, const std::uint64_t* pairs, const std::uint64_t* offset,
           std::vector<std::int64_t> label, bool down_is_one, bool lexical, Code gauge)
      : label_(std::move(label)),
        down_is_one_(down_is_one),
        lexical_(lexical),
        gauge_(gauge),
        linear_(loaded(linear, label_.size())),
        pairs_(linear_, loaded(pairs, label_.size() * label_.size())),
        offset_(Integer::load(offset)) {}

  // Searches the states whose first `places` spins differ from the gauge where the bits of a number
  // in [first, last) are set, the first spin's bit being the highest; or those before another
  // `last`, which it sets, if it is asked to hand over or after `until`.
  Counted run(int places, std::uint64_t first, std::uint64_t& last, std::size_t wanted,
              double most_nodes, States& pool, const volatile std::uint8_t* stop,
              Clock::time_point until) const {
    Task task{pool, stop, places, first, last, until, wanted, most_nodes};
    task.levels.resize(pairs_.size() + 1);
    task.levels[0].node = root();
    prefix(0, 0, task);
    last = task.last;
    return task.counted;
  }

  // A lower bound on all energies.
  Integer bound() const {
    Cover<Limbs, Code> cover;
    cover.build(pairs_, linear_, root().open);
    return offset_ - cover.total();
  }

  // How many nodes a search has, by one random path from the root: each node on it stands for so
  // many as its parent has children (D. E. Knuth, Math. Comp. 29 (1975) 121).
  double probe(std::uint64_t seed, States& pool) const {
    Task task{pool, nullptr, 0, 0, 1, {}, 0, 0};
    task.levels.resize(2);
    Level &here = task.levels[0], &next = task.levels[1];
    here.node = root();
    double nodes = 0, stands_for = 1;
    while (true) {
      nodes += stands_for;
      if (cut(here, task) || !here.node.open) return nodes;
      choose(here, task);
      const std::size_t ways = here.branches.size() + !here.whole;
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      const std::size_t way = (seed >> 33) % ways;
      stands_for *= static_cast<double>(ways);
      for (std::size_t i = 0; i < std::min(way, here.branches.size()); ++i) {
        fix(here.node, here.branches[i], false);
      }
      if (way == here.branches.size()) continue;
      child(here.node, here.branches[way], next.node);
      std::swap(here.node, next.node);
    }
  }

 private:
  struct Node {
    Integer energy;               // of the variables that are fixed
    std::vector<Integer> linear;  // what each open one adds by being 1
    Code open;                    // by place
    Code code;                    // the state, open spins down
  };

  struct Level {
    Node node;
    Cover<Limbs, Code> cover;
    std::vector<int> branches;
    bool whole = false;  // whether one of `branches` is 1 in all that is wanted
  };

  struct Task {
    States& pool;
    const volatile std::uint8_t* stop;
    int places;
    std::uint64_t first, last;
    Clock::time_point until;
    std::size_t wanted;
    double most_nodes;
    std::vector<Level> levels{};
    Counted counted{};
    std::size_t offered = 0;
  };

  static std::vector<Integer> loaded(const std::uint64_t* words, std::size_t count) {
    std::vector<Integer> integers(count);
    for (std::size_t i = 0; i < count; ++i) integers[i] = Integer::load(words + i * Limbs);
    return integers;
  }

  Node root() const {
    const int n = pairs_.size();
    const auto all =
        static_cast<Code>(n < static_cast<int>(8 * sizeof(Code)) ? (Code{1} << n) - 1 : ~Code{0});
    return {offset_, linear_, all, 0};
  }

  void fix(Node& node, int v, bool one) const {
    node.open &= ~only<Code>(v);
    if (one != down_is_one_) node.code |= only<Code>(static_cast<int>(label_[v]));
  }

  // With x_v = 1.
  void child(const Node& node, int v, Node& to) const {
    const int n = pairs_.size();
    to.open = node.open;
    to.code = node.code;
    fix(to, v, true);
    to.energy = node.energy + node.linear[v];
    to.linear.resize(n);
    const Integer* row = pairs_.row(v);
    for (int w = 0; w < n; ++w) to.linear[w] = node.linear[w] + row[w];
  }

  void value(const Node& node, int v, bool one, Node& to) const {
    if (one) {
      child(node, v, to);
    } else {
      to = node;
      fix(to, v, false);
    }
  }

  void prefix(int p, std::uint64_t bits, Task& task) const {
    const int below = task.places - p;
    const std::uint64_t begin = bits << below, end = (bits + 1) << below;
    if (end <= task.first || begin >= task.last) return;
    if (begin > task.first && (*task.stop == kHandOver || Clock::now() >= task.until)) {
      task.last = begin;
      return;
    }
    if (below == 0) {
      descend(p, task);
      return;
    }
    if (stopped(task)) return;
    Level& here = task.levels[p];
    ++task.counted.nodes;
    task.pool.look();
    if (cut(here, task)) return;
    for (const bool differs : {false, true}) {
      const bool up = (gauge_ >> label_[p] & 1) != differs;
      value(here.node, p, up != down_is_one_, task.levels[p + 1].node);
      prefix(p + 1, bits << 1 | differs, task);
    }
  }

  bool stopped(Task& task) const {
    if (*task.stop == kStop || task.counted.nodes >= task.most_nodes) task.counted.complete = false;
    return !task.counted.complete;
  }

  bool cut(Level& level, Task& task) const {
    level.cover.build(pairs_, level.node.linear, level.node.open);
    const bool out = task.pool.bounded() &&
                     task.pool.excludes(level.node.energy - level.cover.total(), level.node.code);
    task.counted.cut += out;
    return out;
  }

  void descend(int depth, Task& task) const {
    Level& here = task.levels[depth];
    while (!stopped(task)) {
      ++task.counted.nodes;
      task.pool.look();
      if (cut(here, task)) return;
      if (!here.node.open) {
        offer(here.node, task);
        return;
      }
      if (lexical_) {
        const int v = first_of(here.node.open);
        for (const bool one : {down_is_one_, !down_is_one_}) {
          value(here.node, v, one, task.levels[depth + 1].node);
          descend(depth + 1, task);
        }
        return;
      }
      choose(here, task);
      for (const int v : here.branches) {
        child(here.node, v, task.levels[depth + 1].node);
        descend(depth + 1, task);
        fix(here.node, v, false);
      }
      if (here.whole) return;
    }
  }

  void offer(const Node& node, Task& task) const {
    task.pool.offer(node.energy, node.code);
    if (++task.offered > task.wanted / kOffersPerState) {
      task.pool.compact();
      task.offered = 0;
    }
    ++task.counted.candidates;
  }

  // The variables of few cliques without which nothing wanted is left; else one.
  void choose(Level& level, const Task& task) const {
    Code set = 0;
    if (task.pool.bounded()) {
      set = needed(level, task.pool.threshold() - level.node.energy + level.cover.total());
    }
    level.whole = set != 0;
    level.branches.clear();
    each_of(set ? set : level.node.open, [&](int v) { level.branches.push_back(v); });
    std::stable_sort(level.branches.begin(), level.branches.end(),
                     [&](int v, int w) { return level.cover.gain(w) < level.cover.gain(v); });
    if (!set) level.branches.resize(1);
  }

  // Empty if there are none.
  static Code needed(const Level& level, const Integer& room) {
    const auto& cliques = level.cover.cliques();
    Code best = 0;
    int least = 0;
    for (const auto& clique : cliques) {
      const int size = size_of(clique.members);
      if (room < clique.weight && (!best || size < least)) {
        best = clique.members;
        least = size;
      }
    }
    if (best || !(room < level.cover.total())) return best;
    std::vector<std::pair<int, std::size_t>> order;
    for (std::size_t i = 0; i < cliques.size(); ++i) {
      order.emplace_back(size_of(cliques[i].members), i);
    }
    std::sort(order.begin(), order.end());
    Integer sum = Integer::zero();
    for (const auto& [size, i] : order) {
      best |= cliques[i].members;
      sum += cliques[i].weight;
      if (room < sum) return best;
    }
    return 0;
  }

  std::vector<std::int64_t> label_;
  bool down_is_one_, lexical_;
  Code gauge_;
  std::vector<Integer> linear_;
  Couplings<Limbs, Code> pairs_;
  Integer offset_;
};

// States (n, words), energies, whether all was done; nodes, of which cut; candidates; the number
// before which all is searched.
using Found = std::tuple<Words64, Words64, bool, double, double, double, std::uint64_t>;

class AnyCovering {
 public:
  virtual ~AnyCovering() = default;
  virtual Found run(int places, std::uint64_t first, std::uint64_t last, std::size_t wanted,
                    std::optional<Vector<std::uint64_t>> threshold,
                    std::optional<Vector<std::uint64_t>> window, bool symmetric,
                    std::optional<SharedWords> board, Vector<std::uint8_t> stop, double seconds,
                    double most_nodes) const = 0;
  virtual NumpyArray<std::uint64_t> bound() const = 0;
  virtual double probe(std::uint64_t seed, std::size_t wanted,
                       std::optional<Vector<std::uint64_t>> threshold) const = 0;
};

template <int Limbs, class Code>
class CoveringOf final : public AnyCovering {
  using Integer = Wide<Limbs>;
  using Words = std::optional<Vector<std::uint64_t>>;

 public:
  template <class... Args>
  explicit CoveringOf(Args&&... args) : branching_(std::forward<Args>(args)...) {}

  Found run(int places, std::uint64_t first, std::uint64_t last, std::size_t wanted,
            Words threshold, Words window, bool symmetric, std::optional<SharedWords> board,
            Vector<std::uint8_t> stop, double seconds, double most_nodes) const override {
    const auto until = after(seconds);
    auto [states, energies, told] =
        collect<Limbs, Code>(wanted, false, threshold, window, [&](Pool<Limbs, Code>& pool) {
          if (symmetric) pool.pair();
          if (board) pool.join(Board<Limbs, Code>(board->data()));
          return branching_.run(places, first, last, wanted, most_nodes, pool, stop.data(), until);
        });
    return {std::move(states), std::move(energies), told.complete, told.nodes,
            told.cut,          told.candidates,     last};
  }

  NumpyArray<std::uint64_t> bound() const override {
    std::vector<std::uint64_t> words(Limbs);
    branching_.bound().store(words.data());
    return to_numpy(std::move(words), {std::size_t{Limbs}});
  }

  double probe(std::uint64_t seed, std::size_t wanted, Words threshold) const override {
    nb::gil_scoped_release release;
    std::optional<Integer> limit;
    if (threshold) limit = Integer::load(threshold->data());
    Pool<Limbs, Code> pool(wanted, false, std::nullopt, limit);
    return branching_.probe(seed, pool);
  }

 private:
  Covering<Limbs, Code> branching_;
};

std::unique_ptr<AnyCovering> make_branching(Matrix<std::uint64_t> linear,
                                            Matrix<std::uint64_t> pairs,
                                            Vector<std::uint64_t> offset,
                                            Vector<std::int64_t> label, bool down_is_one,
                                            bool lexical, Vector<std::uint64_t> gauge) {
  const std::vector<std::int64_t> labels(label.data(), label.data() + label.shape(0));
  const auto made = [&]<int Limbs, class Code>() -> std::unique_ptr<AnyCovering> {
    return std::make_unique<CoveringOf<Limbs, Code>>(linear.data(), pairs.data(), offset.data(),
                                                     labels, down_is_one, lexical,
                                                     load_code<Code>(gauge.data()));
  };
  return for_widths(offset.shape(0), gauge.shape(0), made);
}

const native::Family family("ising", [](nb::module_& module) {
  nb::class_<AnyCovering>(module, "CliqueSearch")
      .def("run", &AnyCovering::run, nb::arg("places"), nb::arg("first"), nb::arg("last"),
           nb::arg("wanted"), nb::arg("threshold").none(), nb::arg("window").none(),
           nb::arg("symmetric"), nb::arg("board").none(), nb::arg("stop"), nb::arg("seconds"),
           nb::arg("most_nodes"),
           "Search the states whose first spins are those of a range of numbers.")
      .def("bound", &AnyCovering::bound, "Words of a lower bound on all energies.")
      .def("probe", &AnyCovering::probe, nb::arg("seed"), nb::arg("wanted"),
           nb::arg("threshold").none(), "Nodes that a search has, by one random path.");
  module.def("clique_search", &make_branching, nb::arg("linear"), nb::arg("pairs"),
             nb::arg("offset"), nb::arg("label"), nb::arg("down_is_one"), nb::arg("lexical"),
             nb::arg("gauge"),
             "Prepare a search of one QUBO, variables in the order of branching.");
});

}  // namespace
}  // namespace hardscape::ising
