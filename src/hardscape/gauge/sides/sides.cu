// How far addresses in the second-level cache are from each multiprocessor: cycles of an atomic
// operation, which is done where the address belongs. latency[multiprocessor][address].
constexpr int kTurns = 6;  // the shortest of which counts
constexpr int kChain = 4;  // operations of a turn, each of which waits for the one before

__device__ unsigned clock_now() {
  unsigned now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
  return now;
}

extern "C" __global__ void gauge_distances(unsigned* zeros, int addresses, int apart,
                                           unsigned* latency) {
  if (threadIdx.x != 0) return;
  unsigned multiprocessor;
  asm("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  if (multiprocessor >= gridDim.x) return;  // numbers may have gaps: then a row stays empty
  for (int i = 0; i < addresses; ++i) {
    const int address = (i + multiprocessor) % addresses;  // others are elsewhere
    unsigned least = ~0u;
    for (int turn = 0; turn < kTurns; ++turn) {
      unsigned next = 0;
      const unsigned begun = clock_now();
      for (int k = 0; k < kChain; ++k) {
        asm volatile("atom.global.add.u32 %0, [%1], %2;"
                     : "=r"(next)
                     : "l"(zeros + static_cast<long long>(apart) * address + next), "r"(next)
                     : "memory");
      }
      const unsigned taken = clock_now() + next - begun;
      least = taken < least ? taken : least;
    }
    latency[multiprocessor * addresses + address] = least;
  }
}
