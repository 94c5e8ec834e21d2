// PyTorch's operators as its profiler records them -> ONNX's operands, attributes and names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "datasets/profiles/profile.h"

namespace dfsim::inline datasets {

// One argument of a recorded call: a tensor, or the text of something else.
struct TorchArgument {
  bool is_tensor = false;
  TensorSpec tensor;
  std::vector<int64_t> strides;  // in elements; empty when not recorded
  std::string text;              // "[1, 1]", "True", "1e-05"; "" when not recorded
};

// One argument per recorded position, from the profiler's "Input Dims", "Input type", "Input
// Strides" and "Concrete Inputs" as JSON text (each may be empty). A list of tensors becomes as
// many tensors.
std::vector<TorchArgument> parse_torch_arguments(std::string_view dims, std::string_view types,
                                                 std::string_view strides, std::string_view values);

// What a call is to a profile. Ops that the table does not list keep their name, their tensors in
// order, and the class that their name suggests (or kOpaque); outputs are empty where they cannot
// be told from the inputs.
struct TorchOp {
  std::string op_type;
  OpClass op_class = OpClass::kOpaque;
  TensorList inputs;
  TensorList outputs;
  std::string attributes;
};
TorchOp describe_torch_op(std::string_view name, const std::vector<TorchArgument>& arguments);

// True for ops that only allocate or reinterpret memory (empty, view, as_strided...).
bool is_torch_bookkeeping(std::string_view name);

// float16 of "c10::Half", "float", "long int"...; kUnknown for what is no element type.
DType torch_dtype(std::string_view name);

}  // namespace dfsim::inline datasets
