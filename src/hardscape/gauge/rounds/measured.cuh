// Functional and violation of some sites of a timeslice, added up over a block, in double.
#pragma once

#include "gauge/lattice/site.cuh"

namespace hardscape::gauge {

struct Sums {
  double functional = 0, violation = 0, largest = 0;  // the violation of the worst site
};

// The larger of two numbers; a NaN comes through.
__device__ inline double larger(double a, double b) { return b <= a || a != a ? a : b; }

// The sums of all threads, for thread 0.
__device__ inline Sums together(const Sums& sums) {
  __shared__ double shared[3][kThreads];
  shared[0][threadIdx.x] = sums.functional;
  shared[1][threadIdx.x] = sums.violation;
  shared[2][threadIdx.x] = sums.largest;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    shared[0][threadIdx.x] += shared[0][threadIdx.x + half];
    shared[1][threadIdx.x] += shared[1][threadIdx.x + half];
    shared[2][threadIdx.x] = larger(shared[2][threadIdx.x], shared[2][threadIdx.x + half]);
  }
  return Sums{shared[0][0], shared[1][0], shared[2][0]};
}

// A site's. What is added up is rounded first, as it is where it comes from other GPUs.
__device__ inline Sums measured_site(const Chunk* links, const Chunk* g, const Site& at) {
  const int color = at.color();
  LocalField local;
  gather(local, StoredLinks{links}, g, at, color);
  const Element own = load(g, at.number(color));
  local.begin(own);
  const double functional = local.functional(own), theta = violation(local.gradient(own));
  return Sums{functional, theta, theta};
}

__device__ inline void add(Sums& sums, double functional, double theta) {
  sums.functional = __dadd_rn(sums.functional, functional);
  sums.violation = __dadd_rn(sums.violation, theta);
  sums.largest = larger(sums.largest, theta);
}

// Of every parts-th block of sites of slice t; for thread 0.
__device__ inline Sums measured_part(const Chunk* links, const Chunk* g, int part, int parts,
                                     int t) {
  Sums sums;
  for (int i = part * kThreads + threadIdx.x; i < 2 * kPlane; i += parts * kThreads) {
    Site at = Site::numbered(i);
    at.t = t;
    const Sums here = measured_site(links, g, at);
    add(sums, here.functional, here.violation);
  }
  return together(sums);
}

}  // namespace hardscape::gauge
