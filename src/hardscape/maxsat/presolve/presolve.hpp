// Presolve: what follows from hard units and from literals whose negation never occurs, repeated
// clauses merged, those that hard ones imply left out, opposite soft units cancelled. Every
// assignment of what is left that satisfies its hard clauses costs a constant more in the whole
// formula.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/presolve/left.hpp"

namespace hardscape::maxsat {

class Presolve {
 public:
  Presolve(const Clauses& given, const Poll& stopped)
      : fixed(given.variables, kOpen),
        given_(given),
        stopped_(stopped),
        occurring_(2 * std::size_t{given.variables}) {
    index();
  }

  std::vector<std::int8_t> fixed;  // value of each variable, or kOpen
  bool unsatisfiable = false;
  bool incomplete = false;  // stopped: nothing here is to be used
  unsigned __int128 constant = 0;

  void run() {
    for (std::uint32_t c = 0; c < size_.size() && !unsatisfiable && !cut(c); ++c)
      if (alive_[c]) settle(c);
    purify();
    if (unsatisfiable || incomplete) return;
    merging_ = true;  // clauses are compared by their open literals, so none may be assigned
    merge();
    subsume();
    cancel_units();
    merging_ = false;
    purify();
  }

  // Whether the formula may stay as it was given: it is large, a copy would have almost as many
  // literals, and no clause must change.
  bool spared() const {
    const auto whole = static_cast<std::uint64_t>(given_.offsets[given_.count]);
    return whole > std::max<std::uint64_t>(kLarge, 4 * fixed.size()) && !demanding_ &&
           constant == 0 && left() > whole - whole / kSpared && linked() <= whole / kSpared;
  }

  // What is left, variables renumbered from 1 in their order.
  Left collect() {
    Left left;
    std::vector<std::uint32_t>().swap(occurrence_);
    std::vector<std::int32_t> number(fixed.size());
    for (std::size_t v = 0; v < fixed.size(); ++v) {
      if (fixed[v] != kOpen || occurring_[2 * v] + occurring_[2 * v + 1] == 0) continue;
      left.original.push_back(static_cast<std::int32_t>(v) + 1);
      number[v] = static_cast<std::int32_t>(left.original.size());
    }
    const auto clauses = static_cast<std::size_t>(std::count_if(
        alive_.begin(), alive_.end(), [](std::uint8_t alive) { return alive != kDead; }));
    left.literals.reserve(this->left());
    left.offsets.reserve(clauses + 1);
    left.weights.reserve(clauses);
    left.hard.reserve(clauses);
    left.offsets.push_back(0);
    std::vector<std::uint32_t> open;
    for (std::uint32_t c = 0; c < size_.size() && !cut(c); ++c) {
      if (!alive_[c]) continue;
      live(c, open);
      for (const std::uint32_t l : open)
        left.literals.push_back(l & 1 ? -number[l >> 1] : number[l >> 1]);
      left.end(weight(c), given_.hard[c]);
    }
    return left;
  }

 private:
  // Whether the time is up, asked for now and then.
  bool cut(std::size_t step) { return incomplete = incomplete || stopped_(step); }

  // Acts on the literals of a clause as codes, on none twice.
  template <class Act>
  void each(std::uint32_t c, Act&& act) {
    if (alive_[c] == kRagged) {
      ragged_.clear();
      given_.append(c, ragged_);
      for (const std::uint32_t l : ragged_) act(l);
      return;
    }
    for (std::int32_t i = given_.offsets[c]; i < given_.offsets[c + 1]; ++i)
      act(Clauses::code(given_.literals[i]));
  }

  // Whether and how a clause is one of the formula's: tautologies are not.
  std::uint8_t kind(std::uint32_t c) {
    const std::int32_t* const begin = given_.literals + given_.offsets[c];
    const std::int32_t* const end = given_.literals + given_.offsets[c + 1];
    const auto repeats = [&] {
      if (end - begin > kFew) return true;
      for (const std::int32_t* i = begin; i < end; ++i)
        for (const std::int32_t* j = begin; j < i; ++j)
          if (Clauses::variable(*i) == Clauses::variable(*j)) return true;
      return false;
    };
    if (!repeats()) return kPlain;
    ragged_.clear();
    if (!given_.append(c, ragged_)) return kDead;
    return ragged_.size() == static_cast<std::size_t>(end - begin) ? kPlain : kRagged;
  }

  void index() {
    const std::size_t m = given_.count;
    if (!extend(alive_, m, stopped_) || !extend(size_, m, stopped_)) {
      incomplete = true;
      return;
    }
    for (std::uint32_t c = 0; c < m && !cut(c); ++c) {
      alive_[c] = kind(c);
      demanding_ = demanding_ || alive_[c] != kPlain;
      if (!alive_[c]) continue;
      each(c, [&](std::uint32_t l) {
        ++occurring_[l];
        ++size_[c];
      });
    }
    first_.assign(occurring_.size() + 1, 0);
    for (std::size_t l = 0; l < occurring_.size(); ++l) first_[l + 1] = first_[l] + occurring_[l];
    incomplete = incomplete || !extend(occurrence_, first_.back(), stopped_);
    if (incomplete) return;
    const auto literals = static_cast<std::size_t>(given_.offsets[m]);
    for (std::uint32_t c = 0; c < m && !cut(c); ++c) {
      const auto ahead = static_cast<std::size_t>(given_.offsets[c]) + kAhead;
      if (ahead < literals) __builtin_prefetch(&first_[Clauses::code(given_.literals[ahead])], 1);
      if (alive_[c]) each(c, [&](std::uint32_t l) { occurrence_[first_[l]++] = c; });
    }
    // Each has moved to where the next one began.
    std::copy_backward(first_.begin(), first_.end() - 1, first_.end());
    first_[0] = 0;
  }

  // Literals of what is left.
  std::uint64_t left() const {
    std::uint64_t found = 0;
    for (std::size_t c = 0; c < size_.size(); ++c)
      if (alive_[c]) found += size_[c];
    return found;
  }

  // Literals of hard clauses of two that hold a variable of such clauses alone.
  std::uint64_t linked() const {
    std::vector<std::uint8_t> other(fixed.size());
    const auto any = [&](std::size_t c, auto&& act) {
      for (std::int32_t i = given_.offsets[c]; i < given_.offsets[c + 1]; ++i)
        if (act(Clauses::variable(given_.literals[i]))) return true;
      return false;
    };
    const auto is_pair = [&](std::size_t c) { return given_.hard[c] && size_[c] == 2; };
    for (std::size_t c = 0; c < size_.size(); ++c)
      if (alive_[c] && !is_pair(c)) any(c, [&](std::uint32_t v) { return other[v] = 1, false; });
    std::uint64_t found = 0;
    for (std::size_t c = 0; c < size_.size(); ++c)
      if (alive_[c] && is_pair(c) && any(c, [&](std::uint32_t v) { return !other[v]; })) found += 2;
    return found;
  }

  std::int64_t weight(std::uint32_t c) const {
    return changed_.empty() ? given_.weights[c] : changed_[c];
  }

  void set_weight(std::uint32_t c, std::int64_t weight) {
    if (changed_.empty()) changed_.assign(given_.weights, given_.weights + given_.count);
    changed_[c] = weight;
  }

  void assign(std::uint32_t l) {
    fixed[l >> 1] = !(l & 1);
    queue_.push_back(l);
  }

  // Acts on a clause of no literals, and on a hard one of one.
  void settle(std::uint32_t c) {
    if (size_[c] == 0) {
      if (given_.hard[c])
        unsatisfiable = true;
      else
        constant += static_cast<std::uint64_t>(weight(c));
      alive_[c] = kDead;
    } else if (size_[c] == 1 && given_.hard[c]) {
      demanding_ = true;
      for (std::int32_t i = given_.offsets[c]; i < given_.offsets[c + 1]; ++i) {
        const std::uint32_t l = Clauses::code(given_.literals[i]);
        if (fixed[l >> 1] == kOpen) return assign(l);
      }
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
    each(c, [&](std::uint32_t l) {
      if (--occurring_[l] == 0 && !merging_) look_at(l ^ 1);
    });
    alive_[c] = kDead;
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

  // Open literals of a clause.
  void gather(std::uint32_t c, std::vector<std::uint32_t>& out) {
    out.clear();
    each(c, [&](std::uint32_t l) {
      if (fixed[l >> 1] == kOpen) out.push_back(l);
    });
  }
  // The same in order.
  void live(std::uint32_t c, std::vector<std::uint32_t>& out) {
    gather(c, out);
    std::sort(out.begin(), out.end());
  }

  // A hash of the open literals of each clause, whatever their order.
  std::vector<std::uint32_t> all_keys() {
    std::vector<std::uint32_t> keys(size_.size());
    for (std::uint32_t c = 0; c < keys.size() && !cut(c); ++c) {
      if (!alive_[c]) continue;
      std::uint64_t key = 0;
      each(c, [&](std::uint32_t l) {
        if (fixed[l >> 1] == kOpen) key += mixed(l);
      });
      keys[c] = static_cast<std::uint32_t>(key >> 32);
    }
    return keys;
  }

  static std::uint64_t mixed(std::uint32_t l) {
    const std::uint64_t x = (l + 1) * 0x9e3779b97f4a7c15ull;
    return (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;
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
    if (given_.hard[c]) return remove(d);
    if (given_.hard[d]) return remove(c);
    if (weight(d) > kMaxWeight - weight(c)) return;
    set_weight(c, weight(c) + weight(d));
    remove(d);
  }

  // Clauses that hold wherever a hard one does, of which they have all literals, go. They have more
  // than two, as none repeats, and are looked for among those of its rarest literal, by one bit of
  // 64 for each of its literals first.
  void subsume() {
    if (occurrence_.size() > kSubsumed) return;
    std::vector<std::uint64_t> bits(size_.size());
    std::vector<std::uint32_t> first(first_.size()), marked(occurring_.size(), kNone), a, b;
    for (std::uint32_t c = 0; c < size_.size() && !cut(c); ++c) {
      each(c, [&](std::uint32_t l) {
        if (fixed[l >> 1] == kOpen) bits[c] |= std::uint64_t{1} << mixed(l) % 64;
      });
    }
    // Of each literal, in the order in which they are looked at.
    std::vector<std::uint32_t> longer;
    std::vector<std::uint64_t> occurring;
    longer.reserve(occurrence_.size());
    occurring.reserve(occurrence_.size());
    for (std::size_t l = 0; l < occurring_.size(); ++l) {
      for (std::uint32_t i = first_[l]; i < first_[l + 1]; ++i) {
        const std::uint32_t c = occurrence_[i];
        if (!alive_[c] || size_[c] <= 2) continue;
        longer.push_back(c);
        occurring.push_back(bits[c]);
      }
      first[l + 1] = static_cast<std::uint32_t>(longer.size());
    }
    std::size_t looks = kLooks;
    for (std::uint32_t c = 0; c < size_.size() && looks > 0 && !cut(c); ++c) {
      if (!alive_[c] || !given_.hard[c]) continue;
      gather(c, a);
      const auto occurrences = [&](std::uint32_t l) -> std::size_t {
        return first[l + 1] - first[l];
      };
      const std::uint32_t rarest = *std::min_element(
          a.begin(), a.end(), [&](auto x, auto y) { return occurrences(x) < occurrences(y); });
      looks -= std::min(looks, occurrences(rarest));
      if (occurrences(rarest) == 0) continue;
      for (std::uint32_t l : a) marked[l] = c;
      for (std::uint32_t i = first[rarest]; i < first[rarest + 1]; ++i) {
        if (bits[c] & ~occurring[i]) continue;
        const std::uint32_t d = longer[i];
        if (!alive_[d] || size_[d] <= size_[c]) continue;
        gather(d, b);
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
      if (!alive_[c] || size_[c] != 1 || given_.hard[c]) continue;
      gather(c, a);
      if (a.empty()) continue;
      const std::uint32_t other = unit[a[0] ^ 1];
      if (other == kNone || !alive_[other]) {
        unit[a[0]] = c;
        continue;
      }
      const std::int64_t both = std::min(weight(c), weight(other));
      constant += static_cast<std::uint64_t>(both);
      set_weight(c, weight(c) - both);
      set_weight(other, weight(other) - both);
      if (weight(other) == 0) remove(other);
      if (weight(c) == 0)
        remove(c);
      else
        unit[a[0]] = c;
    }
  }

  static constexpr std::int64_t kMaxWeight = INT64_MAX;
  static constexpr std::int8_t kOpen = -1;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  // Of a clause: gone, as it was given, with literals that repeat.
  static constexpr std::uint8_t kDead = 0, kPlain = 1, kRagged = 2;
  static constexpr std::ptrdiff_t kFew = 8;  // literals that are compared in pairs
  // Literals up to which subsumed clauses are looked for, and how many clauses are looked at.
  static constexpr std::size_t kSubsumed = 2'000'000, kLooks = 20'000'000;
  static constexpr std::size_t kSlots = 8;   // of keys, for each clause
  static constexpr std::size_t kAhead = 16;  // what is fetched before it is needed
  // Literals from which on a copy is not made for less than this share of them.
  static constexpr std::uint64_t kLarge = 2'000'000, kSpared = 32;

  const Clauses& given_;
  Poll stopped_;
  std::vector<std::uint32_t> size_, first_, occurring_, occurrence_, queue_, ragged_;
  std::vector<std::uint8_t> alive_;
  std::vector<std::int64_t> changed_;  // all weights, where one has changed
  bool merging_ = false;
  bool demanding_ = false;  // whether some clause must change
};

}  // namespace hardscape::maxsat
