// From onnx.proto's tensors, types and attributes to ours. Internal to graphs/onnx.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>

#include "base/status.h"
#include "graphs/ir/attributes.h"
#include "graphs/ir/graph_builder.h"

namespace dfsim::inline graphs {

// Static shape of a tensor. Error: an extent outside 0 to kMaxExtent, a rank over kMaxRank.
StatusOr<Shape> read_dims(const onnx::TensorProto& tensor);

// The values when they are present, complete and few (keeps_value()); nullopt otherwise. External
// data counts as absent.
std::optional<ConstValue> read_value(const onnx::TensorProto& tensor);

// Element type and shape of a declared value; symbolic dims become symbols of the builder.
// Of sequences and optionals the element is read. Maps and sparse tensors give unknown dtype and
// rank.
struct DeclaredType {
  DType dtype = DType::kUnknown;
  Shape shape;
  bool is_sequence = false;
};
StatusOr<DeclaredType> read_type(const onnx::TypeProto& type, GraphBuilder* builder);

// Attributes other than graphs. Error: more than any operator has (over 1,000).
StatusOr<Attributes> read_attributes(const onnx::NodeProto& node);

// The tensor that a Constant node holds in one of its attributes. Error: not one output or no
// value.
StatusOr<onnx::TensorProto> constant_of_node(const onnx::NodeProto& node);

// Name, type and dims of a sparse tensor; the values are not looked at.
onnx::TensorProto dense_header(const onnx::SparseTensorProto& sparse);

}  // namespace dfsim::inline graphs
