// A row of the frontier program over numbered states; see cuda.py, and layers.hpp for the numbers.
//
// Each thread gathers what comes to some states of the new layer. Constants: kWords is the number
// of words of an integer, or kPrimes that of primes modulo which there are residues, or both are 0
// for sums in double precision with kParts parts, kSigned and kErrors as in frontier.simd.cpp.
#include "permanents/numbers/residues.hpp"

namespace {

using hardscape::permanents::Residues;
using uint32 = unsigned int;
using uint64 = unsigned long long;

constexpr int kNumbers = kWords > 0 ? kWords : kPrimes > 0 ? kPrimes : kParts + kSigned + kErrors;

union Number {
  uint64 word;
  double real;
};

struct State {
  Number number[kNumbers];
};

// An entry of the row: times 2^64 modulo each prime,
template <int Primes>
struct Entry {
  uint64 factor[Primes];
};

// or an integer, or parts, magnitude and error.
template <>
struct Entry<0> {
  long long whole;
  double re, im, size, error;
};

template <int Primes>
__device__ __forceinline__ void add(State& value, const Entry<Primes>& entry, const State& source,
                                    const Residues* __restrict__ rings) {
#pragma unroll
  for (int i = 0; i < Primes; ++i) {
    const Residues ring = rings[i];
    const uint64 product = ring.multiply(source.number[i].word, entry.factor[i]);
    value.number[i].word =
        ring.add(value.number[i].word, product >= ring.p ? product - ring.p : product);
  }
}

__device__ __forceinline__ void add(State& value, const Entry<0>& entry, const State& source,
                                    const Residues*) {
  if constexpr (kWords > 0) {
    const uint64 by = entry.whole < 0 ? 0ull - static_cast<uint64>(entry.whole)
                                      : static_cast<uint64>(entry.whole);
    const uint64 flip = entry.whole < 0 ? ~0ull : 0ull;
    uint64 carry = 0, up = flip & 1;
#pragma unroll
    for (int i = 0; i < kNumbers; ++i) {
      const uint64 x = source.number[i].word;
      const uint64 low = x * by + carry;
      carry = __umul64hi(x, by) + (low < carry);
      // Plus the product, or its complement and one.
      const uint64 term = low ^ flip;
      const uint64 sum = value.number[i].word + term;
      const uint64 total = sum + up;
      up = (sum < term) + (total < sum);
      value.number[i].word = total;
    }
  } else {
    Number* const to = value.number;
    const Number* const from = source.number;
    if constexpr (kParts == 1) {
      to[0].real += entry.re * from[0].real;
    } else {
      to[0].real += entry.re * from[0].real - entry.im * from[1].real;
      to[1].real += entry.re * from[1].real + entry.im * from[0].real;
    }
    const double magnitude = from[kSigned ? kParts : 0].real;
    if constexpr (kSigned) to[kParts].real += entry.size * magnitude;
    if constexpr (kErrors) {
      const int last = kNumbers - 1;
      to[last].real += (entry.size + entry.error) * from[last].real + entry.error * magnitude;
    }
  }
}

}  // namespace

// highs, offsets: high halves of the new layer and the numbers of their first states. lists[q] to
// lists[q + 1] - 1: places of the low halves of q columns; moved[entry][place]: what they were in
// the block of the old layer, or -1. befores: numbers of first states in the old layer, by high
// half.
extern "C" __global__ void __launch_bounds__(256)
    frontier_row(const State* __restrict__ source, State* __restrict__ result,
                 const uint32* __restrict__ highs, const uint64* __restrict__ offsets,
                 const uint32* __restrict__ lists, const int* __restrict__ moved,
                 const uint64* __restrict__ befores, const Entry<kPrimes>* __restrict__ entries,
                 const Residues* __restrict__ rings, const uint32* __restrict__ high_bits,
                 int count, int places, uint32 closed, uint32 fresh, int used) {
  const uint32 high = highs[blockIdx.x];
  const int q = used - __popc(high);
  const uint32 first = lists[q], size = lists[q + 1] - first;
  State* const block = result + offsets[blockIdx.x];
  for (uint32 r = blockIdx.y * blockDim.x + threadIdx.x; r < size; r += gridDim.y * blockDim.x) {
    State value = {};
    for (int e = 0; e < count; ++e) {
      const uint32 bit = high_bits[e], before = (high | closed) ^ bit;
      if (before & bit || before & fresh) continue;
      const int place = moved[static_cast<uint64>(e) * places + first + r];
      if (place >= 0) add(value, entries[e], source[befores[before] + place], rings);
    }
    block[r] = value;
  }
}
