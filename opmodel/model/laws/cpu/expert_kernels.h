// Times of ONNX Runtime's mixtures of experts (MoE, QMoE) on CPUs.
//
// Purpose: a plain product of as many multiply-adds reads its weights from panels; each
//   expert copies its matrices for the few rows that it gets, and weights of few bits are written
//   out before, so mixtures take up to 16 times as long.
// Method: rates of one machine with one and two threads
//   (datasets/collect/ort_cpu/kernels/expert_ops.py; datasets/measured/other-cpus/expert_ops.csv),
//   next to those of packed products (packed_weights.h).
// Internal to opmodel.
#pragma once

#include "opmodel/cost_model.h"
#include "opmodel/model/laws/cpu/kernel_terms.h"

namespace dfsim::inline opmodel {

// Nanoseconds, each token routed at random; 0 where extents or attributes are not known. O(1).
double experts_ns(const OpDescriptor& op, const CoreRates& rates);

}  // namespace dfsim::inline opmodel
