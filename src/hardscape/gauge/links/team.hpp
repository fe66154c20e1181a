// The threads of a team that work on one thing at once; the caller owns them. And sums over sites
// in one order for any number of threads and lanes.
#pragma once

#include <barrier>
#include <cstddef>
#include <vector>

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

// Sums that are kept apart while they grow, one every so many sites: as many as the widest vector
// has lanes of double precision, at every instruction set.
inline constexpr int kApart = 8;

inline double added_up(const std::vector<double>& of_sites) {
  double apart[kApart]{};
  for (std::size_t i = 0; i < of_sites.size(); ++i) apart[i % kApart] += of_sites[i];
  double sum = 0;
  for (const double one : apart) sum += one;
  return sum;
}

}  // namespace hardscape::gauge
