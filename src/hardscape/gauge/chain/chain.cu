// The Markov chain of the Wilson action on a GPU: what gauge/links/wilson.hpp does, with the same
// random numbers, one thread a link. A launch moves the links of one colour and direction, which do
// not see one another. Of a window those at its sides go to the GPUs that hold copies of them, too:
// staples reach around corners. The action's ends and anisotropy are those of gauge/ends/ends.hpp.
#include "gauge/chain/plaquettes.cuh"

using namespace hardscape;
using namespace hardscape::gauge;

namespace {

// Streams of a link and sweep, one a subgroup.
constexpr int kStreams = kColors > 3 ? kColors * (kColors - 1) / 2 : 4;

// Of plaquettes in a plane, in the action.
__device__ double weight(int slice, int mu, int nu) {
  if (mu == kTime || nu == kTime) return kXi;
  return outer(slice) ? 0.5 / kXi : 1 / kXi;
}

// Whether a link rests: no link leads out of the last timeslice of open ones, and some are fixed.
__device__ bool held(int slice, int mu) {
  const bool first = slice == 0, last = slice + 1 == kSlices;
  if (mu == kTime) return kEnds && last;
  return ((kFixed & 1) && first) || ((kFixed & 2) && last);
}

// U_nu(y+mu)^dagger U_mu(y)^dagger U_nu(y) at y = x-nu
__device__ Element staple_below(const Chunk* links, const Site& at, int mu, int nu) {
  const Site y = moved(at, nu, -1);
  const Element under = multiply(link(links, y, mu), link(links, moved(y, mu, 1), nu));
  return multiply(adjoint(under), link(links, y, nu));
}

// Puts a link into the windows left and right of one of `Slices` timeslices, in slice `t` there.
template <int Slices>
__device__ void store_in_rows(Chunk* left, Chunk* right, const Site& at, int color, int mu, int t,
                              const Element& u) {
  if constexpr (kLeft > 0) {
    const int first = at.z - kRim, last = at.z - (kRim + kOwnZ - kDeep);
    if (first < kDeep) {
      const int z = (kLeft - 1) * kDeep + first;
      store_link(left, mu, number_in_rows<Slices, kLeft>(at, color, t, z), u);
    }
    if (last >= 0) store_link(right, mu, number_in_rows<Slices, kRight>(at, color, t, last), u);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    chain_step(Chunk* links, Chunk* before, Chunk* after, const double* coupling,
               unsigned long long seed, long long number, int color, int mu, int first,
               long long origin, Chunk* left, Chunk* right, Chunk* left_before, Chunk* right_before,
               Chunk* left_after, Chunk* right_after) {
  const int place = blockIdx.x * kThreads + threadIdx.x;
  if (place >= kHalf) return;
  const Site at = Site::of(color, place);
  const int slice = wrapped(at.t + first, kSlices);
  if (at.rests() || held(slice, mu)) return;
  LinearLocal<kColors, Real> local;
#pragma unroll 1
  for (int nu = 0; nu < kDimensions; ++nu) {
    if (nu == mu) continue;
    local.gather(scaled(staple_above(links, at, mu, nu), weight(slice, mu, nu)));
    local.gather(scaled(staple_below(links, at, mu, nu), weight(slice, mu, nu)));
  }
  Element u = link(links, at, mu);
  local.begin(u);
  const auto stream =
      static_cast<unsigned long long>(number_in_whole(at, origin)) * kDimensions + mu;
  int subgroup = 0;
  for_subgroups<kColors>([&](int i, int j) {
    double strength;
    const Quaternion<double> best = local.best(u, i, j, strength);
    Quaternion<double> chosen = best;
    if constexpr (kHeat) {
      RandomStream random(seed, stream, kStreams * number + subgroup++);
      const double x = heatbath_cosine(*coupling * strength, random);
      chosen = around_identity(x, random);
    }
    const Quaternion<double> r = chosen * best;
    local.rotate(i, j, r);
    rotate_rows(u, i, j, r);
  });
  unitarize(u);
  store_link(links, mu, color * kHalf + place, u);
  if constexpr (kBefore > 0) {
    if (at.t == kHalo) {
      store_link(before, mu, number_in_slice<kBefore>(at, color, kBefore - 1), u);
      store_in_rows<kBefore>(left_before, right_before, at, color, mu, kBefore - 1, u);
    }
    if (at.t == kHalo + kOwn - 1) {
      store_link(after, mu, number_in_slice<kAfter>(at, color, 0), u);
      store_in_rows<kAfter>(left_after, right_after, at, color, mu, 0, u);
    }
    store_in_rows<kT>(left, right, at, color, mu, at.t, u);
  }
}

// A block a part of a slice that moves here; sums[slice][part] of what starts there.
extern "C" __global__ void __launch_bounds__(kThreads)
    chain_traces(const Chunk* __restrict__ links, double* __restrict__ sums, int first) {
  double total = 0;
  const int part = blockIdx.x % kShares;
  for (int i = part * kThreads + threadIdx.x; i < 2 * kPlane; i += kShares * kThreads) {
    Site at = Site::numbered(i);
    at.t = blockIdx.x / kShares + kHalo;
    total += traced(links, at, wrapped(at.t + first, kSlices));
  }
  total = together(total);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}
