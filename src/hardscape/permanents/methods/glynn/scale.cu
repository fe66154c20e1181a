// Brings matrices of a batch to the grid on which column sums are exact: the powers of two that
// scaling.hpp takes off rows and columns on CPUs, one matrix a block and a column
// a thread.
// kGiven, kFactors, kParts and kNotFinite are defined before.

namespace {

constexpr int kThreads = 64;

// Sweeps that balance rows and columns, at most; random matrices take one or two.
constexpr int kSweeps = 8;
constexpr int kNoExponent = -(1 << 20);

// Exponent e with 2^(e-1) <= x < 2^e.
__device__ int exponent_above(double x) { return x > 0 ? ilogb(x) + 1 : kNoExponent; }

// A line of zeros keeps its place.
__device__ int of_nonzero(int exponent) { return exponent > kNoExponent / 2 ? exponent : 0; }

}  // namespace

// given[matrix][sign][factor][part]; scaled[matrix][part][sign][factor], padded by an identity from
// kGiven to kFactors; the sum of all exponents of each matrix, or kNotFinite where an entry is not.
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
  const auto scaled_size = [&](int i, int j) { return scalbn(larger(i, j), -row[i] - column[j]); };
  row[me] = 0;
  column[me] = 0;
  bool finite = true;
  if (me < kFactors) {
    int most = kNoExponent;
    for (int i = 0; i < kFactors; ++i) {
      for (int part = 0; part < kParts; ++part) finite = finite && isfinite(entry(i, me, part));
      most = max(most, exponent_above(larger(i, me)));
    }
    column[me] = of_nonzero(most);
  }
  finite = __syncthreads_and(finite);
  if (me < kFactors) {
    int most = kNoExponent;
    for (int j = 0; j < kFactors; ++j) {
      most = max(most, exponent_above(larger(me, j)) - column[j]);
    }
    row[me] = of_nonzero(most);
  }
  __syncthreads();
  // Sums of rows, then of columns, come between 1/2 and 1.
  for (int sweep = 0, changed = 1; sweep < kSweeps && changed; ++sweep) {
    int more = 0;
    if (me < kFactors) {
      double sum = 0;
      for (int j = 0; j < kFactors; ++j) sum += scaled_size(me, j);
      more = of_nonzero(exponent_above(sum));
    }
    changed = __syncthreads_or(more);
    row[me] += more;
    __syncthreads();
    if (me < kFactors) {
      double sum = 0;
      for (int i = 0; i < kFactors; ++i) sum += scaled_size(i, me);
      column[me] += of_nonzero(exponent_above(sum));
    }
    __syncthreads();
  }
  if (me < kFactors) {
    int shift = column[me];
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
    exponent[matrix] = finite ? sum : kNotFinite;
  }
}
