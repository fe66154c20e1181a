// What of this family is compiled for each instruction-set level, as Python sees it.
#include "native/family.hpp"

namespace hardscape::gauge {

void bind_fixed(nb::module_& module);
void bind_flow(nb::module_& module);
void bind_ghost(nb::module_& module);
void bind_lattice(nb::module_& module);
void bind_links(nb::module_& module);
void bind_smearing(nb::module_& module);
void bind_stored(nb::module_& module);
void bind_wilson(nb::module_& module);

namespace {

const native::Family family("gauge", [](nb::module_& module) {
  bind_fixed(module);
  bind_flow(module);
  bind_ghost(module);
  bind_lattice(module);
  bind_links(module);
  bind_smearing(module);
  bind_stored(module);
  bind_wilson(module);
});

}  // namespace
}  // namespace hardscape::gauge
