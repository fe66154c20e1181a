// Exact permanents of integers: Glynn's sum modulo 2^(64 W), or modulo primes.
//
// Column sums are smaller than a machine word, so some of them may be multiplied in one, in vector
// lanes, before the word enters the product of W words. limbs.cpp is for smaller ones.
#include "permanents/methods/exact/exact.hpp"

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "permanents/kernel.hpp"
#include "permanents/numbers/residues.hpp"

namespace hardscape::permanents {
namespace {

constexpr int kMaxWords = 8;

// Multiplies column sums, from `column` on, that fit a word together; returns the column behind
// them.
std::size_t word_product(const Sums<std::int64_t, Integers<std::int64_t>>& sums,
                         const std::uint8_t* ends, std::size_t column,
                         Patterns<std::int64_t>& result) {
  typedef std::int64_t Lanes __attribute__((vector_size(kVectorBytes), may_alias));
  constexpr std::size_t kVectors = sizeof(result) / sizeof(Lanes);
  Lanes product[kVectors];
  const auto load = [&](std::size_t j, std::size_t v) {
    return reinterpret_cast<const Lanes*>(sums.inner[j].value)[v] + sums.outer[j];
  };
  for (std::size_t v = 0; v < kVectors; ++v) product[v] = load(column, v);
  while (!ends[column]) {
    ++column;
    for (std::size_t v = 0; v < kVectors; ++v) product[v] *= load(column, v);
  }
  for (std::size_t v = 0; v < kVectors; ++v) {
    reinterpret_cast<Lanes*>(result.value)[v] = product[v];
  }
  return column + 1;
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

template <int W>
bool sum_words(const std::int64_t* matrix, std::size_t n, const std::uint8_t* ends,
               std::uint64_t first, std::uint64_t last, const volatile std::uint8_t* stopped,
               std::vector<std::uint64_t>& words) {
  std::array<std::uint64_t, W> total{};
  Sums<std::int64_t, Integers<std::int64_t>> sums(matrix, n, first, {});
  const bool done = walk(first, last, stopped, [&](std::uint64_t position) {
    if (position != first) sums.advance(position);
    Products<W> products;
    Patterns<std::int64_t> factor;
    std::size_t column = word_product(sums, ends, 0, factor);
    products.start(factor, sums.negative());
    int used = 1;
    while (column < n) {
      column = word_product(sums, ends, column, factor);
      products.multiply(factor, used);
      if (used < W) ++used;
    }
    products.add_to(total);
  });
  words.assign(total.begin(), total.end());
  return done;
}

template <int W = 1, class... Arguments>
bool for_words(int count, Arguments&&... arguments) {
  if constexpr (W < kMaxWords) {
    if (count > W) return for_words<W + 1>(count, std::forward<Arguments>(arguments)...);
  }
  return sum_words<W>(std::forward<Arguments>(arguments)...);
}

auto exact_glynn_words(Matrix<std::int64_t> matrix, Vector<std::uint8_t> ends, int words,
                       std::uint64_t first, std::uint64_t last, Stop stop) {
  if (words < 1 || words > kMaxWords) {
    throw std::invalid_argument(std::to_string(words) + " words are not compiled in");
  }
  return unlocked<std::uint64_t>({static_cast<std::size_t>(words)}, [&](auto& total) {
    return for_words(words, matrix.data(), matrix.shape(0), ends.data(), first, last, stop.data(),
                     total);
  });
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

auto exact_glynn_residues(Matrix<std::uint64_t> matrices, Vector<std::uint64_t> primes,
                          std::uint64_t first, std::uint64_t last, Stop stop) {
  const std::size_t count = primes.shape(0);
  const std::size_t n = matrices.shape(1);
  return unlocked<std::uint64_t>({count}, [&](auto& residues) {
    bool done = true;
    for (std::size_t k = 0; k < count && done; ++k) {
      done = glynn_residue(matrices.data() + k * n * n, n, Residues(primes.data()[k]), first, last,
                           stop.data(), residues[k]);
    }
    return done;
  });
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def(
      "exact_glynn_words", &exact_glynn_words, nb::arg("matrix"), nb::arg("ends"), nb::arg("words"),
      nb::arg("first"), nb::arg("last"), nb::arg("stop"),
      "Glynn's sum over blocks first to last-1 modulo 2^(64 words); column sums below 2^62.");
  module.def("exact_glynn_residues", &exact_glynn_residues, nb::arg("matrices"), nb::arg("primes"),
             nb::arg("first"), nb::arg("last"), nb::arg("stop"),
             "Glynn's sum divided by 2^(64 (n-1)) modulo primes; matrices has (primes * n, n).");
});

}  // namespace
}  // namespace hardscape::permanents
