// Where the sites of a periodic lattice lie in vector registers.
//
// The lattice is cut into equal blocks, one a lane, and lane l of vector v is the site of block l
// at the local position that v stands for. A neighbour is the same lane of another vector, except
// across a block's face, where lanes rotate. Vectors are ordered by colour: sites of one colour
// have no neighbours among themselves, so they move at the same time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hardscape::gauge {

// Most directions of a lattice; two are the least.
inline constexpr int kMostDirections = 5;

// Extents in x, y, ... and, last, in t.
struct Extents {
  int directions = 0;
  std::array<int, kMostDirections> of{};

  int operator[](int mu) const { return of[mu]; }
  int& operator[](int mu) { return of[mu]; }
  int time() const { return directions - 1; }
  int slices() const { return of[directions - 1]; }
  // Of the slowest direction in space: z in four dimensions.
  int rows() const { return of[directions - 2]; }
  int row_volume() const { return slice_volume() / rows(); }
  int slice_volume() const {
    int volume = 1;
    for (int mu = 0; mu < directions - 1; ++mu) volume *= of[mu];
    return volume;
  }
  // As many, all the same.
  Extents all(int extent) const {
    Extents same{directions, {}};
    same.of.fill(extent);
    return same;
  }
};

// Number of the site so many steps ahead of another one, less than an extent behind it where they
// are negative; sites are numbered in the order t, ..., y, x.
inline int moved(const Extents& extent, int site, int mu, int steps) {
  int stride = 1;
  for (int nu = 0; nu < mu; ++nu) stride *= extent[nu];
  const int at = site / stride % extent[mu];
  return site + ((at + steps + extent[mu]) % extent[mu] - at) * stride;
}

// Which timeslices of a lattice are here: from `first` on, and `slices` there are in all. Those of
// a part have neighbours elsewhere, so that lanes are not cut in t. The same of the slowest
// direction in space, whose `rows` are all here where there are 0.
struct Window {
  int first, slices;
  bool part = false;
  int first_row = 0, rows = 0;
};

class Layout {
 public:
  // `directions` of x, y, ..., t connect sites: all, or all but t where each timeslice is by
  // itself. Colours are those of the whole lattice, and what lies across the faces of a window is
  // not a neighbour.
  Layout(const Extents& extent, int directions, int lanes)
      : Layout(extent, directions, lanes, {0, extent.slices()}) {}
  Layout(const Extents& extent, int directions, int lanes, const Window& window)
      : extent_(extent),
        window_(window),
        directions_(directions),
        colored_(window.slices % 2 == 0 ? extent.directions : directions),
        lanes_(lanes),
        grid_(split(extent, lanes, window)),
        local_(extent) {
    for (int mu = 0; mu < dimensions(); ++mu) local_[mu] /= grid_[mu];
    order();
    connect();
    number();
  }

  // Whether blocks exist for so many lanes: a cut direction needs blocks of even extent, so that a
  // vector has one colour.
  static bool fits(const Extents& extent, int lanes) {
    return fits(extent, lanes, {0, extent.slices()});
  }
  static bool fits(const Extents& extent, int lanes, const Window& window) {
    const Extents grid = split(extent, lanes, window);
    return grid.slice_volume() * grid.slices() == lanes;
  }

  int vectors() const { return static_cast<int>(position_.size()); }
  int colors() const { return static_cast<int>(first_.size()) - 1; }
  // Vectors first(c) up to first(c + 1) have colour c.
  int first(int color) const { return first_[color]; }
  // Of the lattice, and those of them that connect sites.
  int dimensions() const { return extent_.directions; }
  int directions() const { return directions_; }
  int time() const { return extent_.time(); }
  int slices() const { return extent_.slices(); }
  int slice_volume() const { return extent_.slice_volume(); }

  // Place of a link of vector v among all.
  std::size_t link(int v, int mu) const { return static_cast<std::size_t>(dimensions()) * v + mu; }
  // Vector of the neighbour of v, ahead in direction mu or in back(mu).
  int neighbor(int v, int direction) const { return neighbor_[2 * dimensions() * v + direction]; }
  int back(int mu) const { return dimensions() + mu; }
  // Its lanes, or null where they are in place.
  const std::int32_t* lanes_of(int v, int direction) const {
    return crosses_[2 * dimensions() * v + direction] ? &rotation_[direction * lanes_] : nullptr;
  }
  // Number of a site in the order t, ..., y, x.
  int site(int v, int lane) const { return first_site_[v] + ahead_[lane]; }
  // Its number in the whole lattice.
  int whole_site(int v, int lane) const {
    const int here = site(v, lane), volume = extent_.row_volume(), row = here / volume;
    const int t = row / extent_.rows(), at = row % extent_.rows();
    return (whole_slice(t) * whole_rows() + whole_row(at)) * volume + here % volume;
  }
  // Timeslices of a block, and the one of vector v.
  int local_slices() const { return local_.slices(); }
  int local_slice(int v) const { return position_[v] / local_.slice_volume(); }
  int slice(int v, int lane) const { return site(v, lane) / slice_volume(); }
  // Where a site is in direction mu, and its number among those that are there.
  int place(int v, int lane, int mu) const { return site(v, lane) / stride(mu) % extent_[mu]; }
  int number_there(int v, int lane, int mu) const {
    const int here = site(v, lane), step = stride(mu);
    return here / (step * extent_[mu]) * step + here % step;
  }
  // The same in the whole lattice, and how many there are.
  int whole_slice_of(int v, int lane) const { return whole_slice(slice(v, lane)); }
  int whole_slices() const { return window_.slices; }
  // Whether vector v lies at a side of a window: a copy of what moves elsewhere.
  bool rests(int v) const { return from_side(v) == 0; }
  // Whether it is copied elsewhere: next to those.
  bool borders(int v) const { return from_side(v) == 1; }

 private:
  int whole_slice(int t) const { return (window_.first + t) % window_.slices; }
  int whole_rows() const { return window_.rows ? window_.rows : extent_.rows(); }
  int whole_row(int at) const { return (window_.first_row + at) % whole_rows(); }

  int stride(int mu) const {
    int found = 1;
    for (int nu = 0; nu < mu; ++nu) found *= extent_[nu];
    return found;
  }

  // How far vector v is from the nearest side of a window.
  int from_side(int v) const {
    int least = extent_.slices() + extent_.rows();
    const auto look = [&](int at, int extent) { least = std::min({least, at, extent - 1 - at}); };
    if (window_.part) look(local_slice(v), local_slices());
    if (window_.rows) look(position_[v] / local_.row_volume() % local_.rows(), local_.rows());
    return least;
  }

  static Extents split(const Extents& extent, int lanes, const Window& window) {
    const int time = extent.time();
    const int cut = window.part ? time - 1 : time;  // highest direction that lanes may cut
    const int kept = window.rows ? time - 1 : -1;   // one that they may not cut either
    Extents grid = extent.all(1);
    for (int done = 1; done < lanes; done *= 2) {
      int best = -1;
      for (int mu = cut; mu >= 0; --mu) {  // time last: timeslices may rest one by one
        if (mu == kept || extent[mu] % (4 * grid[mu])) continue;
        if (best < 0 || best == time || extent[mu] / grid[mu] >= extent[best] / grid[best])
          best = mu;
      }
      if (best < 0) break;
      grid[best] *= 2;
    }
    return grid;
  }

  static Extents unpack(int index, const Extents& size) {
    Extents at = size;
    for (int mu = 0; mu < size.directions; ++mu) {
      at[mu] = index % size[mu];
      index /= size[mu];
    }
    return at;
  }

  static int pack(const Extents& at, const Extents& size) {
    int index = 0;
    for (int mu = size.directions - 1; mu >= 0; --mu) index = index * size[mu] + at[mu];
    return index;
  }

  int whole_extent(int mu) const {
    if (mu == time()) return window_.slices;
    return mu + 1 == time() ? whole_rows() : extent_[mu];
  }
  int whole_place(int mu, int at) const {
    if (mu == time()) return whole_slice(at);
    return mu + 1 == time() ? whole_row(at) : at;
  }

  // Cycles of odd length take three colours; so does then their product.
  int color(const Extents& at, int colors) const {
    int sum = 0;
    for (int mu = 0; mu < colored_; ++mu) {
      const int extent = whole_extent(mu), place = whole_place(mu, at[mu]);
      sum += extent % 2 && place == extent - 1 ? 2 : place % 2;
    }
    return sum % colors;
  }

  void order() {
    int colors = 2;
    for (int mu = 0; mu < colored_; ++mu) {
      colors = whole_extent(mu) % 2 ? 3 : colors;
    }
    const int count = local_.slice_volume() * local_.slices();
    place_.resize(count);
    for (int c = 0; c < colors; ++c) {
      first_.push_back(static_cast<int>(position_.size()));
      for (int i = 0; i < count; ++i) {
        if (color(unpack(i, local_), colors) != c) continue;
        place_[i] = static_cast<int>(position_.size());
        position_.push_back(i);
      }
    }
    first_.push_back(count);
  }

  void connect() {
    const int all = 2 * dimensions();
    rotation_.resize(all * lanes_);
    neighbor_.resize(all * position_.size());
    crosses_.resize(all * position_.size());
    for (int direction = 0; direction < all; ++direction) {
      const int mu = direction % dimensions(), step = direction < dimensions() ? 1 : -1;
      for (int lane = 0; lane < lanes_; ++lane) {
        Extents block = unpack(lane, grid_);
        block[mu] = (block[mu] + step + grid_[mu]) % grid_[mu];
        rotation_[direction * lanes_ + lane] = pack(block, grid_);
      }
      for (int v = 0; v < vectors(); ++v) {
        Extents at = unpack(position_[v], local_);
        at[mu] += step;
        const bool crosses = at[mu] < 0 || at[mu] == local_[mu];
        at[mu] = (at[mu] + local_[mu]) % local_[mu];
        neighbor_[all * v + direction] = place_[pack(at, local_)];
        crosses_[all * v + direction] = crosses && grid_[mu] > 1;
      }
    }
  }

  void number() {
    for (const int local : position_) first_site_.push_back(pack(unpack(local, local_), extent_));
    for (int lane = 0; lane < lanes_; ++lane) {
      Extents block = unpack(lane, grid_);
      for (int mu = 0; mu < dimensions(); ++mu) block[mu] *= local_[mu];
      ahead_.push_back(pack(block, extent_));
    }
  }

  Extents extent_;
  Window window_;
  int directions_;
  int colored_;  // directions that the colours alternate in: time, too, where it can, as on GPUs
  int lanes_;
  Extents grid_, local_;
  std::vector<int> position_;            // local position of a vector
  std::vector<int> place_;               // vector of a local position
  std::vector<int> first_site_, ahead_;  // site of a vector's first lane, and how far others are
  std::vector<int> first_;
  std::vector<std::int32_t> neighbor_, rotation_;
  std::vector<std::uint8_t> crosses_;
};

}  // namespace hardscape::gauge
