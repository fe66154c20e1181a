// The walk of synchronous.hpp on one thread, as plainly as it can be said: what walks on GPUs are
// compared with. The tables are those of the GPU.
#include "maxsat/methods/islands/synchronous.hpp"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/walker.hpp"

namespace hardscape::maxsat {
namespace {

using Literals = std::array<std::uint32_t, 3>;

bool holds(const Literals& clause, std::uint32_t literal) {
  return std::find(clause.begin(), clause.end(), literal) != clause.end();
}

class SynchronousWalk {
 public:
  SynchronousWalk(Matrix<std::uint16_t> clause, Vector<std::uint32_t> rows,
                  Vector<std::uint32_t> others, Vector<std::uint32_t> weights, std::uint64_t seed,
                  std::uint64_t stream)
      : rows_(rows.data(), rows.data() + rows.shape(0)),
        others_(others.data(), others.data() + others.shape(0)),
        weights_(weights.data(), weights.data() + weights.shape(0)),
        never_(static_cast<std::uint32_t>(rows.shape(0)) - 2),
        truth_(rows.shape(0)),
        random_(seed, stream, kWalkPurpose) {
    for (std::size_t c = 0; c < clause.shape(0); ++c)
      clauses_.push_back({clause(c, 0), clause(c, 1), clause(c, 2)});
    RandomStream coins(seed, stream, kInitialPurpose);
    std::vector<std::uint8_t> value(never_ / 2);
    for (auto& v : value) v = static_cast<std::uint8_t>(coins.next() >> 63);
    go_to(value.data());
    forget();
  }

  // Does up to so many steps, fewer where `target` violated clauses are reached or `stop` is set;
  // returns how many.
  std::uint64_t run(std::uint64_t steps, std::uint64_t target,
                    nb::ndarray<std::uint8_t, nb::ndim<1>, nb::device::cpu> stop) {
    const volatile std::uint8_t* flag = stop.data();
    nb::gil_scoped_release release;
    std::uint64_t done = 0;
    for (; done < steps && violated_.size() > target && !*flag; ++done) {
      step();
      if (violated_.size() < best_cost_) forget();
    }
    return done;
  }

  void renew(std::optional<Vector<std::uint8_t>> assignment) {
    if (assignment) go_to(assignment->data());
    forget();
  }

  std::uint64_t flips() const { return flips_; }
  std::uint64_t cost() const { return violated_.size(); }
  std::uint64_t best_cost() const { return best_cost_; }
  auto best() const {
    std::vector<std::uint8_t> value(never_ / 2);
    for (std::size_t v = 0; v < value.size(); ++v) value[v] = best_[2 * v];
    return to_array(std::move(value));
  }

 private:
  void go_to(const std::uint8_t* value) {
    for (std::uint32_t v = 0; 2 * v < never_; ++v) {
      truth_[2 * v] = value[v];
      truth_[2 * v + 1] = !value[v];
    }
    violated_.clear();
    for (const Literals& clause : clauses_)
      if (!truth_[clause[0]] && !truth_[clause[1]] && !truth_[clause[2]])
        violated_.push_back(clause);
  }

  void forget() {
    best_ = truth_;
    best_cost_ = violated_.size();
  }

  // The other two literals of the occurrence at `place`, in their cyclic order.
  bool others_false(std::uint32_t place) const {
    return !truth_[others_[place] & kLiteral] && !truth_[others_[place] >> 16 & kLiteral];
  }

  std::uint32_t first_of(std::uint32_t literal) const { return rows_[literal] & kPlace; }
  std::uint32_t count_of(std::uint32_t literal) const { return rows_[literal] >> kFirst; }

  std::uint32_t weight_of(std::uint32_t literal) const {
    if (literal == never_) return 0;
    std::uint32_t breaks = 0;
    for (std::uint32_t t = 0; t < count_of(literal); ++t)
      breaks += others_false(first_of(literal) + t);
    return break_weight(weights_.data(), breaks);
  }

  std::uint32_t choose(const Literals& clause, std::uint64_t draw32) const {
    const std::uint32_t a = weight_of(clause[0]), b = weight_of(clause[1]);
    const std::uint32_t q = pick(draw32, a + b + weight_of(clause[2]));
    return q < a ? clause[0] : q < a + b ? clause[1] : clause[2];
  }

  void step() {
    const auto count = static_cast<std::uint32_t>(violated_.size());
    const std::uint32_t most = flips_at_once(count);
    std::array<Literals, kMostAtOnce> clause{};
    std::array<std::uint32_t, kMostAtOnce> named{};
    for (std::uint32_t q = 0; q < kMostAtOnce; ++q) {
      const std::uint64_t draw = random_.next();
      if (q >= most) continue;
      clause[q] = violated_[place_drawn(q, most, count, pick(draw & 0xffffffffu, count))];
      named[q] = choose(clause[q], draw >> 32);
    }
    // By parts of the list; a silent one flips nothing.
    std::vector<std::uint32_t> flipped(most, never_);
    for (std::uint32_t q = 0; q < most; ++q)
      if (std::none_of(named.begin(), named.begin() + q,
                       [&](std::uint32_t l) { return holds(clause[q], l); }))
        flipped[q] = named[q];
    flip(flipped);
  }

  // Makes literals true, but where there is none.
  void flip(const std::vector<std::uint32_t>& flipped) {
    std::vector<std::uint32_t> lost;
    std::uint32_t longest = 0;
    for (const std::uint32_t l : flipped) {
      if (l == never_) continue;
      ++flips_;
      truth_[l] = 1;
      truth_[l ^ 1] = 0;
      lost.push_back(l ^ 1);
      longest = std::max(longest, count_of(l));
    }
    std::erase_if(violated_, [&](const Literals& clause) {
      return std::any_of(clause.begin(), clause.end(), [&](std::uint32_t l) { return truth_[l]; });
    });
    const auto share = kRound / static_cast<std::uint32_t>(flipped.size());
    for (std::uint32_t base = 0; base < longest; base += share)
      for (const std::uint32_t l : flipped)
        for (std::uint32_t t = base; l != never_ && t < std::min(base + share, count_of(l)); ++t)
          join(lost, l ^ 1, first_of(l) + t);
  }

  // Lists the clause of the occurrence of `own` at `place`, if it is violated now and no lower
  // literal of it is lost.
  void join(const std::vector<std::uint32_t>& lost, std::uint32_t own, std::uint32_t place) {
    if (!others_false(place)) return;
    const std::uint32_t a = others_[place] & kLiteral, b = others_[place] >> 16 & kLiteral;
    for (const std::uint32_t l : lost)
      if (l < own && (l == a || l == b)) return;
    violated_.push_back({own, a, b});
  }

  std::vector<Literals> clauses_, violated_;
  std::vector<std::uint32_t> rows_, others_, weights_;
  std::uint32_t never_;  // the literal that fills up, and is never true
  std::vector<std::uint8_t> truth_, best_;
  RandomStream random_;
  std::uint64_t best_cost_ = 0, flips_ = 0;
};

}  // namespace

void bind_synchronous(nb::module_& module) {
  nb::class_<SynchronousWalk>(module, "SynchronousWalk",
                              "Focused random walk that flips several variables at once.")
      .def(nb::init<Matrix<std::uint16_t>, Vector<std::uint32_t>, Vector<std::uint32_t>,
                    Vector<std::uint32_t>, std::uint64_t, std::uint64_t>(),
           nb::arg("clause"), nb::arg("rows"), nb::arg("others"), nb::arg("break_weights"),
           nb::arg("seed"), nb::arg("stream"))
      .def("run", &SynchronousWalk::run, nb::arg("steps"), nb::arg("target"), nb::arg("stop"),
           "Walk; returns the steps done.")
      .def("renew", &SynchronousWalk::renew, nb::arg("assignment").none() = nb::none(),
           "Go on from an assignment, or from where it is, and forget the best so far.")
      .def_prop_ro("flips", &SynchronousWalk::flips, "Flips done.")
      .def_prop_ro("best_cost", &SynchronousWalk::best_cost, "Fewest clauses violated so far.")
      .def_prop_ro("cost", &SynchronousWalk::cost, "Clauses violated now.")
      .def("best", &SynchronousWalk::best,
           "The assignment that violates so few, uint8 of shape (n,).");
}

}  // namespace hardscape::maxsat
