// slim_model: the bytes of an ONNX file without its weights.
//
// Walks protobuf's wire format of ModelProto and copies everything but the payload of large
// tensors, so that the real parser never sees them: a model of gigabytes costs what its graph
// costs, files over protobuf's 2 GB limit work, and memory-mapped weights are never touched.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dfsim::inline graphs {

// Tensor payloads above this many bytes are left out.
inline constexpr size_t kMaxKeptTensorBytes = size_t{32} << 10;

// Dimensions and types of every tensor are kept. Error (kInvalidInput): not well-formed, with the
// byte offset; subgraphs nested over 64 deep; more than 1 GiB without weights. O(|file|) in fields
// looked at, not in bytes of weights.
StatusOr<std::string> slim_model(std::string_view file);

}  // namespace dfsim::inline graphs
