// FeatureFamily: everything that is particular to one family of operators: which operators belong
// to it, what a model sees of them, and how its trees are grown. Internal to opmodel/features and
// opmodel/train.
#pragma once

#include <string_view>

#include "opmodel/features/feature_writer.h"

namespace dfsim::inline opmodel {

// How the trees of a family are grown. Found on the public data sets
// (opmodel/pretrained/build_pretrained.sh trains on them) by the error on held-out shapes.
struct Recipe {
  int depth;
  double eta;
  double columns;         // share of the features each tree may use
  double least_weight;    // rows in a leaf
  int rounds;             // at most; fewer when the validation error stops falling
  double floor_quantile;  // of the times of a device: what nothing of this family takes less than
};

// Inputs of the features of an operator.
struct FeatureInput {
  const OpDescriptor& op;
  const OpGeometry& geometry;
  const DeviceFacts& facts;
  const Roofline& roofline;
};

struct FeatureFamily {
  std::string_view name;
  // Fills the geometry, or gives false when the operator does not fit the family.
  bool (*geometry)(const OpDescriptor& op, OpGeometry* out);
  void (*features)(const FeatureInput& input, FeatureWriter& writer);
  // Features that are written behind those of all families, in this order, as models from before
  // them know the first ones only. nullptr: none.
  void (*walk_features)(const OpDescriptor& op, FeatureWriter& writer) = nullptr;
  void (*cache_features)(const FeatureInput& input, FeatureWriter& writer) = nullptr;
  // The last ones, of models of CPUs and of models of GPUs (FeatureSet).
  void (*cpu_features)(const FeatureInput& input, FeatureWriter& writer) = nullptr;
  void (*gpu_features)(const FeatureInput& input, FeatureWriter& writer) = nullptr;
  Recipe recipe;
};

#define DFSIM_FEATURE_FAMILY(value, name) FeatureFamily name##_family();
#include "opmodel/features/feature_families.inc"
#undef DFSIM_FEATURE_FAMILY

// In the order of Family.
const FeatureFamily& feature_family(Family family);

// Whether `op` is a depthwise convolution of 16 bits on images with their channels last: cuDNN has
// a kernel for these that takes a fraction of the time. Other kinds have the same kernels between
// conversions (opmodel/model/laws/layout_time.h).
bool runs_on_channels_last(const OpDescriptor& op, const OpGeometry& geometry);

// Whether a fused convolution or product passes over its results again for an activation. ONNX
// Runtime's kernels clamp at zero (Relu) before they store a result; another function takes
// microseconds that no shape shows.
bool has_costly_activation(const OpDescriptor& op);

// The input of a product or convolution that holds the right operand: those of quantised operators
// come with scale and zero point.
size_t right_operand(const OpDescriptor& op);

// Geometries of family_geometries.cc, one per family.
bool gemm_geometry(const OpDescriptor& op, OpGeometry* out);
bool conv_geometry(const OpDescriptor& op, OpGeometry* out);
bool attention_geometry(const OpDescriptor& op, OpGeometry* out);
bool rows_geometry(const OpDescriptor& op, OpGeometry* out);
bool generic_geometry(const OpDescriptor& op, OpGeometry* out);

}  // namespace dfsim::inline opmodel
