// Real and complex numbers, compensated sums of them, and their reduction over a block of threads.
// The kernel's constants, kParts among them, are defined before.
#pragma once

#include "permanents/methods/range.cuh"

namespace {

template <int Parts>
struct Number;

template <>
struct Number<1> {
  double re;
};

template <>
struct alignas(16) Number<2> {
  double re, im;
};

using Value = Number<kParts>;

__device__ __forceinline__ Number<1> operator+(Number<1> x, Number<1> y) { return {x.re + y.re}; }
__device__ __forceinline__ Number<1> operator-(Number<1> x, Number<1> y) { return {x.re - y.re}; }
__device__ __forceinline__ Number<1> operator*(Number<1> x, Number<1> y) { return {x.re * y.re}; }
__device__ __forceinline__ Number<1> operator*(double x, Number<1> y) { return {x * y.re}; }

// x y + z.
__device__ __forceinline__ Number<1> multiply_add(Number<1> x, Number<1> y, Number<1> z) {
  return {fma(x.re, y.re, z.re)};
}

__device__ __forceinline__ Number<2> operator+(Number<2> x, Number<2> y) {
  return {x.re + y.re, x.im + y.im};
}
__device__ __forceinline__ Number<2> operator-(Number<2> x, Number<2> y) {
  return {x.re - y.re, x.im - y.im};
}
__device__ __forceinline__ Number<2> operator*(Number<2> x, Number<2> y) {
  return {fma(x.re, y.re, -(x.im * y.im)), fma(x.re, y.im, x.im * y.re)};
}
__device__ __forceinline__ Number<2> operator*(double x, Number<2> y) {
  return {x * y.re, x * y.im};
}
__device__ __forceinline__ Number<2> multiply_add(Number<2> x, Number<2> y, Number<2> z) {
  return {fma(x.re, y.re, fma(-x.im, y.im, z.re)), fma(x.re, y.im, fma(x.im, y.re, z.im))};
}
__device__ __forceinline__ Number<1> multiply_add(double x, Number<1> y, Number<1> z) {
  return {fma(x, y.re, z.re)};
}
__device__ __forceinline__ Number<2> multiply_add(double x, Number<2> y, Number<2> z) {
  return {fma(x, y.re, z.re), fma(x, y.im, z.im)};
}

// |x|, or for a complex number the sum of its parts' magnitudes.
__device__ __forceinline__ double one_norm(Number<1> x) { return fabs(x.re); }
__device__ __forceinline__ double one_norm(Number<2> x) { return fabs(x.re) + fabs(x.im); }

// Adds x to high; the rounding error goes to low (Knuth's two-sum).
__device__ __forceinline__ void add_compensated(double& high, double& low, double x) {
  const double sum = high + x;
  const double part = sum - high;
  low += (high - (sum - part)) + (x - part);
  high = sum;
}

struct Sums {
  double high[kParts], low[kParts], magnitude;

  __device__ __forceinline__ void add(Number<1> x) { add_compensated(high[0], low[0], x.re); }
  __device__ __forceinline__ void add(Number<2> x) {
    add_compensated(high[0], low[0], x.re);
    add_compensated(high[kParts - 1], low[kParts - 1], x.im);
  }
  __device__ __forceinline__ void add(const Sums& other) {
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      add_compensated(high[p], low[p], other.high[p]);
      low[p] += other.low[p];
    }
    magnitude += other.magnitude;
  }
};

// Adds the sums of all threads of a block, negated where the thread's number has an odd number of
// bits, and writes high parts, low parts and magnitude. `memory` holds a Sums for each thread.
template <int Threads>
__device__ void reduce_block(Sums sums, void* memory, double* out) {
  if (__popc(threadIdx.x) & 1) {
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      sums.high[p] = -sums.high[p];
      sums.low[p] = -sums.low[p];
    }
  }
  __syncthreads();
  Sums* const total = static_cast<Sums*>(memory);
  total[threadIdx.x] = sums;
  for (int half = Threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) total[threadIdx.x].add(total[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) {
    for (int p = 0; p < kParts; ++p) {
      out[p] = total[0].high[p];
      out[kParts + p] = total[0].low[p];
    }
    out[2 * kParts] = total[0].magnitude;
  }
}

}  // namespace
