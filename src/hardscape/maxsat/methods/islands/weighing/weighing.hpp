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
// temper. Some walks keep a temper of their own, and their weights: under a pressure that grows
// from nothing, where the hard clauses hold.
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
// Pressure is a number of 1 / 2^16; soft clauses take it over when it has grown by so large a part.
constexpr std::uint64_t kPressureOne = 1 << 16, kMostPressure = kPressureOne << 20;
constexpr std::uint64_t kPressing = 16;
// How an assignment counts that violates so many hard clauses; others count by their cost.
constexpr std::uint64_t kInfeasible = std::uint64_t{1} << 62;

// How search weights grow until the next restart.
struct WeighingTemper {
  std::int32_t hard;        // what a violated hard clause gains
  std::uint32_t soft;       // what a soft one does, or the pressure, in its first weight / 2^16
  std::int32_t limit;       // of soft weights, in first ones
  std::uint32_t patience;   // steps without improvement before the first restart
  std::uint32_t press;      // under pressure: by what factor / 1000 it grows, else 0
  std::uint32_t from_zero;  // whether it begins at 0 and grows only where the hard clauses hold
};

HS_HD inline std::uint64_t first_pressure(const WeighingTemper& temper) {
  return temper.from_zero ? 0 : kPressureOne;
}

HS_HD inline std::uint64_t more_pressure(const WeighingTemper& temper, std::uint64_t pressure) {
  const std::uint64_t next = (pressure + temper.soft) * temper.press / 1000;
  return next < kMostPressure ? next : kMostPressure;
}

// Whether soft clauses take the pressure over.
HS_HD inline bool due(std::uint64_t pressure, std::uint64_t taken) {
  return pressure - taken > taken / kPressing;
}

// Search weight of a soft clause under pressure, from 1 to `most`.
HS_HD inline std::int32_t pressed(std::uint64_t pressure, std::int32_t unit, std::int32_t most) {
  const std::uint64_t weight = pressure * static_cast<std::uint64_t>(unit) >> 16;
  if (weight >= static_cast<std::uint64_t>(most)) return most;
  return weight > 0 ? static_cast<std::int32_t>(weight) : 1;
}

// Search weight of a clause at first; hard ones are as much lighter as the pressure from 0 gains
// less.
HS_HD inline std::int32_t first_weight(const WeighingTemper& temper, bool hard, std::int32_t unit,
                                       std::int32_t most) {
  if (!hard) return pressed(first_pressure(temper), unit, most);
  return temper.from_zero ? pressed(temper.soft, unit, most) : unit;
}

// Whether a walk is one of those, one in `lasting`, that keep the last temper, and their weights
// where they go on from another assignment.
HS_HD inline bool lasts(std::uint64_t stream, std::uint32_t lasting) {
  return lasting > 0 && stream % lasting == lasting - 1;
}

// Which temper a walk has after so many restarts: others have all but the last one in turn.
HS_HD inline std::uint32_t temper_of(std::uint64_t stream, std::uint32_t restarts,
                                     std::uint32_t tempers, std::uint32_t lasting) {
  return lasts(stream, lasting) ? tempers - 1
                                : static_cast<std::uint32_t>((stream + restarts) % (tempers - 1));
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

// Whether a walk of so many restarts has waited long enough, or pressure from 0 is at its end.
HS_HD inline bool impatient(const WeighingTemper& temper, std::uint64_t still,
                            std::uint32_t restarts, std::uint64_t pressure) {
  return still > std::uint64_t{temper.patience} * (std::uint64_t{restarts} + 1) ||
         (temper.from_zero && pressure >> 16 >= static_cast<std::uint64_t>(temper.limit));
}

// What of a walk is that of its assignment: nothing, its search weights, or scores and lists, too.
constexpr std::uint32_t kAfresh = 0, kWeighted = 1, kGoing = 2;

// What is kept of a walk between two launches.
struct WeighingStatus {
  std::uint64_t random;       // state of its stream, as it began
  std::uint64_t steps;        // done
  std::uint64_t best;         // how its best assignment counts
  std::uint64_t cost;         // of the soft clauses violated now
  std::uint64_t improved_at;  // step
  std::uint64_t pressure;     // since the last restart
  std::uint64_t taken;        // pressure that soft clauses have taken over
  std::uint32_t hard, soft;   // clauses violated now
  std::uint32_t last;         // variable flipped
  std::uint32_t restarts;
  std::uint32_t began;  // what follows from the assignment, as below
};

}  // namespace hardscape::maxsat
