// What windows of a lattice tell each other besides sweeps: sides, and numbers to be added up.
#include "gauge/domains/beside.cuh"
#include "gauge/rounds/measured.cuh"

using namespace hardscape::gauge;

// Hands all that lies at the sides of a window on to the GPUs that hold copies of it.
extern "C" __global__ void __launch_bounds__(kThreads)
    gauge_hand(Chunk* g, Chunk* before, Chunk* after, Chunk* left, Chunk* right) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= kVolume) return;
  const int color = i / kHalf;
  const Site at = Site::of(color, i % kHalf);
  const Beside beside{before, after, nullptr, nullptr, left, right, nullptr, nullptr};
  if (!at.rests()) share(beside, at, color, load(g, i));
}

// Where several GPUs have the rows of a timeslice, each tells the numbers of its sites, and one of
// them adds all up, in the order in which a GPU that has the whole slice does: sites[2][t][z][y][x]
// of functional and violation, of slices that move here. In z there are so many `rows`, and those
// of this window begin at `first`.
extern "C" __global__ void __launch_bounds__(kThreads)
    gauge_sites(const Chunk* __restrict__ links, Chunk* __restrict__ g, double* sites, int rows,
                int first) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= kVolume) return;
  const Site at = Site::numbered(i);
  if (at.rests()) return;
  const Sums here = measured_site(links, g, at);
  const long long slice = 1LL * rows * kY * kX;
  double* to = sites + (at.t - kHalo) * slice + ((at.z - kRim + first) * kY + at.y) * kX + at.x;
  to[0] = here.functional;
  to[kOwn * slice] = here.violation;
}

// A block a part of a slice; sums[slice][part][3] of slices of so many sites.
extern "C" __global__ void __launch_bounds__(kThreads)
    gauge_sums(const double* __restrict__ numbers, double* __restrict__ sums, int sites, int slices,
               int parts) {
  const int part = blockIdx.x % parts;
  const double* functional = numbers + static_cast<long long>(blockIdx.x / parts) * sites;
  const double* theta = functional + static_cast<long long>(slices) * sites;
  Sums found;
  for (int i = part * kThreads + threadIdx.x; i < sites; i += parts * kThreads) {
    add(found, functional[i], theta[i]);
  }
  found = together(found);
  if (threadIdx.x != 0) return;
  double* sum = sums + 3 * blockIdx.x;
  sum[0] = found.functional;
  sum[1] = found.violation;
  sum[2] = found.largest;
}
