// Apart from periodic isotropic chains, whose code stays as it is.
#include "gauge/ends/ends.hpp"

#include "gauge/links/placed_python.hpp"

namespace hardscape::gauge {

std::unique_ptr<AnyWilsonChain> weighed_chain(std::size_t nc, const Extents& extent,
                                              const std::complex<double>* links,
                                              const Weighing& weighing, const Window& window) {
  return for_group(nc, [&](auto colors) {
    return in_lanes(extent, window, [&](Layout layout, auto lanes) {
      using Ends = Weights<lanes.value>;
      using Chain = WilsonChain<colors.value, lanes.value, Ends>;
      return placed<AnyWilsonChain, Chain>(layout, links, Ends(layout, weighing));
    });
  });
}

}  // namespace hardscape::gauge
