// Loads machines and completes them with what is derived from their files.
#include "study/machines/machines.h"

#include <utility>

#include "graphs/passes/pipeline.h"
#include "hardware/platform_loader.h"
#include "hardware/sustained_rates.h"

namespace dfsim::inline study {

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

StatusOr<MachineList> list_machines() {
  MachineList list;
  for (const std::string& name : builtin_platforms()) {
    DFSIM_ASSIGN_OR_RETURN(Machine machine, find_machine(name));
    list.machines.push_back(std::move(machine));
  }
  if (list.machines.empty()) {
    return not_found(
        "found no hardware files, expected those that come with dfsim; set DFSIM_DATA_DIR to the "
        "folder that holds hardware/");
  }
  list.runtimes = builtin_runtimes();
  return list;
}

}  // namespace dfsim::inline study
