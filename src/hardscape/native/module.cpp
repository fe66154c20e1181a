// The extension modules: _core, compiled once, and _vector_<level>, once for each instruction-set
// level. Each holds a submodule for every family that has sources of its kind.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "native/family.hpp"

namespace nb = nanobind;

namespace {

[[maybe_unused]] std::vector<std::string> supported_levels() {
#if defined(__x86_64__)
  std::vector<std::string> levels;
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (v4) levels.push_back("v4");
  if (v3) levels.push_back("v3");
  levels.push_back("v2");
  return levels;
#else
  return {"generic"};
#endif
}

}  // namespace

NB_MODULE(HARDSCAPE_MODULE, module) {
  nb::set_leak_warnings(false);
#if defined(HARDSCAPE_CORE)
  module.def("supported_levels", &supported_levels,
             "Instruction-set levels that this processor runs, widest first.");
#endif
  for (const auto* family = hardscape::native::Family::first(); family; family = family->next) {
    nb::module_ submodule = module.def_submodule(family->name);
    family->bind(submodule);
  }
}
