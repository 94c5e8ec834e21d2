// Bandwidths of a device's caches, for rooflines with a roof per memory level. Costs and
// simulations know the device's memory only; so these are read from the hardware file when they are
// wanted.
//
//   cache_levels:
//     - {name: L2, bandwidth_gb_per_s: 7219, mib: 40}   # nearest to the units first
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"

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

}  // namespace dfsim::inline hardware
