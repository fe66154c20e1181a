// The permanents of many small matrices, one in each lane of vectors: the sums over sets of
// small.simd.cpp, with the same scaling, the same roundings and the same estimate of the error.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "permanents/kernel.hpp"
#include "permanents/methods/glynn/scaling.hpp"
#include "permanents/methods/subset/sets.hpp"
#include "permanents/numbers/lanes.hpp"

namespace hardscape::permanents {
namespace {

constexpr std::size_t kMatricesBetweenPolls = 1024;

// A number in every lane, and the square of its magnitude.
template <std::size_t Parts>
struct Squared {
  Number<Parts> number;
  Vec square;
};

template <std::size_t Parts>
inline void multiply_add(Squared<Parts>& sum, const Squared<Parts>& x, const Squared<Parts>& y) {
  multiply_add(sum.number, x.number, y.number);
  sum.square += x.square * y.square;
}

// Permanents of kLanes matrices at a time.
template <std::size_t Parts>
class Group {
 public:
  explicit Group(std::size_t n)
      : n_(n),
        side_(std::max(n, kLeastSets)),
        entries_(side_ * side_),
        sums_(std::size_t{1} << (side_ - 1)) {}

  // Of `count` matrices, one behind the other: parts, and what their error probably stays below;
  // that is infinite where there are no digits, and no number where entries are not finite.
  void permanents(const double* given, std::size_t count, double* result) {
    load(given, count);
    const Vec one = Vec{} + 1.0;
    for (std::size_t i = n_; i < side_; ++i) {
      entries_[i * side_ + i] = {Number<Parts>::one(), one};
    }
    scale();
    const auto& found = sum_sets(entries_.data(), side_, {Number<Parts>::one(), one}, sums_.data());
    for (std::size_t lane = 0; lane < count; ++lane) {
      write(found, lane, result + lane * (Parts + 1));
    }
  }

 private:
  void load(const double* given, std::size_t count) {
    const InLanes matrices(given, count, n_ * n_ * Parts);
    for (std::size_t i = 0, at = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) {
        for (std::size_t p = 0; p < Parts; ++p, ++at) {
          entries_[i * side_ + j].number.part[p] = matrices[at];
        }
      }
    }
  }

  // Powers of two bring the columns' largest parts below 1.
  void scale() {
    exponent_ = Bits{};
    usable_ = ~Bits{};
    finite_ = ~Bits{};
    least_ = Vec{} + 1.0;
    const Bits one = Bits{} + 1;
    for (std::size_t j = 0; j < n_; ++j) {
      Vec most = {};
      for (std::size_t i = 0; i < n_; ++i) {
        const auto& x = entries_[i * side_ + j].number.part;
        for (std::size_t p = 0; p < Parts; ++p) {
          const Vec size = absolute(x[p]);
          finite_ &= size <= Vec{} + std::numeric_limits<double>::max();
          most = larger(most, size);
        }
      }
      const Bits power = most > 0.0 ? (reinterpret_cast<Bits>(most) >> 52) - 1022 * one : Bits{};
      usable_ &= (power < 1000) & (power > -1000);
      exponent_ += power;
      const Vec factor = reinterpret_cast<Vec>((1023 * one - power) << 52);
      for (std::size_t i = 0; i < n_; ++i) {
        auto& [number, square] = entries_[i * side_ + j];
        square = Vec{};
        for (std::size_t p = 0; p < Parts; ++p) {
          number.part[p] *= factor;
          square += number.part[p] * number.part[p];
        }
        least_ = square > 0.0 && square < least_ ? square : least_;
      }
    }
  }

  void write(const Squared<Parts>& found, std::size_t lane, double* result) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto exponent = static_cast<int>(exponent_[lane]);
    double size = 0;
    for (std::size_t p = 0; p < Parts; ++p) {
      const double part = found.number.part[p][lane];
      result[p] = times_power(part, exponent);
      size += part * part;
    }
    size = std::sqrt(size);
    double& likely = result[Parts];
    const double square = found.square[lane];
    likely = 0x1p-53 * static_cast<double>(n_) * (16 * std::sqrt(square) + 2 * size);
    const bool is_zero = square == 0 && least_[lane] > 0x1p-120;
    if (!usable_[lane] || !(size > 0x1p-400 || is_zero)) likely = infinity;
    likely = times_power(likely, exponent);
    if (!finite_[lane]) likely = std::numeric_limits<double>::quiet_NaN();
  }

  std::size_t n_, side_;
  std::vector<Squared<Parts>> entries_, sums_;
  Bits exponent_, usable_, finite_;
  Vec least_;
};

using Batch = nb::ndarray<const double, nb::ndim<4>, nb::c_contig, nb::device::cpu>;

template <std::size_t Parts>
bool sum_batch(const Batch& given, const volatile std::uint8_t* stop, double* result) {
  const std::size_t count = given.shape(0), n = given.shape(1);
  Group<Parts> group(n);
  for (std::size_t first = 0; first < count; first += kLanes) {
    if (first % kMatricesBetweenPolls == 0 && *stop) return false;
    group.permanents(given.data() + first * n * n * Parts, std::min(kLanes, count - first),
                     result + first * (Parts + 1));
  }
  return true;
}

auto subset_batch(Batch given, Stop stop) {
  const std::size_t parts = given.shape(3);
  return unlocked<double>({given.shape(0), parts + 1}, [&](auto& result) {
    const auto sum = parts == 2 ? &sum_batch<2> : &sum_batch<1>;
    return sum(given, stop.data(), result.data());
  });
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def("subset_batch", &subset_batch, nb::arg("given"), nb::arg("stop"),
             "Permanent of each matrix of given[matrix][row][column][part]: its parts, and what "
             "its error probably stays below; also tells whether all were done.");
});

}  // namespace
}  // namespace hardscape::permanents
