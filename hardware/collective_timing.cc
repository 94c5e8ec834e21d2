#include "hardware/collective_timing.h"

namespace dfsim::inline hardware {

std::vector<std::string> collective_operations() {
  return {"all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast"};
}

}  // namespace dfsim::inline hardware
