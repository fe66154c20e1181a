// The order of a sweep: a walk from variable to variable through shared clauses, closing more than
// are opened. It keeps the stretch of a sweep in which a clause is read and written short, and lets
// one clause word pass from each update to the next.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "native/arrays.hpp"
#include "native/family.hpp"

namespace hardscape::xorsat {
namespace {

// Variables that are compared where the walk begins anew; all of them would take time N^2.
constexpr int kLookAt = 64;

class Walk {
 public:
  Walk(std::int32_t variables, const std::int64_t* offsets, const std::int32_t* members,
       std::size_t clauses)
      : offsets_(offsets),
        members_(members),
        starts_(variables + 1),
        left_(clauses),
        opened_(clauses),
        next_(variables + 1),
        previous_(variables + 1) {
    for (std::size_t a = 0; a < clauses; ++a) {
      left_[a] = offsets[a + 1] - offsets[a];
      for (auto i = offsets[a]; i < offsets[a + 1]; ++i) ++starts_[members[i] + 1];
    }
    for (std::int32_t v = 0; v < variables; ++v) starts_[v + 1] += starts_[v];
    clauses_.resize(starts_[variables]);
    std::vector<std::int64_t> end(starts_.begin(), starts_.end() - 1);
    for (std::size_t a = 0; a < clauses; ++a) {
      for (auto i = offsets[a]; i < offsets[a + 1]; ++i) {
        clauses_[end[members[i]]++] = static_cast<std::int32_t>(a);
      }
    }
    // Variables that wait, in order, are a ring; `variables` stands between the last and the first.
    std::int32_t last = variables;
    for (std::int32_t v = 0; v < variables; ++v) {
      if (starts_[v] == starts_[v + 1]) continue;
      next_[last] = v;
      previous_[v] = last;
      last = v;
    }
    next_[last] = variables;
    previous_[variables] = last;
  }

  void run() {
    const auto end = static_cast<std::int32_t>(next_.size() - 1);
    std::int32_t at = -1, through = -1;
    while (next_[end] != end) {
      Step best{};
      bool found = false;
      if (at >= 0) {
        for (auto j = starts_[at]; j < starts_[at + 1]; ++j) {
          const std::int32_t a = clauses_[j];
          if (a == through) continue;
          for (auto i = offsets_[a]; i < offsets_[a + 1]; ++i) {
            if (previous_[members_[i]] >= 0)
              consider({cost(members_[i]), members_[i], a}, best, found);
          }
        }
      }
      if (!found) {
        std::int32_t v = next_[end];
        for (int k = 0; k < kLookAt && v != end; ++k, v = next_[v]) {
          consider({cost(v), v, -1}, best, found);
        }
      }
      std::tie(std::ignore, at, through) = best;
      leave(at);
      order.push_back(at);
      entered.push_back(through);
    }
  }

  // Clauses of each update: the one it was entered through first, that of the next one last.
  void arrange() {
    starts.push_back(0);
    for (std::size_t u = 0; u < order.size(); ++u) {
      const std::int32_t first = entered[u], last = u + 1 < order.size() ? entered[u + 1] : -1;
      if (first >= 0) touched.push_back(first);
      for (auto j = starts_[order[u]]; j < starts_[order[u] + 1]; ++j) {
        if (clauses_[j] != first && clauses_[j] != last) touched.push_back(clauses_[j]);
      }
      if (last >= 0) touched.push_back(last);
      starts.push_back(static_cast<std::int32_t>(touched.size()));
      chained.push_back(first >= 0);
    }
  }

  std::vector<std::int32_t> order, entered, starts, touched;
  std::vector<std::uint8_t> chained;

 private:
  using Step = std::tuple<std::int64_t, std::int32_t, std::int32_t>;  // cost, variable, clause

  static void consider(const Step& step, Step& best, bool& found) {
    if (!found || step < best) best = step;
    found = true;
  }

  // Clauses that an update of the variable opens, less those that it closes.
  std::int64_t cost(std::int32_t v) const {
    std::int64_t sum = 0;
    for (auto j = starts_[v]; j < starts_[v + 1]; ++j) {
      sum += !opened_[clauses_[j]] - (left_[clauses_[j]] == 1);
    }
    return sum;
  }

  void leave(std::int32_t v) {
    next_[previous_[v]] = next_[v];
    previous_[next_[v]] = previous_[v];
    previous_[v] = -1;
    for (auto j = starts_[v]; j < starts_[v + 1]; ++j) {
      opened_[clauses_[j]] = 1;
      --left_[clauses_[j]];
    }
  }

  const std::int64_t* offsets_;
  const std::int32_t* members_;
  std::vector<std::int64_t> starts_;  // of each variable's clauses
  std::vector<std::int32_t> clauses_;
  std::vector<std::int64_t> left_;  // variables of a clause that wait
  std::vector<std::uint8_t> opened_;
  std::vector<std::int32_t> next_, previous_;  // previous_ is -1 of those that do not wait
};

auto sweep_order(std::int32_t variables, Vector<std::int64_t> offsets,
                 Vector<std::int32_t> members) {
  Walk walk(variables, offsets.data(), members.data(), offsets.shape(0) - 1);
  {
    nb::gil_scoped_release release;
    walk.run();
    walk.arrange();
  }
  const auto given = [](auto& values) {
    const std::size_t count = values.size();
    return to_numpy(std::move(values), {count});
  };
  return std::make_tuple(given(walk.order), given(walk.starts), given(walk.touched),
                         given(walk.chained));
}

const native::Family family("xorsat", [](nb::module_& module) {
  module.def(
      "sweep_order", &sweep_order, nb::arg("variables"), nb::arg("offsets"), nb::arg("members"),
      "Variables in the order of their updates; where the clauses of each update start; these "
      "clauses; which updates share their first with the last of the one before.");
});

}  // namespace
}  // namespace hardscape::xorsat
