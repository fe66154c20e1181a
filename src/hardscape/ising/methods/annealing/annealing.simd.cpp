// Simulated annealing from random states and between elite states, for low states of sparse models.
//
// S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, Science 220 (1983) 671. A sweep looks at a vector of
// spins at once: each has a threshold T/2 ln(u / (1 - u)) (heat bath), and those whose flip lowers
// half the energy by no less are flipped one after another, if that is still so. Two elite states
// are joined as in D. Whitley, D. Hains, A. Howe, GECCO 2009, 915: the spins in which they differ
// fall into connected components that share no coupling, so each can be taken from either. A run is
// a function of the model, the seed and its number.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "ising/methods/flips.hpp"
#include "native/arrays.hpp"
#include "native/random.hpp"

namespace hardscape::ising {
namespace {

constexpr std::uint64_t kPurpose = 5;
constexpr int kPolled = 16;  // sweeps between two looks at the stop flag

// How logarithms of random words are made: their powers of two and, linear between these (off by 6%
// of one at most), what follows. That is how floating point lays out numbers.
template <class T>
struct Logarithm;

template <>
struct Logarithm<std::int32_t> {
  using Real = float;
  using Word = std::uint32_t;
  static constexpr int kShifts[] = {13, 17, 5};
  static constexpr int kMantissa = 23;
};

template <>
struct Logarithm<double> {
  using Real = double;
  using Word = std::uint64_t;
  static constexpr int kShifts[] = {13, 7, 17};
  static constexpr int kMantissa = 52;
};

// Random thresholds T/2 ln(u / (1 - u)) of a vector of spins, u uniform in (0, 1): the same on all
// machines.
template <class T>
class Thresholds {
  using Log = Logarithm<T>;
  using Word = typename Log::Word;
  using Words = typename VectorOf<Word>::Type;
  using Integers = typename VectorOf<std::make_signed_t<Word>>::Type;
  using Reals = typename VectorOf<typename Log::Real>::Type;

 public:
  explicit Thresholds(RandomStream& random) {
    for (int lane = 0; lane < kLanes<T>; ++lane)
      state_[lane] = static_cast<Word>(random.next()) | 1;
  }

  // Of a temperature, in units of gains.
  void set(double temperature) {
    scale_ = static_cast<typename Log::Real>(
        std::ldexp(0.5 * std::log(2.0) * temperature, -Log::kMantissa));
  }

  Reals next() {
    state_ ^= state_ << Log::kShifts[0];
    state_ ^= state_ >> Log::kShifts[1];
    state_ ^= state_ << Log::kShifts[2];
    constexpr Word most = ~Word{0} >> 1;
    const Words uniform = state_ >> 1;
    const Integers odds = logarithm(uniform | 1) - logarithm((uniform ^ most) | 1);
    return __builtin_convertvector(odds, Reals) * scale_;
  }

 private:
  static Integers logarithm(Words x) {
    return (Integers) __builtin_convertvector((Integers)x, Reals);
  }

  Words state_{};
  typename Log::Real scale_{};
};

struct Effort {
  int elites;
  std::int64_t sweeps, moves;
  double hot, warm, cold;
  std::optional<double> target;
};

template <class T>
class Annealer {
  using Real = typename Logarithm<T>::Real;
  using Reals = typename VectorOf<Real>::Type;

 public:
  Annealer(const Model<T>& model, const Effort& effort, std::uint64_t seed, std::uint64_t run,
           std::size_t wanted, const volatile std::uint8_t* stop)
      : model_(model),
        effort_(effort),
        random_(seed, run, kPurpose),
        thresholds_(random_),
        stop_(stop),
        symmetric_(std::all_of(model.field.begin(), model.field.end(), [](T x) { return x == 0; })),
        state_(model, wanted, effort.target) {}

  // Anneals around given states first, then from random ones and between the best.
  void run(Matrix<std::int8_t> given) {
    Elites<T> elites(effort_.elites);
    for (std::size_t k = 0; k < given.shape(0) && left(); ++k) {
      const std::int8_t* spins = given.data() + k * model_.n;
      state_.go_to([&](int i) { return spins[i] > 0; });
      state_.meet();
      descend();
      elites.keep({state_.energy, state_.spin}, model_.n);
    }
    while (left()) {
      while (left() && !elites.full()) {
        state_.go_to([&](int) { return random_.next() >> 63 != 0; });
        if (!elites.keep(anneal(effort_.hot), model_.n) && elites.size() > 1) break;
      }
      if (!joined(elites) && elites.size() > 1) elites.keep_best();
    }
  }

  Lowest<T>& lowest() { return state_.lowest; }
  std::int64_t moves() const { return moves_; }
  bool reached() const { return state_.reached(); }

 private:
  static constexpr int kFruitless = 20;  // joins that bring nothing before a new beginning

  bool left() const { return moves_ < effort_.moves && !*stop_ && !reached(); }

  int below(int n) { return static_cast<int>((random_.next() >> 32) * n >> 32); }

  // Joins pairs of the elite and anneals what comes out; whether there was a pair.
  bool joined(Elites<T>& elites) {
    const int count = elites.size();
    if (count < 2) return left();
    for (int fruitless = 0; left() && fruitless < kFruitless; ++fruitless) {
      const int a = below(count), b = (a + 1 + below(count - 1)) % count;
      const Padded<T> from = elites[a].spin, to = elites[b].spin;
      state_.go_to([&](int i) { return from[i] > 0; });
      join(to);
      anneal(effort_.warm * random_.uniform());
      join(from);
      join(to);
      if (elites.keep({state_.energy, state_.spin}, model_.n)) fruitless = 0;
    }
    return false;
  }

  // Flips each connected component of the spins that differ if that does not raise the energy.
  void join(const Padded<T>& to) {
    std::vector<char> other(model_.n);
    int apart = 0;
    for (int i = 0; i < model_.n; ++i) apart += other[i] = state_.spin[i] != to[i];
    if (symmetric_ && 2 * apart > model_.n) {
      for (char& one : other) one = !one;
    }
    std::vector<int> part;
    for (int root = 0; root < model_.n; ++root) {
      if (!other[root]) continue;
      part.assign(1, root);
      other[root] = 0;
      for (std::size_t at = 0; at < part.size(); ++at) {
        for (auto k = model_.start[part[at]]; k < model_.start[part[at] + 1]; ++k) {
          const int j = model_.near[k];
          if (other[j]) part.push_back(j);
          other[j] = 0;
        }
      }
      const T before = state_.energy;
      for (int i : part) flip(i);
      if (state_.energy > before) {
        for (int i : part) flip(i);
      } else {
        state_.meet();
      }
    }
  }

  // Sweeps from a temperature down, and to the bottom; the best state.
  Elite<T> anneal(double hot) {
    const auto sweeps = static_cast<double>(effort_.sweeps);
    const double step = std::max(0.0, hot - effort_.cold) / sweeps;
    double temperature = hot;
    for (std::int64_t k = 0; k < effort_.sweeps && moves_ < effort_.moves && !reached(); ++k) {
      if (k % kPolled == 0 && *stop_) break;
      thresholds_.set(temperature);
      sweep([&] { return thresholds_.next(); });
      temperature -= step;  // the same in all instruction sets, as no product would be
    }
    descend();
    return {state_.energy, state_.spin};
  }

  void descend() {
    T before;
    do {
      before = state_.energy;
      sweep([] { return Reals{} + std::numeric_limits<Real>::min(); });
    } while (state_.energy < before && left());
  }

  template <class Next>
  void sweep(Next&& next) {
    const std::size_t count = state_.gain.vectors();
    for (std::size_t v = 0; v < count; ++v) {
      const Reals limit = next();
      const auto chosen = __builtin_convertvector(state_.gain.vector(v), Reals) >= limit;
      for (int lane = 0; lane < kLanes<T>; ++lane) {
        if (!chosen[lane]) continue;
        const int i = static_cast<int>(v) * kLanes<T> + lane;
        if (static_cast<Real>(state_.gain[i]) >= limit[lane]) {
          flip(i);
          state_.meet();
        }
      }
    }
    moves_ += static_cast<std::int64_t>(count);
  }

  void flip(int i) {
    state_.flip(i);
    ++moves_;
  }

  const Model<T>& model_;
  Effort effort_;
  RandomStream random_;
  Thresholds<T> thresholds_;
  const volatile std::uint8_t* stop_;
  bool symmetric_;  // whether a state and its mirror image have one energy
  State<T> state_;
  std::int64_t moves_ = 0;
};

// States (k, words), whether all moves were made or the target was met, and the moves.
auto anneal(Vector<double> fields, Vector<std::int64_t> starts, Vector<std::int64_t> columns,
            Vector<double> values, bool integers, Matrix<std::int8_t> given, std::size_t wanted,
            int elites, std::tuple<double, double, double> temperatures, std::int64_t sweeps,
            std::int64_t moves, std::optional<double> target, std::uint64_t seed, std::uint64_t run,
            Vector<std::uint8_t> stop) {
  const auto [hot, warm, cold] = temperatures;
  const Effort effort{elites, sweeps, moves, hot, warm, cold, target};
  return searched(fields, starts, columns, values, integers, given, moves,
                  [&]<class T>(const Model<T>& model) {
                    return Annealer<T>(model, effort, seed, run, wanted, stop.data());
                  });
}

}  // namespace

void bind_annealing(nb::module_& module) {
  module.def("anneal", &anneal, nb::arg("fields"), nb::arg("starts"), nb::arg("columns"),
             nb::arg("values"), nb::arg("integers"), nb::arg("given"), nb::arg("wanted"),
             nb::arg("elites"), nb::arg("temperatures"), nb::arg("sweeps"), nb::arg("moves"),
             nb::arg("target").none(), nb::arg("seed"), nb::arg("run"), nb::arg("stop"),
             "One run of simulated annealing with joined elite states.");
}

}  // namespace hardscape::ising
