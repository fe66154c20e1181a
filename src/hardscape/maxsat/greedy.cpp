// A first assignment in three passes over the clauses, for formulas so large that the search needs
// a while to begin: literals that a clause still needs are chosen by how often and how heavily they
// occur, hard clauses first.
#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "maxsat/instance.hpp"
#include "native/arrays.hpp"

namespace hardscape::maxsat {
namespace {

constexpr std::uint8_t kOpen = 2;

// What the positive literal of each variable weighs more than the negative one; a hard clause
// weighs as much as a mean soft one, both shared among their literals.
std::vector<float> balance(const Clauses& f, const Poll& stopped) {
  std::vector<float> found(f.variables);
  double total = 0, soft = 1;
  for (std::size_t c = 0; c < f.count && !stopped(c); ++c) {
    total += static_cast<double>(f.weights[c]);
    soft += !f.hard[c];
  }
  const double mean = total > 0 ? total / soft : 1;
  for (std::size_t c = 0; c < f.count && !stopped(c); ++c) {
    const auto size = static_cast<double>(f.offsets[c + 1] - f.offsets[c]);
    const double weight = f.hard[c] ? 1 : static_cast<double>(f.weights[c]) / mean;
    const auto share = static_cast<float>(weight / (size * size));
    for (std::int64_t i = f.offsets[c]; i < f.offsets[c + 1]; ++i) {
      const std::int32_t l = f.literals[i];
      found[(l > 0 ? l : -l) - 1] += l > 0 ? share : -share;
    }
  }
  return found;
}

// Gives the clause a true literal where it has none and one is open.
void satisfy(const Clauses& f, std::size_t c, const std::vector<float>& balance,
             std::vector<std::uint8_t>& value) {
  std::int32_t best = 0;
  float most = 0;
  for (std::int64_t i = f.offsets[c]; i < f.offsets[c + 1]; ++i) {
    const std::int32_t l = f.literals[i];
    const std::uint32_t v = (l > 0 ? l : -l) - 1;
    if (value[v] == (l > 0)) return;
    if (value[v] != kOpen) continue;
    const float gain = l > 0 ? balance[v] : -balance[v];
    if (best == 0 || gain > most) {
      best = l;
      most = gain;
    }
  }
  if (best) value[(best > 0 ? best : -best) - 1] = best > 0;
}

// uint8 of shape (n,).
auto greedy(const nb::object& formula, std::optional<Vector<std::uint8_t>> stop) {
  const Clauses f(formula);
  const Poll stopped(stop);
  std::vector<std::uint8_t> value(f.variables, kOpen);
  {
    nb::gil_scoped_release release;
    const std::vector<float> sums = balance(f, stopped);
    for (int firm = 1; firm >= 0; --firm)
      for (std::size_t c = 0; c < f.count && !stopped(c); ++c)
        if (f.hard[c] == firm) satisfy(f, c, sums, value);
    for (std::size_t v = 0; v < value.size(); ++v)
      if (value[v] == kOpen) value[v] = sums[v] > 0;
  }
  return to_array(std::move(value));
}

}  // namespace

void bind_greedy(nb::module_& module) {
  module.def("greedy", &greedy, nb::arg("formula"), nb::arg("stop").none() = nb::none(),
             "A first assignment, uint8 of shape (n,).");
}

}  // namespace hardscape::maxsat
