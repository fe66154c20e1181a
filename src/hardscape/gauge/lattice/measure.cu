// Sums over a timeslice: functional, violation and its maximum.
#include "gauge/rounds/measured.cuh"

using namespace hardscape::gauge;

// Blocks (part, slice, copy); sums[copy][slice][part][3], of slices that move here.
extern "C" __global__ void __launch_bounds__(kThreads)
    gauge_measure(const Chunk* __restrict__ links, Chunk* __restrict__ all,
                  double* __restrict__ sums) {
  const Chunk* g = copy_of(all, blockIdx.z);
  const Sums found = measured_part(links, g, blockIdx.x, gridDim.x, blockIdx.y + kHalo);
  if (threadIdx.x != 0) return;
  double* sum = sums + 3 * ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x);
  sum[0] = found.functional;
  sum[1] = found.violation;
  sum[2] = found.largest;
}
