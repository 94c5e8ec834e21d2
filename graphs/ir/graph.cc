#include "graphs/ir/graph.h"

namespace dfsim::inline graphs {

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
