// Permanents of one matrix for many patterns of columns, the rows as often as one pattern says, by
// Glynn's formula over multiplicities: see repeated.py. A thread has a pattern; a block of threads
// shares the sums of rows of kTerms terms.
// kParts, kCopies, kRows, kWidth, kThreads and kTerms are defined before.
#include "permanents/methods/sums.cuh"

namespace {

__device__ __forceinline__ Value zero() { return Value{}; }

__device__ __forceinline__ double squared(Number<1> x) { return x.re * x.re; }
__device__ __forceinline__ double squared(Number<2> x) { return fma(x.re, x.re, x.im * x.im); }

__device__ __forceinline__ Number<1> weighted(double weight, Number<1>) { return {weight}; }
__device__ __forceinline__ Number<2> weighted(double weight, Number<2>) { return {weight, 0}; }

__device__ __forceinline__ void write(Number<1> x, double* out) { out[0] += x.re; }
__device__ __forceinline__ void write(Number<2> x, double* out) {
  out[0] += x.re;
  out[1] += x.im;
}

// (-1)^v binom(copies, v) / 2^copies.
__device__ double binomial(int copies, int v) {
  double x = scalbn(1.0, -copies);
  for (int i = 1; i <= v; ++i) x *= -static_cast<double>(copies + 1 - i) / i;
  return x;
}

}  // namespace

// entries[row][column]; radix[row], that of the first one without its copy of a fixed sign;
// columns[copy][pattern]. Adds terms first to last-1 to out[pattern]: value, sum of squares.
extern "C" __global__ void __launch_bounds__(kThreads)
    repeated_patterns(const double* entries, const int* radix, const unsigned short* columns,
                      uint64 patterns, uint64 first, uint64 last, double* out) {
  __shared__ Value sums[kTerms][kWidth];
  __shared__ double weights[kTerms];
  const Value* const entry = reinterpret_cast<const Value*>(entries);
  const uint64 pattern = static_cast<uint64>(blockIdx.x) * kThreads + threadIdx.x;
  const uint64 mine = pattern < patterns ? pattern : patterns - 1;
  unsigned short list[kCopies];
#pragma unroll
  for (int c = 0; c < kCopies; ++c) list[c] = columns[c * patterns + mine];
  Value total = zero();
  double square = 0;
  for (uint64 begin = first; begin < last; begin += kTerms) {
    const int count = last - begin < kTerms ? static_cast<int>(last - begin) : kTerms;
    __syncthreads();
    for (int at = threadIdx.x; at < kTerms * kWidth; at += kThreads) {
      const int t = at / kWidth, j = at % kWidth;
      uint64 rest = begin + t;
      Value sum = zero();
      double weight = 1;
      for (int i = 0; i < kRows; ++i) {
        const int copies = radix[i] - (i > 0), v = static_cast<int>(rest % radix[i]);
        rest /= radix[i];
        sum = multiply_add(static_cast<double>(copies - 2 * v), entry[i * kWidth + j], sum);
        if (j == 0) weight *= binomial(radix[i] - 1, v);
      }
      sums[t][j] = sum;
      if (j == 0) weights[t] = weight;
    }
    __syncthreads();
    for (int t = 0; t < count; ++t) {
      Value product = weighted(weights[t], zero());
#pragma unroll
      for (int c = 0; c < kCopies; ++c) product = product * sums[t][list[c]];
      total = total + product;
      square += squared(product);
    }
  }
  if (pattern < patterns) {
    double* const place = out + pattern * (kParts + 1);
    write(total, place);
    place[kParts] += square;
  }
}
