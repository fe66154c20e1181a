// What a run between two restarts makes of some of the options.
#pragma once

#include <cstdint>
#include <span>

namespace hardscape::maxsat {

constexpr std::uint64_t kForever = UINT64_MAX;  // patience

struct Temper {
  double increase = 1, limit = 1;  // times those of soft clauses
  std::uint64_t patience = 1;      // times that of the options
  double hard = 1;                 // times the increase of hard clauses
  // By what factor all soft clauses grow alike (0 where each grows by itself): wherever an
  // assignment would be too dear (SPB-MaxSAT: Zheng, Chen, Li, He, 2024), or from nothing on and
  // only where the hard clauses hold (NuWLS-c of the MaxSAT Evaluation 2023), until the pressure is
  // the most that there is.
  double press = 0;
  bool from_nothing = false;
  // Shares of random steps, among the good variables and in a violated clause, of which one alone
  // is looked at then; and of escapes at which satisfied soft clauses that have grown lose one
  // increase (NuWLS: Chu, Cai, Luo, 2023).
  double good = 0, escape = 0, smooth = 0;
  // Whether an escape looks at one violated clause alone, and what it flips may come back at once,
  // as in NuWLS-c: else another good variable is flipped first.
  bool returns = false;
  // Flips without improvement after which the search goes on from its best assignment, with the
  // weights that it has learnt, in variables; 0 is never.
  std::uint64_t back = 0;
  bool alike =
      false;  // whether all variables are false, or true, at first, where no clause is hard
};

// Each of some tempers has a run in turn. No single one suits all: on covers weights must creep, on
// encodings of counters they must leap, and where one clause after the other would be given up they
// must grow together, beside some random steps.
using Tempers = std::span<const Temper>;
constexpr Temper kPress = {
    .patience = 20, .hard = 5, .press = 1.003, .good = 0.036, .escape = 0.48};
constexpr Temper kCreep, kLeap = {.increase = 10},
                         kLow = {.increase = 10, .limit = 0.4, .patience = 4};
constexpr Temper kTempers[] = {kCreep, kLeap, kPress, kLow, kPress};
// Those of searches that have turns: one begins anew, two go on under pressure, of which one goes
// back to its best assignment time after time, or one, where no clause is hard, with weights that
// fall again.
constexpr Temper kAnew[] = {kCreep, kLeap, kLow};
constexpr Temper kPressed[] = {{.patience = kForever,
                                .hard = 50,
                                .press = 1.001,
                                .from_nothing = true,
                                .good = 0.036,
                                .escape = 0.48}};
constexpr Temper kReturning[] = {{.patience = kForever,
                                  .hard = 50,
                                  .press = 1.001,
                                  .from_nothing = true,
                                  .good = 0.036,
                                  .escape = 0.48,
                                  .returns = true,
                                  .back = 10}};
constexpr Temper kSmoothed[] = {
    {.patience = kForever, .good = 0.007, .escape = 0.047, .smooth = 0.002, .alike = true}};

}  // namespace hardscape::maxsat
