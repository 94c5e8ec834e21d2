// Small simulations for tests: a graph, costs and a platform made in a few lines.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "sim/simulator.h"

namespace dfsim {

class SimCase {
 public:
  // `devices` GPUs without host cost or limits, each pair joined by a link of 1 byte/ns.
  explicit SimCase(size_t devices) {
    for (size_t d = 0; d < devices; ++d) {
      DeviceSpec device;
      device.name = fmt::format("d{}", d);
      device.copy_engines = 0;
      platform.devices.push_back(device);
      for (size_t other = 0; other < d; ++other) {
        link(fmt::format("d{}", other), device.name);
      }
    }
  }
  LinkSpec& link(const std::string& from, const std::string& to) {
    LinkSpec link;
    link.name = fmt::format("{}-{}", from, to);
    link.from = from;
    link.to = to;
    link.bytes_per_s = 1e9;
    link.sharing = LinkSharing::kFifo;
    platform.links.push_back(link);
    return platform.links.back();
  }
  // A task that takes `time_ns` on every device.
  TaskId task(TimeNs time_ns, uint32_t device = 0) {
    ExecGraphBuilder::Task task;
    task.cost_row = static_cast<uint32_t>(times.size());
    times.push_back(time_ns);
    placement.push_back(device);
    return builder.add_task(task);
  }
  TaskId task(TimeNs time_ns, uint32_t device, Bytes workspace, Bytes resident = 0) {
    ExecGraphBuilder::Task task;
    task.cost_row = static_cast<uint32_t>(times.size());
    task.workspace_bytes = workspace;
    task.resident_bytes = resident;
    times.push_back(time_ns);
    placement.push_back(device);
    return builder.add_task(task);
  }
  DataId edge(TaskId from, TaskId to, Bytes bytes) {
    const DataId data = builder.add_data(from, bytes);
    builder.add_edge(data, to);
    return data;
  }

  // After the last task and edge. Tasks must be added in topological order.
  void build() {
    auto built = builder.build();
    REQUIRE(built.ok());
    graph = std::move(built).value();
    costs = CostTable(times.size(), platform.devices.size());
    schedule = Schedule();
    schedule.order.resize(platform.devices.size());
    for (size_t t = 0; t < times.size(); ++t) {
      for (size_t d = 0; d < platform.devices.size(); ++d) {
        costs.at(static_cast<uint32_t>(t), DeviceId(d)).time_ns = times[t];
      }
      schedule.placements.push_back({DeviceId(placement[t]), 0, 0});
      schedule.order[placement[t]].emplace_back(t);
    }
  }
  SimInput input() const { return {graph, costs, platform}; }
  SimResult run(const SimOptions& options = {}, SimListener* listener = nullptr) {
    auto result = simulate(input(), schedule, options, listener);
    INFO(result.status().message());
    REQUIRE(result.ok());
    return std::move(result).value();
  }

  Platform platform;
  ExecGraphBuilder builder;
  std::vector<TimeNs> times;
  std::vector<uint32_t> placement;
  ExecGraph graph;
  CostTable costs;
  Schedule schedule;
};

}  // namespace dfsim
