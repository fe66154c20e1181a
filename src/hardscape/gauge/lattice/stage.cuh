// Which block moves which sites when, links on their way to it, and what it does to a site.
#pragma once

#include "gauge/domains/beside.cuh"

namespace hardscape::gauge {

constexpr int kBeside = kParts / kSides;  // of a timeslice, those of a side of the GPU
constexpr int kSlabs = kOwn * kBeside;    // of a side, that move here
constexpr int kSlabSites = kX * kY * kOwnZ / 2 / kParts;  // of one colour
constexpr int kTiles = (kSlabSites + kThreads - 1) / kThreads;

struct Task {
  Site at;
  int color, sweep, slab;
  bool inside;  // whether this thread has a site
};

// The same with those at the sides, which rest: slabs are numbered among these, kRowed a timeslice.
constexpr int kRowed = kParts + 2 * kRowHalo;
constexpr int kCounted = kT * kRowed;

// Tasks of a side are numbered slab by slab. Where links are kept, every block has a tile of its
// own. Where kLag is 0, all slabs of a colour come before those of the other. Else the colours
// alternate, colour 1 so many slabs behind, and a sweep begins at once where the one before began:
// two timeslices on, where that is long done.
__device__ inline void place_of(int row, int count, Task& task, int& place) {
  int slot = row;
  if constexpr (kLag == 0) {
    task.color = row / kSlabs % 2;
    task.sweep = row / (2 * kSlabs);
    place = row % kSlabs;
    return;
  }
  const int slots = count * kSlabs, both = row - kLag;
  if (both < 0) {
    task.color = 0;
  } else if (both < 2 * (slots - kLag)) {
    task.color = both % 2;
    slot = both / 2 + (task.color ? 0 : kLag);
  } else {
    task.color = 1;
    slot = row - slots;
  }
  task.sweep = slot / kSlabs;
  place = slot % kSlabs;
}

__device__ inline int tasks_of(int count) { return 2 * count * kSlabs * kTiles * kGroups; }

// Fills in the task of a number, if there are so many.
__device__ inline void fill_in(int number, int count, int side, Task& task) {
  if (number >= tasks_of(count)) return;
  int place;
  place_of(number / kGroups / kTiles, count, task, place);
  if constexpr (!kKept) place = ((2 * task.sweep + task.color) * kBeside + place) % kSlabs;
  task.slab = (place / kBeside + kHalo) * kRowed + kRowHalo + side * kBeside + place % kBeside;
  const int site = number / kGroups % kTiles * kThreads + threadIdx.x;
  task.inside = site < kSlabSites;
  int rest = site / (kX / 2);
  const int y = rest % kTileY;
  rest /= kTileY;
  const int z = rest % kTileZ;
  rest /= kTileZ;
  task.at.y = rest % (kY / kTileY) * kTileY + y;
  rest /= kY / kTileY;
  task.at.z = (task.slab % kRowed - kRowHalo) * (kOwnZ / kParts) + kRim + rest * kTileZ + z;
  task.at.t = task.slab / kRowed;
  task.at.x = 2 * (site % (kX / 2)) + ((task.at.row() + task.color) & 1);
}

// Where the GPU has sides, half of all blocks are of each: a block is of the side where it runs,
// unless that has its half by now.
struct Place {
  int side, number;  // the number among the blocks of that side, or kNone: one too many
};
constexpr int kNone = 1 << 30;

__device__ inline Place place_of_block(unsigned* arrived, const unsigned char* side_of,
                                       Chunk* shared) {
  if constexpr (kSides == 1) return Place{0, static_cast<int>(blockIdx.x)};
  const int half = gridDim.x / kSides;
  Place* told = reinterpret_cast<Place*>(shared);
  if (threadIdx.x == 0) {
    unsigned multiprocessor;
    asm("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    Place here{side_of[multiprocessor], 0};
    here.number = atomicAdd(arrived + here.side, 1u);
    if (here.number >= half) {
      here.side = 1 - here.side;
      here.number = atomicAdd(arrived + here.side, 1u);
      if (here.number >= half) here.number = kNone;
    }
    *told = here;
  }
  __syncthreads();
  const Place here = *told;
  __syncthreads();
  return here;
}

__device__ inline unsigned acquired(const unsigned* from) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

// The same of what another GPU wrote.
__device__ inline unsigned acquired_from_afar(const unsigned* from) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

__device__ inline unsigned relaxed(const unsigned* from) {
  unsigned value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

// Until the other colour has moved as often as it must have, here and in the slabs beside. To
// acquire empties the first-level cache, so what waits looks without.
__device__ inline void wait_for_neighbours(const unsigned* counters, const Task& task) {
  if (threadIdx.x < 5) {
    const int part = task.slab % kRowed, slice = task.slab / kRowed;
    const int step = threadIdx.x & 1 ? 1 : -1;
    int slab = task.slab;
    if (threadIdx.x == 1 || threadIdx.x == 2) {
      slab = slice * kRowed + (part + step + kRowed) % kRowed;
    } else if (threadIdx.x > 2) {
      slab = (slice + step + kT) % kT * kRowed + part;
    }
    unsigned needed = static_cast<unsigned>(task.sweep + task.color) * kTiles;
    const unsigned* counter = counters + (1 - task.color) * kCounted + slab;
    bool afar = kHalo > 0 && (slab < kRowed || slab >= kCounted - kRowed);
    if constexpr (kRowHalo > 0) {
      const bool left = slab % kRowed == 0, right = slab % kRowed == kRowed - 1;
      if (left || right) {
        afar = true;
        needed = static_cast<unsigned>(task.sweep + task.color) * (left ? kTilesLeft : kTilesRight);
      }
    }
    while ((afar ? acquired_from_afar(counter) : acquired(counter)) < needed) {
      while (relaxed(counter) < needed) __nanosleep(100);
    }
  }
  __syncthreads();
}

__device__ inline void count(unsigned* counter) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}

__device__ inline void count_afar(unsigned* counter) {
  asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}

// By another warp than looks at the counters of the next task, so that one does not wait for the
// other.
__device__ inline void finish(unsigned* counters, const Task& task, const Beside& beside) {
  __syncthreads();
  if (threadIdx.x != kThreads - 32) return;
  count(counters + task.color * kCounted + task.slab);
  if constexpr (kHalo > 0) {
    const int part = task.slab % kRowed;
    if (task.at.t == kHalo)
      count_afar(beside.done_before + (task.color * kBefore + kBefore - 1) * kRowed + part);
    if (task.at.t == kHalo + kOwn - 1)
      count_afar(beside.done_after + task.color * kAfter * kRowed + part);
    if constexpr (kRowHalo > 0) {
      constexpr int kLeftRowed = kPartsLeft + 2, kRightRowed = kPartsRight + 2;
      const int slice = task.color * kT + task.at.t;
      if (part == 1) count_afar(beside.done_left + slice * kLeftRowed + kLeftRowed - 1);
      if (part == kParts) count_afar(beside.done_right + slice * kRightRowed);
    }
  }
}

// Links ahead of both colours' sites of a block's tile, in shared memory from the first sweep to
// the last. Those behind are ahead of a neighbour: kept too where it lies in the tile, which has
// the whole extent in x, and else in device memory.
struct KeptLinks {
  const Chunk* links;
  Chunk* mine;  // of this thread's sites

  __device__ void bring(Task task, int count) const {
    for (int color = 0; color < 2; ++color) {
      fill_in(color * gridDim.x + blockIdx.x, count, 0, task);
      const int here = color * kHalf + task.at.natural() / 2;
      for (int mu = 0; mu < kDirections; ++mu) {
        const Chunk* from = link_of(links, mu, here);
        for (int c = 0; c < kLinkChunks; ++c) place_of_link(color, mu)[c * kThreads] = from[32 * c];
      }
    }
    __syncthreads();
  }

  __device__ void fetch(const Task&) const {}
  __device__ void arrived() const {}

  struct Of {
    const KeptLinks& all;
    const Task& task;

    template <int Mu>
    __device__ Element ahead(int) const {
      const Chunk* from = all.place_of_link(task.color, Mu);
      return assembled<kLinkChunks>([&](int c) { return from[c * kThreads]; });
    }

    template <int Mu>
    __device__ Element behind(int site) const {
      const Chunk* from = link_of(all.links, Mu, site);
      int apart = 32;
      if (in_tile<Mu>()) {
        const int there = site - (1 - task.color) * kHalf - task.at.natural() / 2;
        from = all.place_of_link(1 - task.color, Mu) + threads_of<Mu>(there);
        apart = kThreads;
      }
      return assembled<kLinkChunks>([&](int c) { return from[c * apart]; });
    }

   private:
    // Whether the site behind lies in the tile.
    template <int Mu>
    __device__ bool in_tile() const {
      if constexpr (Mu == kTime) return false;
      if constexpr (Mu == 1) return kTileY == kY || task.at.y % kTileY > 0;
      if constexpr (Mu == 2) return kTileZ == kZ || task.at.z % kTileZ > 0;
      return true;
    }

    // How many threads on the site is that is so many sites on.
    template <int Mu>
    __device__ int threads_of(int sites) const {
      return Mu == 2 ? sites / kY * kTileY : sites;
    }
  };

  __device__ Of of(const Task& task) const { return Of{*this, task}; }

 private:
  __device__ Chunk* place_of_link(int color, int mu) const {
    return mine + (color * kDirections + mu) * kLinkChunks * kThreads;
  }
};

// The first kStaged of a site's links (x ahead, x behind, y ahead, ...) in shared memory, where
// only the thread of the site uses them; the others in device memory.
struct StagedLinks {
  const Chunk* links;
  Chunk* mine;

  // Starts to bring the links of a task. Colour 1 is the last of a sweep to read them, so they need
  // not stay in the second-level cache.
  __device__ void fetch(const Task& task) const {
    if constexpr (kStaged > 0) {
      if (!task.inside) return;
      unsigned long long once, again;
      asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(once));
      asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(again));
      fetch_direction<0>(task, task.color ? once : again);
      asm volatile("cp.async.commit_group;" ::: "memory");
    }
  }

  __device__ void arrived() const {
    if constexpr (kStaged > 0) asm volatile("cp.async.wait_group 0;" ::: "memory");
  }

  __device__ void bring(const Task&, int) const {}
  __device__ const StagedLinks& of(const Task&) const { return *this; }

  template <int Mu>
  __device__ Element ahead(int site) const {
    return link<Mu, 2 * Mu>(site);
  }
  template <int Mu>
  __device__ Element behind(int site) const {
    return link<Mu, 2 * Mu + 1>(site);
  }

 private:
  template <int Mu, int Place>
  __device__ Element link(int site) const {
    if constexpr (Place < kStaged) {
      return assembled<kLinkChunks>(
          [&](int c) { return mine[(Place * kLinkChunks + c) * kThreads]; });
    } else {
      return load_link(links, Mu, site);
    }
  }

  template <int Mu>
  __device__ void fetch_direction(const Task& task, unsigned long long policy) const {
    if constexpr (Mu < kDirections && 2 * Mu < kStaged) {
      const int here = task.at.natural() / 2;
      const int last = (1 - task.color) * kHalf + task.at.template behind<Mu>(here);
      fetch_link<Mu, 2 * Mu>(task.color * kHalf + here, policy);
      fetch_link<Mu, 2 * Mu + 1>(last, policy);
      fetch_direction<Mu + 1>(task, policy);
    }
  }

  template <int Mu, int Place>
  __device__ void fetch_link(int site, unsigned long long policy) const {
    if constexpr (Place < kStaged) {
#pragma unroll
      for (int c = 0; c < kLinkChunks; ++c) {
        const Chunk* from = chunk_of_link(links, Mu, site, c);
        const unsigned to = static_cast<unsigned>(
            __cvta_generic_to_shared(mine + (Place * kLinkChunks + c) * kThreads));
        asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to),
                     "l"(from), "l"(policy)
                     : "memory");
      }
    }
  }
};

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
  long long origin;  // number of the first site in the whole lattice
  int copies;
};

// Sweeps that differ: those with a temperature are heatbath sweeps, others go through the
// subgroups.
constexpr bool kAnneals = kMethod == 3;

// Whether a site's own g is on its way while links and neighbours come; a large one fits no
// registers.
constexpr bool kOwnEarly = kColors < 4;

__device__ inline void update(const Run& run, const Task& task, LocalField& local, Chunk* g,
                              int copy, const Coming& coming) {
  const Site& at = task.at;
  const int number = at.number(task.color);
  const double* step = run.steps + 4 * (kAnneals ? task.sweep * run.copies + copy : copy);
  Element own = kOwnEarly ? coming.come() : load(g, number);
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

}  // namespace hardscape::gauge
