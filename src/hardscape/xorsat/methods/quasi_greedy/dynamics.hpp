// The quasi-greedy dynamics on the CPU: groups of 1024 clones that share their coins, each clone a
// bit of a word, and for each clause the word "violated" instead of spins.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "xorsat/methods/quasi_greedy/lanes.hpp"
#include "xorsat/methods/quasi_greedy/streams.hpp"

namespace hardscape::xorsat {

// The numbers first <= k < last.
struct Range {
  int first, last;
};

// The probabilities strictly between 0 and 1 that occur, in units of 2^-40. The level of a coin is
// the number of them that it reaches; its first byte alone tells that, but where a threshold lies
// inside.
class Thresholds {
 public:
  Thresholds() : Thresholds(std::vector<std::uint64_t>{}) {}
  explicit Thresholds(std::vector<std::uint64_t> ascending) : values_(std::move(ascending)) {
    for (std::uint64_t byte = 0; byte < 256; ++byte) {
      const int low = level(byte << 32), high = level(byte << 32 | 0xffffffffu);
      of_byte_[byte] = static_cast<std::uint16_t>(low);
      inside_[byte] = low != high;
    }
  }

  int levels() const { return static_cast<int>(values_.size()) + 1; }
  int of_byte(std::uint8_t byte) const { return of_byte_[byte]; }
  bool inside(std::uint8_t byte) const { return inside_[byte]; }
  int level(std::uint64_t coin) const {
    return static_cast<int>(std::upper_bound(values_.begin(), values_.end(), coin) -
                            values_.begin());
  }
  // Of a single threshold, or none: its first byte and the rest.
  std::uint8_t coarse() const { return values_.empty() ? 0 : values_[0] >> 32; }
  std::uint32_t fine() const {
    return values_.empty() ? 0 : static_cast<std::uint32_t>(values_[0]);
  }

 private:
  std::vector<std::uint64_t> values_;
  std::uint16_t of_byte_[256];
  bool inside_[256];
};

// One sweep over one system, as hardscape.xorsat.methods.quasi_greedy.plan lays it out.
struct Sweep {
  int variables = 0, clauses = 0;
  std::vector<std::int64_t> offsets;    // clause -> its variables
  std::vector<std::int32_t> members;    // the variables
  std::vector<std::uint8_t> parity;     // right-hand sides
  std::vector<std::int32_t> order;      // update -> its variable
  std::vector<std::int32_t> starts;     // update -> its clauses
  std::vector<std::int32_t> touched;    // the clauses
  std::vector<std::uint8_t> chained;    // update -> its first clause is the last of the one before
  std::vector<std::uint16_t> table_of;  // degree -> rows of `ranges`, one a level of the coin
  std::vector<std::vector<Range>> ranges;  // level -> numbers of violated clauses that flip
  Thresholds thresholds;
  bool majority = false;  // every update is of three clauses, and there is one threshold at most

  int updates() const { return static_cast<int>(order.size()); }
  int coin_words() const { return (updates() + 7) / 8; }
  const std::vector<Range>& accepted(int degree, int level) const {
    return ranges[table_of[degree] * thresholds.levels() + level];
  }
};

// `Words` 32-bit words of clones of one group, updated together in registers of type Word.
template <class Word, int Words>
class Clones {
  static constexpr int kStep = sizeof(Word) / sizeof(std::uint32_t);
  static constexpr int kVectors = Words / kStep;
  static_assert(kVectors * kStep == Words);

 public:
  // The words first_word, first_word + 1, ... of all clones. `track`: follow the spins as well.
  Clones(const Sweep& sweep, std::uint64_t seed, std::uint64_t first_word, bool track = false)
      : sweep_(&sweep),
        coins_(seed, first_word * 32 / kGroup, kCoins),
        fine_(seed, first_word * 32 / kGroup, kFine),
        storage_(static_cast<std::size_t>(sweep.clauses) * Words + 16),
        spins_(static_cast<std::size_t>(sweep.variables) * Words),
        coin_bytes_(static_cast<std::size_t>(sweep.coin_words()) * 8),
        coin_masks_(coin_bytes_.size()),
        track_(track) {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    state_ = storage_.data() + (64 - address % 64) % 64 / sizeof(std::uint32_t);
    for (int w = 0; w < Words; ++w) {
      const RandomStream initial(seed, first_word + w, kSpins);
      for (int v = 0; v < sweep.variables; v += 2) {
        const std::uint64_t bits = initial.at(v / 2);
        spins_[static_cast<std::size_t>(v) * Words + w] = static_cast<std::uint32_t>(bits);
        if (v + 1 < sweep.variables) {
          spins_[static_cast<std::size_t>(v + 1) * Words + w] = bits >> 32;
        }
      }
    }
    for (int a = 0; a < sweep.clauses; ++a) {
      std::fill_n(clause(a), Words, sweep.parity[a] ? ~0u : 0u);
      for (auto i = sweep.offsets[a]; i < sweep.offsets[a + 1]; ++i) {
        for (int w = 0; w < Words; ++w) clause(a)[w] ^= spin(sweep.members[i])[w];
      }
    }
  }

  std::uint32_t* clause(int a) { return state_ + static_cast<std::size_t>(a) * Words; }
  std::uint32_t* spin(int v) { return spins_.data() + static_cast<std::size_t>(v) * Words; }

  // Goes on with other probabilities of the same system.
  void follow(const Sweep& sweep) { sweep_ = &sweep; }

  // Sweep number `number`, counted from 0.
  void step(std::uint64_t number) {
    const std::uint64_t words = sweep_->coin_words();
    // Local copies: stores of bytes might change members, as far as the compiler knows.
    const RandomStream coins = coins_;
    std::uint8_t* const bytes = coin_bytes_.data();
    for (std::uint64_t j = 0; j < words; ++j) {
      std::uint64_t random = coins.at(number * words + j);
      if constexpr (std::endian::native == std::endian::big) random = __builtin_bswap64(random);
      std::memcpy(bytes + 8 * j, &random, sizeof random);
    }
    number_ = number;
    if (sweep_->majority && !track_) {
      step_of_three();
    } else {
      for (int u = 0; u < sweep_->updates(); ++u) step_of_any(u);
    }
  }

  // Violated clauses of all clones together.
  std::uint64_t violated() {
    std::uint64_t count = 0;
    const std::size_t words = static_cast<std::size_t>(sweep_->clauses) * Words;
    for (std::size_t i = 0; i < words; ++i) count += std::popcount(state_[i]);
    return count;
  }

  // Clones without a violated clause, one bit each.
  void solved(std::uint32_t* words) {
    for (int w = 0; w < Words; w += kStep) {
      Word either{};
      for (int a = 0; a < sweep_->clauses; ++a) either |= load<Word>(clause(a) + w);
      store(words + w, static_cast<Word>(~either));
    }
  }

  // Of each word of 32 clones the one with the fewest violated clauses; of these the one with the
  // fewest, counting none below `target`, then the lowest. Returns its count and its number.
  std::pair<std::uint32_t, std::uint32_t> least(std::uint32_t target) {
    std::pair<std::uint32_t, std::uint32_t> best{~0u, 0};
    std::vector<Word> digits(std::bit_width(static_cast<unsigned>(sweep_->clauses)) + 1);
    for (int w = 0; w < Words; w += kStep) {
      std::fill(digits.begin(), digits.end(), Word{});
      for (int a = 0; a < sweep_->clauses; ++a) add(digits.data(), load<Word>(clause(a) + w));
      std::vector<std::uint32_t> words(digits.size() * kStep);
      for (std::size_t p = 0; p < digits.size(); ++p) store(words.data() + p * kStep, digits[p]);
      for (int lane = 0; lane < kStep; ++lane) {
        std::uint32_t holders = ~0u, count = 0;
        for (auto p = digits.size(); p-- > 0;) {
          const std::uint32_t without = holders & ~words[p * kStep + lane];
          count += without ? 0 : 1u << p;
          holders = without ? without : holders;
        }
        const std::uint32_t first = (w + lane) * 32 + std::countr_zero(holders);
        best = std::min(best, {std::max(count, target), first});
      }
    }
    return best;
  }

 private:
  // Bit-sliced increment; the caller has digits enough.
  static void add(Word* digits, Word bits) {
    for (int p = 0; p < 2; ++p) {
      const Word carry = digits[p] & bits;
      digits[p] ^= bits;
      bits = carry;
    }
    Word* digit = digits + 2;
    while (any(bits)) {
      const Word carry = *digit & bits;
      *digit++ ^= bits;
      bits = carry;
    }
  }

  static bool any(Word bits) {
    if constexpr (sizeof(Word) == sizeof(std::uint32_t)) {
      return bits != 0;
    } else {
      std::uint64_t some = 0;
      for (std::size_t i = 0; i < sizeof(Word) / 8; ++i) some |= bits[i];
      return some != 0;
    }
  }

  void step_of_three() {
    const int updates = sweep_->updates();
    const std::int32_t* touched = sweep_->touched.data();
    // Local copies again, for stores of clause words.
    const std::uint8_t* const chained = sweep_->chained.data();
    std::uint64_t* const masks = coin_masks_.data();
    const std::uint8_t* const bytes = coin_bytes_.data();
    std::uint32_t* const state = state_;
    const auto word = [state](int a) { return state + static_cast<std::size_t>(a) * Words; };
    // Whole words, so that a coin is one broadcast from memory.
    const auto threshold = sweep_->thresholds.coarse();
    for (int u = 0; u < updates; ++u) {
      masks[u] = -static_cast<std::uint64_t>(bytes[u] < threshold);
    }
    if (sweep_->thresholds.fine()) settle_ties();
    Word carried[kVectors] = {};
    std::uint32_t* last = nullptr;
    for (int u = 0; u < updates; ++u, touched += 3) {
      std::uint32_t* const a = word(touched[0]);
      std::uint32_t* const b = word(touched[1]);
      std::uint32_t* const c = word(touched[2]);
      if (!chained[u]) {
        for (int i = 0; i < kVectors; ++i) {
          if (last) store(last + i * kStep, carried[i]);
          carried[i] = load<Word>(a + i * kStep);
        }
      }
      last = c;
      const Word coin = spread<Word>(masks[u]);
      for (int i = 0; i < kVectors; ++i) {
        const Word y = load<Word>(b + i * kStep), z = load<Word>(c + i * kStep);
        const Word flip = flips_of_three<Word>(carried[i], y, z, coin);
        store(a + i * kStep, static_cast<Word>(carried[i] ^ flip));
        store(b + i * kStep, static_cast<Word>(y ^ flip));
        carried[i] = z ^ flip;
      }
    }
    for (int i = 0; last && i < kVectors; ++i) store(last + i * kStep, carried[i]);
  }

  // The last 32 bits of update u's coin.
  std::uint32_t fine(int u) const {
    return fine_.at(number_ * static_cast<std::uint64_t>(sweep_->updates()) + u) >> 32;
  }

  // Looks at the rest of the coins whose first byte is that of the only threshold.
  void settle_ties() {
    const std::uint8_t coarse = sweep_->thresholds.coarse();
    const std::uint32_t least = sweep_->thresholds.fine();
    const std::uint64_t eight = 0x0101010101010101u * coarse;
    const std::uint8_t* const bytes = coin_bytes_.data();
    for (std::size_t j = 0; j < coin_bytes_.size(); j += 8) {
      std::uint64_t word;
      std::memcpy(&word, bytes + j, sizeof word);
      word ^= eight;
      if (!((word - 0x0101010101010101u) & ~word & 0x8080808080808080u)) continue;
      for (std::size_t u = j; u < j + 8 && u < static_cast<std::size_t>(sweep_->updates()); ++u) {
        if (bytes[u] == coarse && fine(static_cast<int>(u)) < least) coin_masks_[u] = ~0ull;
      }
    }
  }

  void step_of_any(int u) {
    const int degree = sweep_->starts[u + 1] - sweep_->starts[u];
    const std::uint8_t byte = coin_bytes_[u];
    const Thresholds& thresholds = sweep_->thresholds;
    const int level = thresholds.inside(byte)
                          ? thresholds.level(std::uint64_t{byte} << 32 | fine(u))
                          : thresholds.of_byte(byte);
    const auto& accepted = sweep_->accepted(degree, level);
    if (accepted.empty()) return;
    switch (std::bit_width(static_cast<unsigned>(degree))) {
      case 1:
        return flip<1>(u, accepted);
      case 2:
        return flip<2>(u, accepted);
      case 3:
        return flip<3>(u, accepted);
      case 4:
        return flip<4>(u, accepted);
      default:
        return flip<8>(u, accepted);
    }
  }

  // Counts the violated clauses of update u in `Digits` binary digits, and flips where accepted.
  template <int Digits>
  void flip(int u, const std::vector<Range>& accepted) {
    const std::int32_t* const begin = sweep_->touched.data() + sweep_->starts[u];
    const std::int32_t* const end = sweep_->touched.data() + sweep_->starts[u + 1];
    for (int w = 0; w < Words; w += kStep) {
      Word count[Digits] = {};
      for (const std::int32_t* a = begin; a != end; ++a) {
        Word bits = load<Word>(clause(*a) + w);
        for (int p = 0; p < Digits; ++p) {
          const Word carry = count[p] & bits;
          count[p] ^= bits;
          bits = carry;
        }
      }
      Word flip{};
      for (const Range& range : accepted) {
        flip |= reaches<Digits>(count, range.first) & ~reaches<Digits>(count, range.last);
      }
      for (const std::int32_t* a = begin; a != end; ++a) {
        std::uint32_t* const word = clause(*a) + w;
        store(word, static_cast<Word>(load<Word>(word) ^ flip));
      }
      if (track_) {
        std::uint32_t* const word = spin(sweep_->order[u]) + w;
        store(word, static_cast<Word>(load<Word>(word) ^ flip));
      }
    }
  }

  // Where the number with these binary digits is `least` or more.
  template <int Digits>
  static Word reaches(const Word* count, int least) {
    if (least >= 1 << Digits) return Word{};
    Word above = ~Word{};
    for (int p = 0; p < Digits; ++p) {
      const Word bit = spread<Word>(-static_cast<std::uint64_t>(least >> p & 1));
      above = (count[p] & above) | (~bit & (count[p] | above));
    }
    return above;
  }

  const Sweep* sweep_;
  RandomStream coins_, fine_;
  std::uint64_t number_ = 0;  // of the sweep
  std::vector<std::uint32_t> storage_;
  std::vector<std::uint32_t> spins_;
  std::vector<std::uint8_t> coin_bytes_;
  std::vector<std::uint64_t> coin_masks_;
  std::uint32_t* state_;
  bool track_;
};

}  // namespace hardscape::xorsat
