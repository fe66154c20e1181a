// Dense matrices over GF(2), 64 columns a word, brought to reduced row echelon form by the method
// of four Russians: eight columns at a time, each row then takes one entry of a table of 256 sums
// of pivot rows (Arlazarov, Dinic, Kronrod, Faradzev 1970; Albrecht, Bard, Hart, ACM TOMS 37,
// 2010).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hardscape::xorsat {

using Word = std::uint64_t;

inline std::size_t words_for(std::size_t bits) { return (bits + 63) / 64; }

inline void add_row(Word* __restrict__ to, const Word* __restrict__ from, std::size_t words) {
  for (std::size_t w = 0; w < words; ++w) to[w] ^= from[w];
}

class BitMatrix {
 public:
  BitMatrix(std::size_t rows, std::size_t columns)
      : rows_(rows), columns_(columns), stride_(stride_of(columns)), bits_(rows * stride_) {}

  static std::size_t bytes(std::size_t rows, std::size_t columns) {
    return rows * stride_of(columns) * sizeof(Word);
  }

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::size_t stride() const { return stride_; }
  Word* row(std::size_t r) { return bits_.data() + r * stride_; }
  const Word* row(std::size_t r) const { return bits_.data() + r * stride_; }
  bool get(std::size_t r, std::size_t c) const { return row(r)[c / 64] >> (c % 64) & 1; }
  void flip(std::size_t r, std::size_t c) { row(r)[c / 64] ^= Word{1} << (c % 64); }

 private:
  static std::size_t stride_of(std::size_t columns) {
    return std::max<std::size_t>(words_for(columns), 1);
  }

  std::size_t rows_, columns_, stride_;
  std::vector<Word> bits_;
};

// Reduces the first `columns` columns of `a`; those behind them are right-hand sides. Returns the
// pivot columns, ascending: row r holds the only 1 of pivot column r, and rows from the rank on are
// 0 in the reduced columns. `poll` is called now and then and may throw to stop.
template <class Poll>
std::vector<std::size_t> reduce(BitMatrix& a, std::size_t columns, Poll&& poll) {
  constexpr std::size_t kStrip = 8;
  std::vector<std::size_t> pivots;
  std::vector<Word> table;
  for (std::size_t begin = 0; begin < columns && pivots.size() < a.rows(); begin += kStrip) {
    const std::size_t top = pivots.size();
    const std::size_t first = begin / 64, words = a.stride() - first;
    const unsigned shift = begin % 64;
    const Word inside = columns - begin < kStrip ? (Word{1} << (columns - begin)) - 1 : 0xff;
    const auto strip = [&](std::size_t r) { return a.row(r)[first] >> shift & inside; };

    // Pivot rows of this strip: sum with those found before, in the strip alone until one is new.
    std::size_t count = 0;
    unsigned pivot_bit[kStrip];
    Word pivot_strip[kStrip];
    const std::size_t most = columns - begin < kStrip ? columns - begin : kStrip;
    for (std::size_t r = top; r < a.rows() && count < most; ++r) {
      Word value = strip(r);
      unsigned used = 0;
      for (std::size_t p = 0; p < count; ++p) {
        if (value >> pivot_bit[p] & 1) {
          value ^= pivot_strip[p];
          used |= 1u << p;
        }
      }
      if (!value) continue;
      for (std::size_t p = 0; p < count; ++p) {
        if (used >> p & 1) add_row(a.row(r) + first, a.row(top + p) + first, words);
      }
      const auto bit = static_cast<unsigned>(__builtin_ctzll(value));
      for (std::size_t p = 0; p < count; ++p) {
        if (pivot_strip[p] >> bit & 1) {
          pivot_strip[p] ^= value;
          add_row(a.row(top + p) + first, a.row(r) + first, words);
        }
      }
      if (r != top + count) std::swap_ranges(a.row(r), a.row(r) + a.stride(), a.row(top + count));
      pivot_bit[count] = bit;
      pivot_strip[count++] = value;
    }
    if (!count) continue;

    // Sums of pivot rows, each one addition from an earlier one.
    table.assign(words << count, 0);
    for (std::size_t i = 1; i < std::size_t{1} << count; ++i) {
      const auto low = static_cast<std::size_t>(__builtin_ctzll(i));
      const Word* rest = table.data() + (i & (i - 1)) * words;
      std::copy(rest, rest + words, table.data() + i * words);
      add_row(table.data() + i * words, a.row(top + low) + first, words);
    }
    std::uint8_t entry_of[256] = {};
    for (unsigned value = 0; value < 256; ++value) {
      for (std::size_t p = 0; p < count; ++p) entry_of[value] |= (value >> pivot_bit[p] & 1) << p;
    }
    for (std::size_t r = 0; r < a.rows(); ++r) {
      if (r == top) r += count;
      if (r >= a.rows()) break;
      const std::size_t entry = entry_of[strip(r)];
      if (entry) add_row(a.row(r) + first, table.data() + entry * words, words);
    }
    // Ascending columns within the strip.
    for (std::size_t p = 0; p < count; ++p) {
      const auto least =
          static_cast<std::size_t>(std::min_element(pivot_bit + p, pivot_bit + count) - pivot_bit);
      if (least != p) {
        std::swap(pivot_bit[p], pivot_bit[least]);
        std::swap_ranges(a.row(top + p), a.row(top + p) + a.stride(), a.row(top + least));
      }
      pivots.push_back(begin + pivot_bit[p]);
    }
    poll();
  }
  return pivots;
}

}  // namespace hardscape::xorsat
