// Spins that have one value in all ground states, by roof duality.
//
// Write an energy as a constant and nonnegative terms c u v of literals, one of which may be the
// constant 1. Each is two arcs of capacity c, from u to not v and from v to not u, in a network
// from 1 to 0. After a largest flow the literals that 1 still reaches are 1 in every ground state
// (P. L. Hammer, P. Hansen, B. Simeone, Math. Program. 28 (1984) 121; E. Boros, P. L. Hammer,
// Discrete Appl. Math. 123 (2002) 155). Capacities are exact integers.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "native/arrays.hpp"
#include "native/family.hpp"

namespace hardscape::ising {
namespace {

// Of up to 124 bits, as the caller sees to.
using Integer = __int128;

Integer load(const Matrix<std::uint64_t>& words, std::size_t i) {
  const std::uint64_t* word = words.data() + 2 * i;
  return static_cast<Integer>(static_cast<unsigned __int128>(word[1]) << 64 | word[0]);
}

// Literals are numbered in pairs: 0 is the constant 1, and `x ^ 1` is not x.
class Network {
 public:
  explicit Network(std::size_t literals) : first_(literals, kNone) {}

  // The term `weight` a b of an energy, of which the other arc of each pair is the way back.
  void term(std::uint32_t a, std::uint32_t b, Integer weight) {
    arc(a, b ^ 1, weight);
    arc(b, a ^ 1, weight);
  }

  // Makes the flow from 1 to 0 as large as it can be, by shortest paths of one length at a time
  // (E. A. Dinic, Soviet Math. Dokl. 11 (1970) 1277). False where so many looks at arcs do not do.
  bool saturate(std::size_t looks) {
    looks_ = looks;
    while (reaches()) {
      next_ = first_;
      while (pushed()) {
      }
      if (looks_ == 0) return false;
    }
    return looks_ > 0;
  }

  // Whether 1 reaches a literal, once the flow is as large as it can be.
  bool reached(std::uint32_t literal) const { return level_[literal] >= 0; }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  struct Arc {
    std::uint32_t to, next;
    Integer room;
  };

  void arc(std::uint32_t from, std::uint32_t to, Integer room) {
    add(from, to, room);
    add(to, from, 0);
  }

  void add(std::uint32_t from, std::uint32_t to, Integer room) {
    arcs_.push_back({to, first_[from], room});
    first_[from] = static_cast<std::uint32_t>(arcs_.size() - 1);
  }

  bool look() { return looks_ > 0 && --looks_ > 0; }

  // Levels by breadth first; whether 0 has one.
  bool reaches() {
    level_.assign(first_.size(), -1);
    level_[0] = 0;
    queue_.assign(1, 0);
    for (std::size_t k = 0; k < queue_.size(); ++k) {
      const std::uint32_t v = queue_[k];
      for (std::uint32_t e = first_[v]; e != kNone; e = arcs_[e].next) {
        if (!look()) return false;
        if (arcs_[e].room > 0 && level_[arcs_[e].to] < 0) {
          level_[arcs_[e].to] = level_[v] + 1;
          queue_.push_back(arcs_[e].to);
        }
      }
    }
    return level_[1] >= 0;
  }

  // Sends what one path of the levels has room for; false if there is none left.
  bool pushed() {
    path_.clear();
    std::uint32_t v = 0;
    while (v != 1) {
      std::uint32_t& e = next_[v];
      while (e != kNone && !(arcs_[e].room > 0 && level_[arcs_[e].to] == level_[v] + 1)) {
        if (!look()) return false;
        e = arcs_[e].next;
      }
      if (e != kNone) {
        path_.push_back(e);
        v = arcs_[e].to;
      } else if (path_.empty()) {
        return false;
      } else {
        v = arcs_[path_.back() ^ 1].to;
        path_.pop_back();
        next_[v] = arcs_[next_[v]].next;
      }
    }
    Integer least = arcs_[path_[0]].room;
    for (const std::uint32_t e : path_) least = std::min(least, arcs_[e].room);
    for (const std::uint32_t e : path_) {
      arcs_[e].room -= least;
      arcs_[e ^ 1].room += least;
    }
    return look();
  }

  std::vector<std::uint32_t> first_, next_, queue_, path_;
  std::vector<Arc> arcs_;
  std::vector<std::int32_t> level_;
  std::size_t looks_ = 0;
};

// -1 and +1 for spins that have this value in all states of least energy, 0 for others.
NumpyArray<std::int8_t> persistent(Matrix<std::uint64_t> fields, Vector<std::int64_t> row,
                                   Vector<std::int64_t> col, Matrix<std::uint64_t> couplings,
                                   std::size_t looks) {
  const std::size_t n = fields.shape(0);
  std::vector<std::int8_t> values(n, 0);
  {
    nb::gil_scoped_release release;
    // In x = (1 + s) / 2, twice h s is 4 h x, and twice J s t is 8 J x y - 4 J x - 4 J y.
    const auto up = [](std::size_t i) { return static_cast<std::uint32_t>(2 * i + 2); };
    Network network(2 * n + 2);
    std::vector<Integer> linear(n);
    for (std::size_t i = 0; i < n; ++i) linear[i] = load(fields, i);
    for (std::size_t e = 0; e < row.shape(0); ++e) {
      const auto i = static_cast<std::size_t>(row(e)), j = static_cast<std::size_t>(col(e));
      const Integer x = load(couplings, e);
      linear[i] -= x;
      linear[j] -= x;
      if (x > 0) {
        network.term(up(i), up(j), 2 * x);
      } else if (x < 0) {
        // -x y is x (1 - y) - x.
        network.term(up(i), up(j) ^ 1, -2 * x);
        linear[i] += 2 * x;
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (linear[i] > 0) network.term(0, up(i), linear[i]);
      if (linear[i] < 0) network.term(0, up(i) ^ 1, -linear[i]);
    }
    if (network.saturate(looks)) {
      for (std::size_t i = 0; i < n; ++i) {
        values[i] = static_cast<std::int8_t>(network.reached(up(i)) - network.reached(up(i) ^ 1));
      }
    }
  }
  return to_numpy(std::move(values), {n});
}

const native::Family family("ising", [](nb::module_& module) {
  module.def("persistent", &persistent, nb::arg("fields"), nb::arg("row"), nb::arg("col"),
             nb::arg("couplings"), nb::arg("looks"),
             "Values -1 and +1 that spins have in all ground states, 0 where that is not known.");
});

}  // namespace
}  // namespace hardscape::ising
