// TensorFlow importer: a frozen GraphDef, a SavedModel or a graph in text format becomes a Graph
// with shapes, without its weights.
//
// Steps: drop weight payloads (slim.h), parse, keep what the outputs need, bind dynamic dimensions,
// then translate node by node, each with the shapes of what it reads, to the operators that ONNX
// models become, so that work, costs, passes and factor rules are the same for both. Functions are
// inlined, loops and branches become Loop and If. Layouts: convolutions and what follows them are
// kept channels-first, with Transposes only where an operator needs TensorFlow's order.
// What cannot be translated stays as an opaque operator of domain "tensorflow" and is listed as
// unresolved with the reason. docs/reference/tensorflow.md has the details.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "graphs/ir/import.h"
#include "graphs/tensorflow/format.h"

namespace dfsim::inline graphs {

// `signature` chooses one of a SavedModel ("" = serving_default, or the only one).
// Errors: kNotFound, or kInvalidInput with `path: what is wrong`.
StatusOr<ImportedModel> import_tensorflow(const std::string& path, const ImportOptions& options,
                                          const std::string& signature = "");

// The same from memory; messages carry no path.
StatusOr<ImportedModel> import_tensorflow_bytes(std::string_view content, TensorFlowFormat format,
                                                const ImportOptions& options,
                                                const std::string& signature = "");

}  // namespace dfsim::inline graphs
