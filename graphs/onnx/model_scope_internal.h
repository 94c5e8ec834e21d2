// What nodes of a model look up by name: opset versions and the model's own functions. Internal to
// graphs/onnx.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace dfsim::inline graphs {

using Opsets = std::map<std::string, int>;  // domain ("" is ai.onnx) -> version

// "ai.onnx" and "" are one domain.
std::string canonical_domain(const std::string& domain);

struct ModelScope {
  Opsets opsets;
  std::map<std::pair<std::string, std::string>, const onnx::FunctionProto*> functions;

  // The version that a node of `domain` is read by; 1 for a domain that is not imported.
  int version_of(const Opsets& imported, const std::string& domain) const;
};

// Parses the bytes of a file, weights left out. Error (kInvalidInput): it is something else, or not
// well-formed, or holds no graph.
StatusOr<onnx::ModelProto> parse_model(std::string_view content);

// Reads opset imports and functions of `model`, which must outlive the scope. What is odd but
// bearable is told in `notes`. Error: an implausible opset.
StatusOr<ModelScope> read_scope(const onnx::ModelProto& model, std::vector<std::string>* notes);

}  // namespace dfsim::inline graphs
