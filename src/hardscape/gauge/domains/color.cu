#include "gauge/lattice/stage.cuh"

using namespace hardscape;
using namespace hardscape::gauge;

// One colour of a sweep, where what follows brings the sites at the sides of a window up to date.
// Of a window in rows those move that are at its sides (1), or not (0), or all (-1).
extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
    gauge_color(const Chunk* __restrict__ links, Chunk* g, const double* __restrict__ steps,
                const unsigned long long* __restrict__ seeds, const long long* __restrict__ firsts,
                const unsigned char* __restrict__ active, int color, long long origin, int sides) {
  const int place = blockIdx.x * kThreads + threadIdx.x;
  if (place >= kHalf) return;
  Task task{};
  task.color = color;
  task.at = Site::of(color, place);
  if (task.at.rests() || !active[task.at.t]) return;
  if constexpr (kRim > 0) {
    const bool side = task.at.z < 2 * kRim || task.at.z >= kZ - 2 * kRim || task.at.t == kHalo ||
                      task.at.t + 1 == kT - kHalo;
    if (sides >= 0 && side != (sides > 0)) return;
  }
  const Run run{links, g, steps, seeds, firsts, active, Beside{}, origin, 1};
  LocalField local;
  Coming own;
  gather(local, StoredLinks{links}, g, task.at, color, [&] {
    if constexpr (kOwnEarly) own.from(g, task.at.number(color));
  });
  update(run, task, local, g, 0, own);
}
