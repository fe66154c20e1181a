// Sweeps, any number of them in one launch.
//
// The lattice is cut into slabs: kParts ranges of z in each timeslice. A task is a tile of a slab's
// sites of one colour and a group of copies, one thread a site. Tasks are numbered, and blocks, all
// resident at once, take every gridDim-th. A task reads sites of the other colour in five slabs and
// waits until those are as far as it needs them; all that it waits for has a smaller number, so the
// task of the smallest number never waits. Colour 1 follows colour 0 by kLag slabs: a link is
// read from memory for colour 0 and found in the cache for colour 1. Where the GPU has sides, each
// has half of the slabs of every timeslice and half of the blocks, and numbers of its own.
//
// GPUs that hold a window each of one lattice run this side by side. A block writes what it moved
// on the first and the last of its GPU's timeslices, and of its rows where these are cut, into its
// neighbours' copies too, through peer access, and then counts there, so that nothing stands still
// for an exchange. Where the windows
// are of equal size all GPUs have the same numbers for the same places, and what a task waits for
// has a smaller number still, on whichever GPU; so it is with unequal ones where one colour follows
// the other.
#include "gauge/lattice/stage.cuh"

using namespace hardscape;
using namespace hardscape::gauge;

__device__ bool any_of(const int* going, int copies) {
  bool any = false;
#pragma unroll 1
  for (int copy = 0; copy < copies; ++copy) any |= going[copy] != 0;
  return any;
}

// done[group][color][slab] counts tasks and starts at 0, and so does, behind it, how many blocks
// each side has. `going` says of each copy whether any of it moves: it is known only when what was
// launched before is over.
extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
    gauge_sweep(const Chunk* __restrict__ links, Chunk* all, const double* __restrict__ steps,
                const unsigned long long* __restrict__ seeds, const long long* __restrict__ firsts,
                const unsigned char* __restrict__ active, const int* __restrict__ going,
                unsigned* done, int copies, int count, Chunk* before, Chunk* after,
                unsigned* done_before, unsigned* done_after, long long origin,
                const unsigned char* __restrict__ side_of, Chunk* left, Chunk* right,
                unsigned* done_left, unsigned* done_right) {
  extern __shared__ Chunk shared[];
  if (!any_of(going, copies)) return;
  const Beside beside{before, after, done_before, done_after, left, right, done_left, done_right};
  const Run run{links, all, steps, seeds, firsts, active, beside, origin, copies};
  const Choice<kKept, KeptLinks, StagedLinks>::type near{links, shared + threadIdx.x};
  const int tasks = tasks_of(count);
  const Place place = place_of_block(done + 2 * kCounted * kGroups, side_of, shared);
  // The first turn has no task but to bring the links of the first.
  Task task{}, next;
  int number = -1, following = place.number;
  near.bring(task, count);
  for (;;) {
    fill_in(following, count, place.side, next);
    const bool any = number >= 0;
    const int group = any ? number % kGroups : 0;
    const int last = copies * (group + 1) / kGroups - 1;
    unsigned* counters = done + 2 * kCounted * group;
    if (any) {
      wait_for_neighbours(counters, task);
      near.arrived();
    }
    for (int copy = any ? copies * group / kGroups : last; copy <= last; ++copy) {
      Chunk* g = copy_of(all, copy);
      const bool moves = task.inside && active[copy * kT + task.at.t];
      LocalField local;
      Coming own;
      if (moves) {
        gather(local, near.of(task), g, task.at, task.color, [&] {
          if constexpr (kOwnEarly) own.from(g, task.at.number(task.color));
        });
      }
      if (copy == last && following < tasks) near.fetch(next);
      if (moves) update(run, task, local, g, copy, own);
    }
    if (any) finish(counters, task, beside);
    if (following >= tasks) return;
    task = next;
    number = following;
    following += gridDim.x / kSides;
  }
}
