// What of this family is compiled for each instruction-set level, as Python sees it.
#include "native/family.hpp"

namespace hardscape::maxsat {

void bind_cellular(nb::module_& module);

namespace {

const native::Family family("maxsat", [](nb::module_& module) { bind_cellular(module); });

}  // namespace
}  // namespace hardscape::maxsat
