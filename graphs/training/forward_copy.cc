#include "graphs/training/forward_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "graphs/ops/families/extensions/gradient_ops.h"

namespace dfsim::inline graphs {

namespace {

bool has_known_inputs(const Graph& graph, const Op& op) {
  return std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
    return !input.valid() || graph.tensor(input).shape.is_static();
  });
}

}  // namespace

Op as_in_training(Op op) {
  if (op.op_type == "BatchNormalization" && op.domain.empty()) {
    // Not `training_mode`, which means the statistics of the whole batch: under data parallelism
    // each device normalises its own part, so the operator may still be split along the batch.
    op.attributes.set(std::string(kOwnStatistics), int64_t{1});
  }
  return op;
}

Status copy_forward(const Graph& forward, const std::vector<bool>& depends, GraphBuilder* builder) {
  builder->info() = forward.info();
  for (size_t t = 0; t < forward.tensor_count(); ++t) {
    Tensor tensor = forward.tensor(TensorId(t));
    tensor.producer = OpId();
    tensor.is_input = false;
    tensor.is_output = false;
    const TensorId id = builder->add_tensor(std::move(tensor));
    if (const ConstValue* value = forward.constant(TensorId(t))) {
      builder->set_constant(id, *value);
    }
  }
  for (const TensorId input : forward.inputs()) {
    builder->mark_input(input);
  }
  for (size_t i = 0; i < forward.op_count(); ++i) {
    const Op& op = forward.op(OpId(i));
    for (const TensorId output : op.outputs) {
      if (output.valid() && depends[output.index()] && !forward.tensor(output).shape.is_static()) {
        return invalid_input(fmt::format(
            "training: the shape of what {} '{}' returns is not known; {}",
            printable(op.op_type, 40), printable(op.name),
            has_known_inputs(forward, op)
                ? "it depends on the data of a run: give it with --dim 'TENSOR[AXIS]=N', or export "
                  "the model with a fixed shape there"
                : "give the model's dynamic dimensions with --batch, --dim or --input-shape"));
      }
    }
    DFSIM_RETURN_IF_ERROR(builder->add_op(as_in_training(op)).status());
  }
  return ok_status();
}

}  // namespace dfsim::inline graphs
