#include "native/arrays.hpp"
namespace hardscape::ising {
void bind_kernel(nb::module_&) {}
}  // namespace hardscape::ising
