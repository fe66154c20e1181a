// Transformations to start from. Random ones have the numbers of the CPU; `origin` is the number of
// the first site in the whole lattice.
#include "site.cuh"

using namespace hardscape;
using namespace hardscape::gauge;

// Matrices from the order of users' arrays to that of the kernels and back, by timeslices.
struct alignas(16) Complex {
  double re, im;
};

// A link as ten numbers tell it, where links are to be so but are stored in rows.
template <int N, class T>
__device__ Matrix<N, T> rounded(Matrix<N, T> a) {
  if constexpr (kRounded) round_to_ten(a);
  return a;
}

// from[t][z][y][x][matrix][row][column], timeslices `first` on; `to` has kMatrices a site.
extern "C" __global__ void __launch_bounds__(kThreads)
    gauge_put(Chunk* __restrict__ to, const Complex* __restrict__ from, int first, int slices) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= 2 * kPlane * kMatrices * slices) return;
  const Site at = Site::numbered(i / kMatrices + first * 2 * kPlane);
  const Complex* matrix = from + static_cast<long long>(i) * kColors * kColors;
  Element a;
  for (int j = 0; j < kRows; ++j) {
    for (int k = 0; k < kColors; ++k) {
      a.re[j][k] = Real(matrix[j * kColors + k].re);
      a.im[j][k] = Real(matrix[j * kColors + k].im);
    }
  }
  const int number = at.number(at.color());
  if constexpr (kMatrices == kDimensions) {
    store_link(to, i % kMatrices, number, rounded(a));
  } else {
    store(to, number, a);
  }
}

// The same back; what follows from other rows does so in double precision.
extern "C" __global__ void __launch_bounds__(kThreads)
    gauge_get(const Chunk* __restrict__ from, Complex* __restrict__ to, int first, int slices) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= 2 * kPlane * kMatrices * slices) return;
  const Site at = Site::numbered(i / kMatrices + first * 2 * kPlane);
  const int number = at.number(at.color());
  const Element stored =
      kMatrices == kDimensions ? load_link(from, i % kMatrices, number) : load(from, number);
  Matrix<kColors, double> a;
  for (int j = 0; j < kRows; ++j) {
    for (int k = 0; k < kColors; ++k) {
      a.re[j][k] = stored.re[j][k];
      a.im[j][k] = stored.im[j][k];
    }
  }
  Group<kColors>::complete(a);
  Complex* matrix = to + static_cast<long long>(i) * kColors * kColors;
  for (int j = 0; j < kColors; ++j) {
    for (int k = 0; k < kColors; ++k) {
      matrix[j * kColors + k] = Complex{a.re[j][k], a.im[j][k]};
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gauge_start(Chunk* __restrict__ all, const unsigned long long* __restrict__ seeds,
                long long origin) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= kVolume) return;
  const int color = i / kHalf;
  const Site at = Site::of(color, i % kHalf);
  if (at.rests()) return;
  RandomStream random(seeds[blockIdx.y], number_in_whole(at, origin), ~0ull);
  const auto a = random_element<kColors>(random);
  Element g;
  each_number([](Real& x, double y) { x = Real(y); }, g, a);
  unitarize(g);
  store(copy_of(all, blockIdx.y), i, g);
}

extern "C" __global__ void __launch_bounds__(kThreads) gauge_unit(Chunk* __restrict__ all) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < kVolume) store(copy_of(all, blockIdx.y), i, Element::identity());
}

// Brings the transformations back to the group.
extern "C" __global__ void __launch_bounds__(kThreads) gauge_project(Chunk* __restrict__ all) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= kVolume) return;
  Chunk* g = copy_of(all, blockIdx.y);
  Element a = load(g, i);
  unitarize(a);
  store(g, i, a);
}
