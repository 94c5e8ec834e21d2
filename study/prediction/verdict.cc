#include "study/prediction/verdict.h"

#include <array>

namespace dfsim::inline study {

std::string_view limit_name(Limit limit) {
  constexpr std::array<std::string_view, 4> kNames = {"nothing", "device", "host", "transfers"};
  return kNames[static_cast<size_t>(limit)];
}

}  // namespace dfsim::inline study
