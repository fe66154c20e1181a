// Walks the blocks below a root by a Gray code over the mid spins, and lists what they may hold.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "ising/methods/exhaustive/block/block.hpp"
#include "ising/methods/exhaustive/nodes.hpp"
#include "ising/methods/exhaustive/pool.hpp"
#include "ising/methods/patience.hpp"
#include "native/wide.hpp"

namespace hardscape::ising {

using Longs = std::int64_t __attribute__((vector_size(64)));
constexpr int kMaxMid = 16;

struct Statistics {
  double blocks = 0, pruned = 0, opened = 0, candidates = 0;  // there may be more than 2^64 blocks
  bool complete = true;
};

template <int Limbs, class Code>
class BlockWalk : public Nodes<Limbs, Code> {
  using Base = Nodes<Limbs, Code>;

 public:
  using typename Base::Integer;

  // As that of Nodes.
  BlockWalk(const Shape& shape, const std::uint64_t* fields, const std::uint64_t* couplings,
            const std::uint64_t* offset, const std::int64_t* label, Code gauge)
      : Base(shape, fields, couplings, offset, label, gauge) {
    fill_tables();
  }

 protected:
  using Base::code_of, Base::coupling, Base::label_, Base::shape_;
  using typename Base::Node;

  // Where what is found goes, and whether blocks are skipped by bounds.
  struct Visit {
    bool prune;
    Pool<Limbs, Code>& pool;
    Statistics statistics;
  };

  struct Walk {
    Code code = 0;  // state as reported, low spins down: the least code of the block
    Code root_code = 0;
    Node root;
    std::uint64_t mid = 0;
    std::int64_t base = 0;  // fine energy of the mid spins
    Fields low_field{};     // fine, from root and mid
    Longs mid_field[2]{};   // fine, from root and mid
    std::uint64_t version = ~std::uint64_t{0};
    Code last_tie = 0;
    std::int64_t target = 0;  // threshold - energy, in fine units, slack included
    BlockValues block;
  };

  void enter_root(const Node& node, Code code, Walk& walk) const {
    walk.root = node;
    walk.root_code = code;
    walk.version = ~std::uint64_t{0};
    enter_mid(0, walk);
  }

  // Sets the mid spins to the bits of `mid`, from the root's fields.
  void enter_mid(std::uint64_t mid, Walk& walk) const {
    walk.mid = mid;
    walk.base = 0;
    walk.code = walk.root_code;
    for (int k = 0; k < shape_.mid; ++k) walk.code |= code_of(kLow + k, mid >> k & 1);
    for (int i = 0; i < kLow; ++i) {
      walk.low_field[i] = static_cast<std::int32_t>(rounded(walk.root.field[i], shape_.fine_shift));
    }
    for (int k = 0; k < shape_.mid; ++k) {
      walk.mid_field[k / 8][k % 8] = rounded(walk.root.field[kLow + k], shape_.fine_shift);
    }
    for (int k = 0; k < shape_.mid; ++k) {
      const int s = spin(mid, k);
      walk.base += s * walk.mid_field[k / 8][k % 8];  // spins below k are in the field already
      for (int i = 0; i < kLow; ++i) walk.low_field[i] += s * (low_row_[k][i] / 2);
      walk.mid_field[0] += s * (mid_row_[k][0] / 2);
      walk.mid_field[1] += s * (mid_row_[k][1] / 2);
    }
  }

  void walk_blocks(Walk& walk, Visit& visit) const {
    const std::uint64_t blocks = std::uint64_t{1} << shape_.mid;
    for (std::uint64_t i = 1;; ++i) {
      visit_block(walk, visit);
      if (i == blocks) break;
      flip(__builtin_ctzll(i), walk);
    }
    visit.statistics.blocks += blocks;
  }

  void flip(int k, Walk& walk) const {
    walk.mid ^= std::uint64_t{1} << k;
    walk.code ^= label_[kLow + k];
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

  void visit_block(Walk& walk, Visit& visit) const {
    Pool<Limbs, Code>& pool = visit.pool;
    if (walk.version != pool.version()) {
      walk.version = pool.version();
      walk.target = kFar;
      walk.last_tie = ~Code{0};
      if (pool.bounded()) {
        if (shape_.fine_shift == 0) walk.last_tie = pool.last_tie();
        walk.target =
            (pool.threshold() - walk.root.energy).shifted(shape_.fine_shift, kFar) + shape_.slack;
      }
    }
    // A block whose codes all come after the last tie has to beat the threshold strictly.
    const std::int64_t room = walk.target - walk.base - (walk.code > walk.last_tie);
    if (visit.prune) {
      const Fields magnitude = walk.low_field < 0 ? -walk.low_field : walk.low_field;
      std::int32_t sum = 0;
      for (int i = 0; i < 16; ++i) sum += magnitude[i];
      if (least_pairs_ - sum > room) {
        ++visit.statistics.pruned;
        return;
      }
    }
    const std::int16_t least =
        block_minimum(tables_, walk.low_field, shape_.filter_shift, walk.block);
    const std::int64_t cut = room >> shape_.filter_shift;
    if (least <= cut) {
      ++visit.statistics.opened;
      open_block(walk, static_cast<int>(std::min<std::int64_t>(cut, 32767)), visit);
    }
  }

 private:
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
        low_row_[k][i] =
            static_cast<std::int32_t>(2 * rounded(coupling(kLow + k, i), shape_.fine_shift));
      }
      for (int m = 0; m < shape_.mid; ++m) {
        if (m != k) {
          mid_row_[k][m / 8][m % 8] = 2 * rounded(coupling(kLow + k, kLow + m), shape_.fine_shift);
        }
      }
    }
  }

  void open_block(const Walk& walk, int cut, Visit& visit) const {
    Integer base = walk.root.energy;
    std::array<Integer, kLow> field;
    for (int i = 0; i < kLow; ++i) field[i] = walk.root.field[i];
    for (int k = 0; k < shape_.mid; ++k) {
      const bool minus = walk.mid >> k & 1;
      Integer own = walk.root.field[kLow + k];
      for (int m = 0; m < k; ++m) own += coupling(kLow + k, kLow + m).flipped(walk.mid >> m & 1);
      base += own.flipped(minus);
      for (int i = 0; i < kLow; ++i) field[i] += coupling(kLow + k, i).flipped(minus);
    }
    for (int x = 0; x < kStatesA; ++x) {
      if (walk.block.lowest[x] > cut) continue;
      Integer energy_x = base + exact_a_[x];
      Code state_x = walk.code;
      for (int i = 0; i < kSpinsA; ++i) {
        energy_x += field[i].flipped(spin(x, i) < 0);
        state_x |= code_of(i, spin(x, i) < 0);
      }
      for (int b = 0; b < kStatesB; ++b) {
        if (walk.block.at(tables_, x, b) > cut) continue;
        Integer energy = energy_x + exact_b_[b];
        Code state = state_x;
        for (int j = 0; j < kSpinsB; ++j) {
          energy += (field[kSpinsA + j] + exact_cross_[j][x]).flipped(spin(b, j) < 0);
          state |= code_of(kSpinsA + j, spin(b, j) < 0);
        }
        ++visit.statistics.candidates;
        visit.pool.offer(energy, state);
      }
    }
  }

  BlockTables tables_;
  std::int64_t least_pairs_ = 0;  // least pair energy inside a block, in fine units, rounded down
  std::array<Integer, kStatesA> exact_a_;
  std::array<Integer, kStatesB> exact_b_;
  std::array<std::array<Integer, kStatesA>, kSpinsB> exact_cross_;
  Fields low_row_[kMaxMid]{};    // twice the coupling of a mid spin to the low spins, fine units
  Longs mid_row_[kMaxMid][2]{};  // and to the other mid spins
};

}  // namespace hardscape::ising
