// Links of a chain and plaquettes of a site, on a GPU.
#pragma once

#include "gauge/domains/beside.cuh"

namespace hardscape::gauge {

__device__ inline int wrapped(int place, int extent) {
  return place < 0 ? place + extent : place >= extent ? place - extent : place;
}

// The site a step ahead of another one or, of -1, behind it.
__device__ inline Site moved(Site at, int mu, int step) {
  if (mu == kTime) {
    at.t = wrapped(at.t + step, kT);
  } else if (mu == 0) {
    at.x = wrapped(at.x + step, kX);
  } else if (mu == 1) {
    at.y = wrapped(at.y + step, kY);
  } else {
    const int w = at.w(), inner = at.z - w * kInner;
    at.z = mu == 2 ? w * kInner + wrapped(inner + step, kInner)
                   : wrapped(w + step, kW) * kInner + inner;
  }
  return at;
}

__device__ inline Element link(const Chunk* links, const Site& at, int mu) {
  return load_link(links, mu, at.number(at.color()));
}

__device__ inline bool outer(int slice) { return kEnds && (slice == 0 || slice + 1 == kSlices); }

// U_nu(x+mu) U_mu(x+nu)^dagger U_nu(x)^dagger
__device__ inline Element staple_above(const Chunk* links, const Site& at, int mu, int nu) {
  const Element over =
      multiply_adjoint(link(links, moved(at, mu, 1), nu), link(links, moved(at, nu, 1), mu));
  return multiply_adjoint(over, link(links, at, nu));
}

// Re tr of the plaquettes that start at a site.
__device__ inline double traced(const Chunk* links, const Site& at, int slice) {
  double total = 0;
#pragma unroll 1
  for (int mu = 0; mu < kTime; ++mu) {
    const Element u = link(links, at, mu);
#pragma unroll 1
    for (int nu = mu + 1; nu < kDimensions; ++nu) {
      const double trace = real_trace(multiply(u, staple_above(links, at, mu, nu)));
      total += nu < kTime && outer(slice) ? 0.5 * trace : trace;
    }
  }
  return total;
}

// Of all threads, for thread 0.
__device__ inline double together(double total) {
  __shared__ double shared[kThreads];
  shared[threadIdx.x] = total;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  return shared[0];
}

}  // namespace hardscape::gauge
