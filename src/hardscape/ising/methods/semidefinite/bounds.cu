// Semidefinite bounds of many nodes at once: what elliptope.hpp does, a block of threads a node.
// For a proof the matrix in shared memory makes room for half of one in double precision.
#include "ising/methods/semidefinite/certificate.hpp"
#include "ising/methods/semidefinite/triangles.cuh"

namespace {

using hardscape::ising::shift_of;

// How the ascent of a node goes.
struct Progress {
  double best, before[4];
  float step = 1;
  int stalled = 0, round = 0;  // rounds begun

  // Whether another round is worth while, by the bounds after those before.
  __device__ bool goes_on(const Bounded& node, double energy) {
    if (round == 0) {
      best = energy;
      for (double& x : before) x = energy;
    } else {
      const double short_of = node.target > best ? node.target - best : best - node.target;
      if (energy < best + 1e-3 * short_of) {
        ++stalled;
        step *= 0.95f;
      } else {
        stalled = 0;
      }
      if (energy > best) best = energy;
      if (stalled > (node.dogged ? 12 : 6)) return false;
      double& then = before[(round - 1) % 4];
      if (!node.dogged && round > 6 && node.target - energy > 3 * (energy - then)) return false;
      then = energy;
    }
    return round++ < node.rounds;
  }
};

class Bound : public Cuts {
 public:
  using Cuts::Cuts;

  // Every step stands here once: what is inlined twice takes the compiler seconds.
  __device__ void find(Result& result) {
    constexpr int kInner = 10, kAttempts = 12;
    load();
    Progress progress;
    double energy = 0;
    int inner = kInner, attempts = 0, sweeps = count_ ? 10 : 60;
    bool stale = true, cut = false;
    for (;;) {
      if (stale) build();
      stale = false;
      sweep(sweeps);
      if (inner == kInner) {
        energy = estimate();
        // Tries to prove an estimate that is high enough, with some more sweeps if need be.
        if (energy > node_.target && attempts < kAttempts) {
          if (proven()) {
            cut = true;
            break;
          }
          ++attempts;
          stale = true;
          sweeps = 20;
          continue;
        }
        if (!progress.goes_on(node_, energy)) break;
        attempts = inner = 0;
      }
      gram();
      if (inner == 0) separate();
      ascend(0.005f * progress.step, 0.006f * progress.step);
      ++inner;
      sweeps = inner < kInner ? 4 : 6;
    }
    if (thread_ == 0) {
      result.energy = energy;
      result.cut = cut;
      result.rounds = progress.round;
    }
    if (cut) return;
    round_off(result);
    keep();
  }

 private:
  // The matrix of the proof: its upper half, row by row.
  __device__ double& proof(int i, int j) {
    return reinterpret_cast<double*>(matrix_)[i * (2 * m_ - i - 1) / 2 + j];
  }

  // As in elliptope.hpp, where it says why. All numbers are multiples of one unit and their sums
  // exact, in any order.
  __device__ bool proven() {
    const double unit = node_.unit, most = node_.most;
    bool fits = true;
    each_pair([&](int i, int j) { proof(i, j) = weight(i, j); });
    __syncthreads();
    double multipliers = 0;
    for (int t = thread_; t < count_; t += threads_) {
      const double l = floor(value()[t] * node_.scale / unit) * unit;
      if (!(l < most) || !(l >= 0)) {
        fits = false;
        continue;
      }
      const Triangle triangle = unpacked(list()[t]);
      multipliers += l;
      atomicAdd(&proof(triangle.i, triangle.j), -triangle.a * l);
      atomicAdd(&proof(triangle.i, triangle.k), -triangle.b * l);
      atomicAdd(&proof(triangle.j, triangle.k), -triangle.c * l);
    }
    double y = 0;
    if (thread_ < m_) {
      y = ceil(length_ * node_.scale / unit) * unit;
      if (!(y < most)) fits = false;
    }
    // Sums of numbers that do not fit are of no account.
    const double misfits = sum_of(fits ? 0 : 1);
    const double trace = sum_of(misfits > 0 ? 0 : y);
    multipliers = sum_of(misfits > 0 ? 0 : multipliers);
    if (misfits > 0 || !(multipliers < most && trace < most)) return false;
    const double shift = shift_of(m_, trace, multipliers, node_.target, unit);
    if (!(shift > 0)) return false;
    if (thread_ < m_) proof(thread_, thread_) = y + shift;
    __syncthreads();
    return factorizes();
  }

  // Whether all pivots of the symmetric matrix whose upper half this is are positive.
  __device__ bool factorizes() {
#pragma unroll 1
    for (int k = 0; k < m_; ++k) {
      const double pivot = proof(k, k);
      if (!(pivot > 0)) {
        __syncthreads();
        return false;
      }
      const double inverse = 1 / pivot;
      for (int i = k + 1 + thread_ / 32; i < m_; i += threads_ / 32) {
        const double ratio = proof(k, i) * inverse;
        for (int j = i + thread_ % 32; j < m_; j += 32) proof(i, j) -= ratio * proof(k, j);
      }
      __syncthreads();
    }
    return true;
  }

  // A state near the vectors: their side of variable 0, and then the best flips.
  __device__ void round_off(Result& result) {
    double* spin = reinterpret_cast<double*>(matrix_);  // M and X are not needed any more
    float side = 0;
    if (thread_ < m_) {
      for (int k = 0; k < kRank; ++k) side += vectors_[k] * vectors_[kRank * thread_ + k];
    }
    __syncthreads();
    double own = thread_ && side < 0 ? -1 : 1;
    if (thread_ < m_) spin[thread_] = own;
    __syncthreads();
    double field = 0;
    if (thread_ < m_) {
      for (int i = 0; i < m_; ++i) {
        if (i != thread_) field += sees(i) * spin[i];
      }
    }
#pragma unroll 1
    for (int flips = 0; flips < 4 * m_; ++flips) {
      int whose = thread_;
      const bool may = thread_ && thread_ < m_;
      if (!(least_of(may ? -2 * own * field : 0, whose) < 0)) break;
      if (thread_ == whose)
        own = -own;
      else if (thread_ < m_)
        field -= 2 * sees(whose) * spin[whose];
      __syncthreads();
      if (thread_ == whose) spin[whose] = own;
      __syncthreads();
    }
    const double energy = sum_of(thread_ < m_ ? own * field : 0) / 2;
    const unsigned down = __ballot_sync(kAll, own < 0);
    if (thread_ % 32 == 0) result.down[thread_ / 32] = down;
    if (thread_ == 0) result.rounded = energy;
  }

  // W between this variable and another one.
  __device__ double sees(int i) const {
    return i < thread_ ? weight(i, thread_) : weight(thread_, i);
  }
};

}  // namespace

extern __shared__ unsigned char pool[];

// One node a block, of a whole number of warps, one thread a variable at least.
extern "C" __global__ void __launch_bounds__(kThreads) semidefinite_bounds(const Problem* all) {
  const int number = static_cast<int>(blockIdx.x);
  Bound(*all, number, pool).find(all->results[number]);
}
