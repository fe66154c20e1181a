// The lowest states of a signed graph among those that cost little above what multipliers prove.
//
// Under multipliers l_K of odd cycles a state costs, above their bound, |r_e| for each open edge
// that is not as its reduced cost would have it, and l_K (on - 1) for each cycle, of whose literals
// an odd number `on` is 1: 2 l_K for each second one. So what it costs at least is known once some
// edges are. An edge of which one value would cost more than there is room for has the other one;
// it ties two spins, which decides more edges. Where nothing follows, the highest spin that is not
// tied to the last is down or up, so that states come in the order of their codes, and none is
// sought of the same energy as the last wanted and a higher code.
#include <algorithm>
#include <atomic>
#include <compare>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <set>
#include <vector>

#include "native/arrays.hpp"

namespace hardscape::ising {
namespace {

// Something of one edge or one cycle, all of them one after the other.
template <class T>
struct Lists {
  std::vector<std::uint32_t> first;
  std::vector<T> all;

  template <class Number, class Put>
  void fill(std::size_t lists, std::size_t count, const Number& number, const Put& put) {
    first.assign(lists + 1, 0);
    for (std::size_t k = 0; k < count; ++k) ++first[number(k) + 1];
    for (std::size_t k = 0; k < lists; ++k) first[k + 1] += first[k];
    all.resize(count);
    auto next = first;
    for (std::size_t k = 0; k < count; ++k) all[next[number(k)]++] = put(k);
  }
  const T* begin(std::size_t k) const { return all.data() + first[k]; }
  const T* end(std::size_t k) const { return all.data() + first[k + 1]; }
};

// An edge or a cycle, and the value of the edge with which its literal in the cycle is 1.
struct Literal {
  std::uint32_t number;
  std::uint8_t on;
};

struct Graph {
  std::size_t vertices;
  std::vector<std::uint32_t> row, col;
  std::vector<std::uint8_t> signs;
  Lists<std::uint32_t> edges;  // of a vertex
};

struct Asked {
  std::int64_t room, least;  // states that cost more are not wanted, and none costs less
  std::int64_t step, some;   // what a state costs is `some` modulo `step`, unless that is 0
  std::uint8_t up;           // whether the last vertex is a spin that is up and in no state
  std::size_t count, most_states;
  std::uint64_t most_work;
  const std::uint8_t* stop;
};

// A state: what it costs, and its spins from the highest down, 1 where up.
struct Listed {
  std::int64_t cost;
  std::vector<std::uint8_t> spins;

  auto operator<=>(const Listed&) const = default;
};

class Within {
 public:
  Within(Graph graph, Lists<Literal> cycles, Lists<Literal> members,
         std::vector<std::int64_t> twice, const std::int64_t* reduced, Asked asked)
      : graph_(std::move(graph)),
        cycles_(std::move(cycles)),
        members_(std::move(members)),
        twice_(std::move(twice)),
        asked_(asked),
        room_(asked.room) {
    const std::size_t n = graph_.vertices, edges = graph_.row.size();
    label_.resize(n), next_.resize(n);
    std::iota(label_.begin(), label_.end(), 0u), std::iota(next_.begin(), next_.end(), 0u);
    parity_.assign(n, 0), size_.assign(n, 1), odd_.assign(twice_.size(), 0);
    known_.assign(edges, 0), value_.assign(edges, 0);
    cost_.assign(2 * edges, 0);
    for (std::size_t e = 0; e < edges; ++e) {
      cost_[2 * e + (reduced[e] > 0)] = reduced[e] > 0 ? reduced[e] : -reduced[e];
    }
  }

  // A state that is known; those that come after it and as many others are not wanted.
  void know(Listed state) {
    if (state.cost > room_) return;
    states.insert(std::move(state));
    shorten();
  }

  // Sets an edge; false if it has the other value already.
  bool set(std::uint32_t e, std::uint8_t value) {
    if (known_[e]) return value_[e] == value;
    tie(graph_.row[e], graph_.col[e], graph_.signs[e] ^ value);
    return true;
  }

  // Whether all states were listed. The next spin is the highest that is not tied to the last.
  bool search() {
    const auto last = static_cast<std::uint32_t>(graph_.vertices - 1);
    std::vector<Choice> choices;
    for (;;) {
      if (ended()) return false;
      if (penalty_ <= room_ && follow() && !beyond()) {
        std::uint32_t v = last;
        while (v > 0 && label_[v - 1] == label_[last]) --v;
        if (v > 0) {
          ++nodes;
          choices.push_back({v - 1, joins_.size(), 0});
        } else if (!list()) {
          return false;
        }
      }
      while (!choices.empty() && choices.back().tried == 2) choices.pop_back();
      if (choices.empty()) return true;
      auto& [v, mark, tried] = choices.back();
      undo(mark);
      // A spin that is down makes the lower code.
      tie(v, last, asked_.up ^ tried++);
    }
  }

  std::set<Listed> states;
  std::uint64_t nodes = 0, work = 0;

 private:
  struct Join {
    std::uint32_t small, large;
    std::uint8_t flip;
    std::size_t decided;  // edges decided before
  };
  struct Choice {
    std::uint32_t vertex;
    std::size_t mark;  // ties before
    int tried;
  };

  bool ended() const {
    return work > asked_.most_work ||
           std::atomic_ref(const_cast<std::uint8_t&>(*asked_.stop)).load(std::memory_order_relaxed);
  }

  // Forgets what comes after as many states as are wanted.
  void shorten() {
    if (states.size() > asked_.count) states.erase(std::prev(states.end()));
    if (states.size() == asked_.count) room_ = std::min(room_, states.rbegin()->cost);
  }

  // What a state costs that costs this much or more.
  std::int64_t lifted(std::int64_t cost) const {
    return asked_.step ? cost + ((asked_.some - cost) % asked_.step + asked_.step) % asked_.step
                       : cost;
  }

  // Whether no state below comes before those listed.
  bool beyond() const {
    if (states.size() < asked_.count) return false;
    const auto& [cost, spins] = *states.rbegin();
    const std::int64_t least = lifted(std::max(penalty_, asked_.least));
    if (least != cost) return least > cost;
    const std::size_t n = graph_.vertices - asked_.up;
    for (std::size_t k = 0; k < n; ++k) {
      const std::uint8_t up = spin(n - 1 - k);
      if (up != spins[k]) return up > spins[k];
    }
    return true;
  }

  // Whether a spin is up; down where it is not known.
  std::uint8_t spin(std::size_t v) const {
    const std::size_t last = graph_.vertices - 1;
    return label_[v] == label_[last] ? parity_[v] ^ parity_[last] ^ asked_.up : 0;
  }

  // Gives edges the values that are left to them; false if one has none.
  bool follow() {
    const std::size_t edges = known_.size();
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t e = 0; e < edges; ++e) {
        const std::int64_t left = room_ - penalty_;
        if (known_[e]) continue;
        const bool no = cost_[2 * e] > left, yes = cost_[2 * e + 1] > left;
        if (!no && !yes) continue;
        if (no && yes) return false;
        set(e, no);
        if (penalty_ > room_) return false;
        changed = true;
      }
      work += edges / 8;
    }
    return true;
  }

  bool list() {
    const std::size_t n = graph_.vertices - asked_.up;
    Listed state{penalty_, {}};
    for (std::size_t k = 0; k < n; ++k) state.spins.push_back(spin(n - 1 - k));
    states.insert(std::move(state));
    shorten();
    return states.size() <= asked_.most_states;
  }

  // Joins the clusters of two vertices, and decides all edges between them.
  void tie(std::uint32_t u, std::uint32_t v, int differ) {
    std::uint32_t small = label_[u], large = label_[v];
    if (size_[small] > size_[large]) std::swap(small, large);
    const auto flip = static_cast<std::uint8_t>(parity_[u] ^ parity_[v] ^ differ);
    joins_.push_back({small, large, flip, decided_.size()});
    std::uint32_t x = small;
    do {
      label_[x] = large, parity_[x] ^= flip;
      for (const auto* f = graph_.edges.begin(x); f != graph_.edges.end(x); ++f) {
        const std::uint32_t y = graph_.row[*f] == x ? graph_.col[*f] : graph_.row[*f];
        if (!known_[*f] && label_[y] == large)
          decide(*f, parity_[x] ^ parity_[y] ^ graph_.signs[*f]);
      }
      x = next_[x];
    } while (x != small);
    work += size_[small];
    std::swap(next_[small], next_[large]);
    size_[large] += size_[small];
  }

  void decide(std::uint32_t e, int value) {
    known_[e] = 1, value_[e] = static_cast<std::uint8_t>(value);
    decided_.push_back(e);
    penalty_ += cost_[2 * e + value_[e]];
    turn(e);
  }

  // An edge's literals that are 1 are taken into their cycles, or out of them again.
  void turn(std::uint32_t e) {
    for (const auto* k = cycles_.begin(e); k != cycles_.end(e); ++k) {
      if (k->on != value_[e]) continue;
      const std::int64_t more = odd_[k->number] ? -twice_[k->number] : twice_[k->number];
      odd_[k->number] ^= 1;
      for (const auto* f = members_.begin(k->number); f != members_.end(k->number); ++f) {
        cost_[2 * f->number + f->on] += more;
      }
      work += 1 + (members_.end(k->number) - members_.begin(k->number)) / 4;
    }
  }

  void undo(std::size_t mark) {
    for (; joins_.size() > mark; joins_.pop_back()) {
      const auto [small, large, flip, decided] = joins_.back();
      for (; decided_.size() > decided; decided_.pop_back()) {
        const std::uint32_t e = decided_.back();
        turn(e);
        known_[e] = 0;
        penalty_ -= cost_[2 * e + value_[e]];
      }
      size_[large] -= size_[small];
      std::swap(next_[small], next_[large]);
      std::uint32_t x = small;
      do {
        label_[x] = small, parity_[x] ^= flip;
        x = next_[x];
      } while (x != small);
    }
  }

  Graph graph_;
  Lists<Literal> cycles_, members_;  // of an edge, of a cycle
  std::vector<std::int64_t> twice_;
  Asked asked_;
  std::vector<std::uint32_t> label_, next_, size_, decided_;
  std::vector<std::uint8_t> parity_, odd_, known_, value_;
  std::vector<std::int64_t> cost_;  // of each value of an edge
  std::vector<Join> joins_;
  std::int64_t penalty_ = 0, room_;
};

using Numbers = Vector<std::int64_t>;
using Bits = Vector<std::uint8_t>;

std::uint32_t narrow(std::int64_t x) { return static_cast<std::uint32_t>(x); }

Graph graph_of(std::size_t n, const Numbers& row, const Numbers& col, const Bits& signs) {
  const std::size_t count = row.shape(0);
  Graph graph{n, {}, {}, {signs.data(), signs.data() + count}, {}};
  for (std::size_t e = 0; e < count; ++e) {
    graph.row.push_back(narrow(row.data()[e])), graph.col.push_back(narrow(col.data()[e]));
  }
  graph.edges.fill(
      n, 2 * count, [&](std::size_t k) { return (k % 2 ? graph.col : graph.row)[k / 2]; },
      [](std::size_t k) { return static_cast<std::uint32_t>(k / 2); });
  return graph;
}

auto states_within(std::size_t n, Numbers row, Numbers col, Bits signs, Bits low, Bits high,
                   Numbers reduced, Numbers starts, Numbers edges, Numbers turned, Numbers weights,
                   Matrix<std::uint8_t> known, Numbers costs, std::int64_t room, std::int64_t least,
                   std::int64_t step, std::int64_t some, bool up, std::size_t count,
                   std::size_t most_states, std::uint64_t most_work, Bits stop) {
  const Asked asked{room, least, step, some, up, count, most_states, most_work, stop.data()};
  const std::size_t spins = n - up;
  std::vector<std::uint8_t> states;
  std::uint64_t nodes = 0, work = 0;
  bool complete = false;
  {
    nb::gil_scoped_release release;
    std::vector<std::uint32_t> owner;
    std::vector<Literal> literals;
    std::vector<std::int64_t> twice;
    for (std::size_t k = 0; k < weights.shape(0); ++k) {
      if (weights.data()[k] <= 0) continue;
      for (auto at = starts.data()[k]; at < starts.data()[k + 1]; ++at) {
        owner.push_back(static_cast<std::uint32_t>(twice.size()));
        literals.push_back(
            {narrow(edges.data()[at]), turned.data()[at] ? std::uint8_t{0} : std::uint8_t{1}});
      }
      twice.push_back(2 * weights.data()[k]);
    }
    Lists<Literal> cycles, members;
    cycles.fill(
        row.shape(0), owner.size(), [&](std::size_t k) { return literals[k].number; },
        [&](std::size_t k) { return Literal{owner[k], literals[k].on}; });
    members.fill(
        twice.size(), owner.size(), [&](std::size_t k) { return owner[k]; },
        [&](std::size_t k) { return literals[k]; });
    Within within(graph_of(n, row, col, signs), std::move(cycles), std::move(members),
                  std::move(twice), reduced.data(), asked);
    for (std::size_t k = 0; k < known.shape(0); ++k) {
      const std::uint8_t* first = known.data() + k * spins;
      within.know({costs.data()[k],
                   {std::make_reverse_iterator(first + spins), std::make_reverse_iterator(first)}});
    }
    bool possible = true;
    for (std::uint32_t e = 0; e < row.shape(0) && possible; ++e) {
      if (low.data()[e] == high.data()[e]) possible = within.set(e, low.data()[e]);
    }
    complete = !possible || within.search();
    for (const auto& [cost, code] : within.states)
      states.insert(states.end(), code.rbegin(), code.rend());
    nodes = within.nodes, work = within.work;
  }
  const std::size_t found = spins ? states.size() / spins : 0;
  return std::make_tuple(complete, to_numpy(std::move(states), {found, spins}), nodes, work);
}

}  // namespace

void bind_within(nb::module_& module) {
  module.def(
      "states_within", &states_within, nb::arg("n"), nb::arg("row"), nb::arg("col"),
      nb::arg("signs"), nb::arg("low"), nb::arg("high"), nb::arg("reduced"), nb::arg("starts"),
      nb::arg("edges"), nb::arg("turned"), nb::arg("weights"), nb::arg("known"), nb::arg("costs"),
      nb::arg("room"), nb::arg("least"), nb::arg("step"), nb::arg("some"), nb::arg("up"),
      nb::arg("count"), nb::arg("most_states"), nb::arg("most_work"), nb::arg("stop"),
      "The `count` lowest states, with those known, whose edges lie in these bounds and that "
      "cost at most `room`, and at least `least`, above what weights of cycles prove, which is "
      "`some` modulo `step` "
      "(0: unknown); the last vertex is a spin that is down, or stands for fields, `up`. "
      "Whether these are all, spins that are up, nodes and work.");
}

}  // namespace hardscape::ising
