#include "partition/pieces/op_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graphs/ops/infer.h"
#include "opmodel/workload.h"

namespace dfsim::inline partition {

Tensor part_of(const Tensor& tensor, const std::vector<FactorDim>& dims, int factor,
               int64_t extent) {
  Tensor part = tensor;
  part.producer = OpId();
  part.is_input = false;
  part.is_output = false;
  part.storage_key = 0;
  Dims extents = part.shape.dims();
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].factor == factor) {
      extents[d] = Dim(extent * dims[d].block);
    }
  }
  part.shape = Shape(std::move(extents));
  return part;
}

Bytes part_bytes(const Graph& graph, TensorId id, const std::vector<FactorDim>& dims, int factor,
                 int64_t extent) {
  return part_of(graph.tensor(id), dims, factor, extent).bytes().value();
}

bool has_plain_parts(const Graph& graph, OpId id, const FactorMap& map, int factor) {
  const auto& known = map.factors[static_cast<size_t>(factor)];
  const bool divides = std::any_of(map.divided_attributes.begin(), map.divided_attributes.end(),
                                   [factor](const auto& count) { return count.second == factor; });
  return map.kind(factor) == FactorKind::kParallel && known.halo < 0 && !divides &&
         map.shape_input < 0 && map.shape_attribute.empty() && graph.op(id).outputs.size() == 1;
}

bool shares_well(const Graph& graph, OpId id, const FactorMap& map, int factor) {
  const OpClass op_class = graph.op(id).op_class;
  return (op_class == OpClass::kMatMul || op_class == OpClass::kConv) &&
         has_plain_parts(graph, id, map, factor);
}

Status PartDescriber::add(OpId id, const FactorMap& map, int factor, int64_t extent) {
  Op op = graph_.op(id);
  op.name = fmt::format("part{}", count_++);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].valid()) {
      Tensor part = part_of(graph_.tensor(op.inputs[i]), map.inputs[i], factor, extent);
      part.name = fmt::format("{}.i{}", op.name, i);
      const ConstValue* value = graph_.constant(op.inputs[i]);
      const TensorId input = builder_.add_tensor(std::move(part));
      if (value != nullptr) {
        builder_.set_constant(input, *value);
      } else if (builder_.tensor(input).role == TensorRole::kActivation) {
        builder_.mark_input(input);
      }
      op.inputs[i] = input;
    }
  }
  Tensor result = part_of(graph_.tensor(op.outputs[0]), map.outputs[0], factor, extent);
  result.name = op.name + ".o";
  op.outputs[0] = builder_.add_tensor(std::move(result));
  return builder_.add_op(std::move(op)).status();
}

StatusOr<std::vector<OpDescriptor>> PartDescriber::finish() {
  DFSIM_ASSIGN_OR_RETURN(const Graph parts, builder_.build());
  std::vector<OpDescriptor> rows;
  for (size_t i = 0; i < parts.op_count(); ++i) {
    DFSIM_ASSIGN_OR_RETURN(const OpWork work, op_work(parts, OpId(i)));
    rows.push_back(describe_op(parts, OpId(i), work));
  }
  return rows;
}

}  // namespace dfsim::inline partition
