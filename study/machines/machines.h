// The use case of `dfsim hardware`: which machines dfsim knows, and what it knows of one.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "hardware/platform.h"

namespace dfsim::inline study {

struct Machine {
  Platform platform;
  std::string vendor;  // of a built-in machine: "nvidia", "amd", …; "nodes" for several devices
  // By device: a copy whose peaks and bandwidth are what the device sustains.
  std::vector<DeviceSpec> sustained;
  // The passes of the runtime, stage by stage: a stage runs until nothing changes any more.
  std::vector<std::vector<std::string>> fusion_stages;
};

struct MachineList {
  std::vector<Machine> machines;      // the built-in ones, by name
  std::vector<std::string> runtimes;  // the built-in ones, sorted
};

// `name`: a hardware file, or the name or alias of a built-in one. Errors: those of
// load_platform().
StatusOr<Machine> find_machine(const std::string& name);

struct MachineFilter {
  std::string vendor;           // as Machine::vendor, case ignored; "" = any
  double min_memory_bytes = 0;  // of the largest device
};

// The built-in machines that pass the filter. Errors: kNotFound when the files that come with dfsim
// are not there, and when no machine passes; kInvalidInput for an unknown vendor; those of
// load_platform(). O(size of the files).
StatusOr<MachineList> list_machines(const MachineFilter& filter = {});

}  // namespace dfsim::inline study
