// The makers of the built-in batching policies; registry.cc lists them.
#pragma once

#include <memory>

#include "serving/policies/batch_policy.h"

namespace dfsim::inline serving {

std::unique_ptr<BatchPolicy> make_sglang_policy(const BatchLimits& limits);
std::unique_ptr<BatchPolicy> make_static_policy(const BatchLimits& limits);
std::unique_ptr<BatchPolicy> make_trtllm_policy(const BatchLimits& limits);
std::unique_ptr<BatchPolicy> make_vllm_policy(const BatchLimits& limits);

}  // namespace dfsim::inline serving
