// Violated clauses of clones whose words lie in device memory, [clause][thread].
#include "xorsat/methods/quasi_greedy/cuda/words.cuh"

using std::uint32_t;
using std::uint64_t;
using namespace hardscape::xorsat;

// Adds those of all clones of each group of 1024 to `totals`, and lowers `fewest` to that of its
// best clone.
extern "C" __global__ void __launch_bounds__(kThreads)
    xorsat_energies(const uint32_t* states, uint32_t words, unsigned long long* totals,
                    uint32_t* fewest) {
  const uint32_t thread = blockIdx.x * kThreads + threadIdx.x;
  if (thread >= words) return;
  uint32_t digits[kClauseDigits] = {};
  unsigned long long total = 0;
  for (uint64_t a = 0; a < kClauses; ++a) {
    const uint32_t word = states[a * words + thread];
    total += __popc(word);
    uint32_t carry = word;
    for (int p = 0; p < kClauseDigits && carry; ++p) {
      const uint32_t next = digits[p] & carry;
      digits[p] ^= carry;
      carry = next;
    }
  }
  uint32_t holders = ~0u, least = 0;
  for (int p = kClauseDigits; p-- > 0;) least_bit(digits[p], 1u << p, holders, least);
  atomicAdd(totals + thread / 32, total);
  atomicMin(fewest + thread / 32, least);
}
