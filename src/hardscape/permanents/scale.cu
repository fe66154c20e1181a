// Brings matrices of a batch to the grid on which column sums are exact: the powers of two that
// `hardscape.permanents.batch.scaled` takes off rows and columns, one matrix a block and a column
// a thread.
#include "instance.cuh"

namespace {

constexpr int kThreads = 64;

// Exponent e with |x| < 2^e for all x up to `most`; 0 for zeros.
__device__ int exponent_above(double most) { return most > 0 ? ilogb(most) + 1 : 0; }

}  // namespace

// given[matrix][sign][factor][part]; scaled[matrix][part][sign][factor], padded by an identity from
// kGiven to kFactors; the sum of all exponents of each matrix.
extern "C" __global__ void __launch_bounds__(kThreads)
    glynn_scale(const double* given, double* scaled, int* exponent) {
  __shared__ int row[kThreads], column[kThreads];
  const unsigned long long matrix = blockIdx.x;
  given += matrix * kGiven * kGiven * kParts;
  scaled += matrix * kFactors * kFactors * kParts;
  const int me = threadIdx.x;
  const auto entry = [&](int i, int j, int part) {
    if (i >= kGiven || j >= kGiven) return i == j && part == 0 ? 1.0 : 0.0;
    return given[(i * kGiven + j) * kParts + part];
  };
  const auto larger = [&](int i, int j) {
    double size = 0;
    for (int part = 0; part < kParts; ++part) size = fmax(size, fabs(entry(i, j, part)));
    return size;
  };
  row[me] = 0;
  column[me] = 0;
  if (me < kFactors) {
    double most = 0;
    for (int i = 0; i < kFactors; ++i) most = fmax(most, larger(i, me));
    column[me] = exponent_above(most);
  }
  __syncthreads();
  if (me < kFactors) {
    double most = 0;
    for (int j = 0; j < kFactors; ++j) most = fmax(most, scalbn(larger(me, j), -column[j]));
    row[me] = exponent_above(most);
  }
  __syncthreads();
  if (me < kFactors) {
    double most = 0;
    for (int i = 0; i < kFactors; ++i) most = fmax(most, scalbn(larger(i, me), -row[i]));
    int shift = exponent_above(most);
    double longest = 0;
    for (int part = 0; part < kParts; ++part) {
      double sum = 0;
      for (int i = 0; i < kFactors; ++i) sum += fabs(scalbn(entry(i, me, part), -row[i] - shift));
      longest = fmax(longest, sum);
    }
    shift += max(0, exponent_above(longest));
    column[me] = shift;
    for (int part = 0; part < kParts; ++part) {
      for (int i = 0; i < kFactors; ++i) {
        const double grid = rint(scalbn(entry(i, me, part), 52 - row[i] - shift));
        scaled[(part * kFactors + i) * kFactors + me] = scalbn(grid, -52);
      }
    }
  }
  __syncthreads();
  if (me == 0) {
    int sum = 0;
    for (int i = 0; i < kFactors; ++i) sum += row[i] + column[i];
    exponent[matrix] = sum;
  }
}
