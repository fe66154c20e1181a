// Sums of plaquettes over timeslices whose rows several GPUs have: each tells the numbers of its
// sites, and one of them adds all up, in the order in which a GPU that has the whole slice does.
#include "gauge/chain/plaquettes.cuh"

using namespace hardscape::gauge;

// sites[t][z][y][x]; in z there are so many `rows`, and those of this window begin at `row`.
extern "C" __global__ void __launch_bounds__(kThreads)
    chain_sites(const Chunk* __restrict__ links, double* __restrict__ sites, int first, int rows,
                int row) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= kVolume) return;
  const Site at = Site::numbered(i);
  if (at.rests()) return;
  const long long line = 1LL * (at.t - kHalo) * rows + at.z - kRim + row;
  sites[(line * kY + at.y) * kX + at.x] = traced(links, at, wrapped(at.t + first, kSlices));
}

// A block a part of a slice of so many sites; sums[slice][part].
extern "C" __global__ void __launch_bounds__(kThreads)
    chain_sums(const double* __restrict__ numbers, double* __restrict__ sums, int sites) {
  double total = 0;
  const int part = blockIdx.x % kShares;
  const double* from = numbers + static_cast<long long>(blockIdx.x / kShares) * sites;
  for (int i = part * kThreads + threadIdx.x; i < sites; i += kShares * kThreads) total += from[i];
  total = together(total);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}
