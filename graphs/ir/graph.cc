#include "graphs/ir/graph.h"

namespace dfsim::inline graphs {

Shape Tensor::stored_shape() const {
  if (channel_block <= 0 || shape.rank() < 2 || !shape[1].known()) {
    return shape;
  }
  Dims dims = shape.dims();
  dims[1] = Dim(in_whole_blocks(shape[1].extent(), channel_block));
  return Shape(std::move(dims));
}

Count Tensor::bytes() const {
  const Count elements = channel_block > 0 ? stored_shape().elements() : shape.elements();
  const Count one = dtype_bytes(dtype, elements);
  return is_sequence && sequence_length >= 0 ? one * Count(sequence_length) : one;
}

std::span<const OpId> Graph::consumers(TensorId id) const {
  const uint32_t begin = consumer_offsets_[id.index()];
  const uint32_t end = consumer_offsets_[id.index() + 1];
  return std::span(consumers_).subspan(begin, end - begin);
}

const ConstValue* Graph::constant(TensorId id) const {
  const int32_t index = constant_index_[id.index()];
  return index < 0 ? nullptr : &constants_[static_cast<size_t>(index)];
}

}  // namespace dfsim::inline graphs
