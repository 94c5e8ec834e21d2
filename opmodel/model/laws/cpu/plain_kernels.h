// Times of ONNX Runtime's operators on CPUs that no campaign measured.
//
// Purpose: most of them call a function of the C library per element, step through memory along an
//   inner axis, or run on one thread, far from any roofline: trees that know only other operators
//   predict them 3 to 100 times too short.
// Method: time per element and per Fourier transform, measured on one machine with one and two
//   threads (datasets/collect/ort_cpu/kernels/plain_ops.py;
//   datasets/measured/other-cpus/plain_ops.csv).
// Internal to opmodel.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "opmodel/features/op_geometry.h"
#include "opmodel/model/model_manifest.h"

namespace dfsim::inline opmodel {

// Microseconds on that many cores; 0 for operators that were not measured. O(length of the table).
double plain_kernel_us(const OpDescriptor& op, int cores);

// Replaces `cost`, the answer of a model with this manifest on a CPU, where plain_kernel_us() knows
// the operator and no part of the model has its form: extrapolated, with an interval that allows
// for another processor. `geometry` is geometry_of(op). O(parts).
void apply_plain_kernel(const OpDescriptor& op, const OpGeometry& geometry,
                        const DeviceSpec& device, const ModelManifest& manifest, OpCost* cost);

}  // namespace dfsim::inline opmodel
