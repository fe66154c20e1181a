// Variables that rules set, as modules that read one another like a tree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <ranges>
#include <unordered_map>
#include <utility>
#include <vector>

#include "maxsat/methods/exact/prover/rows/groups.hpp"
#include "maxsat/methods/exact/prover/rows/rules.hpp"

namespace hardscape::maxsat::rows {

struct Module {
  std::vector<std::uint32_t> below;   // modules, earlier ones
  std::vector<std::int32_t> inputs;   // literals
  std::vector<std::uint32_t> rules;   // clauses, each after those that set what it reads
  std::vector<std::int32_t> set;      // literals
  std::vector<std::int32_t> outputs;  // literals that others read, its own, or handed on
  bool top = true;                    // read by nobody
};

struct Hash {
  std::size_t operator()(const std::vector<std::int32_t>& key) const {
    std::uint64_t h = key.size();
    for (const std::int32_t x : key) {
      h = (h ^ static_cast<std::uint32_t>(x)) * 0x9E3779B97F4A7C15u;
      h ^= h >> 29;
    }
    return h;
  }
};

// Rules that variables join, part by part.
inline std::vector<std::vector<std::uint32_t>> parts(const Flat& clauses, const Rules& rules) {
  Joined joined(rules.hidden.size());
  const auto hidden = [&](std::int32_t x) { return rules.hidden[std::abs(x)] != 0; };
  const auto name = [&](std::size_t c) {
    return static_cast<std::uint32_t>(std::abs(*std::ranges::find_if(clauses[c], hidden)));
  };
  for (std::size_t c = 0; c < clauses.clauses(); ++c)
    if (rules.of[c])
      for (const std::int32_t x : clauses[c])
        if (hidden(x)) joined.join(std::abs(x), name(c));
  std::vector<std::int32_t> part(rules.hidden.size(), -1);
  std::vector<std::vector<std::uint32_t>> found;
  for (std::uint32_t c = 0; c < clauses.clauses(); ++c) {
    if (!rules.of[c]) continue;
    std::int32_t& of = part[joined(name(c))];
    if (of < 0) {
      of = static_cast<std::int32_t>(found.size());
      found.emplace_back();
    }
    found[of].push_back(c);
  }
  return found;
}

// The modules of a part, each after what it reads: none where there are too many.
//
// A group begins a module. Either each input and module is read once: a module joins those that it
// reads, hands on what others read of them, and goes on with groups that read nothing else. Or each
// is there as often as it is read.
class Modules {
 public:
  std::vector<Module> all;

  Modules(const Flat& clauses, const Rules& rules, const std::vector<std::uint32_t>& part,
          Room& room, bool once)
      : rules_(rules),
        once_(once),
        room_(room),
        items_(items_of(clauses, rules, part, room)),
        groups_(items_, room, once) {
    if (!groups_.usable) return;
    const std::size_t count = groups_.members.size();
    waits_.resize(count);
    done_.resize(count);
    unread_.resize(items_.size());
    module_.resize(items_.size());
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      unread_[i] = items_[i].readers.size();
      for (const std::uint32_t j : items_[i].reads)
        waits_[groups_.of[i]] += groups_.of[j] != groups_.of[i];
      for (const std::int32_t x : items_[i].inputs) readers_[x].push_back(i);
    }
    for (const std::uint32_t g : groups_.order)
      if (!done_[g] && g < groups_.setting) begin({g});
    refute();
  }

  // Whether an input's negation is read, too.
  bool both(std::int32_t x) const { return readers_.contains(x) && readers_.contains(-x); }

 private:
  // What is left to refute, where it reads what belongs together, or the same.
  void refute() {
    Joined joined(all.size());
    const auto each = [&](auto does) {
      for (std::uint32_t g = groups_.setting; g < groups_.members.size(); ++g)
        if (!done_[g]) does(g, items_[groups_.members[g][0]]);
    };
    const auto module = [&](std::uint32_t i) { return root(module_[i]); };
    if (once_)
      each([&](std::uint32_t, const Item& item) {
        for (const std::uint32_t j : item.reads) joined.join(module(j), module(item.reads[0]));
      });
    std::map<std::vector<std::int32_t>, std::vector<std::uint32_t>> together;
    each([&](std::uint32_t g, const Item& item) {
      std::vector<std::int32_t> key;
      for (const std::uint32_t j : item.reads)
        key.push_back(static_cast<std::int32_t>(joined(module(j))));
      std::ranges::sort(key);
      key.erase(std::unique(key.begin(), key.end()), key.end());
      key.push_back(-1);
      if (!once_) key.insert(key.end(), item.inputs.begin(), item.inputs.end());
      together[key].push_back(g);
    });
    for (auto& [key, some] : together) begin(std::move(some));
  }

  std::uint32_t root(std::uint32_t m) const {
    while (parent_[m] != m && once_) m = parent_[m];
    return m;
  }

  void begin(std::vector<std::uint32_t> groups) {
    const auto m = static_cast<std::uint32_t>(all.size());
    all.emplace_back();
    parent_.push_back(m);
    const auto each = [&](auto does) {
      for (const std::uint32_t g : groups)
        for (const std::uint32_t i : groups_.members[g]) does(items_[i]);
    };
    each([&](const Item& item) {
      for (const std::uint32_t j : item.reads)
        if (done_[groups_.of[j]]) take(root(module_[j]), m);
    });
    Module& module = all[m];
    std::ranges::sort(module.below);
    const std::uint32_t held = ++room_.stamp;
    inputs_.clear();
    const auto hold = [&](std::int32_t x) {
      std::uint32_t& mark = room_.mark[Flat::code(std::abs(x))];
      if (mark == held) return false;
      mark = held;
      inputs_.push_back(std::abs(x));
      return true;
    };
    for (const std::uint32_t b : module.below)
      for (const std::int32_t x : all[b].outputs)
        if (!hidden(x)) hold(x);
    each([&](const Item& item) {
      for (const std::int32_t x : item.inputs)
        if (hold(x)) module.inputs.push_back(both(x) ? std::abs(x) : x);
    });
    std::ranges::sort(module.inputs, {}, [](std::int32_t x) { return Flat::code(x); });
    follow(std::move(groups), m, held);
    put_out(module);
  }

  bool hidden(std::int32_t x) const { return rules_.hidden[std::abs(x)] != 0; }

  void take(std::uint32_t below, std::uint32_t m) {
    std::vector<std::uint32_t>& mine = all[m].below;
    if (below == m || std::ranges::find(mine, below) != mine.end()) return;
    parent_[below] = m;
    all[below].top = false;
    mine.push_back(below);
  }

  // Does groups, and then those that read nothing but this module.
  void follow(std::vector<std::uint32_t> waiting, std::uint32_t m, std::uint32_t held) {
    Module& module = all[m];
    const std::size_t first = waiting.size();
    for (const std::uint32_t b : module.below)
      for (const std::int32_t x : all[b].outputs)
        if (hidden(x))
          for (const std::uint32_t r : items_[room_.item[std::abs(x)]].readers)
            if (waits_[groups_.of[r]] == 0) waiting.push_back(groups_.of[r]);
    const auto here = [&](std::uint32_t j) {
      const std::uint32_t of = root(module_[j]);
      return of == m || std::ranges::find(module.below, of) != module.below.end();
    };
    const auto reads_only = [&](std::uint32_t g) {
      if (!once_ && g < groups_.setting) return false;
      return std::ranges::all_of(groups_.members[g], [&](std::uint32_t i) {
        return std::ranges::all_of(
                   items_[i].reads,
                   [&](std::uint32_t j) { return groups_.of[j] == g || here(j); }) &&
               std::ranges::all_of(items_[i].inputs, [&](std::int32_t x) {
                 return room_.mark[Flat::code(std::abs(x))] == held;
               });
      });
    };
    for (std::size_t k = 0; k < waiting.size(); ++k) {
      const std::uint32_t g = waiting[k];
      if (done_[g] || (k >= first && !reads_only(g))) continue;
      done_[g] = 1;
      for (const std::uint32_t i : groups_.members[g]) {
        module_[i] = m;
        const Item& item = items_[i];
        if (item.sets != 0) module.set.push_back(item.sets);
        module.rules.insert(module.rules.end(), item.clauses.begin(), item.clauses.end());
        for (const std::uint32_t j : item.reads) --unread_[j];
        for (const std::uint32_t r : item.readers)
          if (const std::uint32_t h = groups_.of[r]; h != g && --waits_[h] == 0)
            waiting.push_back(h);
      }
    }
  }

  // What is handed on comes before what the module sets.
  void put_out(Module& module) {
    const auto unread = [&](std::int32_t x) {
      return !hidden(x) || unread_[room_.item[std::abs(x)]] == 0;
    };
    std::vector<std::int32_t> own(module.set);
    std::erase_if(own, unread);
    if (!once_) {
      module.outputs = own;
      return;
    }
    for (const std::uint32_t b : module.below)
      for (const std::int32_t x : all[b].outputs)
        if (!unread(x)) module.outputs.push_back(x);
    std::vector<std::uint32_t> from;  // groups of what is read
    for (const auto& some : {std::cref(module.outputs), std::cref(own)})
      for (const std::int32_t x : some.get()) from.push_back(groups_.of[room_.item[std::abs(x)]]);
    std::ranges::sort(from);
    from.erase(std::unique(from.begin(), from.end()), from.end());
    const auto wanted = [&](std::uint32_t i) {
      const std::uint32_t g = groups_.of[i];
      return !done_[g] && (g >= groups_.setting || std::ranges::any_of(from, [&](std::uint32_t h) {
                             return groups_.above(g, h);
                           }));
    };
    for (const std::int32_t v : inputs_)
      for (const std::int32_t x : {v, -v})
        if (const auto at = readers_.find(x);
            at != readers_.end() && std::ranges::any_of(at->second, wanted))
          module.outputs.push_back(x);
    module.outputs.insert(module.outputs.end(), own.begin(), own.end());
  }

  const Rules& rules_;
  const bool once_;
  Room& room_;
  std::vector<Item> items_;
  Groups groups_;
  std::vector<std::size_t> waits_, unread_;  // by group, and by item
  std::vector<std::uint8_t> done_;           // groups
  std::vector<std::uint32_t> module_;        // of each item that is done
  std::vector<std::uint32_t> parent_;        // of each module that is read, or itself
  std::vector<std::int32_t> inputs_;         // variables of the module in work
  std::unordered_map<std::int32_t, std::vector<std::uint32_t>> readers_;  // of inputs
};

}  // namespace hardscape::maxsat::rows
