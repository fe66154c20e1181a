// Minimisation over one bit after the other, and the lowest states by what each choice costs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "native/wide.hpp"

namespace hardscape::ising {

// Integers of so many words, the compiler's own where it has them.
template <int Limbs>
struct Exact {
  using type = Wide<Limbs>;
};
template <>
struct Exact<1> {
  using type = std::int64_t;
};
template <>
struct Exact<2> {
  using type = __int128;
};

template <class Value>
using Table = std::unique_ptr<Value[]>;

// The lowest states of sum a_i q_i + sum b_ij q_i q_j over bits q. Bits are numbered in the order
// in which they are eliminated.
template <class Value>
class Tables {
 public:
  struct Pair {
    std::size_t first, second;
    Value value;
  };

  struct Lowest {
    std::vector<Value> values;
    std::vector<std::uint64_t> states;  // words of each
    std::optional<Value> dropped;       // the least value of those that `count` excluded
    bool complete = true;
  };

  Tables(std::size_t bits, const std::vector<Pair>& pairs) : buckets_(bits) {
    for (const Pair& pair : pairs) {
      const auto [first, second] = std::minmax(pair.first, pair.second);
      buckets_[first].couplings.emplace_back(second, pair.value);
      buckets_[first].rest.push_back(second);
    }
    for (std::size_t t = 0; t < buckets_.size(); ++t) {
      auto& rest = buckets_[t].rest;
      std::sort(rest.begin(), rest.end());
      rest.erase(std::unique(rest.begin(), rest.end()), rest.end());
      if (rest.empty()) continue;
      Bucket& parent = buckets_[rest.front()];
      parent.children.push_back(t);
      parent.rest.insert(parent.rest.end(), rest.begin() + 1, rest.end());
    }
  }

  // Fills all tables for these a_i; false if it was stopped. Memory is kept for the next ones.
  bool fill(const std::vector<Value>& linear, const volatile std::uint8_t* stop) {
    least_ = Value{};
    for (std::size_t t = 0; t < buckets_.size(); ++t) {
      if (!eliminate(t, linear[t], stop)) return false;
      if (buckets_[t].rest.empty()) least_ += buckets_[t].message[0];
      for (const std::size_t c : buckets_[t].children) {
        spare_[buckets_[c].rest.size()].push_back(std::move(buckets_[c].message));
      }
    }
    return true;
  }

  // The least value of all states.
  Value least() const { return least_; }

  // The `count` lowest states at or below `limit`; bit t is bit place[t] of a state. Of those of
  // equal value at the end any are listed, and `dropped` tells of the others. Each prefix has the
  // least value that it can be completed to, so that those of the lowest states are among the
  // lowest prefixes.
  Lowest lowest(std::size_t count, std::optional<Value> limit, const std::int64_t* place,
                const std::vector<std::uint64_t>& fixed, const volatile std::uint8_t* stop) const {
    Lowest found;
    if (limit && *limit < least_) return found;
    found.values = {least_};
    found.states = fixed;
    std::vector<Choice> choices;
    for (std::size_t t = buckets_.size(); t-- > 0;) {
      if (*stop == 1) {
        found.complete = false;
        return found;
      }
      extend(t, place, fixed.size(), limit, found, choices);
      if (choices.size() > count) {
        const auto cut = choices.begin() + static_cast<std::ptrdiff_t>(count);
        std::nth_element(choices.begin(), cut - 1, choices.end());
        const Value dropped = std::min_element(cut, choices.end())->value;
        if (!found.dropped || dropped < *found.dropped) found.dropped = dropped;
        choices.resize(count);
      }
      take(choices, place[t], fixed.size(), found);
    }
    return found;
  }

 private:
  struct Bucket {
    std::vector<std::pair<std::size_t, Value>> couplings;
    std::vector<std::size_t> rest;  // bits that the table depends on; the first is its lowest bit
    std::vector<std::size_t> children;
    Table<Value> message;  // the least value of all that is eliminated
    Table<Value> gap;      // how much more it is with this bit set than with it clear
  };

  // A table of a child, by those bits of the parent's that it depends on.
  struct Child {
    const Value* message;
    std::uint64_t mask;
    bool plain;  // whether it depends on all bits of a block
    std::vector<std::uint32_t> offset;
  };

  struct Choice {
    Value value;
    std::size_t parent;
    bool up;
    bool operator<(const Choice& other) const { return value < other.value; }
  };

  static constexpr int kLow = 9;

  static std::uint64_t extract(std::uint64_t x, std::uint64_t mask) {
    std::uint64_t found = 0;
    for (int bit = 0; mask; mask &= mask - 1, ++bit) {
      found |= (x >> std::countr_zero(mask) & 1) << bit;
    }
    return found;
  }

  Child child(const Bucket& bucket, std::size_t number, int low) const {
    const Bucket& source = buckets_[number];
    Child child{source.message.get(), 0, false, {}};
    for (std::size_t i = 1; i < source.rest.size(); ++i) {
      const auto at = std::lower_bound(bucket.rest.begin(), bucket.rest.end(), source.rest[i]);
      child.mask |= std::uint64_t{1} << (at - bucket.rest.begin());
    }
    const std::uint64_t block = (std::uint64_t{1} << low) - 1;
    child.plain = (child.mask & block) == block;
    if (!child.plain) {
      for (std::uint64_t x = 0; x <= block; ++x) {
        child.offset.push_back(static_cast<std::uint32_t>(2 * extract(x, child.mask & block)));
      }
    }
    return child;
  }

  // A table of a child that is done, or a new one.
  Table<Value> room(std::size_t width) {
    auto& spare = spare_[width];
    if (spare.empty()) return std::make_unique_for_overwrite<Value[]>(std::size_t{1} << width);
    Table<Value> last = std::move(spare.back());
    spare.pop_back();
    return last;
  }

  bool eliminate(std::size_t t, const Value& linear, const volatile std::uint8_t* stop) {
    Bucket& bucket = buckets_[t];
    const int width = static_cast<int>(bucket.rest.size()), low = std::min(width, kLow);
    const std::size_t block = std::size_t{1} << low, blocks = std::size_t{1} << (width - low);
    if (!bucket.message) bucket.message = room(bucket.rest.size());
    if (!bucket.gap) bucket.gap = std::make_unique_for_overwrite<Value[]>(block * blocks);
    std::vector<Value> field(static_cast<std::size_t>(width), Value{});
    for (const auto& [other, value] : bucket.couplings) {
      const auto at = std::lower_bound(bucket.rest.begin(), bucket.rest.end(), other);
      field[static_cast<std::size_t>(at - bucket.rest.begin())] += value;
    }
    std::vector<Value> inner(block, linear), clear(block), set(block);
    for (std::size_t x = 0; x < block; ++x) {
      for (int i = 0; i < low; ++i) {
        if (x >> i & 1) inner[x] += field[static_cast<std::size_t>(i)];
      }
    }
    std::vector<Child> children;
    for (const std::size_t c : bucket.children) children.push_back(child(bucket, c, low));
    for (std::size_t h = 0; h < blocks; ++h) {
      if (h % 64 == 0 && *stop == 1) return false;
      Value outer{};
      for (int i = low; i < width; ++i) {
        if (h >> (i - low) & 1) outer += field[static_cast<std::size_t>(i)];
      }
      for (std::size_t x = 0; x < block; ++x) {
        clear[x] = Value{};
        set[x] = inner[x] + outer;
      }
      for (const Child& child : children) add(child, h, low, block, clear.data(), set.data());
      Value* message = bucket.message.get() + h * block;
      Value* gap = bucket.gap.get() + h * block;
      for (std::size_t x = 0; x < block; ++x) {
        gap[x] = set[x] - clear[x];
        message[x] = set[x] < clear[x] ? set[x] : clear[x];
      }
    }
    return true;
  }

  static void add(const Child& child, std::uint64_t h, int low, std::size_t block,
                  Value* __restrict clear, Value* __restrict set) {
    const int inside = std::popcount(child.mask & ((std::uint64_t{1} << low) - 1));
    const Value* __restrict source =
        child.message + (extract(h, child.mask >> low) << (inside + 1));
    if (child.plain) {
      for (std::size_t x = 0; x < block; ++x) {
        clear[x] += source[2 * x];
        set[x] += source[2 * x + 1];
      }
    } else {
      for (std::size_t x = 0; x < block; ++x) {
        clear[x] += source[child.offset[x]];
        set[x] += source[child.offset[x] + 1];
      }
    }
  }

  // All prefixes, each with both values of one bit more.
  void extend(std::size_t t, const std::int64_t* place, std::size_t words,
              const std::optional<Value>& limit, const Lowest& found,
              std::vector<Choice>& choices) const {
    const Bucket& bucket = buckets_[t];
    choices.clear();
    for (std::size_t p = 0; p < found.values.size(); ++p) {
      const std::uint64_t* state = found.states.data() + p * words;
      std::size_t index = 0;
      for (std::size_t i = 0; i < bucket.rest.size(); ++i) {
        const auto at = static_cast<std::size_t>(place[bucket.rest[i]]);
        index |= static_cast<std::size_t>(state[at / 64] >> at % 64 & 1) << i;
      }
      const Value gap = bucket.gap[index];
      const bool up = gap < Value{};
      choices.push_back({found.values[p], p, up});
      const Value other = found.values[p] + (up ? -gap : gap);
      if (!limit || !(*limit < other)) choices.push_back({other, p, !up});
    }
  }

  static void take(const std::vector<Choice>& choices, std::int64_t place, std::size_t words,
                   Lowest& found) {
    const auto at = static_cast<std::size_t>(place);
    std::vector<std::uint64_t> states(choices.size() * words);
    found.values.resize(choices.size());
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const std::uint64_t* from = found.states.data() + choices[i].parent * words;
      std::copy_n(from, words, states.data() + i * words);
      states[i * words + at / 64] |= std::uint64_t{choices[i].up} << at % 64;
      found.values[i] = choices[i].value;
    }
    found.states = std::move(states);
  }

  std::vector<Bucket> buckets_;
  std::map<std::size_t, std::vector<Table<Value>>> spare_;  // by width
  Value least_{};
};

}  // namespace hardscape::ising
