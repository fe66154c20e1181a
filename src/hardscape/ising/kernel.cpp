// Exhaustive search for the lowest states of an Ising model on the CPU.
//
// Spins are renumbered by position: 14 low ones (a block), then `mid` ones walked by a Gray code, then
// the root ones, whose values number the units of work. Bit 0 is spin +1. Energies are exact integers;
// the walk itself is in `fine` integers (exact >> fine_shift) and the filter in 16 bits
// (fine >> filter_shift). `slack` bounds, in fine units, what the roundings can add up to, so that a
// block is skipped only when no state of it can be at or below the threshold: docs/theory/spectrum.md.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ising/block.hpp"
#include "ising/pool.hpp"
#include "native/arrays.hpp"
#include "native/wide.hpp"
#include "native/widths.hpp"

namespace hardscape::ising {
namespace {

using Longs = std::int64_t __attribute__((vector_size(64)));
constexpr int kMaxMid = 16;
constexpr std::int64_t kFar = std::int64_t{1} << 61;  // beyond any relative energy in fine units

struct Shape {
  int num_spins, mid, fine_shift, filter_shift;
  std::int64_t slack;
};

struct Statistics {
  std::uint64_t blocks = 0, pruned = 0, opened = 0, candidates = 0;
  bool complete = true;
};

template <int Limbs>
class Search {
 public:
  using Integer = Wide<Limbs>;

  // fields (N, limbs) and couplings (N*N, limbs) by position; label[p] is the bit of the spin at
  // position p in a reported state, flipped where `gauge` has that bit.
  Search(const Shape& shape, const std::uint64_t* fields, const std::uint64_t* couplings,
         const std::uint64_t* offset, const std::int64_t* label, std::uint64_t gauge)
      : shape_(shape), gauge_(gauge), offset_(Integer::load(offset)) {
    const int n = shape.num_spins;
    for (int p = 0; p < n; ++p) {
      fields_.push_back(Integer::load(fields + p * Limbs));
      label_.push_back(std::uint64_t{1} << label[p]);
      for (int q = 0; q < n; ++q) {
        couplings_.push_back(Integer::load(couplings + (static_cast<std::size_t>(p) * n + q) * Limbs));
      }
    }
    fill_tables();
  }

  Statistics run(std::uint64_t first, std::uint64_t last, bool prune, Pool<Limbs>& pool,
                 const volatile std::uint8_t* stop) const {
    Statistics statistics;
    Walk walk;
    for (std::uint64_t root = first; root < last; ++root) {
      if (*stop) {
        statistics.complete = false;
        break;
      }
      enter_root(root, walk);
      walk_blocks(walk, prune, pool, statistics, stop);
      if (!statistics.complete) break;
    }
    return statistics;
  }

  // Lists the blocks given by number (root bits above mid bits), as found by another device.
  Statistics open(const std::uint64_t* blocks, std::size_t count, Pool<Limbs>& pool) const {
    Statistics statistics;
    Walk walk;
    std::optional<std::uint64_t> root;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t top = blocks[i] >> shape_.mid;
      if (root != top) {
        enter_root(top, walk);
        root = top;
      }
      enter_mid(blocks[i] & ((std::uint64_t{1} << shape_.mid) - 1), walk);
      visit_block(walk, false, pool, statistics);
    }
    return statistics;
  }

 private:
  struct Walk {
    std::uint64_t state = 0;  // reported bits of the root spins
    Integer energy;           // of the root spins alone, offset included
    std::array<Integer, 64> field;  // exact, on each free spin, from the root
    std::uint64_t mid = 0;
    std::int64_t base = 0;      // fine energy of the mid spins
    Fields low_field{};         // fine, from root and mid
    Longs mid_field[2]{};       // fine, from root and mid
    std::uint64_t version = ~std::uint64_t{0};
    std::int64_t target = 0;  // threshold - energy, in fine units, slack included
    BlockValues block;
  };

  const Integer& coupling(int p, int q) const {
    return couplings_[static_cast<std::size_t>(p) * shape_.num_spins + q];
  }

  std::int64_t rounded(const Integer& x, int shift) const {
    if (shift == 0) return x.shifted(0, kFar);
    Integer half = Integer::zero();
    half.word[(shift - 1) / 64] = std::uint64_t{1} << ((shift - 1) % 64);
    return (x + half).shifted(shift, kFar);
  }

  void fill_tables() {
    const int coarse = shape_.fine_shift + shape_.filter_shift;
    const auto pair_energy = [&](int first, int count, std::uint64_t x) {
      Integer sum = Integer::zero();
      for (int i = 0; i < count; ++i) {
        for (int j = 0; j < i; ++j) {
          sum += coupling(first + i, first + j).flipped(spin(x, i) != spin(x, j));
        }
      }
      return sum;
    };
    for (int x = 0; x < kStatesA; ++x) {
      exact_a_[x] = pair_energy(0, kSpinsA, x);
      tables_.pairs_a[x] = static_cast<std::int16_t>(rounded(exact_a_[x], coarse));
      for (int j = 0; j < kSpinsB; ++j) {
        Integer sum = Integer::zero();
        for (int i = 0; i < kSpinsA; ++i) sum += coupling(i, kSpinsA + j).flipped(spin(x, i) < 0);
        exact_cross_[j][x] = sum;
      }
    }
    std::optional<Integer> least;
    for (int b = 0; b < kStatesB; ++b) {
      exact_b_[b] = pair_energy(kSpinsA, kSpinsB, b);
      tables_.pairs_b[b] = static_cast<std::int32_t>(rounded(exact_b_[b], coarse));
      for (int x = 0; x < kStatesA; ++x) {
        Integer cross = Integer::zero();
        for (int j = 0; j < kSpinsB; ++j) cross += exact_cross_[j][x].flipped(spin(b, j) < 0);
        if (b < kStatesB / 2) {
          tables_.cross[b][x] = static_cast<std::int16_t>(rounded(cross, coarse));
        }
        const Integer energy = exact_a_[x] + exact_b_[b] + cross;
        if (!least || energy < *least) least = energy;
      }
    }
    least_pairs_ = least->shifted(shape_.fine_shift, kFar);
    for (int k = 0; k < shape_.mid; ++k) {
      for (int i = 0; i < kLow; ++i) {
        low_row_[k][i] = static_cast<std::int32_t>(2 * rounded(coupling(kLow + k, i), shape_.fine_shift));
      }
      for (int m = 0; m < shape_.mid; ++m) {
        if (m != k) {
          mid_row_[k][m / 8][m % 8] =
              2 * rounded(coupling(kLow + k, kLow + m), shape_.fine_shift);
        }
      }
    }
  }

  void enter_root(std::uint64_t root, Walk& walk) const {
    const int above = kLow + shape_.mid;
    walk.energy = offset_;
    walk.state = 0;
    for (int p = 0; p < above; ++p) walk.field[p] = fields_[p];
    for (int p = above; p < shape_.num_spins; ++p) {
      const bool minus = root >> (p - above) & 1;
      if (!minus) walk.state |= label_[p];
      Integer field = fields_[p];
      for (int q = above; q < p; ++q) {
        field += coupling(p, q).flipped(root >> (q - above) & 1);
      }
      walk.energy += field.flipped(minus);
      for (int q = 0; q < above; ++q) walk.field[q] += coupling(p, q).flipped(minus);
    }
    walk.version = ~std::uint64_t{0};
    enter_mid(0, walk);
  }

  // Sets the mid spins to the bits of `mid`, from the root's fields.
  void enter_mid(std::uint64_t mid, Walk& walk) const {
    walk.mid = mid;
    walk.base = 0;
    for (int i = 0; i < kLow; ++i) {
      walk.low_field[i] = static_cast<std::int32_t>(rounded(walk.field[i], shape_.fine_shift));
    }
    for (int k = 0; k < shape_.mid; ++k) {
      walk.mid_field[k / 8][k % 8] = rounded(walk.field[kLow + k], shape_.fine_shift);
    }
    for (int k = 0; k < shape_.mid; ++k) {
      const int s = spin(mid, k);
      walk.base += s * walk.mid_field[k / 8][k % 8];  // spins below k are in the field already
      for (int i = 0; i < kLow; ++i) walk.low_field[i] += s * (low_row_[k][i] / 2);
      walk.mid_field[0] += s * (mid_row_[k][0] / 2);
      walk.mid_field[1] += s * (mid_row_[k][1] / 2);
    }
  }

  void walk_blocks(Walk& walk, bool prune, Pool<Limbs>& pool, Statistics& statistics,
                   const volatile std::uint8_t* stop) const {
    const std::uint64_t blocks = std::uint64_t{1} << shape_.mid;
    for (std::uint64_t i = 1;; ++i) {
      visit_block(walk, prune, pool, statistics);
      if (i == blocks) break;
      if ((i & 1023) == 0 && *stop) {
        statistics.complete = false;
        break;
      }
      flip(__builtin_ctzll(i), walk);
    }
    statistics.blocks += blocks;
  }

  void flip(int k, Walk& walk) const {
    walk.mid ^= std::uint64_t{1} << k;
    const bool minus = walk.mid >> k & 1;
    const std::int64_t twice = 2 * walk.mid_field[k / 8][k % 8];
    if (minus) {
      walk.base -= twice;
      walk.low_field -= low_row_[k];
      walk.mid_field[0] -= mid_row_[k][0];
      walk.mid_field[1] -= mid_row_[k][1];
    } else {
      walk.base += twice;
      walk.low_field += low_row_[k];
      walk.mid_field[0] += mid_row_[k][0];
      walk.mid_field[1] += mid_row_[k][1];
    }
  }

  void visit_block(Walk& walk, bool prune, Pool<Limbs>& pool, Statistics& statistics) const {
    if (walk.version != pool.version()) {
      walk.version = pool.version();
      walk.target = kFar;
      if (pool.bounded()) {
        walk.target = (pool.threshold() - walk.energy).shifted(shape_.fine_shift, kFar) + shape_.slack;
      }
    }
    const std::int64_t room = walk.target - walk.base;
    if (prune) {
      const Fields magnitude = walk.low_field < 0 ? -walk.low_field : walk.low_field;
      std::int32_t sum = 0;
      for (int i = 0; i < 16; ++i) sum += magnitude[i];
      if (least_pairs_ - sum > room) {
        ++statistics.pruned;
        return;
      }
    }
    alignas(64) std::int16_t field[16];
    const Fields half = Fields{} + (shape_.filter_shift ? 1 << (shape_.filter_shift - 1) : 0);
    const Fields scaled = (walk.low_field + half) >> shape_.filter_shift;
    for (int i = 0; i < kLow; ++i) field[i] = static_cast<std::int16_t>(scaled[i]);
    block_fields(tables_, field, walk.block);
    const std::int16_t least = block_minimum(tables_, walk.block);
    const std::int64_t cut = room >> shape_.filter_shift;
    if (least <= cut) {
      ++statistics.opened;
      open_block(walk, static_cast<int>(std::min<std::int64_t>(cut, 32767)), pool, statistics);
    }
  }

  void open_block(Walk& walk, int cut, Pool<Limbs>& pool, Statistics& statistics) const {
    std::uint64_t upper = walk.state;
    Integer base = walk.energy;
    std::array<Integer, kLow> field;
    for (int i = 0; i < kLow; ++i) field[i] = walk.field[i];
    for (int k = 0; k < shape_.mid; ++k) {
      const bool minus = walk.mid >> k & 1;
      if (!minus) upper |= label_[kLow + k];
      Integer own = walk.field[kLow + k];
      for (int m = 0; m < k; ++m) own += coupling(kLow + k, kLow + m).flipped(walk.mid >> m & 1);
      base += own.flipped(minus);
      for (int i = 0; i < kLow; ++i) field[i] += coupling(kLow + k, i).flipped(minus);
    }
    for (int x = 0; x < kStatesA; ++x) {
      if (walk.block.lowest[x] > cut) continue;
      Integer energy_x = base + exact_a_[x];
      std::uint64_t state_x = upper;
      for (int i = 0; i < kSpinsA; ++i) {
        energy_x += field[i].flipped(spin(x, i) < 0);
        if (spin(x, i) > 0) state_x |= label_[i];
      }
      for (int b = 0; b < kStatesB; ++b) {
        if (walk.block.at(tables_, x, b) > cut) continue;
        Integer energy = energy_x + exact_b_[b];
        std::uint64_t state = state_x;
        for (int j = 0; j < kSpinsB; ++j) {
          energy += (field[kSpinsA + j] + exact_cross_[j][x]).flipped(spin(b, j) < 0);
          if (spin(b, j) > 0) state |= label_[kSpinsA + j];
        }
        ++statistics.candidates;
        pool.offer(energy, state ^ gauge_);
      }
    }
  }

  Shape shape_;
  std::uint64_t gauge_;
  Integer offset_;
  std::vector<Integer> fields_, couplings_;
  std::vector<std::uint64_t> label_;
  BlockTables tables_;
  std::int64_t least_pairs_ = 0;  // least pair energy inside a block, in fine units, rounded down
  std::array<Integer, kStatesA> exact_a_;
  std::array<Integer, kStatesB> exact_b_;
  std::array<std::array<Integer, kStatesA>, kSpinsB> exact_cross_;
  Fields low_row_[kMaxMid]{};    // twice the coupling of a mid spin to the low spins, fine units
  Longs mid_row_[kMaxMid][2]{};  // and to the other mid spins
};

// One search behind one Python class, whatever its width.
class AnySearch {
 public:
  virtual ~AnySearch() = default;
  virtual nb::object run(std::uint64_t first, std::uint64_t last, std::size_t wanted,
                         std::optional<Vector<std::uint64_t>> threshold,
                         std::optional<Vector<std::uint64_t>> window, bool prune,
                         Vector<std::uint8_t> stop) const = 0;
  virtual nb::object open(Vector<std::uint64_t> blocks, std::size_t wanted,
                          std::optional<Vector<std::uint64_t>> threshold,
                          std::optional<Vector<std::uint64_t>> window) const = 0;
};

template <int Limbs>
class SearchOf final : public AnySearch {
  using Integer = Wide<Limbs>;
  using Words = std::optional<Vector<std::uint64_t>>;

 public:
  template <class... Args>
  explicit SearchOf(Args&&... args) : search_(std::forward<Args>(args)...) {}

  nb::object run(std::uint64_t first, std::uint64_t last, std::size_t wanted, Words threshold,
                 Words window, bool prune, Vector<std::uint8_t> stop) const override {
    return collect(wanted, threshold, window,
                   [&](Pool<Limbs>& pool) { return search_.run(first, last, prune, pool, stop.data()); });
  }

  nb::object open(Vector<std::uint64_t> blocks, std::size_t wanted, Words threshold,
                  Words window) const override {
    return collect(wanted, threshold, window, [&](Pool<Limbs>& pool) {
      return search_.open(blocks.data(), blocks.shape(0), pool);
    });
  }

 private:
  static std::optional<Integer> integer(const Words& words) {
    if (!words) return std::nullopt;
    return Integer::load(words->data());
  }

  template <class Body>
  static nb::object collect(std::size_t wanted, const Words& threshold, const Words& window,
                            Body&& body) {
    std::vector<std::uint64_t> states, energies;
    Statistics statistics;
    {
      nb::gil_scoped_release release;
      Pool<Limbs> pool(wanted, integer(window), integer(threshold));
      statistics = body(pool);
      const auto sorted = pool.take_sorted();
      states.resize(sorted.size());
      energies.resize(sorted.size() * Limbs);
      for (std::size_t i = 0; i < sorted.size(); ++i) {
        states[i] = sorted[i].state;
        sorted[i].energy.store(energies.data() + i * Limbs);
      }
    }
    const std::size_t count = states.size();
    return nb::make_tuple(to_numpy(std::move(states), {count}),
                          to_numpy(std::move(energies), {count, Limbs}), statistics.complete,
                          statistics.blocks, statistics.pruned, statistics.opened,
                          statistics.candidates);
  }

  Search<Limbs> search_;
};

// The `wanted` lowest of two lists in spectral order.
nb::object merge_spectra(Vector<std::uint64_t> left_states, Matrix<std::uint64_t> left_energies,
                         Vector<std::uint64_t> right_states, Matrix<std::uint64_t> right_energies,
                         std::size_t wanted) {
  return for_width(left_energies.shape(1), [&]<int Limbs>() -> nb::object {
    const std::size_t lefts = left_states.shape(0), rights = right_states.shape(0);
    const std::size_t count = std::min(wanted, lefts + rights);
    std::vector<std::uint64_t> states(count), energies(count * Limbs);
    const auto at = [](const auto& words, const auto& codes, std::size_t i) {
      return Candidate<Limbs>{Wide<Limbs>::load(words.data() + i * Limbs), codes.data()[i]};
    };
    std::size_t i = 0, j = 0;
    for (std::size_t n = 0; n < count; ++n) {
      const bool take_left =
          j == rights || (i < lefts && !(at(right_energies, right_states, j) <
                                         at(left_energies, left_states, i)));
      const auto next = take_left ? at(left_energies, left_states, i++)
                                  : at(right_energies, right_states, j++);
      states[n] = next.state;
      next.energy.store(energies.data() + n * Limbs);
    }
    return nb::make_tuple(to_numpy(std::move(states), {count}),
                          to_numpy(std::move(energies), {count, Limbs}));
  });
}

std::unique_ptr<AnySearch> make_search(int mid, int fine_shift, int filter_shift,
                                       std::int64_t slack, Matrix<std::uint64_t> fields,
                                       Matrix<std::uint64_t> couplings, Vector<std::uint64_t> offset,
                                       Vector<std::int64_t> label, std::uint64_t gauge) {
  const Shape shape{static_cast<int>(label.shape(0)), mid, fine_shift, filter_shift, slack};
  return for_width(offset.shape(0), [&]<int Limbs>() -> std::unique_ptr<AnySearch> {
    return std::make_unique<SearchOf<Limbs>>(shape, fields.data(), couplings.data(), offset.data(),
                                             label.data(), gauge);
  });
}

}  // namespace

void bind_kernel(nb::module_& module) {
  module.attr("BLOCK_SPINS") = kLow;
  module.attr("MAX_MID_SPINS") = kMaxMid;
  nb::class_<AnySearch>(module, "SpectrumSearch")
      .def("run", &AnySearch::run, nb::arg("first"), nb::arg("last"), nb::arg("wanted"),
           nb::arg("threshold").none(), nb::arg("window").none(), nb::arg("prune"), nb::arg("stop"),
           "Search the roots first to last-1.")
      .def("open", &AnySearch::open, nb::arg("blocks"), nb::arg("wanted"),
           nb::arg("threshold").none(), nb::arg("window").none(), "List the blocks given by number.");
  module.def("merge_spectra", &merge_spectra, nb::arg("left_states"), nb::arg("left_energies"),
             nb::arg("right_states"), nb::arg("right_energies"), nb::arg("wanted"),
             "The lowest states of two lists, both in spectral order.");
  module.def("spectrum_search", &make_search, nb::arg("mid"),
             nb::arg("fine_shift"), nb::arg("filter_shift"), nb::arg("slack"), nb::arg("fields"),
             nb::arg("couplings"), nb::arg("offset"), nb::arg("label"), nb::arg("gauge"),
             "Prepare a search over the blocks of one model.");
}

}  // namespace hardscape::ising
