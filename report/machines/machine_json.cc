// JSON of machines: every figure of the file, and the sustained rates next to the data sheet's.
#include <string>
#include <utility>
#include <vector>

#include "report/machines/machine_views.h"

namespace dfsim::inline report {

namespace {

using Json = JsonTree;

// FLOP per byte at which compute and memory take equally long.
double ridge_of(const DeviceSpec& device, double flops_per_s) {
  return flops_per_s / device.memory_bytes_per_s;
}

Json citations_json(const std::vector<Citation>& citations) {
  Json json = Json::object();
  for (const Citation& citation : citations) {
    json[citation.figure] = citation.source;
  }
  return json;
}

Json device_json(const DeviceSpec& device, const DeviceSpec& sustained) {
  Json peaks = Json::array();
  for (size_t i = 0; i < device.peaks.size(); ++i) {
    const PeakRate& peak = device.peaks[i];
    peaks.push_back({{"dtype", dtype_name(peak.dtype)},
                     {"vector_flops_per_s", peak.flops_per_s},
                     {"matrix_flops_per_s", peak.matrix_flops_per_s},
                     {"ridge_flop_per_byte", ridge_of(device, peak.flops_per_s)},
                     {"matrix_ridge_flop_per_byte", ridge_of(device, peak.matrix_flops_per_s)},
                     {"sustained_vector_flops_per_s", sustained.peaks[i].flops_per_s},
                     {"sustained_matrix_flops_per_s", sustained.peaks[i].matrix_flops_per_s}});
  }
  if (device.tf32_flops_per_s > 0) {
    peaks.push_back({{"dtype", "tf32"},
                     {"vector_flops_per_s", 0.0},
                     {"matrix_flops_per_s", device.tf32_flops_per_s},
                     {"ridge_flop_per_byte", 0.0},
                     {"matrix_ridge_flop_per_byte", ridge_of(device, device.tf32_flops_per_s)},
                     {"sustained_vector_flops_per_s", 0.0},
                     {"sustained_matrix_flops_per_s", sustained.tf32_flops_per_s}});
  }
  return {{"name", device.name},
          {"model", device.model},
          {"type", device_type_name(device.type)},
          {"memory_bytes", device.memory_bytes},
          {"memory_bytes_per_s", device.memory_bytes_per_s},
          {"sustained_memory_bytes_per_s", sustained.memory_bytes_per_s},
          {"board_power_w", device.board_power_w},
          {"l2_bytes", device.l2_bytes},
          {"compute_units", device.compute_units},
          {"launch_overhead_ns", device.launch_overhead_ns},
          {"queues", device.queues},
          {"copy_engines", device.copy_engines},
          {"overlap_slowdown", device.overlap_slowdown},
          {"allow_tf32", device.allow_tf32},
          {"cost_model", device.cost_model},
          {"peaks", std::move(peaks)},
          {"sources", citations_json(device.citations)}};
}

Json runtime_json(const Machine& machine) {
  const RuntimeSpec& runtime = machine.platform.runtime;
  return {{"name", runtime.name},
          {"description", runtime.description},
          {"dispatch_ns", runtime.dispatch_ns},
          {"view_dispatch_ns", runtime.view_dispatch_ns},
          {"run_overhead_ns", runtime.run_overhead_ns},
          {"asynchronous", runtime.asynchronous},
          {"queue_depth", runtime.queue_depth},
          {"dispatch_threads", runtime.dispatch_threads},
          {"inter_op_workers", runtime.inter_op_workers},
          {"streams", runtime.streams},
          {"fusions", machine.fusion_stages},
          {"fold_constants", runtime.fold_constants},
          {"allocator", allocator_kind_name(runtime.allocator)},
          {"allocation_bytes", runtime.allocation_bytes},
          {"sources", citations_json(runtime.citations)}};
}

Json platform_json(const Machine& machine) {
  const Platform& platform = machine.platform;
  Json devices = Json::array();
  for (size_t d = 0; d < platform.devices.size(); ++d) {
    devices.push_back(device_json(platform.devices[d], machine.sustained[d]));
  }
  Json links = Json::array();
  for (const LinkSpec& link : platform.links) {
    links.push_back({{"name", link.name},
                     {"from", link.from},
                     {"to", link.to},
                     {"bytes_per_s", link.bytes_per_s},
                     {"latency_ns", link.latency_ns},
                     {"full_duplex", link.full_duplex},
                     {"sharing", link_sharing_name(link.sharing)},
                     {"source", link.source}});
  }
  Json collectives = Json::array();
  for (const CollectiveTiming& fit : platform.collectives) {
    Json protocols = Json::array();
    for (const CollectiveProtocol& protocol : fit.protocols) {
      protocols.push_back({{"start_ns", protocol.start_ns},
                           {"step_ns", protocol.step_ns},
                           {"bytes_per_s", protocol.bytes_per_s}});
    }
    collectives.push_back({{"over", fit.over},
                           {"operation", fit.operation},
                           {"protocols", std::move(protocols)},
                           {"source", fit.source}});
  }
  return {{"name", platform.name},
          {"description", platform.description},
          {"file", platform.source_file},
          {"aliases", platform.aliases},
          {"devices", std::move(devices)},
          {"switches", platform.switches},
          {"links", std::move(links)},
          {"collectives", std::move(collectives)},
          {"host", {{"node", platform.host.node}, {"memory_bytes", platform.host.memory_bytes}}},
          {"runtime", runtime_json(machine)}};
}

}  // namespace

JsonTree machine_json(const Machine& machine) {
  Json json = {{"schema", "dfsim.hardware/1"}};
  json.update(platform_json(machine));
  return json;
}

JsonTree machine_list_json(const MachineList& list) {
  Json platforms = Json::array();
  for (const Machine& machine : list.machines) {
    platforms.push_back(platform_json(machine));
  }
  return {{"schema", "dfsim.hardware-list/1"},
          {"platforms", std::move(platforms)},
          {"runtimes", list.runtimes}};
}

}  // namespace dfsim::inline report
