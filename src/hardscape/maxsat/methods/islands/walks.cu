// Focused random walks on CUDA, a warp each: what sets them up, runs them, and lets them take over
// one another's assignments. The formula lies in shared memory, once for all walks of a block,
// where it fits.
#include "maxsat/methods/islands/synchronous.cuh"

using hardscape::maxsat::WalkStatus;

// Clauses of up to three literals; literal 2 n, which is never true, fills the shorter ones.
struct WalkTables {
  const ushort4* clause;  // three literals of each clause
  const uint32* rows;     // of each literal: where the occurrences of its negation begin, and
                          // from bit kFirst on how many there are
  const uint32* others;   // the two other literals of each occurrence, in bits 0 and 16 on, in
                          // their cyclic order, and its place in the clause in bits 15 and 31
  const uint32* break_weights;
  int variables, clauses;
  int occurrences, stride;  // entries of `others`, and of a list of violated clauses
  int longest;              // most occurrences of a literal
};

namespace {

// Lists the clauses that an assignment violates, in order; by a warp.
__device__ uint32 list_violated(const WalkTables& tables, const uint32* truth, uint2* list,
                                int lane) {
  uint32 count = 0;
#pragma unroll 4
  for (int base = 0; base < tables.clauses; base += 32) {
    const int c = base + lane;
    ushort4 l = {0, 0, 0, 0};
    bool violated = false;
    if (c < tables.clauses) {
      l = tables.clause[c];
      violated = !((truth[l.x >> 5] >> (l.x & 31) | truth[l.y >> 5] >> (l.y & 31) |
                    truth[l.z >> 5] >> (l.z & 31)) &
                   1);
    }
    const unsigned found = __ballot_sync(kEveryone, violated);
    if (violated) list[count + rank_of(found, lane)] = entry_of(l.x, l.y, l.z);
    count += __popc(found);
  }
  return count;
}

}  // namespace

// Sets up walks `first` to `first + walks - 1`: random assignments, their violated clauses in
// order. A warp a walk.
extern "C" __global__ void walk_start(const WalkTables* tables, uint64 seed, uint64 first,
                                      int walks, int words, uint32* truths, uint32* best_truths,
                                      uint2* lists, WalkStatus* statuses) {
  const int walk = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (walk >= walks) return;
  uint32* truth = truths + static_cast<uint64>(walk) * words;
  const uint64 stream = first + walk;
  const hardscape::RandomStream coins(seed, stream, hardscape::maxsat::kInitialPurpose);
  for (int w = lane; w < words; w += 32) {
    uint32 word = 0;
    for (int v = 16 * w; v < 16 * w + 16 && v < tables->variables; ++v) {
      word |= (coins.at(v) >> 63 ? 1u : 2u) << (2 * v & 31);
    }
    truth[w] = best_truths[static_cast<uint64>(walk) * words + w] = word;
  }
  __syncwarp();
  const uint32 count =
      list_violated(*tables, truth, lists + static_cast<uint64>(walk) * tables->stride, lane);
  if (lane == 0) {
    hardscape::RandomStream random(seed, stream, hardscape::maxsat::kWalkPurpose);
    statuses[walk] = {random.state(), 0, 0, count, count};
  }
}

// Walks that have a source, not -1, go on from the best assignment of that walk.
extern "C" __global__ void walk_adopt(const WalkTables* tables, const int* sources, int walks,
                                      int words, uint32* truths, const uint32* best_truths,
                                      uint2* lists, WalkStatus* statuses) {
  const int walk = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (walk >= walks || sources[walk] < 0) return;
  const uint32* source = best_truths + static_cast<uint64>(sources[walk]) * words;
  uint32* truth = truths + static_cast<uint64>(walk) * words;
  for (int w = lane; w < words; w += 32) truth[w] = source[w];
  const uint32 count =
      list_violated(*tables, source, lists + static_cast<uint64>(walk) * tables->stride, lane);
  if (lane == 0) statuses[walk].violated = count;
}

// Up to `steps` steps, of one flip or synchronous, of every walk that violates more than `target`
// clauses; their best assignments go to `best_truths`. What came before the launch does not count
// if it is `afresh`. In a `race` a walk ends when another one came to the target with no more
// steps, `fewest` of all.
extern "C" __global__ void __launch_bounds__(kThreads, 1)
    walk_run(const WalkTables* tables, int listed, uint32 steps, uint32 target, uint32 afresh,
             uint32 race, uint32* fewest, int walks, int words, uint32* truths, uint32* best_truths,
             uint2* lists, WalkStatus* statuses) {
  using hardscape::RandomStream;
  using hardscape::maxsat::kBreakWeights;
  // In shared memory: lists, break weights, truths as bits and, for synchronous steps, as bytes,
  // and, where they fit, the tables.
  extern __shared__ uint2 whole[];
  // The compiler would find these anew in every flip, which takes longer than to keep them; and by
  // the shuffles it knows that they are the same in all lanes.
  const uint32 address =
      __shfl_sync(kEveryone, static_cast<uint32>(__cvta_generic_to_shared(whole)), 0);
  const int place = __shfl_sync(kEveryone, threadIdx.x / 32, 0);
  int lane = threadIdx.x % 32;
  asm volatile("" : "+r"(lane));
  auto* shared = static_cast<uint2*>(__cvta_shared_to_generic(address));
  constexpr int kWalks = kThreads / 32;
  auto* weights = reinterpret_cast<uint32*>(shared + kWalks * listed);
  uint32* truth = weights + kBreakWeights + place * words;
  constexpr int kByteWords = kSynchronous ? 8 : 0;  // for each word of bits
  uint32* bytes = weights + kBreakWeights + kWalks * words + place * kByteWords * words;
  uint32* tables_here = weights + kBreakWeights + kWalks * (1 + kByteWords) * words;
  for (int i = threadIdx.x; i < static_cast<int>(kBreakWeights); i += kThreads) {
    weights[i] = tables->break_weights[i];
  }
  const int rows = 2 * (tables->variables + 1);
  if constexpr (kCached) {
    for (int i = threadIdx.x; i < rows; i += kThreads) tables_here[i] = tables->rows[i];
    for (int i = threadIdx.x; i < tables->occurrences; i += kThreads) {
      tables_here[rows + i] = tables->others[i];
    }
  }
  __syncthreads();
  const int walk = blockIdx.x * kWalks + place;
  if (walk >= walks) return;

  const ByteView view{
      {kCached ? tables_here : tables->rows, kCached ? tables_here + rows : tables->others, weights,
       truth, 2u * tables->variables, lane},
      reinterpret_cast<unsigned char*>(bytes)};
  WalkStatus status = statuses[walk];
  uint2* near = shared + place * listed;
  uint2* far = lists + static_cast<uint64>(walk) * tables->stride;
  uint32* best_truth = best_truths + static_cast<uint64>(walk) * words;
  truths += static_cast<uint64>(walk) * words;
  uint32 count = status.violated, best = status.best;
#pragma unroll 1
  for (int w = lane; w < words; w += 32) truth[w] = truths[w];
#pragma unroll 1
  for (int i = lane; i < min(listed, static_cast<int>(count)); i += 32) near[i] = far[i];
  __syncwarp();
  if constexpr (kSynchronous) {
#pragma unroll 1
    for (int w = lane; w < kByteWords * words; w += 32) {
      const uint32 four = truth[w / 8] >> (4 * (w % 8));
      bytes[w] = (four & 1) | (four & 2) << 7 | (four & 4) << 14 | (four & 8) << 21;
    }
    __syncwarp();
  }

  if (afresh) {
    best = count;
#pragma unroll 1
    for (int w = lane; w < words; w += 32) best_truth[w] = truth[w];
  }
  const ViolatedList list{near, far, static_cast<uint32>(listed)};
  const ShortList short_list{near};
  // A list up to `room` has room for what a step adds.
  const int adds = kSynchronous ? static_cast<int>(kMostAtOnce) * tables->longest : 32;
  const uint32 room = max(listed - adds, 0);
  const auto improved = [&] {
    if (count >= best) return;
    best = count;
#pragma unroll 1
    for (int w = lane; w < words; w += 32) best_truth[w] = truth[w];
  };
  uint32 done = 0, drawn = 0, flips = 0, least = ~0u;
  uint32 draws_low = 0, draws_high = 0;  // each lane holds one of the numbers drawn last
  constexpr int kNumbers = kSynchronous ? kMostAtOnce : 1;  // of a step
  uint32 next_low = 0,
         next_high = 0;  // of a walk of single flips: asked for before they are needed
  while (done < steps && count > target) {
    if (done == drawn) {
      // Read before it is needed: a walk that learns late that it has lost only goes on for longer.
      if (race && __any_sync(kEveryone, done >= least)) break;
      if (race) least = *static_cast<volatile uint32*>(fewest);
      const uint64 draws =
          RandomStream::resume_after(status.random, uint64{kNumbers} * done + lane).next();
      draws_low = draws;
      draws_high = draws >> 32;
      drawn += 32 / kNumbers;
      next_low = __shfl_sync(kEveryone, draws_low, 0);
      next_high = __shfl_sync(kEveryone, draws_high, 0);
    }
    if constexpr (kSynchronous) {
      const uint32 first = kNumbers * done % 32;
      ++done;
      count = count <= room ? step(view, short_list, count, draws_low, draws_high, first, flips)
                            : step(view, list, count, draws_low, draws_high, first, flips);
    } else {
      const uint32 low = next_low, high = next_high;
      ++done;
      next_low = __shfl_sync(kEveryone, draws_low, done % 32);
      next_high = __shfl_sync(kEveryone, draws_high, done % 32);
      Step one;
      one.long_row = count > room;
      const bool plain = !one.long_row && one.look(view, short_list, count, low, high);
      if (plain) {
        count = one.take(view, short_list);
      } else {
        count = __any_sync(kEveryone, one.long_row) ? flip(view, list, count, low, high)
                                                    : one.take_others(view, short_list);
      }
    }
    improved();
  }
  if constexpr (!kSynchronous) flips = done;

  if (race && count <= target && lane == 0) atomicMin(fewest, done);

#pragma unroll 1
  for (int w = lane; w < words; w += 32) truths[w] = truth[w];
#pragma unroll 1
  for (int i = lane; i < min(listed, static_cast<int>(count)); i += 32) far[i] = near[i];
  if (lane == 0) {
    statuses[walk] = {RandomStream::resume_after(status.random, uint64{kNumbers} * done).state(),
                      status.steps + done, status.flips + flips, count, best};
  }
}
