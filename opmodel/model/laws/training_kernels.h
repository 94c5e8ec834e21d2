// Times of kernels that only training steps have, where a model was trained on inference alone.
//
// Purpose: tables of kernels hold inference. In training, batch normalisation computes statistics,
//   and the gradients of normalisations and of grouped convolutions have kernels of their own that
//   are far from any roofline.
// Method: laws with few parameters in clock cycles, fitted to the kernels of 14 training steps on
//   an H100 (datasets/collect/torch_gpu/fit_norm_laws.py; docs/reference/cost-models.md has the
//   errors, also on another board).
// Internal to opmodel.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "opmodel/model/model_manifest.h"

namespace dfsim::inline opmodel {

// A normalisation in training: its forward operator with its own statistics, or its gradients.
bool is_training_norm(const OpDescriptor& op);

// Replaces `cost`, the answer of a model with this manifest, by that of a law where one exists for
// `op` on a GPU and the model knows no training steps; such an answer is a prior. `cost` of a
// convolution's gradient is that of the convolution (as_learned()): it is stretched on GPUs, and
// its interval widened. O(parts).
void apply_training_kernel(const OpDescriptor& op, const DeviceSpec& device,
                           const ModelManifest& manifest, OpCost* cost);

// Microseconds of a batch normalisation of [N, C, ...] that computes its own statistics, or of its
// gradients; 0 for any other operator, or where the clock or the number of units is not known.
double batch_norm_training_us(const OpDescriptor& op, const DeviceSpec& device);

}  // namespace dfsim::inline opmodel
