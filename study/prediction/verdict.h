// The verdict on a prediction: what decides its latency, and the one change that would help most
// of those that cost next to nothing to predict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace dfsim::inline study {

// The part that a run waits for most: its devices' work, the host that hands them operators, or
// copies between memories; kNothing for a model without operators.
enum class Limit : uint8_t { kNothing, kDevice, kHost, kTransfers };

std::string_view limit_name(Limit limit);  // "device"

struct Verdict {
  Limit limit = Limit::kNothing;
  double device_share = 0;  // of the latency; over 1 where several devices work at once
  double host_share = 0;
  double copy_share = 0;
  std::string main_class;  // of operators, that most of the devices' time goes to
  double class_share = 0;  // of the devices' time
  std::string main_bound;  // what bounds most of the devices' time: "compute", "memory", …
  double bound_share = 0;

  // A setting with its own prediction, which is shorter.
  struct Change {
    std::string name;    // "CUDA graphs"
    std::string option;  // "--runtime cuda-graph"
    TimeNs latency_ns = 0;
    double bound_only_share = 0;  // of the device time
  };
  std::optional<Change> change;
};

}  // namespace dfsim::inline study
