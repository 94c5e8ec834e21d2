// The laws of ONNX Runtime's single kernels on CPUs, one after the other: operators that no
// campaign measured (plain_kernels.h, decoder_kernels.h), then products of bytes by their types
// (byte_products.h).
// Internal to opmodel.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "opmodel/features/op_geometry.h"
#include "opmodel/model/model_manifest.h"

namespace dfsim::inline opmodel {

// Changes `cost`, the answer of a model with this manifest; nothing on other devices. `geometry` is
// geometry_of(op). O(parts).
void apply_cpu_kernels(const OpDescriptor& op, const OpGeometry& geometry, const DeviceSpec& device,
                       const ModelManifest& manifest, OpCost* cost);

}  // namespace dfsim::inline opmodel
