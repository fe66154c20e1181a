// Literals that hard clauses make equal, of which one can stand for all. A literal implies what
// clauses of two say, and the last literal of a longer one whose others those make false (hyper
// binary resolution, F. Bacchus, AAAI 2002); what implies one another in a ring is equal (strongly
// connected components, R. E. Tarjan, SIAM J. Comput. 1, 146, 1972). A value of one thing that
// excludes all values of another but one is equal to that where it is so the other way round.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/presolve/left.hpp"

namespace hardscape::maxsat {

class Equals {
 public:
  // Looks at so many clauses of literals that follow at most, and takes them from `looks`.
  Equals(Left& left, std::size_t& looks, const Poll& stopped)
      : left_(left), looks_(looks), stopped_(stopped) {}

  // Puts one literal for all that are equal, and says of each variable that went which it is; adds
  // the negation of a literal from which a contradiction follows. False if stopped on the way.
  bool run(Links& links) {
    if (left_.literals.size() > kMost || left_.clauses() == 0) return true;
    if (!imply() || !follow() || !join()) return false;
    if (changes()) replace(links);
    return true;
  }

  // Whether clauses have changed, which presolve may shorten now: not for the sake of few
  // variables.
  bool changes() const {
    const std::size_t gone = joined_ + refuted_.size();
    return gone > 0 && gone >= codes() / 2 / kNoticed;
  }

 private:
  // Lists of some literals for each literal.
  struct Lists {
    std::vector<std::uint32_t> first, items;
    std::pair<std::uint32_t, std::uint32_t> of(std::uint32_t l) const {
      return {first[l], first[l + 1]};
    }
  };

  std::size_t codes() const { return 2 * left_.original.size(); }

  // `each(put)` calls put(l, item) for all items, twice in the same order.
  template <class Each>
  bool list(Lists& lists, Each&& each) {
    lists.first.assign(codes() + 1, 0);
    if (!each([&](std::uint32_t l, std::uint32_t) { ++lists.first[l + 1]; })) return false;
    for (std::size_t l = 0; l < codes(); ++l) lists.first[l + 1] += lists.first[l];
    lists.items.resize(lists.first.back());
    std::vector<std::uint32_t> at(lists.first.begin(), lists.first.end() - 1);
    return each([&](std::uint32_t l, std::uint32_t item) { lists.items[at[l]++] = item; });
  }

  bool each_hard(auto&& act) {
    for (std::uint32_t c = 0; c < left_.clauses(); ++c) {
      if (stopped_(c)) return false;
      if (left_.hard[c]) act(c);
    }
    return true;
  }

  // What each literal implies by clauses of two, and longer clauses of each literal.
  bool imply() {
    return list(implied_,
                [&](auto&& put) {
                  return each_hard([&](std::uint32_t c) {
                    if (!left_.is_pair(c)) return;
                    put(left_.code(c, 0) ^ 1, left_.code(c, 1));
                    put(left_.code(c, 1) ^ 1, left_.code(c, 0));
                  });
                }) &&
           list(longer_, [&](auto&& put) {
             return each_hard([&](std::uint32_t c) {
               const std::size_t length = left_.length(c);
               for (std::size_t k = 0; length > 2 && length <= kLongest && k < length; ++k)
                 put(left_.code(c, k), c);
             });
           });
  }

  // What each literal implies by one longer clause besides, as far as few are looked at.
  bool follow() {
    // Of a clause, how many more literals must be false before one is left.
    std::vector<std::uint16_t> open(left_.clauses());  // fits a cache
    if (!each_hard(
            [&](std::uint32_t c) { open[c] = static_cast<std::uint16_t>(left_.length(c) - 1); }))
      return false;
    std::vector<std::uint32_t> held, short_;
    std::vector<std::uint8_t> true_(codes());
    const std::size_t most = looks_;
    const auto pays = [&] { return looks_ > 0 && most - looks_ < kTried + kEach * found_.size(); };
    for (std::uint32_t a = 0; a < codes() && pays(); ++a) {
      if (stopped_(a % 64 ? 1 : 0)) return false;
      const auto [from, to] = implied_.of(a);
      if (from == to) continue;
      held.clear();
      short_.clear();
      bool contradicted = false;
      const auto hold = [&](std::uint32_t l) {
        if (true_[l]) return;
        true_[l] = 1;
        held.push_back(l);
        contradicted |= true_[l ^ 1];
        const auto [begin, end] = longer_.of(l ^ 1);
        looks_ -= std::min<std::size_t>(looks_, end - begin);
        for (std::uint32_t i = begin; i < end; ++i)
          if (--open[longer_.items[i]] == 0) short_.push_back(longer_.items[i]);
      };
      hold(a);
      for (std::uint32_t i = from; i < to; ++i) hold(implied_.items[i]);
      for (const std::uint32_t c : short_) contradicted |= !leaves(a, c, true_);
      if (contradicted) refuted_.push_back(a);
      for (const std::uint32_t l : held) {
        true_[l] = 0;
        const auto [begin, end] = longer_.of(l ^ 1);
        for (std::uint32_t i = begin; i < end; ++i) ++open[longer_.items[i]];
      }
      for (std::size_t i = found_.size(); i-- > 0 && found_[i].first == a;)
        true_[found_[i].second] = 0;
    }
    const Lists plain = std::move(implied_);
    return list(implied_, [&](auto&& put) {
      for (std::uint32_t l = 0; l < codes(); ++l)
        for (std::uint32_t i = plain.first[l]; i < plain.first[l + 1]; ++i) put(l, plain.items[i]);
      for (const auto& [a, b] : found_) {
        put(a, b);
        put(b ^ 1, a ^ 1);
      }
      return true;
    });
  }

  // Has a literal imply the one that a clause leaves, unless that is known; false if it leaves
  // none.
  bool leaves(std::uint32_t a, std::uint32_t c, std::vector<std::uint8_t>& known) {
    for (std::size_t k = 0; k < left_.length(c); ++k) {
      const std::uint32_t l = left_.code(c, k);
      if (known[l ^ 1] == 1) continue;
      if (!known[l]) {
        found_.emplace_back(a, l);
        known[l] = 2;
      }
      return true;
    }
    return false;
  }

  // Components, by one search in depth without recursion; the least literal stands for each.
  bool join() {
    stands_.assign(codes(), kNone);
    std::vector<std::uint32_t> index(codes(), kNone), low(codes()), stack, path;
    std::vector<std::uint32_t> at(codes());
    std::uint32_t count = 0;
    for (std::uint32_t root = 0; root < codes(); ++root) {
      if (index[root] != kNone) continue;
      if (stopped_(root)) return false;
      path.push_back(root);
      while (!path.empty()) {
        const std::uint32_t l = path.back();
        if (index[l] == kNone) {
          index[l] = low[l] = count++;
          at[l] = implied_.first[l];
          stack.push_back(l);
        }
        bool deeper = false;
        for (; at[l] < implied_.first[l + 1] && !deeper; ++at[l]) {
          const std::uint32_t next = implied_.items[at[l]];
          if (index[next] == kNone) {
            path.push_back(next);
            deeper = true;
            break;
          }
          if (stands_[next] == kNone) low[l] = std::min(low[l], low[next]);
        }
        if (deeper) continue;
        path.pop_back();
        if (low[l] == index[l]) close(stack, l);
        if (!path.empty() && stands_[l] == kNone)
          low[path.back()] = std::min(low[path.back()], low[l]);
      }
    }
    return true;
  }

  // All that lie above a literal on the stack are equal to it.
  void close(std::vector<std::uint32_t>& stack, std::uint32_t l) {
    const auto begin = std::ranges::find(stack.rbegin(), stack.rend(), l).base() - 1;
    const std::uint32_t least = *std::min_element(begin, stack.end());
    joined_ += static_cast<std::size_t>(stack.end() - begin - 1);
    for (auto each = begin; each != stack.end(); ++each) stands_[*each] = least;
    stack.erase(begin, stack.end());
  }

  // A literal that equals its own negation can be neither: then both are demanded.
  void replace(Links& links) {
    for (std::uint32_t v = 0; v < codes() / 2; ++v) {
      std::uint32_t& stands = stands_[2 * v];
      if (stands == stands_[2 * v + 1]) {
        refuted_.push_back(2 * v);
        refuted_.push_back(2 * v + 1);
        stands = 2 * v;
        stands_[2 * v + 1] = 2 * v + 1;
      }
      // The least of the negations is the negation of the least but for the sign.
      if (stands >> 1 == v) continue;
      links.gone.push_back(left_.original[v]);
      links.literals.push_back(left_.named(stands ^ 1));  // true where this is false
      links.offsets.push_back(static_cast<std::int32_t>(links.literals.size()));
    }
    for (std::int32_t& x : left_.literals) x = Clauses::literal(stands_[Clauses::code(x)]);
    for (const std::uint32_t l : refuted_) {
      left_.literals.push_back(Clauses::literal(stands_[l ^ 1]));
      left_.end(0, 1);
    }
  }

  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kMost = 2'000'000;   // literals of a formula that is looked at
  static constexpr std::size_t kNoticed = 100;      // one in so many variables
  static constexpr std::size_t kLongest = 1 << 16;  // literals of a clause whose last one follows
  // Clauses of literals that follow that are looked at, and for each implication found.
  static constexpr std::size_t kTried = 2'000'000, kEach = 200;

  Left& left_;
  std::size_t& looks_;
  Poll stopped_;
  Lists implied_, longer_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found_;  // implications
  std::vector<std::uint32_t> refuted_, stands_;  // literals; of each, the one that stands for it
  std::size_t joined_ = 0;                       // literals that others stand for
};

}  // namespace hardscape::maxsat
