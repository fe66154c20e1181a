// SU(4) to SU(8), one site at a time.
#define HS_COMPILES_ONE_LANE
#include "gauge/many_colors/one_lane.hpp"

namespace hardscape::gauge {
HS_ONE_LANE_OF_ALL()
}  // namespace hardscape::gauge
