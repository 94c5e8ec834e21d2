// Clusters of another size: a platform of several equal nodes with more or fewer of them.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "hardware/platform.h"

namespace dfsim::inline partition {

// The platform with `nodes` nodes: its last ones left out, or its last one repeated with its
// devices, its own switches (those that only it is linked to) and its links. Copies are named after
// their number where names hold that of the last node ("node7gpu0" becomes "node12gpu0"), else by
// a suffix. Errors (kInvalidInput): a platform that is no cluster of several nodes of accelerators,
// or more than 65536 devices. O(nodes * links).
StatusOr<Platform> resize_cluster(const Platform& platform, int64_t nodes);

}  // namespace dfsim::inline partition
