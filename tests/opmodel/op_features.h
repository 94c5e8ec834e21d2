// Features of one operator of float32 by their names, on a device with a memory and nothing else.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "opmodel/features/features.h"

namespace dfsim {

using Shapes = std::vector<std::vector<int64_t>>;

inline std::map<std::string, double> op_features(std::string type, OpClass op_class, Shapes in,
                                                 Shapes out, std::string attributes = "",
                                                 FeatureSet set = FeatureSet::kOfCpus,
                                                 DType dtype = DType::kFloat32) {
  OpDescriptor op;
  op.op_type = std::move(type);
  op.op_class = op_class;
  op.dtype = dtype;
  op.attributes = std::move(attributes);
  op.input_dtypes.assign(in.size(), dtype);
  op.output_dtypes.assign(out.size(), dtype);
  op.input_extents = std::move(in);
  op.output_extents = std::move(out);
  const OpGeometry geometry = geometry_of(op);
  const auto& names = feature_names(geometry.family, set);
  std::vector<float> values(names.size());
  DeviceSpec device;
  device.memory_bytes_per_s = 1e11;
  fill_features(op, geometry, device, roofline_of(geometry, device, 1), set, values);
  std::map<std::string, double> found;
  for (size_t i = 0; i < names.size(); ++i) {
    found[names[i]] = values[i];
  }
  return found;
}

}  // namespace dfsim
