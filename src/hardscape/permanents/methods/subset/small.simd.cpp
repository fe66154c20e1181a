// The permanent of one small matrix, straight from the array that Python holds.
//
// Floating matrices: powers of two are taken off the columns, so that no part of an entry
// exceeds 1. Beside the sum over sets goes that of the magnitudes, which is 0 only where zeros make
// the permanent 0, and that of their squares, the mean square of the permanent over random signs of
// the entries. Roundings of sums and products are about as independent, so the error hardly ever
// exceeds
//   16 n u sqrt(mean square) + 2 n u |per|, u = 2^-53.
// Integers: modulo 2^64 or 2^128, where a bound of the permanent says that it can be read off.
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "native/arrays.hpp"
#include "native/family.hpp"
#include "permanents/given.hpp"
#include "permanents/methods/subset/sets.hpp"

namespace hardscape::permanents {
namespace {

// Sides of floating matrices, and of integers.
constexpr std::size_t kMost = 10, kMostIntegers = 16;

// Real part, imaginary part, magnitude, its square.
typedef double Four __attribute__((vector_size(32)));

struct Real {
  Four all;

  static Real of(double x, double) {
    const double size = std::abs(x);
    return {Four{x, 0, size, x * x}};
  }
};

struct Complex {
  Four straight, crossed;

  static Complex of(double x, double y) {
    const double square = x * x + y * y;
    return {Four{x, x, std::sqrt(square), square}, Four{-y, y, 0, 0}};
  }
};

template <class T>
struct Integer {
  T x;
};

inline void multiply_add(Four& sum, const Real& entry, const Four& other) {
  sum += entry.all * other;
}

inline void multiply_add(Four& sum, const Complex& entry, const Four& other) {
  sum += entry.straight * other;
  sum += entry.crossed * __builtin_shufflevector(other, other, 1, 0, 2, 3);
}

template <class T>
inline void multiply_add(T& sum, const Integer<T>& entry, const T& other) {
  sum += entry.x * other;
}

// The sum of the entries(i, j) of a matrix, completed by ones on the diagonal.
template <class Sum, class Entry, class Entries>
Sum permanent_of(std::size_t n, const Sum& one, const Entry& unit, Entries&& entries) {
  const std::size_t side = std::max(n, kLeastSets);
  Entry all[kMostIntegers * kMostIntegers];
  for (std::size_t i = 0; i < side; ++i) {
    for (std::size_t j = 0; j < side; ++j) {
      all[i * side + j] = i < n && j < n ? entries(i, j) : i == j ? unit : Entry{};
    }
  }
  if (side <= kMost) {
    Sum sums[std::size_t{1} << (kMost - 1)];
    return sum_sets(all, side, one, sums);
  }
  std::vector<Sum> sums(std::size_t{1} << (side - 1));
  return sum_sets(all, side, one, sums.data());
}

// Powers of two that bring the columns' largest parts below 1.
class Columns {
 public:
  Columns(const double (*entries)[2], std::size_t n) {
    double most[kMost] = {};
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const auto [x, y] = entries[i * n + j];
        most[j] = std::max(most[j], std::max(std::abs(x), std::abs(y)));
      }
    }
    for (std::size_t j = 0; j < n; ++j) {
      // Exponents of subnormal numbers, and of those that are none, are at the ends.
      const auto biased = static_cast<int>(std::bit_cast<std::uint64_t>(most[j]) >> 52);
      const int power = most[j] > 0 ? biased - 1022 : 0;
      usable = usable && std::abs(power) < 1000;
      factor[j] = std::bit_cast<double>(static_cast<std::uint64_t>(1023 - power) << 52);
      exponent += power;
    }
  }

  double factor[kMost];
  int exponent = 0;
  bool usable = true;
};

template <class Entry>
nb::object floating(const double (*entries)[2], std::size_t n, double rtol) {
  constexpr bool is_complex = std::is_same_v<Entry, Complex>;
  const Columns columns(entries, n);
  if (!columns.usable) return nb::none();
  const auto scaled = [&](std::size_t i, std::size_t j) {
    const auto [x, y] = entries[i * n + j];
    return Entry::of(x * columns.factor[j], y * columns.factor[j]);
  };
  const Four sum = permanent_of(n, Four{1, 0, 1, 1}, Entry::of(1, 0), scaled);
  const std::complex<double> value{sum[0], sum[1]};
  if (sum[2] == 0) {
    // That is by zeros, unless products of small entries became 0.
    const auto is_small = [&](std::size_t at) {
      const double size = std::max(std::abs(entries[at][0]), std::abs(entries[at][1]));
      return size > 0 && size * columns.factor[at % n] < 0x1p-60;
    };
    for (std::size_t at = 0; at < n * n; ++at) {
      if (is_small(at)) return nb::none();
    }
    return shifted(0, 0, is_complex);
  }
  const double size = std::abs(value);
  const double likely = 0x1p-53 * static_cast<double>(n) * (16 * std::sqrt(sum[3]) + 2 * size);
  // Of smaller values the terms' squares may have become 0.
  if (!(size > 0x1p-400) || likely > rtol * size) return nb::none();
  return shifted(value, columns.exponent, is_complex);
}

// Bound of the permanent: the product of the rows' sums of magnitudes, or n! / n^(n/2) times that
// of their Euclidean lengths (E. Carlen, E. Lieb and M. Loss, Methods Appl. Anal. 13, 1 (2006)).
double bound_of(const std::int64_t* entries, std::size_t n) {
  double sums = 1, lengths = 1;
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0, square = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const auto x = static_cast<double>(entries[i * n + j]);
      sum += std::abs(x);
      square += x * x;
    }
    sums *= sum;
    lengths *= std::sqrt(square / static_cast<double>(n)) * static_cast<double>(i + 1);
  }
  return std::min(sums, lengths) * (1 + 0x1p-30);
}

template <class T>
T modulo(const std::int64_t* entries, std::size_t n) {
  const auto entry = [&](std::size_t i, std::size_t j) {
    return Integer<T>{static_cast<T>(entries[i * n + j])};
  };
  return permanent_of(n, T{1}, Integer<T>{1}, entry);
}

nb::object integers(const std::int64_t* entries, std::size_t n) {
  const double bound = bound_of(entries, n);
  if (bound < 0x1p63) {
    const auto value = static_cast<std::int64_t>(modulo<std::uint64_t>(entries, n));
    return nb::steal(PyLong_FromLongLong(value));
  }
  if (!(bound < 0x1p127)) return nb::none();
  const auto value = static_cast<__int128>(modulo<unsigned __int128>(entries, n));
  const auto high = nb::steal(PyLong_FromLongLong(static_cast<std::int64_t>(value >> 64)));
  const auto low = nb::steal(PyLong_FromUnsignedLongLong(static_cast<std::uint64_t>(value)));
  return (high << nb::int_(64)) | low;
}

nb::object small_permanent(nb::handle array, double rtol) {
  const Given given(array);
  const std::size_t n = given.side();
  if (n == 0 || n > kMostIntegers) return nb::none();
  std::int64_t whole[kMostIntegers * kMostIntegers];
  if (given.read(whole)) return integers(whole, n);
  double entries[kMost * kMost][2];
  if (n > kMost || !given.read(entries)) return nb::none();
  return given.is_complex() ? floating<Complex>(entries, n, rtol)
                            : floating<Real>(entries, n, rtol);
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def(
      "small_permanent", &small_permanent, nb::arg("array"), nb::arg("rtol"),
      nb::sig("def small_permanent(array: object, rtol: float) -> int | float | complex | None"),
      "Permanent of a small square array; None for others, and where its error is probably "
      "above rtol of it.");
});

}  // namespace
}  // namespace hardscape::permanents
