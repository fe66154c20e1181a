// The steps of ladder.hpp on one core.
#pragma GCC diagnostic ignored "-Wunknown-pragmas"  // its unrolling is for GPUs
#include "benchmarks/permanents/ladder.hpp"

#include "native/arrays.hpp"
#include "native/family.hpp"

namespace hardscape::permanents::ladder {
namespace {

using Entries = Matrix<double>;

double ladder_sum(Entries entries, Entries patterns, int idea, Count first, Count last) {
  constexpr decltype(&range_sum<kAnew, 0>) sums[] = {
      &range_sum<kAnew, 0>, &range_sum<kGray, 0>, &range_sum<kGlynn, 0>, &range_sum<kPatterns, 0>};
  if (idea < 0 || idea > kPatterns || entries.shape(0) > kMostSide) {
    throw nb::value_error("idea or side");
  }
  nb::gil_scoped_release release;
  return sums[idea](entries.data(), patterns.data(), static_cast<int>(entries.shape(0)), first,
                    last);
}

const native::Family family("permanents", [](nb::module_& module) {
  module.def("ladder_sum", &ladder_sum, nb::arg("entries"), nb::arg("patterns"), nb::arg("idea"),
             nb::arg("first"), nb::arg("last"),
             "Sum units first to last-1 of the formula of an idea, for benchmarks: see "
             "benchmarks/permanents/ladder.hpp.");
});

}  // namespace
}  // namespace hardscape::permanents::ladder
