// One-flip tabu search with path relinking between elite states, for low states of any model.
//
// After F. Glover, Z. Lu, J.-K. Hao, 4OR 8 (2010) 239 (tabu search of binary quadratic programs)
// and Y. Wang, Z. Lu, F. Glover, J.-K. Hao, Eur. J. Oper. Res. 223 (2012) 595 (path relinking). A
// run is a function of the model, the seed and its number: sums are of integers, or in double
// precision in a fixed order.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "ising/methods/flips.hpp"
#include "native/arrays.hpp"
#include "native/random.hpp"

namespace hardscape::ising {
namespace {

constexpr std::uint64_t kPurpose = 2;
constexpr int kPolled = 1024;  // moves between two looks at the stop flag

struct Effort {
  int elites, tenure, spread;
  std::int64_t patience, moves;
  std::optional<double> target;
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
        state_(model, wanted, effort.target),
        until_(model.n, kForever) {}

  // Searches around given states first, then from random ones and between the best.
  void run(Matrix<std::int8_t> given) {
    Elites<T> elites(effort_.elites);
    for (std::size_t k = 0; k < given.shape(0) && left(); ++k) {
      const std::int8_t* spins = given.data() + k * model_.n;
      state_.go_to([&](int i) { return spins[i] > 0; });
      elites.keep(search(), model_.n);
    }
    while (left()) {
      while (left() && !elites.full()) {
        state_.go_to([&](int) { return random_.next() >> 63 != 0; });
        if (!elites.keep(search(), model_.n) && elites.size() > 1) break;
      }
      if (!relinked(elites) && elites.size() > 1) elites.keep_best();
    }
  }

  Lowest<T>& lowest() { return state_.lowest; }
  std::int64_t moves() const { return moves_; }
  bool reached() const { return state_.reached(); }

 private:
  static constexpr T kNever = State<T>::kNever;
  static constexpr Count kForever = Count{1} << 30;
  static constexpr int kFruitless = 20;  // relinkings that bring nothing before a new beginning

  bool left() const { return moves_ < effort_.moves && !*stop_ && !reached(); }

  int below(int n) { return static_cast<int>((random_.next() >> 32) * n >> 32); }

  // Relinks pairs of the elite until this brings nothing; whether there was a pair.
  bool relinked(Elites<T>& elites) {
    const int count = elites.size();
    if (count < 2) return left();
    for (int fruitless = 0; left() && fruitless < kFruitless; ++fruitless) {
      const int a = below(count), b = (a + 1 + below(count - 1)) % count;
      const Padded<T> from = elites[a].spin, to = elites[b].spin;
      state_.go_to([&](int i) { return from[i] > 0; });
      walk_towards(to);
      if (elites.keep(search(), model_.n)) fruitless = 0;
    }
    return false;
  }

  // From the state here towards another one by the best flips; stops at the best of the middle.
  void walk_towards(const Padded<T>& to) {
    std::vector<int> other;
    for (int i = 0; i < model_.n; ++i) {
      if (state_.spin[i] != to[i]) other.push_back(i);
    }
    const std::size_t distance = other.size();
    std::vector<int> path;
    std::size_t best_at = 0;
    T best{};
    while (path.size() < 2 * distance / 3) {
      // The best flip; of equal ones the next one from a random spin on.
      const int first = below(model_.n);
      const auto from = [&](int i) { return i < first ? i + model_.n : i; };
      std::size_t chosen = 0;
      for (std::size_t k = 1; k < other.size(); ++k) {
        const T gain = state_.gain[other[k]], most = state_.gain[other[chosen]];
        if (gain > most || (gain == most && from(other[k]) < from(other[chosen]))) chosen = k;
      }
      state_.flip(other[chosen]);
      path.push_back(other[chosen]);
      other[chosen] = other.back();
      other.pop_back();
      if (path.size() >= distance / 3 && (best_at == 0 || state_.energy < best)) {
        best = state_.energy;
        best_at = path.size();
      }
    }
    while (path.size() > best_at) {
      state_.flip(path.back());
      path.pop_back();
    }
  }

  // Tabu search from the state here until nothing better comes for a while; the best state.
  Elite<T> search() {
    Elite<T> best{state_.energy, state_.spin};
    for (int i = 0; i < model_.n; ++i) until_[i] = 0;
    state_.meet();
    std::int64_t last = 0;
    for (std::int64_t move = 1;
         move - last <= effort_.patience && moves_ < effort_.moves && !reached(); ++move) {
      if (move % kPolled == 0 && *stop_) break;
      const int i = best_move(static_cast<Count>(move), best.energy);
      state_.flip(i);
      until_[i] = static_cast<Count>(move + effort_.tenure + below(effort_.spread) + 1);
      ++moves_;
      state_.meet();
      if (state_.energy < best.energy) {
        best.energy = state_.energy;
        best.spin = state_.spin;
        last = move;
      }
    }
    return best;
  }

  // The flip that lowers the energy most of those allowed; of equal ones a random one.
  int best_move(Count move, T best_energy) {
    const std::size_t count = state_.gain.vectors();
    const std::size_t first = below(static_cast<int>(count));
    Vector best = Vector{} + kNever, every = best;
    Counts where{};
    const Counts now = Counts{} + move;
    const auto look = [&](std::size_t v) {
      const Vector gain = state_.gain.vector(v);
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
    if (most == kNever || (most_of_all > most && state_.energy - 2 * most_of_all < best_energy)) {
      return static_cast<int>(
          std::find(state_.gain.data(), state_.gain.data() + model_.n, most_of_all) -
          state_.gain.data());
    }
    int lane = below(kLanes<T>);
    while (best[lane] != most) lane = (lane + 1) % kLanes<T>;
    return static_cast<int>(where[lane]) * kLanes<T> + lane;
  }

  const Model<T>& model_;
  Effort effort_;
  RandomStream random_;
  const volatile std::uint8_t* stop_;
  State<T> state_;
  Padded<Count> until_;
  std::int64_t moves_ = 0;
};

// States (k, words), whether all moves were made or the target was met, and the moves.
auto tabu_search(Vector<double> fields, Vector<std::int64_t> starts, Vector<std::int64_t> columns,
                 Vector<double> values, bool integers, Matrix<std::int8_t> given,
                 std::size_t wanted, std::tuple<int, int, int> elite, std::int64_t patience,
                 std::int64_t moves, std::optional<double> target, std::uint64_t seed,
                 std::uint64_t run, Vector<std::uint8_t> stop) {
  const auto [elites, tenure, spread] = elite;
  const Effort effort{elites, tenure, spread, patience, moves, target};
  return searched(fields, starts, columns, values, integers, given, moves,
                  [&]<class T>(const Model<T>& model) {
                    return Walker<T>(model, effort, seed, run, wanted, stop.data());
                  });
}

}  // namespace

void bind_tabu(nb::module_& module) {
  module.def("tabu_search", &tabu_search, nb::arg("fields"), nb::arg("starts"), nb::arg("columns"),
             nb::arg("values"), nb::arg("integers"), nb::arg("given"), nb::arg("wanted"),
             nb::arg("elite"), nb::arg("patience"), nb::arg("moves"), nb::arg("target").none(),
             nb::arg("seed"), nb::arg("run"), nb::arg("stop"),
             "One run of tabu search with path relinking.");
}

}  // namespace hardscape::ising
