// Sources: NVIDIA's data sheets "H100 Tensor Core GPU" (SXM), "H200 Tensor Core GPU", "A100 80GB
// Tensor Core GPU" (SXM) and "L40S GPU": dense peaks, memory bandwidth, NVLink per direction (L40S:
// PCIe 4.0 x16). The bounds they enter only have to be smooth; surfaces learn what is missing.
// Memory is what nvidia-smi lists: 81559, 143771, 81920 and 46068 MiB.
#include "serving/kernels/serving_system.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.h"

namespace dfsim::inline serving {

namespace {

constexpr std::array<ServingSystem, 4> kServingSystems = {{
    {"h100_sxm",
     "dgx-h100",
     "h100 h100-sxm h100-sxm5 dgx-h100",
     "NVIDIA H100 80GB HBM3",
     {989e6, 1979e6, 3.35e6, 0.45e6},
     Bytes{81559} << 20,
     true},
    {"h200_sxm",
     "dgx-h200",
     "h200 h200-sxm dgx-h200",
     "NVIDIA H200",
     {989e6, 1979e6, 4.8e6, 0.45e6},
     Bytes{143771} << 20,
     true},
    {"a100_sxm",
     "dgx-a100",
     "a100 a100-sxm a100-sxm4-80gb a100-80gb dgx-a100",
     "NVIDIA A100-SXM4-80GB",
     {312e6, 312e6, 2.039e6, 0.3e6},
     Bytes{81920} << 20,
     true},
    {"l40s",
     "",
     "l40s",
     "NVIDIA L40S",
     {362e6, 733e6, 0.864e6, 0.032e6},
     Bytes{46068} << 20,
     false},
}};

}  // namespace

std::span<const ServingSystem> serving_systems() { return kServingSystems; }

StatusOr<ServingSystem> find_serving_system(std::string_view name) {
  std::vector<std::string> names;
  for (const ServingSystem& system : kServingSystems) {
    if (system.name == name || std::ranges::count(split(system.aliases, ' '), name) > 0) {
      return system;
    }
    names.emplace_back(system.name);
  }
  return not_found(unknown_name_message("system", name, names));
}

}  // namespace dfsim::inline serving
