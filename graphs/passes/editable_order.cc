// Orders in which EditableGraph hands its operators out: by height for graphs that must not depend
// on a file's order, and with casts of weights where they are read.
#include <algorithm>
#include <vector>

#include "graphs/passes/editable_graph.h"

namespace dfsim::inline graphs {

std::vector<OpId> EditableGraph::ops_by_height() const {
  std::vector<OpId> order = ops();
  std::vector<int64_t> height(ops_.size(), 0);
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    for (const TensorId output : op(*it).outputs) {
      for (const OpId reader : readers(output)) {
        height[it->index()] = std::max(height[it->index()], height[reader.index()] + 1);
      }
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](OpId a, OpId b) {
    const int64_t difference = height[a.index()] - height[b.index()];
    return difference != 0 ? difference > 0 : op(a).op_type < op(b).op_type;
  });
  return order;
}

// Frameworks cast a weight where it is first read. Such a Cast depends on nothing, so the sorted
// order would have all of them first.
std::vector<OpId> EditableGraph::ops_with_late_casts() const {
  const auto is_late = [this](OpId id) {
    return id.valid() && op(id).op_type == "Cast" && op(id).domain.empty() &&
           is_parameter(op(id).inputs[0]) && !producer(op(id).inputs[0]).valid();
  };
  std::vector<bool> placed(ops_.size(), false);
  std::vector<OpId> order;
  order.reserve(living_);
  const auto place = [&](OpId id) {
    if (!placed[id.index()]) {
      placed[id.index()] = true;
      order.push_back(id);
    }
  };
  for (const OpId id : ops()) {
    if (is_late(id) && !readers(op(id).outputs[0]).empty()) {
      continue;
    }
    for (const TensorId input : op(id).inputs) {
      if (input.valid() && is_late(producer(input))) {
        place(producer(input));
      }
    }
    place(id);
  }
  return order;
}

}  // namespace dfsim::inline graphs
