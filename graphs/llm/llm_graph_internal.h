// The pieces from which graphs of language models are built: operators, weights, products, norms.
// Internal to graphs/llm.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graphs/ir/graph_builder.h"
#include "graphs/llm/llm_config.h"
#include "graphs/llm/llm_graph_options.h"

namespace dfsim::inline graphs {

inline constexpr const char* kContribDomain = "com.microsoft";

class LlmGraphParts {
 public:
  // Both must outlive this.
  LlmGraphParts(const LlmConfig& config, const LlmGraphOptions& options);

  const LlmConfig& config() const { return config_; }

  TensorId input(const std::string& name, DType dtype, const std::vector<int64_t>& extents);
  TensorId weight(const std::string& name, const std::vector<int64_t>& extents);
  TensorId integers(const std::string& name, const std::vector<int64_t>& values);
  std::vector<TensorId> op(const std::string& name, const std::string& type,
                           const std::string& domain, std::vector<TensorId> inputs,
                           const std::vector<std::pair<std::string, AttrValue>>& attributes = {},
                           size_t outputs = 1);
  TensorId linear(const std::string& name, TensorId x, int64_t inputs, int64_t outputs, bool bias);
  TensorId norm(const std::string& name, TensorId x, int64_t width);
  // Each head has its own.
  TensorId head_norm(const std::string& name, TensorId x, int64_t heads, int64_t d);
  // Pieces of the last of three axes.
  std::vector<TensorId> split(const std::string& name, TensorId x,
                              const std::vector<int64_t>& widths);
  // x sigmoid(gate)
  TensorId gated(const std::string& name, TensorId x, TensorId gate);
  // A layer's memory of earlier tokens; invalid without any.
  TensorId past(const std::string& name, std::vector<int64_t> extents);

 protected:
  std::string named(const std::string& name) const;
  TensorId tensor(const std::string& name, DType dtype, TensorRole role,
                  const std::vector<int64_t>& extents);

  const LlmConfig& config_;
  const LlmGraphOptions& options_;
  int opset_;
  GraphBuilder graph_;
  Status problem_;     // the first one
  std::string place_;  // begins names: "layers.3"
};

// The layers of linear attention, in llm_graph_linear.cc; x and the result are
// [batch, tokens, hidden].
TensorId add_gated_delta(LlmGraphParts& graph, TensorId x);
TensorId add_lightning(LlmGraphParts& graph, const LlmLayer& layer, TensorId x);

}  // namespace dfsim::inline graphs
