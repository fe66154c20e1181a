// What searches with weights on clauses have in common.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "maxsat/instance.hpp"

namespace hardscape::maxsat {

// A cost that any sum of weights fits.
struct WideCost {
  std::uint64_t hard = 0;  // violated hard clauses
  unsigned __int128 soft = 0;
  bool operator<(const WideCost& other) const {
    return hard != other.hard ? hard < other.hard : soft < other.soft;
  }
};

// A set of clauses or variables that gives any of them in constant time. The place of each is the
// last of its `kWords` words in a table.
template <std::size_t kWords = 1>
class Pool {
 public:
  explicit Pool(std::vector<std::uint32_t>& table) : table_(table) {}
  void clear() { items_.clear(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(items_.size()); }
  std::uint32_t operator[](std::uint32_t i) const { return items_[i]; }
  void add(std::uint32_t item) {
    place(item) = size();
    items_.push_back(item);
  }
  void remove(std::uint32_t item) {
    const std::uint32_t last = items_.back(), at = place(item);
    items_[at] = last;
    place(last) = at;
    items_.pop_back();
  }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::uint32_t& place(std::uint32_t item) { return table_[kWords * item + kWords - 1]; }

  std::vector<std::uint32_t> items_;
  std::vector<std::uint32_t>& table_;
};

// What a search keeps of each clause: its search weight, the number of its true literals, and the
// xor of their variables or, where it is violated, its place among those (the last word of the
// table's).
struct WideStates {
  static constexpr std::size_t kWords = 2;
  static constexpr std::int64_t kMostWeight = INT64_MAX;

  explicit WideStates(const Instance&) {}
  std::uint32_t trues(std::uint32_t c) const { return table[2 * std::size_t{c}]; }
  std::uint32_t sum(std::uint32_t c) const { return table[2 * std::size_t{c} + 1]; }
  void clear(std::uint32_t c) { table[2 * std::size_t{c}] = table[2 * std::size_t{c} + 1] = 0; }
  void gain(std::uint32_t c, std::uint32_t x) { change(c, 1, x); }
  void lose(std::uint32_t c, std::uint32_t x) { change(c, UINT32_MAX, x); }
  // A word for each clause, of no more use than until weights are set.
  std::span<std::uint32_t> scratch() {
    scratch_.resize(weight.size());
    return scratch_;
  }

  std::vector<std::int64_t> weight;
  std::vector<std::uint32_t> table;

 private:
  void change(std::uint32_t c, std::uint32_t by, std::uint32_t x) {
    table[2 * std::size_t{c}] += by;
    table[2 * std::size_t{c} + 1] ^= x;
  }

  std::vector<std::uint32_t> scratch_;
};

// The same in half the bytes, where all that fits: the number stands above the xor in one word.
class NarrowStates {
 public:
  static constexpr std::size_t kWords = 1;
  static constexpr std::int64_t kMostWeight = INT32_MAX;

  static bool fits(const Instance& instance) {
    return bits_of(instance) + std::bit_width(instance.longest) <= 32;
  }

  explicit NarrowStates(const Instance& instance) : bits_(bits_of(instance)) {}
  std::uint32_t trues(std::uint32_t c) const { return table[c] >> bits_; }
  std::uint32_t sum(std::uint32_t c) const { return table[c] & ((1u << bits_) - 1); }
  void clear(std::uint32_t c) { table[c] = 0; }
  void gain(std::uint32_t c, std::uint32_t x) { table[c] = (table[c] + (1u << bits_)) ^ x; }
  void lose(std::uint32_t c, std::uint32_t x) { table[c] = (table[c] - (1u << bits_)) ^ x; }
  std::span<std::uint32_t> scratch() {  // the weights, which are lost
    return {reinterpret_cast<std::uint32_t*>(weight.data()), weight.size()};
  }

  std::vector<std::int32_t> weight;
  std::vector<std::uint32_t> table;

 private:
  static int bits_of(const Instance& instance) {
    return std::bit_width(std::max(instance.num_variables, instance.num_clauses));
  }

  int bits_;
};

// The first of some variables in an order that changes, at the price of a logarithm a change.
class Tournament {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // For variables 0 to n - 1; false if stopped.
  bool prepare(std::size_t n, const Poll& stopped) {
    size_ = n;
    return extend(winner_, std::max<std::size_t>(2, 2 * n), stopped);
  }

  void clear() { std::fill(winner_.begin(), winner_.end(), kNone); }

  // To be called when v begins or ends to take part, and where its place in the order is another;
  // `before(a, b)` is the order.
  template <class Before>
  void set(std::uint32_t v, bool takes_part, Before&& before) {
    std::size_t node = size_ + v;
    winner_[node] = takes_part ? v : kNone;
    for (; node > 1; node /= 2) {
      const std::uint32_t a = winner_[node], b = winner_[node ^ 1];
      const std::uint32_t won = b == kNone || (a != kNone && before(a, b)) ? a : b;
      // What v neither wins nor won stays as it is.
      if (winner_[node / 2] == won && won != v) return;
      winner_[node / 2] = won;
    }
  }

  // The first one, or kNone.
  std::uint32_t first() const { return winner_[1]; }

 private:
  std::size_t size_ = 0;
  std::vector<std::uint32_t> winner_;
};

}  // namespace hardscape::maxsat
