// Bandwidths of a device's caches and NUMA nodes, for rooflines with a roof per memory level. Costs
// and simulations know the device's memory only; so these are read from the hardware file when they
// are wanted.
//
//   cache_levels:
//     - {name: L2, bandwidth_gb_per_s: 7219, mib: 40}   # nearest to the units first
//
// `roofs` are the highest rates that any code reaches, measured with bare loops or derived from the
// units and the clock. They stand apart from `vector_tflops`, because cost models are trained with
// the rates that real kernels reach as features: a roof must not change a prediction.
//
//   roofs:
//     vector_tflops: {fp32: 0.2364, int8: 0.9458}
//     memory_bandwidth_gb_per_s: 75.6
//
// `numa` says how the memory of a CPU with several sockets is divided: the device's cores and
// bandwidth are those of all nodes, equal parts each.
//
//   numa: {nodes: 2, link_gb_per_s: 67.2}   # between two nodes, per direction
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "hardware/platform.h"

namespace dfsim::inline hardware {

class YamlFields;

struct MemoryLevel {
  std::string name;
  double bytes_per_s = 0;  // of all units together
  Bytes bytes = 0;         // of all units together
  std::string source;      // in the file's words; "" = not cited
};

// `cache_levels` of an entry of `devices:`; errors go into `fields`. Sources are left empty.
std::vector<MemoryLevel> read_memory_levels(YamlFields& fields);

// Those of the device of that model in a hardware file or a built-in one, which load_platform()
// reads without error; none where the file has none. Errors: those of load_platform().
StatusOr<std::vector<MemoryLevel>> load_memory_levels(const std::string& name_or_path,
                                                      const std::string& device_model);

struct Roofs {
  std::vector<PeakRate> peaks;    // of vector units
  double memory_bytes_per_s = 0;  // 0 = no roof of its own
  std::string source;             // in the file's words; "" = not cited

  bool empty() const { return peaks.empty() && memory_bytes_per_s <= 0; }
};

// `roofs` of an entry of `devices:`; errors go into `fields`. The source is left empty.
Roofs read_roofs(YamlFields& fields);

// Those of the device of that model, as load_memory_levels() finds it; empty where it has none.
StatusOr<Roofs> load_roofs(const std::string& name_or_path, const std::string& device_model);

struct NumaNodes {
  int nodes = 1;
  double link_bytes_per_s = 0;  // between two of them, per direction
  std::string source;           // in the file's words; "" = not cited
};

// `numa` of an entry of `devices:`; errors go into `fields`. The source is left empty.
NumaNodes read_numa_nodes(YamlFields& fields);

// Those of the device of that model, as load_memory_levels() finds it; one where it has no entry.
StatusOr<NumaNodes> load_numa_nodes(const std::string& name_or_path,
                                    const std::string& device_model);

// A copy of `device` whose rates are the roofs, where those are higher.
DeviceSpec with_roofs(DeviceSpec device, const Roofs& roofs);

}  // namespace dfsim::inline hardware
