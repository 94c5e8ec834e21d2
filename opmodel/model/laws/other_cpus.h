// The time of an operator on a CPU that a part has no rows of, from one or two CPUs that it has:
// Amdahl's law (1967, doi:10.1145/1465482.1465560) for the cores, printed rates for the speed of
// one. Internal to opmodel.
#pragma once

#include <optional>

#include "hardware/platform.h"
#include "opmodel/model/model_manifest.h"

namespace dfsim::inline opmodel {

// How an unknown CPU relates to those that a part was trained on.
struct OtherCpu {
  DeviceSpec few;     // the known CPU with the fewest cores
  DeviceSpec many;    // the known one with the most; `few` where there is one alone
  int cores = 1;      // of the unknown CPU
  double speed = 1;   // of one of its cores, relative to a core of the known CPUs
  double spread = 1;  // four fifths of the times are within this factor, each way: an assumption
};

struct OtherCpuTime {
  double time_us = 0;
  double least_us = 0;  // with nothing serial, on a faster machine of its kind
};

// Nothing for a device that is no CPU, that the part knows, whose fp32 rate or number of cores is
// not known, or where the manifest describes no CPU of the part. `device` has the rates of its data
// sheet. O(devices of the part).
std::optional<OtherCpu> other_cpu(const ModelManifest& manifest, const ModelPart& part,
                                  const DeviceSpec& device);

// From the operator's times on `few` and `many`. O(1).
OtherCpuTime other_cpu_time(const OtherCpu& cpu, double few_us, double many_us);

}  // namespace dfsim::inline opmodel
