// A first assignment by unit propagation: hard units first, then soft units, else a random
// variable. Propagation of a soft unit prefers the heaviest of a few (Cai, Luo, Lin, Su 2017,
// decimation for MaxSAT local search; Lei and Cai, IJCAI 2018).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/walker.hpp"
#include "native/random.hpp"

namespace hardscape::maxsat {

class Decimation {
 public:
  // `weight` and `hard` are of each clause.
  Decimation(const Instance& instance, const std::int64_t* weight, const std::uint8_t* hard)
      : instance_(instance), weight_(weight), hard_(hard) {}

  // Fills `value` with 0 and 1, shape (n,); what is open when `stop` is set becomes 0. Whatever
  // `left` and `units`, shape (m,), and `order`, shape (n,), hold is lost.
  void run(std::vector<std::uint8_t>& value, std::vector<std::uint32_t>& left,
           std::span<std::uint32_t> units, std::vector<std::uint32_t>& order, RandomStream& random,
           const volatile std::uint8_t* stop) {
    const std::uint32_t n = instance_.num_variables, m = instance_.num_clauses;
    value.assign(n, kUnset);
    const Poll stopped(stop);
    const bool ready = extend(left, m, stopped);
    for (int kind = 0; kind < 2; ++kind) units_[kind] = {units, kind == 1};
    order.resize(n);
    for (std::uint32_t v = 0; v < n; ++v) order[v] = v;
    for (std::uint32_t c = 0; c < m && ready && !stopped(c); ++c) {
      left[c] = instance_.length(c);
      if (left[c] == 1) units_[hard_[c]].push(c);
    }
    for (std::uint32_t next = n; next > 0 && ready && !*stop;) {
      const std::uint32_t l = unit_literal(value, left, random);
      if (l != kNone) {
        assign(value, left, l);
        continue;
      }
      std::swap(order[pick(random.next() >> 32, next)], order[next - 1]);
      const std::uint32_t v = order[--next];
      if (value[v] == kUnset)
        assign(value, left, 2 * v + static_cast<std::uint32_t>(random.next() >> 63));
    }
    for (std::uint8_t& x : value)
      if (x == kUnset) x = 0;
  }

 private:
  static constexpr std::uint8_t kUnset = 2;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr int kTries = 15;

  // A list of clauses in a table that two of them share, from its ends on: a clause becomes a unit
  // once.
  class Units {
   public:
    Units() = default;
    Units(std::span<std::uint32_t> table, bool first) : table_(table), first_(first) {}
    std::uint32_t size() const { return size_; }
    std::uint32_t& operator[](std::uint32_t i) {
      return table_[first_ ? i : table_.size() - 1 - i];
    }
    void push(std::uint32_t c) { (*this)[size_++] = c; }
    // Gives one, whose place the last one takes.
    std::uint32_t take(std::uint32_t i) {
      const std::uint32_t c = (*this)[i];
      (*this)[i] = (*this)[--size_];
      return c;
    }

   private:
    std::span<std::uint32_t> table_;
    bool first_ = true;
    std::uint32_t size_ = 0;
  };

  // The open literal of a unit clause; clauses that are none any more are dropped on the way.
  std::uint32_t unit_literal(const std::vector<std::uint8_t>& value,
                             const std::vector<std::uint32_t>& left, RandomStream& random) {
    for (int kind = 1; kind >= 0; --kind) {
      Units& units = units_[kind];
      while (units.size() != 0) {
        std::uint32_t best = pick(random.next() >> 32, units.size());
        for (int i = 1; kind == 0 && i < kTries; ++i) {
          const std::uint32_t other = pick(random.next() >> 32, units.size());
          if (weight_[units[other]] > weight_[units[best]]) best = other;
        }
        const std::uint32_t c = units.take(best);
        for (const std::int32_t x : instance_.literals(c))
          if (value[Clauses::variable(x)] == kUnset && left[c] == 1) return Clauses::code(x);
      }
    }
    return kNone;
  }

  // A satisfied clause never becomes a unit: its count is set beyond reach.
  void assign(std::vector<std::uint8_t>& value, std::vector<std::uint32_t>& left, std::uint32_t l) {
    value[l >> 1] = !(l & 1);
    for (std::uint32_t i = instance_.first[l]; i < instance_.first[l + 1]; ++i)
      left[instance_.occurrence[i]] = kNone;
    for (std::uint32_t i = instance_.first[l ^ 1]; i < instance_.first[(l ^ 1) + 1]; ++i) {
      const std::uint32_t c = instance_.occurrence[i];
      if (left[c] != kNone && --left[c] == 1) units_[hard_[c]].push(c);
    }
  }

  const Instance& instance_;
  const std::int64_t* weight_;
  const std::uint8_t* hard_;
  Units units_[2];
};

}  // namespace hardscape::maxsat
