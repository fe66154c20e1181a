// The states for which a weighted sum of spins is nearest to zero, by meeting in the middle.
//
// The spins are cut into two halves. Of each half all sums are made in order, a slice of values at
// a time (R. Schroeppel, A. Shamir, SIAM J. Comput. 10 (1981) 456, with slices for their heaps),
// and two pointers find the pairs that nearly cancel (E. Horowitz, S. Sahni, J. ACM 21 (1974) 277).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "ising/methods/lists.hpp"
#include "ising/methods/patience.hpp"
#include "native/arrays.hpp"
#include "native/family.hpp"
#include "native/wide.hpp"

namespace hardscape::ising {
namespace {

constexpr std::size_t kSamples = 256;  // of each list, from which slices are cut
constexpr std::size_t kPollEvery = 1 << 12;

struct Met {
  double pairs = 0;
  bool complete = true;
};

template <int Limbs>
struct Sum {
  Wide<Limbs> value;
  std::uint64_t code;

  bool operator<(const Sum& other) const { return value < other.value; }
};

template <int Limbs, class Code>
class Halves {
 public:
  using Integer = Wide<Limbs>;
  using States = Pool<Limbs, Code>;
  using Sums = std::vector<Sum<Limbs>>;

  // Spin i, when it is up, adds rises[i] to what all spins down have.
  Halves(std::vector<Integer> rises, const Integer& least, std::size_t slices)
      : rises_(std::move(rises)), least_(least), middle_(rises_.size() / 2) {
    const std::size_t n = rises_.size();
    if (slices == 1) {
      left_[0] = sums(0, middle_);
      right_[0] = sums(middle_, n);
      return;
    }
    left_[0] = sums(0, middle_ / 2);
    left_[1] = sums(middle_ / 2, middle_);
    right_[0] = sums(middle_, (middle_ + n) / 2);
    right_[1] = sums((middle_ + n) / 2, n);
    cut(slices);
  }

  Met run(std::size_t first, std::size_t last, States& pool,
          const volatile std::uint8_t* stop) const {
    Met met;
    for (std::size_t slice = first; slice < last && met.complete; ++slice) {
      if (left_[1].empty()) {
        meet(left_[0], right_[0], pool, stop, met);
        break;
      }
      const auto below = [&](std::size_t i) -> std::optional<Integer> {
        return i < cuts_.size() ? std::optional(cuts_[i]) : std::nullopt;
      };
      const Sums left = gathered(left_, slice ? below(slice - 1) : std::nullopt, below(slice));
      if (left.empty()) continue;
      std::optional<Integer> from, to;
      if (pool.bounded()) {
        const Integer one = unit(), far = pool.threshold();
        from = -far - least_ - left.back().value;
        to = far - least_ - left.front().value + one;
      }
      meet(left, gathered(right_, from, to), pool, stop, met);
    }
    return met;
  }

 private:
  static Integer unit() {
    Integer one = Integer::zero();
    one.word[0] = 1;
    return one;
  }

  // All sums of spins [begin, end), ascending: those without and those with each spin are merged.
  Sums sums(std::size_t begin, std::size_t end) const {
    Sums all{{Integer::zero(), 0}}, with, both;
    for (std::size_t i = begin; i < end; ++i) {
      with = all;
      for (auto& sum : with) {
        sum.value += rises_[i];
        sum.code |= std::uint64_t{1} << (i - begin);
      }
      both.resize(2 * all.size());
      std::merge(all.begin(), all.end(), with.begin(), with.end(), both.begin());
      std::swap(all, both);
    }
    return all;
  }

  // Slices of about as many sums of the left half each.
  void cut(std::size_t slices) {
    std::vector<Integer> sample;
    const auto each = [](const Sums& sums, auto&& visit) {
      const std::size_t count = std::min(kSamples, sums.size());
      for (std::size_t i = 0; i < count; ++i) visit(sums[(2 * i + 1) * sums.size() / (2 * count)]);
    };
    each(left_[0], [&](const auto& a) {
      each(left_[1], [&](const auto& b) { sample.push_back(a.value + b.value); });
    });
    std::sort(sample.begin(), sample.end());
    for (std::size_t i = 1; i < slices; ++i) {
      cuts_.push_back(sample[i * sample.size() / slices]);
    }
  }

  // The sums of a half in [from, to), ascending.
  static Sums gathered(const Sums (&quarters)[2], const std::optional<Integer>& from,
                       const std::optional<Integer>& to) {
    const Sums &low = quarters[0], &high = quarters[1];
    const int shift = low.size() > 1 ? 64 - __builtin_clzll(low.size() - 1) : 0;
    Sums found;
    std::size_t begin = from ? high.size() : 0, end = high.size();
    for (const auto& a : low) {
      while (begin > 0 && !(a.value + high[begin - 1].value < *from)) --begin;
      while (to && end > 0 && !(a.value + high[end - 1].value < *to)) --end;
      for (std::size_t i = begin; i < end; ++i) {
        found.push_back({a.value + high[i].value, a.code | high[i].code << shift});
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  // Offers all pairs whose value is at most the threshold away from zero.
  void meet(const Sums& left, const Sums& right, States& pool, const volatile std::uint8_t* stop,
            Met& met) const {
    std::size_t begin = pool.bounded() ? right.size() : 0, visited = 0;
    for (const auto& a : left) {
      if (++visited % kPollEvery == 0 && *stop == kStop) {
        met.complete = false;
        return;
      }
      const Integer base = least_ + a.value;
      if (pool.bounded()) {
        const Integer low = -pool.threshold() - base;
        while (begin > 0 && !(right[begin - 1].value < low)) --begin;
        while (begin < right.size() && right[begin].value < low) ++begin;
      }
      for (std::size_t i = begin; i < right.size(); ++i) {
        const Integer value = base + right[i].value;
        const Integer far = value.flipped(value.negative());
        if (pool.bounded() && pool.threshold() < far) {
          if (value.negative()) continue;
          break;
        }
        met.pairs += 1;
        pool.offer(far, Code{a.code} | Code{right[i].code} << middle_);
      }
    }
  }

  std::vector<Integer> rises_;
  Integer least_;
  std::size_t middle_;
  Sums left_[2], right_[2];  // lists of quarters, or, with one slice, of halves and nothing
  std::vector<Integer> cuts_;
};

// States (n, words), their distances from zero, whether all was done, pairs looked at.
using Nearest = std::tuple<Words64, Words64, bool, double>;

class AnyHalves {
 public:
  virtual ~AnyHalves() = default;
  virtual Nearest run(std::size_t first, std::size_t last, std::size_t wanted,
                      std::optional<Vector<std::uint64_t>> far,
                      Vector<std::uint8_t> stop) const = 0;
};

template <int Limbs, class Code>
class HalvesOf final : public AnyHalves {
 public:
  template <class... Args>
  explicit HalvesOf(Args&&... args) : halves_(std::forward<Args>(args)...) {}

  Nearest run(std::size_t first, std::size_t last, std::size_t wanted,
              std::optional<Vector<std::uint64_t>> far, Vector<std::uint8_t> stop) const override {
    auto [states, energies, met] = collect<Limbs, Code>(
        wanted, false, far, std::nullopt,
        [&](Pool<Limbs, Code>& pool) { return halves_.run(first, last, pool, stop.data()); });
    return {std::move(states), std::move(energies), met.complete, met.pairs};
  }

 private:
  Halves<Limbs, Code> halves_;
};

std::unique_ptr<AnyHalves> make_halves(Matrix<std::uint64_t> rises, Vector<std::uint64_t> least,
                                       std::size_t words, std::size_t slices) {
  nb::gil_scoped_release release;
  const std::size_t limbs = least.shape(0);
  return for_widths(limbs, words, [&]<int Limbs, class Code>() -> std::unique_ptr<AnyHalves> {
    std::vector<Wide<Limbs>> each;
    for (std::size_t i = 0; i < rises.shape(0); ++i) {
      each.push_back(Wide<Limbs>::load(rises.data() + i * limbs));
    }
    return std::make_unique<HalvesOf<Limbs, Code>>(std::move(each), Wide<Limbs>::load(least.data()),
                                                   slices);
  });
}

const native::Family family("ising", [](nb::module_& module) {
  nb::class_<AnyHalves>(module, "Halves")
      .def("run", &AnyHalves::run, nb::arg("first"), nb::arg("last"), nb::arg("wanted"),
           nb::arg("far").none(), nb::arg("stop"),
           "The states nearest to zero, none further than `far`, of a range of slices.");
  module.def("halves", &make_halves, nb::arg("rises"), nb::arg("least"), nb::arg("words"),
             nb::arg("slices"),
             "Prepare a search for sums of `least` and some of `rises` that are near zero.");
});

}  // namespace
}  // namespace hardscape::ising
