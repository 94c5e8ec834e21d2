// Parts of products with weights that several rules find or make.
#pragma once

#include "graphs/passes/editable_graph.h"

namespace dfsim::inline graphs {

// The sum that alone reads `product` and adds a weight of one element per column, `*bias`, to it;
// none without one. O(1).
OpId bias_sum(const EditableGraph& graph, TensorId product, int64_t columns, TensorId* bias);

// x [..., inner] times a weight of `columns` columns that is packed in blocks of `block` elements.
struct PackedProduct {
  TensorId x;
  TensorId bias;  // none without one
  int64_t inner = 0;
  int64_t columns = 0;
  int64_t bits = 8;
  int64_t block = 0;
};

// Shapes of the packed weight, in bytes, and of its scales.
Shape packed_shape(const PackedProduct& product);
Shape packed_scales_shape(const PackedProduct& product);
// com.microsoft's MatMulNBits, without name and outputs.
Op matmul_n_bits(const PackedProduct& product, TensorId weight, TensorId scales);

}  // namespace dfsim::inline graphs
