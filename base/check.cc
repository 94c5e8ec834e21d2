#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace dfsim::inline base::internal {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "dfsim: internal error: %s:%d: %s does not hold; please report this\n", file,
               line, condition);
  std::abort();
}

}  // namespace dfsim::inline base::internal
