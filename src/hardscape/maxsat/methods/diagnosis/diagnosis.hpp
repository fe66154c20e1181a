// The cheapest faults that explain what a circuit shows, part by part: sets of wishes that cost up
// to a threshold and explain all parts so far, each with what explains the next one beside it.
// Where nothing is left at the end, the least cost that was cut off is a lower bound and the next
// threshold.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/methods/diagnosis/circuit.hpp"
#include "maxsat/methods/diagnosis/dominators.hpp"
#include "maxsat/methods/diagnosis/worlds.hpp"
#include "maxsat/methods/given.hpp"
#include "maxsat/methods/weighting/pool.hpp"

namespace hardscape::maxsat {

class Diagnosis {
 public:
  // Nothing is drawn, and nothing begun with. Makes room, unless stopped.
  explicit Diagnosis(const Given& given)
      : instance_(given.instance), weight_(given.weight), hard_(given.hard) {
    complete_ = instance_.complete;
    given_up_ = !complete_ || !circuit_.read(instance_, weight_, hard_, given.stopped);
    if (given_up_)
      forget();
    else
      prepare();
  }

  // False where the constructor was stopped: not to be used.
  bool complete() const { return complete_; }
  // Whether nothing is left to do, or the formula is no circuit.
  bool given_up() const { return given_up_; }
  // What all that satisfies the hard clauses costs at least.
  unsigned __int128 lower() const { return lower_; }

  void adopt(const std::uint8_t*, const volatile std::uint8_t*) {}

  // Until the best assignment costs at most `target`, eight literals were looked at for each of so
  // many `flips`, about, or `stop`.
  std::uint64_t run(std::uint64_t flips, unsigned __int128 target,
                    const volatile std::uint8_t* stop) {
    const std::uint64_t before = granted_;
    granted_ += flips;
    stop_ = stop;
    const auto arrived = [&] { return best_cost_.hard == 0 && best_cost_.soft <= target; };
    while (work_ / kLooks < granted_ && !arrived() && !over()) deepen();
    if (given_up_) forget();
    if (arrived() || *stop) granted_ = std::max(before, work_ / kLooks);
    return granted_ - before;
  }

  const WideCost& best_cost() const { return best_cost_; }
  const std::vector<std::uint8_t>& best() const { return best_; }

 private:
  static constexpr std::uint32_t kNone = Circuit::kNone;
  // Work is worlds, and literals of 512 at once: so much for a flip, most for each literal of the
  // formula, and that under a threshold for what was done under the one before, at least.
  static constexpr std::uint64_t kLooks = 128, kMost = 20, kGrowth = 5;
  // Gates that may be flipped for what was given up before, faults beside that, and worlds of a
  // part that explain it.
  static constexpr std::size_t kBefore = 8, kBeside = 6, kFound = 200'000;

  // Wishes, given up together.
  struct Set {
    std::vector<std::uint32_t> wishes;
    unsigned __int128 cost = 0;
  };
  // What a world gives up: a set, and faults of the part beside it.
  struct World {
    std::uint32_t set;
    std::uint32_t count;
    std::array<std::uint32_t, kBeside> beside;
  };

  // Gives memory back at the end.
  void forget() {
    circuit_ = {};
    parts_.clear();
  }

  bool over() const { return given_up_ || *stop_; }

  std::uint64_t most() const {
    return kMost * static_cast<std::uint64_t>(instance_.start[instance_.num_clauses]);
  }

  // The parts whose constraints do not hold without faults.
  void prepare() {
    const auto& gates = circuit_.gates();
    value_.assign(instance_.num_variables, 0);
    for (const Circuit::Wish& wish : circuit_.wishes())
      value_[wish.literal >> 1] = !(wish.literal & 1);
    for (const Circuit::Gate& gate : gates) value_[gate.variable] = circuit_.output(gate, value_);
    std::vector<std::uint8_t> fails(circuit_.parts(), 0), needed(instance_.num_variables, 0);
    std::vector<std::vector<Circuit::Constraint>> constraints(circuit_.parts());
    for (const Circuit::Constraint& each : circuit_.constraints()) {
      constraints[each.part].push_back(each);
      bool holds = false;
      circuit_.each_literal(each.clause, [&](std::uint32_t l) {
        needed[l >> 1] = 1;
        holds = holds || value_[l >> 1] != (l & 1);
      });
      fails[each.part] |= !holds;
    }
    std::vector<std::vector<std::uint32_t>> cone(circuit_.parts());
    for (auto g = static_cast<std::uint32_t>(gates.size()); g-- > 0;) {
      if (!needed[gates[g].variable]) continue;
      const std::uint32_t part = circuit_.part(gates[g].variable);
      if (fails[part]) cone[part].push_back(g);
      for (std::uint32_t i = gates[g].first; i < gates[g].last; ++i)
        for (const std::uint32_t l : circuit_.cube(i)) needed[l >> 1] = 1;
    }
    Dominators dominators(circuit_, instance_.num_variables);
    for (std::uint32_t p = 0; p < circuit_.parts(); ++p) {
      if (!fails[p]) continue;
      std::reverse(cone[p].begin(), cone[p].end());
      dominators.add(cone[p], constraints[p]);
    }
    std::vector<std::uint32_t> place(instance_.num_variables);
    for (std::uint32_t p = 0; p < circuit_.parts(); ++p)
      if (fails[p]) parts_.emplace_back(circuit_, cone[p], constraints[p], dominators, place);
    threshold_ = UINT64_MAX;
    for (const Circuit::Wish& wish : circuit_.wishes())
      threshold_ = std::min<unsigned __int128>(threshold_, wish.price);
  }

  // All sets of wishes that cost no more than the threshold. The part that leaves none comes first
  // from then on.
  void deepen() {
    if (!sorted_) sort_parts();
    next_ = kAll;
    const std::uint64_t before = work_;
    std::vector<Set> sets(1);
    for (auto part = parts_.begin(); part != parts_.end() && !sets.empty(); ++part) {
      sets = explained(*part, sets);
      if (over()) return;
      if (sets.empty()) std::rotate(parts_.begin(), part, part + 1);
    }
    if (!sets.empty()) {
      settle(*std::min_element(sets.begin(), sets.end(),
                               [](const Set& a, const Set& b) { return a.cost < b.cost; }));
    } else if (next_ == kAll) {
      given_up_ = true;
    } else {
      if (circuit_.whole()) lower_ = std::max(lower_, next_);
      threshold_ = std::max(next_, threshold_ + threshold_ / 8);
      given_up_ = work_ + kGrowth * (work_ - before) > most();
    }
  }

  // The part that the fewest single faults explain comes first.
  void sort_parts() {
    sorted_ = true;
    std::vector<std::pair<std::size_t, std::size_t>> order;
    std::vector<Worlds> sorted;
    const std::vector<Set> none(1);
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      begin(parts_[p], none);
      const auto& faults = parts_[p].faults();
      for (std::uint32_t f = 0; f < faults.size(); ++f) with_fault(f, [&] { add_worlds(); });
      evaluate();
      order.push_back({found_.size(), p});
    }
    std::sort(order.begin(), order.end());
    for (const auto& [count, p] : order) sorted.push_back(std::move(parts_[p]));
    parts_ = std::move(sorted);
  }

  // The sets that explain a part, too: as they are, or with cheap faults beside them.
  std::vector<Set> explained(Worlds& part, const std::vector<Set>& sets) {
    std::vector<Set> result;
    begin(part, sets);
    std::vector<std::uint32_t> open;
    for (now_.set = 0; now_.set < sets.size() && !over(); ++now_.set) {
      choose_before();
      add_worlds();
    }
    evaluate();
    std::vector<std::uint8_t> explains(sets.size(), 0);
    for (const World& world : found_) explains[world.set] = 1;
    for (std::uint32_t s = 0; s < sets.size(); ++s) {
      if (explains[s])
        result.push_back(sets[s]);
      else
        open.push_back(s);
    }
    for (std::size_t count = 1; !open.empty() && !over(); ++count) {
      found_.clear();
      std::vector<std::uint32_t> deeper;
      for (const std::uint32_t s : open) {
        now_.set = s;
        choose_before();
        if (combine(0, count, sets[s].cost)) deeper.push_back(s);
        if (over()) return {};
      }
      evaluate();
      for (const World& world : found_) join(world, result);
      if (count == 1)
        for (const World& world : found_) singles_[world.set].push_back(world.beside[0]);
      open.swap(deeper);
      if (count == kBeside && !open.empty()) given_up_ = true;
    }
    return result;
  }

  // Begins with a part and sets.
  void begin(Worlds& part, const std::vector<Set>& sets) {
    if (!worlds_.empty()) part_->evaluate();  // was stopped before
    worlds_.clear();
    part_ = &part;
    sets_ = &sets;
    now_ = {};
    found_.clear();
    known_.clear();
    before_.clear();
    given_.clear();
    singles_.assign(sets.size(), {});
  }

  // The gates that the set's wishes are behind; these faults, and those that explain the part
  // alone beside it, are not tried beside it.
  void choose_before() {
    before_.clear();
    given_.clear();
    barred_.assign(part_->faults().size(), 0);
    for (const std::uint32_t f : singles_[now_.set]) barred_[f] = 1;
    for (const std::uint32_t wish : (*sets_)[now_.set].wishes) {
      const std::uint32_t f = part_->fault_of(wish);
      if (f == kNone) continue;
      const Worlds::Fault& fault = part_->faults()[f];
      before_.insert(before_.end(), fault.gates.begin(), fault.gates.end());
      if (fault.constrained) given_.push_back(f);
      barred_[f] = 1;
    }
    if (before_.size() > kBefore) {
      given_up_ = true;
      before_.clear();
    }
  }

  // Worlds of all sets of so many faults more, from one on, that cost no more than the threshold;
  // whether there were any.
  bool combine(std::uint32_t from, std::size_t count, unsigned __int128 cost) {
    if (count == 0) {
      add_worlds();
      return true;
    }
    const auto& faults = part_->faults();
    bool any = false;
    for (std::uint32_t f = from; f < faults.size() && !over(); ++f) {
      const unsigned __int128 with = cost + faults[f].price;
      if (with > threshold_) {
        next_ = std::min(next_, with);
        break;
      }
      if (!barred_[f]) with_fault(f, [&] { any |= combine(f + 1, count - 1, with); });
    }
    return any;
  }

  // Goes on with a fault beside the set, in each way to flip the gates that it is behind, or none
  // where it is behind a constraint.
  template <class Then>
  void with_fault(std::uint32_t f, const Then& then) {
    const Worlds::Fault& fault = part_->faults()[f];
    if (fault.gates.size() > kBefore) {
      given_up_ = true;
      return;
    }
    const std::size_t flips = flips_.size(), given = given_.size();
    now_.beside[now_.count++] = f;
    if (fault.constrained) given_.push_back(f);
    for (std::size_t way = !fault.constrained; way < std::size_t{1} << fault.gates.size(); ++way) {
      for (std::size_t i = 0; i < fault.gates.size(); ++i)
        if (way >> i & 1) flips_.push_back(fault.gates[i]);
      then();
      flips_.resize(flips);
    }
    given_.resize(given);
    --now_.count;
  }

  // Worlds of the set and the faults beside it, for each way to flip the gates that the set is
  // behind.
  void add_worlds() {
    for (std::size_t way = 0; way < std::size_t{1} << before_.size(); ++way) {
      const std::size_t world = worlds_.size();
      for (std::size_t i = 0; i < before_.size(); ++i)
        if (way >> i & 1) part_->flip(world, before_[i]);
      for (const std::uint32_t g : flips_) part_->flip(world, g);
      for (const std::uint32_t f : given_) part_->allow(world, f);
      worlds_.push_back(now_);
      if (worlds_.size() == Worlds::kCount) evaluate();
    }
  }

  void evaluate() {
    if (worlds_.empty()) return;
    work_ += part_->size() + worlds_.size();
    given_up_ = given_up_ || work_ > most() || found_.size() > kFound;
    const Worlds::Mask& good = part_->evaluate();
    for (std::size_t i = 0; i < worlds_.size(); ++i)
      if (good[i / 64] >> i % 64 & 1) found_.push_back(worlds_[i]);
    worlds_.clear();
  }

  // A set and what a world gives up beside it, unless that is known.
  void join(const World& world, std::vector<Set>& result) {
    Set both = (*sets_)[world.set];
    for (const std::uint32_t f : std::span(world.beside).first(world.count)) {
      const Worlds::Fault& fault = part_->faults()[f];
      both.wishes.push_back(fault.wish);
      both.cost += fault.price;
    }
    std::sort(both.wishes.begin(), both.wishes.end());
    if (known_.insert(both.wishes).second) result.push_back(std::move(both));
  }

  // The assignment that gives up a cheapest set.
  void settle(const Set& set) {
    given_up_ = true;
    if (circuit_.whole()) lower_ = std::max(lower_, set.cost);
    const std::vector<Set> sets{set};
    std::vector<std::uint8_t> flipped(instance_.num_variables, 0);
    for (Worlds& part : parts_) {
      begin(part, sets);
      choose_before();
      for (std::size_t way = 0; way < std::size_t{1} << before_.size(); ++way) {
        for (std::size_t i = 0; i < before_.size(); ++i)
          if (way >> i & 1) part.flip(0, before_[i]);
        for (const std::uint32_t f : given_) part.allow(0, f);
        if (!(part.evaluate()[0] & 1)) continue;
        for (std::size_t i = 0; i < before_.size(); ++i)
          if (way >> i & 1) flipped[part.variable(before_[i])] = 1;
        break;
      }
    }
    for (const std::uint32_t w : set.wishes) value_[circuit_.wishes()[w].literal >> 1] ^= 1;
    for (const Circuit::Gate& gate : circuit_.gates())
      value_[gate.variable] = circuit_.output(gate, value_) != (flipped[gate.variable] != 0);
    offer();
  }

  void offer() {
    WideCost cost{};
    for (std::uint32_t c = 0; c < instance_.num_clauses; ++c) {
      const auto literals = instance_.literals(c);
      if (std::any_of(literals.begin(), literals.end(),
                      [&](auto x) { return value_[Clauses::variable(x)] == (x > 0); }))
        continue;
      if (hard_[c])
        ++cost.hard;
      else
        cost.soft += static_cast<std::uint64_t>(weight_[c]);
    }
    if (!(cost < best_cost_)) return;
    best_cost_ = cost;
    best_ = value_;
  }

  static constexpr unsigned __int128 kAll = ~static_cast<unsigned __int128>(0);
  const Instance& instance_;
  const std::int64_t* weight_;
  const std::uint8_t* hard_;
  Circuit circuit_;
  std::vector<Worlds> parts_;  // that need an explanation
  unsigned __int128 threshold_ = 0, next_ = 0, lower_ = 0;
  // Of the part at hand: the sets, the world that is made next, gates and faults behind its set and
  // what is beside it; worlds, those that were good, and sets that were joined.
  const volatile std::uint8_t* stop_ = nullptr;
  Worlds* part_ = nullptr;
  const std::vector<Set>* sets_ = nullptr;
  World now_{};
  std::vector<std::uint32_t> before_, given_, flips_;
  std::vector<World> worlds_, found_;
  std::vector<std::vector<std::uint32_t>> singles_;  // of sets
  std::vector<std::uint8_t> barred_;                 // faults
  std::set<std::vector<std::uint32_t>> known_;
  std::uint64_t granted_ = 0, work_ = 0;
  std::vector<std::uint8_t> value_, best_;
  WideCost best_cost_{UINT64_MAX, 0};
  bool complete_ = false, given_up_ = false, sorted_ = false;
};

}  // namespace hardscape::maxsat
