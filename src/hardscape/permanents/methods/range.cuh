// The share of a block of threads in a range of steps.
#pragma once

namespace {

using uint64 = unsigned long long;

// The part of a range that blockIdx.x of gridDim.x sums.
struct Range {
  uint64 begin, end;

  __device__ Range(uint64 first, uint64 last) {
    const uint64 share = (last - first) / gridDim.x, rest = (last - first) % gridDim.x;
    begin = first + blockIdx.x * share + min(static_cast<uint64>(blockIdx.x), rest);
    end = begin + share + (blockIdx.x < rest ? 1 : 0);
  }
};

}  // namespace
