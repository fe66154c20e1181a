// What follows the sweeps of a round: functional and violation, and from them which slices of which
// copies move in the next one and how far they overrelax, as methods/descent.py decides it on the
// host. A host that waited for the numbers would let the GPU rest as long as a round of a small
// lattice takes.
#include "gauge/rounds/measured.cuh"

using namespace hardscape::gauge;

// What is known of a copy: STANDING of lattice/lattices.py.
struct Standing {
  double omega, floor, best, waited, gained, worst;
};

// Rules of lattice/lattices.py.
struct Rules {
  double target;     // theta below which a slice rests
  double noise;      // theta below which rounding shows
  double exhausted;  // theta above which no copy is given up
  double patience;   // rounds without progress after which one is
  double count;      // sweeps of a round
  double tuned;      // whether omega is
};

__device__ inline double in_steps(double omega) { return rint(omega * kSteps) / kSteps; }

// See methods/relaxation.py, OmegaTuner.look.
__device__ inline void tune(Standing& here, double after, const Rules& rules) {
  if (!(rules.noise < after && after < kQuadratic) || !(here.worst < kQuadratic)) return;
  const double rate = pow(after / here.worst, 0.5 / rules.count);
  const double contraction = here.omega - 1;
  if (rate >= 1) return;
  if (rate > 1.03 * contraction) {
    const double sum = rate + contraction;
    const double mu2 = min(sum * sum / (rate * here.omega * here.omega), 0.9999);
    here.floor = max(here.floor, here.omega);
    here.omega = in_steps(min(max(2 / (1 + sqrt(1 - mu2)), here.omega), 1.98));
  } else if (here.omega > here.floor) {
    here.omega = in_steps(max(1 + 0.94 * contraction, 0.5 * (here.floor + here.omega)));
  }
}

// What is compared with the target: of a slice's sums, or for the whole lattice their mean or
// largest.
__device__ inline double of_slice(const double* sums, int t) {
  return kLargest ? sums[3 * t + 2] : sums[3 * t + 1] / (2 * kPlane);
}

__device__ inline double of_all(const double* sums, const unsigned char* live) {
  double found = 0;
  int many = 0;
  for (int t = 0; t < kT; ++t) {
    if (!live[t]) continue;
    const double here = of_slice(sums, t);
    found = kLargest ? larger(found, here) : found + here;
    ++many;
  }
  return kLargest ? found : found / many;
}

// Decides what a copy does next; returns how many of its slices moved.
__device__ inline int decide(const double* sums, const unsigned char* live, unsigned char* active,
                             Standing& here, const Rules& rules, int& going) {
  const double all = kPerSlice ? 0 : of_all(sums, live);
  double worst = kPerSlice ? 0 : all;
  int moved = 0;
  for (int t = 0; t < kT; ++t) {
    moved += active[t];
    if (kPerSlice && live[t]) worst = larger(worst, of_slice(sums, t));
  }
  if (rules.tuned) tune(here, worst, rules);
  here.gained = max(0.0, log10(here.worst / worst)) / rules.count;
  here.waited = worst < 0.9 * here.best ? 0 : here.waited + 1;
  here.best = min(here.best, worst);
  if (here.best > rules.exhausted) here.waited = 0;
  here.worst = worst;
  going = 0;
  for (int t = 0; t < kT; ++t) {
    const double violation = kPerSlice ? of_slice(sums, t) : all;
    active[t] = live[t] && here.waited < rules.patience && violation > rules.target;
    going |= active[t];
  }
  return moved;
}

// A block for each (part, slice, copy), the part running fastest. `told` is what the host reads of
// a copy: sums[slice][3], its standing, slices that moved.
extern "C" __global__ void __launch_bounds__(kThreads)
    gauge_round(const Chunk* __restrict__ links, Chunk* __restrict__ all, double* parts,
                unsigned* arrived, unsigned* done, int counters, double* steps, long long* firsts,
                const unsigned char* __restrict__ live, unsigned char* active, int* going,
                Standing* standing, const Rules* __restrict__ rules, double* told) {
  constexpr int kNumbers = 3 * kT + sizeof(Standing) / sizeof(double) + 1;
  const int part = blockIdx.x % kParted, slice = blockIdx.x / kParted % kT;
  const int copy = blockIdx.x / (kParted * kT);
  told += static_cast<long long>(kNumbers) * copy;
  if (blockIdx.x == 0) {
    for (int i = threadIdx.x; i < counters; i += kThreads) done[i] = 0;
  }
  if (!going[copy]) {
    if (part + slice + threadIdx.x == 0) told[kNumbers - 1] = 0;
    return;
  }
  const Sums found = measured_part(links, copy_of(all, copy), part, kParted, slice);
  parts += 3 * kParted * kT * copy;
  __shared__ bool last;
  if (threadIdx.x == 0) {
    double* sum = parts + 3 * (slice * kParted + part);
    sum[0] = found.functional;
    sum[1] = found.violation;
    sum[2] = found.largest;
    __threadfence();
    last = atomicAdd(arrived + copy, 1u) == kParted * kT - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  for (int i = threadIdx.x; i < 3 * kT; i += kThreads) {
    const double* from = parts + 3 * kParted * (i / 3) + i % 3;
    double sum = __ldcg(from);
    for (int k = 1; k < kParted; ++k) {
      const double next = __ldcg(from + 3 * k);
      sum = i % 3 == 2 ? larger(sum, next) : sum + next;
    }
    told[i] = sum;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  Standing here = standing[copy];
  const int moved = decide(told, live, active + copy * kT, here, *rules, going[copy]);
  if (rules->tuned) steps[4 * copy] = here.omega;
  firsts[copy] += static_cast<long long>(rules->count);
  arrived[copy] = 0;
  standing[copy] = here;
  double* end = told + 3 * kT;
  end[0] = here.omega;
  end[1] = here.floor;
  end[2] = here.best;
  end[3] = here.waited;
  end[4] = here.gained;
  end[5] = here.worst;
  end[6] = moved;
}
