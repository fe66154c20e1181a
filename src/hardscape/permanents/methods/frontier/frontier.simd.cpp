// The frontier dynamic program for permanents of sparse matrices; see frontier.py.
//
// A state is the set of used columns among those that rows behind and rows ahead share. A row gives
// each state as many successors as it has entries in unused columns; equal successors are added up.
// States are numbered where there are many (layers.hpp), else looked up.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "native/pages.hpp"
#include "native/wide.hpp"
#include "permanents/kernel.hpp"
#include "permanents/methods/frontier/layers.hpp"
#include "permanents/numbers/residues.hpp"

namespace hardscape::permanents {
namespace {

constexpr std::size_t kStatesBetweenPolls = 4096;

// States and their values in the order in which they were found, and where each is.
template <class Value>
class States {
 public:
  States() { clear(); }

  void clear() {
    sets.clear();
    values.clear();
    index_.assign(std::size_t{1} << kFirstBits, 0);
    shift_ = 64 - kFirstBits;
  }

  // The value of a state, zero if it is new.
  Value& operator[](std::uint64_t set) {
    std::size_t at = place(set);
    while (index_[at]) {
      if (sets[index_[at] - 1] == set) return values[index_[at] - 1];
      at = (at + 1) & (index_.size() - 1);
    }
    sets.push_back(set);
    values.push_back(Value{});
    index_[at] = static_cast<std::uint32_t>(sets.size());
    if (2 * sets.size() > index_.size()) grow();
    return values.back();
  }

  std::vector<std::uint64_t> sets;
  std::vector<Value> values;

 private:
  static constexpr int kFirstBits = 6;

  std::size_t place(std::uint64_t set) const {
    // Fibonacci hashing: the high bits of a product with 2^64 over the golden ratio.
    return static_cast<std::size_t>(set * 0x9E3779B97F4A7C15u >> shift_);
  }

  void grow() {
    --shift_;
    index_.assign(2 * index_.size(), 0);
    if (index_.size() >> 32) throw std::length_error("more than 2^31 states");
    for (std::size_t i = 0; i < sets.size(); ++i) {
      std::size_t at = place(sets[i]);
      while (index_[at]) at = (at + 1) & (index_.size() - 1);
      index_[at] = static_cast<std::uint32_t>(i + 1);
    }
  }

  std::vector<std::uint32_t> index_;  // 1 + position, or 0
  int shift_ = 0;
};

// The program with states that are looked up; see run_program.
template <class Value, class Add, class After>
bool run_hashed(const Program& p, const Value& one, const volatile std::uint8_t* stopped, Add&& add,
                After&& after, Value& result) {
  States<Value> now, next;
  now[0] = one;
  for (std::size_t k = 0; k < p.rows; ++k) {
    next.clear();
    const std::uint64_t closed = p.closed[k];
    for (std::size_t s = 0; s < now.sets.size(); ++s) {
      if (s % kStatesBetweenPolls == 0 && *stopped) return false;
      const std::uint64_t set = now.sets[s];
      // A column that closes unused must be this row's.
      const std::uint64_t missing = closed & ~set;
      if (missing & (missing - 1)) continue;
      for (auto e = p.starts[k]; e < p.starts[k + 1]; ++e) {
        const std::uint64_t bit = std::uint64_t{1} << p.bits[e];
        if (set & bit || (missing && missing != bit)) continue;
        add(next[(set | bit) & ~closed], static_cast<std::size_t>(e), now.values[s]);
      }
    }
    after(next.values.data(), next.values.size(), p.starts[k + 1] - p.starts[k]);
    std::swap(now, next);
  }
  result = now.sets.empty() ? Value{} : now.values[0];
  return true;
}

// The program with states that are numbered; see run_program.
template <class Value, class Add, class After>
bool run_numbered(const Program& p, const Layers& layers, const Value& one,
                  const volatile std::uint8_t* stopped, Add&& add, After&& after, Value& result) {
  auto values = native::in_large_pages<Value>(layers.peak);
  auto grown = native::in_large_pages<Value>(layers.peak);
  values[0] = one;
  Layer now = layers.layer(0);
  for (std::size_t k = 0; k < p.rows; ++k) {
    Layer next = layers.layer(k + 1);
    if (next.size() == 0) {
      result = Value{};
      return true;
    }
    if (!take_row(p, k, layers.split, now, next, values.get(), grown.get(), add, stopped)) {
      return false;
    }
    after(grown.get(), next.size(), p.starts[k + 1] - p.starts[k]);
    std::swap(values, grown);
    now = std::move(next);
  }
  result = values[0];
  return true;
}

// Runs the program. `add(value, entry, source)` adds source times an entry to a value; `after`
// looks at the values of each row. Gives the value of the empty frontier, or stops early and tells
// so.
template <class Value, class Add, class After>
bool run_program(const Program& p, const Value& one, const volatile std::uint8_t* stopped,
                 Add&& add, After&& after, Value& result) {
  const Layers layers(p);
  if (!layers.numbered()) return run_hashed(p, one, stopped, add, after, result);
  return run_numbered(p, layers, one, stopped, add, after, result);
}

using Starts = Vector<std::int64_t>;
using Bits = Vector<std::uint8_t>;
using Closed = Vector<std::uint64_t>;

constexpr auto kNothing = [](auto*, std::size_t, std::int64_t) {};

template <int W>
bool words_program(const Program& p, const std::int64_t* entries, const volatile std::uint8_t* stop,
                   std::vector<std::uint64_t>& words) {
  Wide<W> one{}, result{};
  one.word[0] = 1;
  const auto add = [entries](Wide<W>& value, std::size_t e, const Wide<W>& source) {
    const std::int64_t entry = entries[e];
    if (entry == 1) {
      value += source;
      return;
    }
    const std::uint64_t by = entry < 0 ? -static_cast<std::uint64_t>(entry) : entry;
    Wide<W> product;
    unsigned __int128 carry = 0;
    for (int i = 0; i < W; ++i) {
      carry += static_cast<unsigned __int128>(source.word[i]) * by;
      product.word[i] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    value += product.flipped(entry < 0);
  };
  const bool done = run_program(p, one, stop, add, kNothing, result);
  words.assign(result.word, result.word + W);
  return done;
}

Program program_of(const Starts& starts, const Bits& bits, const Closed& closed) {
  return {starts.data(), bits.data(), closed.data(), closed.size()};
}

auto frontier_words(Starts starts, Bits bits, Closed closed, Vector<std::int64_t> entries,
                    int words, Stop stop) {
  const Program program = program_of(starts, bits, closed);
  const auto run = words == 1   ? &words_program<1>
                   : words == 2 ? &words_program<2>
                   : words == 4 ? &words_program<4>
                   : words == 8 ? &words_program<8>
                                : nullptr;
  if (!run) throw std::invalid_argument(std::to_string(words) + " words are not compiled in");
  return unlocked<std::uint64_t>({static_cast<std::size_t>(words)}, [&](auto& result) {
    return run(program, entries.data(), stop.data(), result);
  });
}

auto frontier_residues(Starts starts, Bits bits, Closed closed, Matrix<std::uint64_t> entries,
                       Vector<std::uint64_t> primes, Stop stop) {
  const Program program = program_of(starts, bits, closed);
  return unlocked<std::uint64_t>({primes.size()}, [&](auto& result) {
    bool done = true;
    for (std::size_t k = 0; k < primes.size() && done; ++k) {
      const Residues ring(primes.data()[k]);
      const std::uint64_t* factors = entries.data() + k * entries.shape(1);
      const auto add = [&](std::uint64_t& value, std::size_t e, std::uint64_t source) {
        const std::uint64_t product = ring.multiply(source, factors[e]);
        value = ring.add(value, product >= ring.p ? product - ring.p : product);
      };
      done = run_program<std::uint64_t>(program, 1, stop.data(), add, kNothing, result[k]);
    }
    return done;
  });
}

// A value; the same sum of magnitudes, if that is another; and what errors of the entries may
// change, if there are any.
template <std::size_t Parts, bool Signed, bool Errors>
struct Sum {
  double part[Parts + Signed + Errors];

  double magnitude() const { return part[Signed ? Parts : 0]; }
  double excess() const { return Errors ? part[Parts + Signed] : 0; }
};

template <std::size_t Parts, bool Signed, bool Errors>
bool sums_program(const Program& p, const double* entries, const double* errors, std::size_t count,
                  const volatile std::uint8_t* stop, std::vector<double>& sums) {
  using Value = Sum<Parts, Signed, Errors>;
  Value one{}, result{};
  one.part[0] = 1;
  if constexpr (Signed) one.part[Parts] = 1;
  const auto add = [=](Value& value, std::size_t e, const Value& source) {
    const double re = entries[e];
    double size = std::abs(re);
    if constexpr (Parts == 1) {
      value.part[0] += re * source.part[0];
    } else {
      const double im = entries[count + e];
      value.part[0] += re * source.part[0] - im * source.part[1];
      value.part[1] += re * source.part[1] + im * source.part[0];
      size = std::sqrt(re * re + im * im);
    }
    if constexpr (Signed) value.part[Parts] += size * source.magnitude();
    if constexpr (Errors) {
      value.part[Parts + Signed] +=
          (size + errors[e]) * source.excess() + errors[e] * source.magnitude();
    }
  };
  // Values shrink by a row's sum at each step. What underflows is counted, and grows with the rest.
  double lost = 0;
  int power = 0;
  const auto after = [&](Value* values, std::size_t states, std::int64_t entries_of_row) {
    constexpr double kTiny = 0x1p-1074;
    constexpr int kShift = 256;
    lost += 16 * kTiny * static_cast<double>(states) * static_cast<double>(entries_of_row);
    double largest = 0;
    for (std::size_t i = 0; i < states; ++i) largest = std::max(largest, values[i].magnitude());
    if (largest == 0 || largest > 0x1p-256) return;
    for (std::size_t i = 0; i < states; ++i) {
      for (double& part : values[i].part) part *= 0x1p256;
    }
    lost *= 0x1p256;
    power -= kShift;
  };
  const bool done = run_program(p, one, stop, add, after, result);
  sums.assign(result.part, result.part + Parts);
  sums.insert(sums.end(), {result.magnitude(), result.excess(), lost, static_cast<double>(power)});
  return done;
}

auto frontier_sums(Starts starts, Bits bits, Closed closed, Matrix<double> entries,
                   Vector<double> errors, Stop stop) {
  const Program program = program_of(starts, bits, closed);
  const auto positive = [](double x) { return x > 0; };
  const bool rounded = std::any_of(errors.data(), errors.data() + errors.size(), positive);
  const bool plain =
      std::all_of(entries.data(), entries.data() + entries.size(), [](double x) { return x >= 0; });
  const auto run = entries.shape(0) == 2
                       ? (rounded ? &sums_program<2, true, true> : &sums_program<2, true, false>)
                   : rounded ? &sums_program<1, true, true>
                   : plain   ? &sums_program<1, false, false>
                             : &sums_program<1, true, false>;
  return unlocked<double>({entries.shape(0) + 4}, [&](auto& sums) {
    return run(program, entries.data(), errors.data(), errors.size(), stop.data(), sums);
  });
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def("frontier_words", &frontier_words, nb::arg("starts"), nb::arg("bits"),
             nb::arg("closed"), nb::arg("entries"), nb::arg("words"), nb::arg("stop"),
             "Permanent modulo 2^(64 words) by the frontier program; tells whether it was done.");
  module.def("frontier_residues", &frontier_residues, nb::arg("starts"), nb::arg("bits"),
             nb::arg("closed"), nb::arg("entries"), nb::arg("primes"), nb::arg("stop"),
             "The same modulo primes; entries (primes, entries) are times 2^64.");
  module.def("frontier_sums", &frontier_sums, nb::arg("starts"), nb::arg("bits"), nb::arg("closed"),
             nb::arg("entries"), nb::arg("errors"), nb::arg("stop"),
             "The same in double precision, entries (parts, entries): value, sum of magnitudes, "
             "effect of the errors, underflow, exponent.");
});

}  // namespace
}  // namespace hardscape::permanents
