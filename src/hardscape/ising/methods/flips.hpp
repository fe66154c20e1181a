// A model and a state of it under flips of one spin, for searches that prove nothing.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "native/arrays.hpp"
#include "native/random.hpp"

namespace hardscape::ising {

// Numbers of a model: 32-bit integers, or doubles with 64-bit move counts beside them.
template <class T>
struct Lane {
  using Count = std::int64_t;
};
template <>
struct Lane<std::int32_t> {
  using Count = std::int32_t;
};

template <class T>
constexpr int kLanes = 64 / sizeof(T);

template <class T>
struct VectorOf {
  using Type __attribute__((vector_size(64))) = T;
};

// An array of whole vectors, the last filled up with one value.
template <class T>
class Padded {
 public:
  using Vector = typename VectorOf<T>::Type;

  Padded(std::size_t size, T fill)
      : vectors_((size + kLanes<T> - 1) / kLanes<T>, Vector{} + fill) {}

  T& operator[](std::size_t i) { return data()[i]; }
  T operator[](std::size_t i) const { return data()[i]; }
  T* data() { return reinterpret_cast<T*>(vectors_.data()); }
  const T* data() const { return reinterpret_cast<const T*>(vectors_.data()); }
  Vector& vector(std::size_t v) { return vectors_[v]; }
  const Vector& vector(std::size_t v) const { return vectors_[v]; }
  std::size_t vectors() const { return vectors_.size(); }

 private:
  std::vector<Vector> vectors_;
};

// Fields and twice the couplings, as rows of a matrix or as lists of neighbours.
template <class T>
struct Model {
  int n;
  bool dense;
  std::vector<T> field;
  std::vector<std::int64_t> start;
  std::vector<std::int32_t> near;
  std::vector<T> twice;
  std::vector<Padded<T>> rows;

  Model(Vector<double> fields, Vector<std::int64_t> starts, Vector<std::int64_t> columns,
        Vector<double> values)
      : n(static_cast<int>(fields.shape(0))),
        dense(n <= 64 || 8 * columns.shape(0) > static_cast<std::size_t>(n) * n),
        start(starts.data(), starts.data() + n + 1) {
    for (int i = 0; i < n; ++i) field.push_back(static_cast<T>(fields.data()[i]));
    for (std::size_t k = 0; k < columns.shape(0); ++k) {
      near.push_back(static_cast<std::int32_t>(columns.data()[k]));
      twice.push_back(static_cast<T>(2 * values.data()[k]));
    }
    for (int i = 0; dense && i < n; ++i) {
      rows.emplace_back(n, T{0});
      for (auto k = start[i]; k < start[i + 1]; ++k) rows[i][near[k]] = twice[k];
    }
  }
};

template <class T>
struct Kept {
  T energy;
  std::vector<std::uint64_t> words;
};

// The lowest distinct states met.
template <class T>
class Lowest {
 public:
  explicit Lowest(std::size_t wanted)
      : wanted_(wanted), seen_(std::bit_ceil(4 * (2 * wanted + kSpare))) {}

  bool wants(T energy) const { return !full_ || energy < limit_; }

  // `hash` tells whether the state was offered lately: a search comes back to few low states often.
  void offer(T energy, const Padded<T>& spin, int n, std::uint64_t hash) {
    for (std::size_t at = hash;; ++at) {
      std::uint64_t& seen = seen_[at & (seen_.size() - 1)];
      if (seen == hash) return;
      if (seen == 0) {
        seen = hash;
        break;
      }
    }
    Kept<T> kept{energy, std::vector<std::uint64_t>(std::max((n + 63) / 64, 1))};
    for (int i = 0; i < n; ++i) {
      kept.words[i / 64] |= static_cast<std::uint64_t>(spin[i] > 0) << (i % 64);
    }
    kept_.push_back(std::move(kept));
    if (++offered_ >= 2 * wanted_ + kSpare) compact();
  }

  const std::vector<Kept<T>>& take() {
    compact();
    return kept_;
  }

 private:
  static constexpr std::size_t kSpare = 64;

  void compact() {
    offered_ = 0;
    std::fill(seen_.begin(), seen_.end(), 0);
    const auto by_state = [](const auto& a, const auto& b) { return a.words < b.words; };
    std::sort(kept_.begin(), kept_.end(), by_state);
    const auto same = [](const auto& a, const auto& b) { return a.words == b.words; };
    kept_.erase(std::unique(kept_.begin(), kept_.end(), same), kept_.end());
    if (kept_.size() < wanted_) return;
    const auto last = kept_.begin() + static_cast<std::ptrdiff_t>(wanted_ - 1);
    std::nth_element(kept_.begin(), last, kept_.end(), [](const auto& a, const auto& b) {
      return a.energy != b.energy ? a.energy < b.energy : a.words < b.words;
    });
    limit_ = last->energy;
    full_ = true;
    kept_.erase(last + 1, kept_.end());
  }

  std::size_t wanted_;
  bool full_ = false;
  T limit_{};
  std::vector<Kept<T>> kept_;
  std::size_t offered_ = 0;
  std::vector<std::uint64_t> seen_;  // hashes of those offered since the last cut; 0 is empty
};

// A state, what each flip lowers the energy by, and the lowest states met.
template <class T>
class State {
 public:
  using Vector = typename VectorOf<T>::Type;
  static constexpr T kNever = static_cast<T>(-(std::int64_t{1} << 30) * 2);

  // All spins up.
  State(const Model<T>& model, std::size_t wanted)
      : model(model), lowest(wanted), spin(model.n, T{1}), gain(model.n, kNever) {
    for (int i = 0; i < model.n; ++i) {
      T own = model.field[i];
      energy += model.field[i];
      for (auto k = model.start[i]; k < model.start[i + 1]; ++k) {
        own += model.twice[k] / 2;
        if (model.near[k] > i) energy += model.twice[k] / 2;
      }
      gain[i] = own;
    }
    meet();
  }

  void flip(int i) {
    const T own = gain[i], s = spin[i];
    energy -= 2 * own;
    if (model.dense) {
      const Padded<T>& row = model.rows[i];
      for (std::size_t v = 0; v < row.vectors(); ++v) {
        gain.vector(v) -= row.vector(v) * (spin.vector(v) * s);
      }
    } else {
      for (auto k = model.start[i]; k < model.start[i + 1]; ++k) {
        const int j = model.near[k];
        gain[j] -= model.twice[k] * (spin[j] * s);
      }
    }
    gain[i] = -own;
    spin[i] = -s;
    hash_ ^= mix64(static_cast<std::uint64_t>(i) + 1);
  }

  template <class Up>
  void go_to(Up&& up) {
    for (int i = 0; i < model.n; ++i) {
      if ((spin[i] > 0) != up(i)) flip(i);
    }
  }

  // Offers the state here to the lowest.
  void meet() {
    if (lowest.wants(energy)) lowest.offer(energy, spin, model.n, hash_);
  }

  const Model<T>& model;
  Lowest<T> lowest;
  Padded<T> spin;
  Padded<T> gain;  // a flip lowers the energy by twice this
  T energy{};

 private:
  static constexpr std::uint64_t kStart = 2;

  std::uint64_t hash_ = kStart;  // of the spins that are down
};

// Makes a run of the search that `searcher` makes of a model.
// States (k, words), whether all moves were made, and the moves.
template <class Searcher>
auto searched(Vector<double> fields, Vector<std::int64_t> starts, Vector<std::int64_t> columns,
              Vector<double> values, bool integers, Matrix<std::int8_t> given, std::int64_t moves,
              Searcher&& searcher) {
  const std::size_t width = std::max<std::size_t>((fields.shape(0) + 63) / 64, 1);
  std::vector<std::uint64_t> words;
  std::int64_t made = 0;
  const auto run = [&]<class T>(T) {
    const Model<T> model(fields, starts, columns, values);
    auto search = searcher(model);
    search.run(given);
    for (const auto& kept : search.lowest().take()) {
      words.insert(words.end(), kept.words.begin(), kept.words.end());
    }
    made = search.moves();
  };
  {
    nb::gil_scoped_release release;
    if (integers) {
      run(std::int32_t{});
    } else {
      run(double{});
    }
  }
  const std::size_t count = words.size() / width;
  return std::make_tuple(to_numpy(std::move(words), {count, width}), made >= moves, made);
}

// A state of an elite.
template <class T>
struct Elite {
  T energy;
  Padded<T> spin;
};

// The best states of searches, different ones, the lowest first.
template <class T>
class Elites {
 public:
  explicit Elites(int most) : most_(most) {}

  int size() const { return static_cast<int>(states_.size()); }
  bool full() const { return size() >= most_; }
  const Elite<T>& operator[](int k) const { return states_[k]; }
  void keep_best() { states_.erase(states_.begin() + 1, states_.end()); }

  // Takes a state in if it is new and good enough.
  bool keep(Elite<T>&& found, int n) {
    for (const Elite<T>& one : states_) {
      if (one.energy == found.energy &&
          std::equal(one.spin.data(), one.spin.data() + n, found.spin.data())) {
        return false;
      }
    }
    if (full()) {
      if (!(found.energy < states_.back().energy)) return false;
      states_.pop_back();
    }
    const auto place =
        std::upper_bound(states_.begin(), states_.end(), found.energy,
                         [](T energy, const Elite<T>& one) { return energy < one.energy; });
    states_.insert(place, std::move(found));
    return true;
  }

 private:
  int most_;
  std::vector<Elite<T>> states_;
};

}  // namespace hardscape::ising
