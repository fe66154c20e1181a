// The Faddeev-Popov operator of Landau gauge on many fields at once, and what a conjugate gradient
// needs beside it. Constants of the instance stand before the source: kColors, kX to kT, kThreads.
//
// Fields lie in memory as t, z, y, x, row, column, field, links as t, z, y, x, mu, row, column: as
// on the CPU. Threads of a warp hold the same site of fields that follow one another, so that they
// read fields side by side and a link together.
#include "gauge/ghost/site.hpp"

using namespace hardscape::gauge;

constexpr int kSize = kColors * kColors;
constexpr int kExtents[] = {kExtent0, kExtent1, kExtent2, kExtent3, kExtent4};
constexpr int kVolume = kExtent0 * kExtent1 * kExtent2 * kExtent3 * kExtent4;
constexpr int kSide = 32;  // fields beside one another in a block of sums

using Element = Matrix<kColors, double>;

// A matrix whose numbers lie `stride` apart.
__device__ inline Element load(const double2* from, int stride) {
  Element m;
#pragma unroll
  for (int i = 0; i < kSize; ++i) {
    const double2 number = __ldg(from + i * stride);
    m.re[i / kColors][i % kColors] = number.x;
    m.im[i / kColors][i % kColors] = number.y;
  }
  return m;
}

struct Neighbours {
  int ahead, behind;
};

__device__ constexpr int stride_of(int mu) {
  int stride = 1;
  for (int nu = 0; nu < mu; ++nu) stride *= kExtents[nu];
  return stride;
}

template <int Mu>
__device__ inline Neighbours neighbours(int site) {
  constexpr int kExtent = kExtents[Mu], kStride = stride_of(Mu);
  const int at = site / kStride % kExtent;
  return {site + (at + 1 == kExtent ? 1 - kExtent : 1) * kStride,
          site - (at == 0 ? 1 - kExtent : 1) * kStride};
}

template <int Mu>
__device__ inline Element link(const double2* links, int site) {
  const Element u = load(links + (1ll * kDimensions * site + Mu) * kSize, 1);
  return Mu + 1 == kDimensions && kTimeWeight != 1 ? scaled(u, double(kTimeWeight)) : u;
}

// Adds the links at a site's ends along Mu and on, and what its neighbours there bring.
template <int Mu>
__device__ inline void along(Element& sum, Element& middle, const double2* links,
                             const double2* from, int site, int fields) {
  if constexpr (Mu < kDimensions) {
    const Neighbours other = neighbours<Mu>(site);
    const auto field = [&](int place) {
      return load(from + static_cast<long long>(place) * kSize * fields, fields);
    };
    Element u = link<Mu>(links, site);
    add(middle, u);
    add(middle, adjoint(u));
    add_neighbour(sum, u, field(other.ahead));
    u = adjoint(link<Mu>(links, other.behind));
    add(middle, u);
    add(middle, adjoint(u));
    add_neighbour(sum, u, field(other.behind));
    along<Mu + 1>(sum, middle, links, from, site, fields);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    ghost_operator(const double2* __restrict__ links, const double2* __restrict__ from,
                   double2* __restrict__ to, int fields) {
  const long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x;
  const int site = static_cast<int>(i / fields), field = static_cast<int>(i % fields);
  if (site >= kVolume) return;
  from += field;
  Element sum = Element::zero(), middle = Element::zero();
  along<0>(sum, middle, links, from, site, fields);
  const Element here = load(from + static_cast<long long>(site) * kSize * fields, fields);
  add_left(sum, middle, here, 0.25);
  add_right(sum, here, middle, 0.25);
  take_trace(sum);
  to += static_cast<long long>(site) * kSize * fields + field;
#pragma unroll
  for (int k = 0; k < kSize; ++k) {
    to[k * fields] = {sum.re[k / kColors][k % kColors], sum.im[k / kColors][k % kColors]};
  }
}

// Blocks (part, fields / 32); sums[part][field] of Re a^* b over the rows of a part.
extern "C" __global__ void __launch_bounds__(kThreads)
    ghost_products(const double2* __restrict__ a, const double2* __restrict__ b,
                   double* __restrict__ sums, int fields) {
  constexpr int kDeep = kThreads / kSide;
  const int field = blockIdx.y * kSide + threadIdx.x % kSide, first = threadIdx.x / kSide;
  double sum = 0;
  if (field < fields) {
    const int step = gridDim.x * kDeep;
#pragma unroll 4
    for (int row = blockIdx.x * kDeep + first; row < kVolume * kSize; row += step) {
      const double2 x = a[static_cast<long long>(row) * fields + field];
      const double2 y = b[static_cast<long long>(row) * fields + field];
      sum += x.x * y.x + x.y * y.y;
    }
  }
  __shared__ double shared[kDeep][kSide];
  shared[first][threadIdx.x % kSide] = sum;
  __syncthreads();
  if (first != 0 || field >= fields) return;
  for (int k = 1; k < kDeep; ++k) sum += shared[k][threadIdx.x];
  sums[blockIdx.x * fields + field] = sum;
}

// y = a x + b y, with numbers a and b for each field.
extern "C" __global__ void __launch_bounds__(kThreads)
    ghost_combine(double2* __restrict__ y, const double* __restrict__ a,
                  const double2* __restrict__ x, const double* __restrict__ b, int fields) {
  const long long all = static_cast<long long>(kVolume) * kSize * fields;
  const long long step = static_cast<long long>(gridDim.x) * kThreads;
  for (long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x; i < all;
       i += step) {
    const double p = a[i % fields], q = b[i % fields];
    const double2 from = x[i], to = y[i];
    y[i] = {p * from.x + q * to.x, p * from.y + q * to.y};
  }
}
