// The GPU servers that kernels were measured on, with the figures of their data sheets.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/units.h"
#include "serving/kernels/kernel_kind.h"

namespace dfsim::inline serving {

struct ServingSystem {
  std::string_view name;      // as in measured tables: "h100_sxm"
  std::string_view platform;  // the built-in hardware file of a server of these, or ""
  std::string_view aliases;   // names of hardware files with these GPUs, separated by spaces
  std::string_view gpu_name;  // as the driver reports it
  KernelGpu gpu;              // dense peaks without sparsity
  Bytes memory_bytes = 0;     // as the driver reports it
  bool custom_all_reduce =
      true;  // GPUs reach each other's memory, so engines use their own kernels
};

std::span<const ServingSystem> serving_systems();
// Also takes the aliases, so that the names of `dfsim hardware` work here. Error: kNotFound with
// the valid names.
StatusOr<ServingSystem> find_serving_system(std::string_view name);

}  // namespace dfsim::inline serving
