// Elimination over GF(2) for Python.
#include "xorsat/methods/elimination/elimination.hpp"

#include <chrono>
#include <cstdint>
#include <vector>

#include "native/arrays.hpp"

namespace hardscape::xorsat {
namespace {

auto eliminate(std::int64_t num_variables, Vector<std::int64_t> offsets,
               Vector<std::int32_t> variables, Vector<std::uint8_t> parity, std::int64_t max_free,
               nb::object room) {
  const SparseSystem system{static_cast<std::size_t>(num_variables), parity.shape(0),
                            offsets.data(), variables.data(), parity.data()};
  bool consistent;
  std::size_t rank, stride = 0;
  std::vector<std::uint8_t> assignment;
  std::vector<std::int32_t> free;
  std::vector<std::uint64_t> dependence;
  {
    nb::gil_scoped_release release;
    const auto ask = [&](std::size_t bytes) {
      nb::gil_scoped_acquire hold;
      room(bytes);
    };
    auto looked = std::chrono::steady_clock::now();
    const Elimination done(
        system,
        [&] {  // lets Ctrl-C through, a few times a second
          const auto now = std::chrono::steady_clock::now();
          if (now < looked + std::chrono::milliseconds(100)) return;
          looked = now;
          nb::gil_scoped_acquire hold;
          if (PyErr_CheckSignals()) throw nb::python_error();
        },
        ask);
    consistent = done.consistent();
    rank = done.rank();
    free = done.free_variables();
    assignment = done.assignment();
    if (max_free >= 0 && free.size() <= static_cast<std::size_t>(max_free)) {
      ask(2 * BitMatrix::bytes(system.num_variables, free.size()));
      const BitMatrix bits = done.dependence();
      stride = bits.stride();
      dependence.assign(bits.row(0), bits.row(0) + bits.rows() * stride);
    }
  }
  const std::size_t frees = free.size();
  return std::make_tuple(
      rank, consistent, to_numpy(std::move(assignment), {system.num_variables}),
      to_numpy(std::move(free), {frees}),
      to_numpy(std::move(dependence), {stride ? system.num_variables : 0, stride}));
}

}  // namespace

void bind_elimination(nb::module_& module) {
  module.def("eliminate", &eliminate, nb::arg("num_variables"), nb::arg("offsets"),
             nb::arg("variables"), nb::arg("parity"), nb::arg("max_free"), nb::arg("room"),
             "Rank, consistency, one assignment, free variables, and the packed "
             "dependence (N, words) of each variable on them if these are max_free or fewer. "
             "Before much memory is taken, room is called with its bytes.");
}

}  // namespace hardscape::xorsat
