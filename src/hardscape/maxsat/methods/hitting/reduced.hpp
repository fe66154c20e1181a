// Branch and bound by what a linear program says of its rows. With any multipliers q >= 0 of rows,
// of whose literals at least k hold, the prices give each variable a reduced one c, and
//   cost = least + sum of |c| where x differs from its cheaper value + sum of q (literals that hold
//   beyond k),
// so what may be spent above the least decides most variables, and soon all that is left of some
// rows. The program only proposes q and where to begin: q is rounded to whole numbers of parts of a
// unit, from which all else is made in integers, so what was tried is tried for good.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "maxsat/methods/hitting/propagation.hpp"
#include "maxsat/methods/hitting/rows.hpp"
#include "maxsat/methods/hitting/wishes.hpp"

namespace hardscape::maxsat {

// What the program says of its variables and rows, and the literals that were held in it.
struct Vertex {
  std::span<const double> value, multiplier;
  std::span<const std::uint32_t> held;
};

class ReducedCosts {
 public:
  ReducedCosts(Propagation& propagation, const Rows& rows, const Wishes& wishes)
      : propagation_(propagation), rows_(rows), wishes_(wishes) {}

  // Whether all that costs less than `best` was tried under what was held, little above the least
  // first, then twice as much, within some nodes each. Variables near to a half are decided in the
  // order of their distance from a whole number times `weight`. `offer` takes the propagation's
  // values, an assignment, and says what the best one costs. Begins and ends at level 0.
  template <class Offer>
  bool look(const Vertex& vertex, std::span<const double> weight, unsigned __int128 best,
            const Offer& offer) {
    if (!count_in_parts()) return false;
    take(vertex, weight);
    best = std::min(best, total_ + step_);
    // In parts of a unit, above the least.
    const auto above = [&](unsigned __int128 cost) {
      const __int128 spare = (static_cast<__int128>(cost) << bits_) - least_;
      return static_cast<std::int64_t>(std::clamp<__int128>(spare, -1, kMost));
    };
    const auto spare = [&] { return best < step_ ? -1 : above(best - step_); };
    const auto offered = [&] {
      best = std::min<unsigned __int128>(best, offer());
      return spare();
    };
    const __int128 part = static_cast<__int128>(step_) << bits_;
    const __int128 next = least_ > 0 ? (least_ + part - 1) / part * part - least_ : 0;
    auto budget = static_cast<std::int64_t>(std::min<__int128>(next, kMost));
    budget = std::max(budget, spare() / kFirst);
    while (spare() >= 0) {
      if (!search(std::min(budget, spare()), offered)) return false;
      if (budget >= spare()) break;
      budget = 2 * budget + 1;
    }
    return true;
  }

  // Looks at variables and rows, in literals assigned.
  std::uint64_t looked() const { return looked_; }

 private:
  // How far from a whole number a value may lie; parts of what may be spent that are at first;
  // nodes before more is spent.
  static constexpr double kWhole = 1e-6;
  static constexpr std::int64_t kFirst = 16;
  static constexpr std::size_t kNodes = 500;
  static constexpr std::uint64_t kLooks = 32;  // in the time of an assignment
  // Most bits of the parts of a unit, and of all that is counted; most that may be spent.
  static constexpr int kParts = 20, kBits = 60;
  static constexpr std::int64_t kMost = std::int64_t{1} << kBits;

  struct Paid {  // a row
    std::uint32_t row;
    std::int64_t multiplier;
    std::uint32_t least, holds;
  };
  // How far what was decided has been followed.
  struct Followed {
    std::size_t counted = 0;        // of the trail
    std::size_t kept = 0, met = 0;  // variables and rows, the dear ones first, that are too dear
    std::int64_t spent = 0;
  };
  struct Branch {
    std::uint32_t literal, level;
    std::size_t at;  // of the order
    Followed followed;
    bool other;  // whether its negation is tried
  };

  // Into how many parts a unit is divided: no sum of prices and of multipliers, of which none is
  // worth more than all prices, may take more bits. False where weights are too large.
  bool count_in_parts() {
    if (step_ == 0) {
      for (const std::uint64_t price : wishes_.price) {
        total_ += price;
        step_ = std::gcd(step_, price);
      }
      bits_ = -1;
      for (unsigned __int128 sum = (total_ + 1) * (rows_.literals.size() + 2);
           bits_ < kParts && sum < static_cast<unsigned __int128>(kMost); sum *= 2)
        ++bits_;
    }
    return step_ > 0 && bits_ >= 0;
  }

  void take(const Vertex& vertex, std::span<const double> weight) {
    const std::size_t variables = vertex.value.size();
    held_ = vertex.held;
    prefers_.resize(variables);
    part_.resize(variables);
    order_.clear();
    for (std::uint32_t v = 0; v < variables; ++v) {
      prefers_[v] = vertex.value[v] >= 0.5;
      part_[v] = std::abs(vertex.value[v] - prefers_[v]);
      part_[v] = part_[v] > kWhole ? part_[v] * weight[v] : 0;
      if (part_[v] > 0) order_.push_back(v);
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](auto a, auto b) { return part_[a] > part_[b]; });
    for (std::uint32_t v = 0; v < variables; ++v)
      if (!(part_[v] > 0)) order_.push_back(v);
    pay(vertex);
  }

  // What rows and variables cost at the multipliers, and the least of all.
  void pay(const Vertex& vertex) {
    price_.assign(vertex.value.size(), 0);
    cheap_.resize(vertex.value.size());
    of_.resize(2 * vertex.value.size());
    for (std::vector<std::uint32_t>& rows : of_) rows.clear();
    paid_.clear();
    least_ = 0;
    for (std::size_t w = 0; w < wishes_.size(); ++w) {
      const auto price = static_cast<std::int64_t>(wishes_.price[w]) << bits_;
      const std::uint32_t l = wishes_.literal[w];
      if (!(l & 1)) least_ += price;
      price_[l >> 1] += l & 1 ? price : -price;
    }
    const auto most = static_cast<std::int64_t>(total_) << bits_;
    for (std::uint32_t r = 0; r < rows_.size(); ++r) {
      const double proposed = std::ldexp(vertex.multiplier[r], bits_);
      if (!(proposed >= 1)) continue;
      const std::int64_t q = proposed < static_cast<double>(most) ? std::llround(proposed) : most;
      least_ += static_cast<__int128>(q) * rows_.least[r];
      for (const std::uint32_t l : rows_[r]) {
        if (l & 1) least_ -= q;
        price_[l >> 1] += l & 1 ? q : -q;
      }
      paid_.push_back({r, q, rows_.least[r], 0});
    }
    std::stable_sort(paid_.begin(), paid_.end(),
                     [](const Paid& a, const Paid& b) { return a.multiplier > b.multiplier; });
    for (std::uint32_t i = 0; i < paid_.size(); ++i)
      for (const std::uint32_t l : rows_[paid_[i].row]) of_[l].push_back(i);
    dear_.clear();
    for (std::size_t v = 0; v < price_.size(); ++v) {
      cheap_[v] = price_[v] < 0 || (price_[v] == 0 && prefers_[v]);
      if (price_[v] < 0) least_ += price_[v];
      price_[v] = std::abs(price_[v]);
      if (price_[v] > 0) dear_.push_back(static_cast<std::uint32_t>(v));
    }
    std::stable_sort(dear_.begin(), dear_.end(),
                     [&](auto a, auto b) { return price_[a] > price_[b]; });
  }

  // Whether all that spends no more was tried; what is `offered` says what may be spent from then
  // on.
  template <class Offered>
  bool search(std::int64_t budget, const Offered& offered) {
    std::size_t nodes = kNodes;
    budget_ = budget;
    branches_.clear();
    bool possible = hold();
    for (;;) {
      possible = possible && settle();
      if (possible) {
        std::size_t at = branches_.empty() ? 0 : branches_.back().at;
        while (at < order_.size() && !propagation_.open(2 * order_[at])) ++at;
        if (at < order_.size()) {
          if (nodes-- == 0) break;
          const std::uint32_t v = order_[at], l = 2 * v + !prefers_[v];
          branches_.push_back({l, propagation_.level(), at, followed_, false});
          propagation_.decide(l);
          continue;
        }
        budget_ = std::min(budget_, offered());
      }
      while (!branches_.empty() && branches_.back().other) branches_.pop_back();
      if (branches_.empty()) break;
      Branch& last = branches_.back();
      last.other = possible = true;
      back(last.level, last.followed);
      propagation_.decide(last.literal ^ 1);
    }
    back(0, {});
    return branches_.empty();
  }

  std::uint32_t cheaper(std::uint32_t v) const { return 2 * v + !cheap_[v]; }

  bool hold() {
    for (const std::uint32_t l : held_) {
      if (propagation_.fails(l)) return false;
      if (propagation_.open(l)) propagation_.decide(l);
    }
    return true;
  }

  // Follows the clauses, and what may still be spent; false where they contradict one another.
  bool settle() {
    do {
      if (propagation_.propagate() != Propagation::kNone || !count()) return false;
      ++looked_;
    } while (keep_variables() || keep_rows());
    return true;
  }

  bool too_dear(std::int64_t price) const { return price > budget_ - followed_.spent; }

  // Decides the variables that are too dear to differ; whether there were any. Once they were they
  // stay so.
  bool keep_variables() {
    const std::uint32_t before = propagation_.level();
    for (std::size_t& i = followed_.kept; i < dear_.size() && too_dear(price_[dear_[i]]); ++i)
      if (propagation_.open(2 * dear_[i])) propagation_.decide(cheaper(dear_[i]));
    return propagation_.level() > before;
  }

  // Denies what is left of rows of which no more may hold; whether there was anything. They are
  // too dear now, or have been and as many literals hold now.
  bool keep_rows() {
    const std::uint32_t before = propagation_.level();
    for (std::size_t& i = followed_.met; i < paid_.size() && too_dear(paid_[i].multiplier); ++i)
      if (paid_[i].holds == paid_[i].least) deny(paid_[i]);
    for (const std::uint32_t i : full_) deny(paid_[i]);
    full_.clear();
    return propagation_.level() > before;
  }

  void deny(const Paid& paid) {
    looked_ += 1 + rows_[paid.row].size() / kLooks;
    for (const std::uint32_t l : rows_[paid.row])
      if (propagation_.open(l)) propagation_.decide(l ^ 1);
  }

  // Counts what was assigned; false where that is too much.
  bool count() {
    const auto trail = propagation_.trail();
    for (std::size_t& t = followed_.counted; t < trail.size(); ++t) {
      const std::uint32_t l = trail[t];
      if (l != cheaper(l >> 1)) followed_.spent += price_[l >> 1];
      for (const std::uint32_t i : of_[l]) {
        const std::uint32_t holds = ++paid_[i].holds;
        if (holds > paid_[i].least) followed_.spent += paid_[i].multiplier;
        if (holds == paid_[i].least && i < followed_.met) full_.push_back(i);
      }
    }
    return followed_.spent <= budget_;
  }

  void back(std::uint32_t level, const Followed& followed) {
    const auto trail = propagation_.trail();
    while (followed_.counted > followed.counted)
      for (const std::uint32_t i : of_[trail[--followed_.counted]]) --paid_[i].holds;
    followed_ = followed;
    full_.clear();
    propagation_.back(level);
  }

  Propagation& propagation_;
  const Rows& rows_;
  const Wishes& wishes_;
  std::span<const std::uint32_t> held_;
  std::vector<std::int64_t> price_;            // of each variable, where it is not as it is cheaper
  std::vector<std::uint8_t> cheap_, prefers_;  // values: the cheaper ones, and those tried first
  std::vector<double> part_;
  std::vector<std::uint32_t> order_;
  std::vector<std::vector<std::uint32_t>> of_;  // rows that are paid, of each literal
  std::vector<Paid> paid_;
  std::vector<Branch> branches_;
  unsigned __int128 total_ = 0;      // of all prices
  std::uint64_t step_ = 0;           // that costs are multiples of
  int bits_ = 0;                     // of the parts of a unit
  __int128 least_ = 0;               // in parts
  std::vector<std::uint32_t> dear_;  // variables with a price, the dear ones first
  std::vector<std::uint32_t> full_;  // rows that were too dear before as many literals held
  Followed followed_;
  std::int64_t budget_ = 0;
  std::uint64_t looked_ = 0;
};

}  // namespace hardscape::maxsat
