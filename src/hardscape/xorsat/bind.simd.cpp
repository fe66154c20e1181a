// What of this family is compiled for each instruction-set level, as Python sees it.
#include "native/family.hpp"

namespace hardscape::xorsat {

void bind_elimination(nb::module_& module);
void bind_kernel(nb::module_& module);

namespace {

const native::Family family("xorsat", [](nb::module_& module) {
  bind_elimination(module);
  bind_kernel(module);
});

}  // namespace
}  // namespace hardscape::xorsat
