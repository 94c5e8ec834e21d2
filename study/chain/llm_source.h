// The model of a language-model command, from whatever file describes it.
#pragma once

#include <string>

#include "base/status.h"
#include "graphs/llm/llm_config.h"

namespace dfsim::inline study {

// A Hugging Face config.json, a folder with one, or an ONNX file of a decoder with a KV cache.
// Errors: those of read_llm_config(), import_model() and llm_config_of_graph().
StatusOr<LlmConfig> load_llm_config(const std::string& path);

}  // namespace dfsim::inline study
