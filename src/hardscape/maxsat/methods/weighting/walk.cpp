// The focused random walk of walker.hpp on one thread.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "maxsat/best.hpp"
#include "maxsat/instance.hpp"
#include "maxsat/walker.hpp"
#include "native/arrays.hpp"

namespace hardscape::maxsat {
namespace {

// Flips between two looks at the stop flag, some 0.1 ms.
constexpr std::uint64_t kPoll = 2048;

class Walk {
 public:
  virtual ~Walk() = default;
  // False where the constructor was stopped: not to be used.
  virtual bool complete() const = 0;
  // Walks until `target` clauses or fewer are violated, `flips` are done, or `stop` is set.
  virtual std::uint64_t run(std::uint64_t flips, std::uint64_t target,
                            const volatile std::uint8_t* stop) = 0;
  // Goes on from an assignment, or from where it is, and forgets the best so far.
  virtual void renew(const std::uint8_t* assignment) = 0;
  virtual std::uint64_t best_cost() const = 0;
  virtual std::uint64_t cost() const = 0;
  virtual const std::vector<std::uint8_t>& best() const = 0;
};

// The same numbers, in words of another size or as they are.
template <class Index>
std::vector<Index> in_words_of(std::vector<std::uint32_t>&& numbers) {
  if constexpr (std::is_same_v<Index, std::uint32_t>)
    return std::move(numbers);
  else
    return {numbers.begin(), numbers.end()};
}

template <int K, class Index, class Word, int Count>
class WalkOf final : public Walk {
 public:
  WalkOf(Instance&& instance, const std::uint32_t* weights, std::uint64_t seed,
         std::uint64_t stream, const std::uint8_t* initial, const volatile std::uint8_t* stop)
      : clause_(in_words_of<Index>(std::move(instance.clause))),
        occurrence_(in_words_of<Index>(std::move(instance.occurrence))),
        start_(std::move(instance.start)),
        first_(std::move(instance.first)),
        weight_(weights, weights + kBreakWeights),
        breaks_(std::size_t{instance.num_variables} + kSpareBreaks),
        value_(instance.num_variables),
        random_(seed, stream, kWalkPurpose),
        best_(instance.num_variables),
        formula_{clause_.data(), start_.data(),  occurrence_.data(),
                 first_.data(),  weight_.data(), instance.num_variables} {
    const Poll stopped(stop);
    const std::size_t m = instance.num_clauses;
    if (!extend(word_, m, stopped) || !extend(violated_, m + 1, stopped) ||
        !extend(leaving_, m, stopped))
      return;
    state_ = {word_.data(), breaks_.data(), value_.data(), violated_.data(), leaving_.data(), 0};
    RandomStream coins(seed, stream, kInitialPurpose);
    for (std::size_t v = 0; v < value_.size(); ++v)
      value_[v] = initial ? initial[v] : static_cast<std::uint8_t>(coins.next() >> 63);
    for (std::uint32_t c = 0; c < m; ++c) {
      if (stopped(c)) return;
      place(c);
    }
    complete_ = true;
    best_.set(value_);
    best_cost_ = state_.num_violated;
  }

  bool complete() const override { return complete_; }

  void renew(const std::uint8_t* assignment) override {
    if (assignment) {
      std::copy_n(assignment, value_.size(), value_.begin());
      std::fill(breaks_.begin(), breaks_.end(), 0);
      state_.num_violated = 0;
      for (std::uint32_t c = 0; c < word_.size(); ++c) place(c);
    }
    best_.set(value_);
    best_cost_ = state_.num_violated;
  }

  std::uint64_t run(std::uint64_t flips, std::uint64_t target,
                    const volatile std::uint8_t* stop) override {
    // Copies that the compiler can hold in registers.
    const WalkFormula<Index> formula = formula_;
    State state = state_;
    RandomStream random = random_;
    std::uint64_t done = 0;
    bool reached = false;
    while (done < flips && !reached && !*stop) {
      const std::uint64_t until = flips - done < kPoll ? flips : done + kPoll;
      for (; done < until; ++done) {
        if (state.num_violated <= target || state.num_violated == 0) {
          reached = true;
          break;
        }
        best_.flipped(step<K>(formula, state, random));
        if (state.num_violated < best_cost_) {
          best_cost_ = state.num_violated;
          best_.improved(value_);
        }
      }
    }
    state_ = state;
    random_ = random;
    return done;
  }

  std::uint64_t best_cost() const override { return best_cost_; }
  std::uint64_t cost() const override { return state_.num_violated; }
  const std::vector<std::uint8_t>& best() const override { return best_.value(); }

 private:
  using State = WalkState<Index, Word, Count>;

  void place(std::uint32_t c) {
    Word word = 0;
    for (std::uint32_t i = start_[c]; i < start_[c + 1]; ++i) {
      const std::uint32_t l = clause_[i];
      if (value_[l >> 1] != (l & 1)) word += State::kOne + (l >> 1);
    }
    if (word >> Count == 0) {
      word = state_.num_violated;
      violated_[state_.num_violated++] = static_cast<Index>(c);
    } else if (word >> Count == 1) {
      ++breaks_[word & State::kSum];
    }
    word_[c] = word;
  }

  std::vector<Index> clause_, occurrence_;
  std::vector<std::uint32_t> start_, first_, weight_;
  std::vector<Word> word_;
  std::vector<std::uint32_t> breaks_;
  std::vector<std::uint8_t> value_;
  std::vector<Index> violated_;
  std::vector<std::uint32_t> leaving_;
  RandomStream random_;
  BestAssignment best_;
  WalkFormula<Index> formula_;
  State state_{};
  std::uint64_t best_cost_ = UINT64_MAX;
  bool complete_ = false;
};

std::unique_ptr<Walk> make(Instance&& instance, const std::uint32_t* weights, std::uint64_t seed,
                           std::uint64_t stream, const std::uint8_t* initial,
                           const volatile std::uint8_t* stop) {
  const std::uint64_t n = instance.num_variables, m = instance.num_clauses;
  const bool three = instance.uniform == 3;
  if (three && 2 * n <= 65536 && m < 65536)
    return std::make_unique<WalkOf<3, std::uint16_t, std::uint32_t, 28>>(
        std::move(instance), weights, seed, stream, initial, stop);
  if (three && 3 * n < 1u << 28 && m < 1u << 28)
    return std::make_unique<WalkOf<3, std::uint32_t, std::uint32_t, 28>>(
        std::move(instance), weights, seed, stream, initial, stop);
  if (instance.longest >= 1u << 24 || instance.longest * n >= std::uint64_t{1} << 40)
    throw std::invalid_argument("clauses too long for their number of variables");
  return std::make_unique<WalkOf<0, std::uint32_t, std::uint64_t, 40>>(std::move(instance), weights,
                                                                       seed, stream, initial, stop);
}

class PyWalk {
 public:
  PyWalk(std::uint32_t variables, Vector<std::int32_t> literals, Vector<std::int64_t> offsets,
         Vector<std::uint32_t> weights, std::uint64_t seed, std::uint64_t stream,
         std::optional<Vector<std::uint8_t>> initial, std::optional<Vector<std::uint8_t>> stop) {
    if (weights.shape(0) != kBreakWeights) throw std::invalid_argument("wrong number of weights");
    nb::gil_scoped_release release;
    const volatile std::uint8_t* flag = stop ? stop->data() : nullptr;
    Instance instance(variables, literals.data(), offsets.data(), offsets.shape(0) - 1, flag);
    if (instance.complete)
      walk_ = make(std::move(instance), weights.data(), seed, stream,
                   initial ? initial->data() : nullptr, flag);
    if (walk_ && !walk_->complete()) walk_.reset();
  }

  std::uint64_t run(std::uint64_t flips, std::uint64_t target,
                    nb::ndarray<std::uint8_t, nb::ndim<1>, nb::device::cpu> stop) {
    if (!walk_) return 0;
    nb::gil_scoped_release release;
    return walk_->run(flips, target, stop.data());
  }

  void renew(std::optional<Vector<std::uint8_t>> assignment) {
    if (!walk_) return;
    nb::gil_scoped_release release;
    walk_->renew(assignment ? assignment->data() : nullptr);
  }

  std::uint64_t best_cost() const { return walk_ ? walk_->best_cost() : UINT64_MAX; }
  std::uint64_t cost() const { return walk_ ? walk_->cost() : UINT64_MAX; }
  auto best() const {
    std::vector<std::uint8_t> copy;
    if (walk_) copy = walk_->best();
    const std::size_t n = copy.size();
    return to_numpy(std::move(copy), {n});
  }

 private:
  std::unique_ptr<Walk> walk_;
};

}  // namespace

void bind_walk(nb::module_& module) {
  nb::class_<PyWalk>(module, "Walk", "Focused random walk on a formula without weights.")
      .def(nb::init<std::uint32_t, Vector<std::int32_t>, Vector<std::int64_t>,
                    Vector<std::uint32_t>, std::uint64_t, std::uint64_t,
                    std::optional<Vector<std::uint8_t>>, std::optional<Vector<std::uint8_t>>>(),
           nb::arg("num_variables"), nb::arg("literals"), nb::arg("offsets"),
           nb::arg("break_weights"), nb::arg("seed"), nb::arg("stream"),
           nb::arg("initial").none() = nb::none(), nb::arg("stop").none() = nb::none())
      .def("run", &PyWalk::run, nb::arg("flips"), nb::arg("target"), nb::arg("stop"),
           "Walk; returns the flips done.")
      .def("renew", &PyWalk::renew, nb::arg("assignment").none() = nb::none(),
           "Go on from an assignment, or from where it is, and forget the best so far.")
      .def_prop_ro(
          "best_cost", &PyWalk::best_cost,
          "Fewest clauses violated so far; 2**64 - 1 where `stop` cut the construction short.")
      .def_prop_ro("cost", &PyWalk::cost, "Clauses violated now.")
      .def("best", &PyWalk::best, "The assignment that violates so few, uint8 of shape (n,).");
}

}  // namespace hardscape::maxsat
