// What a sweep does to a site.
#pragma once

#include "stage.cuh"

namespace hardscape::gauge {

// Where the sweeps of a copy go.
struct Run {
  const Chunk* links;
  Chunk* all;
  // Of each copy, or where the sweeps differ of each sweep and copy: omega, second, probability,
  // temperature.
  const double* steps;
  const unsigned long long* seeds;
  const long long* firsts;  // the number of the first of the sweeps
  const unsigned char* active;
  Beside beside;
  int origin;  // number of the first site in the whole lattice
  int copies;
};

// Sweeps that differ: those with a temperature are heatbath sweeps, others go through the
// subgroups.
constexpr bool kAnneals = kMethod == 3;

__device__ inline void update(const Run& run, const Task& task, LocalField& local, Chunk* g,
                              int copy) {
  const Site& at = task.at;
  const int number = at.number(task.color);
  const double* step = run.steps + 4 * (kAnneals ? task.sweep * run.copies + copy : copy);
  Element own = load(g, number);
  if constexpr (kMethod == static_cast<int>(Method::Matrix)) {
    update_matrix(local, own, Real(step[0]));
  } else {
    RandomStream random(run.seeds[copy], number_in_whole(at, run.origin),
                        run.firsts[copy] + task.sweep);
    const bool heats = kAnneals ? step[3] > 0 : kMethod == static_cast<int>(Method::Heatbath);
    if (heats) {
      local.begin(own);
      for_subgroups<kColors>([&](int a, int b) {
        Real strength;
        const Quaternion<Real> best = local.best(own, a, b, strength);
        const Quaternion<Real> r = LocalField::heatbath(best, strength / Real(step[3]), random);
        local.rotate(a, b, r);
        rotate_rows(own, a, b, r);
      });
    } else {
      Real omega = Real(step[0]), second = Real(step[1]);
      if (step[2] < 1) {
        omega = random.uniform() < step[2] ? omega : Real(1);
        second = Real(0.5) * omega * (omega - 1);
      }
      update_subgroups(local, own, omega, second);
    }
    unitarize(own);
  }
  store(g, number, own);
  share(run.beside, at, task.color, own);
}

}  // namespace hardscape::gauge
