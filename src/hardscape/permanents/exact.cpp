// Exact permanents of integers: Glynn's sum modulo 2^(64 W), or modulo primes.
//
// A block is 32 terms that share the signs of all rows but five. Sums of columns are small
// integers, so several of them are multiplied in one machine word, in vector lanes, before the word
// enters the product of W words.
#include <array>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "native/arrays.hpp"
#include "permanents/residues.hpp"

namespace hardscape::permanents {
namespace {

constexpr std::size_t kInner = 5;
constexpr std::size_t kPatterns = std::size_t{1} << kInner;
// Bytes of a vector register: GCC takes vectors wider than that apart element by element.
#if defined(__AVX512F__)
constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif
constexpr std::uint64_t kBlocksBetweenPolls = 1024;
constexpr int kMaxWords = 8;

// What follows a column: more of its product in T, the next such product, or the next 64-bit word.
enum Link : std::uint8_t { kSame = 0, kNextProduct = 1, kNextWord = 2 };

template <class T>
struct alignas(64) Patterns {
  T value[kPatterns];
};

template <class T>
struct Integers {
  T add(T a, T b) const { return a + b; }
  T subtract(T a, T b) const { return a - b; }
};

// The signed column sums of all patterns of a block: outer[j] + inner[j].value[x]. Row 0 has sign
// +, rows 1 to 5 the bits of x, the others a Gray code.
template <class T, class Ring>
class Sums {
 public:
  Sums(const T* matrix, std::size_t n, std::uint64_t position, const Ring& ring)
      : outer(n), inner(n), matrix_(matrix), ring_(ring), gray_(position ^ position >> 1) {
    for (std::size_t j = 0; j < n; ++j) {
      outer[j] = matrix[j];
      for (std::size_t i = kInner + 1; i < n; ++i) {
        outer[j] = signed_sum(outer[j], matrix[i * n + j], gray_ >> (i - kInner - 1) & 1);
      }
      for (std::size_t x = 0; x < kPatterns; ++x) {
        T sum = 0;
        for (std::size_t i = 0; i < kInner; ++i) {
          sum = signed_sum(sum, matrix[(i + 1) * n + j], x >> i & 1);
        }
        inner[j].value[x] = sum;
      }
    }
  }

  // Goes to the block at `position` from the one before it.
  void advance(std::uint64_t position) {
    const auto bit = static_cast<std::size_t>(std::countr_zero(position));
    gray_ ^= std::uint64_t{1} << bit;
    const bool minus = gray_ >> bit & 1;
    const std::size_t n = outer.size();
    const T* row = matrix_ + (bit + kInner + 1) * n;
    for (std::size_t j = 0; j < n; ++j) {
      outer[j] = signed_sum(signed_sum(outer[j], row[j], minus), row[j], minus);
    }
  }

  bool negative() const { return std::popcount(gray_) & 1; }

  std::vector<T> outer;
  std::vector<Patterns<T>> inner;

 private:
  T signed_sum(T sum, T term, bool minus) const {
    return minus ? ring_.subtract(sum, term) : ring_.add(sum, term);
  }

  const T* matrix_;
  Ring ring_;
  std::uint64_t gray_;
};

// Multiplies column sums, from `column` on, that fit T together; returns the column behind them.
template <class T>
std::size_t short_product(const Sums<T, Integers<T>>& sums, const std::uint8_t* links,
                          std::size_t column, Patterns<T>& result) {
  typedef T Lanes __attribute__((vector_size(kVectorBytes), may_alias));
  constexpr std::size_t kVectors = sizeof(Patterns<T>) / sizeof(Lanes);
  Lanes product[kVectors];
  const auto load = [&](std::size_t j, std::size_t v) {
    return reinterpret_cast<const Lanes*>(sums.inner[j].value)[v] + sums.outer[j];
  };
  for (std::size_t v = 0; v < kVectors; ++v) product[v] = load(column, v);
  while (links[column] == kSame) {
    ++column;
    for (std::size_t v = 0; v < kVectors; ++v) product[v] *= load(column, v);
  }
  for (std::size_t v = 0; v < kVectors; ++v) {
    reinterpret_cast<Lanes*>(result.value)[v] = product[v];
  }
  return column + 1;
}

// Multiplies all column sums up to the end of a 64-bit word.
template <class T>
std::size_t word_product(const Sums<T, Integers<T>>& sums, const std::uint8_t* links,
                         std::size_t column, Patterns<std::int64_t>& result) {
  Patterns<T> part;
  column = short_product(sums, links, column, part);
  for (std::size_t x = 0; x < kPatterns; ++x) result.value[x] = part.value[x];
  while (links[column - 1] != kNextWord) {
    column = short_product(sums, links, column, part);
    for (std::size_t x = 0; x < kPatterns; ++x) result.value[x] *= part.value[x];
  }
  return column;
}

// Products of W words for all patterns, as sign and magnitude modulo 2^(64 W).
template <int W>
struct Products {
  std::array<std::array<std::uint64_t, W>, kPatterns> magnitude;
  std::array<std::uint64_t, kPatterns> negative;  // 0 or ~0

  void start(const Patterns<std::int64_t>& factor, bool minus) {
    magnitude = {};
    for (std::size_t x = 0; x < kPatterns; ++x) {
      const bool odd = std::popcount(x) & 1;
      negative[x] = odd != minus ? ~std::uint64_t{0} : 0;
      magnitude[x][0] = absolute(factor.value[x], x);
    }
  }

  // Multiplies, given that words `used` and above are zero; sets one more.
  template <int Used = 1>
  void multiply(const Patterns<std::int64_t>& factor, int used) {
    if constexpr (Used < W) {
      if (used > Used) return multiply<Used + 1>(factor, used);
    }
    for (std::size_t x = 0; x < kPatterns; ++x) {
      const std::uint64_t by = absolute(factor.value[x], x);
      std::uint64_t carry = 0;
      for (int i = 0; i < Used; ++i) {
        const unsigned __int128 t = static_cast<unsigned __int128>(magnitude[x][i]) * by + carry;
        magnitude[x][i] = static_cast<std::uint64_t>(t);
        carry = static_cast<std::uint64_t>(t >> 64);
      }
      if constexpr (Used < W) magnitude[x][Used] = carry;
    }
  }

  void add_to(std::array<std::uint64_t, W>& total) const {
    for (std::size_t x = 0; x < kPatterns; ++x) {
      unsigned __int128 carry = negative[x] & 1;
      for (int i = 0; i < W; ++i) {
        carry += magnitude[x][i] ^ negative[x];
        carry += total[i];
        total[i] = static_cast<std::uint64_t>(carry);
        carry >>= 64;
      }
    }
  }

 private:
  std::uint64_t absolute(std::int64_t value, std::size_t x) {
    const auto sign = static_cast<std::uint64_t>(value >> 63);
    negative[x] ^= sign;
    return (static_cast<std::uint64_t>(value) ^ sign) - sign;
  }
};

// Calls step(position) for blocks first to last-1 until stopped; tells whether all were done.
template <class Step>
bool walk(std::uint64_t first, std::uint64_t last, const volatile std::uint8_t* stopped,
          Step&& step) {
  for (std::uint64_t position = first; position < last; ++position) {
    if ((position - first) % kBlocksBetweenPolls == 0 && *stopped) return false;
    step(position);
  }
  return true;
}

template <class T, int W>
bool glynn_words(const T* matrix, std::size_t n, const std::uint8_t* links, std::uint64_t first,
                 std::uint64_t last, const volatile std::uint8_t* stopped,
                 std::vector<std::uint64_t>& words) {
  std::array<std::uint64_t, W> total{};
  Sums<T, Integers<T>> sums(matrix, n, first, {});
  const bool done = walk(first, last, stopped, [&](std::uint64_t position) {
    if (position != first) sums.advance(position);
    Products<W> products;
    Patterns<std::int64_t> factor;
    std::size_t column = word_product(sums, links, 0, factor);
    products.start(factor, sums.negative());
    int used = 1;
    while (column < n) {
      column = word_product(sums, links, column, factor);
      products.multiply(factor, used);
      if (used < W) ++used;
    }
    products.add_to(total);
  });
  words.assign(total.begin(), total.end());
  return done;
}

template <class T, int W = 1, class... Arguments>
bool for_words(int count, Arguments&&... arguments) {
  if constexpr (W < kMaxWords) {
    if (count > W) return for_words<T, W + 1>(count, std::forward<Arguments>(arguments)...);
  }
  return glynn_words<T, W>(std::forward<Arguments>(arguments)...);
}

template <class T>
nb::object exact_glynn_words(Matrix<T> matrix, Vector<std::uint8_t> links, int words,
                             std::uint64_t first, std::uint64_t last, Vector<std::uint8_t> stop) {
  if (words < 1 || words > kMaxWords) {
    throw std::invalid_argument(std::to_string(words) + " words are not compiled in");
  }
  std::vector<std::uint64_t> total;
  bool done;
  {
    nb::gil_scoped_release release;
    done = for_words<T>(words, matrix.data(), matrix.shape(0), links.data(), first, last,
                        stop.data(), total);
  }
  const std::size_t size = total.size();
  return nb::make_tuple(to_numpy(std::move(total), {size}), done);
}

// Glynn's sum modulo one prime, divided by 2^(64 (n - 1)).
bool glynn_residue(const std::uint64_t* matrix, std::size_t n, const Residues& ring,
                   std::uint64_t first, std::uint64_t last, const volatile std::uint8_t* stopped,
                   std::uint64_t& residue) {
  Sums<std::uint64_t, Residues> sums(matrix, n, first, ring);
  __int128 total = 0;  // of less than 2^63 terms, each below 2^63
  const bool done = walk(first, last, stopped, [&](std::uint64_t position) {
    if (position != first) sums.advance(position);
    Patterns<std::uint64_t> product;
    for (std::size_t x = 0; x < kPatterns; ++x) {
      product.value[x] = sums.outer[0] + sums.inner[0].value[x];
    }
    for (std::size_t j = 1; j < n; ++j) {
      const std::uint64_t outer = sums.outer[j];
      const Patterns<std::uint64_t>& inner = sums.inner[j];
      for (std::size_t x = 0; x < kPatterns; ++x) {
        product.value[x] = ring.multiply(product.value[x], outer + inner.value[x]);
      }
    }
    __int128 block = 0;
    for (std::size_t x = 0; x < kPatterns; ++x) {
      const auto term = static_cast<__int128>(product.value[x]);
      block += std::popcount(x) & 1 ? -term : term;
    }
    total += sums.negative() ? -block : block;
  });
  const auto modulus = static_cast<__int128>(ring.p);
  residue = static_cast<std::uint64_t>((total % modulus + modulus) % modulus);
  return done;
}

nb::object exact_glynn_residues(Matrix<std::uint64_t> matrices, Vector<std::uint64_t> primes,
                                std::uint64_t first, std::uint64_t last,
                                Vector<std::uint8_t> stop) {
  const std::size_t count = primes.shape(0);
  const std::size_t n = matrices.shape(1);
  std::vector<std::uint64_t> residues(count);
  bool done = true;
  {
    nb::gil_scoped_release release;
    for (std::size_t k = 0; k < count && done; ++k) {
      done = glynn_residue(matrices.data() + k * n * n, n, Residues(primes.data()[k]), first, last,
                           stop.data(), residues[k]);
    }
  }
  return nb::make_tuple(to_numpy(std::move(residues), {count}), done);
}

}  // namespace

void bind_exact(nb::module_& module) {
  module.def(
      "exact_glynn_short", &exact_glynn_words<std::int32_t>, nb::arg("matrix"), nb::arg("links"),
      nb::arg("words"), nb::arg("first"), nb::arg("last"), nb::arg("stop"),
      "Glynn's sum over blocks first to last-1 modulo 2^(64 words); column sums below 2^30.");
  module.def("exact_glynn_long", &exact_glynn_words<std::int64_t>, nb::arg("matrix"),
             nb::arg("links"), nb::arg("words"), nb::arg("first"), nb::arg("last"), nb::arg("stop"),
             "The same for column sums below 2^62.");
  module.def("exact_glynn_residues", &exact_glynn_residues, nb::arg("matrices"), nb::arg("primes"),
             nb::arg("first"), nb::arg("last"), nb::arg("stop"),
             "Glynn's sum divided by 2^(64 (n-1)) modulo primes; matrices has (primes * n, n).");
}

}  // namespace hardscape::permanents
