// A cost model that remembers its answers: a search prices the same shards again and again, and the
// devices of a node are mostly alike.
#pragma once

#include <memory>
#include <string>

#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

// Everything that a cost model may look at, as text: a model gives equal answers for devices with
// equal texts.
std::string device_kind(const DeviceSpec& device);

// `model` outlives it. Devices count as alike when all that a model can look at is equal. Answers
// are those of `model`, bit by bit. Not for several threads at once.
std::unique_ptr<CostModel> make_cached_model(const CostModel& model);

}  // namespace dfsim::inline opmodel
