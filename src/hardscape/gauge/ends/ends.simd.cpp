// Apart from chains without ends, whose code stays as it is.
#include "gauge/ends/ends.hpp"

#include "gauge/links/placed_python.hpp"

namespace hardscape::gauge {

std::unique_ptr<AnyWilsonChain> chain_with_ends(std::size_t nc, const Extents& extent,
                                                const std::complex<double>* links, bool fixed) {
  return for_group(nc, [&](auto colors) {
    return in_lanes(extent, [&](Layout layout, auto lanes) {
      using Ends = OpenEnds<lanes.value>;
      using Chain = WilsonChain<colors.value, lanes.value, Ends>;
      return placed<AnyWilsonChain, Chain>(layout, links, Ends(layout, fixed));
    });
  });
}

}  // namespace hardscape::gauge
