// What is told of links in the order of users' arrays, and links in another gauge, on a GPU.
//
// Arrays run t, ..., y, x, mu, row, column, in two to five dimensions; all is computed in double.
#include "gauge/group/group.hpp"

using namespace hardscape::gauge;

template <bool First, class A, class B>
struct Choice {
  using type = A;
};
template <class A, class B>
struct Choice<false, A, B> {
  using type = B;
};

using Real = Choice<kSingle, float, double>::type;
using Element = Matrix<kColors, double>;

template <class T>
struct alignas(2 * sizeof(T)) Complex {
  T re, im;
};
using Link = Complex<Real>;

constexpr int kTime = kDimensions - 1;

// Extents in x, y, ..., t.
struct Shape {
  int of[5];

  __device__ int slice() const {
    int sites = 1;
    for (int mu = 0; mu < kTime; ++mu) sites *= of[mu];
    return sites;
  }

  // The site one step ahead of another one, or behind it.
  __device__ int next(int site, int mu, int step) const {
    int stride = 1;
    for (int nu = 0; nu < mu; ++nu) stride *= of[nu];
    const int at = site / stride % of[mu];
    return site + ((at + step + of[mu]) % of[mu] - at) * stride;
  }
};

template <class T>
__device__ Element get(const Complex<T>* from, long long place) {
  Element a;
  for (int i = 0; i < kColors; ++i) {
    for (int j = 0; j < kColors; ++j) {
      const Complex<T> x = from[place * kColors * kColors + i * kColors + j];
      a.re[i][j] = x.re;
      a.im[i][j] = x.im;
    }
  }
  return a;
}

__device__ Element link(const Link* links, int site, int mu) {
  return get(links, static_cast<long long>(site) * kDimensions + mu);
}

// The sum of what a block's threads have, in one order; for thread 0.
__device__ double summed(double value) {
  __shared__ double shared[kThreads];
  __syncthreads();
  shared[threadIdx.x] = value;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  return shared[0];
}

// The larger of two numbers; a NaN comes through.
__device__ double larger(double a, double b) { return b <= a || a != a ? a : b; }

// The largest that a block's threads have; for thread 0.
__device__ double largest(double value) {
  __shared__ double shared[kThreads];
  __syncthreads();
  shared[threadIdx.x] = value;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    shared[threadIdx.x] = larger(shared[threadIdx.x], shared[threadIdx.x + half]);
  }
  return shared[0];
}

// U'_mu(x) = g(x) U_mu(x) g(x+mu)^dagger
extern "C" __global__ void __launch_bounds__(kThreads)
    fixed_transform(const Link* __restrict__ links, const Complex<double>* __restrict__ g,
                    Link* __restrict__ turned, int x, int y, int z, int w, int t, int sites) {
  const Shape shape{{x, y, z, w, t}};
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const int site = i / kDimensions, mu = i % kDimensions;
  if (site >= sites) return;
  const Element left = multiply(get(g, site), link(links, site, mu));
  const Element found = multiply_adjoint(left, get(g, shape.next(site, mu, 1)));
  Link* to = turned + static_cast<long long>(i) * kColors * kColors;
  for (int j = 0; j < kColors; ++j) {
    for (int k = 0; k < kColors; ++k) {
      to[j * kColors + k] = Link{Real(found.re[j][k]), Real(found.im[j][k])};
    }
  }
}

// The part of a link ahead or behind in the functional of a site, and in its Delta, added.
__device__ double told(const Element& u, bool ahead, double weight, Element& delta) {
  double total = 0;
  for (int a = 0; a < kColors; ++a) {
    total += weight * (kAbelian ? u.re[a][a] * u.re[a][a] + u.im[a][a] * u.im[a][a] : u.re[a][a]);
    for (int b = 0; b < kColors; ++b) {
      if constexpr (kAbelian) {
        // V = U, or U^dagger of a link behind: V_ab conj(V_bb) - V_aa conj(V_ba)
        const double sign = ahead ? 1 : -1;
        const double ab_re = ahead ? u.re[a][b] : u.re[b][a];
        const double ab_im = ahead ? u.im[a][b] : -u.im[b][a];
        const double ba_re = ahead ? u.re[b][a] : u.re[a][b];
        const double ba_im = ahead ? u.im[b][a] : -u.im[a][b];
        const double aa_re = u.re[a][a], aa_im = sign * u.im[a][a];
        const double bb_re = u.re[b][b], bb_im = sign * u.im[b][b];
        delta.re[a][b] += weight * (ab_re * bb_re + ab_im * bb_im - aa_re * ba_re - aa_im * ba_im);
        delta.im[a][b] += weight * (ab_im * bb_re - ab_re * bb_im - aa_im * ba_re + aa_re * ba_im);
      } else {
        const double sign = ahead ? weight : -weight;
        delta.re[a][b] += sign * (u.re[a][b] - u.re[b][a]);
        delta.im[a][b] += sign * (u.im[a][b] + u.im[b][a]);
      }
    }
  }
  return total;
}

// Blocks (part, slice); sums[slice][part]: functional from both ends, theta, the largest theta.
extern "C" __global__ void __launch_bounds__(kThreads)
    fixed_conditions(const Link* __restrict__ links, const double* __restrict__ weights,
                     double* __restrict__ sums, int x, int y, int z, int w, int t) {
  const Shape shape{{x, y, z, w, t}};
  const int slice = shape.slice();
  double functional = 0, total = 0, most = 0;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < slice; i += gridDim.x * kThreads) {
    const int site = blockIdx.y * slice + i;
    Element delta{};
    for (int mu = 0; mu < kDirections; ++mu) {
      functional += told(link(links, site, mu), true, weights[mu], delta);
      functional += told(link(links, shape.next(site, mu, -1), mu), false, weights[mu], delta);
    }
    double trace = 0, theta = 0;
    for (int a = 0; a < kColors; ++a) trace += kAbelian ? 0 : delta.im[a][a] / kColors;
    for (int a = 0; a < kColors; ++a) {
      delta.im[a][a] -= trace;
      for (int b = 0; b < kColors; ++b) {
        theta += delta.re[a][b] * delta.re[a][b] + delta.im[a][b] * delta.im[a][b];
      }
    }
    theta /= kColors;
    total += theta;
    most = larger(most, theta);
  }
  double* sum = sums + 3 * (blockIdx.y * gridDim.x + blockIdx.x);
  functional = summed(functional);
  total = summed(total);
  most = largest(most);
  if (threadIdx.x != 0) return;
  sum[0] = functional;
  sum[1] = total;
  sum[2] = most;
}

// Blocks (part, slice); sums[slice][part][plane] of Re tr of the plaquettes that start there.
extern "C" __global__ void __launch_bounds__(kThreads)
    fixed_plaquettes(const Link* __restrict__ links, double* __restrict__ sums, int x, int y, int z,
                     int w, int t) {
  constexpr int kPlanes = kDimensions * (kDimensions - 1) / 2;
  const Shape shape{{x, y, z, w, t}};
  const int slice = shape.slice();
  double total[kPlanes]{};
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < slice; i += gridDim.x * kThreads) {
    const int site = blockIdx.y * slice + i;
    int plane = 0;
#pragma unroll
    for (int mu = 0; mu < kTime; ++mu) {
#pragma unroll
      for (int nu = mu + 1; nu < kDimensions; ++nu) {
        const Element up =
            multiply(link(links, site, mu), link(links, shape.next(site, mu, 1), nu));
        const Element over =
            multiply(link(links, site, nu), link(links, shape.next(site, nu, 1), mu));
        for (int a = 0; a < kColors; ++a) {
          for (int b = 0; b < kColors; ++b) {
            total[plane] += up.re[a][b] * over.re[a][b] + up.im[a][b] * over.im[a][b];
          }
        }
        ++plane;
      }
    }
  }
  double* sum = sums + kPlanes * (blockIdx.y * gridDim.x + blockIdx.x);
  for (int plane = 0; plane < kPlanes; ++plane) {
    const double found = summed(total[plane]);
    if (threadIdx.x == 0) sum[plane] = found;
  }
}

// The largest entry of |U U^dagger - 1| and |det U - 1|.
__device__ double distance(const Element& u) {
  const Element square = multiply_adjoint(u, u);
  double re = -1, im = 0;
  add_determinant(u, re, im);
  double most = sqrt(re * re + im * im);
  for (int a = 0; a < kColors; ++a) {
    for (int b = a; b < kColors; ++b) {
      const double x = square.re[a][b] - (a == b), y = square.im[a][b];
      most = larger(most, sqrt(x * x + y * y));
    }
  }
  return most;
}

// Whether a link at distance a and place i comes before another: farther, or the first of its like;
// none is as far as a NaN.
__device__ bool before(double a, long long i, double b, long long j) {
  if (a == b || (a != a && b != b)) return i < j;
  return a != a || a > b;
}

// Of each block the link farthest from the group, and its place.
extern "C" __global__ void __launch_bounds__(kThreads)
    fixed_distances(const Link* __restrict__ links, double* __restrict__ far,
                    long long* __restrict__ places, int, int, int, int, int, long long matrices) {
  double most = -1;
  long long place = matrices;
  for (long long i = blockIdx.x * kThreads + threadIdx.x; i < matrices;
       i += static_cast<long long>(gridDim.x) * kThreads) {
    const double here = distance(get(links, i));
    if (!before(here, i, most, place)) continue;
    most = here;
    place = i;
  }
  __shared__ double farther[kThreads];
  __shared__ long long where[kThreads];
  farther[threadIdx.x] = most;
  where[threadIdx.x] = place;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    const int other = threadIdx.x + half;
    if (!before(farther[other], where[other], farther[threadIdx.x], where[threadIdx.x])) continue;
    farther[threadIdx.x] = farther[other];
    where[threadIdx.x] = where[other];
  }
  if (threadIdx.x != 0) return;
  far[blockIdx.x] = farther[0];
  places[blockIdx.x] = where[0];
}
