// What of this family is compiled for each instruction-set level, as Python sees it.
#include "native/family.hpp"

namespace hardscape::ising {

void bind_annealing(nb::module_& module);
void bind_cycles(nb::module_& module);
void bind_exact(nb::module_& module);
void bind_exhaustive(nb::module_& module);
void bind_elimination(nb::module_& module);
void bind_frontier(nb::module_& module);
void bind_histogram(nb::module_& module);
void bind_semidefinite(nb::module_& module);
void bind_tables(nb::module_& module);
void bind_tabu(nb::module_& module);
void bind_within(nb::module_& module);

namespace {

const native::Family family("ising", [](nb::module_& module) {
  bind_histogram(module);
  bind_tabu(module);
  bind_annealing(module);
  bind_frontier(module);
  bind_elimination(module);
  bind_tables(module);
  bind_exact(module);
  bind_exhaustive(module);
  bind_semidefinite(module);
  bind_cycles(module);
  bind_within(module);
});

}  // namespace
}  // namespace hardscape::ising
