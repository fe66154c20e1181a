// A site and its surroundings on a GPU. The instance gives extents, group, gauge and precision.
//
// Sites are numbered colour by colour: even ones first, within a colour in the order t, z, y, x. Of
// a matrix only the rows that determine it are stored, in chunks of 16 bytes, so that the threads
// of a warp read and write whole lines: array[...][chunk][site].
#pragma once

#include "gauge/local.hpp"
#include "instance.cuh"

namespace hardscape::gauge {

constexpr int kHalf = kX * kY * kZ * kT / 2;
constexpr int kVolume = 2 * kHalf;
constexpr int kRows = kColors - 1;
constexpr int kLanes = 16 / sizeof(Real);
constexpr int kChunks = 2 * kRows * kColors / kLanes;

struct alignas(16) Chunk {
  Real value[kLanes];
};

using Element = Matrix<kColors, Real>;
#if HS_ABELIAN
using LocalField = AbelianLocal<kColors, Real>;
#else
using LocalField = LinearLocal<kColors, Real>;
#endif

struct Site {
  int x, y, z, t;

  // The site of place s among those of one colour.
  __device__ static Site of(int color, int s) {
    Site at;
    const int half = s % (kX / 2);
    int rest = s / (kX / 2);
    at.y = rest % kY;
    rest /= kY;
    at.z = rest % kZ;
    at.t = rest / kZ;
    at.x = 2 * half + ((at.y + at.z + at.t + color) & 1);
    return at;
  }

  __device__ int natural() const { return ((t * kZ + z) * kY + y) * kX + x; }

  // Its number in the order of the arrays, for a site of this colour.
  __device__ int number(int color) const { return color * kHalf + natural() / 2; }

  template <int Mu>
  __device__ Site ahead() const {
    Site at = *this;
    if constexpr (Mu == 0) at.x = x + 1 == kX ? 0 : x + 1;
    if constexpr (Mu == 1) at.y = y + 1 == kY ? 0 : y + 1;
    if constexpr (Mu == 2) at.z = z + 1 == kZ ? 0 : z + 1;
    if constexpr (Mu == 3) at.t = t + 1 == kT ? 0 : t + 1;
    return at;
  }

  template <int Mu>
  __device__ Site behind() const {
    Site at = *this;
    if constexpr (Mu == 0) at.x = x == 0 ? kX - 1 : x - 1;
    if constexpr (Mu == 1) at.y = y == 0 ? kY - 1 : y - 1;
    if constexpr (Mu == 2) at.z = z == 0 ? kZ - 1 : z - 1;
    if constexpr (Mu == 3) at.t = t == 0 ? kT - 1 : t - 1;
    return at;
  }
};

__device__ inline Element load(const Chunk* from, int site) {
  Real value[kChunks * kLanes];
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    const Chunk chunk = from[static_cast<long long>(c) * kVolume + site];
#pragma unroll
    for (int l = 0; l < kLanes; ++l) value[c * kLanes + l] = chunk.value[l];
  }
  Element a;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kColors; ++j) {
      a.re[i][j] = value[2 * (i * kColors + j)];
      a.im[i][j] = value[2 * (i * kColors + j) + 1];
    }
  }
  complete(a);
  return a;
}

__device__ inline void store(Chunk* to, int site, const Element& a) {
  Real value[kChunks * kLanes];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kColors; ++j) {
      value[2 * (i * kColors + j)] = a.re[i][j];
      value[2 * (i * kColors + j) + 1] = a.im[i][j];
    }
  }
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    Chunk chunk;
#pragma unroll
    for (int l = 0; l < kLanes; ++l) chunk.value[l] = value[c * kLanes + l];
    to[static_cast<long long>(c) * kVolume + site] = chunk;
  }
}

__device__ inline const Chunk* links_of(const Chunk* links, int mu) {
  return links + static_cast<long long>(mu) * kChunks * kVolume;
}

__device__ inline Chunk* copy_of(Chunk* g, int copy) {
  return g + static_cast<long long>(copy) * kChunks * kVolume;
}

template <int Mu>
__device__ inline Element weighed(const Element& a) {
  return Mu == 3 && kTimeWeight != 1 ? scaled(a, Real(kTimeWeight)) : a;
}

template <int Mu>
__device__ inline void gather(LocalField& local, const Chunk* links, const Chunk* g, const Site& at,
                              int color) {
  if constexpr (Mu < kDirections) {
    const Chunk* u = links_of(links, Mu);
    const Site next = at.ahead<Mu>(), last = at.behind<Mu>();
    const Element ahead = load(u, at.number(color));
    local.gather(weighed<Mu>(group_product_adjoint(ahead, load(g, next.number(1 - color)))));
    const Element behind = load(u, last.number(1 - color));
    local.gather(weighed<Mu>(adjoint(group_product(load(g, last.number(1 - color)), behind))));
    gather<Mu + 1>(local, links, g, at, color);
  }
}

}  // namespace hardscape::gauge
