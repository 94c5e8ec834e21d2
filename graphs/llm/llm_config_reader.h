// Readers of Hugging Face config.json files.
//
// Purpose: from a file, or its text, to the LlmConfig that all else about language models uses.
// Errors: one line, `file: field: found, expected`, see below.
#pragma once

#include <string>

#include "base/status.h"
#include "graphs/llm/llm_config.h"

namespace dfsim::inline graphs {

// Reads a config.json, or the one in a folder. Errors: kNotFound without a file; kInvalidInput with
// `file: field: found, expected`; kUnsupported for a model_type that is not known (with the list of
// those that are) or for a key that changes the architecture and is not understood. O(size of
// file).
StatusOr<LlmConfig> read_llm_config(const std::string& path);
// The same from text; `place` begins the messages and `name` becomes the config's.
StatusOr<LlmConfig> parse_llm_config(const std::string& text, const std::string& place,
                                     const std::string& name);

}  // namespace dfsim::inline graphs
