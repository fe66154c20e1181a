// Elimination of a sparse system over GF(2) in four steps, of which only the third is dense:
//   1. leaves: a variable of one clause settles that clause, whatever the others are; the clause
//      goes, until every variable left is in two clauses or more;
//   2. inactivation: a clause with one active variable defines it by the others. Where there is no
//      such clause, a variable is declared inactive, one whose loss gives the most such clauses
//      (Shokrollahi, Lassen, Karp 2005; RFC 6330, 5.4). All clauses end as sums of inactive ones;
//   3. the clauses that defined nothing are a dense system over the inactive variables;
//   4. substitution, backwards through steps 2 and 1.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "xorsat/methods/elimination/dense_gf2.hpp"

namespace hardscape::xorsat {

struct SparseSystem {
  std::size_t num_variables, num_clauses;
  const std::int64_t* offsets;
  const std::int32_t* variables;
  const std::uint8_t* parity;
};

class Elimination {
 public:
  // `poll` is called now and then, `room` with the bytes that are about to be taken; both may
  // throw.
  template <class Poll, class Room>
  Elimination(const SparseSystem& system, Poll&& poll, Room&& room) : s_(system) {
    transpose();
    remove_leaves();
    inactivate();
    const std::size_t dense = BitMatrix::bytes(peeled_.size(), inactive_.size() + 1) +
                              BitMatrix::bytes(residual_.size(), inactive_.size() + 1);
    room(dense);
    solve_dense(poll);
  }

  bool consistent() const { return consistent_; }
  std::size_t rank() const { return leaves_.size() + peeled_.size() + pivots_.size(); }

  // Variables that every value can be given to, ascending; the others then follow.
  const std::vector<std::int32_t>& free_variables() const { return free_; }

  // The assignment in which the free variables are 0: it satisfies `rank` clauses that span the
  // others, and all clauses where the system is consistent.
  std::vector<std::uint8_t> assignment() const {
    std::vector<std::uint8_t> x(s_.num_variables);
    for (std::size_t r = 0; r < pivots_.size(); ++r) {
      x[inactive_[pivots_[r]]] = dense_.get(r, inactive_.size());
    }
    substitute([&](std::int32_t clause, std::int32_t variable) {
      std::uint8_t value = s_.parity[clause];
      for_others(clause, variable, [&](std::int32_t other) { value ^= x[other]; });
      x[variable] = value;
    });
    return x;
  }

  // Row i, bit f: whether variable i changes with free variable f.
  BitMatrix dependence() const {
    BitMatrix bits(s_.num_variables, free_.size());
    std::vector<std::pair<std::size_t, std::size_t>> free_columns;
    for (std::size_t f = 0; f < free_.size(); ++f) {
      bits.flip(free_[f], f);
      if (state_[free_[f]] == State::inactive) free_columns.emplace_back(column_[free_[f]], f);
    }
    for (std::size_t r = 0; r < pivots_.size(); ++r) {
      for (const auto& [column, f] : free_columns) {
        if (dense_.get(r, column)) bits.flip(inactive_[pivots_[r]], f);
      }
    }
    substitute([&](std::int32_t clause, std::int32_t variable) {
      for_others(clause, variable, [&](std::int32_t other) {
        add_row(bits.row(variable), bits.row(other), bits.stride());
      });
    });
    return bits;
  }

 private:
  enum class State : std::uint8_t { active, leaf, peeled, inactive };
  using Definition = std::pair<std::int32_t, std::int32_t>;  // clause, the variable that it defines

  template <class Visit>
  void for_others(std::int32_t clause, std::int32_t variable, Visit&& visit) const {
    for (std::int64_t k = s_.offsets[clause]; k < s_.offsets[clause + 1]; ++k) {
      if (s_.variables[k] != variable) visit(s_.variables[k]);
    }
  }

  template <class Define>
  void substitute(Define&& define) const {
    for (const auto& [clause, variable] : peeled_) define(clause, variable);
    for (std::size_t i = leaves_.size(); i-- > 0;) define(leaves_[i].first, leaves_[i].second);
  }

  void transpose() {
    const auto nnz = static_cast<std::size_t>(s_.offsets[s_.num_clauses]);
    begin_.assign(s_.num_variables + 1, 0);
    for (std::size_t k = 0; k < nnz; ++k) ++begin_[s_.variables[k] + 1];
    for (std::size_t i = 0; i < s_.num_variables; ++i) begin_[i + 1] += begin_[i];
    clauses_.resize(nnz);
    auto next = begin_;
    for (std::size_t a = 0; a < s_.num_clauses; ++a) {
      for (std::int64_t k = s_.offsets[a]; k < s_.offsets[a + 1]; ++k) {
        clauses_[next[s_.variables[k]]++] = static_cast<std::int32_t>(a);
      }
    }
    state_.assign(s_.num_variables, State::active);
    gone_.assign(s_.num_clauses, 0);
  }

  template <class Visit>
  void for_clauses(std::int32_t variable, Visit&& visit) const {
    for (std::int64_t k = begin_[variable]; k < begin_[variable + 1]; ++k) {
      if (!gone_[clauses_[k]]) visit(clauses_[k]);
    }
  }

  void remove_leaves() {
    degree_.resize(s_.num_variables);
    std::vector<std::int32_t> queue;
    for (std::size_t i = 0; i < s_.num_variables; ++i) {
      degree_[i] = static_cast<std::int32_t>(begin_[i + 1] - begin_[i]);
      if (degree_[i] == 1) queue.push_back(static_cast<std::int32_t>(i));
    }
    while (!queue.empty()) {
      const std::int32_t leaf = queue.back();
      queue.pop_back();
      if (degree_[leaf] != 1) continue;  // its clause went with another leaf
      std::int32_t clause = -1;
      for_clauses(leaf, [&](std::int32_t a) { clause = a; });
      gone_[clause] = 1;
      degree_[leaf] = 0;
      state_[leaf] = State::leaf;
      leaves_.emplace_back(clause, leaf);
      for_others(clause, leaf, [&](std::int32_t other) {
        if (--degree_[other] == 1) queue.push_back(other);
      });
    }
    for (std::size_t i = 0; i < s_.num_variables; ++i) {
      if (degree_[i] == 0 && state_[i] == State::active) {
        free_.push_back(static_cast<std::int32_t>(i));
        state_[i] = State::leaf;
      }
    }
  }

  // How much is gained when the variable is no longer active: clauses that then define a variable
  // count most, those that are one step away next.
  std::int64_t gain(std::int32_t variable) const {
    std::int64_t pairs = 0, triples = 0;
    for_clauses(variable, [&](std::int32_t a) {
      pairs += active_[a] == 2;
      triples += active_[a] == 3;
    });
    return pairs << 40 | triples << 20 | degree_[variable];
  }

  void inactivate() {
    active_.assign(s_.num_clauses, 0);
    std::vector<std::int32_t> ready;
    for (std::size_t a = 0; a < s_.num_clauses; ++a) {
      if (gone_[a]) continue;
      active_[a] = static_cast<std::int32_t>(s_.offsets[a + 1] - s_.offsets[a]);
      if (active_[a] == 0) residual_.push_back(static_cast<std::int32_t>(a));
      if (active_[a] == 1) ready.push_back(static_cast<std::int32_t>(a));
    }
    std::priority_queue<std::pair<std::int64_t, std::int32_t>> candidates;
    for (std::size_t i = 0; i < s_.num_variables; ++i) {
      const auto variable = static_cast<std::int32_t>(i);
      if (state_[i] == State::active) candidates.emplace(gain(variable), variable);
    }
    const auto deactivate = [&](std::int32_t variable) {
      for_clauses(variable, [&](std::int32_t a) {
        if (--active_[a] == 1) ready.push_back(a);
        if (active_[a] == 0) residual_.push_back(a);
        if (active_[a] == 2 || active_[a] == 3) {
          for_others(a, variable, [&](std::int32_t other) {
            if (state_[other] == State::active) candidates.emplace(gain(other), other);
          });
        }
      });
    };
    while (true) {
      if (!ready.empty()) {
        const std::int32_t clause = ready.back();
        ready.pop_back();
        if (active_[clause] != 1) continue;  // an equal clause defined the variable
        std::int32_t variable = -1;
        for_others(clause, -1, [&](std::int32_t i) {
          if (state_[i] == State::active) variable = i;
        });
        state_[variable] = State::peeled;
        peeled_.emplace_back(clause, variable);
        gone_[clause] = 1;
        deactivate(variable);
      } else if (!candidates.empty()) {
        const auto [value, variable] = candidates.top();
        candidates.pop();
        if (state_[variable] != State::active || value != gain(variable)) continue;
        state_[variable] = State::inactive;
        inactive_.push_back(variable);
        deactivate(variable);
      } else {
        return;
      }
    }
  }

  template <class Poll>
  void solve_dense(Poll&& poll) {
    const std::size_t columns = inactive_.size();
    column_.assign(s_.num_variables, 0);
    for (std::size_t c = 0; c < columns; ++c) column_[inactive_[c]] = static_cast<std::int32_t>(c);
    BitMatrix defined(peeled_.size(), columns + 1);
    std::vector<std::int32_t> row_of(s_.num_variables);
    const auto express = [&](BitMatrix& to, std::size_t row, std::int32_t clause,
                             std::int32_t variable) {
      for_others(clause, variable, [&](std::int32_t other) {
        if (state_[other] == State::inactive) {
          to.flip(row, column_[other]);
        } else {
          add_row(to.row(row), defined.row(row_of[other]), to.stride());
        }
      });
      if (s_.parity[clause]) to.flip(row, columns);
    };
    for (std::size_t r = 0; r < peeled_.size(); ++r) {
      const auto [clause, variable] = peeled_[r];
      row_of[variable] = static_cast<std::int32_t>(r);
      express(defined, r, clause, variable);
      if (r % 1024 == 0) poll();
    }
    dense_ = BitMatrix(residual_.size(), columns + 1);
    for (std::size_t r = 0; r < residual_.size(); ++r) express(dense_, r, residual_[r], -1);
    pivots_ = reduce(dense_, columns, poll);
    for (std::size_t r = pivots_.size(); r < residual_.size(); ++r) {
      consistent_ = consistent_ && !dense_.get(r, columns);
    }
    std::size_t next = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      if (next < pivots_.size() && pivots_[next] == c) {
        ++next;
      } else {
        free_.push_back(inactive_[c]);
      }
    }
    std::sort(free_.begin(), free_.end());
  }

  SparseSystem s_;
  std::vector<std::int64_t> begin_;    // of each variable in clauses_
  std::vector<std::int32_t> clauses_;  // clauses of each variable
  std::vector<std::uint8_t> gone_;     // clauses that settled or defined a variable
  std::vector<std::int32_t> degree_;   // clauses left of each variable after step 1
  std::vector<std::int32_t> active_;   // active variables of each clause
  std::vector<State> state_;
  std::vector<Definition> leaves_, peeled_;
  std::vector<std::int32_t> inactive_, column_, residual_, free_;
  BitMatrix dense_{0, 0};
  std::vector<std::size_t> pivots_;
  bool consistent_ = true;
};

}  // namespace hardscape::xorsat
