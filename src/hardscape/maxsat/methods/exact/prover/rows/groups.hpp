// Variables of a part of the rules that are read together and read the same, as groups.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <ranges>
#include <utility>
#include <vector>

#include "maxsat/methods/exact/prover/rows/rules.hpp"

namespace hardscape::maxsat::rows {

// Who stands for each of some numbers that are joined.
class Joined {
 public:
  explicit Joined(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  std::uint32_t operator()(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::uint32_t a, std::uint32_t b) { parent_[(*this)(a)] = (*this)(b); }
  void part(std::uint32_t i) { parent_[i] = i; }

 private:
  std::vector<std::uint32_t> parent_;
};

// What one hidden variable, or a clause that refutes, is made of.
struct Item {
  std::int32_t sets = 0;               // literal, 0 where it refutes
  std::vector<std::uint32_t> clauses;  // its rules
  std::vector<std::uint32_t> reads;    // items, earlier ones
  std::vector<std::int32_t> inputs;    // literals
  std::vector<std::uint32_t> readers;  // items, later ones
};

// Room for every variable, from part to part.
struct Room {
  std::vector<std::uint32_t> item, mark;
  std::vector<std::int32_t> column;
  std::uint32_t stamp = 0;

  explicit Room(std::size_t variables)
      : item(variables), mark(2 * variables), column(2 * variables) {}
};

// Items in order: variables, and then clauses that refute.
inline std::vector<Item> items_of(const Flat& clauses, const Rules& rules,
                                  std::vector<std::uint32_t> part, Room& room) {
  std::ranges::stable_sort(part, {}, [&](std::uint32_t c) { return rules.rank(c); });
  std::vector<Item> items;
  for (const std::uint32_t c : part) {
    const std::int32_t set = rules.sets[c];
    if (items.empty() || set == 0 || items.back().sets != set) {
      items.push_back({set, {}, {}, {}, {}});
      ++room.stamp;
      if (set != 0) room.item[std::abs(set)] = static_cast<std::uint32_t>(items.size() - 1);
    }
    Item& item = items.back();
    item.clauses.push_back(c);
    for (const std::int32_t y : clauses[c]) {
      if (y == set || room.mark[Flat::code(y)] == room.stamp) continue;
      room.mark[Flat::code(y)] = room.stamp;
      if (rules.hidden[std::abs(y)] != 0) {
        item.reads.push_back(room.item[std::abs(y)]);
      } else {
        item.inputs.push_back(-y);
      }
    }
  }
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    std::ranges::sort(items[i].reads);
    std::ranges::sort(items[i].inputs, {}, [](std::int32_t x) { return Flat::code(x); });
    for (const std::uint32_t j : items[i].reads) items[j].readers.push_back(i);
  }
  return items;
}

// Groups of items: variables that read something in common, and that one group reads, or that read
// just the same. What refutes is a group each. A group is made of others without circles.
class Groups {
 public:
  std::vector<std::uint32_t> of;                    // each item
  std::vector<std::vector<std::uint32_t>> members;  // in order
  std::vector<std::uint32_t> order;                 // each after those that it is made of
  std::uint32_t setting = 0;                        // so many set something; they come first
  bool usable = true;                               // false where there are too many

  // Where inputs are to be read once, groups that read the same one are joined, too.
  Groups(const std::vector<Item>& items, Room& room, bool once)
      : items_(items), joined_(items.size()), mark_(items.size()), first_(items.size()) {
    input_.resize(room.mark.size());
    join_equal();
    for (int round = 0; once && round < kRounds; ++round) {
      number();
      if (!climb()) break;
      std::vector<std::uint32_t> all;  // what refutes reads together
      for (std::uint32_t i = 0; i < items.size(); ++i)
        if (items[i].sets == 0) all.insert(all.end(), items[i].reads.begin(), items[i].reads.end());
      join(std::move(all), room);
      for (const std::uint32_t g : std::views::reverse(order)) {  // from above
        std::vector<std::uint32_t> read;
        for (const std::uint32_t i : members[g])
          if (items[i].sets != 0)
            read.insert(read.end(), items[i].reads.begin(), items[i].reads.end());
        join(std::move(read), room);
      }
    }
    settle();
    if (!usable || !once) return;
    join_inputs();
    number();
    usable = climb();
    if (usable) ascend();
  }

  // Whether a group that sets something is made of another one.
  bool above(std::uint32_t upper, std::uint32_t lower) const {
    return above_[lower * words_ + upper / 64] >> upper % 64 & 1;
  }

 private:
  static constexpr std::size_t kMostGroups = 1 << 13;
  static constexpr int kRounds = 2;

  // Has numbers, heights and what is above; where groups go round each item is one.
  void settle() {
    number();
    if (!climb()) {
      for (std::uint32_t i = 0; i < items_.size(); ++i) joined_.part(i);
      number();
      climb();
    }
    usable = setting <= kMostGroups;
    if (usable) ascend();
  }

  // Those that read the same groups, from below.
  void join_equal() {
    std::map<std::pair<std::vector<std::uint32_t>, std::vector<std::int32_t>>, std::uint32_t> known;
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      if (items_[i].sets == 0) continue;
      std::vector<std::uint32_t> reads;
      for (const std::uint32_t j : items_[i].reads) reads.push_back(joined_(j));
      std::ranges::sort(reads);
      reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
      const auto [at, fresh] = known.try_emplace({std::move(reads), items_[i].inputs}, i);
      if (!fresh) joined_.join(i, at->second);
    }
  }

  // Of items that are read together those that read the same.
  void join(std::vector<std::uint32_t> read, Room& room) {
    std::ranges::sort(read);
    read.erase(std::unique(read.begin(), read.end()), read.end());
    if (read.size() < 2) return;
    ++stamp_;
    const std::uint32_t stamp = ++room.stamp;
    for (const std::uint32_t u : read) {
      for (const std::uint32_t y : items_[u].reads) {
        if (mark_[of[y]] == stamp_) joined_.join(u, first_[of[y]]);
        mark_[of[y]] = stamp_;
        first_[of[y]] = u;
      }
      for (const std::int32_t x : items_[u].inputs) {
        const std::size_t key = Flat::code(std::abs(x));
        if (room.mark[key] == stamp) joined_.join(u, input_[key]);
        room.mark[key] = stamp;
        input_[key] = u;
      }
    }
  }

  void number() {
    of.assign(items_.size(), UINT32_MAX);
    members.clear();
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      std::uint32_t& name = of[joined_(i)];
      if (name == UINT32_MAX) {
        name = static_cast<std::uint32_t>(members.size());
        members.emplace_back();
      }
      members[name].push_back(i);
    }
    setting = 0;
    for (std::uint32_t g = 0; g < members.size(); ++g) {
      for (const std::uint32_t i : members[g]) of[i] = g;
      setting += items_[members[g][0]].sets != 0;
    }
  }

  // Orders groups by their steps to what refutes; false where groups go round.
  bool climb() {
    std::vector<std::uint32_t> waits(members.size()), height(members.size()), ready;
    for (std::uint32_t i = 0; i < items_.size(); ++i)
      for (const std::uint32_t j : items_[i].reads) waits[of[j]] += of[i] != of[j];
    for (std::uint32_t g = 0; g < members.size(); ++g)
      if (waits[g] == 0) ready.push_back(g);
    for (std::size_t k = 0; k < ready.size(); ++k) {
      for (const std::uint32_t i : members[ready[k]]) {
        for (const std::uint32_t j : items_[i].reads) {
          if (of[j] == ready[k]) continue;
          height[of[j]] = std::max(height[of[j]], height[ready[k]] + 1);
          if (--waits[of[j]] == 0) ready.push_back(of[j]);
        }
      }
    }
    order.resize(members.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater{}, [&](std::uint32_t g) { return height[g]; });
    return ready.size() == members.size();
  }

  // For each group the ones above it that set something, as bits.
  void ascend() {
    words_ = (setting + 63) / 64;
    above_.assign(setting * words_, 0);
    for (const std::uint32_t g : std::views::reverse(order)) {
      if (g >= setting) continue;
      std::uint64_t* const mine = &above_[g * words_];
      for (const std::uint32_t i : members[g]) {
        for (const std::uint32_t r : items_[i].readers) {
          const std::uint32_t h = of[r];
          if (h >= setting || h == g || above(h, g)) continue;
          mine[h / 64] |= std::uint64_t{1} << h % 64;
          for (std::size_t w = 0; w < words_; ++w) mine[w] |= above_[h * words_ + w];
        }
      }
    }
  }

  // Joins those that read an input, but not ones above others: these have it from there.
  void join_inputs() {
    std::map<std::int32_t, std::vector<std::uint32_t>> reading;
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      if (items_[i].sets == 0) continue;
      for (const std::int32_t x : items_[i].inputs) {
        std::vector<std::uint32_t>& some = reading[std::abs(x)];
        if (std::ranges::find(some, of[i]) == some.end()) some.push_back(of[i]);
      }
    }
    for (const auto& [x, some] : reading) {
      std::uint32_t first = UINT32_MAX;
      for (const std::uint32_t g : some) {
        if (std::ranges::any_of(some, [&](std::uint32_t h) { return h != g && above(g, h); }))
          continue;
        if (first != UINT32_MAX) joined_.join(members[g][0], members[first][0]);
        first = g;
      }
    }
  }

  const std::vector<Item>& items_;
  Joined joined_;
  std::vector<std::uint32_t> mark_, first_, input_;
  std::uint32_t stamp_ = 0;
  std::size_t words_ = 0;
  std::vector<std::uint64_t> above_;
};

}  // namespace hardscape::maxsat::rows
