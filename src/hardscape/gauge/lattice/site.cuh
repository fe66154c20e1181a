// A site and its surroundings on a GPU. Constants of the instance, which stand before the source,
// give extents, group, gauge and precision.
//
// Sites are numbered colour by colour: even ones first, within a colour in the order t, z, y, x. Of
// a matrix only the rows that determine it are stored, in chunks of 16 bytes, 32 sites together, so
// that the threads of a warp read and write whole lines at addresses a constant apart:
// links[site / 32][mu][chunk][site % 32] and g[copy][site / 32][chunk][site % 32]. Of SU(3) in
// double precision ten numbers may be stored: see group/ten_numbers.hpp. Where links are paged,
// each 4 kB of them lie where a table says that stands before them: see sides/pages.py.
//
// Lattices of two and three dimensions have extents of 1 in z, or y and z; of five, z counts w too:
// kW blocks of kZ / kW. Mu is the number of a direction among the lattice's own, the last one t.
//
// The lattice may be a window in t of a larger one: kHalo timeslices at each side are then copies
// of what other GPUs move, and rest. So may the rows of a timeslice, what lies at one coordinate of
// the slowest direction in space: kRowHalo at each side of kAllRows. Colours are those of the
// larger lattice, where the first site has the parity kParity.
#pragma once

#include "gauge/group/ten_numbers.hpp"
#include "gauge/lattice/local.hpp"

namespace hardscape::gauge {

template <bool First, class A, class B>
struct Choice {
  using type = A;
};
template <class A, class B>
struct Choice<false, A, B> {
  using type = B;
};

using Real = Choice<kSingle, float, double>::type;

constexpr int kTime = kDimensions - 1;
constexpr int kInner = kZ / kW;  // extent in z alone
constexpr int kHalf = kX * kY * kZ * kT / 2;
constexpr int kVolume = 2 * kHalf;
constexpr int kRows = kRowsKept<kColors>;
constexpr int kLanes = 16 / sizeof(Real);
constexpr int kRowChunks = (2 * kRows * kColors + kLanes - 1) / kLanes;
constexpr int kTenChunks = 10 / kLanes;
constexpr int kChunks = kTen ? kTenChunks : kRowChunks;           // of a transformation
constexpr int kLinkChunks = kTenLinks ? kTenChunks : kRowChunks;  // of a link
// Chunks of a transformation.
constexpr long long kCopy = (kVolume + 31LL) / 32 * 32 * kChunks;
constexpr int kOwn = kT - 2 * kHalo;                  // timeslices that move here
constexpr int kPlane = kX * kY * kZ / 2;              // sites of a timeslice of one colour
constexpr int kDeep = kDimensions == 5 ? kInner : 1;  // extent of a row in z
constexpr int kRim = kRowHalo * kDeep;                // in z, at each side of what moves
constexpr int kOwnZ = kZ - 2 * kRim;
// Chunks of links are numbered in 32 bits where those suffice.
constexpr long long kAllLinks = (kVolume + 31LL) / 32 * 32 * kLinkChunks * kDimensions;
using Index = Choice<(kAllLinks < (1LL << 31)), unsigned, unsigned long long>::type;

struct alignas(16) Chunk {
  Real value[kLanes];
};

using Element = Matrix<kColors, Real>;
using LocalField = Choice<kAbelian, AbelianLocal<kColors, Real>, LinearLocal<kColors, Real>>::type;

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
    at.x = 2 * half + ((at.row() + color) & 1);
    return at;
  }

  // The site of a natural number.
  __device__ static Site numbered(int natural) {
    const int plane = natural / kX;
    return Site{natural % kX, plane % kY, plane / kY % kZ, plane / (kY * kZ)};
  }

  __device__ int color() const { return (x + row()) & 1; }

  // Of the parity of which its row in x begins, for colour 0.
  __device__ int row() const { return y + z + w() + t + kParity; }

  __device__ int w() const { return kW > 1 ? z / kInner : 0; }

  __device__ int natural() const { return ((t * kZ + z) * kY + y) * kX + x; }

  // Whether it is a copy of another GPU's.
  __device__ bool rests() const {
    if (kRim > 0 && (z < kRim || z >= kZ - kRim)) return true;
    return kHalo > 0 && (t == 0 || t + 1 == kT);
  }

  // Its natural number among those that do not rest.
  __device__ int own() const {
    if constexpr (kRim > 0) return (((t - kHalo) * kOwnZ + z - kRim) * kY + y) * kX + x;
    return natural() - kHalo * 2 * kPlane;
  }

  // Its number in the order of the arrays, for a site of this colour.
  __device__ int number(int color) const { return color * kHalf + natural() / 2; }

  // The same of the neighbours, which have the other colour; `here` is this site's place among its
  // own.
  template <int Mu>
  __device__ int ahead(int here) const {
    if constexpr (Mu == kTime) {
      return here + (t + 1 == kT ? 1 - kT : 1) * (kX / 2 * kY * kZ);
    } else if constexpr (Mu == 0) {
      return here + (x & 1 ? (x + 1 == kX ? 1 - kX / 2 : 1) : 0);
    } else if constexpr (Mu == 1) {
      return here + (y + 1 == kY ? 1 - kY : 1) * (kX / 2);
    } else if constexpr (Mu == 2) {
      return here + (z - w() * kInner + 1 == kInner ? 1 - kInner : 1) * (kX / 2 * kY);
    } else {
      return here + (w() + 1 == kW ? 1 - kW : 1) * (kX / 2 * kY * kInner);
    }
  }

  template <int Mu>
  __device__ int behind(int here) const {
    if constexpr (Mu == kTime) {
      return here - (t == 0 ? 1 - kT : 1) * (kX / 2 * kY * kZ);
    } else if constexpr (Mu == 0) {
      return here - (x & 1 ? 0 : (x == 0 ? 1 - kX / 2 : 1));
    } else if constexpr (Mu == 1) {
      return here - (y == 0 ? 1 - kY : 1) * (kX / 2);
    } else if constexpr (Mu == 2) {
      return here - (z - w() * kInner == 0 ? 1 - kInner : 1) * (kX / 2 * kY);
    } else {
      return here - (w() == 0 ? 1 - kW : 1) * (kX / 2 * kY * kInner);
    }
  }
};

// The natural number in the whole lattice, whose first site here has the number `origin`: 64 bits,
// as windows may be of more sites together than one GPU holds.
__device__ inline long long number_in_whole(const Site& at, long long origin) {
  constexpr long long kElsewhere =
      kRim > 0 ? (kAllRows * kDeep - kZ) * kY * kX : 0;  // of a timeslice
  return kHalo > 0 ? at.natural() + at.t * kElsewhere + origin : at.natural();
}

// Of paged links, chunks of a page; rows of 32 chunks that 32 sites have, and how many of them are
// never in two pages.
constexpr int kPage = 256;
constexpr int kLinkRows = kDimensions * kLinkChunks;
constexpr int kUnit = kLinkRows % 8 == 0 ? 8 : kLinkRows % 4 == 0 ? 4 : kLinkRows % 2 == 0 ? 2 : 1;

// A matrix of what read(0), read(1), ... bring, 16 bytes each: its rows or ten numbers.
template <int Chunks, class Read>
__device__ inline Element assembled(Read&& read) {
  Real value[Chunks * kLanes];
#pragma unroll
  for (int c = 0; c < Chunks; ++c) {
    const Chunk chunk = read(c);
#pragma unroll
    for (int l = 0; l < kLanes; ++l) value[c * kLanes + l] = chunk.value[l];
  }
  Element a;
  if constexpr (Chunks < kRowChunks) {
    from_ten(value, a);
  } else {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kColors; ++j) {
        a.re[i][j] = value[2 * (i * kColors + j)];
        a.im[i][j] = value[2 * (i * kColors + j) + 1];
      }
    }
  }
  Group<kColors>::complete(a);
  return a;
}

// A site's first one of so many chunks; the others follow 32 chunks apart.
template <int Chunks>
__device__ inline Index chunk_of(unsigned site) {
  constexpr Index kWide = Chunks;
  return kWide * site - (kWide - 1) * (site & 31);
}

template <int Chunks = kChunks>
__device__ inline Element load(const Chunk* from) {
  return assembled<Chunks>([&](int c) { return from[32 * c]; });
}

__device__ inline Element load(const Chunk* g, int site) {
  return load(g + chunk_of<kChunks>(site));
}

// Writes what is stored to to(0), to(1), ...
template <int Chunks, class To>
__device__ inline void store_to(To&& to, const Element& a) {
  Real value[Chunks * kLanes]{};
  if constexpr (Chunks < kRowChunks) {
    to_ten(a, value);
  } else {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kColors; ++j) {
        value[2 * (i * kColors + j)] = a.re[i][j];
        value[2 * (i * kColors + j) + 1] = a.im[i][j];
      }
    }
  }
#pragma unroll
  for (int c = 0; c < Chunks; ++c) {
    Chunk chunk;
#pragma unroll
    for (int l = 0; l < kLanes; ++l) chunk.value[l] = value[c * kLanes + l];
    *to(c) = chunk;
  }
}

template <int Chunks = kChunks>
__device__ inline void store(Chunk* to, const Element& a) {
  store_to<Chunks>([&](int c) { return to + 32 * c; }, a);
}

__device__ inline void store(Chunk* g, int site, const Element& a) {
  store(g + chunk_of<kChunks>(site), a);
}

// The first chunk of a link, where links are not paged; the others follow 32 chunks apart.
__device__ inline const Chunk* link_of(const Chunk* links, int mu, int site) {
  return links + chunk_of<kLinkRows>(site) + 32 * kLinkChunks * mu;
}

// Chunk `c` of a link.
__device__ inline const Chunk* chunk_of_link(const Chunk* links, int mu, unsigned site, int c) {
  const int row = mu * kLinkChunks + c;
  if constexpr (!kPaged) return links + chunk_of<kLinkRows>(site) + 32 * row;
  constexpr unsigned kUnits = kPage / 32 / kUnit;  // of a page
  const unsigned unit = site / 32 * (kLinkRows / kUnit) + row / kUnit;
  const Index page = __ldg(reinterpret_cast<const unsigned*>(links) + unit / kUnits);
  const Chunk* first = links + (page * kPage + unit % kUnits * kUnit * 32 + site % 32);
  return first + row % kUnit * 32;
}

__device__ inline Element load_link(const Chunk* links, int mu, int site) {
  return assembled<kLinkChunks>([&](int c) { return *chunk_of_link(links, mu, site, c); });
}

__device__ inline void store_link(Chunk* links, int mu, int site, const Element& u) {
  store_to<kLinkChunks>(
      [&](int c) { return const_cast<Chunk*>(chunk_of_link(links, mu, site, c)); }, u);
}

__device__ inline Chunk* copy_of(Chunk* g, int copy) { return g + copy * kCopy; }

// Adds a link in the gauge of its other end, or the adjoint, with its weight.
template <int Mu, bool kAdjoint>
__device__ inline void gather_weighed(LocalField& local, const Element& a) {
  if constexpr (Mu == kTime && kTimeWeight != 1) {
    local.gather(scaled(kAdjoint ? adjoint(a) : a, Real(kTimeWeight)));
  } else {
    local.template gather_element<kAdjoint>(a);
  }
}

// Links where they lie in device memory.
struct StoredLinks {
  const Chunk* links;

  template <int Mu>
  __device__ Element ahead(int site) const {
    return load_link(links, Mu, site);
  }
  template <int Mu>
  __device__ Element behind(int site) const {
    return load_link(links, Mu, site);
  }
};

// What is stored of g at a site, on its way.
struct Coming {
  Chunk chunk[kChunks];

  __device__ void from(const Chunk* g, int site) {
    const Chunk* first = g + chunk_of<kChunks>(site);
#pragma unroll
    for (int c = 0; c < kChunks; ++c) chunk[c] = first[32 * c];
  }
  __device__ Element come() const {
    return assembled<kChunks>([&](int c) { return chunk[c]; });
  }
};

// Neighbour number N (x ahead, x behind, y ahead, ...) and those after it; begins what is wanted
// besides with the first.
template <int N, class Links, class Besides>
__device__ inline void gather(LocalField& local, const Links& links, const Chunk* g, const Site& at,
                              int color, Besides&& besides) {
  constexpr int kMu = N / 2;
  const int here = at.natural() / 2, other = (1 - color) * kHalf;
  Coming coming;
  coming.from(g, other + (N % 2 ? at.behind<kMu>(here) : at.ahead<kMu>(here)));
  if constexpr (N == 0) besides();
  if constexpr (N % 2 == 0) {
    const Element ahead = links.template ahead<kMu>(color * kHalf + here);
    gather_weighed<kMu, false>(local, group_product_adjoint(ahead, coming.come()));
  } else {
    const Element behind = links.template behind<kMu>(other + at.behind<kMu>(here));
    gather_weighed<kMu, true>(local, group_product(coming.come(), behind));
  }
  if constexpr (N + 1 < 2 * kDirections) gather<N + 1>(local, links, g, at, color, besides);
}

// All of them.
template <class Links, class Besides>
__device__ inline void gather(LocalField& local, const Links& links, const Chunk* g, const Site& at,
                              int color, Besides&& besides) {
  gather<0>(local, links, g, at, color, besides);
}
template <class Links>
__device__ inline void gather(LocalField& local, const Links& links, const Chunk* g, const Site& at,
                              int color) {
  gather<0>(local, links, g, at, color, [] {});
}

}  // namespace hardscape::gauge
