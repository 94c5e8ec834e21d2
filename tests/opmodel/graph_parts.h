// Tensors and ops for the small graphs of opmodel's tests.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "graphs/ir/graph_builder.h"

namespace dfsim {

inline TensorId tensor(GraphBuilder& builder, const std::string& name, TensorRole role, Shape shape,
                       DType dtype = DType::kFloat32) {
  Tensor added;
  added.name = name;
  added.dtype = dtype;
  added.role = role;
  added.shape = std::move(shape);
  return builder.add_tensor(std::move(added));
}

// The op is named as its output.
inline TensorId op(GraphBuilder& builder, const std::string& type, std::vector<TensorId> inputs,
                   const std::string& output) {
  Op added;
  added.name = output;
  added.op_type = type;
  added.version = 17;
  added.inputs = std::move(inputs);
  added.outputs = {builder.tensor_by_name(output)};
  REQUIRE(builder.add_op(std::move(added)).ok());
  return builder.find_tensor(output);
}

}  // namespace dfsim
