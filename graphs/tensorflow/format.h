// TensorFlowFormat: how a file holds a TensorFlow model, recognised by its content.
#pragma once

#include <optional>
#include <string>

namespace dfsim::inline graphs {

enum class TensorFlowFormat { kGraphDef, kSavedModel, kGraphDefText, kSavedModelText };

// The format of a file by its content (its first bytes; names only decide between text formats), or
// of a folder with a saved_model.pb or saved_model.pbtxt. nullopt: no TensorFlow model.
std::optional<TensorFlowFormat> recognise_tensorflow(const std::string& path);

}  // namespace dfsim::inline graphs
