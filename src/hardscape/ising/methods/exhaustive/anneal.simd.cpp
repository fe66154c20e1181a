// Simulated annealing from random states: a good first state, around which the exhaustive search
// starts.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "native/arrays.hpp"
#include "native/random.hpp"

namespace hardscape::ising {
namespace {

constexpr std::uint64_t kPurpose = 1;

struct Replica {
  std::vector<double> field;  // local field, so that flipping spin i costs -2 s_i field_i
  std::vector<std::int8_t> spin;
  double energy;
};

Replica random_replica(const double* h, const double* J, int n, RandomStream& random) {
  Replica r{std::vector<double>(h, h + n), std::vector<std::int8_t>(n), 0.0};
  for (int i = 0; i < n; ++i) {
    r.spin[i] = random.next() >> 63 ? 1 : -1;
    r.energy += r.spin[i] * r.field[i];
    for (int j = 0; j < n; ++j) r.field[j] += J[i * n + j] * r.spin[i];
  }
  return r;
}

void flip(Replica& r, const double* J, int n, int i) {
  r.energy -= 2 * r.spin[i] * r.field[i];
  r.spin[i] = static_cast<std::int8_t>(-r.spin[i]);
  for (int j = 0; j < n; ++j) r.field[j] += 2 * J[i * n + j] * r.spin[i];
}

std::vector<std::uint64_t> pack(const Replica& r, int n) {
  std::vector<std::uint64_t> state(std::max((n + 63) / 64, 1));
  for (int i = 0; i < n; ++i) {
    state[i / 64] |= static_cast<std::uint64_t>(r.spin[i] > 0) << (i % 64);
  }
  return state;
}

// Best state met, in words; h (N,) and symmetric J (N, N) with an empty diagonal.
auto anneal(Vector<double> fields, Matrix<double> couplings, int replicas, int sweeps,
            std::uint64_t seed) {
  const int n = static_cast<int>(fields.shape(0));
  const double* h = fields.data();
  const double* J = couplings.data();
  double scale = 0;
  for (int i = 0; i < n; ++i) {
    double square = h[i] * h[i];
    for (int j = 0; j < n; ++j) square += J[i * n + j] * J[i * n + j];
    scale = std::fmax(scale, std::sqrt(square));
  }
  std::vector<std::uint64_t> best_state;
  double best = INFINITY;
  {
    nb::gil_scoped_release release;
    for (int replica = 0; replica < replicas; ++replica) {
      RandomStream random(seed, replica, kPurpose);
      Replica r = random_replica(h, J, n, random);
      for (int sweep = 0; sweep <= sweeps; ++sweep) {
        // Geometric cooling by a factor of 200; the last sweeps only go down.
        const double temperature = 4 * sweep > 3 * sweeps
                                       ? 0.0
                                       : scale * std::pow(200.0, -4.0 * sweep / (3.0 * sweeps + 1));
        for (int i = 0; i < n; ++i) {
          const double cost = -2 * r.spin[i] * r.field[i];
          const double draw = random.uniform();
          if (cost < 0 || (temperature > 0 && draw < std::exp(-cost / temperature)))
            flip(r, J, n, i);
        }
        if (r.energy < best) {
          best = r.energy;
          best_state = pack(r, n);
        }
      }
    }
  }
  const std::size_t words = best_state.size();
  return to_numpy(std::move(best_state), {words});
}

}  // namespace

void bind_anneal(nb::module_& module) {
  module.def("anneal", &anneal, nb::arg("fields"), nb::arg("couplings"), nb::arg("replicas"),
             nb::arg("sweeps"), nb::arg("seed"),
             "Best state met by simulated annealing, as words of bits (1 is +1).");
}

}  // namespace hardscape::ising
