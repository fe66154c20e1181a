// Minimisation over one bit after the other on a GPU: the tables of tables.hpp, entry by entry.
#include <cstdint>

namespace {

template <int bytes>
struct IntegerOf {
  using Type = int;
};
template <>
struct IntegerOf<8> {
  using Type = long long;
};
template <>
struct IntegerOf<16> {
  using Type = __int128;
};
using Value = IntegerOf<kBytes>::Type;

// Bits of an entry's number that follow one another in a child's, too.
struct Run {
  int from, to;
  unsigned long long mask;
};

struct Child {
  const Value* message;
  long long first, last;  // of its runs
};

// What is minimised over one bit. The entry of a message is the least value of all that is
// eliminated, that of a gap how much more it is with the bit set than with it clear.
struct Bucket {
  Value* message;
  Value* gap;
  long long width;
  long long first_field, last_field;
  long long first_child, last_child;
};

// Pointers, 8 bytes each, in the host's order.
struct Plan {
  const Bucket* buckets;
  const Child* children;
  const Run* runs;
  const int* field_bits;
  const Value* fields;
};

__device__ void fill(const Plan& plan, const Bucket& bucket, Value linear, unsigned long long x) {
  Value clear = 0, set = linear;
  for (long long k = bucket.first_field; k < bucket.last_field; ++k) {
    if (x >> plan.field_bits[k] & 1) set += plan.fields[k];
  }
  for (long long c = bucket.first_child; c < bucket.last_child; ++c) {
    const Child& child = plan.children[c];
    unsigned long long at = 0;
    for (long long r = child.first; r < child.last; ++r) {
      const Run& run = plan.runs[r];
      at |= (x >> run.from & run.mask) << run.to;
    }
    clear += child.message[2 * at];
    set += child.message[2 * at + 1];
  }
  bucket.gap[x] = set - clear;
  bucket.message[x] = set < clear ? set : clear;
}

}  // namespace

// Fills the tables of some buckets, one after the other; of several with one block.
extern "C" __global__ void __launch_bounds__(256)
    tables_fill(const Plan* plan, const Value* linear, int first, int last) {
  const unsigned long long from = blockIdx.x * static_cast<unsigned long long>(blockDim.x);
  const unsigned long long stride = gridDim.x * static_cast<unsigned long long>(blockDim.x);
  for (int t = first; t < last; ++t) {
    const Bucket bucket = plan->buckets[t];
    const unsigned long long entries = 1ull << bucket.width;
    for (unsigned long long x = from + threadIdx.x; x < entries; x += stride) {
      fill(*plan, bucket, linear[t], x);
    }
    __syncthreads();
  }
}
