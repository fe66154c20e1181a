// The focused random walk of walker.hpp, as Python sees it.
#include "maxsat/methods/weighting/walk.hpp"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "native/arrays.hpp"

namespace hardscape::maxsat {
namespace {

class Walk {
 public:
  virtual ~Walk() = default;
  // False where the constructor was stopped: not to be used.
  virtual bool complete() const = 0;
  // Has it go on by other weights.
  virtual void weigh(const std::uint32_t* weights) = 0;
  virtual std::uint64_t run(std::uint64_t flips, std::uint64_t target,
                            const volatile std::uint8_t* stop) = 0;
  virtual std::uint64_t best_cost() const = 0;
  virtual std::uint64_t cost() const = 0;
  virtual const std::vector<std::uint8_t>& best() const = 0;
};

// What a walk reads of a formula: in words of 16 bits, or where it is.
template <class Index>
class Words {
 public:
  using Literal = std::uint16_t;

  explicit Words(const Instance& instance)
      : occurrence_(instance.occurrence.begin(), instance.occurrence.end()) {
    clause_.reserve(instance.occurrence.size());
    for (std::uint32_t c = 0; c < instance.num_clauses; ++c)
      for (const std::int32_t x : instance.literals(c))
        clause_.push_back(static_cast<Literal>(Clauses::code(x)));
  }

  const Literal* clause() const { return clause_.data(); }
  const Index* occurrence() const { return occurrence_.data(); }

 private:
  std::vector<Literal> clause_;
  std::vector<Index> occurrence_;
};

template <>
class Words<std::uint32_t> {
 public:
  using Literal = std::int32_t;

  explicit Words(const Instance& instance) : instance_(instance) {}
  const Literal* clause() const { return instance_.clause; }
  const std::uint32_t* occurrence() const { return instance_.occurrence.data(); }

 private:
  const Instance& instance_;
};

template <int K, class Index, class Word, int Count>
class WalkOf final : public Walk {
 public:
  // The instance must outlive it.
  WalkOf(const Instance& instance, const std::uint32_t* weights, std::uint64_t seed,
         std::uint64_t stream, const std::uint8_t* initial, const Poll& stopped)
      : words_(instance),
        weight_(weights, weights + kBreakWeights),
        random_(seed, stream, kWalkPurpose),
        walker_({words_.clause(), instance.start, words_.occurrence(), instance.first.data(),
                 weight_.data(), instance.num_variables},
                instance.num_clauses, stopped) {
    RandomStream coins(seed, stream, kInitialPurpose);
    std::vector<std::uint8_t>& value = walker_.value();
    for (std::size_t v = 0; v < value.size(); ++v)
      value[v] = initial ? initial[v] : static_cast<std::uint8_t>(coins.next() >> 63);
    complete_ = walker_.begin(stopped);
  }

  bool complete() const override { return complete_; }
  void weigh(const std::uint32_t* weights) override {
    std::copy_n(weights, kBreakWeights, weight_.begin());
  }
  std::uint64_t run(std::uint64_t flips, std::uint64_t target,
                    const volatile std::uint8_t* stop) override {
    return walker_.run(flips, target, random_, stop);
  }
  std::uint64_t best_cost() const override { return walker_.best_cost(); }
  std::uint64_t cost() const override { return walker_.cost(); }
  const std::vector<std::uint8_t>& best() const override { return walker_.best(); }

 private:
  Words<Index> words_;
  std::vector<std::uint32_t> weight_;
  RandomStream random_;
  Walker<K, typename Words<Index>::Literal, Index, Word, Count> walker_;
  bool complete_ = false;
};

std::unique_ptr<Walk> make(const Instance& instance, const std::uint32_t* weights,
                           std::uint64_t seed, std::uint64_t stream, const std::uint8_t* initial,
                           const Poll& stop) {
  const std::uint64_t n = instance.num_variables, m = instance.num_clauses;
  const bool three = instance.uniform == 3;
  if (three && 2 * n <= 65536 && m < 65536)
    return std::make_unique<WalkOf<3, std::uint16_t, std::uint32_t, 28>>(instance, weights, seed,
                                                                         stream, initial, stop);
  if (three && 3 * n < 1u << 28 && m < 1u << 28)
    return std::make_unique<WalkOf<3, std::uint32_t, std::uint32_t, 28>>(instance, weights, seed,
                                                                         stream, initial, stop);
  if (instance.longest >= 1u << 24 || instance.longest * n >= std::uint64_t{1} << 40)
    throw std::invalid_argument("clauses too long for their number of variables");
  return std::make_unique<WalkOf<0, std::uint32_t, std::uint64_t, 40>>(instance, weights, seed,
                                                                       stream, initial, stop);
}

class PyWalk {
 public:
  PyWalk(const nb::object& formula, Vector<std::uint32_t> weights, std::uint64_t seed,
         std::uint64_t stream, std::optional<Vector<std::uint8_t>> initial,
         std::optional<Vector<std::uint8_t>> stop)
      : formula_(formula) {
    check(weights);
    const Clauses given(formula);
    const Poll stopped(stop);
    nb::gil_scoped_release release;
    instance_ = shared_instance(given, stopped);
    if (instance_)
      walk_ = make(*instance_, weights.data(), seed, stream, initial ? initial->data() : nullptr,
                   stopped);
    if (walk_ && !walk_->complete()) walk_.reset();
  }

  void weigh(Vector<std::uint32_t> weights) {
    check(weights);
    if (walk_) walk_->weigh(weights.data());
  }

  std::uint64_t run(std::uint64_t flips, std::uint64_t target,
                    nb::ndarray<std::uint8_t, nb::ndim<1>, nb::device::cpu> stop) {
    if (!walk_) return 0;
    nb::gil_scoped_release release;
    return walk_->run(flips, target, stop.data());
  }

  std::uint64_t best_cost() const { return walk_ ? walk_->best_cost() : UINT64_MAX; }
  std::uint64_t cost() const { return walk_ ? walk_->cost() : UINT64_MAX; }
  auto best() const { return to_array(walk_ ? walk_->best() : std::vector<std::uint8_t>()); }

 private:
  static void check(const Vector<std::uint32_t>& weights) {
    if (weights.shape(0) != kBreakWeights) throw std::invalid_argument("wrong number of weights");
  }

  nb::object formula_;
  std::shared_ptr<const Instance> instance_;
  std::unique_ptr<Walk> walk_;
};

}  // namespace

void bind_walk(nb::module_& module) {
  nb::class_<PyWalk>(module, "Walk", "Focused random walk on a formula without weights.")
      .def(nb::init<const nb::object&, Vector<std::uint32_t>, std::uint64_t, std::uint64_t,
                    std::optional<Vector<std::uint8_t>>, std::optional<Vector<std::uint8_t>>>(),
           nb::arg("formula"), nb::arg("break_weights"), nb::arg("seed"), nb::arg("stream"),
           nb::arg("initial").none() = nb::none(), nb::arg("stop").none() = nb::none())
      .def("run", &PyWalk::run, nb::arg("flips"), nb::arg("target"), nb::arg("stop"),
           "Walk; returns the flips done.")
      .def("weigh", &PyWalk::weigh, nb::arg("break_weights"), "Go on by other weights.")
      .def_prop_ro(
          "best_cost", &PyWalk::best_cost,
          "Fewest clauses violated so far; 2**64 - 1 where `stop` cut the construction short.")
      .def_prop_ro("cost", &PyWalk::cost, "Clauses violated now.")
      .def("best", &PyWalk::best, "The assignment that violates so few, uint8 of shape (n,).");
}

}  // namespace hardscape::maxsat
