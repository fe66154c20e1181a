// The Python module of one instruction-set level: what this processor supports, and every family's
// kernels.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

namespace nb = nanobind;

namespace hardscape::gauge {
void bind_lattice(nb::module_& module);
void bind_links(nb::module_& module);
void bind_wilson(nb::module_& module);
}  // namespace hardscape::gauge

namespace hardscape::ising {
void bind_anneal(nb::module_& module);
void bind_density(nb::module_& module);
void bind_exact(nb::module_& module);
void bind_kernel(nb::module_& module);
}  // namespace hardscape::ising

namespace hardscape::maxsat {
void bind_evaluate(nb::module_& module);
void bind_parse(nb::module_& module);
void bind_greedy(nb::module_& module);
void bind_presolve(nb::module_& module);
void bind_walk(nb::module_& module);
void bind_weighting(nb::module_& module);
void bind_synchronous(nb::module_& module);
void bind_cellular(nb::module_& module);
}  // namespace hardscape::maxsat

namespace hardscape::permanents {
void bind_exact(nb::module_& module);
void bind_limbs(nb::module_& module);
void bind_frontier(nb::module_& module);
void bind_extended(nb::module_& module);
void bind_glynn(nb::module_& module);
void bind_minors(nb::module_& module);
void bind_repeated(nb::module_& module);
void bind_subset(nb::module_& module);
}  // namespace hardscape::permanents

namespace hardscape::xorsat {
void bind_elimination(nb::module_& module);
void bind_kernel(nb::module_& module);
}  // namespace hardscape::xorsat

namespace {

std::vector<std::string> supported_levels() {
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
  module.def("supported_levels", &supported_levels,
             "Instruction-set levels that this processor runs, widest first.");
  hardscape::gauge::bind_lattice(module);
  hardscape::gauge::bind_links(module);
  hardscape::gauge::bind_wilson(module);
  hardscape::ising::bind_anneal(module);
  hardscape::ising::bind_density(module);
  hardscape::ising::bind_exact(module);
  hardscape::ising::bind_kernel(module);
  hardscape::maxsat::bind_evaluate(module);
  hardscape::maxsat::bind_parse(module);
  hardscape::maxsat::bind_greedy(module);
  hardscape::maxsat::bind_presolve(module);
  hardscape::maxsat::bind_walk(module);
  hardscape::maxsat::bind_weighting(module);
  hardscape::maxsat::bind_synchronous(module);
  hardscape::maxsat::bind_cellular(module);
  hardscape::permanents::bind_exact(module);
  hardscape::permanents::bind_limbs(module);
  hardscape::permanents::bind_frontier(module);
  hardscape::permanents::bind_extended(module);
  hardscape::permanents::bind_glynn(module);
  hardscape::permanents::bind_minors(module);
  hardscape::permanents::bind_repeated(module);
  hardscape::xorsat::bind_elimination(module);
  hardscape::permanents::bind_subset(module);
  hardscape::xorsat::bind_kernel(module);
}
