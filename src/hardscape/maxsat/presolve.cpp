// Presolve: what follows from hard units and from literals whose negation never occurs, repeated
// clauses merged, those that hard ones imply left out, opposite soft units cancelled. Every
// assignment of what is left that satisfies its hard clauses costs a constant more in the whole
// formula.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "maxsat/instance.hpp"
#include "native/arrays.hpp"

namespace hardscape::maxsat {
namespace {

constexpr std::uint64_t kMaxWeight = (std::uint64_t{1} << 63) - 1;
constexpr std::int8_t kOpen = -1;

class Presolve {
 public:
  Presolve(const Clauses& given, const Poll& stopped)
      : fixed(given.variables, kOpen),
        stopped_(stopped),
        occurring_(2 * std::size_t{given.variables}) {
    literal_.reserve(static_cast<std::size_t>(given.offsets[given.count]));
    start_.reserve(given.count + 1);
    weight_.reserve(given.count);
    hard_.reserve(given.count);
    start_.push_back(0);
    for (std::size_t c = 0; c < given.count && !cut(c); ++c) {
      if (!given.append(c, literal_)) continue;
      start_.push_back(literal_.size());
      weight_.push_back(static_cast<std::uint64_t>(given.weights[c]));
      hard_.push_back(given.hard[c]);
    }
    index();
  }

  std::vector<std::int8_t> fixed;  // value of each variable, or kOpen
  bool unsatisfiable = false;
  bool incomplete = false;  // stopped: nothing here is to be used
  unsigned __int128 constant = 0;

  void run() {
    for (std::uint32_t c = 0; c < size_.size() && !unsatisfiable && !cut(c); ++c) settle(c);
    purify();
    if (unsatisfiable || incomplete) return;
    merging_ = true;  // clauses are compared by their open literals, so none may be assigned
    merge();
    subsume();
    cancel_units();
    merging_ = false;
    purify();
  }

  // What is left, variables renumbered from 1 in their order.
  void collect(std::vector<std::int32_t>& original, std::vector<std::int32_t>& literals,
               std::vector<std::int64_t>& offsets, std::vector<std::int64_t>& weights,
               std::vector<std::uint8_t>& hard) {
    std::vector<std::int32_t> number(fixed.size());
    for (std::size_t v = 0; v < fixed.size(); ++v) {
      if (fixed[v] != kOpen || occurring_[2 * v] + occurring_[2 * v + 1] == 0) continue;
      original.push_back(static_cast<std::int32_t>(v) + 1);
      number[v] = static_cast<std::int32_t>(original.size());
    }
    const auto clauses = static_cast<std::size_t>(std::count(alive_.begin(), alive_.end(), 1));
    literals.reserve(literal_.size());
    offsets.reserve(clauses + 1);
    weights.reserve(clauses);
    hard.reserve(clauses);
    offsets.push_back(0);
    for (std::uint32_t c = 0; c < size_.size() && !cut(c); ++c) {
      if (!alive_[c]) continue;
      for (std::size_t i = start_[c]; i < start_[c + 1]; ++i) {
        const std::uint32_t l = literal_[i];
        if (const std::int32_t x = number[l >> 1]) literals.push_back(l & 1 ? -x : x);
      }
      offsets.push_back(static_cast<std::int64_t>(literals.size()));
      weights.push_back(static_cast<std::int64_t>(weight_[c]));
      hard.push_back(hard_[c]);
    }
  }

 private:
  // Whether the time is up, asked for now and then.
  bool cut(std::size_t step) { return incomplete = incomplete || stopped_(step); }

  void index() {
    const std::size_t m = weight_.size();
    alive_.assign(m, 1);
    first_.assign(occurring_.size() + 1, 0);
    for (std::size_t i = 0; i < literal_.size() && !cut(i); ++i) ++occurring_[literal_[i]];
    for (std::size_t l = 0; l < occurring_.size(); ++l) first_[l + 1] = first_[l] + occurring_[l];
    incomplete = incomplete || !extend(size_, m, stopped_) ||
                 !extend(occurrence_, literal_.size(), stopped_);
    if (incomplete) return;
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (std::uint32_t c = 0; c < m && !cut(c); ++c) {
      size_[c] = static_cast<std::uint32_t>(start_[c + 1] - start_[c]);
      for (std::size_t i = start_[c]; i < start_[c + 1]; ++i) {
        if (i + 2 * kAhead < literal_.size()) {
          __builtin_prefetch(&next[literal_[i + 2 * kAhead]]);
          __builtin_prefetch(&occurrence_[next[literal_[i + kAhead]]]);
        }
        occurrence_[next[literal_[i]]++] = c;
      }
    }
  }

  void assign(std::uint32_t l) {
    fixed[l >> 1] = !(l & 1);
    queue_.push_back(l);
  }

  // Acts on a clause of no literals, and on a hard one of one.
  void settle(std::uint32_t c) {
    if (size_[c] == 0) {
      if (hard_[c])
        unsatisfiable = true;
      else
        constant += weight_[c];
      alive_[c] = 0;
    } else if (size_[c] == 1 && hard_[c]) {
      for (std::size_t i = start_[c]; i < start_[c + 1]; ++i)
        if (fixed[literal_[i] >> 1] == kOpen) return assign(literal_[i]);
      // Its last literal is assigned and waits in the queue: false if nothing satisfies the clause.
    }
  }

  // Makes a literal true that occurs only as it is.
  void look_at(std::uint32_t l) {
    if (fixed[l >> 1] == kOpen && occurring_[l] > 0 && occurring_[l ^ 1] == 0) assign(l);
  }

  void purify() {
    for (std::uint32_t l = 0; l < occurring_.size() && !cut(l); ++l) look_at(l);
    drain();
  }

  void remove(std::uint32_t c) {
    alive_[c] = 0;
    for (std::size_t i = start_[c]; i < start_[c + 1]; ++i)
      if (--occurring_[literal_[i]] == 0 && !merging_) look_at(literal_[i] ^ 1);
  }

  void drain() {
    for (std::size_t step = 0; !queue_.empty() && !unsatisfiable && !cut(step); ++step) {
      const std::uint32_t l = queue_.back();
      queue_.pop_back();
      for (std::size_t i = first_[l]; i < first_[l + 1]; ++i)
        if (alive_[occurrence_[i]]) remove(occurrence_[i]);
      for (std::size_t i = first_[l ^ 1]; i < first_[(l ^ 1) + 1] && !unsatisfiable; ++i) {
        const std::uint32_t c = occurrence_[i];
        if (!alive_[c]) continue;
        --size_[c];
        settle(c);
      }
    }
  }

  // Live literals of a clause, in order.
  void live(std::uint32_t c, std::vector<std::uint32_t>& out) const {
    out.clear();
    for (std::size_t i = start_[c]; i < start_[c + 1]; ++i)
      if (fixed[literal_[i] >> 1] == kOpen) out.push_back(literal_[i]);
  }

  // Clauses of the same literals meet in a hash table with open addresses.
  void merge() {
    std::size_t slots = 1;
    while (slots < 2 * size_.size() + 1) slots *= 2;
    std::vector<std::uint32_t> table(slots, kNone), keys(size_.size()), a, b;
    for (std::uint32_t c = 0; c < size_.size() && !cut(c); ++c) {
      if (!alive_[c]) continue;
      live(c, a);
      std::uint64_t key = 0;
      for (std::uint32_t l : a) key = (key ^ l) * 0x9e3779b97f4a7c15ull + (key >> 29);
      keys[c] = static_cast<std::uint32_t>(key ^ key >> 32);
    }
    for (std::uint32_t c = 0; c < size_.size() && !cut(c); ++c) {
      if (c + kAhead < keys.size()) __builtin_prefetch(&table[keys[c + kAhead] & (slots - 1)]);
      if (!alive_[c]) continue;
      live(c, a);
      for (std::size_t at = keys[c] & (slots - 1);; at = (at + 1) & (slots - 1)) {
        const std::uint32_t d = table[at];
        if (d == kNone) {
          table[at] = c;
          break;
        }
        if (keys[d] != keys[c]) continue;
        live(d, b);
        if (a != b) continue;
        unite(d, c);
        if (!alive_[d]) table[at] = c;
        if (!alive_[d] || !alive_[c]) break;
      }
    }
  }

  // Two clauses of the same literals, c < d.
  void unite(std::uint32_t c, std::uint32_t d) {
    if (hard_[c]) return remove(d);
    if (hard_[d]) return remove(c);
    if (weight_[c] + weight_[d] > kMaxWeight) return;
    weight_[c] += weight_[d];
    remove(d);
  }

  // Clauses that hold wherever a hard one does, of which they have all literals, go. Looked for
  // among the clauses of its rarest literal, by a bit for each of its variables modulo 64 first.
  void subsume() {
    if (literal_.size() > kSubsumed) return;
    std::vector<std::uint64_t> bits(size_.size());
    std::vector<std::uint32_t> marked(occurring_.size(), kNone), a, b;
    for (std::uint32_t c = 0; c < size_.size() && !cut(c); ++c) {
      live(c, a);
      for (std::uint32_t l : a) bits[c] |= std::uint64_t{1} << (l >> 1) % 64;
    }
    std::size_t looks = kLooks;
    for (std::uint32_t c = 0; c < size_.size() && looks > 0 && !cut(c); ++c) {
      if (!alive_[c] || !hard_[c]) continue;
      live(c, a);
      const auto occurrences = [&](std::uint32_t l) { return first_[l + 1] - first_[l]; };
      const std::uint32_t rarest = *std::min_element(
          a.begin(), a.end(), [&](auto x, auto y) { return occurrences(x) < occurrences(y); });
      looks -= std::min(looks, occurrences(rarest));
      for (std::uint32_t l : a) marked[l] = c;
      for (std::size_t i = first_[rarest]; i < first_[rarest + 1]; ++i) {
        const std::uint32_t d = occurrence_[i];
        if (!alive_[d] || size_[d] <= size_[c] || bits[c] & ~bits[d]) continue;
        live(d, b);
        const auto common =
            std::count_if(b.begin(), b.end(), [&](std::uint32_t l) { return marked[l] == c; });
        if (common == static_cast<std::ptrdiff_t>(a.size())) remove(d);
      }
    }
  }

  // Of x and not x one is always false.
  void cancel_units() {
    std::vector<std::uint32_t> unit(occurring_.size(), kNone), a;
    for (std::uint32_t c = 0; c < size_.size() && !cut(c); ++c) {
      if (!alive_[c] || size_[c] != 1 || hard_[c]) continue;
      live(c, a);
      if (a.empty()) continue;
      const std::uint32_t other = unit[a[0] ^ 1];
      if (other == kNone || !alive_[other]) {
        unit[a[0]] = c;
        continue;
      }
      const std::uint64_t both = std::min(weight_[c], weight_[other]);
      constant += both;
      weight_[c] -= both;
      weight_[other] -= both;
      if (weight_[other] == 0) remove(other);
      if (weight_[c] == 0)
        remove(c);
      else
        unit[a[0]] = c;
    }
  }

  static constexpr std::uint32_t kNone = UINT32_MAX;
  // Literals up to which subsumed clauses are looked for, and how many clauses are looked at.
  static constexpr std::size_t kSubsumed = 2'000'000, kLooks = 20'000'000;
  static constexpr std::size_t kAhead = 16;  // what is fetched before it is needed

  Poll stopped_;
  std::vector<std::uint32_t> literal_, size_, occurring_, occurrence_, queue_;
  std::vector<std::size_t> start_, first_;
  std::vector<std::uint64_t> weight_;
  std::vector<std::uint8_t> hard_, alive_;
  bool merging_ = false;
};

// Unsatisfiable, constant high, constant low, fixed, original, literals, offsets, weights, hard.
using Presolved =
    std::tuple<bool, std::uint64_t, std::uint64_t, NumpyArray<std::int8_t>,
               NumpyArray<std::int32_t>, NumpyArray<std::int32_t>, NumpyArray<std::int64_t>,
               NumpyArray<std::int64_t>, NumpyArray<std::uint8_t>>;

// Nothing where `stop` was set meanwhile.
std::optional<Presolved> presolve(const nb::object& formula,
                                  std::optional<Vector<std::uint8_t>> stop) {
  const Poll stopped(stop);
  if (stopped(0)) return std::nullopt;
  const Clauses given(formula);
  std::vector<std::int32_t> original, left;
  std::vector<std::int64_t> starts, costs;
  std::vector<std::uint8_t> firm;
  std::vector<std::int8_t> fixed;
  bool unsatisfiable = false, incomplete = false;
  unsigned __int128 constant = 0;
  {
    nb::gil_scoped_release release;
    Presolve work(given, stopped);
    work.run();
    unsatisfiable = work.unsatisfiable;
    constant = work.constant;
    if (!unsatisfiable && !work.incomplete) work.collect(original, left, starts, costs, firm);
    incomplete = work.incomplete;
    fixed = std::move(work.fixed);
  }
  if (incomplete) return std::nullopt;
  return Presolved(unsatisfiable, static_cast<std::uint64_t>(constant >> 64),
                   static_cast<std::uint64_t>(constant), to_array(std::move(fixed)),
                   to_array(std::move(original)), to_array(std::move(left)),
                   to_array(std::move(starts)), to_array(std::move(costs)),
                   to_array(std::move(firm)));
}

}  // namespace

void bind_presolve(nb::module_& module) {
  module.def("presolve", &presolve, nb::arg("formula"), nb::arg("stop").none() = nb::none(),
             "What is left of a formula, and what every assignment of it costs besides.");
}

}  // namespace hardscape::maxsat
