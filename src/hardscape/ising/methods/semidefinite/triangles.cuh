// Triangle inequalities of a block's node and their multipliers.
#pragma once

#include "ising/methods/semidefinite/block.cuh"

namespace {

constexpr unsigned kNone = ~0u;

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

class Cuts : public Block {
 protected:
  using Block::Block;

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
    const int x = __float2int_rn(multiplier * (1 / quantum_));
    atomicAdd(&entry(t.i, t.j), -t.a * x);
    atomicAdd(&entry(t.i, t.k), -t.b * x);
    atomicAdd(&entry(t.j, t.k), -t.c * x);
  }

  // The bound, if the vectors had converged.
  __device__ double estimate() {
    double sum = thread_ < m_ ? 0.5 * length_ : 0;
    for (int t = thread_; t < count_; t += threads_) sum += value()[t];
    return -sum_of(sum) * node_.scale;
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

  // All triangles that are violated by more than the threshold. A lane has every 32nd k.
  template <class Met>
  __device__ __forceinline__ void scan(float threshold, Met&& met) {
    constexpr int kChunks = kThreads / 32;
    const float bound = -1 - threshold;
    const int m = m_, stride = stride_, lane = thread_ % 32;
    const float* gram = gram_;
    int rows[kChunks];
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const int k = 32 * c + lane;
      rows[c] = (k < m ? k : m - 1) * stride;
    }
#pragma unroll 1
    for (int i = 0; i < m - 2; ++i) {
      float left[kChunks];
#pragma unroll
      for (int c = 0; c < kChunks; ++c) left[c] = gram[rows[c] + i];
#pragma unroll 2
      for (int j = i + 1 + thread_ / 32; j < m - 1; j += threads_ / 32) {
        const float x = gram[j * stride + i];
#pragma unroll
        for (int c = 0; c < kChunks; ++c) {
          if (32 * c + 31 <= j || 32 * c >= m) continue;
          const float right = gram[rows[c] + j];
          const float sum = left[c] + right, difference = left[c] - right;
          const float alike = x - fabsf(sum), unlike = -x - fabsf(difference);
          const float least = alike < unlike ? alike : unlike;
          const int k = 32 * c + lane;
          if (!(least < bound) || k <= j || k >= m) continue;
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
    const unsigned* __restrict__ triangles = list();
    float* __restrict__ values = value();
    float* __restrict__ sums = sums_;
    const float quanta = 1 / quantum_;
#pragma unroll 2
    for (int t = thread_; t < count_; t += threads_) {
      const Triangle triangle = unpacked(triangles[t]);
      const float before = values[t], sum = sums[t];
      const float pace = 3 / (inverse_[triangle.i] + inverse_[triangle.j] + inverse_[triangle.k]);
      const float by = violation(triangle) * pace;
      const float total = sum + slow * by;
      const float kept = total > 0 ? total : 0;
      sums[t] = kept;
      const float now = kept + quick * by;
      float change = (now > 0 ? now : 0) - before;
      change = change > kFar ? kFar : change < -kFar ? -kFar : change;
      // In whole quanta, so that M and the multipliers stay in step.
      const float after = rintf((before + change) * quanta) * quantum_;
      if (after == before) continue;
      values[t] = after;
      add(triangle, after - before);
    }
    __syncthreads();
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
};

}  // namespace
