#include "bench/layered_workload.h"

#include <string>
#include <utility>

#include "base/rng.h"
#include "graphs/taskgraph/generate.h"

namespace dfsim::bench {

LayeredWorkload layered_workload(size_t tasks, double ccr, LinkSharing sharing) {
  LayeredWorkload workload;
  GenerateOptions options;
  options.shape = "layered";
  options.tasks = tasks;
  options.devices = kDevices;
  options.ccr = ccr;
  workload.task_graph = std::move(generate_task_graph(options)).value();
  const TaskGraph& graph = workload.task_graph;
  workload.costs = CostTable(graph.cost_rows(), kDevices);
  for (uint32_t row = 0; row < graph.cost_rows(); ++row) {
    for (size_t d = 0; d < kDevices; ++d) {
      workload.costs.at(row, DeviceId(d)).time_ns = graph.times_ns[row * kDevices + d];
    }
  }
  for (size_t d = 0; d < kDevices; ++d) {
    DeviceSpec device;
    device.name = std::string(1, static_cast<char>('a' + d));
    for (const DeviceSpec& other : workload.platform.devices) {
      LinkSpec link;
      link.from = device.name;
      link.to = other.name;
      link.bytes_per_s = 1e9;
      link.sharing = sharing;
      workload.platform.links.push_back(link);
    }
    workload.platform.devices.push_back(device);
  }
  Rng rng(1);
  workload.schedule.order.resize(kDevices);
  for (size_t t = 0; t < tasks; ++t) {
    const DeviceId device(rng.below(kDevices));
    workload.schedule.placements.push_back({device, 0, 0});
    workload.schedule.order[device.index()].emplace_back(t);
  }
  return workload;
}

}  // namespace dfsim::bench
