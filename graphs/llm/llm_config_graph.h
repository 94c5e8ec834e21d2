// From the graph of an exported decoder with a KV cache to the LlmConfig that it implements.
#pragma once

#include <string>

#include "base/status.h"
#include "graphs/ir/graph.h"
#include "graphs/llm/llm_config.h"

namespace dfsim::inline graphs {

// Recognises decoders of dense layers: caches of keys and values as inputs or outputs of shape
// [batch, kv heads, tokens, head size], the embedding, and per layer the products with weights q,
// k, v, o (or one for q, k and v together) and of the dense block. Weights of a plain graph carry
// no names that matter: shapes and order decide, and the parameters of the result equal the graph's
// weights to 1 %, or the graph is refused. An ONNX file does not say how long a context may be:
// max_positions is the number of rows of learnt positions, else 131072.
//
// `place` begins messages, `name` becomes the config's. Errors: kUnsupported with what was found
// for graphs of another form (no cache, experts, unequal layers). O(size of the graph).
StatusOr<LlmConfig> llm_config_of_graph(const Graph& graph, const std::string& place,
                                        const std::string& name);

}  // namespace dfsim::inline graphs
