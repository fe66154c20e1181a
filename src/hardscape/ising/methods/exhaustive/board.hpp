// What searches of one model tell one another while they run: the lowest states that any of them
// knows, in memory that the threads of a process, and the processes of a host, share. Nobody waits
// for it, and one that dies while it writes leaves it shut, so that it is always whole.
//
// Words: whether it is shut; how often its limit has changed; room and number of states; whether
// there is a limit; then the words of that and of each state, energy and code, these in order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <vector>

#include "native/wide.hpp"

namespace hardscape::ising {

template <int Limbs, class Code>
struct Candidate {
  Wide<Limbs> energy;
  Code state;

  // The documented order of the spectrum: energy, then the state read as an integer.
  bool operator<(const Candidate& other) const {
    if (energy != other.energy) return energy < other.energy;
    return state < other.state;
  }
  bool operator==(const Candidate& other) const = default;
};

// The last of the lowest `wanted` states, by some states, if these are enough to tell. If `paired`,
// each counts for two, and its partner has a higher code than all that are searched. Reorders them.
template <int Limbs, class Code>
std::optional<Candidate<Limbs, Code>> last_of(std::vector<Candidate<Limbs, Code>>& some,
                                              std::size_t wanted, bool paired) {
  const std::size_t each = 1 + paired, enough = (wanted + each - 1) / each;
  if (enough == 0 || some.size() < enough) return std::nullopt;
  const auto at = some.begin() + static_cast<std::ptrdiff_t>(enough - 1);
  std::nth_element(some.begin(), at, some.end());
  const Wide<Limbs> energy = at->energy;
  const auto ties = std::partition(some.begin(), some.end(),
                                   [&](const auto& one) { return one.energy < energy; });
  const auto above =
      std::partition(ties, some.end(), [&](const auto& one) { return one.energy == energy; });
  const auto left = static_cast<std::ptrdiff_t>(wanted - each * (ties - some.begin()));
  if (above - ties < left) return Candidate<Limbs, Code>{energy, ~Code{0}};
  std::nth_element(ties, ties + (left - 1), above);
  return ties[left - 1];
}

template <int Limbs, class Code>
class Board {
 public:
  using State = Candidate<Limbs, Code>;

  Board() = default;
  explicit Board(std::uint64_t* words) : words_(words) {}

  // Words for so many states.
  static std::size_t size(std::size_t room) { return kStates + (1 + room) * kWords; }

  // Makes an empty one of words that are zero.
  void open(std::size_t room) const { words_[kRoom] = room; }

  explicit operator bool() const { return words_ != nullptr; }

  // Grows when there is something to hear.
  std::uint64_t version() const { return word(kVersion).load(std::memory_order_relaxed); }

  // Adds states that it may have, of the lowest `wanted` or all within `window` of the lowest.
  // False where somebody else is at it.
  bool tell(std::vector<State> states, std::size_t wanted, bool paired,
            const std::optional<Wide<Limbs>>& window) const {
    if (!shut()) return false;
    std::vector<State> there(words_[kCount]), both;
    for (std::size_t i = 0; i < there.size(); ++i) there[i] = load(1 + i);
    std::sort(states.begin(), states.end());
    std::set_union(there.begin(), there.end(), states.begin(), states.end(),
                   std::back_inserter(both));
    if (both.size() > words_[kRoom]) both.resize(words_[kRoom]);
    for (std::size_t i = 0; i < both.size(); ++i) store(1 + i, both[i]);
    words_[kCount] = both.size();
    std::optional<State> limit;
    if (window && !both.empty()) limit = State{both.front().energy + *window, ~Code{0}};
    const auto last = last_of(both, wanted, paired);
    if (last && (!limit || *last < *limit)) limit = last;
    if (limit && (!words_[kLimited] || *limit < load(0))) {
      store(0, *limit);
      words_[kLimited] = 1;
      word(kVersion).store(words_[kVersion] + 1, std::memory_order_relaxed);
    }
    word(kShut).store(0, std::memory_order_release);
    return true;
  }

  // The lowest state that was told, while nobody tells any.
  std::optional<State> lowest() const {
    if (words_[kCount] == 0) return std::nullopt;
    return load(1);
  }

  // The last state that is wanted, by those told; none while somebody else is at it.
  std::optional<State> hear(std::uint64_t& version) const {
    if (!shut()) return std::nullopt;
    std::optional<State> limit;
    if (words_[kLimited]) limit = load(0);
    version = words_[kVersion];
    word(kShut).store(0, std::memory_order_release);
    return limit;
  }

 private:
  enum : std::size_t { kShut, kVersion, kRoom, kCount, kLimited, kStates };
  static constexpr std::size_t kWords = Limbs + sizeof(Code) / sizeof(std::uint64_t);

  bool shut() const {
    return !word(kShut).load(std::memory_order_relaxed) &&
           !word(kShut).exchange(1, std::memory_order_acquire);
  }

  std::atomic_ref<std::uint64_t> word(std::size_t i) const {
    return std::atomic_ref<std::uint64_t>(words_[i]);
  }

  State load(std::size_t i) const {
    const std::uint64_t* at = words_ + kStates + i * kWords;
    State state{Wide<Limbs>::load(at), Code{}};
    std::memcpy(static_cast<void*>(&state.state), at + Limbs, sizeof(Code));
    return state;
  }

  void store(std::size_t i, const State& state) const {
    std::uint64_t* at = words_ + kStates + i * kWords;
    state.energy.store(at);
    std::memcpy(at + Limbs, &state.state, sizeof(Code));
  }

  std::uint64_t* words_ = nullptr;
};

}  // namespace hardscape::ising
