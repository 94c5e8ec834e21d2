// Makes scheduling problems from task graphs on identical processors, on a cluster file, or on a
// platform. Files that give delays instead of bytes get links that take those delays.
#include "schedulers/problem_instance.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "schedulers/comm_model.h"

namespace dfsim::inline schedulers {
namespace {

constexpr size_t kMaxInstanceDevices = 1024;
constexpr size_t kMaxMeshDevices = 128;
constexpr double kBytesPerNs = 1e9;  // one byte stands for one nanosecond of delay

OpCost given(TimeNs time) {
  OpCost cost;
  cost.time_ns = cost.low_ns = cost.high_ns = time;
  cost.source = CostSource::kGiven;
  return cost;
}

// Column of the file's table for each device.
CostTable cost_table(const TaskGraph& task_graph, const std::vector<size_t>& columns) {
  CostTable table(task_graph.cost_rows(), columns.size());
  for (uint32_t row = 0; row < task_graph.cost_rows(); ++row) {
    for (size_t d = 0; d < columns.size(); ++d) {
      table.at(row, DeviceId(d)) =
          given(task_graph.times_ns[row * task_graph.columns() + columns[d]]);
    }
  }
  return table;
}

// Devices on a switch whose links never get in each other's way: every pair is joined by the same
// rate and latency.
Platform star(const std::vector<TaskGraphDevice>& devices, double bytes_per_s, TimeNs latency_ns) {
  Platform platform;
  platform.switches = {"network"};
  for (const TaskGraphDevice& device : devices) {
    DeviceSpec spec;
    spec.name = device.name;
    spec.model = "processor";
    spec.type = DeviceType::kCpu;
    spec.memory_bytes = device.memory_bytes;
    spec.copy_engines = 0;
    platform.devices.push_back(spec);
    LinkSpec link;
    link.name = device.name + "-network";
    link.from = device.name;
    link.to = "network";
    link.bytes_per_s = bytes_per_s;
    link.sharing = LinkSharing::kNone;
    // The whole latency on one direction's worth of links: half in, half out.
    link.latency_ns = latency_ns / 2;
    platform.links.push_back(link);
  }
  return platform;
}

// Devices with a full-duplex link between each two that carries one transfer at a time.
Platform mesh(const std::vector<TaskGraphDevice>& devices, double bytes_per_s, TimeNs latency_ns) {
  Platform platform = star(devices, bytes_per_s, latency_ns);
  platform.switches.clear();
  platform.links.clear();
  for (size_t a = 0; a < devices.size(); ++a) {
    for (size_t b = a + 1; b < devices.size(); ++b) {
      LinkSpec link;
      link.name = devices[a].name + "-" + devices[b].name;
      link.from = devices[a].name;
      link.to = devices[b].name;
      link.bytes_per_s = bytes_per_s;
      link.sharing = LinkSharing::kFifo;
      link.latency_ns = latency_ns;
      platform.links.push_back(link);
    }
  }
  return platform;
}

Status finish(ProblemInstance& instance, TaskGraph& task_graph) {
  instance.graph_name = task_graph.name;
  instance.graph = std::move(task_graph.graph);
  instance.unitless = !task_graph.has_unit;
  instance.delays = task_graph.comm == CommKind::kDelay;
  DFSIM_ASSIGN_OR_RETURN(instance.comm, make_comm_model(instance.platform));
  return ok_status();
}

}  // namespace

StatusOr<ProblemInstance> make_instance(TaskGraph task_graph, const TaskGraphMachine& machine) {
  std::vector<TaskGraphDevice> devices = task_graph.devices;
  std::vector<size_t> columns;
  if (!devices.empty()) {
    if (machine.processors != 0 && machine.processors != devices.size()) {
      return invalid_input(fmt::format(
          "{}: {} processors are asked for, but the file has costs for {} devices; leave the "
          "number out",
          printable(task_graph.name), machine.processors, devices.size()));
    }
    for (size_t d = 0; d < devices.size(); ++d) {
      columns.push_back(d);
    }
  } else {
    const size_t count =
        machine.processors != 0 ? machine.processors : task_graph.suggested_devices;
    if (count == 0 || count > kMaxInstanceDevices) {
      return invalid_input(
          fmt::format("{}: found {} processors, expected 1 to {}; say how many with --procs N",
                      printable(task_graph.name), count, kMaxInstanceDevices));
    }
    for (size_t d = 0; d < count; ++d) {
      devices.push_back({fmt::format("P{}", d + 1), 0});
    }
    columns.assign(count, 0);
  }
  const bool delays = task_graph.comm == CommKind::kDelay;
  const double rate = delays                       ? kBytesPerNs
                      : task_graph.bytes_per_s > 0 ? task_graph.bytes_per_s
                                                   : machine.bytes_per_s;
  ProblemInstance instance;
  const bool is_fifo = machine.links.value_or(task_graph.links) == TaskGraphLinks::kFifo;
  if (is_fifo && devices.size() > kMaxMeshDevices) {
    return invalid_input(fmt::format(
        "{}: found {} devices, expected at most {} with a link between each two that carries one "
        "transfer at a time; use free links or a hardware file",
        printable(task_graph.name), devices.size(), kMaxMeshDevices));
  }
  instance.platform = is_fifo ? mesh(devices, rate, task_graph.latency_ns)
                              : star(devices, rate, task_graph.latency_ns);
  instance.hardware_name =
      fmt::format("{} {}processors{}", devices.size(),
                  task_graph.devices.empty() ? "identical " : "", is_fifo ? ", fifo links" : "");
  instance.platform.name = instance.hardware_name;
  instance.costs = cost_table(task_graph, columns);
  DFSIM_RETURN_IF_ERROR(finish(instance, task_graph));
  return instance;
}

StatusOr<ProblemInstance> make_instance(TaskGraph task_graph, const TripletCluster& cluster,
                                        std::optional<TaskGraphLinks> links) {
  constexpr double kMostNs = 1e18;
  const size_t devices = cluster.devices.size();
  if (task_graph.demands.size() != task_graph.cost_rows()) {
    return invalid_input(
        fmt::format("{}: its tasks have times, but a cluster of TripletRun needs what they "
                    "compute; use a graph "
                    "of TripletRun, or a hardware file",
                    printable(task_graph.name)));
  }
  std::vector<TaskGraphDevice> named;
  for (const TripletCluster::Device& device : cluster.devices) {
    named.push_back({fmt::format("dev{}", device.id), device.memory_bytes});
  }
  ProblemInstance instance;
  instance.platform = star(named, 1, 0);
  instance.platform.switches.clear();
  instance.platform.links.clear();
  const bool is_fifo = links.value_or(TaskGraphLinks::kFifo) == TaskGraphLinks::kFifo;
  for (size_t a = 0; a < devices; ++a) {
    for (size_t b = a + 1; b < devices; ++b) {
      LinkSpec link;
      link.name = named[a].name + "-" + named[b].name;
      link.from = named[a].name;
      link.to = named[b].name;
      link.bytes_per_s = cluster.bytes_per_s(a, b);
      link.sharing = is_fifo ? LinkSharing::kFifo : LinkSharing::kNone;
      if (link.bytes_per_s > 0) {
        instance.platform.links.push_back(link);
      }
    }
  }
  instance.platform.name = cluster.name;
  instance.hardware_name = cluster.name;
  instance.costs = CostTable(task_graph.cost_rows(), devices);
  for (uint32_t row = 0; row < task_graph.cost_rows(); ++row) {
    const TaskDemand& demand = task_graph.demands[row];
    for (size_t d = 0; d < devices; ++d) {
      const TripletCluster::Device& device = cluster.devices[d];
      const double ns = std::max(demand.compute / device.compute_per_s,
                                 demand.data_bytes / device.memory_bytes_per_s) *
                        static_cast<double>(kNsPerSecond);
      if (!(ns < kMostNs)) {
        return invalid_input(
            fmt::format("{}: a task would take {:.3g} s on '{}', expected less "
                        "than 1e9 s",
                        printable(task_graph.name), ns / 1e9, named[d].name));
      }
      instance.costs.at(row, DeviceId(d)) = given(static_cast<TimeNs>(ns + 0.5));
    }
  }
  DFSIM_RETURN_IF_ERROR(finish(instance, task_graph));
  return instance;
}

StatusOr<ProblemInstance> make_instance(TaskGraph task_graph, Platform platform) {
  if (task_graph.comm == CommKind::kDelay && task_graph.graph.edge_count() > 0) {
    return invalid_input(fmt::format(
        "{}: its edges are delays between processors, which a hardware file's links cannot give; "
        "use --procs N, or a graph whose edges are bytes",
        printable(task_graph.name)));
  }
  std::vector<size_t> columns(platform.devices.size(), 0);
  for (size_t d = 0; d < columns.size() && !task_graph.devices.empty(); ++d) {
    const auto named =
        std::ranges::find(task_graph.devices, platform.devices[d].name, &TaskGraphDevice::name);
    if (named != task_graph.devices.end()) {
      columns[d] = static_cast<size_t>(named - task_graph.devices.begin());
    } else if (task_graph.devices.size() == columns.size()) {
      columns[d] = d;
    } else {
      return invalid_input(
          fmt::format("{}: no costs for device '{}' of '{}'; expected the platform's device names",
                      printable(task_graph.name), printable(platform.devices[d].name),
                      printable(platform.name)));
    }
  }
  ProblemInstance instance;
  instance.hardware_name = platform.name;
  instance.costs = cost_table(task_graph, columns);
  instance.platform = std::move(platform);
  DFSIM_RETURN_IF_ERROR(finish(instance, task_graph));
  return instance;
}

}  // namespace dfsim::inline schedulers
