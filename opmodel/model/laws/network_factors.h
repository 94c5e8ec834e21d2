// Factors on the prior's times of 16-bit operators, for operators inside whole networks.
//
// Purpose: public tables have 16-bit products and attention of five boards for computing, timed as
//   kernels alone; no table has 16-bit convolutions or consumer boards. Published times of whole
//   networks show by how much the prior is off for each class.
// Method: one factor per class, the least squares of logarithms over 36 networks on one board
//   (datasets/collect/fit_network_factors.py; docs/reference/cost-models.md). The runs that
//   docs/accuracy.md reports are others.
// Internal to opmodel.
#pragma once

#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "opmodel/features/op_geometry.h"

namespace dfsim::inline opmodel {

// The factor on a time of the prior: 1 for fp32 (convolutions in TF32 have those of 16 bits, whose
// algorithms they share), for other classes, and on other devices than GPUs.
// Products and attention have one only on boards whose matrix units accumulate fp32 at half rate
// (GeForce, L40), because the prior knows no such board: their units wait for nothing else. O(1).
double network_factor(const OpGeometry& geometry, const DeviceSpec& device);

// `time_us` of the prior times the factor, but no less than the roofline at sustained rates.
double in_network_us(const OpGeometry& geometry, const DeviceSpec& device, double time_us);

// The factor by which fused attention in 16 bits on a GPU takes longer when its head size is not a
// multiple of 32 elements, for a model that has not measured such sizes; 1 for others. O(1).
double head_padding(const OpGeometry& geometry, const DeviceSpec& device);

// A time of the prior inside a network: times `factor`, plus `added_us` for the
// conversions of layout_time.h.
struct NetworkCost {
  double factor = 1;
  double added_us = 0;
};
NetworkCost network_cost(const OpDescriptor& op, const OpGeometry& geometry,
                         const DeviceSpec& device, double time_us);

}  // namespace dfsim::inline opmodel
