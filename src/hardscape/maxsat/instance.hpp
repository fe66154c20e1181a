// A formula as the searches use it: as Python has it, and for every literal the clauses that hold
// it. Literals are counted as 2 * variable + negated, variables from 0. Clauses have no repeated
// literals and no tautologies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "native/arrays.hpp"

namespace hardscape::maxsat {

// Looks at a stop flag now and then; nothing is asked of a null one.
class Poll {
 public:
  explicit Poll(const volatile std::uint8_t* stop) : stop_(stop) {}
  explicit Poll(const std::optional<Vector<std::uint8_t>>& stop)
      : Poll(stop ? stop->data() : nullptr) {}
  bool operator()(std::size_t step) const { return step % 4096 == 0 && stop_ && *stop_; }

 private:
  const volatile std::uint8_t* stop_;
};

// Makes a vector longer, which takes a while where the memory is new; false if stopped on the way.
template <class T>
bool extend(std::vector<T>& vector, std::size_t size, const Poll& stopped) {
  constexpr std::size_t kStep = 1 << 18;  // polled every time
  vector.reserve(size);
  while (vector.size() < size) {
    if (stopped(0)) return false;
    vector.resize(std::min(size, vector.size() + kStep));
  }
  return true;
}

// A NumPy array of one dimension.
template <class T>
NumpyArray<T> to_array(std::vector<T> values) {
  const std::size_t count = values.size();
  return to_numpy(std::move(values), {count});
}

// The arrays of a formula, most often of a Python `Formula`, which must live as long.
struct Clauses {
  std::uint32_t variables;
  const std::int32_t* literals;
  const std::int32_t* offsets;
  const std::int64_t* weights;
  const std::uint8_t* hard;
  std::size_t count;

  Clauses(std::uint32_t variables, const std::vector<std::int32_t>& literals,
          const std::vector<std::int32_t>& offsets, const std::vector<std::int64_t>& weights,
          const std::vector<std::uint8_t>& hard)
      : variables(variables),
        literals(literals.data()),
        offsets(offsets.data()),
        weights(weights.data()),
        hard(hard.data()),
        count(weights.size()) {}

  // Clauses alone.
  Clauses(std::uint32_t variables, const std::vector<std::int32_t>& literals,
          const std::vector<std::int32_t>& offsets)
      : variables(variables),
        literals(literals.data()),
        offsets(offsets.data()),
        weights(nullptr),
        hard(nullptr),
        count(offsets.size() - 1) {}

  explicit Clauses(const nb::object& formula)
      : variables(nb::cast<std::uint32_t>(formula.attr("num_variables"))),
        literals(array<std::int32_t>(formula, "literals").data()),
        offsets(array<std::int32_t>(formula, "offsets").data()),
        weights(array<std::int64_t>(formula, "weights").data()),
        hard(reinterpret_cast<const std::uint8_t*>(array<bool>(formula, "hard").data())),
        count(array<std::int64_t>(formula, "weights").shape(0)) {}

  // Appends clause c in order and without repetitions. False, and nothing is appended, where it
  // holds a variable and its negation.
  bool append(std::size_t c, std::vector<std::uint32_t>& to) const {
    const std::size_t from = to.size();
    for (std::int32_t i = offsets[c]; i < offsets[c + 1]; ++i) to.push_back(code(literals[i]));
    const auto begin = to.begin() + static_cast<std::ptrdiff_t>(from);
    std::sort(begin, to.end());
    to.erase(std::unique(begin, to.end()), to.end());
    const auto opposite = [](std::uint32_t a, std::uint32_t b) { return (a ^ b) == 1; };
    const bool always = std::adjacent_find(begin, to.end(), opposite) != to.end();
    if (always) to.resize(from);
    return !always;
  }

  static std::uint32_t code(std::int32_t literal) { return 2u * variable(literal) + (literal < 0); }
  static std::int32_t literal(std::uint32_t code) {
    const auto v = static_cast<std::int32_t>(code / 2 + 1);
    return code & 1 ? -v : v;
  }
  static std::uint32_t variable(std::int32_t literal) {
    return static_cast<std::uint32_t>(literal > 0 ? literal : -literal) - 1;
  }

 private:
  template <class T>
  static Vector<T> array(const nb::object& formula, const char* name) {
    return nb::cast<Vector<T>>(formula.attr(name), false);
  }
};

// What an assignment, a byte a variable, does to a formula.
struct Evaluation {
  std::uint64_t violated = 0;  // hard clauses
  std::uint64_t satisfied = 0;
  unsigned __int128 cost = 0;
};
Evaluation evaluate(const Clauses& formula, const std::uint8_t* assignment);

// A first assignment, found in milliseconds, or in a few passes over a large formula.
std::vector<std::uint8_t> first_assignment(const Clauses& formula, const Poll& stopped);

// A formula that is clean, of whose arrays it has none: they must live as long.
struct Instance {
  std::uint32_t num_variables = 0;
  std::uint32_t num_clauses = 0;
  std::uint32_t longest = 0;              // literals of the longest clause
  std::uint32_t uniform = 0;              // literals of every clause, or 0 where they differ
  const std::int32_t* clause = nullptr;   // literals, clause by clause
  const std::int32_t* start = nullptr;    // first of each clause, shape (m + 1,)
  std::vector<std::uint32_t> occurrence;  // clauses, literal by literal
  std::vector<std::uint32_t> first;       // first of each literal, shape (2 n + 1,)
  bool complete = false;                  // false where it was stopped: not to be used

  Instance() = default;
  Instance(const Clauses& given, const Poll& stopped)
      : num_variables(given.variables),
        num_clauses(static_cast<std::uint32_t>(given.count)),
        clause(given.literals),
        start(given.offsets) {
    for (std::uint32_t c = 0; c < num_clauses; ++c) {
      const std::uint32_t size = length(c);
      uniform = c == 0 || uniform == size ? size : 0;
      longest = std::max(longest, size);
    }
    complete = index(stopped);
  }

  std::uint32_t length(std::uint32_t c) const {
    return static_cast<std::uint32_t>(start[c + 1] - start[c]);
  }
  std::span<const std::int32_t> literals(std::uint32_t c) const {
    return {clause + start[c], length(c)};
  }

 private:
  bool index(const Poll& stopped) {
    const auto count = static_cast<std::size_t>(start[num_clauses]);
    if (!extend(first, 2 * std::size_t{num_variables} + 1, stopped)) return false;
    for (std::size_t i = 0; i < count; ++i) {
      if (stopped(i)) return false;
      ++first[Clauses::code(clause[i])];
    }
    std::uint32_t ends = 0;
    for (std::uint32_t& of : first) of = ends += of;
    if (!extend(occurrence, count, stopped)) return false;
    // From the end of each literal's to its beginning, so that no other table is needed.
    for (std::uint32_t c = num_clauses; c > 0; --c) {
      if (stopped(c)) return false;
      for (const std::int32_t x : literals(c - 1)) occurrence[--first[Clauses::code(x)]] = c - 1;
    }
    return true;
  }
};

// The instance of a presolved formula, or null where it was stopped. Searches of one formula have
// the same one, so whoever holds it must hold the formula's arrays, too, by whose place it is
// known.
inline std::shared_ptr<const Instance> shared_instance(const Clauses& given, const Poll& stopped) {
  static std::mutex one_at_a_time;
  static std::weak_ptr<const Instance> last;
  static std::tuple<const std::int32_t*, const std::int32_t*, std::uint32_t> of;
  const auto place = std::make_tuple(given.literals, given.offsets, given.variables);
  const std::lock_guard<std::mutex> held(one_at_a_time);
  std::shared_ptr<const Instance> found = of == place ? last.lock() : nullptr;
  if (found) return found;
  found = std::make_shared<const Instance>(given, stopped);
  if (!found->complete) return nullptr;
  last = found;
  of = place;
  return found;
}

// Assignments of 64 variables a word, and of one a byte.
inline void unpack(const std::uint64_t* words, std::vector<std::uint8_t>& value) {
  for (std::size_t v = 0; v < value.size(); ++v) value[v] = words[v / 64] >> (v % 64) & 1;
}
inline void pack(const std::vector<std::uint8_t>& value, std::uint64_t* words) {
  std::fill_n(words, (value.size() + 63) / 64, 0);
  for (std::size_t v = 0; v < value.size(); ++v) {
    words[v / 64] |= static_cast<std::uint64_t>(value[v]) << (v % 64);
  }
}

}  // namespace hardscape::maxsat
