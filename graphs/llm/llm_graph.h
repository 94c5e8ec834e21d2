// The dataflow graph of one forward pass of a language model, in the IR that importers fill too.
//
// Purpose: prefill (many new tokens) and decode (one each) as graphs of operators, so that the
//   commands on graphs (inspect, predict, partition, compare) take a config.json like an ONNX file.
// Operators are those of ONNX exports of such models: MatMul, SimplifiedLayerNormalization, and of
//   com.microsoft GroupQueryAttention, RotaryEmbedding, MoE, MultiHeadAttention (latent attention,
//   with keys and values expanded). Layers of linear attention are LinearAttention of opset 27,
//   with one step per token.
// Limits: attention counts all pairs of queries and keys, the masked ones too, as the kernels of
//   runtimes without causal shortcuts do; a window limits the cached keys. Per-layer embeddings of
//   Gemma 4 E2B and E4B are kUnsupported here.
// Complexity: O(layers).
#pragma once

#include "graphs/ir/graph.h"
#include "graphs/llm/llm_config.h"
#include "graphs/llm/llm_graph_options.h"

namespace dfsim::inline graphs {

// Errors: kInvalidInput for counts below 1 (context: 0) or more tokens than the model's positions;
// kUnsupported as above.
StatusOr<Graph> build_llm_graph(const LlmConfig& config, const LlmGraphOptions& options);

}  // namespace dfsim::inline graphs
