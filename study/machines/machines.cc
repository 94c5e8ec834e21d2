// Loads machines and completes them with what is derived from their files.
#include "study/machines/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "graphs/passes/pipeline.h"
#include "hardware/builtin_files.h"
#include "hardware/platform_loader.h"
#include "hardware/sustained_rates.h"

namespace dfsim::inline study {
namespace {

bool passes(const Machine& machine, const MachineFilter& filter) {
  // The devices that run models count: a node's first one is of their type, its CPUs are not.
  Bytes largest = 0;
  for (const DeviceSpec& device : machine.platform.devices) {
    const bool counts = device.type == machine.platform.devices.front().type;
    largest = std::max(largest, counts ? device.memory_bytes : 0);
  }
  return (filter.vendor.empty() || to_lower(filter.vendor) == machine.vendor) &&
         static_cast<double>(largest) >= filter.min_memory_bytes;
}

}  // namespace

StatusOr<Machine> find_machine(const std::string& name) {
  DFSIM_ASSIGN_OR_RETURN(Platform platform, load_platform(name));
  Machine machine;
  for (const DeviceSpec& device : platform.devices) {
    machine.sustained.push_back(with_sustained_rates(device));
  }
  machine.fusion_stages = pass_stages(platform.runtime.fusions);
  machine.platform = std::move(platform);
  return machine;
}

StatusOr<MachineList> list_machines(const MachineFilter& filter) {
  MachineList list;
  std::set<std::string> vendors;
  for (const std::string& name : builtin_platforms()) {
    DFSIM_ASSIGN_OR_RETURN(Machine machine, find_machine(name));
    DFSIM_ASSIGN_OR_RETURN(const FoundFile file, find_settings_file(FileKind::kPlatform, name, ""));
    // A folder per vendor: hardware/platforms/nvidia/a100.yaml.
    machine.vendor = std::filesystem::path(file.path).parent_path().filename().string();
    vendors.insert(machine.vendor);
    if (passes(machine, filter)) {
      list.machines.push_back(std::move(machine));
    }
  }
  if (vendors.empty()) {
    return not_found(
        "found no hardware files, expected those that come with dfsim; set DFSIM_DATA_DIR to the "
        "folder that holds hardware/");
  }
  if (!filter.vendor.empty() && !vendors.contains(to_lower(filter.vendor))) {
    return invalid_input(
        "--vendor: " +
        unknown_name_message("vendor", filter.vendor, std::vector(vendors.begin(), vendors.end())));
  }
  if (list.machines.empty()) {
    return not_found(fmt::format(
        "no built-in machine{} has {} of memory or more; ask for less with --min-memory",
        filter.vendor.empty() ? "" : " of " + filter.vendor,
        format_bytes(static_cast<Bytes>(filter.min_memory_bytes))));
  }
  list.runtimes = builtin_runtimes();
  return list;
}

}  // namespace dfsim::inline study
