// The rules of a clause-weighting walk that many lanes can follow together, the same on every
// device.
//
// Clauses have search weights; the score of a variable is the search weight that its flip would
// satisfy less that it would violate. A step flips the best of some variables of positive score.
// Where there is none, some of the violated clauses become heavier, and the best variable of one or
// a few of them is flipped (SATLike: Lei and Cai, IJCAI 2018; NuWLS: Chu, Cai, Luo, AAAI 2023).
// Under pressure, what grows are all soft clauses alike, where what is violated is not cheaper than
// the best, and some steps are random (SPB-MaxSAT: Zheng, Chen, Li, He, 2024). After a while
// without improvement, the walk goes back to its best assignment, with first weights and another
// temper.
//
// Scores are sums of integers, so that their order does not matter. A list of violated clauses is
// changed in rounds of 32 occurrences, first those of the literal that becomes true: what leaves is
// replaced by what stays at the list's end, in order, and what joins is appended.
#pragma once

#include <cstdint>

#include "native/device.hpp"
#include "native/random.hpp"

namespace hardscape::maxsat {

constexpr std::uint64_t kWeighingPurpose = 0x6d787765;
// Lanes that look at the variables of positive score, and at how many each of them: from a word
// drawn on, each lane reads every 32nd word.
constexpr std::uint32_t kLanes = 32, kLooks = 2;
// Most violated clauses of a kind that become heavier in a step, consecutive ones from one drawn
// on; where there are more, as much heavier.
constexpr std::uint32_t kWindow = 32;
// Violated soft clauses of which the best variable is flipped.
constexpr std::uint32_t kOffers = 5;
// Numbers drawn for each step: which word, which windows, which clauses.
constexpr std::uint32_t kDraws = 8, kWordDraw = 0, kWindowDraw = 1, kOfferDraw = 2, kChanceDraw = 7;
static_assert(kOfferDraw + kOffers <= kChanceDraw);
// Shares of random steps under pressure, in 2^32: among the variables of positive score, and in a
// violated clause.
constexpr std::uint32_t kRandomGood = 154618823, kRandomEscape = 2061584302;
// Pressure is a number of 1 / 2^16; soft clauses take it over every so many times that it grows.
constexpr std::uint64_t kPressureOne = 1 << 16, kMostPressure = kPressureOne << 20;
constexpr std::uint32_t kPressing = 16;
// How an assignment counts that violates so many hard clauses; others count by their cost.
constexpr std::uint64_t kInfeasible = std::uint64_t{1} << 62;

// How search weights grow until the next restart.
struct WeighingTemper {
  std::int32_t hard;       // what a violated hard clause gains
  std::uint32_t soft;      // what a soft one does, in its first weight / 2^16
  std::int32_t limit;      // of soft weights, in first ones
  std::uint32_t patience;  // steps without improvement before the first restart
  std::uint32_t press;     // whether under pressure
};

HS_HD inline std::uint64_t more_pressure(std::uint64_t pressure) {
  const std::uint64_t next = (pressure + kPressureOne) * 1003 / 1000;
  return next < kMostPressure ? next : kMostPressure;
}

// Search weight of a soft clause under pressure, up to `most`.
HS_HD inline std::int32_t pressed(std::uint64_t pressure, std::int32_t unit, std::int32_t most) {
  const std::uint64_t weight = pressure * static_cast<std::uint64_t>(unit) >> 16;
  return weight < static_cast<std::uint64_t>(most) ? static_cast<std::int32_t>(weight) : most;
}

// The number drawn from a stream for a step.
HS_HD inline std::uint64_t weighing_draw(std::uint64_t state, std::uint64_t step,
                                         std::uint32_t which) {
  return RandomStream::resume_after(state, kDraws * step + which).next();
}

// Search weight of a clause when it has become heavier, `times` over; `most` of hard clauses.
HS_HD inline std::int32_t heavier(const WeighingTemper& temper, bool hard, std::int32_t unit,
                                  std::int32_t weight, std::uint32_t times, std::int32_t most) {
  const std::int64_t gain = hard ? temper.hard : (std::int64_t{unit} * temper.soft >> 16);
  const std::int64_t limit = hard ? most : std::int64_t{unit} * temper.limit;
  const std::int64_t next = weight + (gain > 0 ? gain : 1) * static_cast<std::int64_t>(times);
  return static_cast<std::int32_t>(next < limit ? next : weight < limit ? limit : weight);
}

// Whether a walk of so many restarts has waited long enough.
HS_HD inline bool impatient(const WeighingTemper& temper, std::uint64_t still,
                            std::uint32_t restarts) {
  return still > std::uint64_t{temper.patience} * (std::uint64_t{restarts} + 1);
}

// What is kept of a walk between two launches.
struct WeighingStatus {
  std::uint64_t random;       // state of its stream, as it began
  std::uint64_t steps;        // done
  std::uint64_t best;         // how its best assignment counts
  std::uint64_t cost;         // of the soft clauses violated now
  std::uint64_t improved_at;  // step
  std::uint64_t pressure;     // since the last restart
  std::uint32_t hard, soft;   // clauses violated now
  std::uint32_t last;         // variable flipped
  std::uint32_t restarts;
  std::uint32_t presses;  // how many times the pressure has grown
  std::uint32_t began;    // whether scores and lists are those of the assignment
};

}  // namespace hardscape::maxsat
