// Files that hold a model in another form: packed ones are unpacked, others named with what to do.
// Internal to graphs/onnx.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dfsim::inline graphs {

// The ONNX model inside a gzip stream, or the only *.onnx file of a zip archive; std::nullopt when
// `content` is neither. Errors (kInvalidInput): it holds no or several models, is damaged, or holds
// an export of another framework, with the way to convert that.
StatusOr<std::optional<std::string>> unpack_model(std::string_view content);

// Ok unless the bytes plainly are of another kind of file. Error: which, and how to get an ONNX
// model from it.
Status check_kind(std::string_view content);

// Reads the values of small tensors that the model keeps in files of `folder` (shapes, axes,
// scales); weights are left where they are. A file that is missing leaves the value unknown.
// Returns a digest of the values that were read.
uint64_t load_small_external(const std::string& folder, onnx::ModelProto* model);

}  // namespace dfsim::inline graphs
