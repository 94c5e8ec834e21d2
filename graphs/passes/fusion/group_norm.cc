// Group normalisation, which exporters write as an instance normalisation of the image with one
// channel per group, in one operator: PyTorch runs one call. The exporters' graph is
//   Reshape [N, G, -1] -> InstanceNormalization (ones, zeros) -> Reshape back -> Mul -> Add
// with a weight of C elements, [C, 1, 1], in the last two.
#include "graphs/passes/passes.h"
#include "graphs/passes/pattern.h"

namespace dfsim::inline graphs {
namespace {

using pattern::any;
using pattern::op;
using pattern::parameter;

constexpr int64_t kGroupNormSince = 21;  // the scale has an element per channel, not per group

// slots: 0 x, 1 scale and 2 bias per channel, 3 and 4 those of the groups, 5 and 6 the two shapes
Pattern group_norm_pattern() {
  const Pattern groups = op("Reshape", {any(0), any(5)});
  const Pattern norm = op("InstanceNormalization", {groups, parameter(3), parameter(4)});
  return op("Add", {op("Mul", {op("Reshape", {norm, any(6)}), parameter(1)}), parameter(2)});
}

// The operator of the match with that type.
const Op* matched(const EditableGraph& graph, const Match& found, std::string_view op_type) {
  for (const OpId id : found.ops) {
    if (graph.op(id).op_type == op_type) {
      return &graph.op(id);
    }
  }
  return nullptr;
}

// One element per channel of x [N, C, ...], with any number of ones around it.
bool has_weight_per_channel(const EditableGraph& graph, TensorId weight, const Shape& x) {
  const Shape& shape = graph.shape(weight);
  return shape.is_static() && x.rank() >= 3 && x[1].known() && shape.elements() == x[1].extent() &&
         shape.rank() == x.rank() - 1 && shape[0].extent() == x[1].extent();
}

}  // namespace

void fuse_aten_group_norm(EditableGraph& graph) {
  const Pattern pattern = group_norm_pattern();
  for (const OpId id : graph.ops()) {
    const auto found = match(graph, pattern, id);
    if (!found || !graph.shape_known(found->tensors[0])) {
      continue;
    }
    const Op& norm = *matched(graph, *found, "InstanceNormalization");
    const Shape& x = graph.shape(found->tensors[0]);
    const Shape& grouped = graph.shape(norm.inputs[0]);
    if (grouped.rank() != 3 || !grouped[1].known() ||
        !has_weight_per_channel(graph, found->tensors[1], x) ||
        !has_weight_per_channel(graph, found->tensors[2], x)) {
      continue;
    }
    Op fused;
    fused.op_type = "GroupNormalization";
    fused.version = kGroupNormSince;
    fused.inputs = {found->tensors[0], found->tensors[1], found->tensors[2]};
    fused.outputs = {graph.op(id).outputs[0]};
    fused.attributes.set("num_groups", grouped[1].extent());
    fused.attributes.set("epsilon", norm.attributes.get_float("epsilon").value_or(1e-5));
    graph.fuse(found->ops, std::move(fused));
  }
}

}  // namespace dfsim::inline graphs
