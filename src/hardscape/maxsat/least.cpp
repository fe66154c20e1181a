// What everything costs at least, as far as the clauses tell without a search: wishes, the soft
// clauses of one literal, that cannot all hold are packed so that each counts once.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "maxsat/instance.hpp"
#include "native/arrays.hpp"

namespace hardscape::maxsat {
namespace {

class Packing {
 public:
  Packing(const Clauses& f, const Poll& stopped)
      : f_(f), stopped_(stopped), left_(2 * std::size_t{f.variables}) {
    for (std::size_t c = 0; c < f.count && !stopped(c); ++c) {
      if (f.hard[c] || length(c) != 1) continue;
      std::uint64_t& left = left_[Clauses::code(f.literals[f.offsets[c]])];
      left = std::min(left + static_cast<std::uint64_t>(f.weights[c]), kMost);
      wishes_ = true;
    }
  }

  unsigned __int128 bound() {
    if (!wishes_) return 0;
    for (std::size_t l = 0; l < left_.size(); l += 2)
      pay(std::min(left_[l], left_[l + 1]), {l, l + 1});
    cliques();
    clauses();
    return bound_;
  }

 private:
  // Far below the end of its type: sums of two are exact.
  static constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  // Looks for each pair of wishes that exclude one another, about.
  static constexpr std::size_t kLooks = 16;

  std::int32_t length(std::size_t c) const { return f_.offsets[c + 1] - f_.offsets[c]; }
  std::span<const std::int32_t> literals(std::size_t c) const {
    return {f_.literals + f_.offsets[c], f_.literals + f_.offsets[c + 1]};
  }
  static std::size_t against(std::int32_t literal) { return Clauses::code(literal) ^ 1; }
  // What it costs at least that no literal holds, each of which a wish is against.
  std::uint64_t least(std::size_t c) const {
    std::uint64_t found = f_.hard[c] ? kMost : static_cast<std::uint64_t>(f_.weights[c]);
    for (const std::int32_t x : literals(c)) found = std::min(found, left_[against(x)]);
    return found;
  }

  void pay(std::uint64_t price, std::initializer_list<std::size_t> wishes) {
    for (const std::size_t wish : wishes) left_[wish] -= price;
    bound_ += price;
  }

  // Of a clique of wishes that exclude one another all but one are violated.
  void cliques() {
    std::vector<std::uint32_t> first(left_.size() + 1), other;
    for_pairs([&](std::size_t a, std::size_t) { ++first[a + 1]; });
    for (std::size_t l = 1; l < first.size(); ++l) first[l] += first[l - 1];
    if (!extend(other, first.back(), stopped_)) return;
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
    for_pairs(
        [&](std::size_t a, std::size_t b) { other[next[a]++] = static_cast<std::uint32_t>(b); });
    std::vector<std::uint32_t> seen(left_.size()), clique, touched;
    std::size_t looks = kLooks * other.size();
    // Who excludes all of the clique so far is counted on; a pair may be there twice.
    const auto take = [&](std::uint32_t wish) {
      const auto before = static_cast<std::uint32_t>(clique.size());
      clique.push_back(wish);
      looks -= std::min<std::size_t>(looks, first[wish + 1] - first[wish]);
      for (std::uint32_t i = first[wish]; i < first[wish + 1]; ++i) {
        if (seen[other[i]] != before) continue;
        ++seen[other[i]];
        if (before == 0) touched.push_back(other[i]);
      }
    };
    for (std::uint32_t wish = 0; wish < left_.size() && looks > 0 && !stopped_(0); ++wish) {
      while (left_[wish] > 0 && looks > 0) {
        take(wish);
        for (std::uint32_t i = first[wish]; i < first[wish + 1]; ++i)
          if (left_[other[i]] > 0 && seen[other[i]] == clique.size()) take(other[i]);
        for (const std::uint32_t l : touched) seen[l] = 0;
        const std::size_t size = clique.size();
        deny(clique);
        clique.clear();
        touched.clear();
        if (size < 2) break;
      }
    }
  }

  template <class Do>
  void for_pairs(Do&& act) {
    for (std::size_t c = 0; c < f_.count && !stopped_(c); ++c) {
      if (!f_.hard[c] || length(c) != 2 || least(c) == 0) continue;
      const std::size_t a = against(literals(c)[0]), b = against(literals(c)[1]);
      if (a == b) continue;
      act(a, b);
      act(b, a);
    }
  }

  void deny(std::vector<std::uint32_t>& clique) {
    if (clique.size() < 2) return;
    const auto dearer = [&](std::uint32_t a, std::uint32_t b) { return left_[a] > left_[b]; };
    std::sort(clique.begin(), clique.end(), dearer);
    const std::uint64_t second = left_[clique[1]];
    for (std::size_t i = 1; i < clique.size(); ++i) pay(left_[clique[i]], {clique[i]});
    left_[clique[0]] -= second;
  }

  // Of a clause and of wishes against all of its literals one is violated; short clauses first.
  void clauses() {
    std::vector<std::uint32_t> order;
    for (std::size_t c = 0; c < f_.count && !stopped_(c); ++c)
      if (length(c) > (f_.hard[c] ? 0 : 1) && least(c) > 0)
        order.push_back(static_cast<std::uint32_t>(c));
    const auto shorter = [&](std::uint32_t a, std::uint32_t b) { return length(a) < length(b); };
    std::stable_sort(order.begin(), order.end(), shorter);
    for (std::size_t i = 0; i < order.size() && !stopped_(i); ++i) {
      const std::uint64_t price = least(order[i]);
      for (const std::int32_t x : literals(order[i])) {
        std::uint64_t& left = left_[against(x)];
        left -= std::min(left, price);
      }
      bound_ += price;
    }
  }

  const Clauses& f_;
  const Poll& stopped_;
  std::vector<std::uint64_t> left_;  // of each literal what it still costs that it does not hold
  bool wishes_ = false;              // whether there are any
  unsigned __int128 bound_ = 0;
};

}  // namespace

void bind_least(nb::module_& module) {
  module.def(
      "least",
      [](const nb::object& formula, std::optional<Vector<std::uint8_t>> stop) {
        const Clauses f(formula);
        const Poll stopped(stop);
        unsigned __int128 bound = 0;
        {
          nb::gil_scoped_release release;
          bound = Packing(f, stopped).bound();
        }
        return std::make_tuple(static_cast<std::uint64_t>(bound >> 64),
                               static_cast<std::uint64_t>(bound));
      },
      nb::arg("formula"), nb::arg("stop").none() = nb::none(),
      "What everything that satisfies the hard clauses costs at least, in two words, high one "
      "first.");
}

}  // namespace hardscape::maxsat
