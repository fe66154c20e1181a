// What the threads of a block do for one node: vectors, their sweeps, and X = V V^T.
//
// Thread j has variable j. One matrix in shared memory has M above its diagonal, as integers, so
// that multipliers are added in any order with one result, and X below.
#pragma once

#include <cstdint>

#include "ising/methods/semidefinite/bounded.hpp"

namespace {

using hardscape::ising::Bounded;
using Result = hardscape::ising::Bound;

constexpr int kRank = 16, kBins = 256, kTable = 2 * kMost;
constexpr unsigned kAll = ~0u;

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

class Block {
 public:
  __device__ Block(const Problem& all, int number, void* memory)
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
    matrix_ = static_cast<int*>(memory);
    gram_ = static_cast<float*>(memory);
    // Behind the matrix, vectors are read four floats at a time.
    const int behind = (m_ * stride_ + 3) / 4 * 4;
    vectors_ = gram_ + behind;
    change_ = vectors_ + kRank * m_;
    inverse_ = change_ + 2 * kRank;
    bins_ = reinterpret_cast<int*>(inverse_ + m_);
    counter_ = bins_ + kBins;
    for (int k = 0; k < node_.bits; ++k) quantum_ /= 2;
    for (int k = 0; k > node_.bits; --k) quantum_ *= 2;
  }

 protected:
  // M and X; i < j.
  __device__ int& entry(int i, int j) { return matrix_[i * stride_ + j]; }
  __device__ float& product(int i, int j) { return gram_[j * stride_ + i]; }
  __device__ int& sum(int i, int j) { return matrix_[j * stride_ + i]; }  // before X is there

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
#pragma unroll 4
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

  // X = V V^T.
  __device__ __forceinline__ void gram() {
    if (thread_ < m_) {
      Vector own, other;
      read(vectors_ + kRank * thread_, own);
#pragma unroll 4
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
