#include "cli/kept_memory.h"

#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace dfsim::cli {

void keep_freed_memory() {
#ifdef __GLIBC__
  // Blocks beyond the first threshold are mapped and unmapped one by one; a free end of the heap
  // beyond the second goes back to the system.
  constexpr int kLargeBlock = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kLargeBlock);
  mallopt(M_TRIM_THRESHOLD, kLargeBlock);
#endif
}

}  // namespace dfsim::cli
