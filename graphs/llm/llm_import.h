// A language model's config.json as a model of the commands on graphs.
#pragma once

#include <string>

#include "base/status.h"
#include "graphs/ir/import.h"

namespace dfsim::inline graphs {

// Whether a path names a config.json of Hugging Face: a .json file, a folder with a config.json, or
// either behind "hf:".
bool is_llm_config(const std::string& path);

// The graph of one forward pass: `batch` sequences of `sequence_length` new tokens (--dim; 128 is
// assumed) next to a cache of `past_sequence_length` (0 is assumed). All its weights are of
// `dtype`; kUnknown = the file's torch_dtype. The report says what quantization_config has. Errors:
// those of read_llm_config() and build_llm_graph(); kInvalidInput for options that such a model
// lacks. O(layers).
StatusOr<ImportedModel> import_llm_config(const std::string& path, const ImportOptions& options,
                                          DType dtype);

}  // namespace dfsim::inline graphs
