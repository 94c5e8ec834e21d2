#include "base/counted.h"

#include <fmt/format.h>

namespace dfsim::inline base {

std::string counted(uint64_t count, std::string_view noun, std::string_view plural) {
  return count == 1       ? fmt::format("1 {}", noun)
         : plural.empty() ? fmt::format("{} {}s", count, noun)
                          : fmt::format("{} {}", count, plural);
}

}  // namespace dfsim::inline base
