// Semidefinite bounds of many nodes at once: what elliptope.hpp does, a block of threads a node.
//
// Thread j has variable j. One matrix in shared memory has M above its diagonal, as integers, so
// that multipliers are added in any order with one result, and X = V V^T below. For a proof it
// makes room for the upper half of a matrix in double precision.
#include <cstdint>

#include "ising/methods/semidefinite/bounded.hpp"
#include "ising/methods/semidefinite/certificate.hpp"

extern __shared__ unsigned char pool[];

namespace {

using hardscape::ising::Bounded;
using hardscape::ising::shift_of;
using Result = hardscape::ising::Bound;

constexpr int kRank = 16, kBins = 256, kTable = 2 * kMost;
constexpr unsigned kAll = ~0u, kNone = ~0u;

// Sixteen bytes that are read at once.
struct alignas(16) Four {
  float at[4];
};

using Vector = float[kRank];

__device__ __forceinline__ void read(const float* from, Vector& to) {
#pragma unroll
  for (int part = 0; part < kRank / 4; ++part) {
    const Four four = reinterpret_cast<const Four*>(from)[part];
#pragma unroll
    for (int k = 0; k < 4; ++k) to[4 * part + k] = four.at[k];
  }
}

__device__ __forceinline__ void write(const Vector& from, float* to) {
#pragma unroll
  for (int part = 0; part < kRank / 4; ++part) {
    Four four;
#pragma unroll
    for (int k = 0; k < 4; ++k) four.at[k] = from[4 * part + k];
    reinterpret_cast<Four*>(to)[part] = four;
  }
}

// Pointers and numbers, 8 bytes each, in the host's order.
struct Problem {
  const double* pairs;   // W of all variables, `width` a row; row 0 differs from node to node:
  const double* fields;  // of each node
  const Bounded* nodes;
  Result* results;
  // Duals, by their places.
  float* vectors;
  unsigned* triangles;
  float* multipliers;
  int* counts;
  // What a block works with.
  unsigned* lists;
  float* values;
  float* sums;
  unsigned* seen;
  long long width;
};

// x_ij a + x_ik b + x_jk c >= -1 for i < j < k, abc = 1: elliptope.hpp.
struct Triangle {
  int i, j, k;
  int a, b, c;
};

__device__ unsigned packed(int i, int j, int k, int kind) {
  return static_cast<unsigned>(i | j << 8 | k << 16 | kind << 24);
}

__device__ Triangle unpacked(unsigned t) {
  const int kind = static_cast<int>(t >> 24);
  return {static_cast<int>(t & 255),       static_cast<int>(t >> 8 & 255),
          static_cast<int>(t >> 16 & 255), kind < 2 ? 1 : -1,
          kind == 0 || kind == 2 ? 1 : -1, kind == 0 || kind == 3 ? 1 : -1};
}

// Over all threads of the block, the same for each of them.
__device__ __noinline__ double sum_of(double x) {
  __shared__ double parts[32];
  for (int mask = 16; mask; mask >>= 1) x += __shfl_xor_sync(kAll, x, mask);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  double sum = 0;
  for (int warp = 0; warp < static_cast<int>(blockDim.x) / 32; ++warp) sum += parts[warp];
  return sum;
}

// The least of all threads' numbers, and whose it is.
__device__ __noinline__ double least_of(double x, int& whose) {
  __shared__ double parts[32];
  __shared__ int owners[32];
  for (int mask = 16; mask; mask >>= 1) {
    const double other = __shfl_xor_sync(kAll, x, mask);
    const int owner = __shfl_xor_sync(kAll, whose, mask);
    if (other < x || (other == x && owner < whose)) {
      x = other;
      whose = owner;
    }
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    parts[threadIdx.x / 32] = x;
    owners[threadIdx.x / 32] = whose;
  }
  __syncthreads();
  x = parts[0];
  whose = owners[0];
  for (int warp = 1; warp < static_cast<int>(blockDim.x) / 32; ++warp) {
    if (parts[warp] < x) {
      x = parts[warp];
      whose = owners[warp];
    }
  }
  return x;
}

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

class Bound {
 public:
  __device__ Bound(const Problem& all, int number)
      : all_(all),
        node_(all.nodes[number]),
        fields_(all.fields + number * all.width),
        lists_(all.lists + 2ll * kMost * number),
        values_(all.values + 2ll * kMost * number),
        sums_(all.sums + 1ll * kMost * number),
        seen_(all.seen + 1ll * kTable * number),
        m_(node_.m),
        stride_((node_.m + 1) | 1),
        thread_(static_cast<int>(threadIdx.x)),
        threads_(static_cast<int>(blockDim.x)),
        quantum_(1) {
    matrix_ = reinterpret_cast<int*>(pool);
    gram_ = reinterpret_cast<float*>(pool);
    // Behind the matrix, vectors are read four floats at a time.
    const int behind = (m_ * stride_ + 3) / 4 * 4;
    vectors_ = reinterpret_cast<float*>(pool) + behind;
    change_ = vectors_ + kRank * m_;
    inverse_ = change_ + 2 * kRank;
    bins_ = reinterpret_cast<int*>(inverse_ + m_);
    counter_ = bins_ + kBins;
    for (int k = 0; k < node_.bits; ++k) quantum_ /= 2;
    for (int k = 0; k > node_.bits; --k) quantum_ *= 2;
  }

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
  // M and X; i < j.
  __device__ int& entry(int i, int j) { return matrix_[i * stride_ + j]; }
  __device__ float& product(int i, int j) { return gram_[j * stride_ + i]; }
  __device__ int& sum(int i, int j) { return matrix_[j * stride_ + i]; }  // before X is there

  // The dual of the node above, without the variables that are fixed now.
  __device__ void load() {
    if (thread_ == 0) *counter_ = 0;
    __syncthreads();
    if (node_.from >= 0) {
      take_triangles(node_.from);
      const float* vectors = all_.vectors + 1ll * node_.from * kRank * all_.width;
      for (int x = thread_; x < kRank * m_; x += threads_) vectors_[x] = vectors[x];
    } else if (thread_ < m_) {
      draw(vectors_ + kRank * thread_);
    }
    __syncthreads();
    count_ = *counter_ < kMost ? *counter_ : kMost;
    other_ = 0;
    __syncthreads();
  }

  // Triangles as they are, but where one of their variables is fixed now, variable 0 takes its
  // place. Multipliers of those with variable 0 add up in the matrix, two kinds at a time.
  __device__ void take_triangles(int from) {
    const unsigned* triangles = all_.triangles + 1ll * from * kMost;
    const float* multipliers = all_.multipliers + 1ll * from * kMost;
    const int count = all_.counts[from];
    for (int t = thread_; t < count; t += threads_) {
      if ((triangles[t] & 255) && static_cast<int>(triangles[t] >> 16 & 255) < m_) {
        append(triangles[t], multipliers[t]);
      }
    }
    for (int kind = 0; kind < 4; kind += 2) {
      each_pair([&](int i, int j) { entry(i, j) = sum(i, j) = 0; });
      __syncthreads();
      for (int t = thread_; t < count; t += threads_) {
        const unsigned now = at_zero(triangles[t]);
        if (now == kNone || static_cast<int>(now >> 24) / 2 != kind / 2) continue;
        const int j = now >> 8 & 255, k = now >> 16 & 255;
        int& to = now >> 24 & 1 ? sum(j, k) : entry(j, k);
        atomicAdd(&to, __float2int_rn(multipliers[t] / quantum_));
      }
      __syncthreads();
      each_pair([&](int i, int j) {
        if (entry(i, j) > 0) append(packed(0, i, j, kind), entry(i, j) * quantum_);
        if (sum(i, j) > 0) append(packed(0, i, j, kind + 1), sum(i, j) * quantum_);
      });
      __syncthreads();
    }
  }

  __device__ void append(unsigned triangle, float multiplier) {
    const int at = atomicAdd(counter_, 1);
    if (at >= kMost) return;
    lists_[at] = triangle;
    values_[at] = multiplier;
  }

  // A triangle as one of variable 0, or that it is none, or says nothing.
  __device__ unsigned at_zero(unsigned triangle) const {
    const Triangle t = unpacked(triangle);
    if (t.i == 0) return t.k < m_ ? triangle : kNone;
    if (t.j >= m_ || t.k < m_) return kNone;
    const int side = node_.up >> (t.k - m_) & 1 ? 1 : -1;
    const int a = t.b * side, b = t.c * side;
    return packed(0, t.i, t.j, a > 0 ? (b > 0 ? 0 : 1) : (b > 0 ? 2 : 3));
  }

  __device__ void draw(float* vector) {
    unsigned state = 0x9E3779B9u * (thread_ + 1);
    float squares = 0;
    for (int k = 0; k < kRank; ++k) {
      state = state * 1664525u + 1013904223u;
      const float drawn = static_cast<float>(state >> 8) * 0x1p-23f - 1;
      vector[k] = drawn;
      squares += drawn * drawn;
    }
    const float factor = 1 / sqrtf(squares + 1e-12f);
    for (int k = 0; k < kRank; ++k) vector[k] *= factor;
  }

  __device__ unsigned* list() { return lists_ + other_ * kMost; }
  __device__ float* value() { return values_ + other_ * kMost; }

  // W; i < j.
  __device__ double weight(int i, int j) const {
    return i ? all_.pairs[i * all_.width + j] : fields_[j];
  }

  template <class Do>
  __device__ void each_pair(Do&& act) {
    for (int i = thread_ / 32; i < m_ - 1; i += threads_ / 32) {
      for (int j = i + 1 + thread_ % 32; j < m_; j += 32) act(i, j);
    }
  }

  // M of W and the multipliers.
  __device__ void build() {
    const double factor = 1 / (node_.scale * quantum_);
    each_pair([&](int i, int j) { entry(i, j) = __double2int_rn(weight(i, j) * factor); });
    __syncthreads();
    for (int t = thread_; t < count_; t += threads_) add(unpacked(list()[t]), value()[t]);
    __syncthreads();
  }

  // Less a multiplier at the pairs of its triangle.
  __device__ void add(const Triangle& t, float multiplier) {
    const int x = __float2int_rn(multiplier / quantum_);
    atomicAdd(&entry(t.i, t.j), -t.a * x);
    atomicAdd(&entry(t.i, t.k), -t.b * x);
    atomicAdd(&entry(t.j, t.k), -t.c * x);
  }

  // Each vector in turn against its field: the least energy that it can have. Each thread has the
  // field of its vector, and hears by how much the others change.
  __device__ __forceinline__ void sweep(int count) {
    const int own_row = thread_ * stride_, m = m_, stride = stride_, here = thread_;
    const int* matrix = matrix_;
    const bool has = here < m;
    // The entry of M between this variable and another one.
    const auto seen = [=](int i) {
      if (i == here || !has) return 0.0f;
      return static_cast<float>(matrix[i < here ? i * stride + here : own_row + i]);
    };
    Vector own = {}, field = {}, other;
    if (has) read(vectors_ + kRank * here, own);
    for (int i = 0; i < m; ++i) {
      const float w = seen(i);
      read(vectors_ + kRank * i, other);
#pragma unroll
      for (int k = 0; k < kRank; ++k) field[k] += w * other[k];
    }
    float length = 0;
    float *change = change_, *next = change_ + kRank;  // by turns, so that one barrier does
#pragma unroll 1
    for (; count > 0; --count) {
#pragma unroll 2
      for (int i = 0; i < m; ++i) {
        const float w = seen(i);
        if (i == here) length = turn(own, field, change);
        __syncthreads();
        read(change, other);
#pragma unroll
        for (int k = 0; k < kRank; ++k) field[k] += w * other[k];
        float* const last = change;
        change = next;
        next = last;
      }
    }
    __syncthreads();
    if (has) {
      length_ = length * quantum_;
      inverse_[here] = 1 / (length_ + 1e-9f);
      write(own, vectors_ + kRank * here);
    }
    __syncthreads();
  }

  // A vector against its field, whose length this is, and by how much it changes.
  __device__ __forceinline__ float turn(Vector& own, const Vector& field, float* change) {
    float squares[4] = {};
#pragma unroll
    for (int k = 0; k < kRank; ++k) squares[k % 4] += field[k] * field[k];
    const float all = (squares[0] + squares[1]) + (squares[2] + squares[3]);
    Vector by = {};
    if (!(all > 1e-18f)) {
      write(by, change);
      return 0;
    }
    const float inverse = rsqrtf(all);
#pragma unroll
    for (int k = 0; k < kRank; ++k) by[k] = -inverse * field[k] - own[k];
    write(by, change);
#pragma unroll
    for (int k = 0; k < kRank; ++k) own[k] += by[k];
    return all * inverse;
  }

  // The bound, if the vectors had converged.
  __device__ double estimate() {
    double sum = thread_ < m_ ? 0.5 * length_ : 0;
    for (int t = thread_; t < count_; t += threads_) sum += value()[t];
    return -sum_of(sum) * node_.scale;
  }

  // X = V V^T.
  __device__ __forceinline__ void gram() {
    if (thread_ < m_) {
      Vector own, other;
      read(vectors_ + kRank * thread_, own);
      for (int i = 0; i < thread_; ++i) {
        read(vectors_ + kRank * i, other);
        float sums[2] = {};
#pragma unroll
        for (int k = 0; k < kRank; ++k) sums[k % 2] += own[k] * other[k];
        product(i, thread_) = sums[0] + sums[1];
      }
    }
    __syncthreads();
  }

  __device__ float violation(const Triangle& t) {
    return -(t.a * product(t.i, t.j) + t.b * product(t.i, t.k) + t.c * product(t.j, t.k) + 1);
  }

  // Whether a triangle was not in the table; then it is.
  __device__ bool is_new(unsigned t) {
    const unsigned key = t + 1;
    for (unsigned slot = t * 0x9E3779B9u >> 12;; ++slot) {
      slot %= kTable;
      const unsigned met = atomicCAS(&seen_[slot], 0u, key);
      if (met == 0) return true;
      if (met == key) return false;
    }
  }

  // Drops triangles that do nothing and adds the most violated ones.
  __device__ void separate() {
    constexpr float kLeast = 0.05f;
    constexpr float kFine = kBins / 2.0f;
    for (int x = thread_; x < kTable; x += threads_) seen_[x] = 0;
    for (int x = thread_; x < kBins; x += threads_) bins_[x] = 0;
    if (thread_ == 0) counter_[0] = counter_[1] = 0;
    __syncthreads();
    drop_slack_ones();
    scan(kLeast, [&](float by, unsigned) {
      const int bin = static_cast<int>((by - kLeast) * kFine);
      atomicAdd(&bins_[bin < kBins ? bin : kBins - 1], 1);
    });
    __syncthreads();
    int bin = kBins - 1;
    const int most = 5 * m_;
    for (int sum = bins_[bin]; bin > 0 && sum < most; sum += bins_[bin]) --bin;
    scan(kLeast + bin / kFine, [&](float, unsigned t) {
      if (atomicAdd(&counter_[1], 1) >= most || !is_new(t)) return;
      const int at = atomicAdd(&counter_[0], 1);
      if (at >= kMost) return;
      list()[at] = t;
      value()[at] = 0;
    });
    __syncthreads();
    count_ = counter_[0] < kMost ? counter_[0] : kMost;
    for (int t = thread_; t < count_; t += threads_) sums_[t] = value()[t];
    __syncthreads();
  }

  __device__ void drop_slack_ones() {
    const unsigned* from = list();
    const float* had = value();
    other_ = 1 - other_;
    for (int t = thread_; t < count_; t += threads_) {
      const float multiplier = had[t];
      if (multiplier <= 1e-4f && violation(unpacked(from[t])) <= -0.05f) continue;
      const int at = atomicAdd(counter_, 1);
      list()[at] = from[t];
      value()[at] = multiplier;
      is_new(from[t]);
    }
    __syncthreads();
  }

  // All triangles that are violated by more than the threshold.
  template <class Met>
  __device__ void scan(float threshold, Met&& met) {
    const float bound = -1 - threshold;
#pragma unroll 1
    for (int i = 0; i < m_ - 2; ++i) {
#pragma unroll 1
      for (int j = i + 1 + thread_ / 32; j < m_ - 1; j += threads_ / 32) {
        const float x = product(i, j);
        for (int k = j + 1 + thread_ % 32; k < m_; k += 32) {
          const float left = product(i, k), right = product(j, k);
          const float sum = left + right, difference = left - right;
          const float alike = x - (sum < 0 ? -sum : sum);
          const float unlike = -x - (difference < 0 ? -difference : difference);
          const float least = alike < unlike ? alike : unlike;
          if (!(least < bound)) continue;
          const int kind = alike < unlike ? (sum < 0 ? 0 : 1) : (difference < 0 ? 2 : 3);
          met(-1 - least, packed(i, j, k, kind));
        }
      }
    }
  }

  // Multipliers follow the sum of violations, and the violation itself, which damps them; at the
  // pace of the weakest of their three vectors.
  __device__ __forceinline__ void ascend(float slow, float quick) {
    constexpr float kFar = 8;  // so that no integer overflows
    for (int t = thread_; t < count_; t += threads_) {
      const Triangle triangle = unpacked(list()[t]);
      const float pace = 3 / (inverse_[triangle.i] + inverse_[triangle.j] + inverse_[triangle.k]);
      const float by = violation(triangle) * pace;
      const float total = sums_[t] + slow * by;
      sums_[t] = total > 0 ? total : 0;
      const float now = sums_[t] + quick * by, before = value()[t];
      float change = (now > 0 ? now : 0) - before;
      change = change > kFar ? kFar : change < -kFar ? -kFar : change;
      if (change == 0) continue;
      // In whole quanta, so that M and the multipliers stay in step.
      const float after = rintf((before + change) / quantum_) * quantum_;
      value()[t] = after;
      add(triangle, after - before);
    }
    __syncthreads();
  }

  // The matrix of the proof: its upper half, row by row.
  __device__ double& proof(int i, int j) {
    return reinterpret_cast<double*>(pool)[i * (2 * m_ - i - 1) / 2 + j];
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
    double* spin = reinterpret_cast<double*>(pool);  // M and X are not needed any more
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

  // For the nodes below.
  __device__ void keep() {
    if (node_.to < 0) return;
    if (thread_ == 0) *counter_ = 0;
    __syncthreads();
    const long long row = static_cast<long long>(node_.to);
    for (int t = thread_; t < count_; t += threads_) {
      if (!(value()[t] > 0)) continue;
      const int at = atomicAdd(counter_, 1);
      all_.triangles[row * kMost + at] = list()[t];
      all_.multipliers[row * kMost + at] = value()[t];
    }
    float* vectors = all_.vectors + row * kRank * all_.width;
    for (int x = thread_; x < kRank * m_; x += threads_) vectors[x] = vectors_[x];
    __syncthreads();
    if (thread_ == 0) all_.counts[node_.to] = *counter_;
  }

  const Problem& all_;
  const Bounded node_;
  const double* fields_;
  unsigned* lists_;
  float* values_;
  float* sums_;
  unsigned* seen_;
  int m_, stride_, thread_, threads_;
  float quantum_;  // of the integers of M
  int* matrix_;
  float *gram_, *vectors_, *change_, *inverse_;
  int *bins_, *counter_;
  int count_ = 0, other_ = 0;  // triangles, and which of two lists has them
  float length_ = 0;           // of the field of this thread's vector
};

}  // namespace

// One node a block, of a whole number of warps, one thread a variable at least.
extern "C" __global__ void __launch_bounds__(kThreads) semidefinite_bounds(const Problem* all) {
  const int number = static_cast<int>(blockIdx.x);
  Bound(*all, number).find(all->results[number]);
}
