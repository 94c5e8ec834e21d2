// The time of an operator on a CPU that a part has no rows of, from a CPU that it has: the law of
// `dfsim roofline --sweep threads` for the cores (study/roofline/scaling/thread_scaling.h; Amdahl
// 1967, doi:10.1145/1465482.1465560), printed rates for the speed of one core and of the memory.
// Internal to opmodel.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "hardware/platform.h"
#include "opmodel/features/op_geometry.h"
#include "opmodel/model/model_manifest.h"
#include "opmodel/model/part_model.h"
#include "opmodel/trees/forest.h"

namespace dfsim::inline opmodel {

// How an unknown CPU relates to those that a part was trained on.
struct OtherCpu {
  // The known CPU with the most cores that the unknown one has, too; else the one with the fewest.
  DeviceSpec known;
  DeviceSpec rates;             // of the known CPU, in the measure of the unknown one's file
  double core_bytes_per_s = 0;  // that one known core draws from the memory
  double speed = 1;             // of a core, relative to a known one
  double speed_of_8_bits = 1;   // the same for arithmetic of 8 bits
  // Of the unknown CPU's memory, in the same measure.
  double memory_bytes_per_s = 0;
  double spread = 1;  // four fifths of the times are within this factor, each way: an assumption
};

// Nothing for a device other than a CPU or that the part knows, one whose fp32 rate or number of
// cores is not known, or where the manifest describes none of the part's devices with a rate.
// `device` has the rates of its data sheet. Manifests do not tell CPUs from GPUs: a model of GPUs
// that a CPU names counts as one of CPUs. O(devices of the part).
std::optional<OtherCpu> other_cpu(const ModelManifest& manifest, const ModelPart& part,
                                  const DeviceSpec& device);

// On `device`, from the operator's time on `cpu.known`. O(1).
double other_cpu_us(const OtherCpu& cpu, const OpGeometry& geometry, const DeviceSpec& device,
                    double known_us);

// predict_part(), and for a CPU of other_cpu() what follows from the known one: extrapolated, with
// intervals that contain its spread. `trees` may be null. O(queries).
std::vector<PartAnswer> predict_on_device(const ModelManifest& manifest, const ModelPart& part,
                                          const Forest* trees, std::span<const PartQuery> queries,
                                          const DeviceSpec& device);

// OtherCpu::spread of `device` for the first part that has one, else 1. O(parts x devices).
double other_cpu_spread(const ModelManifest& manifest, const DeviceSpec& device);

}  // namespace dfsim::inline opmodel
