// Large pages for large arrays: the first touch of a hundred megabytes in small pages costs a run
// of a million tasks a tenth of its time.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dfsim::inline base {

// Room for `size` elements. Where the system has large pages on request, an array of several of
// them asks for them; anywhere else this is reserve().
template <typename T>
void reserve_large(std::vector<T>& array, size_t size) {
  if (size <= array.capacity()) {
    return;
  }
  array.reserve(std::max(size, 2 * array.capacity()));
#ifdef MADV_HUGEPAGE
  constexpr size_t kWorthIt = size_t{8} << 20;
  const size_t bytes = array.capacity() * sizeof(T);
  if (bytes >= kWorthIt) {
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto begin = (reinterpret_cast<uintptr_t>(array.data()) + page - 1) / page * page;
    const auto end = (reinterpret_cast<uintptr_t>(array.data()) + bytes) / page * page;
    // A hint: that it is not taken changes nothing but the speed.
    static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
  }
#endif
}

}  // namespace dfsim::inline base
