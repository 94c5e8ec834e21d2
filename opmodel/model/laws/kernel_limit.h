// The least time of a kernel, by laws for operators of which a model has no rows.
// Internal to opmodel.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "opmodel/features/op_geometry.h"
#include "opmodel/model/model_manifest.h"

namespace dfsim::inline opmodel {

struct KernelLimit {
  double time_us = 0;  // 0: no law is about this operator, or the part knows better
  double spread = 1;   // four fifths of the measured times are within this factor, each way
  // The operator runs a kernel that the part has not seen, even where the limit does not bind.
  bool foreign = false;
};

// For `part`, of an unaligned product (unaligned_products.h) or of narrow rows (narrow_rows.h).
// `geometry` is geometry_of(op). O(1).
KernelLimit kernel_limit(const ModelPart& part, const OpDescriptor& op, const OpGeometry& geometry,
                         const DeviceSpec& device);

}  // namespace dfsim::inline opmodel
