// Overrelaxation as published: links are rewritten in place (Schroeck and Vogt 2012, Algorithm 1).
// A reference for benchmarks: 8 links read and written a site, 768 bytes in single precision.
#include "site.cuh"

using namespace hardscape::gauge;

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
    gauge_classic(Chunk* __restrict__ links, Real omega, int color) {
  const int place = blockIdx.x * kThreads + threadIdx.x;
  if (place >= kHalf) return;
  const Site at = Site::of(color, place);
  const int here = color * kHalf + place, other = (1 - color) * kHalf;
  const int behind[4] = {other + at.behind<0>(place), other + at.behind<1>(place),
                         other + at.behind<2>(place), other + at.behind<3>(place)};
  Element ahead[4], back[4];
#pragma unroll
  for (int mu = 0; mu < 4; ++mu) {
    ahead[mu] = load_link(links, mu, here);
    back[mu] = load_link(links, mu, behind[mu]);
  }
  LinearLocal<kColors, Real> local;
#pragma unroll
  for (int mu = 0; mu < 4; ++mu) {
    local.gather(ahead[mu]);
    local.gather(adjoint(back[mu]));
  }
  Element g = Element::identity();
  update_subgroups(local, g, omega, Real(0));
#pragma unroll
  for (int mu = 0; mu < 4; ++mu) {
    store_link(links, mu, here, group_product(g, ahead[mu]));
    store_link(links, mu, behind[mu], group_product_adjoint(back[mu], g));
  }
}
