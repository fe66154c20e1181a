// What lies in the memory of the GPUs beside: copies of what moves at the sides of this window.
#pragma once

#include "gauge/lattice/site.cuh"

namespace hardscape::gauge {

// The GPUs that hold the timeslices before and after those of this one, and of these timeslices the
// rows left and right of those of this one: g and counters there.
struct Beside {
  Chunk* before;
  Chunk* after;
  unsigned* done_before;
  unsigned* done_after;
  Chunk* left;
  Chunk* right;
  unsigned* done_left;
  unsigned* done_right;
};

// The number of a site in a window of `Slices` timeslices that has the rows of this one.
template <int Slices>
__device__ inline int number_in_slice(const Site& at, int color, int t) {
  return (color * Slices + t) * kPlane + at.natural() / 2 % kPlane;
}

// The same in a window of `Slices` timeslices of `Rows` rows, where z is counted from its first
// row.
template <int Slices, int Rows>
__device__ inline int number_in_rows(const Site& at, int color, int t, int z) {
  constexpr int kThere = Rows * kDeep;
  const int natural = ((t * kThere + z) * kY + at.y) * kX + at.x;
  return color * (kX * kY * kThere * Slices / 2) + natural / 2;
}

// Hands what moved on to the GPUs that hold a copy of it.
__device__ inline void share(const Beside& beside, const Site& at, int color, const Element& a) {
  if constexpr (kBefore > 0) {
    if (at.t == kHalo) store(beside.before, number_in_slice<kBefore>(at, color, kBefore - 1), a);
    if (at.t == kHalo + kOwn - 1) store(beside.after, number_in_slice<kAfter>(at, color, 0), a);
  }
  if constexpr (kLeft > 0) {
    const int first = at.z - kRim, last = at.z - (kRim + kOwnZ - kDeep);  // in z, of rows at sides
    if (first < kDeep) {
      const int z = (kLeft - 1) * kDeep + first;
      store(beside.left, number_in_rows<kT, kLeft>(at, color, at.t, z), a);
    }
    if (last >= 0) store(beside.right, number_in_rows<kT, kRight>(at, color, at.t, last), a);
  }
}

}  // namespace hardscape::gauge
