// Sweeps, any number of them in one launch.
//
// The lattice is cut into slabs: kParts ranges of z in each timeslice. A task is a tile of a slab's
// sites of one colour and a group of copies, one thread a site. Tasks are numbered, and blocks, all
// resident at once, take every gridDim-th. A task reads sites of the other colour in five slabs and
// waits until those are as far as it needs them; all that it waits for has a smaller number, so the
// task of the smallest number never waits. Colour 1 follows colour 0 by kLag slabs: a link is
// read from memory for colour 0 and found in the cache for colour 1.
//
// GPUs that hold a window each of one lattice run this side by side. A block writes what it moved
// on the first and the last of its GPU's timeslices into its neighbours' copies too, through peer
// access, and then counts there, so that nothing stands still for an exchange. Where the windows
// are of equal size all GPUs have the same numbers for the same places, and what a task waits for
// has a smaller number still, on whichever GPU; so it is with unequal ones where one colour follows
// the other.
#include "site.cuh"
#include "stage.cuh"

using namespace hardscape;
using namespace hardscape::gauge;

namespace {

// Where the sweeps of a copy go.
struct Run {
  const Chunk* links;
  Chunk* all;
  // Of each copy, or where the sweeps differ of each sweep and copy: omega, second, probability,
  // temperature.
  const double* steps;
  const unsigned long long* seeds;
  const long long* firsts;  // the number of the first of the sweeps
  const unsigned char* active;
  Beside beside;
  int origin;  // number of the first site in the whole lattice
  int copies;
};

// Sweeps that differ: those with a temperature are heatbath sweeps, others go through the
// subgroups.
constexpr bool kAnneals = kMethod == 3;

__device__ void update(const Run& run, const Task& task, LocalField& local, Chunk* g, int copy) {
  const Site& at = task.at;
  const int number = at.number(task.color);
  const double* step = run.steps + 4 * (kAnneals ? task.sweep * run.copies + copy : copy);
  Element own = load(g, number);
  if constexpr (kMethod == static_cast<int>(Method::Matrix)) {
    update_matrix(local, own, Real(step[0]));
  } else {
    RandomStream random(run.seeds[copy], number_in_whole(at, run.origin),
                        run.firsts[copy] + task.sweep);
    const bool heats = kAnneals ? step[3] > 0 : kMethod == static_cast<int>(Method::Heatbath);
    if (heats) {
      local.begin(own);
      for_subgroups<kColors>([&](int a, int b) {
        Real strength;
        const Quaternion<Real> best = local.best(own, a, b, strength);
        const Quaternion<Real> r = LocalField::heatbath(best, strength / Real(step[3]), random);
        local.rotate(a, b, r);
        rotate_rows(own, a, b, r);
      });
    } else {
      Real omega = Real(step[0]), second = Real(step[1]);
      if (step[2] < 1) {
        omega = random.uniform() < step[2] ? omega : Real(1);
        second = Real(0.5) * omega * (omega - 1);
      }
      update_subgroups(local, own, omega, second);
    }
    unitarize(own);
  }
  store(g, number, own);
  share(run.beside, at, task.color, own);
}

}  // namespace

// done[group][color][slab] counts tasks and starts at 0.
extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
    gauge_sweep(const Chunk* __restrict__ links, Chunk* all, const double* __restrict__ steps,
                const unsigned long long* __restrict__ seeds, const long long* __restrict__ firsts,
                const unsigned char* __restrict__ active, unsigned* done, int copies, int count,
                Chunk* before, Chunk* after, unsigned* done_before, unsigned* done_after,
                int origin) {
  extern __shared__ Chunk shared[];
  const Beside beside{before, after, done_before, done_after};
  const Run run{links, all, steps, seeds, firsts, active, beside, origin, copies};
  const StagedLinks staged{links, shared + threadIdx.x};
  const int tasks = tasks_of(count);
  // The first turn has no task but to bring the links of the first.
  Task task{}, next;
  int number = -1, following = blockIdx.x;
  for (;;) {
    following = next_task(following, tasks, count, next);
    const bool any = number >= 0;
    const int group = any ? number % kGroups : 0;
    const int last = copies * (group + 1) / kGroups - 1;
    unsigned* counters = done + 2 * kCounted * group;
    if (any) {
      wait_for_neighbours(counters, task);
      staged.arrived();
    }
    for (int copy = any ? copies * group / kGroups : last; copy <= last; ++copy) {
      Chunk* g = copy_of(all, copy);
      const bool moves = task.inside && active[copy * kT + task.at.t];
      LocalField local;
      if (moves) gather<0>(local, staged, g, task.at, task.color);
      if (copy == last && following < tasks) staged.fetch(next);
      if (moves) update(run, task, local, g, copy);
    }
    if (any) finish(counters, task, beside);
    if (following >= tasks) return;
    task = next;
    number = following;
    following += gridDim.x;
  }
}

// One colour of a sweep, where what follows brings the slices at the sides of a window up to date.
extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
    gauge_color(const Chunk* __restrict__ links, Chunk* g, const double* __restrict__ steps,
                const unsigned long long* __restrict__ seeds, const long long* __restrict__ firsts,
                const unsigned char* __restrict__ active, int color, int origin) {
  const int place = blockIdx.x * kThreads + threadIdx.x;
  if (place >= kHalf) return;
  Task task{};
  task.color = color;
  task.at = Site::of(color, place);
  if (task.at.rests() || !active[task.at.t]) return;
  const Run run{links, g, steps, seeds, firsts, active, Beside{}, origin, 1};
  LocalField local;
  gather<0>(local, StoredLinks{links}, g, task.at, color);
  update(run, task, local, g, 0);
}
