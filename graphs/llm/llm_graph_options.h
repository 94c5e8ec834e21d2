// Sizes for which build_llm_graph() makes a graph.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace dfsim::inline graphs {

struct LlmGraphOptions {
  int64_t batch = 1;
  int64_t new_tokens = 1;      // per sequence: 1 = decode
  int64_t context_tokens = 0;  // in each sequence's cache
  DType dtype = DType::kBFloat16;
};

}  // namespace dfsim::inline graphs
