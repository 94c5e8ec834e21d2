// The table of families, and those questions about an operator that go through it.
#include "opmodel/features/feature_family.h"

#include <array>
#include <cmath>

#include "base/hash.h"
#include "datasets/profiles/profile.h"

namespace dfsim::inline opmodel {

namespace {

// Shapes in a device's own tensor formats (NC1HWC0...) do not read as ONNX's do.
bool plain_formats(const OpDescriptor& op) {
  return attribute_value(op.attributes, "formats").empty();
}

uint64_t key_of(const OpDescriptor& op, const OpGeometry& geometry) {
  Hasher hasher;
  hasher.add(static_cast<uint64_t>(geometry.family)).add(geometry.kind);
  if (geometry.family == Family::kGeneric) {
    return hasher.add(op.hash()).digest();
  }
  hasher.add(static_cast<uint64_t>(geometry.dtype));
  hasher.add(static_cast<uint64_t>(geometry.weight_dtype));
  for (const double value : geometry.dims) {
    hasher.add(static_cast<uint64_t>(std::llround(value)));
  }
  hasher.add(static_cast<uint64_t>(std::llround(geometry.bytes)));
  // Squares and cubes are products, other powers are not; dilated windows run other kernels. Only
  // unusual values count, so that tables from before this keep their keys.
  if (const std::string_view exponent = attribute_value(op.attributes, "exponent");
      !exponent.empty()) {
    hasher.add("exponent").add(exponent);
  }
  if (const std::string_view dilations = attribute_value(op.attributes, "dilations");
      dilations.find_first_not_of("1,") != std::string_view::npos) {
    hasher.add("dilations").add(dilations);
  }
  // On images whose channels are in blocks, ONNX Runtime runs kernels of their own.
  if (op.op_type.starts_with("com.microsoft.nchwc.")) {
    hasher.add("blocked");
  }
  if (runs_on_channels_last(op, geometry)) {
    hasher.add("last");
  }
  if (has_costly_activation(op)) {
    hasher.add("activation").add(attribute_value(op.attributes, "activation"));
  }
  hasher.add(attribute_value(op.attributes, "quant"));
  hasher.add(attribute_value(op.attributes, "fused"));
  return hasher.digest();
}

}  // namespace

const FeatureFamily& feature_family(Family family) {
  static const std::array<FeatureFamily, kFamilyCount> kFamilies = {
#define DFSIM_FEATURE_FAMILY(value, name) name##_family(),
#include "opmodel/features/feature_families.inc"
#undef DFSIM_FEATURE_FAMILY
  };
  return kFamilies[static_cast<size_t>(family)];
}

std::string_view family_name(Family family) { return feature_family(family).name; }

bool family_from_name(std::string_view name, Family* family) {
  for (int i = 0; i < kFamilyCount; ++i) {
    if (family_name(static_cast<Family>(i)) == name) {
      *family = static_cast<Family>(i);
      return true;
    }
  }
  return false;
}

OpGeometry geometry_of(const OpDescriptor& op) {
  OpGeometry geometry;
  bool found = false;
  // In formats of a device's own only the last family, which looks at no dimension, is right.
  for (int i = plain_formats(op) ? 0 : kFamilyCount - 1; i < kFamilyCount && !found; ++i) {
    geometry = OpGeometry();
    found = feature_family(static_cast<Family>(i)).geometry(op, &geometry);
  }
  geometry.key = key_of(op, geometry);
  return geometry;
}

}  // namespace dfsim::inline opmodel
