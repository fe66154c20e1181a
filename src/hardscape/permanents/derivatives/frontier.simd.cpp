// All first minors of a sparse matrix by the frontier dynamic program, forwards and backwards.
//
// Forwards, f_k(S) is the sum over the ways of rows 0..k-1 to use, of the columns open between rows
// k-1 and k, just those in S, and all that are closed. Backwards, the same program on the rows in
// reverse order gives r_k(S) of rows k..n-1, so that the permanent is the sum of f_k(S) r_k(open -
// S).
//
// The minor without row k and column j is the same sum around row k, with column j taken as used.
// That needs j to be open at row k. Where j was closed by an earlier row, a second program begins
// at that row, with states in which j closes unused, and goes on to row k; where j is opened by a
// later row, it does so backwards. These programs differ in where they begin, not in what they do,
// so that some columns go together, and states are looked up once for all of them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "permanents/kernel.hpp"
#include "permanents/numbers/residues.hpp"

namespace hardscape::permanents {
namespace {

// Values by sets of columns, in the order in which they were found.
template <class Value>
class Layer {
 public:
  Value& operator[](std::uint64_t set) {
    if (2 * (sets.size() + 1) > index_.size()) grow();
    std::uint32_t& at = index_[place(set)];
    if (!at) {
      sets.push_back(set);
      values.push_back(Value{});
      at = static_cast<std::uint32_t>(sets.size());
    }
    return values[at - 1];
  }

  const Value* find(std::uint64_t set) const {
    if (index_.empty()) return nullptr;
    const std::uint32_t at = index_[place(set)];
    return at ? &values[at - 1] : nullptr;
  }

  std::vector<std::uint64_t> sets;
  std::vector<Value> values;

 private:
  std::size_t place(std::uint64_t set) const {
    // Fibonacci hashing: the high bits of a product with 2^64 over the golden ratio.
    auto at = static_cast<std::size_t>(set * 0x9E3779B97F4A7C15u >> shift_);
    while (index_[at] && sets[index_[at] - 1] != set) at = (at + 1) & (index_.size() - 1);
    return at;
  }

  void grow() {
    shift_ = index_.empty() ? 60 : shift_ - 1;
    index_.assign(index_.empty() ? 16 : 2 * index_.size(), 0);
    for (std::size_t i = 0; i < sets.size(); ++i) {
      index_[place(sets[i])] = static_cast<std::uint32_t>(i + 1);
    }
  }

  std::vector<std::uint32_t> index_;  // 1 + position, or 0
  int shift_ = 64;
};

struct Entry {
  std::uint64_t bit;
  std::size_t number;  // among the entries
  std::int32_t column;
};

// Rows in the order in which they are taken.
struct Row {
  std::vector<Entry> entries;
  std::uint64_t closed;  // bits of the columns that no later row touches

  std::uint64_t touched() const {
    std::uint64_t mask = 0;
    for (const Entry& entry : entries) mask |= entry.bit;
    return mask;
  }
};

// The same in reverse order: what a row opens, it closes.
std::vector<Row> reversed(const std::vector<Row>& rows) {
  std::vector<Row> result(rows.rbegin(), rows.rend());
  std::uint64_t open = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const std::uint64_t touched = rows[k].touched();
    result[rows.size() - 1 - k].closed = touched & ~open;
    open = (open | touched) & ~rows[k].closed;
  }
  return result;
}

// Numbers of `Parts` parts, whose layers have powers of two of their own.
template <std::size_t Parts>
struct Floats {
  struct Value {
    double part[Parts] = {};
  };
  const double* entries;  // [part][entry]
  std::size_t count;

  static Value one() {
    Value x;
    x.part[0] = 1;
    return x;
  }
  static void add_product(Value& to, const Value& x, const Value& y) {
    if constexpr (Parts == 1) {
      to.part[0] += x.part[0] * y.part[0];
    } else {
      to.part[0] += x.part[0] * y.part[0] - x.part[1] * y.part[1];
      to.part[1] += x.part[0] * y.part[1] + x.part[1] * y.part[0];
    }
  }
  Value entry(std::size_t e) const {
    Value x;
    for (std::size_t p = 0; p < Parts; ++p) x.part[p] = entries[p * count + e];
    return x;
  }
  // The power of two that brings a layer's largest value to about 1.
  static int power(const Layer<Value>& layer) {
    double largest = 0;
    for (const Value& x : layer.values) {
      for (const double part : x.part) largest = std::max(largest, std::abs(part));
    }
    return largest > 0 ? std::min(-std::ilogb(largest), 1000) : 0;
  }
  static void shift(Value& x, double factor) {
    for (double& part : x.part) part *= factor;
  }
};

struct Modulo {
  typedef std::uint64_t Value;
  const std::uint64_t* entries;  // times 2^64
  Residues ring;
  std::uint64_t entry_one = (UINT64_MAX % ring.p + 1) % ring.p;  // 2^64

  static Value one() { return 1; }
  void add_product(Value& to, Value x, Value y) const {
    if (!x) return;
    if (y == entry_one) {
      to = ring.add(to, x);
      return;
    }
    const Value product = ring.multiply(x, y);
    to = ring.add(to, product >= ring.p ? product - ring.p : product);
  }
  Value entry(std::size_t e) const { return entries[e]; }
  static int power(const Layer<Value>&) { return 0; }
  static void shift(Value&, double) {}
};

// Where a column is open: from the first row that touches it to the last.
struct Place {
  std::int32_t column = 0;
  std::uint64_t bit = 0;
  std::size_t first = 0, last = 0;
};

// One direction: its layers, and what each was multiplied with.
template <class Numbers>
class Sweep {
 public:
  typedef typename Numbers::Value Value;
  static constexpr std::size_t kGroup = 8;  // columns whose programs go together
  struct Group {
    Value lane[kGroup];
  };

  Sweep(std::vector<Row> rows, const Numbers& numbers)
      : rows_(std::move(rows)), numbers_(numbers) {}

  bool run(const volatile std::uint8_t* stopped) {
    layers_.assign(1, {});
    layers_[0][0] = Numbers::one();
    powers_.assign(1, 0);
    open_.assign(1, 0);
    for (const Row& row : rows_) {
      if (*stopped) return false;
      Layer<Value> next;
      take(row, layers_.back(), 0, next,
           [&](Value& to, const Value& x, const Value& y) { numbers_.add_product(to, x, y); });
      const int power = Numbers::power(next);
      const double factor = std::ldexp(1.0, power);
      for (Value& x : next.values) Numbers::shift(x, factor);
      powers_.push_back(power);
      open_.push_back((open_.back() | row.touched()) & ~row.closed);
      layers_.push_back(std::move(next));
    }
    return true;
  }

  // The minors without a column, and without each row at which it is open: add(k, value) for row k.
  template <class Add>
  void open_minors(const Place& column, const Sweep& back, Add&& add) const {
    for (std::size_t k = column.first; k <= column.last; ++k) {
      Value sum{};
      joined(k, layers_[k], column.bit, back,
             [&](const Value& x, const Value& y) { numbers_.add_product(sum, x, y); });
      add(k, sum);
    }
  }

  // The minors without each of some columns, and without each row after the one that closes it, for
  // columns [begin, end): add(k, column, value). One program carries all of them.
  template <class Add>
  bool closed_minors(const Place* begin, const Place* end, const Sweep& back, Add&& add,
                     const volatile std::uint8_t* stopped) const {
    Layer<Group> now;
    for (std::size_t k = 0; k < rows_.size(); ++k) {
      if (*stopped) return false;
      if (!now.sets.empty()) {
        Group sums{};
        joined(k, now, 0, back, [&](const Group& x, const Value& y) {
          for (std::size_t g = 0; g < kGroup; ++g) numbers_.add_product(sums.lane[g], x.lane[g], y);
        });
        for (const Place* one = begin; one != end; ++one) {
          if (one->last < k) add(k, one->column, sums.lane[one - begin]);
        }
      }
      Layer<Group> next;
      take(rows_[k], now, 0, next, [&](Group& to, const Group& x, const Value& y) {
        for (std::size_t g = 0; g < kGroup; ++g) numbers_.add_product(to.lane[g], x.lane[g], y);
      });
      for (const Place* one = begin; one != end; ++one) {
        if (one->last != k) continue;
        take(rows_[k], layers_[k], one->bit, next, [&](Group& to, const Value& x, const Value& y) {
          numbers_.add_product(to.lane[one - begin], x, y);
        });
      }
      const double factor = std::ldexp(1.0, powers_[k + 1]);
      for (Group& group : next.values) {
        for (Value& x : group.lane) Numbers::shift(x, factor);
      }
      std::swap(now, next);
    }
    return true;
  }

  // Columns in the order in which they are closed.
  std::vector<Place> places() const {
    std::vector<Place> result(rows_.size());
    for (std::size_t k = 0; k < rows_.size(); ++k) {
      for (const Entry& entry : rows_[k].entries) {
        Place& place = result[static_cast<std::size_t>(entry.column)];
        if (!place.bit) place = {entry.column, entry.bit, k, k};
        place.last = k;
      }
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const Place& x, const Place& y) { return x.last < y.last; });
    return result;
  }

  // By how many powers of two the first k layers were multiplied.
  std::vector<std::int64_t> powers() const {
    std::vector<std::int64_t> sums;
    for (const int power : powers_) sums.push_back((sums.empty() ? 0 : sums.back()) + power);
    return sums;
  }

 private:
  // The layer after a row, in which the column of `hole`, if it is not 0, is used by no row.
  template <class From, class To, class Add>
  void take(const Row& row, const Layer<From>& now, std::uint64_t hole, Layer<To>& next,
            Add&& add) const {
    const std::uint64_t needed = row.closed & ~hole;
    for (std::size_t s = 0; s < now.sets.size(); ++s) {
      const std::uint64_t set = now.sets[s];
      if (set & hole) continue;
      // A column that closes unused must be this row's.
      const std::uint64_t missing = needed & ~set;
      if (missing & (missing - 1)) continue;
      for (const Entry& entry : row.entries) {
        if (entry.bit & (set | hole) || (missing && missing != entry.bit)) continue;
        add(next[(set | entry.bit) & ~row.closed], now.values[s], numbers_.entry(entry.number));
      }
    }
  }

  // Visits the states before row k, which takes no column, and what they meet behind it; the column
  // of `hole` counts as used.
  template <class From, class Visit>
  void joined(std::size_t k, const Layer<From>& now, std::uint64_t hole, const Sweep& back,
              Visit&& visit) const {
    const std::uint64_t closed = rows_[k].closed;
    const std::uint64_t open = (open_[k] | rows_[k].touched()) & ~closed;
    const Layer<Value>& rest = back.layers_[rows_.size() - 1 - k];
    for (std::size_t s = 0; s < now.sets.size(); ++s) {
      const std::uint64_t set = now.sets[s];
      if (set & hole || closed & ~(set | hole)) continue;
      const Value* other = rest.find(open & ~(set | hole));
      if (other) visit(now.values[s], *other);
    }
  }

  std::vector<Row> rows_;
  Numbers numbers_;
  std::vector<Layer<Value>> layers_;
  std::vector<int> powers_;
  std::vector<std::uint64_t> open_;
};

using Starts = Vector<std::int64_t>;
using SetBits = Vector<std::uint8_t>;
using Closed = Vector<std::uint64_t>;
using Columns = Vector<std::int32_t>;

std::vector<Row> rows_of(const Starts& starts, const SetBits& bits, const Closed& closed,
                         const Columns& columns) {
  std::vector<Row> rows(closed.size());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    rows[k].closed = closed.data()[k];
    for (auto e = starts.data()[k]; e < starts.data()[k + 1]; ++e) {
      rows[k].entries.push_back(
          {std::uint64_t{1} << bits.data()[e], static_cast<std::size_t>(e), columns.data()[e]});
    }
  }
  return rows;
}

// Minors without columns first to last-1, by their order in each direction; place(k, j, value)
// takes those of row k.
template <class Numbers, class Put>
bool all_minors(const std::vector<Row>& rows, const Numbers& numbers, std::size_t first,
                std::size_t last, const volatile std::uint8_t* stopped, Put&& put,
                std::vector<std::int64_t>* powers) {
  typedef Sweep<Numbers> Direction;
  Direction forth(rows, numbers), back(reversed(rows), numbers);
  if (!forth.run(stopped) || !back.run(stopped)) return false;
  const auto columns = forth.places(), backwards = back.places();
  for (std::size_t at = first; at < last; at += Direction::kGroup) {
    const std::size_t end = std::min(last, at + Direction::kGroup);
    for (std::size_t one = at; one < end; ++one) {
      if (*stopped) return false;
      forth.open_minors(columns[one], back, [&](std::size_t k, const auto& x) {
        put(k, static_cast<std::size_t>(columns[one].column), x);
      });
    }
    const auto forwards = [&](std::size_t k, std::int32_t j, const auto& x) {
      put(k, static_cast<std::size_t>(j), x);
    };
    const auto turned = [&](std::size_t k, std::int32_t j, const auto& x) {
      put(rows.size() - 1 - k, static_cast<std::size_t>(j), x);
    };
    if (!forth.closed_minors(&columns[at], &columns[at] + (end - at), back, forwards, stopped) ||
        !back.closed_minors(&backwards[at], &backwards[at] + (end - at), forth, turned, stopped)) {
      return false;
    }
  }
  if (powers) {
    const auto before = forth.powers(), behind = back.powers();
    for (std::size_t k = 0; k < rows.size(); ++k) {
      powers->push_back(before[k] + behind[rows.size() - 1 - k]);
    }
  }
  return true;
}

template <std::size_t Parts>
bool float_minors(const std::vector<Row>& rows, const Matrix<double>& entries, std::size_t first,
                  std::size_t last, const volatile std::uint8_t* stopped,
                  std::vector<double>& result, std::vector<std::int64_t>& powers) {
  const std::size_t n = rows.size();
  const Floats<Parts> numbers{entries.data(), entries.shape(1)};
  return all_minors(
      rows, numbers, first, last, stopped,
      [&](std::size_t k, std::size_t j, const auto& x) {
        for (std::size_t p = 0; p < Parts; ++p) result[(p * n + k) * n + j] = x.part[p];
      },
      &powers);
}

auto frontier_minors(Starts starts, SetBits bits, Closed closed, Columns columns,
                     Matrix<double> entries, std::size_t first, std::size_t last, Stop stop) {
  const std::size_t n = closed.size(), parts = entries.shape(0);
  std::vector<double> result(parts * n * n);
  std::vector<std::int64_t> powers;
  bool done;
  {
    nb::gil_scoped_release release;
    const auto run = parts == 2 ? &float_minors<2> : &float_minors<1>;
    done = run(rows_of(starts, bits, closed, columns), entries, first, last, stop.data(), result,
               powers);
  }
  powers.resize(n);
  return std::make_tuple(to_numpy(std::move(result), {parts, n, n}),
                         to_numpy(std::move(powers), {n}), done);
}

auto frontier_residue_minors(Starts starts, SetBits bits, Closed closed, Columns columns,
                             Matrix<std::uint64_t> entries, Vector<std::uint64_t> primes,
                             std::size_t first, std::size_t last, Stop stop) {
  const std::size_t n = closed.size(), count = primes.size();
  return unlocked<std::uint64_t>({count, n, n}, [&](auto& result) {
    const auto rows = rows_of(starts, bits, closed, columns);
    bool done = true;
    for (std::size_t q = 0; q < count && done; ++q) {
      const Modulo numbers{entries.data() + q * entries.shape(1), Residues(primes.data()[q])};
      done = all_minors(
          rows, numbers, first, last, stop.data(),
          [&](std::size_t k, std::size_t j, std::uint64_t x) { result[(q * n + k) * n + j] = x; },
          nullptr);
    }
    return done;
  });
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def("frontier_minors", &frontier_minors, nb::arg("starts"), nb::arg("bits"),
             nb::arg("closed"), nb::arg("columns"), nb::arg("entries"), nb::arg("first"),
             nb::arg("last"), nb::arg("stop"),
             "All first minors without columns first to last-1 (part, row, column) by the frontier "
             "program, by how many powers of two those of each row were multiplied, and whether it "
             "was done.");
  module.def("frontier_residue_minors", &frontier_residue_minors, nb::arg("starts"),
             nb::arg("bits"), nb::arg("closed"), nb::arg("columns"), nb::arg("entries"),
             nb::arg("primes"), nb::arg("first"), nb::arg("last"), nb::arg("stop"),
             "The same modulo primes (prime, row, column), over 2^64; entries are times 2^64.");
});

}  // namespace
}  // namespace hardscape::permanents
