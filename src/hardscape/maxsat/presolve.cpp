// Presolve: what follows from hard units and from literals whose negation never occurs, repeated
// clauses merged, those that hard ones imply left out, opposite soft units cancelled. Every
// assignment of what is left that satisfies its hard clauses costs a constant more in the whole
// formula.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "maxsat/instance.hpp"
#include "native/arrays.hpp"

namespace hardscape::maxsat {
namespace {

constexpr std::int64_t kMaxWeight = INT64_MAX;
constexpr std::int8_t kOpen = -1;

// A formula as Python has it, but that literals are said to be unsigned, and the numbers that its
// variables had.
struct Left {
  std::vector<std::int32_t> original;
  std::vector<std::uint32_t> literals;
  std::vector<std::int32_t> offsets;
  std::vector<std::int64_t> weights;
  std::vector<std::uint8_t> hard;
};

// So many values, in the memory that they have unless most of that would be idle.
template <class T>
std::vector<T> first_of(std::vector<T>& values, std::size_t count) {
  values.resize(count);
  if (count < values.capacity() / 2) values.shrink_to_fit();
  return std::move(values);
}

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
      start_.push_back(static_cast<std::int32_t>(literal_.size()));
      weight_.push_back(given.weights[c]);
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

  // What is left, variables renumbered from 1 in their order. It moves to the front of where it
  // was: two copies of a large formula would be the most memory that a whole search takes.
  Left collect() {
    Left left;
    std::vector<std::uint32_t>().swap(occurrence_);
    std::vector<std::int32_t> number(fixed.size());
    for (std::size_t v = 0; v < fixed.size(); ++v) {
      if (fixed[v] != kOpen || occurring_[2 * v] + occurring_[2 * v + 1] == 0) continue;
      left.original.push_back(static_cast<std::int32_t>(v) + 1);
      number[v] = static_cast<std::int32_t>(left.original.size());
    }
    std::size_t clauses = 0, literals = 0, i = 0;
    for (std::size_t c = 0; c < size_.size() && !cut(c); ++c) {
      const auto end = static_cast<std::size_t>(start_[c + 1]);
      for (; i < end; ++i) {
        const std::uint32_t l = literal_[i];
        const std::int32_t x = alive_[c] ? number[l >> 1] : 0;
        if (x) literal_[literals++] = static_cast<std::uint32_t>(l & 1 ? -x : x);
      }
      if (!alive_[c]) continue;
      weight_[clauses] = weight_[c];
      hard_[clauses] = hard_[c];
      start_[++clauses] = static_cast<std::int32_t>(literals);
    }
    left.literals = first_of(literal_, literals);
    left.offsets = first_of(start_, clauses + 1);
    left.weights = first_of(weight_, clauses);
    left.hard = first_of(hard_, clauses);
    return left;
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
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (std::uint32_t c = 0; c < m && !cut(c); ++c) {
      size_[c] = static_cast<std::uint32_t>(start_[c + 1] - start_[c]);
      for (std::int32_t i = start_[c]; i < start_[c + 1]; ++i) {
        if (static_cast<std::size_t>(i) + 2 * kAhead < literal_.size()) {
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
        constant += static_cast<std::uint64_t>(weight_[c]);
      alive_[c] = 0;
    } else if (size_[c] == 1 && hard_[c]) {
      for (std::int32_t i = start_[c]; i < start_[c + 1]; ++i)
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
    for (std::int32_t i = start_[c]; i < start_[c + 1]; ++i)
      if (--occurring_[literal_[i]] == 0 && !merging_) look_at(literal_[i] ^ 1);
  }

  void drain() {
    for (std::size_t step = 0; !queue_.empty() && !unsatisfiable && !cut(step); ++step) {
      const std::uint32_t l = queue_.back();
      queue_.pop_back();
      for (std::uint32_t i = first_[l]; i < first_[l + 1]; ++i)
        if (alive_[occurrence_[i]]) remove(occurrence_[i]);
      for (std::uint32_t i = first_[l ^ 1]; i < first_[(l ^ 1) + 1] && !unsatisfiable; ++i) {
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
    for (std::int32_t i = start_[c]; i < start_[c + 1]; ++i)
      if (fixed[literal_[i] >> 1] == kOpen) out.push_back(literal_[i]);
  }

  // A hash of the live literals of each clause.
  std::vector<std::uint32_t> all_keys() {
    std::vector<std::uint32_t> keys(size_.size()), a;
    for (std::uint32_t c = 0; c < keys.size() && !cut(c); ++c) {
      if (!alive_[c]) continue;
      live(c, a);
      std::uint64_t key = 0;
      for (std::uint32_t l : a) key = (key ^ l) * 0x9e3779b97f4a7c15ull + (key >> 29);
      keys[c] = static_cast<std::uint32_t>(key ^ key >> 32);
    }
    return keys;
  }

  // Clauses of whose key the end occurs twice: few, where few have the same literals. Two bits tell
  // whether it was met once or more, which takes less memory than a table of all clauses.
  std::vector<std::uint32_t> alike(const std::vector<std::uint32_t>& keys) {
    const std::size_t slots = std::bit_ceil(std::max<std::size_t>(32, kSlots * keys.size()));
    std::vector<std::uint64_t> met(slots / 32);
    std::vector<std::uint32_t> found;
    for (const bool again : {false, true}) {
      for (std::uint32_t c = 0; c < keys.size() && !cut(c); ++c) {
        if (c + kAhead < keys.size())
          __builtin_prefetch(&met[(keys[c + kAhead] & (slots - 1)) / 32], 1);
        if (!alive_[c]) continue;
        std::uint64_t& word = met[(keys[c] & (slots - 1)) / 32];
        const std::uint64_t once = std::uint64_t{1} << 2 * (keys[c] % 32);
        if (!again)
          word |= once << ((word & once) != 0);
        else if (word & 2 * once)
          found.push_back(c);
      }
    }
    return found;
  }

  // Clauses of the same literals meet in a hash table with open addresses.
  void merge() {
    const std::vector<std::uint32_t> keys = all_keys(), clauses = alike(keys);
    std::size_t slots = 1;
    while (slots < 2 * clauses.size() + 1) slots *= 2;
    std::vector<std::uint32_t> table(slots, kNone), a, b;
    for (std::size_t i = 0; i < clauses.size() && !cut(i); ++i) {
      const std::uint32_t c = clauses[i];
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
    if (weight_[d] > kMaxWeight - weight_[c]) return;
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
      const auto occurrences = [&](std::uint32_t l) -> std::size_t {
        return first_[l + 1] - first_[l];
      };
      const std::uint32_t rarest = *std::min_element(
          a.begin(), a.end(), [&](auto x, auto y) { return occurrences(x) < occurrences(y); });
      looks -= std::min(looks, occurrences(rarest));
      for (std::uint32_t l : a) marked[l] = c;
      for (std::uint32_t i = first_[rarest]; i < first_[rarest + 1]; ++i) {
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
      const std::int64_t both = std::min(weight_[c], weight_[other]);
      constant += static_cast<std::uint64_t>(both);
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
  static constexpr std::size_t kSlots = 8;   // of keys, for each clause
  static constexpr std::size_t kAhead = 16;  // what is fetched before it is needed

  Poll stopped_;
  std::vector<std::uint32_t> literal_, size_, first_, occurring_, occurrence_, queue_;
  std::vector<std::int32_t> start_;
  std::vector<std::int64_t> weight_;
  std::vector<std::uint8_t> hard_, alive_;
  bool merging_ = false;
};

// Unsatisfiable, constant high, constant low, fixed, original, literals, offsets, weights, hard.
using Presolved =
    std::tuple<bool, std::uint64_t, std::uint64_t, NumpyArray<std::int8_t>,
               NumpyArray<std::int32_t>, NumpyArray<std::int32_t>, NumpyArray<std::int32_t>,
               NumpyArray<std::int64_t>, NumpyArray<std::uint8_t>>;

// The same memory, of which C++ lets signed and unsigned values be read alike.
NumpyArray<std::int32_t> signed_array(std::vector<std::uint32_t> values) {
  using Values = std::vector<std::uint32_t>;
  auto* const kept = new Values(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Values*>(p); });
  return {reinterpret_cast<std::int32_t*>(kept->data()), {kept->size()}, owner};
}

// Nothing where `stop` was set meanwhile.
std::optional<Presolved> presolve(const nb::object& formula,
                                  std::optional<Vector<std::uint8_t>> stop) {
  const Poll stopped(stop);
  if (stopped(0)) return std::nullopt;
  const Clauses given(formula);
  Left left;
  std::vector<std::int8_t> fixed;
  bool unsatisfiable = false, incomplete = false;
  unsigned __int128 constant = 0;
  {
    nb::gil_scoped_release release;
    Presolve work(given, stopped);
    work.run();
    unsatisfiable = work.unsatisfiable;
    constant = work.constant;
    if (!unsatisfiable && !work.incomplete) left = work.collect();
    incomplete = work.incomplete;
    fixed = std::move(work.fixed);
  }
  if (incomplete) return std::nullopt;
  return Presolved(unsatisfiable, static_cast<std::uint64_t>(constant >> 64),
                   static_cast<std::uint64_t>(constant), to_array(std::move(fixed)),
                   to_array(std::move(left.original)), signed_array(std::move(left.literals)),
                   to_array(std::move(left.offsets)), to_array(std::move(left.weights)),
                   to_array(std::move(left.hard)));
}

}  // namespace

void bind_presolve(nb::module_& module) {
  module.def("presolve", &presolve, nb::arg("formula"), nb::arg("stop").none() = nb::none(),
             "What is left of a formula, and what every assignment of it costs besides.");
}

}  // namespace hardscape::maxsat
