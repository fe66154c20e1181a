// One-flip tabu search with path relinking between elite states, for low states of any model.
//
// After F. Glover, Z. Lu, J.-K. Hao, 4OR 8 (2010) 239 (tabu search of binary quadratic programs)
// and Y. Wang, Z. Lu, F. Glover, J.-K. Hao, Eur. J. Oper. Res. 223 (2012) 595 (path relinking). A
// run is a function of the model, the seed and its number: sums are of integers, or in double
// precision in a fixed order.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "native/arrays.hpp"
#include "native/random.hpp"

namespace hardscape::ising {
namespace {

constexpr std::uint64_t kPurpose = 2;
constexpr int kPolled = 1024;  // moves between two looks at the stop flag

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

template <class T>
struct Elite {
  T energy;
  Padded<T> spin;
};

struct Effort {
  int elites, tenure, spread;
  std::int64_t patience, moves;
};

template <class T>
class Walker {
  using Vector = typename VectorOf<T>::Type;
  using Count = typename Lane<T>::Count;
  using Counts = typename VectorOf<Count>::Type;

 public:
  Walker(const Model<T>& model, const Effort& effort, std::uint64_t seed, std::uint64_t run,
         std::size_t wanted, const volatile std::uint8_t* stop)
      : model_(model),
        effort_(effort),
        random_(seed, run, kPurpose),
        stop_(stop),
        lowest_(wanted),
        spin_(model.n, T{1}),
        gain_(model.n, kNever),
        until_(model.n, kForever) {
    for (int i = 0; i < model.n; ++i) {
      T own = model.field[i];
      energy_ += model.field[i];
      for (auto k = model.start[i]; k < model.start[i + 1]; ++k) {
        own += model.twice[k] / 2;
        if (model.near[k] > i) energy_ += model.twice[k] / 2;
      }
      gain_[i] = own;
    }
    meet();
  }

  // Searches around given states first, then from random ones and between the best.
  void run(Matrix<std::int8_t> given) {
    std::vector<Elite<T>> elites;
    for (std::size_t k = 0; k < given.shape(0) && left(); ++k) {
      const std::int8_t* spins = given.data() + k * model_.n;
      go_to([&](int i) { return spins[i] > 0; });
      keep(elites, search());
    }
    while (left()) {
      while (left() && static_cast<int>(elites.size()) < effort_.elites) {
        go_to([&](int) { return random_.next() >> 63 != 0; });
        if (!keep(elites, search()) && elites.size() > 1) break;
      }
      if (!relinked(elites) && elites.size() > 1) elites.erase(elites.begin() + 1, elites.end());
    }
  }

  Lowest<T>& lowest() { return lowest_; }
  std::int64_t moves() const { return moves_; }
  std::int64_t best_after() const { return best_after_; }

 private:
  static constexpr T kNever = static_cast<T>(-(std::int64_t{1} << 30) * 2);
  static constexpr Count kForever = Count{1} << 30;
  static constexpr int kFruitless = 20;  // relinkings that bring nothing before a new beginning

  bool left() const { return moves_ < effort_.moves && !*stop_; }

  int below(int n) { return static_cast<int>((random_.next() >> 32) * n >> 32); }

  // Relinks pairs of the elite until this brings nothing; whether there was a pair.
  bool relinked(std::vector<Elite<T>>& elites) {
    const int count = static_cast<int>(elites.size());
    if (count < 2) return left();
    for (int fruitless = 0; left() && fruitless < kFruitless; ++fruitless) {
      const int a = below(count), b = (a + 1 + below(count - 1)) % count;
      const Padded<T> from = elites[a].spin, to = elites[b].spin;
      go_to([&](int i) { return from[i] > 0; });
      walk_towards(to);
      if (keep(elites, search())) fruitless = 0;
    }
    return false;
  }

  // Takes a state into the elite, the lowest first, if it is new and good enough.
  bool keep(std::vector<Elite<T>>& elites, Elite<T>&& found) {
    for (const Elite<T>& one : elites) {
      if (one.energy == found.energy && same(one.spin, found.spin)) return false;
    }
    if (static_cast<int>(elites.size()) >= effort_.elites) {
      if (!(found.energy < elites.back().energy)) return false;
      elites.pop_back();
    }
    const auto place =
        std::upper_bound(elites.begin(), elites.end(), found.energy,
                         [](T energy, const Elite<T>& one) { return energy < one.energy; });
    elites.insert(place, std::move(found));
    return true;
  }

  bool same(const Padded<T>& a, const Padded<T>& b) const {
    return std::equal(a.data(), a.data() + model_.n, b.data());
  }

  template <class Up>
  void go_to(Up&& up) {
    for (int i = 0; i < model_.n; ++i) {
      if ((spin_[i] > 0) != up(i)) flip(i);
    }
  }

  // From the state here towards another one by the best flips; stops at the best of the middle.
  void walk_towards(const Padded<T>& to) {
    std::vector<int> other;
    for (int i = 0; i < model_.n; ++i) {
      if (spin_[i] != to[i]) other.push_back(i);
    }
    const std::size_t distance = other.size();
    std::vector<int> path;
    std::size_t best_at = 0;
    T best{};
    while (path.size() < 2 * distance / 3) {
      std::size_t chosen = below(static_cast<int>(other.size()));
      for (std::size_t k = 0; k < other.size(); ++k) {
        if (gain_[other[k]] > gain_[other[chosen]]) chosen = k;
      }
      flip(other[chosen]);
      path.push_back(other[chosen]);
      other[chosen] = other.back();
      other.pop_back();
      if (path.size() >= distance / 3 && (best_at == 0 || energy_ < best)) {
        best = energy_;
        best_at = path.size();
      }
    }
    while (path.size() > best_at) {
      flip(path.back());
      path.pop_back();
    }
  }

  // Tabu search from the state here until nothing better comes for a while; the best state.
  Elite<T> search() {
    Elite<T> best{energy_, spin_};
    for (int i = 0; i < model_.n; ++i) until_[i] = 0;
    meet();
    std::int64_t last = 0;
    for (std::int64_t move = 1; move - last <= effort_.patience && moves_ < effort_.moves; ++move) {
      if (move % kPolled == 0 && *stop_) break;
      const int i = best_move(static_cast<Count>(move), best.energy);
      flip(i);
      until_[i] = static_cast<Count>(move + effort_.tenure + below(effort_.spread) + 1);
      ++moves_;
      meet();
      if (energy_ < best.energy) {
        best.energy = energy_;
        best.spin = spin_;
        last = move;
      }
    }
    return best;
  }

  void meet() {
    if (!met_ || energy_ < least_) {
      met_ = true;
      least_ = energy_;
      best_after_ = moves_;
    }
    if (lowest_.wants(energy_)) lowest_.offer(energy_, spin_, model_.n, hash_);
  }

  // The flip that lowers the energy most of those allowed; of equal ones a random one.
  int best_move(Count move, T best_energy) {
    const std::size_t count = gain_.vectors();
    const std::size_t first = below(static_cast<int>(count));
    Vector best = Vector{} + kNever, every = best;
    Counts where{};
    const Counts now = Counts{} + move;
    const auto look = [&](std::size_t v) {
      const Vector gain = gain_.vector(v);
      const Vector allowed = until_.vector(v) <= now ? gain : Vector{} + kNever;
      const auto better = allowed > best;
      best = better ? allowed : best;
      where = better ? Counts{} + static_cast<Count>(v) : where;
      every = gain > every ? gain : every;
    };
    for (std::size_t v = first; v < count; ++v) look(v);
    for (std::size_t v = 0; v < first; ++v) look(v);
    T most = best[0], most_of_all = every[0];
    for (int lane = 1; lane < kLanes<T>; ++lane) {
      most = std::max<T>(most, best[lane]);
      most_of_all = std::max<T>(most_of_all, every[lane]);
    }
    // A tabu move is taken where it leads below all states of this search, or all are tabu.
    if (most == kNever || (most_of_all > most && energy_ - 2 * most_of_all < best_energy)) {
      return static_cast<int>(std::find(gain_.data(), gain_.data() + model_.n, most_of_all) -
                              gain_.data());
    }
    int lane = below(kLanes<T>);
    while (best[lane] != most) lane = (lane + 1) % kLanes<T>;
    return static_cast<int>(where[lane]) * kLanes<T> + lane;
  }

  void flip(int i) {
    const T own = gain_[i], s = spin_[i];
    energy_ -= 2 * own;
    if (model_.dense) {
      const Padded<T>& row = model_.rows[i];
      for (std::size_t v = 0; v < row.vectors(); ++v) {
        gain_.vector(v) -= row.vector(v) * (spin_.vector(v) * s);
      }
    } else {
      for (auto k = model_.start[i]; k < model_.start[i + 1]; ++k) {
        const int j = model_.near[k];
        gain_[j] -= model_.twice[k] * (spin_[j] * s);
      }
    }
    gain_[i] = -own;
    spin_[i] = -s;
    hash_ ^= mix64(static_cast<std::uint64_t>(i) + 1);
  }

  const Model<T>& model_;
  Effort effort_;
  RandomStream random_;
  const volatile std::uint8_t* stop_;
  Lowest<T> lowest_;
  Padded<T> spin_;
  Padded<T> gain_;  // a flip lowers the energy by twice this
  Padded<Count> until_;
  T energy_{};
  std::uint64_t hash_ = kPurpose;  // of the spins that are down
  bool met_ = false;
  T least_{};
  std::int64_t moves_ = 0, best_after_ = 0;
};

// States (k, words), whether all moves were made, the moves, and those before the best state.
auto tabu_search(Vector<double> fields, Vector<std::int64_t> starts, Vector<std::int64_t> columns,
                 Vector<double> values, bool integers, Matrix<std::int8_t> given,
                 std::size_t wanted, std::tuple<int, int, int> elite, std::int64_t patience,
                 std::int64_t moves, std::uint64_t seed, std::uint64_t run,
                 Vector<std::uint8_t> stop) {
  const auto [elites, tenure, spread] = elite;
  const Effort effort{elites, tenure, spread, patience, moves};
  const std::size_t width = std::max<std::size_t>((fields.shape(0) + 63) / 64, 1);
  std::vector<std::uint64_t> words;
  std::int64_t made = 0, best_after = 0;
  const auto searched = [&]<class T>(T) {
    const Model<T> model(fields, starts, columns, values);
    Walker<T> walker(model, effort, seed, run, wanted, stop.data());
    walker.run(given);
    for (const auto& kept : walker.lowest().take()) {
      words.insert(words.end(), kept.words.begin(), kept.words.end());
    }
    made = walker.moves();
    best_after = walker.best_after();
  };
  {
    nb::gil_scoped_release release;
    if (integers) {
      searched(std::int32_t{});
    } else {
      searched(double{});
    }
  }
  const std::size_t count = words.size() / width;
  return std::make_tuple(to_numpy(std::move(words), {count, width}), made >= moves, made,
                         best_after);
}

}  // namespace

void bind_tabu(nb::module_& module) {
  module.def("tabu_search", &tabu_search, nb::arg("fields"), nb::arg("starts"), nb::arg("columns"),
             nb::arg("values"), nb::arg("integers"), nb::arg("given"), nb::arg("wanted"),
             nb::arg("elite"), nb::arg("patience"), nb::arg("moves"), nb::arg("seed"),
             nb::arg("run"), nb::arg("stop"), "One run of tabu search with path relinking.");
}

}  // namespace hardscape::ising
