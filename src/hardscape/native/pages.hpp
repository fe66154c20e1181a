// Memory of large tables in large pages, where the system has them for who asks: to be given and to
// be walked through then takes a tenth of the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace hardscape::native {

// Asks for large pages for memory that nothing was written to yet.
inline void in_large_pages([[maybe_unused]] void* place, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::uintptr_t kPage = 4096, kLeast = 1 << 22;
  if (bytes < kLeast) return;
  const auto begin = (reinterpret_cast<std::uintptr_t>(place) + kPage - 1) / kPage * kPage;
  const auto end = (reinterpret_cast<std::uintptr_t>(place) + bytes) / kPage * kPage;
  // A system that refuses gives small ones.
  (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

// An array of so many values that are not set.
template <class T>
std::unique_ptr<T[]> in_large_pages(std::size_t size) {
  auto made = std::make_unique_for_overwrite<T[]>(size);
  in_large_pages(made.get(), size * sizeof(T));
  return made;
}

// Grows a vector to a size, in large pages.
template <class T>
void grow_in_large_pages(std::vector<T>& values, std::size_t size) {
  if (values.capacity() < size) {
    values.reserve(size);
    if (values.empty()) in_large_pages(values.data(), size * sizeof(T));
  }
  values.resize(size);
}

}  // namespace hardscape::native
