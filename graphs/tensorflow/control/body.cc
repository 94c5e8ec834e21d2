// Makes the subgraph of a loop or branch: formal inputs, captured values as further inputs, and
// outputs that are distinct tensors even where a value is returned twice.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/tensorflow/control/body_internal.h"

namespace dfsim::inline graphs {

TensorId SubgraphMaker::add_formal(const std::string& name, DType dtype, const Shape& shape) {
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = dtype;
  tensor.shape = shape;
  const TensorId id = builder_.add_tensor(std::move(tensor));
  builder_.mark_input(id);
  return id;
}

ValueId SubgraphMaker::add_formal(ValueId outer) {
  if (outer == kNoValue) {
    return kNoValue;
  }
  Value value = outer_.value(outer);
  if (!value.has_tensor()) {
    return emitter_.add(std::move(value));  // a list of elements that are not known yet
  }
  const TensorId tensor = outer_.plain(outer);
  if (!tensor.valid()) {
    return kNoValue;
  }
  const Tensor source = outer_.builder().tensor(tensor);
  value.plain = add_formal(source.name + "/carried", source.dtype, source.shape);
  value.channels_first = TensorId();
  return emitter_.add(std::move(value));
}

ValueId SubgraphMaker::capture(ValueId outer) {
  if (outer == kNoValue) {
    return kNoValue;
  }
  Value value = outer_.value(outer);
  const TensorId tensor = outer_.plain(outer);
  if (!tensor.valid()) {
    return emitter_.add(std::move(value));
  }
  const Tensor source = outer_.builder().tensor(tensor);
  const bool is_new = std::find(captured_.begin(), captured_.end(), tensor) == captured_.end();
  const TensorId inside = builder_.tensor_by_name(source.name);
  if (is_new) {
    Tensor& copy = builder_.tensor(inside);
    copy.dtype = source.dtype;
    copy.shape = source.shape;
    copy.role = source.role;
    copy.data_dependent = source.data_dependent;
    if (const ConstValue* constant = outer_.builder().constant(tensor)) {
      builder_.set_constant(inside, *constant);
    }
    captured_.push_back(tensor);
    captured_inside_.push_back(inside);
  }
  value.plain = inside;
  value.channels_first = TensorId();
  return emitter_.add(std::move(value));
}

void SubgraphMaker::mark_output(TensorId tensor) {
  if (!tensor.valid()) {
    return;
  }
  if (!builder_.tensor(tensor).is_output) {
    builder_.mark_output(tensor);
    return;
  }
  // Returned twice: each output is a tensor of its own.
  const TensorId again =
      emitter_.emit_one({"Identity", "", builder_.tensor(tensor).name + "/again", {tensor}});
  if (again.valid()) {
    builder_.mark_output(again);
  }
}

StatusOr<std::shared_ptr<const Graph>> SubgraphMaker::finish(std::vector<TensorId>* inputs) {
  DFSIM_RETURN_IF_ERROR(emitter_.status());
  for (size_t i = 0; i < captured_.size(); ++i) {
    builder_.mark_input(captured_inside_[i]);
    builder_.info().captures.push_back(outer_.builder().tensor(captured_[i]).name);
    if (std::find(inputs->begin(), inputs->end(), captured_[i]) == inputs->end()) {
      inputs->push_back(captured_[i]);
    }
  }
  DFSIM_ASSIGN_OR_RETURN(Graph graph, builder_.build());
  return std::make_shared<const Graph>(std::move(graph));
}

}  // namespace dfsim::inline graphs
