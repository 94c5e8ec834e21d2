// Remembers for each list of tensors which elements it holds. Lists are values: an operator that
// appends makes a new one that shares the history of the old.
#include "graphs/passes/list_contents.h"

#include "graphs/ops/families/extensions/tensorflow_ops.h"

namespace dfsim::inline graphs {

std::optional<int64_t> ListContents::number(TensorId id) const {
  const ConstValue* value = id.valid() ? builder_.constant(id) : nullptr;
  return value != nullptr && value->size() == 1 ? std::optional(value->as_int(0)) : std::nullopt;
}

const ListContents::State* ListContents::state(TensorId list) const {
  const auto found = states_.find(list);
  return found == states_.end() ? nullptr : &found->second;
}

void ListContents::record(const Op& op) {
  if (op.outputs.empty() || !op.outputs[0].valid()) {
    return;
  }
  const TensorId list = op.outputs[0];
  const bool tensorflow = op.domain == kTensorFlow;
  if (tensorflow && op.op_type == "TensorListReserve") {
    const Shape& shape = builder_.tensor(list).shape;
    const bool known = shape.has_rank() && shape.rank() > 0 && shape[0].known();
    states_[list] = {TensorId(), 0, TensorId(), known ? shape[0].extent() : 0};
  } else if (tensorflow && op.op_type == "TensorListSetItem" && op.inputs.size() > 2) {
    const State* before = state(op.inputs[0]);
    const auto index = number(op.inputs[1]);
    if (before != nullptr && index) {
      states_[list] = {op.inputs[0], *index, op.inputs[2], before->length};
    }
  } else if (op.domain.empty() && op.op_type == "SequenceEmpty") {
    states_[list] = {};
  } else if (op.domain.empty() && op.op_type == "SequenceConstruct") {
    record(list, op.inputs);
  } else if (op.domain.empty() && op.op_type == "SequenceInsert" && op.inputs.size() == 2) {
    if (const State* before = state(op.inputs[0])) {
      states_[list] = {op.inputs[0], before->length, op.inputs[1], before->length + 1};
    }
  }
}

void ListContents::record(TensorId list, std::vector<TensorId> elements) {
  // Lists in between have no tensor: unused ids stand for them.
  TensorId before;
  for (size_t i = 0; i < elements.size(); ++i) {
    const bool last = i + 1 == elements.size();
    const TensorId id = last ? list : TensorId(UINT32_MAX - 1 - states_.size());
    states_[id] = {before, static_cast<int64_t>(i), elements[i], static_cast<int64_t>(i + 1)};
    before = id;
  }
  if (elements.empty()) {
    states_[list] = {};
  }
}

TensorId ListContents::element(TensorId list, int64_t index) const {
  for (const State* at = state(list); at != nullptr; at = state(at->before)) {
    if (at->element.valid() && at->index == index) {
      return at->element;
    }
  }
  return TensorId();
}

TensorId ListContents::element_read(const Op& op) const {
  const bool reads = (op.domain == kTensorFlow && op.op_type == "TensorListGetItem") ||
                     (op.domain.empty() && op.op_type == "SequenceAt");
  const State* list = reads && op.inputs.size() > 1 ? state(op.inputs[0]) : nullptr;
  auto index = list != nullptr ? number(op.inputs[1]) : std::nullopt;
  if (!index) {
    return TensorId();
  }
  return element(op.inputs[0], *index < 0 ? *index + list->length : *index);
}

std::optional<std::vector<TensorId>> ListContents::elements(TensorId list) const {
  const State* last = state(list);
  if (last == nullptr || last->length <= 0) {
    return std::nullopt;
  }
  if (static_cast<size_t>(last->length) > states_.size()) {
    return std::nullopt;  // longer than everything that was put in anywhere
  }
  std::vector<TensorId> all(static_cast<size_t>(last->length));
  for (const State* at = last; at != nullptr; at = state(at->before)) {
    if (at->element.valid() && at->index >= 0 && at->index < last->length) {
      TensorId& slot = all[static_cast<size_t>(at->index)];
      slot = slot.valid() ? slot : at->element;  // the one put in last
    }
  }
  for (const TensorId id : all) {
    if (!id.valid()) {
      return std::nullopt;
    }
  }
  return all;
}

}  // namespace dfsim::inline graphs
