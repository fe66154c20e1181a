// Orders of elimination: which spin is minimised over next, so that tables stay small.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "native/arrays.hpp"

namespace hardscape::ising {
namespace {

// How much larger an order may become by one move of a refinement that begins.
constexpr double kSlack = 0.05;

// A graph whose vertices are eliminated one by one: their neighbours become neighbours of one
// another.
class Graph {
 public:
  Graph(std::size_t n, const Vector<std::int64_t>& row, const Vector<std::int64_t>& col)
      : n_(n), words_((n + 63) / 64), bits_(n * words_), degree_(n) {
    for (std::size_t k = 0; k < row.shape(0); ++k) {
      join(static_cast<std::size_t>(row.data()[k]), static_cast<std::size_t>(col.data()[k]));
    }
  }

  std::size_t size() const { return n_; }
  int degree(std::size_t v) const { return degree_[v]; }

  std::vector<std::size_t> neighbours(std::size_t v) const {
    std::vector<std::size_t> found;
    for (std::size_t w = 0; w < words_; ++w) {
      for (std::uint64_t left = row(v)[w]; left; left &= left - 1) {
        found.push_back(64 * w + static_cast<std::size_t>(std::countr_zero(left)));
      }
    }
    return found;
  }

  // Pairs of neighbours that are not neighbours of one another.
  int fill(std::size_t v) const {
    const int d = degree_[v];
    if (d < 2) return 0;
    int common = 0;
    for (const std::size_t u : neighbours(v)) {
      for (std::size_t w = 0; w < words_; ++w) common += std::popcount(row(u)[w] & row(v)[w]);
    }
    return (d * (d - 1) - common) / 2;
  }

  std::vector<std::size_t> eliminate(std::size_t v) {
    const auto near = neighbours(v);
    for (const std::size_t u : near) {
      clear(u, v);
      for (std::size_t w = 0; w < words_; ++w) row(u)[w] |= row(v)[w];
      clear(u, u);
      degree_[u] = 0;
      for (std::size_t w = 0; w < words_; ++w) degree_[u] += std::popcount(row(u)[w]);
    }
    return near;
  }

 private:
  const std::uint64_t* row(std::size_t v) const { return bits_.data() + v * words_; }
  std::uint64_t* row(std::size_t v) { return bits_.data() + v * words_; }
  void clear(std::size_t u, std::size_t v) { row(u)[v / 64] &= ~(std::uint64_t{1} << v % 64); }

  void join(std::size_t u, std::size_t v) {
    for (const auto& [a, b] : {std::pair{u, v}, std::pair{v, u}}) {
      std::uint64_t& word = row(a)[b / 64];
      degree_[a] += !(word >> b % 64 & 1);
      word |= std::uint64_t{1} << b % 64;
    }
  }

  std::size_t n_, words_;
  std::vector<std::uint64_t> bits_;
  std::vector<int> degree_;
};

// The spin whose elimination joins the fewest pairs, ties at random. Empty if entries of all tables
// together come to `most`.
std::vector<std::int64_t> min_fill(Graph graph, std::mt19937_64& random, double& most) {
  const std::size_t n = graph.size();
  std::vector<int> fill(n);
  for (std::size_t v = 0; v < n; ++v) fill[v] = graph.fill(v);
  std::vector<std::size_t> open(n), seen(n, 0), ties;
  for (std::size_t v = 0; v < n; ++v) open[v] = v;
  std::vector<std::int64_t> order;
  double entries = 0;
  while (!open.empty()) {
    ties.clear();
    int least = std::numeric_limits<int>::max();
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (fill[open[i]] > least) continue;
      if (fill[open[i]] < least) ties.clear();
      least = fill[open[i]];
      ties.push_back(i);
    }
    const std::size_t chosen = ties[random() % ties.size()], v = open[chosen];
    open[chosen] = open.back();
    open.pop_back();
    entries += std::exp2(std::min(graph.degree(v), 1000));
    if (!(entries < most)) return {};
    order.push_back(static_cast<std::int64_t>(v));
    const auto near = graph.eliminate(v);
    const auto look = [&](std::size_t u) {
      if (seen[u] == order.size()) return;
      seen[u] = order.size();
      fill[u] = graph.fill(u);
    };
    for (const std::size_t u : near) {
      look(u);
      for (const std::size_t other : graph.neighbours(u)) look(other);
    }
  }
  most = entries;
  return order;
}

// Entries of all tables of an order, or `most` where there are as many.
double entries_of(Graph graph, const std::vector<std::int64_t>& order, double most) {
  double entries = 0;
  for (const std::int64_t v : order) {
    const auto spin = static_cast<std::size_t>(v);
    entries += std::exp2(std::min(graph.degree(spin), 1000));
    if (!(entries < most)) return most;
    graph.eliminate(spin);
  }
  return entries;
}

// Spins enter by number, and go as soon as all their neighbours are there.
std::vector<std::int64_t> by_number(const Graph& graph) {
  std::vector<std::int64_t> order(graph.size());
  std::vector<std::size_t> last(graph.size());
  for (std::size_t v = 0; v < order.size(); ++v) {
    order[v] = static_cast<std::int64_t>(v);
    const auto near = graph.neighbours(v);
    last[v] = near.empty() ? v : std::max(v, near.back());
  }
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return last[static_cast<std::size_t>(a)] < last[static_cast<std::size_t>(b)];
  });
  return order;
}

// A front that moves through the graph: next goes the spin on it whose neighbours are nearly all
// there, of several the one that has waited longest.
std::vector<std::int64_t> sweep(const Graph& graph, std::size_t start) {
  const std::size_t n = graph.size();
  std::vector<int> missing(n);
  for (std::size_t v = 0; v < n; ++v) missing[v] = graph.degree(v);
  std::vector<std::size_t> front;
  std::vector<bool> entered(n, false);
  std::vector<std::int64_t> order;
  const auto enter = [&](std::size_t v) {
    entered[v] = true;
    front.push_back(v);
    for (const std::size_t u : graph.neighbours(v)) --missing[u];
  };
  for (std::size_t k = 0; k < n; ++k) {
    if (!entered[(start + k) % n]) enter((start + k) % n);
    while (!front.empty()) {
      const auto next = std::min_element(front.begin(), front.end(),
                                         [&](auto a, auto b) { return missing[a] < missing[b]; });
      const std::size_t v = *next;
      front.erase(next);
      order.push_back(static_cast<std::int64_t>(v));
      auto near = graph.neighbours(v);
      std::erase_if(near, [&](std::size_t u) { return entered[u]; });
      std::stable_sort(near.begin(), near.end(),
                       [&](auto a, auto b) { return missing[a] < missing[b]; });
      for (const std::size_t u : near) enter(u);
    }
  }
  return order;
}

auto elimination_order(std::size_t n, Vector<std::int64_t> row, Vector<std::int64_t> col,
                       std::size_t tries, std::size_t sweeps, double most, std::uint64_t seed) {
  std::vector<std::int64_t> best;
  {
    nb::gil_scoped_release release;
    const Graph graph(n, row, col);
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < tries; ++i) {
      auto order = min_fill(graph, random, most);
      if (!order.empty()) best = std::move(order);
    }
    const std::size_t starts = std::min(sweeps, n);
    for (std::size_t i = 0; i <= starts; ++i) {
      auto order = i == starts ? by_number(graph) : sweep(graph, i * n / starts);
      const double entries = entries_of(graph, order, most);
      if (!(entries < most)) continue;
      most = entries;
      best = std::move(order);
    }
  }
  const std::size_t found = best.size();
  return to_numpy(std::move(best), {found});
}

// An order with fewer entries: single spins are moved to other places, by threshold accepting.
auto elimination_refined(std::size_t n, Vector<std::int64_t> row, Vector<std::int64_t> col,
                         Vector<std::int64_t> order, std::size_t moves, std::uint64_t seed) {
  std::vector<std::int64_t> best(order.data(), order.data() + order.shape(0));
  {
    nb::gil_scoped_release release;
    const Graph graph(n, row, col);
    std::mt19937_64 random(seed);
    std::vector<std::int64_t> now = best;
    double least = entries_of(graph, now, std::numeric_limits<double>::infinity());
    double current = least;
    const std::size_t length = now.size();
    for (std::size_t k = 0; k < moves && length > 1; ++k) {
      const std::size_t from = random() % length, to = random() % length;
      auto moved = now;
      moved.erase(moved.begin() + static_cast<std::ptrdiff_t>(from));
      moved.insert(moved.begin() + static_cast<std::ptrdiff_t>(to), now[from]);
      const double share = static_cast<double>(k) / static_cast<double>(moves);
      const double most = current * (1.0 + kSlack * (1.0 - share)) * (1.0 + 1e-12);
      const double entries = entries_of(graph, moved, most);
      if (!(entries < most)) continue;
      current = entries;
      now = std::move(moved);
      if (current < least) {
        least = current;
        best = now;
      }
    }
  }
  const std::size_t found = best.size();
  return to_numpy(std::move(best), {found});
}

// For each spin in this order the width of its table; for each spin by number the entries of all
// tables that it is in.
auto elimination_widths(std::size_t n, Vector<std::int64_t> row, Vector<std::int64_t> col,
                        Vector<std::int64_t> order) {
  std::vector<std::int64_t> widths;
  std::vector<double> shares(n, 0.0);
  {
    nb::gil_scoped_release release;
    Graph graph(n, row, col);
    for (std::size_t i = 0; i < order.shape(0); ++i) {
      const auto v = static_cast<std::size_t>(order.data()[i]);
      const double entries = std::exp2(std::min(graph.degree(v), 1000));
      widths.push_back(graph.degree(v));
      shares[v] += entries;
      for (const std::size_t u : graph.eliminate(v)) shares[u] += entries;
    }
  }
  const std::size_t found = widths.size();
  return std::make_tuple(to_numpy(std::move(widths), {found}), to_numpy(std::move(shares), {n}));
}

}  // namespace

void bind_elimination(nb::module_& module) {
  module.def("elimination_order", &elimination_order, nb::arg("n"), nb::arg("row"), nb::arg("col"),
             nb::arg("tries"), nb::arg("sweeps"), nb::arg("most"), nb::arg("seed"),
             "The best of some min-fill orders and sweeps with fewer than `most` table entries; "
             "empty without one.");
  module.def("elimination_refined", &elimination_refined, nb::arg("n"), nb::arg("row"),
             nb::arg("col"), nb::arg("order"), nb::arg("moves"), nb::arg("seed"),
             "An order with fewer table entries, found by moving single spins.");
  module.def("elimination_widths", &elimination_widths, nb::arg("n"), nb::arg("row"),
             nb::arg("col"), nb::arg("order"),
             "Widths of the tables of an order, and for each spin the entries of those that it is "
             "in.");
}

}  // namespace hardscape::ising
