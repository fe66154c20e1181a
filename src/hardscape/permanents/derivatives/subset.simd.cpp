// All first minors of many small matrices, one in each lane of vectors, by sums over sets of
// columns forwards and backwards. With f(S) of methods/subset/sets.hpp and g(S), the permanent of
// the rows from |S| on in the columns that are not in S,
//   g(S) = sum over j not in S of a_(|S| j) g(S + j),
//   minor without i, j = sum over the sets S of i columns, j not in S, of f(S) g(S + j).
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "permanents/kernel.hpp"
#include "permanents/methods/glynn/scaling.hpp"
#include "permanents/methods/subset/sets.hpp"
#include "permanents/numbers/lanes.hpp"

namespace hardscape::permanents {
namespace {

// Lines whose largest part is between 2^-kNear and 2^kNear need no scaling: products of 16 of them,
// and 16! such, are numbers of double precision. How often others are scaled, at most.
constexpr int kNear = 16, kScalings = 4;

constexpr std::size_t kSets = std::size_t{1} << kLow;

constexpr std::size_t size(std::size_t set) { return static_cast<std::size_t>(std::popcount(set)); }

// The first column of a set of high ones.
inline std::size_t high_column(std::size_t left) {
  return kLow + static_cast<std::size_t>(std::countr_zero(left));
}

// x 2^k for k from -1100 to 1100.
inline Vec times_powers(Vec x, Bits k) {
  const Bits half = k >> 1;
  x *= reinterpret_cast<Vec>((half + 1023) << 52);
  return x * reinterpret_cast<Vec>((k - half + 1023) << 52);
}

inline bool any(Bits lanes) {
  std::int64_t all = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) all |= lanes[lane];
  return all;
}

// Minors of kLanes matrices at a time.
template <std::size_t Parts>
class MinorGroup {
  typedef Number<Parts> T;

 public:
  explicit MinorGroup(std::size_t n)
      : n_(n),
        side_(std::max(n, kLeastSets)),
        entries_(side_ * side_),
        minors_(side_ * side_),
        sums_(std::size_t{1} << side_),
        powers_{std::vector<Bits>(n), std::vector<Bits>(n)} {
    for (std::size_t i = n_; i < side_; ++i) entries_[i * side_ + i] = T::one();
  }

  // Of `count` matrices, one behind the other.
  void minors(const double* given, std::size_t count, double* result) {
    const InLanes matrices(given, count, n_ * n_ * Parts);
    for (std::size_t i = 0, at = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) {
        for (std::size_t p = 0; p < Parts; ++p) entry(i, j).part[p] = matrices[at++];
      }
    }
    scale();
    sum_sets<true>(entries_.data(), side_, T::one(), sums_.data());
    sum_back();
    write(count, result);
  }

 private:
  T& entry(std::size_t i, std::size_t j) { return entries_[i * side_ + j]; }

  // Brings the largest parts of columns, and of rows, near 1.
  void scale() {
    for (auto& powers : powers_) std::fill(powers.begin(), powers.end(), Bits{});
    bool far = true;
    scaled_ = false;
    for (int time = 0; time < kScalings && far; ++time) {
      far = false;
      for (std::size_t k = 0; k < n_; ++k) {
        far |= scale_line(powers_[1][k], &entry(0, k), side_);
      }
      for (std::size_t k = 0; k < n_; ++k) far |= scale_line(powers_[0][k], &entry(k, 0), 1);
      scaled_ |= far;
    }
  }

  // Says whether anything changed.
  bool scale_line(Bits& power, T* line, std::size_t stride) {
    Vec most = {};
    for (std::size_t k = 0; k < n_; ++k) {
      for (std::size_t p = 0; p < Parts; ++p) {
        most = larger(most, absolute(line[k * stride].part[p]));
      }
    }
    Bits more = (reinterpret_cast<Bits>(most) >> 52) - 1022;
    more &= (most > 0.0) & ((more > kNear) | (more < -kNear));
    if (!any(more)) return false;
    power += more;
    for (std::size_t k = 0; k < n_; ++k) {
      for (Vec& part : line[k * stride].part) part = times_powers(part, -more);
    }
    return true;
  }

  // From the last set to the first one, g(S) takes the place of f(S), which nothing else asks for.
  void sum_back() {
    const std::size_t highs = std::size_t{1} << (side_ - kLow);
    std::fill(minors_.begin(), minors_.end(), T{});
    for (std::size_t high = highs; high-- > 0;) {
      const std::size_t rest = highs - 1 - high;
      const std::size_t first = size(high) * side_;
      T* own = &sums_[kSets * high];
      T before[kSets], behind[kSets] = {};
      std::copy_n(own, kSets, before);
      if (rest == 0) behind[kSets - 1] = T::one();
      for (std::size_t left = rest; left; left &= left - 1) {
        const T* after = own + kSets * (left & -left);
        const T* column = &entries_[first + high_column(left)];
#pragma GCC unroll 8
        for (std::size_t set = 0; set < kSets; ++set) {
          multiply_add(behind[set], column[size(set) * side_], after[set]);
        }
      }
#pragma GCC unroll 8
      for (std::size_t without = 1; without < kSets; ++without) {
        const std::size_t set = kSets - 1 - without;
        const T* row = &entries_[first + size(set) * side_];
#pragma GCC unroll 3
        for (std::size_t j = 0; j < kLow; ++j) {
          if (!(set >> j & 1)) multiply_add(behind[set], row[j], behind[set | std::size_t{1} << j]);
        }
      }
      std::copy_n(behind, kSets, own);
      for (std::size_t left = rest; left; left &= left - 1) {
        const T* after = own + kSets * (left & -left);
        const auto with = [&](std::size_t set) { return after + set; };
        add_minors(&minors_[first + high_column(left)], before, with);
      }
#pragma GCC unroll 3
      for (std::size_t j = 0; j < kLow; ++j) {
        const auto with = [&](std::size_t set) {
          return set >> j & 1 ? nullptr : behind + (set | std::size_t{1} << j);
        };
        add_minors(&minors_[first + j], before, with);
      }
    }
  }

  // To a column of minors from the row of an empty low set on, the products of f(S) and what is
  // `with` S and that column, if it is not in S.
  template <class With>
  void add_minors(T* column, const T* before, const With& with) {
    T of_row[kLow + 1] = {};
#pragma GCC unroll 8
    for (std::size_t set = 0; set < kSets; ++set) {
      if (const T* after = with(set)) multiply_add(of_row[size(set)], before[set], *after);
    }
    const std::size_t rows = kLow + (with(kSets - 1) != nullptr);
#pragma GCC unroll 4
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t p = 0; p < Parts; ++p) column[row * side_].part[p] += of_row[row].part[p];
    }
  }

  // A minor has the powers of two of all rows and columns but its own.
  void write(std::size_t count, double* result) const {
    Bits whole = {};
    for (const auto& powers : powers_) {
      for (const Bits power : powers) whole += power;
    }
    for (std::size_t i = 0, at = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) {
        const Bits power = whole - powers_[0][i] - powers_[1][j];
        for (std::size_t p = 0; p < Parts; ++p, ++at) {
          const Vec minor = minors_[i * side_ + j].part[p];
          for (std::size_t lane = 0; lane < count; ++lane) {
            double& to = result[lane * n_ * n_ * Parts + at];
            to = minor[lane];
            if (scaled_) to = times_power(to, static_cast<int>(power[lane]));
          }
        }
      }
    }
  }

  std::size_t n_, side_;
  std::vector<T> entries_, minors_, sums_;
  std::vector<Bits> powers_[2];  // taken off rows, and off columns
  bool scaled_ = false;          // whether any is not 0
};

using Batch = nb::ndarray<const double, nb::ndim<4>, nb::c_contig, nb::device::cpu>;

template <std::size_t Parts>
bool minors_of(const Batch& given, const volatile std::uint8_t* stop, double* result) {
  const std::size_t count = given.shape(0), n = given.shape(1), size = n * n * Parts;
  MinorGroup<Parts> group(n);
  for (std::size_t first = 0; first < count; first += kLanes) {
    if (*stop) return false;
    group.minors(given.data() + first * size, std::min(kLanes, count - first),
                 result + first * size);
  }
  return true;
}

auto subset_minors(Batch given, Stop stop) {
  const std::size_t n = given.shape(1), parts = given.shape(3);
  return unlocked<double>({given.shape(0), n, n, parts}, [&](auto& result) {
    const auto find = parts == 2 ? &minors_of<2> : &minors_of<1>;
    return find(given, stop.data(), result.data());
  });
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def("subset_lanes", [] { return kLanes; }, "Matrices that subset_minors takes at a time.");
  module.def("subset_minors", &subset_minors, nb::arg("given"), nb::arg("stop"),
             "All first minors of each matrix of given[matrix][row][column][part], in the same "
             "shape; also tells whether all were done.");
});

}  // namespace
}  // namespace hardscape::permanents
