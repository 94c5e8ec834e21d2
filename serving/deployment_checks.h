// Whether a model can be divided as a deployment asks for.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"
#include "serving/llm_deployment.h"

namespace dfsim::inline serving {

// Errors (kInvalidInput): widths that are not positive, do not divide heads, blocks, experts or
// layers, or need more GPUs than one server has; kUnsupported: layers of linear attention.
Status check_deployment(const LlmDeployment& deployment);

// (moe_tp, moe_ep), the first completed to what the second leaves of tp * dp.
std::pair<int, int> expert_widths(const LlmParallelism& widths);

// "vllm", "trtllm", "sglang".
std::string framework_name(LlmFramework framework);
StatusOr<LlmFramework> framework_from_name(const std::string& name);

}  // namespace dfsim::inline serving
