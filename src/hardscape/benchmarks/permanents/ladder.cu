// The steps of ladder.hpp on a GPU: a range of units a thread. kIdea and kSide are defined before.
#include "benchmarks/permanents/ladder.hpp"

using namespace hardscape::permanents::ladder;

// out[thread] = the sum of its units; `each` of them, of `units` in all.
extern "C" __global__ void __launch_bounds__(128)
    ladder_sum(const double* entries, const double* patterns, Count units, Count each,
               double* out) {
  const Count thread = static_cast<Count>(blockIdx.x) * blockDim.x + threadIdx.x;
  const Count first = thread * each < units ? thread * each : units;
  const Count last = first + each < units ? first + each : units;
  out[thread] = range_sum<kIdea, kSide>(entries, patterns, kSide, first, last);
}
