// Sums over a timeslice: functional, violation and its maximum, in double.
#include "site.cuh"

using namespace hardscape::gauge;

// The larger of two numbers; a NaN comes through.
__device__ double larger(double a, double b) { return b <= a || a != a ? a : b; }

// Blocks (part, slice, copy); sums[copy][slice][part][3], of slices that move here.
extern "C" __global__ void __launch_bounds__(kThreads)
    gauge_measure(const Chunk* __restrict__ links, Chunk* __restrict__ all,
                  double* __restrict__ sums) {
  constexpr int kSlice = 2 * kPlane;
  const Chunk* g = copy_of(all, blockIdx.z);
  double functional = 0, total = 0, largest = 0;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < kSlice; i += gridDim.x * kThreads) {
    Site at = Site::numbered(i);
    at.t = blockIdx.y + kHalo;
    const int color = at.color();
    LocalField local;
    gather<0>(local, StoredLinks{links}, g, at, color);
    const Element own = load(g, at.number(color));
    local.begin(own);
    functional += local.functional(own);
    const double theta = violation(local.gradient(own));
    total += theta;
    largest = larger(largest, theta);
  }
  __shared__ double shared[3][kThreads];
  shared[0][threadIdx.x] = functional;
  shared[1][threadIdx.x] = total;
  shared[2][threadIdx.x] = largest;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    shared[0][threadIdx.x] += shared[0][threadIdx.x + half];
    shared[1][threadIdx.x] += shared[1][threadIdx.x + half];
    shared[2][threadIdx.x] = larger(shared[2][threadIdx.x], shared[2][threadIdx.x + half]);
  }
  if (threadIdx.x != 0) return;
  double* sum = sums + 3 * ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x);
  for (int k = 0; k < 3; ++k) sum[k] = shared[k][0];
}
