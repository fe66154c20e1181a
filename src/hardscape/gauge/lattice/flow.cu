// The gradient of the functional, packed, and a step along a direction: for the conjugate gradient.
#include "gauge/group/algebra.hpp"
#include "site.cuh"

using namespace hardscape::gauge;

using Packed = Algebra<kColors, Real>;

struct alignas(2 * sizeof(Real)) Pair {
  Real re, im;
};

constexpr long long kMoving = 1LL * kX * kY * kOwnZ * kOwn;  // sites

// delta[copy][component][t][z][y][x], of slices that move here
extern "C" __global__ void __launch_bounds__(kThreads)
    gauge_gradient(Chunk* __restrict__ all, const Chunk* __restrict__ links,
                   Pair* __restrict__ delta) {
  const int i = blockIdx.x * kThreads + threadIdx.x, copy = blockIdx.y;
  if (i >= kVolume) return;
  const int color = i / kHalf;
  const Site at = Site::of(color, i % kHalf);
  if (at.rests()) return;
  const Chunk* g = copy_of(all, copy);
  LocalField local;
  gather(local, StoredLinks{links}, g, at, color);
  const Element own = load(g, i);
  local.begin(own);
  const Packed packed = Packed::pack(local.gradient(own));
  for (int c = 0; c < Packed::kSize; ++c) {
    delta[(copy * Packed::kSize + c) * kMoving + at.own()] = Pair{packed.re[c], packed.im[c]};
  }
}

// g <- exp(step[copy][t] direction) g
extern "C" __global__ void __launch_bounds__(kThreads)
    gauge_move(Chunk* __restrict__ all, const Pair* __restrict__ direction,
               const double* __restrict__ step) {
  const int i = blockIdx.x * kThreads + threadIdx.x, copy = blockIdx.y;
  if (i >= kVolume) return;
  const Site at = Site::of(i / kHalf, i % kHalf);
  if (at.rests()) return;
  Chunk* g = copy_of(all, copy);
  const Real alpha = Real(step[copy * kOwn + at.t - kHalo]);
  if (alpha == 0)
    return;  // exp(0) g is g but for its last digits, which other copies must not change
  Packed packed;
  for (int c = 0; c < Packed::kSize; ++c) {
    const Pair pair = direction[(copy * Packed::kSize + c) * kMoving + at.own()];
    packed.re[c] = alpha * pair.re;
    packed.im[c] = alpha * pair.im;
  }
  store(g, i, moved(load(g, i), packed.unpack()));
}
