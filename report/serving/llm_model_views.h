// Text and JSON of `dfsim llm inspect` and `dfsim llm predict`.
#pragma once

#include <string>

#include "base/json/json_tree.h"
#include "serving/llm_predict.h"

namespace dfsim::inline report {

// Parameters, layers, weights and cache of a model.
std::string llm_inspection_text(const LlmConfig& config, const LlmInspection& inspection);
JsonTree llm_inspection_json(const LlmConfig& config,
                             const LlmInspection& inspection);  // schema dfsim.llm-inspect/1

// Memory, a prefill and a decode step with the time of each kernel. `options`: what was predicted.
std::string llm_prediction_text(const LlmPredictOptions& options, const LlmPrediction& prediction);
JsonTree llm_prediction_json(const LlmPredictOptions& options,
                             const LlmPrediction& prediction);  // schema dfsim.llm-predict/1

}  // namespace dfsim::inline report
