// Glynn's formula over the outer signs of a sparse matrix, the inner variables eliminated, by a
// program that is interpreted; see sparse.py and structure/elimination.py.
//
// Five of the outer signs number the lanes in which a step of the program is done; the fast ones
// change innermost, and then only what depends on them is computed again.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "permanents/kernel.hpp"
#include "permanents/numbers/lanes.hpp"

namespace hardscape::permanents {
namespace {

constexpr std::size_t kSigns = 5;
constexpr std::size_t kWidth = std::size_t{1} << kSigns;
constexpr std::size_t kVecs = kWidth / kLanes;

// A number in each lane of a step.
template <std::size_t Parts>
struct Wide {
  Number<Parts> vec[kVecs];
};

// left * right + more; without `right` left + more, without `more` left * right; -1 for what is
// missing.
struct Operation {
  std::int32_t to, left, right, more;
};

// One component of a matrix of lines: entry(line, factor).
struct Lines {
  const Cube& entries;  // [part][line][factor]

  double operator()(std::size_t part, std::size_t line, std::size_t factor) const {
    return entries.data()[(part * entries.shape(1) + line) * entries.shape(2) + factor];
  }
  std::size_t count() const { return entries.shape(1); }
  std::size_t factors() const { return entries.shape(2); }
};

// What a flip of a sign adds to the factors in which it is.
template <std::size_t Parts>
struct Flip {
  std::size_t factor;
  double twice[Parts];
};

template <std::size_t Parts>
std::vector<Flip<Parts>> flip_of(const Lines& lines, std::size_t line) {
  std::vector<Flip<Parts>> flips;
  for (std::size_t j = 0; j < lines.factors(); ++j) {
    Flip<Parts> flip{j, {}};
    bool any = false;
    for (std::size_t p = 0; p < Parts; ++p) {
      flip.twice[p] = 2 * lines(p, line, j);
      any = any || flip.twice[p] != 0;
    }
    if (any) flips.push_back(flip);
  }
  return flips;
}

template <std::size_t Parts>
void apply(const std::vector<Flip<Parts>>& flips, double sign, Wide<Parts>* values) {
  for (const auto& flip : flips) {
    for (std::size_t v = 0; v < kVecs; ++v) {
      for (std::size_t p = 0; p < Parts; ++p) {
        values[flip.factor].vec[v].part[p] += sign * flip.twice[p];
      }
    }
  }
}

template <std::size_t Parts>
class Steps {
 public:
  // slow[part][1 + sign][factor], the first line that of the sums of fixed and fast ones;
  // fast[part][sign][factor]; constants[part][number]. Values are factors, results of operations,
  // constants. `changes` tells the fast signs that the result of each operation depends on.
  Steps(const Cube& slow, const Cube& fast, const Matrix<double>& constants,
        const Matrix<std::int32_t>& operations, const Vector<std::int64_t>& changes,
        std::int32_t result)
      : slow_{slow},
        fast_{fast},
        n_(slow.shape(2)),
        result_(static_cast<std::size_t>(result)),
        values_(n_ + operations.shape(0) + constants.shape(1)),
        sums_(n_),
        phases_(1) {
    for (std::size_t k = 0; k < constants.shape(1); ++k) {
      for (auto& number : values_[n_ + operations.shape(0) + k].vec) {
        for (std::size_t p = 0; p < Parts; ++p) {
          number.part[p] = Vec{} + constants.data()[p * constants.shape(1) + k];
        }
      }
    }
    phases_.resize(1 + fast.shape(1));
    for (std::size_t k = 0; k < operations.shape(0); ++k) {
      const std::int32_t* o = operations.data() + 3 * k;
      const Operation operation{static_cast<std::int32_t>(n_ + k), o[0], o[1], o[2]};
      phases_[0].push_back(operation);
      for (std::size_t b = 0; b < fast.shape(1); ++b) {
        if (changes.data()[k] >> b & 1) phases_[1 + b].push_back(operation);
      }
    }
    for (std::size_t i = 0; i + 1 + kSigns < slow.shape(1); ++i) {
      walked_.push_back(flip_of<Parts>(slow_, 1 + kSigns + i));
    }
    for (std::size_t b = 0; b < fast.shape(1); ++b) quick_.push_back(flip_of<Parts>(fast_, b));
  }

  // Goes to a position of the Gray code.
  void fill(std::uint64_t position) {
    const std::uint64_t gray = position ^ position >> 1;
    for (std::size_t lane = 0; lane < kWidth; ++lane) {
      const std::uint64_t signs = gray << kSigns | lane;
      for (std::size_t j = 0; j < n_; ++j) {
        for (std::size_t p = 0; p < Parts; ++p) {
          double sum = slow_(p, 0, j);
          for (std::size_t i = 0; i + 1 < slow_.count(); ++i) {
            const double x = slow_(p, i + 1, j);
            sum += signs >> i & 1 ? -x : x;
          }
          sums_[j].vec[lane / kLanes].part[p][lane % kLanes] = sum;
        }
      }
    }
  }

  void advance(std::uint64_t position) {
    const auto bit = static_cast<std::size_t>(std::countr_zero(position));
    apply(walked_[bit], position >> (bit + 1) & 1 ? 1.0 : -1.0, sums_.data());
  }

  // The sum over the fast signs at this position, and its magnitude.
  Wide<Parts> block(Vec (&magnitude)[kVecs]) {
    std::copy(sums_.begin(), sums_.end(), values_.begin());
    run(phases_[0]);
    Wide<Parts> total = values_[result_];
    add_magnitude(magnitude);
    for (std::uint64_t step = 1; step >> quick_.size() == 0; ++step) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(step));
      apply(quick_[bit], (step ^ step >> 1) >> bit & 1 ? -1.0 : 1.0, values_.data());
      run(phases_[1 + bit]);
      for (std::size_t v = 0; v < kVecs; ++v) {
        for (std::size_t p = 0; p < Parts; ++p) {
          const Vec term = values_[result_].vec[v].part[p];
          total.vec[v].part[p] += step & 1 ? -term : term;
        }
      }
      add_magnitude(magnitude);
    }
    return total;
  }

 private:
  void run(const std::vector<Operation>& operations) {
    Wide<Parts>* const values = values_.data();
    for (const Operation o : operations) {
      Wide<Parts>& to = values[o.to];
      const Wide<Parts>& left = values[o.left];
      if (o.right < 0) {
        const Wide<Parts>& more = values[o.more];
        for (std::size_t v = 0; v < kVecs; ++v) {
          for (std::size_t p = 0; p < Parts; ++p) {
            to.vec[v].part[p] = left.vec[v].part[p] + more.vec[v].part[p];
          }
        }
        continue;
      }
      const Wide<Parts>& right = values[o.right];
      if (o.more < 0) {
        for (std::size_t v = 0; v < kVecs; ++v) to.vec[v] = product(left.vec[v], right.vec[v]);
        continue;
      }
      const Wide<Parts>& more = values[o.more];
      for (std::size_t v = 0; v < kVecs; ++v) {
        const Number<Parts> x = product(left.vec[v], right.vec[v]);
        for (std::size_t p = 0; p < Parts; ++p) {
          to.vec[v].part[p] = x.part[p] + more.vec[v].part[p];
        }
      }
    }
  }

  static Number<Parts> product(Number<Parts> x, const Number<Parts>& y) { return x *= y; }

  void add_magnitude(Vec (&magnitude)[kVecs]) const {
    for (std::size_t v = 0; v < kVecs; ++v) magnitude[v] += values_[result_].vec[v].one_norm();
  }

  Lines slow_, fast_;
  std::size_t n_, result_;
  std::vector<Wide<Parts>> values_, sums_;
  std::vector<std::vector<Operation>> phases_;  // all, then what each fast sign changes
  std::vector<std::vector<Flip<Parts>>> walked_, quick_;
};

template <std::size_t Parts>
bool sum_steps(Steps<Parts> steps, std::uint64_t first, std::uint64_t last,
               const volatile std::uint8_t* stop, std::vector<double>& result) {
  Vec high[Parts][kVecs] = {}, low[Parts][kVecs] = {}, magnitude[kVecs] = {};
  std::uint64_t position = first;
  for (; position < last && !*stop; ++position) {
    if (position == first) {
      steps.fill(position);
    } else {
      steps.advance(position);
    }
    const Wide<Parts> term = steps.block(magnitude);
    for (std::size_t p = 0; p < Parts; ++p) {
      for (std::size_t v = 0; v < kVecs; ++v) {
        const Vec x = term.vec[v].part[p];
        add_compensated(high[p][v], low[p][v], position & 1 ? -x : x);
      }
    }
  }
  result.assign(2 * Parts + 1, 0.0);
  for (std::size_t lane = 0; lane < kWidth; ++lane) {
    const std::size_t v = lane / kLanes, i = lane % kLanes;
    const double sign = std::popcount(lane) & 1 ? -1.0 : 1.0;
    for (std::size_t p = 0; p < Parts; ++p) {
      add_compensated(result[p], result[Parts + p], sign * high[p][v][i]);
      result[Parts + p] += sign * low[p][v][i];
    }
    result[2 * Parts] += magnitude[v][i];
  }
  return position >= last;
}

auto sparse_sum(Cube slow, Cube fast, Matrix<double> constants, Matrix<std::int32_t> operations,
                Vector<std::int64_t> changes, std::int32_t result, std::uint64_t first,
                std::uint64_t last, Stop stop) {
  const std::size_t parts = slow.shape(0);
  return unlocked<double>({2 * parts + 1}, [&](auto& sums) {
    if (parts == 2) {
      return sum_steps(Steps<2>(slow, fast, constants, operations, changes, result), first, last,
                       stop.data(), sums);
    }
    return sum_steps(Steps<1>(slow, fast, constants, operations, changes, result), first, last,
                     stop.data(), sums);
  });
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def("sparse_sum", &sparse_sum, nb::arg("slow"), nb::arg("fast"), nb::arg("constants"),
             nb::arg("operations"), nb::arg("changes"), nb::arg("result"), nb::arg("first"),
             nb::arg("last"), nb::arg("stop"),
             "Sum an elimination over steps first to last-1 of the Gray code of slow[part][sign]"
             "[factor] and over fast[part][sign][factor]: high and low parts and magnitude; also "
             "tells whether all were done.");
});

}  // namespace
}  // namespace hardscape::permanents
