// Small networks for tests of partitioning.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graphs/ir/graph.h"
#include "graphs/ir/graph_builder.h"

namespace dfsim {

// Builds graphs op by op, by tensor names; shapes come from inference.
class GraphMaker {
 public:
  void input(const std::string& name, Dims dims, DType dtype = DType::kFloat32);
  void weight(const std::string& name, Dims dims, DType dtype = DType::kFloat32);
  void ints(const std::string& name, std::vector<int64_t> values);
  void op(const std::string& type, const std::vector<std::string>& inputs,
          const std::string& output,
          std::vector<std::pair<std::string, AttrValue>> attributes = {});
  Graph finish(const std::vector<std::string>& outputs);

 private:
  GraphBuilder builder_;
};

// One decoder-like layer: x [batch, sequence, hidden], norm, attention by matrix products with
// `heads` heads, residual, norm, MLP of 4 hidden, residual. Weights: wq wk wv wo w1 b1 w2 b2.
Graph transformer_layer(int64_t batch, int64_t sequence, int64_t hidden, int64_t heads);
// Several of them; names end in ".0", ".1"...
Graph transformer_stack(int layers, int64_t batch, int64_t sequence, int64_t hidden, int64_t heads);
// Convolutions, pooling, flatten, two fully connected layers.
Graph small_conv_net(int64_t batch);

TensorId tensor_named(const Graph& graph, const std::string& name);

}  // namespace dfsim
