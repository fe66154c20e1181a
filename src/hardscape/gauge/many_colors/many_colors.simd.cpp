// SU(4) to SU(8).
#define HS_COMPILES_MANY_COLORS
#include "gauge/many_colors/instances.hpp"

namespace hardscape::gauge {
HS_MANY_COLORS()
}  // namespace hardscape::gauge
