// Half a sweep: one thread a site of one colour.
#include "site.cuh"

using namespace hardscape;
using namespace hardscape::gauge;

// Of each copy (blockIdx.y): steps holds omega, second, probability, temperature; firsts the number
// of the first of the sweeps, of which this is number n. Timeslices that are not active rest.
extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
    gauge_sweep(const Chunk* __restrict__ links, Chunk* __restrict__ all,
                const double* __restrict__ steps, const unsigned long long* __restrict__ seeds,
                const long long* __restrict__ firsts, const unsigned char* __restrict__ active,
                int n, int color) {
  const int place = blockIdx.x * kThreads + threadIdx.x, copy = blockIdx.y;
  if (place >= kHalf) return;
  const Site at = Site::of(color, place);
  if (!active[copy * kT + at.t]) return;
  const double* step = steps + 4 * copy;
  Chunk* g = copy_of(all, copy);
  LocalField local;
  gather<0>(local, links, g, at, color);
  const int number = color * kHalf + place;
  Element own = load(g, number);
#if HS_METHOD == 1
  update_matrix(local, own, Real(step[0]));
#else
  RandomStream random(seeds[copy], at.natural(), firsts[copy] + n);
#if HS_METHOD == 2
  local.begin(own);
  for_subgroups<kColors>([&](int a, int b) {
    Real strength;
    const Quaternion<Real> best = local.best(own, a, b, strength);
    const Quaternion<double> target{best.a0, best.a1, best.a2, best.a3};
    const Quaternion<double> drawn = LocalField::heatbath(target, strength / step[3], random);
    const Quaternion<Real> r{Real(drawn.a0), Real(drawn.a1), Real(drawn.a2), Real(drawn.a3)};
    local.rotate(a, b, r);
    rotate_rows(own, a, b, r);
  });
#else
  Real omega = Real(step[0]), second = Real(step[1]);
  if (step[2] < 1) {
    omega = random.uniform() < step[2] ? omega : Real(1);
    second = Real(0.5) * omega * (omega - 1);
  }
  update_subgroups(local, own, omega, second);
#endif
  unitarize(own);
#endif
  store(g, number, own);
}
