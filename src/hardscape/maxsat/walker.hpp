// Focused random walk on a formula without weights (probSAT; Balint and Schoening, SAT 2012): pick
// a violated clause at random, then one of its variables with a probability that falls with the
// number of clauses that only it satisfies ("break"), and flip it. Nothing is recomputed: a clause
// holds the number of its true literals and the sum of their variables, which is the one variable
// that matters when the number is 1, and the clause's place among the violated ones when it is 0.
//
// The trajectory is defined by integers alone: one draw a flip, whose low half picks the clause and
// whose high half the variable. Of the clauses that the flip satisfies the drawn one leaves the
// list first, then the others from the last place to the first; what is then the last clause takes
// the place of the one that leaves. Newly violated clauses are appended in the order of the
// occurrence lists. The same on every device.
#pragma once

#include <cstdint>

#include "native/random.hpp"

namespace hardscape::maxsat {

constexpr std::uint64_t kInitialPurpose =
    0x6d78696e;                                     // of the stream that sets the first assignment
constexpr std::uint64_t kWalkPurpose = 0x6d787761;  // of the stream that makes the choices
// Breaks that have a weight of their own; more count as this many.
constexpr std::uint32_t kBreakWeights = 256;
// Slots behind the break counts that take updates meant for nobody, so that no branch is needed.
constexpr std::uint32_t kSpareBreaks = 16;

// What is kept of a walk on a GPU between two launches.
struct WalkStatus {
  std::uint64_t random;    // state of its stream
  std::uint64_t steps;     // done
  std::uint64_t flips;     // done, one or some in each step
  std::uint32_t violated;  // now
  std::uint32_t best;      // fewest so far
};

// A literal as 2 * variable + negated, of what clauses hold: just that, or literals as Python has
// them.
HS_HD inline std::uint32_t code_of(unsigned short code) { return code; }
HS_HD inline std::uint32_t code_of(std::int32_t literal) {
  return 2 * static_cast<std::uint32_t>(literal > 0 ? literal : -literal) - 2 + (literal < 0);
}

// What a walk reads. Index holds a clause (below m).
template <class Literal, class Index>
struct WalkFormula {
  const Literal* clause;        // literals, clause by clause
  const std::int32_t* start;    // first of each clause; not read where clauses have K literals
  const Index* occurrence;      // clauses, literal by literal
  const std::uint32_t* first;   // first of each literal
  const std::uint32_t* weight;  // shape (kBreakWeights,), by break count, below 2^28
  std::uint32_t num_variables;
};

// What a walk changes. Count is the place of the number of true literals in a clause's word.
template <class Index, class Word, int Count>
struct WalkState {
  static constexpr Word kOne = Word{1} << Count;
  static constexpr Word kSum = kOne - 1;

  Word* word;              // shape (m,)
  std::uint32_t* breaks;   // shape (n + kSpareBreaks,)
  std::uint8_t* value;     // shape (n,)
  Index* violated;         // shape (m + 1,)
  std::uint32_t* leaving;  // of one flip: as many as a literal has occurrences, at most
  std::uint32_t num_violated;
};

HS_HD inline std::uint32_t pick(std::uint64_t draw32, std::uint32_t count) {
  return static_cast<std::uint32_t>((draw32 * count) >> 32);
}

HS_HD inline std::uint32_t break_weight(const std::uint32_t* weight, std::uint32_t breaks) {
  return weight[breaks < kBreakWeights ? breaks : kBreakWeights - 1];
}

// The literal of violated clause c to make true. K literals, or any number where K is 0.
template <int K, class Literal, class Index, class State>
HS_HD inline std::uint32_t choose(const WalkFormula<Literal, Index>& formula, const State& state,
                                  std::uint32_t c, std::uint64_t draw32) {
  const auto weight = [&](std::uint32_t l) {
    return break_weight(formula.weight, state.breaks[l >> 1]);
  };
  if constexpr (K == 3) {
    const Literal* given = formula.clause + 3 * static_cast<std::uint64_t>(c);
    const std::uint32_t l[3] = {code_of(given[0]), code_of(given[1]), code_of(given[2])};
#if !defined(__CUDACC__)
    for (int i = 0; i < 3; ++i) __builtin_prefetch(formula.occurrence + formula.first[l[i] & ~1u]);
#endif
    const std::uint32_t a = weight(l[0]), b = weight(l[1]), d = weight(l[2]);
    const std::uint32_t q = pick(draw32, a + b + d);
    return q < a ? l[0] : q < a + b ? l[1] : l[2];
  } else {
    const Literal* begin = formula.clause + formula.start[c];
    const Literal* end = formula.clause + formula.start[c + 1];
    std::uint64_t total = 0;
    for (const Literal* l = begin; l < end; ++l) total += weight(code_of(*l));
    // Up to 2^31 literals of weights below 2^28: the product needs more than 64 bits.
    std::uint64_t q = ((total >> 32) * draw32) + (((total & 0xffffffffu) * draw32) >> 32);
    for (const Literal* l = begin; l + 1 < end; ++l) {
      const std::uint32_t w = weight(code_of(*l));
      if (q < w) return code_of(*l);
      q -= w;
    }
    return code_of(end[-1]);
  }
}

// Where the update of a break count goes: to `variable` if `critical`, else to a spare slot.
// Written as arithmetic, because a branch here is mispredicted every other time.
HS_HD inline std::uint32_t target_of(bool critical, std::uint32_t variable, std::uint32_t spare) {
  return spare ^ ((spare ^ variable) & (0u - static_cast<std::uint32_t>(critical)));
}

// Inserts a place into `count` descending ones.
HS_HD inline void insert(std::uint32_t* places, std::uint32_t count, std::uint32_t place) {
  for (; count > 0 && places[count - 1] < place; --count) places[count] = places[count - 1];
  places[count] = place;
}

// Makes the false literal l true. Violated clause c, at place j of the list, is one that holds l.
template <class Literal, class Index, class Word, int Count>
HS_HD inline void flip(const WalkFormula<Literal, Index>& formula,
                       WalkState<Index, Word, Count>& state, std::uint32_t l, std::uint32_t c,
                       std::uint32_t j) {
  using State = WalkState<Index, Word, Count>;
  const std::uint32_t x = l >> 1;
  const Word step = State::kOne + x;
  std::uint32_t made = 1;
  std::uint32_t count = state.num_violated - 1;
  const Index moved = state.violated[count];
  state.violated[j] = moved;
  state.word[moved] = j;
  state.word[c] = 2 * State::kOne;  // so that the loop below finds nothing to do for c
  const Index* o = formula.occurrence + formula.first[l];
  const Index* end = formula.occurrence + formula.first[l + 1];
  for (std::uint32_t i = 0; o < end; ++o, ++i) {
    const std::uint32_t d = *o;
    const Word w = state.word[d];
    const Word trues = w >> Count;
    if (__builtin_expect(trues == 0, 0)) {
      state.word[d] = step;
      insert(state.leaving, made++ - 1, static_cast<std::uint32_t>(w));
      continue;
    }
    const std::uint32_t spare = formula.num_variables + (i & (kSpareBreaks - 1));
    --state.breaks[target_of(trues == 1, static_cast<std::uint32_t>(w & State::kSum), spare)];
    state.word[d] = w + step;
  }
  state.word[c] = step;
  for (std::uint32_t i = 0; i + 1 < made; ++i) {
    const std::uint32_t place = state.leaving[i];
    const Index last = state.violated[--count];
    if (place == count) continue;
    state.violated[place] = last;
    state.word[last] = place;
  }
  o = formula.occurrence + formula.first[l ^ 1];
  end = formula.occurrence + formula.first[(l ^ 1) + 1];
  for (std::uint32_t i = 0; o < end; ++o, ++i) {
    const std::uint32_t d = *o;
    const Word w = state.word[d] - step;
    const Word trues = w >> Count;
    state.violated[count] = static_cast<Index>(d);  // stays only if the clause is violated now
    const std::uint32_t spare = formula.num_variables + (i & (kSpareBreaks - 1));
    ++state.breaks[target_of(trues == 1, static_cast<std::uint32_t>(w & State::kSum), spare)];
    const Word gone = Word{0} - static_cast<Word>(trues == 0);
    state.word[d] = (w & ~gone) | (count & gone);
    count += trues == 0;
  }
  state.num_violated = count;
  state.breaks[x] = made;
  state.value[x] ^= 1;
}

// One step; returns the variable flipped. At least one clause must be violated.
template <int K, class Literal, class Index, class Word, int Count>
HS_HD inline std::uint32_t step(const WalkFormula<Literal, Index>& formula,
                                WalkState<Index, Word, Count>& state, RandomStream& random) {
  const std::uint64_t draw = random.next();
  const std::uint32_t j = pick(draw & 0xffffffffu, state.num_violated);
  const std::uint32_t c = state.violated[j];
  const std::uint32_t l = choose<K>(formula, state, c, draw >> 32);
  flip(formula, state, l, c, j);
  return l >> 1;
}

}  // namespace hardscape::maxsat
