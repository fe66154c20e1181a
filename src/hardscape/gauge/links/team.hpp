// The threads of a team that work on one thing at once; the caller owns them.
#pragma once

#include <barrier>

namespace hardscape::gauge {

// The part of a number of things in order that falls to thread `rank` of so many.
struct Share {
  int rank, of;

  int first(long size) const { return static_cast<int>(size * rank / of); }
  int last(long size) const { return static_cast<int>(size * (rank + 1) / of); }
};

// Steps that no thread begins before all have done the one before.
class Steps {
 public:
  explicit Steps(int threads) : threads_(threads), barrier_(threads) {}

  Share share(int rank) const { return {rank, threads_}; }
  void wait() { barrier_.arrive_and_wait(); }

 private:
  int threads_;
  std::barrier<> barrier_;
};

}  // namespace hardscape::gauge
