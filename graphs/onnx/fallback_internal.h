// libonnx's shape inference for single operators that have no rule of ours.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <unordered_map>

#include "graphs/ir/graph_builder.h"

namespace dfsim::inline graphs {

// Runs libonnx on one node at a time, with the input shapes known so far. Data propagation stays
// off (it crashes on unknown operators), and operators libonnx has no schema for are not tried.
class OnnxFallback {
 public:
  // `model` must outlive this object.
  explicit OnnxFallback(const onnx::ModelProto& model);

  // Sets what it finds on the builder; returns "" or why nothing was found.
  std::string infer(GraphBuilder& builder, OpId op) const;

 private:
  const onnx::ModelProto& model_;
  mutable std::unordered_map<std::string, const onnx::NodeProto*>
      by_output_;  // filled on first use
};

}  // namespace dfsim::inline graphs
