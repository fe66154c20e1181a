// Variable elimination by tables (bucket elimination: Bertele and Brioschi, 1972; Dechter, 1999):
// each variable is minimized over for all values of those that it still shares a clause or a table
// with. A hard clause costs so much that sums stay there.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "maxsat/instance.hpp"
#include "native/arrays.hpp"

namespace hardscape::maxsat {
namespace {

constexpr std::size_t kWidest = 24, kLow = 8, kJoined = 10;
// Operations for each entry to which a table of clauses is added; and of what is not counted.
constexpr double kAdded = 0.5, kTooMany = std::numeric_limits<double>::infinity();

using Order = std::vector<std::uint32_t>;

// Neighbours of each variable, sorted.
std::vector<Order> neighbours(const Clauses& f) {
  std::vector<Order> of(f.variables);
  for (std::size_t c = 0; c < f.count; ++c)
    for (std::int64_t i = f.offsets[c]; i < f.offsets[c + 1]; ++i)
      for (std::int64_t j = f.offsets[c]; j < f.offsets[c + 1]; ++j)
        if (i != j)
          of[Clauses::variable(f.literals[i])].push_back(Clauses::variable(f.literals[j]));
  for (Order& each : of) {
    std::sort(each.begin(), each.end());
    each.erase(std::unique(each.begin(), each.end()), each.end());
  }
  return of;
}

// Operations of an elimination, in the given order or, without one, of fewest neighbours first,
// which is written down. There are too many where there are more than `most` without those that add
// clauses.
double operations(const Clauses& f, std::vector<Order> of, const Order* given, Order& order,
                  double most) {
  const std::size_t n = of.size();
  std::vector<std::uint8_t> gone(n);
  Order joined;
  double found = 0;
  order.clear();
  std::vector<double> entries(n);  // of the table of each variable, before it goes
  for (std::size_t step = 0; step < n && found <= most; ++step) {
    std::uint32_t v = 0;
    if (given) {
      v = (*given)[step];
    } else {
      std::size_t fewest = SIZE_MAX;
      for (std::uint32_t u = 0; u < n; ++u)
        if (!gone[u] && of[u].size() < fewest) {
          fewest = of[u].size();
          v = u;
        }
    }
    gone[v] = 1;
    order.push_back(v);
    const Order& own = of[v];
    if (own.size() > kWidest) return kTooMany;
    entries[v] = static_cast<double>(std::uint64_t{2} << own.size());
    found += 2 * entries[v];
    for (const std::uint32_t u : own) {
      joined.clear();
      std::set_union(of[u].begin(), of[u].end(), own.begin(), own.end(),
                     std::back_inserter(joined));
      std::erase_if(joined, [&](std::uint32_t x) { return x == u || x == v; });
      of[u] = joined;
    }
  }
  if (found > most) return kTooMany;
  // Clauses are added to the table of the first one of their variables that goes, as many at once
  // as have few variables together.
  std::vector<std::size_t> place(n);
  for (std::size_t i = 0; i < n; ++i) place[order[i]] = i;
  std::vector<Order> together(n);
  for (std::size_t c = 0; c < f.count; ++c) {
    Order own;
    std::size_t first = n;
    for (std::int32_t i = f.offsets[c]; i < f.offsets[c + 1]; ++i) {
      own.push_back(Clauses::variable(f.literals[i]));
      first = std::min(first, place[own.back()]);
    }
    if (first == n) continue;
    std::sort(own.begin(), own.end());
    Order& some = together[first];
    joined.clear();
    std::set_union(some.begin(), some.end(), own.begin(), own.end(), std::back_inserter(joined));
    const bool begins = some.empty() || joined.size() > kJoined;
    if (begins) found += kAdded * entries[order[first]];
    some = begins ? own : joined;
  }
  return found;
}

// Costs by the values of some variables; the first is the lowest bit.
template <class Cost>
struct Table {
  Order variables;
  std::vector<Cost> cost;
};

// With costs in 32 or 64 bits.
template <class Cost>
class Elimination {
  using Costs = Table<Cost>;

 public:
  static constexpr Cost kNever = Cost{1}
                                 << (std::numeric_limits<Cost>::digits - 2);  // sums are less

  Elimination(const Clauses& f, const Order& order) : f_(f), order_(order), place_(f.variables) {
    for (std::uint32_t i = 0; i < order.size(); ++i) place_[order[i]] = i;
    clauses_.resize(f.variables);
    tables_.resize(f.variables);
    choices_.resize(f.variables);
    for (std::uint32_t c = 0; c < f.count; ++c) {
      if (f.offsets[c] == f.offsets[c + 1]) {
        least_ = added(least_, price(c));
        continue;
      }
      std::uint32_t first = UINT32_MAX;
      each(c, [&](std::uint32_t v, bool) { first = std::min(first, place_[v]); });
      clauses_[first].push_back(c);
    }
  }

  // False if stopped.
  bool run(const Poll& stopped) {
    for (std::uint32_t i = 0; i < order_.size(); ++i) {
      if (stopped(0)) return false;
      eliminate(i);
    }
    return true;
  }

  Cost least() const { return least_; }

  std::vector<std::uint8_t> assignment() const {
    std::vector<std::uint8_t> value(f_.variables);
    for (std::size_t i = order_.size(); i > 0; --i) {
      const auto& [variables, chosen] = choices_[i - 1];
      std::size_t at = 0;
      for (std::size_t k = 0; k < variables.size(); ++k)
        at |= std::size_t{value[variables[k]]} << k;
      value[order_[i - 1]] = chosen[at];
    }
    return value;
  }

 private:
  static Cost added(Cost a, Cost b) { return std::min<Cost>(a + b, kNever); }

  Cost price(std::uint32_t c) const {
    return f_.hard[c] ? kNever : static_cast<Cost>(f_.weights[c]);
  }

  template <class Act>
  void each(std::uint32_t c, Act&& act) const {
    for (std::int64_t i = f_.offsets[c]; i < f_.offsets[c + 1]; ++i)
      act(Clauses::variable(f_.literals[i]), f_.literals[i] > 0);
  }

  void eliminate(std::uint32_t i) {
    Costs& whole = whole_;  // the same memory each time
    Order& scope = whole.variables;
    scope.assign(1, order_[i]);
    for (const std::uint32_t c : clauses_[i])
      each(c, [&](std::uint32_t v, bool) { scope.push_back(v); });
    for (const Costs& table : tables_[i])
      scope.insert(scope.end(), table.variables.begin(), table.variables.end());
    sort(scope);
    whole.cost.assign(std::size_t{1} << scope.size(), 0);
    add_clauses(whole, clauses_[i]);
    for (const Costs& table : tables_[i]) add_table(whole, table);
    std::vector<Costs>().swap(tables_[i]);
    Costs rest;
    rest.variables.assign(scope.begin() + 1, scope.end());
    rest.cost.resize(whole.cost.size() / 2);
    std::vector<std::uint8_t> chosen(rest.cost.size());
    const Cost* const both = whole.cost.data();
    for (std::size_t x = 0; x < rest.cost.size(); ++x)
      rest.cost[x] = std::min(both[2 * x], both[2 * x + 1]);
    for (std::size_t x = 0; x < rest.cost.size(); ++x) chosen[x] = both[2 * x + 1] < both[2 * x];
    choices_[i] = {rest.variables, std::move(chosen)};
    if (rest.variables.empty())
      least_ = added(least_, rest.cost[0]);
    else
      tables_[place_[rest.variables[0]]].push_back(std::move(rest));
  }

  // In the order of elimination, each once.
  void sort(Order& scope) const {
    std::sort(scope.begin(), scope.end(), [&](auto a, auto b) { return place_[a] < place_[b]; });
    scope.erase(std::unique(scope.begin(), scope.end()), scope.end());
  }

  // To a table, by way of small ones, which as many clauses share as have few variables together.
  void add_clauses(Costs& to, const Order& clauses) const {
    Order some, scope, joined;
    const auto add = [&] {
      Costs small{scope, std::vector<Cost>(std::size_t{1} << scope.size())};
      for (const std::uint32_t c : some) add_clause(small, c);
      add_table(to, small);
    };
    for (const std::uint32_t c : clauses) {
      joined = scope;
      each(c, [&](std::uint32_t v, bool) { joined.push_back(v); });
      sort(joined);
      if (!some.empty() && joined.size() > kJoined) {
        add();
        some.clear();
        joined.clear();
        each(c, [&](std::uint32_t v, bool) { joined.push_back(v); });
        sort(joined);
      }
      some.push_back(c);
      scope.swap(joined);
    }
    if (!some.empty()) add();
  }

  static std::size_t bit(const Order& scope, std::uint32_t v) {
    return std::size_t{1} << (std::find(scope.begin(), scope.end(), v) - scope.begin());
  }

  // To all entries under which no literal holds.
  void add_clause(Costs& to, std::uint32_t c) const {
    std::size_t named = 0, fixed = 0;
    each(c, [&](std::uint32_t v, bool positive) {
      const std::size_t at = bit(to.variables, v);
      named |= at;
      fixed |= positive ? 0 : at;
    });
    const std::size_t free = to.cost.size() - 1 - named;
    for (std::size_t x = 0;; x = (x - free) & free) {  // the subsets of `free`, in order
      Cost& cost = to.cost[x | fixed];
      cost = added(cost, price(c));
      if (x == free) break;
    }
  }

  void add_table(Costs& to, const Costs& table) const {
    // The place in `table` is a sum over the bits of the place in `to`: of the low ones all sums
    // are known before.
    std::vector<std::size_t> own(to.variables.size());
    for (std::size_t k = 0; k < own.size(); ++k) {
      const auto at = std::find(table.variables.begin(), table.variables.end(), to.variables[k]);
      if (at != table.variables.end()) own[k] = std::size_t{1} << (at - table.variables.begin());
    }
    const std::size_t low = std::min<std::size_t>(kLow, own.size());
    const auto place = [&](std::size_t x, std::size_t from) {
      std::size_t found = 0;
      for (std::size_t k = from; x; ++k, x >>= 1) found += x & 1 ? own[k] : 0;
      return found;
    };
    std::vector<std::uint32_t> places(std::size_t{1} << low);
    bool same = true;  // the low bits are those of `table`
    for (std::size_t j = 0; j < places.size(); ++j) {
      places[j] = static_cast<std::uint32_t>(place(j, 0));
      same &= places[j] == j;
    }
    std::vector<Cost> row(same ? 0 : places.size());
    std::size_t known = SIZE_MAX;  // where the row is from
    for (std::size_t block = 0; block < to.cost.size() >> low; ++block) {
      const std::size_t at = place(block, low);
      const Cost* const from = table.cost.data() + at;
      if (!same && at != known)
        for (std::size_t j = 0; j < places.size(); ++j) row[j] = from[places[j]];
      known = at;
      add_row(to.cost.data() + (block << low), same ? from : row.data(), places.size());
    }
  }

  static void add_row(Cost* __restrict into, const Cost* __restrict from, std::size_t count) {
    for (std::size_t j = 0; j < count; ++j) into[j] = added(into[j], from[j]);
  }

  const Clauses& f_;
  const Order& order_;
  std::vector<std::uint32_t> place_;
  std::vector<Order> clauses_;  // by the first variable of each that is eliminated
  std::vector<std::vector<Costs>> tables_;
  Costs whole_;
  std::vector<std::pair<Order, std::vector<std::uint8_t>>> choices_;
  Cost least_ = 0;
};

using Plan = std::tuple<double, NumpyArray<std::uint32_t>>;

Plan plan(const nb::object& formula, double most) {
  const Clauses f(formula);
  Order best, other;
  double least = 0;
  {
    nb::gil_scoped_release release;
    const std::vector<Order> of = neighbours(f);
    Order given(f.variables);
    std::iota(given.begin(), given.end(), 0u);
    least = operations(f, of, nullptr, best, most);
    const double found = operations(f, of, &given, other, most);
    if (found < least) {
      least = found;
      best.swap(other);
    }
  }
  return {least, to_array(std::move(best))};
}

struct Optimum {
  std::uint64_t cost = 0;
  // None where the hard clauses contradict one another.
  std::optional<std::vector<std::uint8_t>> values;
};

template <class Cost>
std::optional<Optimum> optimum(const Clauses& f, const Order& order, const Poll& stopped) {
  Elimination<Cost> work(f, order);
  if (!work.run(stopped)) return std::nullopt;
  if (work.least() >= work.kNever) return Optimum{};
  return Optimum{work.least(), work.assignment()};
}

// Whether costs and their sums fit 32 bits.
bool small(const Clauses& f) {
  std::uint64_t sum = 0;
  for (std::size_t c = 0; c < f.count && sum < Elimination<std::uint32_t>::kNever; ++c)
    if (!f.hard[c]) sum += std::min<std::uint64_t>(f.weights[c], UINT32_MAX);
  return sum < Elimination<std::uint32_t>::kNever;
}

// Least cost and an assignment; nothing where stopped, and no assignment where none satisfies the
// hard clauses.
std::optional<std::tuple<std::uint64_t, std::optional<NumpyArray<std::uint8_t>>>> eliminate(
    const nb::object& formula, const Vector<std::uint32_t>& order,
    const std::optional<Vector<std::uint8_t>>& stop) {
  const Clauses f(formula);
  const Poll stopped(stop);
  const Order variables(order.data(), order.data() + order.shape(0));
  std::optional<Optimum> found;
  {
    nb::gil_scoped_release release;
    found = small(f) ? optimum<std::uint32_t>(f, variables, stopped)
                     : optimum<std::uint64_t>(f, variables, stopped);
  }
  if (!found) return std::nullopt;
  if (!found->values) return std::make_tuple(found->cost, std::nullopt);
  return std::make_tuple(found->cost, std::optional(to_array(std::move(*found->values))));
}

}  // namespace

void bind_elimination(nb::module_& module) {
  module.def("elimination_plan", &plan, nb::arg("formula"), nb::arg("most"),
             "Operations of an elimination and its order; more than `most` are not counted.");
  module.def("eliminate", &eliminate, nb::arg("formula"), nb::arg("order"),
             nb::arg("stop").none() = nb::none(), "Least cost, and an assignment that costs it.");
}

}  // namespace hardscape::maxsat
