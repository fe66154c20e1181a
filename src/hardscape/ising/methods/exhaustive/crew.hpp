// Threads that walk one tree together: each part of it is walked by the first that comes to it.
// Above the parts all walk; nodes are numbered from 1, the root, by 2 k and 2 k + 1 below k.
#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ising/methods/exhaustive/board.hpp"

namespace hardscape::ising {

class Crew {
 public:
  static constexpr int kPartBits = 10;

  explicit Crew(int size) : barrier_(size), gone_(std::size_t{2} << kPartBits) {}

  // Waits for all others.
  void meet() { barrier_.arrive_and_wait(); }

  // Gives up; nobody waits for this thread any more.
  void leave() {
    stopped = true;
    barrier_.arrive_and_drop();
  }

  // Makes ready for another tree, of which one state is wanted, while nobody walks.
  template <int Limbs, class Code>
  void clear() {
    for (auto& one : gone_) one.store(0, std::memory_order_relaxed);
    words_.assign(Board<Limbs, Code>::size(1), 0);
    board<Limbs, Code>().open(1);
  }

  template <int Limbs, class Code>
  Board<Limbs, Code> board() {
    return Board<Limbs, Code>(words_.data());
  }

  // Whether all below a node is somebody's, or cut.
  bool gone(std::size_t node) const { return gone_[node].load(std::memory_order_relaxed); }

  // Takes a part, or a node that is cut; whether it was nobody's yet.
  bool take(std::size_t node) {
    if (gone(node) || gone_[node].exchange(1, std::memory_order_relaxed)) return false;
    while (node > 1 && gone(node ^ 1)) {
      node >>= 1;
      gone_[node].store(1, std::memory_order_relaxed);
    }
    return true;
  }

  // Each is looked at after a meeting before which alone it is set: all see the same.
  std::atomic<bool> stopped = false, enough = false;

 private:
  std::barrier<> barrier_;
  std::vector<std::atomic<std::uint8_t>> gone_;
  std::vector<std::uint64_t> words_;
};

}  // namespace hardscape::ising
