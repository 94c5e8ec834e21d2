// The communication model of a platform: idle transfer times along its routes.
#pragma once

#include <memory>

#include "base/status.h"
#include "schedulers/scheduler.h"

namespace dfsim {

// transfer_ns = sum of the route's latencies + bytes / its slowest bandwidth; 0 bytes take no time.
// Error (kInvalidInput): two devices that no route joins; names them.
StatusOr<std::unique_ptr<CommModel>> make_comm_model(const Platform& platform);

}  // namespace dfsim
