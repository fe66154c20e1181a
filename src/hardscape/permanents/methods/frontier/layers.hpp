// All states of a frontier in the order of their numbers: values without keys.
//
// A layer is the set of the u-subsets of the columns in the frontier. A subset consists of a low
// and a high half; those with one high half are neighbors, in the order of their low halves:
//   number = offset[high] + low[low half],
// with two tables of 2^(width / 2) entries. What a row does to low halves is the same for all high
// halves and is found once a row, so the inner loop only reads, multiplies and adds.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace hardscape::permanents {

// Each instruction-set level has its own: nothing here may be merged by the linker.
namespace {

// Rows in their order: entries starts[k] to starts[k + 1] - 1 are those of row k.
struct Program {
  const std::int64_t* starts;
  const std::uint8_t* bits;
  const std::uint64_t* closed;
  std::size_t rows;

  std::uint64_t touched(std::size_t row) const {
    std::uint64_t mask = 0;
    for (auto e = starts[row]; e < starts[row + 1]; ++e) mask |= std::uint64_t{1} << bits[e];
    return mask;
  }
};

// Calls visit(subset) for the subsets of a mask in increasing order.
template <class Visit>
void for_subsets(std::uint64_t mask, Visit&& visit) {
  std::uint64_t subset = 0;
  do {
    visit(subset);
    subset = (subset - mask) & mask;
  } while (subset);
}

// Binomial coefficients of the widths of halves.
inline std::size_t choose(int n, int k) {
  if (k < 0 || k > n) return 0;
  unsigned __int128 result = 1;
  for (int i = 1; i <= k; ++i) result = result * static_cast<unsigned>(n - k + i) / i;
  return static_cast<std::size_t>(result);
}

class Layer {
 public:
  Layer(std::uint64_t mask, int used, int split, int width)
      : low_(std::size_t{1} << split), offset_(std::size_t{1} << (width - split)), used_(used) {
    low_mask_ = mask & ((std::uint64_t{1} << split) - 1);
    high_mask_ = mask >> split;
    const int low_width = std::popcount(low_mask_);
    lists_.resize(static_cast<std::size_t>(low_width) + 1);
    for_subsets(low_mask_, [&](std::uint64_t low) {
      auto& list = lists_[static_cast<std::size_t>(std::popcount(low))];
      low_[low] = static_cast<std::uint32_t>(list.size());
      list.push_back(static_cast<std::uint32_t>(low));
    });
    for_subsets(high_mask_, [&](std::uint64_t high) {
      offset_[high] = size_;
      const int rest = used - std::popcount(high);
      if (rest >= 0 && rest <= low_width) size_ += lists_[static_cast<std::size_t>(rest)].size();
    });
  }

  std::size_t size() const { return size_; }
  std::uint64_t low_mask() const { return low_mask_; }
  std::uint64_t high_mask() const { return high_mask_; }
  std::uint32_t low(std::uint64_t subset) const { return low_[subset]; }
  std::size_t offset(std::uint64_t high) const { return offset_[high]; }
  const std::vector<std::vector<std::uint32_t>>& lists() const { return lists_; }

  // The low halves of the subsets with a high half, or none.
  int rest(std::uint64_t high) const {
    const int rest = used_ - std::popcount(high);
    return rest < 0 || rest >= static_cast<int>(lists_.size()) ? -1 : rest;
  }

 private:
  std::uint64_t low_mask_, high_mask_;
  std::vector<std::uint32_t> low_;                 // place among those of as many columns
  std::vector<std::size_t> offset_;                // number of the first subset
  std::vector<std::vector<std::uint32_t>> lists_;  // low halves by their number of columns
  int used_;
  std::size_t size_ = 0;
};

// Where a subset comes from: place in the block of the new layer, and in that of the old one.
struct Move {
  std::uint32_t to, from;
};

// What a row does to low halves of each number of columns, if it takes the column `bit`, or, where
// that is 0, one of the high half.
inline std::vector<std::vector<Move>> moves(const Layer& now, const Layer& next,
                                            std::uint64_t closed, std::uint64_t bit) {
  std::vector<std::vector<Move>> result(next.lists().size());
  const std::uint64_t fresh = ~now.low_mask();
  for (std::size_t q = 0; q < result.size(); ++q) {
    const auto& list = next.lists()[q];
    for (std::size_t r = 0; r < list.size(); ++r) {
      const std::uint64_t low = (list[r] | closed) ^ bit;
      if (low & bit || low & fresh) continue;
      result[q].push_back({static_cast<std::uint32_t>(r), now.low(low)});
    }
  }
  return result;
}

// Takes a row. Gives false if it was stopped.
template <class Value, class Add>
bool take_row(const Program& p, std::size_t row, int split, const Layer& now, const Layer& next,
              const Value* __restrict source, Value* __restrict result, Add&& add,
              const volatile std::uint8_t* stopped) {
  const std::uint64_t half = (std::uint64_t{1} << split) - 1;
  const std::uint64_t closed_low = p.closed[row] & half, closed_high = p.closed[row] >> split;
  struct Entry {
    std::size_t number;
    std::uint64_t high;  // its bit, or 0
    std::size_t moves;
  };
  std::vector<Entry> entries;
  std::vector<std::vector<std::vector<Move>>> moved(1);
  bool high_ones = false;
  for (auto e = p.starts[row]; e < p.starts[row + 1]; ++e) {
    const std::uint64_t bit = std::uint64_t{1} << p.bits[e];
    const bool is_low = bit & half;
    entries.push_back({static_cast<std::size_t>(e), bit >> split, is_low ? moved.size() : 0});
    if (is_low) moved.push_back(moves(now, next, closed_low, bit));
    high_ones = high_ones || !is_low;
  }
  if (high_ones) moved[0] = moves(now, next, closed_low, 0);
  const bool still = closed_low == 0 && now.low_mask() == next.low_mask();
  bool going_on = true;
  for_subsets(next.high_mask(), [&](std::uint64_t high) {
    const int rest = next.rest(high);
    if (rest < 0 || !going_on) return;
    going_on = !*stopped;
    const auto q = static_cast<std::size_t>(rest);
    const std::size_t size = next.lists()[q].size();
    Value* __restrict block = result + next.offset(high);
    std::fill(block, block + size, Value{});
    for (const Entry& entry : entries) {
      const std::uint64_t before = (high | closed_high) ^ entry.high;
      if (before & entry.high || before & ~now.high_mask()) continue;
      const Value* __restrict from = source + now.offset(before);
      if (entry.high && still) {
        for (std::size_t r = 0; r < size; ++r) add(block[r], entry.number, from[r]);
      } else {
        for (const Move move : moved[entry.moves][q]) {
          add(block[move.to], entry.number, from[move.from]);
        }
      }
    }
  });
  return going_on;
}

// The layers of a program: columns in the frontier and how many of them are used, before each row.
struct Layers {
  explicit Layers(const Program& p) : masks(p.rows + 1), used(p.rows + 1) {
    std::uint64_t all = 0;
    for (std::size_t k = 0; k < p.rows; ++k) {
      const std::uint64_t full = masks[k] | p.touched(k);
      all |= full;
      masks[k + 1] = full & ~p.closed[k];
      used[k + 1] = used[k] + 1 - std::popcount(p.closed[k]);
      peak = std::max(peak, choose(std::popcount(masks[k + 1]), used[k + 1]));
    }
    width = static_cast<int>(std::bit_width(all));
    split = width / 2;
  }

  // Whether there are enough states to pay for the tables.
  bool numbered() const { return peak >= 512 && (std::size_t{1} << (width - split)) <= 4 * peak; }

  Layer layer(std::size_t row) const { return {masks[row], used[row], split, width}; }

  std::vector<std::uint64_t> masks;
  std::vector<int> used;
  std::size_t peak = 1;
  int width = 0, split = 0;
};

}  // namespace
}  // namespace hardscape::permanents
