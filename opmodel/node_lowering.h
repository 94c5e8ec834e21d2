// Node lowering: a workload made ready to be placed on a node of several devices.
//
// - Inputs are in the host's memory and outputs are wanted there, where the platform has a CPU
//   device and an accelerator: one task per input and per output, which takes no time and runs on
//   the CPU only. What crosses a link from or to it is the copy between host and device.
// - An op is kept off devices that cannot run it: strings and classical machine learning
//   (ai.onnx.ml) off accelerators beside a CPU; arithmetic that a device has no units for; operands
//   that are larger than the device's memory.
// - Ops that read the same large parameter run on one device, so that it is resident once: the one
//   that runs them fastest and can hold it. A small one is taken to be on every device.
#pragma once

#include <vector>

#include "base/status.h"
#include "graphs/ir/exec_graph.h"
#include "graphs/ir/graph.h"
#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "opmodel/workload.h"

namespace dfsim::inline opmodel {

// Parameters up to this size are taken to be on every device that reads them.
inline constexpr Bytes kReplicatedParameterBytes = Bytes{1} << 20;

// The workload's tasks keep their order; task_of[i] is task i of the workload.
struct NodeWorkload {
  Workload workload;
  CostTable costs;                  // the first rows are those of the workload that came in
  std::vector<TimeNs> dispatch_ns;  // by task: as dispatch_times(), 0 for tasks of the host
  std::vector<TaskId> task_of;
};

// `costs` has the workload's rows on the platform's devices; `graph` is what the workload was made
// from. A platform with one device changes nothing. Error (kInvalidInput): an op that no device can
// run, with each device's reason. O((tasks + edges) + rows * devices).
StatusOr<NodeWorkload> lower_for_node(const Graph& graph, const Workload& workload,
                                      const Platform& platform, const CostTable& costs);

}  // namespace dfsim::inline opmodel
