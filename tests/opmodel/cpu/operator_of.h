// An fp32 operator with one output, as laws of kernels see it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "opmodel/cost_model.h"

namespace dfsim {

inline OpDescriptor operator_of(const std::string& op_type,
                                std::vector<std::vector<int64_t>> inputs,
                                std::vector<int64_t> output, const std::string& attributes = "") {
  OpDescriptor op;
  op.op_type = op_type;
  op.op_class = OpClass::kElementwise;
  op.dtype = DType::kFloat32;
  op.input_dtypes.assign(inputs.size(), DType::kFloat32);
  op.input_extents = std::move(inputs);
  op.output_extents = {std::move(output)};
  op.output_dtypes = {DType::kFloat32};
  op.attributes = attributes;
  return op;
}

}  // namespace dfsim
