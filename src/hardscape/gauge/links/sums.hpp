// Sums over the sites of a lattice, in one order for any number of threads and lanes.
#pragma once

#include <cstddef>
#include <vector>

namespace hardscape::gauge {

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
