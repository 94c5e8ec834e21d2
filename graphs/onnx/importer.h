// ONNX importer: a model file becomes a Graph with shapes, without its weights.
//
// Steps: map the file, drop weight payloads (slim.h), parse, sort, tell weights from inputs by use,
// bind symbolic dimensions, infer shapes with our own rules and folding, libonnx for the rest,
// declared shapes last. Ops that stay unresolved are listed, never silently zero.
// Memory and time depend on the graph, not on its weights; external data files may be missing: the
// importer reads only small tensors (shapes, axes, scales) from them. The model may be packed by
// gzip, or be the only ONNX file of a zip archive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "graphs/ir/import.h"

namespace dfsim::inline graphs {

// Errors: kNotFound, or kInvalidInput with `path: what is wrong`.
StatusOr<ImportedModel> import_onnx(const std::string& path, const ImportOptions& options);

// A digest of the values that import_onnx() reads from files next to the model: these decide about
// shapes. The same for all models without such files, and for files that cannot be read.
uint64_t external_values_digest(const std::string& path);

// As import_onnx() from memory; messages carry no path.
StatusOr<ImportedModel> import_onnx_bytes(std::string_view content, const ImportOptions& options);

}  // namespace dfsim::inline graphs
