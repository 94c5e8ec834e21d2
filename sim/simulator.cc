#include "sim/simulator.h"

#include <utility>

#include "sim/engine/engine.h"

namespace dfsim::inline sim {

std::string_view wait_reason_name(WaitReason reason) {
  switch (reason) {
    case WaitReason::kDependency:
      return "dependency";
    case WaitReason::kLink:
      return "link";
    case WaitReason::kHost:
      return "host";
    case WaitReason::kDevice:
      return "device";
    case WaitReason::kMemory:
      return "memory";
  }
  return "";
}

StatusOr<SimResult> simulate(const SimInput& input, const Schedule& schedule,
                             const SimOptions& options, SimListener* listener) {
  const RunMode mode;
  DFSIM_ASSIGN_OR_RETURN(EngineResult result,
                         run_engine({input, options, mode, listener}, schedule));
  return std::move(result.run);
}

StatusOr<SimResult> simulate(const SimInput& input, OnlineScheduler& policy,
                             const SimOptions& options, SimListener* listener) {
  const RunMode mode;
  DFSIM_ASSIGN_OR_RETURN(EngineResult result, run_engine({input, options, mode, listener}, policy));
  return std::move(result.run);
}

Schedule single_device_schedule(const ExecGraph& graph, size_t devices, DeviceId device) {
  Schedule schedule;
  schedule.placements.resize(graph.task_count(), Placement{device, 0, 0});
  schedule.order.resize(devices);
  schedule.order[device.index()].reserve(graph.task_count());
  for (size_t t = 0; t < graph.task_count(); ++t) {
    schedule.order[device.index()].emplace_back(t);
  }
  return schedule;
}

}  // namespace dfsim::inline sim
