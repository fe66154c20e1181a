// Orders of the rows of a sparse matrix in which the frontier dynamic program has few states:
// greedy ones, made better by simulated annealing; see order.py.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
#include <vector>

#include "native/random.hpp"
#include "permanents/kernel.hpp"

namespace hardscape::permanents {
namespace {

using Order = std::vector<std::int32_t>;

// Number of u-subsets of w columns; widths beyond the table's count as its last.
class Subsets {
 public:
  Subsets() : count_(kWidths * kWidths) {
    for (std::size_t w = 0; w < kWidths; ++w) {
      at(w, 0) = 1;
      for (std::size_t u = 1; u <= w; ++u) at(w, u) = at(w - 1, u - 1) + (u < w ? at(w - 1, u) : 0);
    }
  }

  double operator()(std::int64_t width, std::int64_t used) const {
    if (used < 0 || used > width) return 0;
    const std::int64_t most = kWidths - 1;
    if (width > most) used = used * most / width;
    return count_[static_cast<std::size_t>(std::min(width, most)) * kWidths +
                  static_cast<std::size_t>(used)];
  }

 private:
  static constexpr std::size_t kWidths = 512;
  double& at(std::size_t w, std::size_t u) { return count_[w * kWidths + u]; }
  std::vector<double> count_;
};

// The rows of a pattern and, for each column, the rows that touch it.
struct Pattern {
  Pattern(const Vector<std::int64_t>& starts, const Vector<std::int32_t>& columns)
      : rows(starts.size() - 1), starts(starts.data()), columns(columns.data()) {
    touching.resize(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      for (auto e = starts.data()[i]; e < starts.data()[i + 1]; ++e) {
        touching[static_cast<std::size_t>(columns.data()[e])].push_back(
            static_cast<std::int32_t>(i));
      }
    }
  }

  const std::int32_t* begin(std::int32_t row) const { return columns + starts[row]; }
  const std::int32_t* end(std::int32_t row) const { return columns + starts[row + 1]; }
  double degree(std::int32_t row) const { return static_cast<double>(end(row) - begin(row)); }

  std::size_t rows;
  const std::int64_t* starts;
  const std::int32_t* columns;
  std::vector<std::vector<std::int32_t>> touching;
};

// An order that widens the frontier as little as possible at each step, and then takes the row
// whose oldest column has waited longest.
Order greedy(const Pattern& pattern, std::int32_t start) {
  const std::size_t n = pattern.rows;
  constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();
  std::vector<std::int32_t> remaining(n), age(n, kNever), near;
  std::vector<std::uint8_t> taken(n), listed(n);
  for (std::size_t j = 0; j < n; ++j) {
    remaining[j] = static_cast<std::int32_t>(pattern.touching[j].size());
  }
  Order rows;
  std::size_t unseen = 0;
  for (std::int32_t following = start; rows.size() < n;) {
    taken[static_cast<std::size_t>(following)] = 1;
    for (auto j = pattern.begin(following); j < pattern.end(following); ++j) {
      const auto column = static_cast<std::size_t>(*j);
      --remaining[column];
      age[column] = std::min(age[column], static_cast<std::int32_t>(rows.size()));
      for (const std::int32_t i : pattern.touching[column]) {
        if (!std::exchange(listed[static_cast<std::size_t>(i)], 1)) near.push_back(i);
      }
    }
    rows.push_back(following);
    std::erase_if(near, [&](std::int32_t i) { return taken[static_cast<std::size_t>(i)] != 0; });
    if (near.empty()) {
      while (unseen < n && taken[unseen]) ++unseen;
      following = static_cast<std::int32_t>(unseen);
      continue;
    }
    auto best = std::make_tuple(kNever, kNever, kNever);
    for (const std::int32_t i : near) {
      std::int32_t wider = 0, oldest = kNever;
      for (auto j = pattern.begin(i); j < pattern.end(i); ++j) {
        const auto column = static_cast<std::size_t>(*j);
        wider += (age[column] == kNever) - (remaining[column] == 1);
        oldest = std::min(oldest, age[column]);
      }
      best = std::min(best, std::make_tuple(wider, oldest, i));
    }
    following = std::get<2>(best);
  }
  return rows;
}

// An order with the products of each of its steps.
class Costed {
 public:
  Costed(const Pattern& pattern, const Subsets& subsets, Order order)
      : pattern_(pattern),
        subsets_(subsets),
        order_(std::move(order)),
        place_(order_.size()),
        width_(order_.size() + 1),
        closed_(order_.size() + 1),
        products_(order_.size()),
        seen_(order_.size(), -1),
        left_(order_.size()) {
    evaluate(0, order_.size());
    total_ = std::accumulate(products_.begin(), products_.end(), 0.0);
  }

  double total() const { return total_; }
  const Order& order() const { return order_; }

  // Moves a row from one place to another, or turns all between them around; keeps that if
  // `accepts(new, old)`.
  template <class Accepts>
  bool change(std::size_t from, std::size_t to, bool turned, Accepts&& accepts) {
    const std::size_t low = std::min(from, to), high = std::max(from, to) + 1;
    before_.assign(order_.begin() + low, order_.begin() + high);
    const auto at = [&](std::size_t k) { return order_.begin() + static_cast<std::ptrdiff_t>(k); };
    if (turned)
      std::reverse(at(low), at(high));
    else if (from < to)
      std::rotate(at(low), at(low + 1), at(high));
    else
      std::rotate(at(low), at(high - 1), at(high));
    evaluate(low, high);
    const double total = std::accumulate(products_.begin(), products_.end(), 0.0);
    if (accepts(total, total_)) {
      total_ = total;
      return true;
    }
    std::copy(before_.begin(), before_.end(), at(low));
    evaluate(low, high);
    return false;
  }

 private:
  // Finds widths and products of the steps of a window; columns before and behind it stay as they
  // are.
  void evaluate(std::size_t low, std::size_t high) {
    for (std::size_t k = low; k < high; ++k) {
      place_[static_cast<std::size_t>(order_[k])] = static_cast<std::int32_t>(k);
    }
    ++stamp_;
    std::int64_t width = width_[low], closed = closed_[low];
    for (std::size_t k = low; k < high; ++k) {
      const std::int32_t row = order_[k];
      products_[k] = subsets_(width, static_cast<std::int64_t>(k) - closed) * pattern_.degree(row);
      for (auto j = pattern_.begin(row); j < pattern_.end(row); ++j) {
        const auto column = static_cast<std::size_t>(*j);
        if (seen_[column] != stamp_) {
          seen_[column] = stamp_;
          bool fresh = true;
          std::int32_t left = 0;
          for (const std::int32_t i : pattern_.touching[column]) {
            const auto place = static_cast<std::size_t>(place_[static_cast<std::size_t>(i)]);
            fresh = fresh && place >= low;
            left += place >= low;
          }
          left_[column] = left;
          width += fresh;
        }
        if (--left_[column] == 0) {
          --width;
          ++closed;
        }
      }
      width_[k + 1] = width;
      closed_[k + 1] = closed;
    }
  }

  const Pattern& pattern_;
  const Subsets& subsets_;
  Order order_, before_;
  std::vector<std::int32_t> place_;
  std::vector<std::int64_t> width_, closed_;  // before each step
  std::vector<double> products_;
  std::vector<std::int64_t> seen_;
  std::vector<std::int32_t> left_;
  std::int64_t stamp_ = 0;
  double total_ = 0;
};

// Simulated annealing of the logarithm of the products: rows move, or windows of all sizes turn
// around.
void anneal(Costed& costed, Order& best, double& least, std::uint64_t steps, std::uint64_t seed,
            double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  constexpr double kHot = 0.2, kCold = 0.02;
  const std::size_t n = costed.order().size();
  RandomStream random(seed, n, 0);
  constexpr std::uint64_t kBetweenLooks = 256;
  double temperature = kHot;
  for (std::uint64_t step = 0; step < steps; ++step) {
    if (step % kBetweenLooks == 0) {
      if (std::chrono::duration<double>(Clock::now() - began).count() > seconds) return;
      const double done = static_cast<double>(step) / static_cast<double>(steps);
      temperature = kHot * std::pow(kCold / kHot, done);
    }
    const std::uint64_t drawn = random.next();
    const auto from = static_cast<std::size_t>(drawn % n);
    const auto far =
        static_cast<std::size_t>(std::pow(0.5 * static_cast<double>(n), random.uniform()));
    const bool backward = drawn >> 62 & 1, turned = (drawn >> 60 & 3) == 0;
    if (backward ? from < far : from + far >= n) continue;
    const double chance = random.uniform();
    const auto accepts = [&](double total, double before) {
      return total <= before || total < before * std::pow(chance, -temperature);
    };
    costed.change(from, backward ? from - far : from + far, turned, accepts);
    if (costed.total() < least) {
      least = costed.total();
      best = costed.order();
    }
  }
}

const Subsets& subsets() {
  static const Subsets counted;
  return counted;
}

template <class Find>
auto unlocked_order(Find&& find) {
  Order best;
  double least = std::numeric_limits<double>::infinity();
  {
    nb::gil_scoped_release release;
    find(best, least);
  }
  const std::size_t n = best.size();
  return std::make_tuple(to_numpy(std::move(best), {n}), least);
}

auto frontier_greedy(Vector<std::int64_t> starts, Vector<std::int32_t> columns,
                     Vector<std::int32_t> firsts) {
  return unlocked_order([&](Order& best, double& least) {
    const Pattern pattern(starts, columns);
    Order rows(pattern.rows);
    std::iota(rows.begin(), rows.end(), 0);
    for (std::size_t k = 0;; ++k) {
      const Costed costed(pattern, subsets(), std::move(rows));
      if (k == 0 || costed.total() < least) {
        least = costed.total();
        best = costed.order();
      }
      if (k == firsts.size()) break;
      rows = greedy(pattern, firsts.data()[k]);
    }
  });
}

auto frontier_annealed(Vector<std::int64_t> starts, Vector<std::int32_t> columns,
                       Vector<std::int32_t> order, std::uint64_t steps, std::uint64_t seed,
                       double seconds) {
  return unlocked_order([&](Order& best, double& least) {
    const Pattern pattern(starts, columns);
    best.assign(order.data(), order.data() + order.size());
    Costed costed(pattern, subsets(), best);
    least = costed.total();
    anneal(costed, best, least, steps, seed, seconds);
  });
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def(
      "frontier_greedy", &frontier_greedy, nb::arg("starts"), nb::arg("columns"), nb::arg("firsts"),
      "Of the plain order of rows and greedy ones from some rows the best, and its products.");
  module.def(
      "frontier_annealed", &frontier_annealed, nb::arg("starts"), nb::arg("columns"),
      nb::arg("order"), nb::arg("steps"), nb::arg("seed"), nb::arg("seconds"),
      "A better order by simulated annealing, given up after some seconds, and its products.");
});

}  // namespace
}  // namespace hardscape::permanents
