// Bytes of a vector register at the instruction-set level that is being built: GCC takes vectors
// wider than that apart element by element.
#pragma once

#include <cstddef>

#if defined(HARDSCAPE_ONCE)
#error "what is built once has no level"
#endif

namespace hardscape {

#if defined(__AVX512F__)
constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif

}  // namespace hardscape
