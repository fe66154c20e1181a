// What of this family is compiled once, as Python sees it.
#include "native/family.hpp"

namespace hardscape::maxsat {

void bind_automorphisms(nb::module_& module);
void bind_elimination(nb::module_& module);
void bind_evaluate(nb::module_& module);
void bind_exclusions(nb::module_& module);
void bind_first(nb::module_& module);
void bind_least(nb::module_& module);
void bind_neighbourhoods(nb::module_& module);
void bind_parse(nb::module_& module);
void bind_presolve(nb::module_& module);
void bind_solutions(nb::module_& module);
void bind_sums(nb::module_& module);
void bind_walk(nb::module_& module);
void bind_synchronous(nb::module_& module);
void bind_weighing(nb::module_& module);
void bind_weighting(nb::module_& module);

namespace {

const native::Family family("maxsat", [](nb::module_& module) {
  bind_automorphisms(module);
  bind_elimination(module);
  bind_evaluate(module);
  bind_exclusions(module);
  bind_first(module);
  bind_least(module);
  bind_neighbourhoods(module);
  bind_parse(module);
  bind_presolve(module);
  bind_solutions(module);
  bind_sums(module);
  bind_walk(module);
  bind_synchronous(module);
  bind_weighing(module);
  bind_weighting(module);
});

}  // namespace
}  // namespace hardscape::maxsat
