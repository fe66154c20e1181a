// The permanent of a nonnegative matrix by subsets of columns, in double precision.
//
// f(S), the permanent of the first |S| rows in the columns S, is the sum over j in S of a_j f(S -
// j) with the entries a of row |S|. Nothing is ever subtracted. Half of the sets, those without the
// last column, are stored; the other half overwrites them in the same order.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "native/pages.hpp"
#include "permanents/kernel.hpp"
#include "permanents/numbers/lanes.hpp"

namespace hardscape::permanents {
namespace {

constexpr std::size_t kLowColumns = std::bit_width(kLanes) - 1;  // columns that are lanes
constexpr std::size_t kSetsBetweenPolls = 4096;

struct Entries {
  const double* matrix;  // [row][column]
  std::size_t n;

  double operator()(std::size_t row, std::size_t column) const { return matrix[row * n + column]; }
};

// One pass over the sets without the last column; `second` adds it to each of them. factors[h][j]
// holds, for sets of h columns outside the lanes, the entries of column j in each lane's row.
bool pass(const Entries& a, bool second, std::vector<Vec>& sums,
          const volatile std::uint8_t* stop) {
  const std::size_t high = a.n - 1 - kLowColumns;
  const std::size_t shift = second ? 0 : 1;
  const auto row = [&](std::size_t h, std::size_t lane) {
    return h + static_cast<std::size_t>(std::popcount(lane)) - shift;
  };
  std::vector<Vec> factors((high + 1) * a.n);
  for (std::size_t h = 0; h <= high; ++h) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (row(h, lane) >= a.n) continue;  // the empty set takes no row
      for (std::size_t j = 0; j < a.n; ++j) factors[h * a.n + j][lane] = a(row(h, lane), j);
    }
  }
  for (std::size_t set = 0; set < sums.size(); ++set) {
    if (set % kSetsBetweenPolls == 0 && *stop) return false;
    const auto h = static_cast<std::size_t>(std::popcount(set));
    const Vec* factor = &factors[h * a.n];
    Vec sum = second ? factor[a.n - 1] * sums[set] : Vec{};
    for (std::size_t rest = set; rest; rest &= rest - 1) {
      const auto j = static_cast<std::size_t>(std::countr_zero(rest));
      sum += factor[kLowColumns + j] * sums[set ^ (rest & -rest)];
    }
    if (!second && set == 0) sum[0] = 1;
    for (std::size_t lane = 1; lane < kLanes; ++lane) {
      double more = 0;
      for (std::size_t b = 0; b < kLowColumns; ++b) {
        if (lane >> b & 1) more += factor[b][lane] * sum[lane ^ std::size_t{1} << b];
      }
      sum[lane] += more;
    }
    sums[set] = sum;
  }
  return true;
}

auto subset_sum(Matrix<double> matrix, Stop stop) {
  const Entries entries = {matrix.data(), matrix.shape(0)};
  return unlocked<double>({1}, [&](auto& result) {
    std::vector<Vec> sums;
    native::grow_in_large_pages(sums, std::size_t{1} << (entries.n - 1 - kLowColumns));
    const bool done =
        pass(entries, false, sums, stop.data()) && pass(entries, true, sums, stop.data());
    result[0] = sums.back()[kLanes - 1];
    return done;
  });
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def("subset_sum", &subset_sum, nb::arg("matrix"), nb::arg("stop"),
             "Permanent of a nonnegative matrix of 4 to 30 rows; tells whether it was done.");
});

}  // namespace
}  // namespace hardscape::permanents
