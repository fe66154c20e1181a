// Which clause-weighting search suits a formula; and several in turns. Where encodings are
// deep, weights of hard clauses take long to learn, and a restart would lose them; elsewhere
// restarts are what helps. So one search goes on, under pressure or, where no clause is hard, with
// weights that fall again, beside one that begins anew time after time, and, where clauses are
// about values of things, annealing; who has found less has fewer flips.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "maxsat/methods/values/annealing.hpp"
#include "maxsat/methods/weighting/weighting.hpp"

namespace hardscape::maxsat {

constexpr std::uint64_t kPressingPurpose = 0x6d787072, kReturningPurpose = 0x6d787274;
// Flips of a turn, and on each variable one more.
constexpr std::uint64_t kTurn = 4096;

class Alternation final : public AnyWeighting {
 public:
  Alternation(std::vector<std::unique_ptr<AnyWeighting>> searches, std::uint64_t turn)
      : searches_(std::move(searches)),
        courses_(searches_.size()),
        turn_(turn),
        whole_(kFirst * turn),
        left_(whole_) {}

  bool complete() const override {
    return std::ranges::all_of(searches_, [](const auto& search) { return search->complete(); });
  }

  void adopt(const std::uint8_t* value, const volatile std::uint8_t* stop) override {
    for (const auto& search : searches_) search->adopt(value, stop);
    for (Course& course : courses_) course = {};
  }

  std::uint64_t run(std::uint64_t flips, unsigned __int128 target,
                    const volatile std::uint8_t* stop) override {
    std::uint64_t done = 0;
    while (done < flips && !*stop) {
      const std::uint64_t asked = std::min(left_, flips - done);
      const std::uint64_t found = searches_[now_]->run(asked, target, stop);
      done += found;
      left_ -= found;
      if (found < asked) break;
      if (left_ > 0) continue;
      courses_[now_].went(whole_, searches_[now_]->best_cost());
      now_ = (now_ + 1) % searches_.size();
      if (begun_ < searches_.size() && now_ > 0) {
        if (now_ == 1) searches_[0]->temper(kAnew);  // it leaves pressing to the second
        ++begun_;
        left_ = whole_ = kFirst * turn_;
        continue;
      }
      left_ = whole_ = behind() ? turn_ / kLess : turn_;
    }
    return done;
  }

  const WideCost& best_cost() const override { return better().best_cost(); }
  const std::vector<std::uint8_t>& best() const override { return better().best(); }
  std::uint64_t restarts() const override {
    std::uint64_t sum = 0;
    for (const auto& search : searches_) sum += search->restarts();
    return sum;
  }
  void temper(Tempers tempers) override {
    for (const auto& search : searches_) search->temper(tempers);
  }

 private:
  static constexpr std::uint64_t kLess = 4;  // turns of who is behind in one of the other
  static constexpr std::uint64_t kFirst =
      8;  // turns that each begins with: small formulas end there
  // Turns of each, or flips where these are fewer, before one may be behind.
  static constexpr std::uint64_t kTried = 32, kMostTried = 500'000;

  // What a search has found, and after how many flips.
  class Course {
   public:
    void went(std::uint64_t flips, const WideCost& cost) {
      flips_ += flips;
      if (found_.empty() || cost < found_.back().second) found_.emplace_back(flips_, cost);
    }
    std::uint64_t flips() const { return flips_; }
    // After that many flips at most.
    WideCost after(std::uint64_t flips) const {
      const auto later = std::upper_bound(
          found_.begin(), found_.end(), flips,
          [](std::uint64_t flips, const auto& found) { return flips < found.first; });
      return later == found_.begin() ? WideCost{UINT64_MAX, 0} : std::prev(later)->second;
    }

   private:
    std::uint64_t flips_ = 0;
    std::vector<std::pair<std::uint64_t, WideCost>> found_;
  };

  // Whether the search whose turn it is had found less than another one after as many flips.
  bool behind() const {
    const std::uint64_t own = courses_[now_].flips();
    return std::ranges::any_of(courses_, [&](const Course& other) {
      const std::uint64_t both = std::min(own, other.flips());
      const bool tried = both >= std::min(kTried * turn_, kMostTried);
      return tried && other.after(both) < courses_[now_].after(both);
    });
  }

  const AnyWeighting& better() const {
    return **std::ranges::min_element(searches_, {}, [](const auto& search) {
      return std::make_pair(search->best_cost().hard, search->best_cost().soft);
    });
  }

  std::vector<std::unique_ptr<AnyWeighting>> searches_;
  std::vector<Course> courses_;
  std::uint64_t turn_, whole_, left_;  // of flips: of one that is not behind, of this one, in it
  std::size_t begun_ = 1, now_ = 0;    // how many have had a turn, and whose it is
};

// Most occurrences of a variable.
inline std::uint32_t most_occurrences(const Instance& instance) {
  std::uint32_t most = 0;
  for (std::size_t v = 0; v < instance.num_variables; ++v)
    most = std::max(most, instance.first[2 * v + 2] - instance.first[2 * v]);
  return most;
}

// One search, or three where clauses are not too many and some are soft. On large formulas it takes
// half the bytes, if nothing there is larger than it can keep.
inline std::unique_ptr<AnyWeighting> weighting_of(const Given& given,
                                                  const WeightingOptions& options) {
  const Instance& instance = given.instance;
  constexpr std::int32_t kLarge = 300'000, kMostAlternated = 3'000'000;  // literals
  double total = 0, soft = 0, most = 0;
  for (std::size_t c = 0; c < instance.num_clauses; ++c)
    if (!given.hard[c]) {
      const auto w = static_cast<double>(given.weight[c]);
      total += w, ++soft, most = std::max(most, w);
    }
  const std::int32_t literals = instance.start[instance.num_clauses];
  const double largest = soft > 0 ? most * soft / total * kUnit : 0;
  const bool narrow = instance.complete && literals > kLarge && NarrowStates::fits(instance) &&
                      largest * static_cast<double>(options.soft_limit) < 1 << 30;
  // Soft search weights end at their limit, or one increase beyond it; hard ones have none.
  const double end = 1 + static_cast<double>(options.soft_limit) + 10 * options.soft_increase;
  const bool bounded = soft == static_cast<double>(instance.num_clauses);
  const bool two = soft > 0 && literals <= kMostAlternated;
  const auto make = [&]<class States, class Score>(
                        Tempers tempers, std::uint64_t purpose) -> std::unique_ptr<AnyWeighting> {
    return std::make_unique<WeightingOf<States, Score>>(given, options, tempers, purpose);
  };
  const auto one = [&](Tempers tempers) {
    constexpr std::uint64_t purpose = kWeightingPurpose;
    if (!narrow) return make.template operator()<WideStates, std::int64_t>(tempers, purpose);
    if (bounded && 2 * (largest + 1) * end * most_occurrences(instance) < INT32_MAX)
      return make.template operator()<NarrowStates, std::int32_t>(tempers, purpose);
    return make.template operator()<NarrowStates, std::int64_t>(tempers, purpose);
  };
  if (!two) return one(kTempers);
  std::vector<std::unique_ptr<AnyWeighting>> searches;
  searches.push_back(one(kTempers));
  searches.push_back(make.template operator()<WideStates, std::int64_t>(
      bounded ? Tempers(kSmoothed) : Tempers(kPressed), kPressingPurpose));
  if (!bounded)
    searches.push_back(
        make.template operator()<WideStates, std::int64_t>(Tempers(kReturning), kReturningPurpose));
  auto annealing = std::make_unique<Annealing>(given);
  if (annealing->complete()) searches.push_back(std::move(annealing));
  return std::make_unique<Alternation>(std::move(searches), kTurn + instance.num_variables);
}

}  // namespace hardscape::maxsat
