// What of this family is compiled for each instruction-set level, as Python sees it.
#include "native/family.hpp"

namespace hardscape::permanents {

void bind_exact(nb::module_& module);
void bind_extended(nb::module_& module);
void bind_frontier(nb::module_& module);
void bind_glynn(nb::module_& module);
void bind_limbs(nb::module_& module);
void bind_minors(nb::module_& module);
void bind_repeated(nb::module_& module);
void bind_subset(nb::module_& module);

namespace {

const native::Family family("permanents", [](nb::module_& module) {
  bind_exact(module);
  bind_extended(module);
  bind_frontier(module);
  bind_glynn(module);
  bind_limbs(module);
  bind_minors(module);
  bind_repeated(module);
  bind_subset(module);
});

}  // namespace
}  // namespace hardscape::permanents
