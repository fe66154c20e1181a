// A search by cores that unit propagation finds: soft clauses are demanded one after another, and
// where some contradict one another, one of them is given up, which is cheap for the cores that it
// was in. The next sets to be given up are cheap hitting sets of all cores met so far (implicit
// hitting sets: Davies and Bacchus, CP 2011), mostly of wishes that cost no more than the dearest
// one must, or what the best assignment violates, but for one.
// Where few wishes hit all cores, the cheapest such sets are tried one after another. Most often
// the surroundings of one violated clause are searched instead.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/methods/given.hpp"
#include "maxsat/methods/hitting/assignments.hpp"
#include "maxsat/methods/hitting/cores.hpp"
#include "maxsat/methods/hitting/descent.hpp"
#include "maxsat/methods/hitting/propagation.hpp"
#include "maxsat/methods/hitting/reduced.hpp"
#include "maxsat/methods/hitting/surroundings.hpp"
#include "maxsat/methods/hitting/wishes.hpp"
#include "maxsat/methods/weighting/pool.hpp"
#include "maxsat/walker.hpp"
#include "native/random.hpp"

namespace hardscape::maxsat {

constexpr std::uint64_t kHittingPurpose = 0x6d786869;

class Hitting {
 public:
  // The values to begin with are tried first. Makes room, unless stopped.
  explicit Hitting(const Given& given)
      : instance_(given.instance),
        hard_(given.hard),
        random_(given.seed, given.stream, kHittingPurpose),
        assignments_(given.instance, given.weight, given.hard, wishes_) {
    std::uint32_t top = instance_.num_variables;
    for (std::uint32_t c = 0; c < instance_.num_clauses; ++c)
      top += !hard_[c] && instance_.length(c) > 1;
    propagation_.prepare(top);
    phase_.assign(top, 0);
    if (given.initial) std::copy_n(given.initial, instance_.num_variables, phase_.begin());
    relaxes_ = instance_.num_variables;
    complete_ = instance_.complete && tell(given.weight, given.stopped);
  }

  // False where the constructor was stopped: not to be used.
  bool complete() const { return complete_; }
  // Whether nothing is left to try: the best assignment costs no more than the lower bound, or the
  // hard clauses contradict one another.
  bool given_up() const {
    return contradicts_ || (best_cost().hard == 0 && best_cost().soft <= bound());
  }
  // Whether few wishes hit all cores met so far, and such sets are soon tried.
  bool few() const { return few_; }
  // What all that satisfies the hard clauses costs at least: no core and no contradiction since the
  // best assignment says anything of what costs as much.
  unsigned __int128 lower() const {
    if (best_cost().hard) return bound();
    return contradicts_ ? best_cost().soft : std::min(bound(), best_cost().soft);
  }

  // Goes on from an assignment that satisfies the hard clauses.
  void adopt(const std::uint8_t* value, const volatile std::uint8_t*) {
    std::copy_n(value, instance_.num_variables, phase_.begin());
    offer(value, true);
  }

  // Of the linear program, made once.
  const Rows& rows() {
    if (rows_.size() == 0) rows_ = rows_of(instance_, hard_);
    return rows_;
  }

  // Looks through what costs less than the best assignment by a vertex of that program; whether all
  // was tried that keeps what was held there. See `ReducedCosts`.
  bool look(const Vertex& vertex, std::span<const double> weight) {
    descent_.back(0);
    if (contradicts_) return true;
    const unsigned __int128 best =
        best_cost().hard ? ~static_cast<unsigned __int128>(0) >> 1 : best_cost().soft;
    return reduced_.look(vertex, weight, best, [&] {
      accept(false);
      return best_cost().soft;
    });
  }
  // All was tried that costs less than the best assignment.
  void close() { contradicts_ = contradicts_ || best_cost().hard == 0; }

  // Until the best assignment costs at most `target`, eight literals were assigned for each of so
  // many `flips`, about, or `stop`.
  std::uint64_t run(std::uint64_t flips, unsigned __int128 target,
                    const volatile std::uint8_t* stop) {
    // What a descent does beyond `flips` is taken off the next run's, so that it is the same search
    // however it is cut into runs.
    const std::uint64_t before = granted_;
    granted_ += flips;
    const auto done = [&] { return worked() / kLiterals; };
    const auto arrived = [&] { return best_cost().hard == 0 && best_cost().soft <= target; };
    while (done() < granted_ && !arrived() && !given_up() && !*stop) {
      const std::uint64_t from = worked();
      near_ = goes_near();
      descend(stop);
      (near_ ? near_work_ : alone_ ? alone_work_ : loose_work_) += worked() - from;
    }
    if (arrived() || *stop) granted_ = std::max(before, done());
    return granted_ - before;
  }

  const WideCost& best_cost() const { return assignments_.best_cost(); }
  const std::vector<std::uint8_t>& best() const { return assignments_.best(); }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint64_t kLiterals = 8;  // assigned in the time of a flip
  static constexpr std::size_t kLearnt = 2;      // literals of it, in those of the formula
  // Descents near the last assignment for one by a hitting set, at first and at most; and for a
  // return to the best assignment.
  static constexpr std::size_t kOften = 2, kRarely = 64, kStale = 30;
  static constexpr std::uint32_t kAnything = 8;  // one in so many is gone on from whatever it costs
  // Of so many descents by a hitting set, those that give up nothing above the ceiling.
  static constexpr std::uint32_t kHittings = 8, kBelow = 7;
  // What a wish above it counts in a hitting set, in its price.
  static constexpr double kDear = 1000;
  // Wishes that are few; those given up beside a cheapest hitting set of few before the next one is
  // tried; their work, in that of other descents by a hitting set, and that of both before any near
  // an assignment, in literals assigned.
  static constexpr std::size_t kFew = 6, kGiven = 3, kAlone = 2;
  static constexpr std::uint64_t kStart = 400'000;
  // Of so many descents near an assignment, those that give way to a look around one clause.
  static constexpr std::uint32_t kShares = 10, kAround = 9;

  bool tell(const std::int64_t* weight, const Poll& stopped) {
    if (!wishes_.take(instance_, weight, hard_, propagation_, stopped, contradicts_)) return false;
    given_ = propagation_.clauses();
    most_literals_ = (1 + kLearnt) * propagation_.literals() + 10'000;
    cores_.prepare(wishes_.price);
    descent_.prepare();
    demanded_.assign(wishes_.size(), 0);
    return true;
  }

  // What the cores cost together, or the cheapest set that hits them.
  unsigned __int128 bound() const { return std::max(cores_.paid(), hit_); }

  // In literals assigned.
  std::uint64_t worked() const {
    return propagation_.assigned() + looked_ + surroundings_.looked() + reduced_.looked() +
           cores_.looked();
  }

  // Whether the next descent is near the last assignment. Hitting sets of few wishes have a start,
  // and then as much work.
  bool goes_near() const {
    return !assignments_.satisfied().empty() && until_hitting_ > 0 &&
           !(few_ && alone_work_ + loose_work_ <= kStart + near_work_);
  }

  // One set of wishes, and an assignment under which they hold, if one is found.
  void descend(const volatile std::uint8_t* stop) {
    looked_ += 1 + wishes_.size() / kLiterals;
    if (!harden()) return;
    if (propagation_.literals() > most_literals_) {
      descent_.back(0);
      propagation_.forget(given_);
    }
    if (near_ && draw(kShares) < kAround) {
      --until_hitting_;
      look_around();
      return;
    }
    descent_.turn_over();
    alone_ = false;
    below_ = !near_ && draw(kHittings) < kBelow;
    if (near_) {
      --until_hitting_;
      if (++stale_ > kStale && !best().empty()) offer(best().data(), true);
      order_near();
    } else {
      until_hitting_ = interval_;
      interval_ = std::min(2 * interval_, kRarely);
      order_hitting();
    }
    Descent::Limits limits{.wanted = wanted_, .near = near_, .alone = alone_, .below = below_};
    if (alone_) limits.spare = kGiven;
    const bool anyway = near_ && draw(kAnything) == 0;
    if (near_ && wanted_ != kNone && !anyway) limits.allowed = wishes_.price[wanted_];
    descent_.begin(limits, hits_);
    const bool found = descent_.demand_all({phase_.data(), relaxes_}, stop);
    if (alone_ && descent_.exhausted()) few_ = false;  // such sets are not soon tried
    contradicts_ = contradicts_ || descent_.contradicts();
    if (found) accept(anyway);
  }

  // Takes the propagation's values, an assignment.
  void accept(bool anyway) {
    found_.resize(relaxes_);
    for (std::uint32_t v = 0; v < relaxes_; ++v) found_[v] = propagation_.value(v);
    std::copy(found_.begin(), found_.end(), phase_.begin());
    offer(found_.data(), anyway);
  }

  // Demands the wishes that nothing better than the best assignment gives up: beside what the cores
  // cost, each would cost what they have not counted of it. False where nothing better is left.
  bool harden() {
    if (best_cost().hard || best_cost().soft - cores_.paid() >= hardened_) return true;
    hardened_ = best_cost().soft - cores_.paid();
    for (std::uint32_t w = 0; w < wishes_.size() && !contradicts_; ++w) {
      if (cores_.residue(w) < hardened_ || demanded_[w]) continue;
      demanded_[w] = 1;
      descent_.back(0);
      contradicts_ =
          !propagation_.add({&wishes_.literal[w], 1}) || propagation_.propagate() != kNone;
    }
    return !contradicts_;
  }

  // What costs no more and satisfies a clause more, around that alone.
  void look_around() {
    std::uint32_t lost = 0;
    wanted_ = kNone;
    for (std::uint32_t w = 0; w < wishes_.size(); ++w)
      if (!assignments_.satisfied()[w] && draw(++lost) == 0) wanted_ = w;
    if (wanted_ == kNone) return;
    descent_.back(0);
    const auto draws = [&](std::uint32_t count) { return draw(count); };
    const auto &current = assignments_.current(), &satisfied = assignments_.satisfied();
    if (!surroundings_.search(wanted_, current, satisfied, draws, found_)) return;
    std::copy(found_.begin(), found_.end(), phase_.begin());
    offer(found_.data(), false);
  }

  // The wishes of a cheap hitting set come last.
  void order_hitting() {
    cover();
    wanted_ = kNone;
    std::vector<std::uint32_t>& order = descent_.order();
    order = wishes_.by_price;
    std::stable_partition(order.begin(), order.end(), [&](auto w) { return !hits_[w]; });
  }

  // What the assignment satisfies that is gone on from, in the order of before, then one wish that
  // it does not, and then the others.
  void order_near() {
    std::vector<std::uint32_t>& order = descent_.order();
    order.clear();
    taken_.assign(wishes_.size(), 0);
    for (const std::uint32_t w : descent_.last_order())
      if (assignments_.satisfied()[w] && !taken_[w]) {
        taken_[w] = 1;
        order.push_back(w);
      }
    const std::size_t held = order.size();
    for (const std::uint32_t w : wishes_.by_price)
      if (!taken_[w]) order.push_back(w);
    wanted_ = kNone;
    const auto lost = static_cast<std::uint32_t>(order.size() - held);
    if (lost == 0) return;
    std::swap(order[held], order[held + draw(lost)]);
    wanted_ = order[held];
  }

  std::uint32_t draw(std::uint32_t count) { return pick(random_.next() >> 32, count); }

  // A cheap hitting set of all cores. Where few wishes hit them, most descents try a cheapest set,
  // by turns by its price, which then bounds what an assignment costs, and by its price and twice
  // that bound for each wish: fewer ones are sooner tried all.
  void cover() {
    cores_.cover(
        [&](std::uint32_t w) {
          const double price = static_cast<double>(wishes_.price[w]) * descent_.noise();
          return below_ && wishes_.price[w] > descent_.ceiling() ? kDear * price : price;
        },
        hits_);
    if (few_ && alone_work_ > kAlone * loose_work_) return;
    constexpr unsigned __int128 most = std::uint64_t{1} << 62;
    const bool least = turn_++ % 2;
    const auto more = least ? 0 : static_cast<std::uint64_t>(std::min(most, 2 * bound()));
    few_ = cores_.lower(hits_, more);
    const auto count = std::accumulate(hits_.begin(), hits_.end(), std::size_t{0});
    few_ = few_ && count <= kFew && (count > 0 || turn_ == 1);
    if (!few_) return;
    alone_ = true;
    unsigned __int128 cost = 0;
    for (std::uint32_t w = 0; w < wishes_.size(); ++w)
      if (hits_[w]) cost += wishes_.price[w];
    if (least) hit_ = std::max(hit_, cost);
  }

  void offer(const std::uint8_t* value, bool anyway) {
    const auto [better, good] = assignments_.offer(value, anyway);
    if (better && wanted_ == kNone) interval_ = kOften;
    if (good) stale_ = 0;
  }

  const Instance& instance_;
  const std::uint8_t* hard_;
  RandomStream random_;
  Propagation propagation_;
  std::uint32_t relaxes_ = 0;  // the first variable that relaxes a clause
  Wishes wishes_;
  Cores cores_;
  Assignments assignments_;
  Descent descent_{propagation_, wishes_, cores_, random_};
  Surroundings surroundings_{instance_, propagation_, wishes_};
  Rows rows_;
  ReducedCosts reduced_{propagation_, rows_, wishes_};
  std::vector<std::uint8_t> phase_, found_, hits_, taken_, demanded_;
  std::uint64_t near_work_ = 0, alone_work_ = 0, loose_work_ = 0;
  std::uint64_t granted_ = 0, looked_ = 0;     // looks at wishes, in literals assigned
  std::size_t most_literals_ = 0, given_ = 0;  // clauses
  std::size_t until_hitting_ = 0, interval_ = kOften, stale_ = 0;  // descents
  std::uint32_t wanted_ = kNone, turn_ = 0;                        // of hitting sets of few wishes
  bool alone_ = false;               // whether little is given up beside the hitting set
  bool near_ = false, few_ = false;  // whether few wishes hit all cores
  bool below_ = false;               // whether nothing above the ceiling is given up
  unsigned __int128 hit_ = 0;
  unsigned __int128 hardened_ = ~static_cast<unsigned __int128>(0);  // between the bounds, at last
  bool complete_ = false, contradicts_ = false;
};

}  // namespace hardscape::maxsat
