// Hill climbing of many individuals at once: bit i of a plane belongs to individual i.
//
// Variable v should be true where more clauses need it true than false. A clause needs v if its
// other literals are all false. Let T count the positive occurrences that are needed plus the
// negative ones that are not, and q be the number of negative ones: more need it true if T > q, and
// more false if T < q. The counter starts at 2^(K-1) - q, so that its top bit says T >= q.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "maxsat/methods/cellular/clause_table.hpp"
#include "native/vector.hpp"

namespace hardscape::maxsat {

inline constexpr int kPlaneBits = 8 * kVectorBytes;
inline constexpr int kPlaneWords = kPlaneBits / 64;
using Plane = std::uint64_t __attribute__((vector_size(kPlaneBits / 8)));

inline bool any(const Plane& x) {
  std::uint64_t found = 0;
  for (int i = 0; i < kPlaneWords; ++i) found |= x[i];
  return found != 0;
}

// Transposes 64 x 64 bits: bit j of word i becomes bit i of word j.
inline void transpose(std::uint64_t (&word)[64]) {
  std::uint64_t mask = 0x00000000ffffffffull;
  for (int half = 32; half; half /= 2, mask ^= mask << half) {
    for (int i = 0; i < 64; i = ((i | half) + 1) & ~half) {
      const std::uint64_t swap = ((word[i] >> half) ^ word[i | half]) & mask;
      word[i] ^= swap << half;
      word[i | half] ^= swap;
    }
  }
}

class BitSlicedClimber {
 public:
  BitSlicedClimber(const ClauseTable& table, const Poll& stopped)
      : table_(table), three_(table.longest <= 3) {
    const std::uint32_t variables = table.num_variables, never = 2 * variables;  // a false plane
    const std::size_t most = table.occurrence.size() + (kGroup - 1) * std::size_t{variables};
    variable_.reserve(variables);
    invert_.reserve(most);
    if (three_) others_.reserve(2 * most);
    for (std::uint32_t v = 0; v < variables; ++v) {
      if (stopped(v)) return;
      const std::size_t from = table.first[2 * v], middle = table.first[2 * v + 1],
                        to = table.first[2 * v + 2];
      const auto positive = static_cast<std::uint32_t>(middle - from);
      const auto negative = static_cast<std::uint32_t>(to - middle);
      const int planes = std::max<int>(4, std::bit_width(std::max(positive, negative)) + 1);
      const std::size_t groups = (to - from + kGroup - 1) / kGroup;
      variable_.push_back({groups, planes, (1u << (planes - 1)) - negative});
      for (std::size_t i = from; i < from + groups * kGroup; ++i) {
        const std::size_t begin = others_.size();
        if (!three_) others_from_.push_back(begin);
        invert_.push_back(i < middle ? ~std::uint64_t{0} : 0);
        if (i < to) {
          const std::uint32_t own = 2 * v + (i >= middle);
          const std::uint32_t clause = table.occurrence[i];
          for (const std::int32_t x : table.literals(clause))
            if (Clauses::code(x) != own) others_.push_back(Clauses::code(x));
        }
        // At least two, so that the usual case is one expression.
        while (others_.size() < begin + 2) others_.push_back(never);
      }
    }
    if (!three_) others_from_.push_back(others_.size());
    complete_ = true;
  }

  // False where it was stopped: not to be used.
  bool complete() const { return complete_; }

  // Makes planes that `climb` works on, 2 for each variable and one that stays 0; false if stopped.
  bool make_planes(std::vector<Plane>& planes, const Poll& stopped) const {
    return extend(planes, 2 * std::size_t{table_.num_variables} + 1, stopped);
  }

  // Climbs for `passes` passes over the variables; returns who still improved in the last one.
  Plane climb(Plane* literal, std::int64_t passes, const Poll& stopped) const {
    return three_ ? climb_as<true>(literal, passes, stopped)
                  : climb_as<false>(literal, passes, stopped);
  }

  // Adds the weights of violated clauses to the `count` first individuals; false if stopped.
  bool add_costs(const Plane* literal, std::size_t count, Cost* cost, const Poll& stopped) const {
    for (std::uint32_t c = 0; c < table_.num_clauses; ++c) {
      if (stopped(c)) return false;
      const auto literals = table_.literals(c);
      Plane satisfied = literal[Clauses::code(literals[0])];
      for (const std::int32_t x : literals.subspan(1)) satisfied |= literal[Clauses::code(x)];
      for (int word = 0; word < kPlaneWords; ++word) {
        for (std::uint64_t left = ~satisfied[word]; left; left &= left - 1) {
          const std::size_t i = 64 * word + std::countr_zero(left);
          if (i >= count) break;
          cost[i] += table_.weight[c];
        }
      }
    }
    return true;
  }

 private:
  static constexpr int kGroup = 4;
  static constexpr int kMostPlanes = 33;

  struct Variable {
    std::size_t groups;
    int planes;
    std::uint32_t bias;
  };

  template <bool Three>
  Plane climb_as(Plane* literal, std::int64_t passes, const Poll& stopped) const {
    Plane changed{};
    std::uint32_t quiet = 0;  // visits since the last change
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      changed = Plane{};
      const std::uint32_t* others = others_.data();
      std::size_t occurrence = 0;
      for (std::uint32_t v = 0; v < table_.num_variables; ++v) {
        if (stopped(v)) return changed;
        const Variable& variable = variable_[v];
        const Plane flip =
            literal[2 * v] ^ preferred<Three>(variable, literal, 2 * v, others, occurrence);
        occurrence += kGroup * variable.groups;
        if (Three) others += 2 * kGroup * variable.groups;
        if (any(flip)) {
          literal[2 * v] ^= flip;
          literal[2 * v + 1] ^= flip;
          changed |= flip;
          quiet = 0;
        } else if (++quiet >= table_.num_variables) {
          return pass + 1 == passes ? changed : Plane{};
        }
      }
    }
    return changed;
  }

  template <bool Three>
  Plane preferred(const Variable& variable, const Plane* literal, std::uint32_t own,
                  const std::uint32_t* others, std::size_t occurrence) const {
    switch (variable.planes) {
      case 4:
        return count<Three, 4>(variable, literal, own, others, occurrence);
      case 5:
        return count<Three, 5>(variable, literal, own, others, occurrence);
      case 6:
        return count<Three, 6>(variable, literal, own, others, occurrence);
      default:
        return count<Three, kMostPlanes>(variable, literal, own, others, occurrence);
    }
  }

  template <bool Three, int Most>
  Plane count(const Variable& variable, const Plane* literal, std::uint32_t own,
              const std::uint32_t* others, std::size_t occurrence) const {
    const int planes = Most == kMostPlanes ? variable.planes : Most;
    Plane counter[Most];
    for (int k = 0; k < planes; ++k) {
      counter[k] = Plane{} - static_cast<std::uint64_t>(variable.bias >> k & 1);
    }
    const std::uint64_t* invert = invert_.data() + occurrence;
    const std::size_t* from = Three ? nullptr : others_from_.data() + occurrence;
    for (std::size_t g = 0; g < variable.groups; ++g) {
      Plane input[kGroup];
      for (int i = 0; i < kGroup; ++i) {
        if constexpr (Three) {
          input[i] = literal[others[0]] | literal[others[1]];
          others += 2;
        } else {
          input[i] = literal[others_[from[0]]];
          for (std::size_t l = from[0] + 1; l < from[1]; ++l) input[i] |= literal[others_[l]];
          ++from;
        }
        input[i] ^= Plane{} + invert[i];
      }
      invert += kGroup;
      const Plane twos_a = add(counter[0], input[0], input[1]);
      const Plane twos_b = add(counter[0], input[2], input[3]);
      Plane carry = add(counter[1], twos_a, twos_b);
      for (int k = 2; k < planes; ++k) {
        const Plane next = counter[k] & carry;
        counter[k] ^= carry;
        carry = next;
      }
    }
    Plane above = literal[own];  // T > q, or T = q and the variable is true
    for (int k = 0; k + 1 < planes; ++k) above |= counter[k];
    return above & counter[planes - 1];
  }

  // Full adder: the sum replaces `sum`, the carry is returned.
  static Plane add(Plane& sum, const Plane& a, const Plane& b) {
    const Plane carry = (a & b) | (sum & (a | b));
    sum ^= a ^ b;
    return carry;
  }

  const ClauseTable& table_;
  std::vector<Variable> variable_;
  std::vector<std::uint32_t> others_;  // other literals of each occurrence
  std::vector<std::size_t>
      others_from_;                    // of each occurrence in `others_` unless `three_`; the end
  std::vector<std::uint64_t> invert_;  // all ones for positive occurrences
  bool three_;                         // whether every occurrence has at most two others
  bool complete_ = false;
};

}  // namespace hardscape::maxsat
