// Transformations to start from. Random ones have the numbers of the CPU.
#include "site.cuh"

using namespace hardscape;
using namespace hardscape::gauge;

extern "C" __global__ void __launch_bounds__(kThreads)
    gauge_start(Chunk* __restrict__ all, const unsigned long long* __restrict__ seeds) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= kVolume) return;
  const int color = i / kHalf;
  const Site at = Site::of(color, i % kHalf);
  RandomStream random(seeds[blockIdx.y], at.natural(), ~0ull);
  const auto a = random_element<kColors>(random);
  Element g;
  each_number([](Real& x, double y) { x = Real(y); }, g, a);
  unitarize(g);
  store(copy_of(all, blockIdx.y), i, g);
}

// Brings the transformations back to the group.
extern "C" __global__ void __launch_bounds__(kThreads) gauge_project(Chunk* __restrict__ all) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= kVolume) return;
  Chunk* g = copy_of(all, blockIdx.y);
  Element a = load(g, i);
  unitarize(a);
  store(g, i, a);
}
