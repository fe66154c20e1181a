// Glynn's formula over the outer signs of a sparse matrix, the inner variables eliminated; see
// elimination.py. `program.cuh`, generated for the matrix, holds the elimination and the nonzero
// entries of the rows that are walked.
#include "program.cuh"

namespace {

constexpr int kThreads = 1 << kThreadBits;

// The outer sums of this thread at position `walk` of the Gray code; fast signs are +.
__device__ void fill_sums(const Value* rows, uint64 walk, Value (*sum)[kThreads]) {
  const uint64 signs = (walk ^ walk >> 1) << kThreadBits | threadIdx.x;
  for (int j = 0; j < kFactors; ++j) {
    Value total = rows[j];
    for (int i = 0; i < kThreadBits + kWalked; ++i) {
      const Value x = rows[(i + 1) * kFactors + j];
      total = signs >> i & 1 ? total - x : total + x;
    }
    sum[j][threadIdx.x] = total;
  }
}

}  // namespace

// Sums positions first to last-1 of the Gray code, cut into gridDim.x ranges. rows[row][factor]:
// the sum of the fixed and the fast rows, then the rows of the thread's and the walked signs.
// out[range] = high parts, low parts, magnitude.
extern "C" __global__ void __launch_bounds__(kThreads)
    sparse_sum(const Value* rows, uint64 first, uint64 last, double* out) {
  extern __shared__ char memory[];
  Value(*const sum)[kThreads] = reinterpret_cast<Value(*)[kThreads]>(memory);
  const Range range(first, last);
  fill_sums(rows, range.begin, sum);
  Sums sums{};
  for (uint64 walk = range.begin; walk < range.end; ++walk) {
    if (walk != range.begin) {
      const int bit = __ffsll(static_cast<long long>(walk)) - 1;
      const double step = walk >> (bit + 1) & 1 ? 2.0 : -2.0;
      const Value* row = rows + (1 + kThreadBits + bit) * kFactors;
      for (int k = kRowStart[bit]; k < kRowStart[bit + 1]; ++k) {
        Value& moved = sum[kRowFactor[k]][threadIdx.x];
        moved = multiply_add(step, row[kRowFactor[k]], moved);
      }
    }
    const Value term = sum_block(sum, sums.magnitude);
    sums.add(walk & 1 ? Value{} - term : term);
  }
  reduce_block<kThreads>(sums, memory, out + static_cast<uint64>(blockIdx.x) * (2 * kParts + 1));
}
