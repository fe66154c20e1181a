// How far addresses in the second-level cache are from each multiprocessor: cycles of an atomic
// operation, which is done where the address belongs. latency[multiprocessor][address].
constexpr int kTurns = 6;     // the shortest of which counts
constexpr int kChain = 4;     // operations of a turn, each of which waits for the one before
constexpr int kLooks = 2;     // turns for each of many pages
constexpr int kWords = 1024;  // of a page

__device__ unsigned clock_now() {
  unsigned now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
  return now;
}

// Cycles of so many operations on a word that is 0 and stays so, but for one turn of bad luck.
__device__ unsigned latency_of(unsigned* zero, int turns) {
  unsigned least = ~0u;
  for (int turn = 0; turn < turns; ++turn) {
    unsigned next = 0;
    const unsigned begun = clock_now();
    for (int k = 0; k < kChain; ++k) {
      asm volatile("atom.global.add.u32 %0, [%1], %2;"
                   : "=r"(next)
                   : "l"(zero + next), "r"(next)
                   : "memory");
    }
    const unsigned taken = clock_now() + next - begun;
    least = taken < least ? taken : least;
  }
  return least;
}

extern "C" __global__ void gauge_distances(unsigned* zeros, int addresses, int apart,
                                           unsigned* latency) {
  if (threadIdx.x != 0) return;
  unsigned multiprocessor;
  asm("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  if (multiprocessor >= gridDim.x) return;  // numbers may have gaps: then a row stays empty
  for (int i = 0; i < addresses; ++i) {
    const int address = (i + multiprocessor) % addresses;  // others are elsewhere
    latency[multiprocessor * addresses + address] =
        latency_of(zeros + static_cast<long long>(apart) * address, kTurns);
  }
}

// The same of pages of 4 kB that hold zeros, from any multiprocessor of each side, which are at
// other pages at a time: latency[side][page]. Warps take the next page of their side, `arrived` of
// them.
extern "C" __global__ void gauge_homes(unsigned* zeros, unsigned pages,
                                       const unsigned char* __restrict__ side_of, unsigned* arrived,
                                       unsigned* latency) {
  if (threadIdx.x % 32 != 0) return;
  unsigned multiprocessor;
  asm("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  const unsigned side = side_of[multiprocessor];
  for (;;) {
    const unsigned number = atomicAdd(arrived + side, 1u);
    if (number >= pages) return;
    const unsigned page = (number + side * (pages / 2)) % pages;
    latency[static_cast<long long>(side) * pages + page] =
        latency_of(zeros + static_cast<long long>(kWords) * page, kLooks);
  }
}
