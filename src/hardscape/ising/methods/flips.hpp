// A model and a state of it under flips of one spin, for searches that prove nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <unordered_set>
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
  std::uint64_t order, hash;
  std::vector<std::uint64_t> words;

  bool operator<(const Kept& other) const {
    return energy != other.energy ? energy < other.energy : order < other.order;
  }
};

// The lowest distinct states met, of equal energies the first ones. Hashes tell states apart.
template <class T>
class Lowest {
 public:
  explicit Lowest(std::size_t wanted) : wanted_(wanted) {}

  bool wants(T energy) const { return kept_.size() < wanted_ || energy < kept_.front().energy; }

  void offer(T energy, const Padded<T>& spin, int n, std::uint64_t hash) {
    if (!known_.insert(hash).second) return;
    if (kept_.size() == wanted_) {
      std::pop_heap(kept_.begin(), kept_.end());
      known_.erase(kept_.back().hash);
      kept_.pop_back();
    }
    Kept<T> kept{energy, offered_++, hash, std::vector<std::uint64_t>(std::max((n + 63) / 64, 1))};
    for (int i = 0; i < n; ++i) {
      kept.words[i / 64] |= static_cast<std::uint64_t>(spin[i] > 0) << (i % 64);
    }
    kept_.push_back(std::move(kept));
    std::push_heap(kept_.begin(), kept_.end());
  }

  const std::vector<Kept<T>>& kept() const { return kept_; }

 private:
  std::size_t wanted_;
  std::uint64_t offered_ = 0;
  std::vector<Kept<T>> kept_;  // a heap, the highest at its front
  std::unordered_set<std::uint64_t> known_;
};

// A state, what each flip lowers the energy by, and the lowest states met.
template <class T>
class State {
 public:
  using Vector = typename VectorOf<T>::Type;
  static constexpr T kNever = static_cast<T>(-(std::int64_t{1} << 30) * 2);

  // All spins up.
  State(const Model<T>& model, std::size_t wanted, std::optional<double> target)
      : model(model),
        lowest(wanted),
        spin(model.n, T{1}),
        gain(model.n, kNever),
        target_(target ? static_cast<T>(*target) : std::numeric_limits<T>::lowest()) {
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
    reached_ |= energy <= target_;
  }

  // Whether a state of the energy that is looked for was met, or a lower one.
  bool reached() const { return reached_; }

  const Model<T>& model;
  Lowest<T> lowest;
  Padded<T> spin;
  Padded<T> gain;  // a flip lowers the energy by twice this
  T energy{};

 private:
  static constexpr std::uint64_t kStart = 2;

  std::uint64_t hash_ = kStart;  // of the spins that are down
  T target_;
  bool reached_ = false;
};

// Makes a run of the search that `searcher` makes of a model.
// States (k, words), whether all moves were made or the target was met, and the moves.
template <class Searcher>
auto searched(Vector<double> fields, Vector<std::int64_t> starts, Vector<std::int64_t> columns,
              Vector<double> values, bool integers, Matrix<std::int8_t> given, std::int64_t moves,
              Searcher&& searcher) {
  const std::size_t width = std::max<std::size_t>((fields.shape(0) + 63) / 64, 1);
  std::vector<std::uint64_t> words;
  std::int64_t made = 0;
  bool complete = false;
  const auto run = [&]<class T>(T) {
    const Model<T> model(fields, starts, columns, values);
    auto search = searcher(model);
    search.run(given);
    for (const auto& kept : search.lowest().kept()) {
      words.insert(words.end(), kept.words.begin(), kept.words.end());
    }
    made = search.moves();
    complete = made >= moves || search.reached();
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
  return std::make_tuple(to_numpy(std::move(words), {count, width}), complete, made);
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
