// Automorphisms of a coloured graph by individualization and refinement (McKay, Congressus
// Numerantium 30, 45, 1981; the order of the search is saucy's: Darga, Sakallah, Markov, DAC 2008).
// One path to a discrete partition is the base. Then, from its end to its beginning, each vertex of
// a level's cell is tried in place of the base's, along one path without return: what is found is
// verified, and what is missed leaves fewer generators.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "native/arrays.hpp"

namespace hardscape::maxsat {
namespace {

using Order = std::vector<std::uint32_t>;
using Trace = std::vector<std::uint64_t>;

// Numbers that the partitions of all levels may take together.
constexpr std::size_t kMostKept = 16'000'000;

// Neighbours of each vertex, sorted and each of them once.
struct Graph {
  Graph(std::size_t size, const Vector<std::uint32_t>& first, const Vector<std::uint32_t>& second)
      : starts(size + 1) {
    const std::size_t edges = first.shape(0);
    for (std::size_t e = 0; e < edges; ++e) {
      ++starts[first(e) + 1];
      ++starts[second(e) + 1];
    }
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    Order next(starts.begin(), starts.end() - 1);
    ends.resize(2 * edges);
    for (std::size_t e = 0; e < edges; ++e) {
      ends[next[first(e)]++] = second(e);
      ends[next[second(e)]++] = first(e);
    }
    std::size_t kept = 0;
    for (std::size_t v = 0; v < size; ++v) {
      const auto begin = ends.begin() + starts[v], end = ends.begin() + starts[v + 1];
      std::sort(begin, end);
      starts[v] = kept;
      kept = std::copy(begin, std::unique(begin, end), ends.begin() + kept) - ends.begin();
    }
    starts[size] = kept;
    ends.resize(kept);
  }

  std::size_t size() const { return starts.size() - 1; }
  std::size_t degree(std::uint32_t v) const { return starts[v + 1] - starts[v]; }

  template <class Each>
  void around(std::uint32_t v, Each&& each) const {
    for (std::size_t i = starts[v]; i < starts[v + 1]; ++i) each(ends[i]);
  }

  std::vector<std::size_t> starts;
  Order ends;
};

// Vertices in cells; a cell is called by the place of its first one.
struct Partition {
  Order elements, place, cell, length;  // cell by vertex, length by cell

  std::size_t size() const { return elements.size(); }

  void swap(std::uint32_t a, std::uint32_t b) {  // places
    std::swap(elements[a], elements[b]);
    place[elements[a]] = a;
    place[elements[b]] = b;
  }

  // Have the last vertices of a cell as a cell of their own, which is returned.
  std::uint32_t split(std::uint32_t from, std::uint32_t count) {
    const std::uint32_t to = from + length[from] - count;
    length[from] -= count;
    length[to] = count;
    for (std::uint32_t i = to; i < to + count; ++i) cell[elements[i]] = to;
    return to;
  }
};

class Automorphisms {
 public:
  Automorphisms(Graph graph, const Vector<std::uint32_t>& colours, std::uint64_t most)
      : graph_(std::move(graph)),
        most_(most),
        count_(graph_.size()),
        waits_(graph_.size()),
        marked_(graph_.size()),
        orbit_(graph_.size()) {
    const auto n = static_cast<std::uint32_t>(graph_.size());
    std::iota(orbit_.begin(), orbit_.end(), 0u);
    first_.elements.resize(n);
    first_.place.resize(n);
    first_.cell.resize(n);
    first_.length.assign(n, 0);
    std::iota(first_.elements.begin(), first_.elements.end(), 0u);
    std::stable_sort(first_.elements.begin(), first_.elements.end(),
                     [&](auto a, auto b) { return colours(a) < colours(b); });
    for (std::uint32_t i = 0, from = 0; i < n; ++i) {
      const std::uint32_t v = first_.elements[i];
      if (i && colours(v) != colours(first_.elements[i - 1])) from = i;
      first_.place[v] = i;
      first_.cell[v] = from;
      if (!first_.length[from]++) wait(from);
    }
  }

  std::vector<Order> generators() {
    if (!descend()) return {};
    for (std::size_t k = bases_.size(); k-- > 0 && work_ <= most_;) level(k);
    return std::move(found_);
  }

 private:
  void wait(std::uint32_t cell) {
    if (waits_[cell]) return;
    waits_[cell] = 1;
    queue_.push_back(cell);
  }

  // The base: cells are split until each holds one vertex.
  bool descend() {
    Partition p = first_;
    refine(p, nullptr);
    while (work_ <= most_) {
      kept_.push_back(p);
      std::uint32_t target = targets_.empty() ? 0 : targets_.back();
      while (target < p.size() && p.length[target] == 1) ++target;
      if (target == p.size()) return true;
      if (4 * p.size() * (kept_.size() + 1) > kMostKept) return false;
      const std::uint32_t base = *std::min_element(p.elements.begin() + target,
                                                   p.elements.begin() + target + p.length[target]);
      targets_.push_back(target);
      bases_.push_back(base);
      traces_.emplace_back();
      individualize(p, base);
      refine(p, nullptr);
    }
    return false;
  }

  // What maps the base's vertex of a level to others, and those before to themselves.
  void level(std::size_t k) {
    const Partition& at = kept_[k];
    const auto begin = at.elements.begin() + targets_[k];
    Order cell(begin, begin + at.length[targets_[k]]), failed;
    std::sort(cell.begin(), cell.end());
    for (std::uint32_t v : cell) {
      if (work_ > most_) return;
      const auto same = [&](std::uint32_t u) { return root(u) == root(v); };
      if (same(bases_[k]) || std::any_of(failed.begin(), failed.end(), same)) continue;
      Order found;
      if (maps(k, v, found)) {
        for (std::uint32_t u = 0; u < found.size(); ++u) orbit_[root(u)] = root(found[u]);
        found_.push_back(std::move(found));
      } else {
        failed.push_back(v);
      }
    }
  }

  bool maps(std::size_t k, std::uint32_t v, Order& found) {
    Partition p = kept_[k];
    for (std::size_t j = k; j < bases_.size(); ++j) {
      if (j > k) {
        const std::uint32_t target = targets_[j], base = bases_[j];
        const auto begin = p.elements.begin() + target;
        v = p.cell[base] == target ? base : *std::min_element(begin, begin + p.length[target]);
      }
      individualize(p, v);
      if (!refine(p, &traces_[j]) || work_ > most_) return false;
      if (read(kept_[j + 1], p, found) && verified(found)) return true;
    }
    return false;
  }

  // The map of two partitions, where all cells of more than one vertex are the same ones.
  bool read(const Partition& base, const Partition& p, Order& found) {
    found.resize(p.size());
    work_ += p.size();
    for (std::uint32_t i = 0; i < p.size(); ++i) {
      const std::uint32_t v = p.elements[i], from = p.cell[v];
      if (p.length[from] == 1) {
        found[base.elements[i]] = v;
      } else if (base.cell[v] != from) {
        return false;
      } else {
        found[v] = v;
      }
    }
    return true;
  }

  bool verified(const Order& map) {
    work_ += graph_.ends.size();
    for (std::uint32_t u = 0; u < map.size(); ++u) {
      const std::uint32_t to = map[u];
      if (first_.cell[u] != first_.cell[to] || graph_.degree(u) != graph_.degree(to)) return false;
      ++mark_;
      graph_.around(to, [&](std::uint32_t w) { marked_[w] = mark_; });
      bool all = true;
      graph_.around(u, [&](std::uint32_t w) { all &= marked_[map[w]] == mark_; });
      if (!all) return false;
    }
    return true;
  }

  void individualize(Partition& p, std::uint32_t v) {
    const std::uint32_t from = p.cell[v];
    p.swap(p.place[v], from + p.length[from] - 1);
    wait(p.split(from, 1));
  }

  // Split cells until the vertices of each have as many neighbours in every cell; false as soon as
  // that does not go as in a trace, which is written where there is none.
  bool refine(Partition& p, const Trace* like) {
    step_ = 0;
    bool same = true;
    for (std::size_t next = 0; next < queue_.size(); ++next) {
      const std::uint32_t cell = queue_[next];
      waits_[cell] = 0;
      same = same && splitBy(p, cell, like);
    }
    queue_.clear();
    return same && (!like || step_ == like->size());
  }

  bool told(std::uint64_t what, const Trace* like) {
    if (like) return step_ < like->size() && (*like)[step_++] == what;
    if (!traces_.empty()) traces_.back().push_back(what);
    return true;
  }

  bool splitBy(Partition& p, std::uint32_t splitter, const Trace* like) {
    Order touched, cells;
    const auto begin = p.elements.begin() + splitter;
    for (std::uint32_t v : Order(begin, begin + p.length[splitter])) {
      work_ += 1 + graph_.degree(v);
      graph_.around(v, [&](std::uint32_t w) {
        if (!count_[w]++) touched.push_back(w);
      });
    }
    std::sort(touched.begin(), touched.end(), [&](auto a, auto b) {
      return p.cell[a] != p.cell[b] ? p.cell[a] < p.cell[b] : count_[a] > count_[b];
    });
    bool same = true;
    for (std::size_t i = 0; i < touched.size() && same;) {
      const std::uint32_t cell = p.cell[touched[i]];
      std::size_t end = i;
      while (end < touched.size() && p.cell[touched[end]] == cell) ++end;
      same = divide(p, cell, touched.data() + i, touched.data() + end, like);
      i = end;
    }
    for (std::uint32_t w : touched) count_[w] = 0;
    return same;
  }

  // A cell, by the counts of some of its vertices, largest first; the others have none.
  bool divide(Partition& p, std::uint32_t cell, const std::uint32_t* v, const std::uint32_t* end,
              const Trace* like) {
    const bool waited = waits_[cell];
    std::uint32_t largest = cell;
    parts_.assign(1, cell);
    while (v != end) {
      const std::uint32_t* next = v;
      while (next != end && count_[*next] == count_[*v]) ++next;
      const auto size = static_cast<std::uint32_t>(next - v);
      const std::uint64_t place = (std::uint64_t{cell} << 32) | size;
      if (!told(place, like) || !told(count_[*v], like)) return false;
      if (size < p.length[cell]) {
        for (const std::uint32_t* u = v; u != next; ++u)
          p.swap(p.place[*u], cell + p.length[cell] - 1 - static_cast<std::uint32_t>(u - v));
        parts_.push_back(p.split(cell, size));
      }
      v = next;
    }
    for (std::uint32_t part : parts_)
      if (p.length[part] > p.length[largest]) largest = part;
    for (std::uint32_t part : parts_)
      if (parts_.size() > 1 && (waited || part != largest)) wait(part);
    return true;
  }

  std::uint32_t root(std::uint32_t v) {
    while (orbit_[v] != v) v = orbit_[v] = orbit_[orbit_[v]];
    return v;
  }

  Graph graph_;
  Partition first_;
  std::uint64_t most_, work_ = 0;
  Order count_;
  std::vector<std::uint8_t> waits_;
  Order queue_, parts_;
  Order marked_;
  std::uint32_t mark_ = 0;
  std::size_t step_ = 0;
  std::vector<Partition> kept_;
  Order targets_, bases_;
  std::vector<Trace> traces_;
  Order orbit_;
  std::vector<Order> found_;
};

// Generators, one after another.
std::tuple<std::size_t, NumpyArray<std::uint32_t>> automorphisms(
    const Vector<std::uint32_t>& first, const Vector<std::uint32_t>& second,
    const Vector<std::uint32_t>& colours, std::uint64_t most) {
  std::vector<Order> found;
  {
    Automorphisms search(Graph(colours.shape(0), first, second), colours, most);
    nb::gil_scoped_release release;
    found = search.generators();
  }
  Order all;
  for (const Order& each : found) all.insert(all.end(), each.begin(), each.end());
  const std::size_t size = all.size();
  return {found.size(), to_numpy(std::move(all), {size})};
}

}  // namespace

void bind_automorphisms(nb::module_& module) {
  module.def("automorphisms", &automorphisms, nb::arg("first"), nb::arg("second"),
             nb::arg("colours"), nb::arg("most"),
             "Automorphisms of a graph of such edges that keep colours, as their number and the "
             "images of all vertices under one after another; looked for in about so many steps.");
}

}  // namespace hardscape::maxsat
