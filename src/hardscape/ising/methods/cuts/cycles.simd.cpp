// Cycles of a signed graph that a point of the linear relaxation violates.
//
// Edge e is satisfied (x = 0) or not (x = 1); going round a cycle the signs and the x of its edges
// add up to an even number. For an odd walk in the doubled graph, of edges taken as they are
// (length x) and edges taken turned (length 1 - x), some edge must therefore differ from what was
// assumed: its length is 1 or more in every state. Shorter ones are violated (F. Barahona, A. R.
// Mahjoub, Math. Program. 36 (1986) 157).
#include <algorithm>
#include <cstdint>
#include <limits>
#include <queue>
#include <set>
#include <vector>

#include "native/arrays.hpp"

namespace hardscape::ising {
namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();
// What a step adds to a length, so that of walks that are as long the one of fewest edges is taken.
constexpr double kStep = 1e-7;
// Ends of walks that are looked at for the cycles of a spin's edges, and for each so many spins the
// cycles that are few; edges of a spin, in the mean, from which on a cycle for each spin is not
// enough: of lattices in two dimensions it is, and more make linear programs that take longer.
constexpr std::size_t kNear = 128, kFew = 8;
constexpr double kManyEdges = 2.5;

// An edge as it is taken: number and whether it is turned.
struct Arc {
  std::uint32_t to, edge;
  std::uint8_t parity, turned;
  double length;
};

class Doubled {
 public:
  Doubled(std::size_t n, const Vector<std::int64_t>& row, const Vector<std::int64_t>& col,
          const Vector<std::uint8_t>& signs, const Vector<double>& x)
      : first_(n + 1, 0), distance_(2 * n, kFar), from_(2 * n) {
    const std::size_t edges = row.shape(0);
    for (std::size_t e = 0; e < edges; ++e) {
      first_[at(row, e) + 1] += 2;
      first_[at(col, e) + 1] += 2;
    }
    for (std::size_t v = 0; v < n; ++v) first_[v + 1] += first_[v];
    arcs_.resize(first_[n]);
    auto next = first_;
    for (std::size_t e = 0; e < edges; ++e) {
      const auto u = at(row, e), v = at(col, e);
      for (std::uint8_t turned = 0; turned < 2; ++turned) {
        const double length = (turned ? 1.0 - x.data()[e] : x.data()[e]) + kStep;
        const auto parity = static_cast<std::uint8_t>(signs.data()[e] ^ turned);
        const auto number = static_cast<std::uint32_t>(e);
        arcs_[next[u]++] = {static_cast<std::uint32_t>(v), number, parity, turned, length};
        arcs_[next[v]++] = {static_cast<std::uint32_t>(u), number, parity, turned, length};
      }
    }
  }

  // The shortest odd closed walk through a spin, if it is shorter than `limit`: its edges, 2 e +
  // turned, of a cycle that is odd and no longer, in ascending order.
  std::vector<std::int64_t> cycle(std::uint32_t source, double limit) {
    for (const std::size_t node : touched_) distance_[node] = kFar;
    touched_.clear();
    queue_ = {};
    reach(2 * source, 0.0, kNone, {});
    double best = limit;
    std::size_t left = 0, right = 0;
    Arc across{};
    while (!queue_.empty()) {
      const auto [d, node] = queue_.top();
      queue_.pop();
      // Both halves of a shorter walk would be settled.
      if (2 * d >= best) break;
      if (d > distance_[node]) continue;
      for (std::size_t k = first_[node / 2]; k < first_[node / 2 + 1]; ++k) {
        const Arc& arc = arcs_[k];
        const std::size_t there = 2 * arc.to + ((node & 1) ^ arc.parity);
        const double length = d + arc.length;
        // The way on from `there` to the source's other side is the way from the source, mirrored.
        if (length + distance_[there ^ 1] < best) {
          best = length + distance_[there ^ 1];
          left = node, right = there ^ 1, across = arc;
        }
        if (2 * length < best && length < distance_[there]) reach(there, length, node, arc);
      }
    }
    return best < limit ? simple(left, across, right) : std::vector<std::int64_t>{};
  }

  // Of each edge to a spin of higher number, taken as it is and turned, a short odd closed walk
  // that takes it, if one is shorter than `limit`, as `cycle` gives it. No more than the nearest
  // ends are looked at.
  template <typename Take>
  void cycles(std::uint32_t source, double limit, const Take& take) {
    for (const std::size_t node : touched_) distance_[node] = kFar;
    touched_.clear();
    queue_ = {};
    reach(2 * source, 0.0, kNone, {});
    for (std::size_t ends = 0; !queue_.empty() && ends < kNear;) {
      const auto [d, node] = queue_.top();
      queue_.pop();
      if (d > distance_[node]) continue;
      ++ends;
      for (std::size_t k = first_[node / 2]; k < first_[node / 2 + 1]; ++k) {
        const Arc& arc = arcs_[k];
        const std::size_t there = 2 * arc.to + ((node & 1) ^ arc.parity);
        const double length = d + arc.length;
        if (length < limit && length < distance_[there]) reach(there, length, node, arc);
      }
    }
    for (std::size_t k = first_[source]; k < first_[source + 1]; ++k) {
      const Arc& arc = arcs_[k];
      // The way on from there to the source's other side is the way from the source, mirrored.
      const std::size_t back = 2 * arc.to + (arc.parity ^ 1u);
      if (arc.to > source && arc.length + distance_[back] < limit)
        take(simple(2 * source, arc, back));
    }
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  struct Step {
    std::size_t node;
    Arc arc;
  };

  static std::size_t at(const Vector<std::int64_t>& ends, std::size_t e) {
    return static_cast<std::size_t>(ends.data()[e]);
  }

  void reach(std::size_t node, double length, std::size_t before, const Arc& arc) {
    if (distance_[node] == kFar) touched_.push_back(node);
    distance_[node] = length;
    from_[node] = {before, arc};
    queue_.emplace(length, node);
  }

  // Of the walk from the source to `left`, across, and back by the way to `right`, an odd part that
  // meets no spin twice: even loops are left out, the first odd one is taken.
  std::vector<std::int64_t> simple(std::size_t left, const Arc& across, std::size_t right) {
    std::vector<std::pair<std::size_t, Arc>> walk;  // where a step begins, in spins
    for (std::size_t node = left; from_[node].node != kNone; node = from_[node].node) {
      walk.emplace_back(from_[node].node / 2, from_[node].arc);
    }
    std::reverse(walk.begin(), walk.end());
    walk.emplace_back(left / 2, across);
    for (std::size_t node = right; from_[node].node != kNone; node = from_[node].node) {
      walk.emplace_back(node / 2, from_[node].arc);
    }
    const std::size_t end = walk.front().first;
    std::vector<std::pair<std::size_t, Arc>> path;
    for (std::size_t k = 0; k < walk.size(); ++k) {
      path.push_back(walk[k]);
      const std::size_t reached = k + 1 < walk.size() ? walk[k + 1].first : end;
      auto loop = path.end();
      int parity = 0;
      for (auto step = path.end(); step != path.begin();) {
        --step;
        parity ^= step->second.parity;
        if (step->first == reached) {
          loop = step;
          break;
        }
      }
      if (loop == path.end()) continue;
      if (parity) {
        std::vector<std::int64_t> found;
        for (; loop != path.end(); ++loop) {
          found.push_back(2 * static_cast<std::int64_t>(loop->second.edge) + loop->second.turned);
        }
        std::sort(found.begin(), found.end());
        return found;
      }
      path.erase(loop, path.end());
    }
    return {};
  }

  std::vector<std::size_t> first_;
  std::vector<Arc> arcs_;
  std::vector<double> distance_;
  std::vector<Step> from_;
  std::vector<std::size_t> touched_;
  using Entry = std::pair<double, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue_;
};

auto odd_cycles(std::size_t n, Vector<std::int64_t> row, Vector<std::int64_t> col,
                Vector<std::uint8_t> signs, Vector<double> x, double limit) {
  std::set<std::vector<std::int64_t>> found;
  std::vector<std::int64_t> starts{0}, taken;
  {
    nb::gil_scoped_release release;
    Doubled graph(n, row, col, signs, x);
    // Two edges of the same pair of spins make no cycle of a simple graph.
    const auto take = [&](std::vector<std::int64_t> cycle) {
      if (cycle.size() > 2) found.insert(std::move(cycle));
    };
    if (static_cast<double>(row.shape(0)) > kManyEdges * static_cast<double>(n)) {
      for (std::uint32_t v = 0; v < n; ++v) graph.cycles(v, limit, take);
    }
    if (kFew * found.size() <= n) {
      for (std::uint32_t v = 0; v < n; ++v) take(graph.cycle(v, limit));
    }
    for (const auto& cycle : found) {
      taken.insert(taken.end(), cycle.begin(), cycle.end());
      starts.push_back(static_cast<std::int64_t>(taken.size()));
    }
  }
  const std::size_t length = starts.size(), total = taken.size();
  return std::make_tuple(to_numpy(std::move(starts), {length}),
                         to_numpy(std::move(taken), {total}));
}

}  // namespace

void bind_cycles(nb::module_& module) {
  module.def(
      "odd_cycles", &odd_cycles, nb::arg("n"), nb::arg("row"), nb::arg("col"), nb::arg("signs"),
      nb::arg("x"), nb::arg("limit"),
      "Short odd cycles in the doubled graph, below `limit`, through edges, and for each spin the "
      "shortest one where those are few: where each begins, and edges, 2 e + 1 if turned.");
}

}  // namespace hardscape::ising
