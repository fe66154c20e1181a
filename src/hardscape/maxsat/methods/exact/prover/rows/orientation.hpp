// Which literal of each variable clauses set, so that each clause sets one at most.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace hardscape::maxsat::rows {

// Clauses one behind another, and where each begins; they must live as long.
struct Flat {
  std::span<const std::int32_t> literals, offsets;

  std::size_t clauses() const { return offsets.size() - 1; }
  std::span<const std::int32_t> operator[](std::size_t c) const {
    return literals.subspan(offsets[c], offsets[c + 1] - offsets[c]);
  }
  std::size_t variables() const {
    std::int32_t largest = 0;
    for (const std::int32_t x : literals) largest = std::max(largest, std::abs(x));
    return largest;
  }
  // Twice a variable, and one more for a negation.
  static std::size_t code(std::int32_t x) { return 2 * std::abs(x) + (x < 0); }
};

// A variable has one literal that rules set and others read. Of a clause's literals at most one is
// set.
class Orientation {
 public:
  std::vector<std::int32_t> set;  // the literal of each variable, from 1, or 0

  // Variables that are barred have none.
  Orientation(const Flat& clauses, std::vector<std::uint8_t> barred)
      : set(barred.size()), clauses_(clauses), barred_(std::move(barred)) {
    index();
    usual();
  }

  // By their numbers: encoders give outputs later ones than what these are made of, so the last one
  // of a clause is set by the others, or refuted, and read by one literal alone.
  void number() {
    for (std::int32_t v = 1; v < static_cast<std::int32_t>(set.size()); ++v)
      set[v] = plain_[v] && !barred_[v] ? usual_[v] : 0;
    for (int round = 0; round < 2; ++round) {
      std::vector<std::int32_t> twice;
      for (std::size_t c = 0; c < clauses_.clauses(); ++c) {
        const auto sets = [&](std::int32_t x) { return set[std::abs(x)] == x; };
        if (std::ranges::count_if(clauses_[c], sets) < 2) continue;
        std::ranges::copy_if(clauses_[c], std::back_inserter(twice), sets);
      }
      for (const std::int32_t x : twice) set[std::abs(x)] = 0;
    }
  }

  // Whatever the numbers are: that a clause sets one at most is a condition on each two literals of
  // it, and choices are tried with all that follows.
  void choose() {
    std::size_t left = kWork * clauses_.literals.size();
    for (std::int32_t v = 1; v < static_cast<std::int32_t>(set.size()) && left > 0; ++v) {
      if (barred_[v] || set[v] != 0) continue;
      if (!attempt(usual_[v], left) && !attempt(-usual_[v], left)) barred_[v] = 1;
    }
  }

  // The clauses with a literal.
  std::span<const std::uint32_t> with(std::int32_t x) const {
    const std::size_t at = Flat::code(x);
    return {&held_[first_[at]], first_[at + 1] - first_[at]};
  }

 private:
  static constexpr std::size_t kWork = 20;  // for each literal of the formula

  void index() {
    first_.assign(2 * set.size() + 1, 0);
    for (const std::int32_t x : clauses_.literals) ++first_[Flat::code(x) + 1];
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    held_.resize(clauses_.literals.size() + 1);
    std::vector<std::uint32_t> at(first_);
    for (std::uint32_t c = 0; c < clauses_.clauses(); ++c)
      for (const std::int32_t x : clauses_[c]) held_[at[Flat::code(x)]++] = c;
  }

  void usual() {
    std::vector<std::array<std::uint8_t, 2>> last(set.size()), read(set.size());
    for (std::size_t c = 0; c < clauses_.clauses(); ++c) {
      std::int32_t largest = 0;
      for (const std::int32_t x : clauses_[c]) largest = std::max(largest, std::abs(x));
      for (const std::int32_t x : clauses_[c]) {
        if (std::abs(x) == largest) {
          last[largest][x > 0] = 1;
        } else {
          read[std::abs(x)][x < 0] = 1;
        }
      }
    }
    usual_.resize(set.size());
    plain_.resize(set.size());
    for (std::int32_t v = 1; v < static_cast<std::int32_t>(set.size()); ++v) {
      const bool positive = read[v][1] || (last[v][1] && !read[v][0]);
      usual_[v] = positive ? v : -v;
      plain_[v] = !(read[v][0] && read[v][1]) && last[v][positive];
    }
  }

  // Has a literal be set, with all that follows; false, and nothing is done, if that contradicts.
  bool attempt(std::int32_t x, std::size_t& left) {
    trail_.assign(1, x);
    set[std::abs(x)] = x;
    for (std::size_t i = 0; i < trail_.size(); ++i) {
      for (const std::uint32_t c : with(trail_[i])) {
        for (const std::int32_t y : clauses_[c]) {
          left -= left > 0;
          if (y == trail_[i] || barred_[std::abs(y)]) continue;
          std::int32_t& of = set[std::abs(y)];
          if (of == 0) {
            of = -y;
            trail_.push_back(-y);
          } else if (of == y || left == 0) {
            for (const std::int32_t z : trail_) set[std::abs(z)] = 0;
            return false;
          }
        }
      }
    }
    return true;
  }

  const Flat& clauses_;
  std::vector<std::uint8_t> barred_, plain_;
  std::vector<std::uint32_t> first_, held_;
  std::vector<std::int32_t> usual_, trail_;
};

}  // namespace hardscape::maxsat::rows
