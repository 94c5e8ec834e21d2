// Operators and tensors with reader lists that every edit keeps up to date. Removed entries
// leave holes, so that ids stay valid while a pass runs; finish() builds a dense Graph. The
// sorted order is computed on demand and reused until an edit breaks it.
#include "graphs/passes/editable_graph.h"

#include <algorithm>
#include <queue>
#include <unordered_set>

#include "graphs/ir/graph_builder.h"
#include "graphs/ops/op_def.h"

namespace dfsim::inline graphs {

EditableGraph::EditableGraph(const Graph& graph, const OpenDims& open)
    : tensors_(graph.tensors().begin(), graph.tensors().end()),
      open_(graph.tensor_count()),
      derived_(graph.tensor_count(), false),
      readers_(graph.tensor_count()),
      constants_(graph.tensor_count()),
      inputs_(graph.inputs().begin(), graph.inputs().end()),
      outputs_(graph.outputs().begin(), graph.outputs().end()),
      info_(graph.info()) {
  for (size_t t = 0; t < tensors_.size(); ++t) {
    tensors_[t].producer = OpId();
    if (const ConstValue* value = graph.constant(TensorId(t))) {
      constants_[t] = *value;
    }
  }
  for (size_t t = 0; !open.empty() && t < tensors_.size(); ++t) {
    if (const auto* axes = open.axes(tensors_[t].name)) {
      open_[t] = *axes;
    }
  }
  for (const Op& op : graph.ops()) {
    ops_.push_back(op);
    alive_.push_back(true);
    link(OpId(ops_.size() - 1));
  }
  unread_.resize(tensors_.size(), false);
  for (const Op& op : ops_) {
    if (!is_read(op)) {
      mark_unread(op);
    }
  }
}

bool EditableGraph::is_read(const Op& op) const {
  return std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
    return id.valid() && (tensor(id).is_output || !readers_[id.index()].empty());
  });
}

void EditableGraph::mark_unread(const Op& op) {
  unread_.resize(tensors_.size(), false);
  for (const TensorId output : op.outputs) {
    if (output.valid()) {
      unread_[output.index()] = true;
    }
  }
}

bool EditableGraph::makes_unread(const Op& op) const {
  return std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
    return id.valid() && id.index() < unread_.size() && unread_[id.index()];
  });
}

void EditableGraph::link(OpId id) {
  bool open = false;
  bool ranked = true;
  for (const TensorId input : op(id).inputs) {
    if (input.valid()) {
      readers_[input.index()].push_back(id);
      open = open || !shape_known(input);
      ranked = ranked && rank_known(input);
    }
  }
  for (const TensorId output : op(id).outputs) {
    if (output.valid()) {
      if (derived_[output.index()]) {
        const auto rank = static_cast<size_t>(std::max(0, shape(output).rank()));
        open_[output.index()].reset();
        if (open) {
          open_[output.index()].emplace(ranked ? rank : 0, kUnknownExtent);
        }
      }
      tensors_[output.index()].producer = id;
    }
  }
  ++living_;
  ++edits_;
}

void EditableGraph::unlink(OpId id) {
  for (const TensorId input : op(id).inputs) {
    if (input.valid()) {
      std::erase(readers_[input.index()], id);
    }
  }
  for (const TensorId output : op(id).outputs) {
    if (output.valid() && tensors_[output.index()].producer == id) {
      tensors_[output.index()].producer = OpId();
    }
  }
  --living_;
  ++edits_;
}

// Most passes change nothing, so the order of the last call usually still holds.
std::vector<OpId> EditableGraph::ops() const {
  if (order_edits_ != edits_) {
    order_ = sorted_ops();
    order_edits_ = edits_;
  }
  return order_;
}

std::vector<OpId> EditableGraph::sorted_ops() const {
  std::vector<uint32_t> pending(ops_.size(), 0);
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (size_t i = 0; i < ops_.size(); ++i) {
    if (!alive_[i]) {
      continue;
    }
    for (const TensorId input : ops_[i].inputs) {
      pending[i] += input.valid() && producer(input).valid() ? 1 : 0;
    }
    if (pending[i] == 0) {
      ready.push(static_cast<uint32_t>(i));
    }
  }
  std::vector<OpId> order;
  order.reserve(living_);
  while (!ready.empty()) {
    const OpId id(ready.top());
    ready.pop();
    order.push_back(id);
    for (const TensorId output : op(id).outputs) {
      if (!output.valid()) {
        continue;
      }
      for (const OpId reader : readers(output)) {
        if (--pending[reader.index()] == 0) {
          ready.push(static_cast<uint32_t>(reader.index()));
        }
      }
    }
  }
  return order;
}

bool EditableGraph::extent_known(TensorId id, int axis) const {
  if (shape_known(id)) {
    return true;
  }
  const std::vector<Extent>& axes = *open_[id.index()];
  return axis >= 0 && static_cast<size_t>(axis) < axes.size() &&
         axes[static_cast<size_t>(axis)] == kKnownExtent;
}

bool EditableGraph::comparable(TensorId a, TensorId b) const {
  const auto& of_a = open_axes(a);
  const auto& of_b = open_axes(b);
  return (!of_a && !of_b) || (of_a && of_b && *of_a == *of_b && !of_a->empty() &&
                              std::find(of_a->begin(), of_a->end(), kUnknownExtent) == of_a->end());
}

void EditableGraph::set_class(OpId id, OpClass op_class) {
  edits_ += ops_[id.index()].op_class == op_class ? 0 : 1;
  ops_[id.index()].op_class = op_class;
}

const Tensor& EditableGraph::tensor(TensorId id) const {
  static const Tensor kLeftOut;
  return id.valid() ? tensors_[id.index()] : kLeftOut;
}

std::span<const OpId> EditableGraph::readers(TensorId id) const {
  return id.valid() ? std::span<const OpId>(readers_[id.index()]) : std::span<const OpId>();
}

OpId EditableGraph::sole_reader(TensorId id) const {
  const auto all = readers(id);
  return all.size() == 1 && !tensor(id).is_output ? all.front() : OpId();
}

const ConstValue* EditableGraph::constant(TensorId id) const {
  return id.valid() && constants_[id.index()] ? &*constants_[id.index()] : nullptr;
}

std::optional<double> EditableGraph::scalar(TensorId id) const {
  const ConstValue* value = id.valid() ? constant(id) : nullptr;
  return value != nullptr && value->size() == 1 ? std::optional(value->as_double(0)) : std::nullopt;
}

std::optional<std::vector<int64_t>> EditableGraph::ints(TensorId id) const {
  const ConstValue* value = id.valid() ? constant(id) : nullptr;
  return value != nullptr && !is_floating(value->dtype) ? std::optional(value->ints) : std::nullopt;
}

TensorId EditableGraph::add_tensor(std::string name, DType dtype, Shape shape) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensors_.push_back(std::move(tensor));
  open_.emplace_back();
  derived_.push_back(true);
  readers_.emplace_back();
  constants_.emplace_back();
  return TensorId(tensors_.size() - 1);
}

TensorId EditableGraph::add_tensor(std::string name, DType dtype, Shape shape,
                                   std::optional<std::vector<Extent>> open) {
  const TensorId id = add_tensor(std::move(name), dtype, std::move(shape));
  open_[id.index()] = std::move(open);
  derived_[id.index()] = false;
  return id;
}

TensorId EditableGraph::add_ints(std::string name, const std::vector<int64_t>& values) {
  const auto count = static_cast<int64_t>(values.size());
  const TensorId id = add_tensor(std::move(name), DType::kInt64, Shape({Dim(count)}));
  tensors_[id.index()].role = TensorRole::kConstant;
  constants_[id.index()] = ConstValue{DType::kInt64, {count}, values, {}};
  return id;
}

TensorId EditableGraph::add_weight(std::string name, DType dtype, Shape shape) {
  const TensorId id = add_tensor(std::move(name), dtype, std::move(shape));
  tensors_[id.index()].role = TensorRole::kWeight;
  return id;
}

TensorId EditableGraph::add_relaid(TensorId parameter, Shape shape) {
  const Tensor old = tensor(parameter);
  const TensorId id = add_weight(old.name + "/relaid", old.dtype, std::move(shape));
  tensors_[id.index()].role = old.role;
  if (const ConstValue* value = constant(parameter); value != nullptr && value->size() == 1) {
    ConstValue copy = *value;
    copy.extents = tensors_[id.index()].shape.extents();
    constants_[id.index()] = std::move(copy);
  }
  return id;
}

TensorId EditableGraph::add_constant(std::string name, ConstValue value) {
  const TensorId id = add_tensor(std::move(name), value.dtype, Shape::of(value.extents));
  tensors_[id.index()].role = TensorRole::kConstant;
  constants_[id.index()] = std::move(value);
  return id;
}

void EditableGraph::set_shape(TensorId id, Shape shape) {
  tensors_[id.index()].shape = std::move(shape);
  constants_[id.index()].reset();
  ++edits_;
}

void EditableGraph::set_channel_block(TensorId id, int block) {
  edits_ += tensors_[id.index()].channel_block == block ? 0 : 1;
  tensors_[id.index()].channel_block = block;
}

void EditableGraph::set_dtype(TensorId id, DType dtype) {
  edits_ += tensors_[id.index()].dtype == dtype ? 0 : 1;
  tensors_[id.index()].dtype = dtype;
  if (std::optional<ConstValue>& value = constants_[id.index()];
      value && is_floating(value->dtype) == is_floating(dtype)) {
    value->dtype = dtype;
  }
}

OpId EditableGraph::add_op(Op op) {
  if (const OpDef* def = find_op_def(op.domain, op.op_type)) {
    op.op_class = def->op_class;
  }
  op.version = op.domain.empty() ? op.version : 1;
  ops_.push_back(std::move(op));
  alive_.push_back(true);
  const OpId id(ops_.size() - 1);
  link(id);
  return id;
}

void EditableGraph::remove_op(OpId id) {
  unlink(id);
  alive_[id.index()] = false;
}

void EditableGraph::set_input(OpId id, size_t input, TensorId tensor) {
  unlink(id);
  ops_[id.index()].inputs[input] = tensor;
  link(id);
}

void EditableGraph::pad_inputs(OpId id, size_t count) {
  auto& inputs = ops_[id.index()].inputs;
  inputs.resize(std::max(inputs.size(), count));
}

void EditableGraph::set_output(OpId id, size_t output, TensorId tensor) {
  unlink(id);
  ops_[id.index()].outputs[output] = tensor;
  link(id);
}

void EditableGraph::replace_reads(TensorId from, TensorId to) {
  const std::vector<OpId> all = readers_[from.index()];
  for (const OpId reader : all) {
    const std::vector<TensorId> inputs = op(reader).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == from) {
        set_input(reader, i, to);
      }
    }
  }
}

OpId EditableGraph::fuse(const std::vector<OpId>& replaced, Op fused) {
  std::vector<OpId> sorted = replaced;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<OpOrigin> all;
  for (const OpId id : sorted) {
    const std::vector<OpOrigin> origins = origins_of(op(id));
    all.insert(all.end(), origins.begin(), origins.end());
    if (fused.version == 0) {
      fused.version = op(id).domain.empty() ? op(id).version : 0;
    }
  }
  set_origins(&fused, all);
  if (fused.name.empty()) {
    fused.name = op(sorted.front()).name;
  }
  const bool unread =
      std::any_of(sorted.begin(), sorted.end(), [&](OpId id) { return makes_unread(op(id)); });
  for (const OpId id : sorted) {
    remove_op(id);
  }
  const OpId made = add_op(std::move(fused));
  if (unread) {
    mark_unread(op(made));
  }
  return made;
}

bool EditableGraph::bypass(OpId id) {
  const TensorId in = op(id).inputs[0];
  const TensorId out = op(id).outputs[0];
  if (!tensor(out).is_output) {
    remove_op(id);
    replace_reads(out, in);
    return true;
  }
  const OpId source = producer(in);
  if (!source.valid() || tensor(in).is_output || op(source).outputs[0] != in) {
    return false;
  }
  remove_op(id);
  set_output(source, 0, out);
  replace_reads(in, out);
  return true;
}

// Backwards over what the outputs need.
void EditableGraph::remove_dead() {
  std::vector<OpId> order = ops();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (!is_read(op(*it)) && !makes_unread(op(*it))) {
      remove_op(*it);
    }
  }
}

StatusOr<Graph> EditableGraph::finish(bool by_height) {
  remove_dead();
  GraphBuilder builder;
  builder.info() = std::move(info_);
  std::vector<TensorId> new_ids(tensors_.size());
  const auto copy = [&](TensorId id) {
    if (id.valid() && !new_ids[id.index()].valid()) {
      Tensor tensor = tensors_[id.index()];
      tensor.producer = OpId();
      tensor.is_input = false;
      tensor.is_output = false;
      new_ids[id.index()] = builder.add_tensor(std::move(tensor));
      if (constants_[id.index()]) {
        builder.set_constant(new_ids[id.index()], *constants_[id.index()]);
      }
    }
    return id.valid() ? new_ids[id.index()] : id;
  };
  for (const TensorId input : inputs_) {
    builder.mark_input(copy(input));
  }
  for (const OpId id : by_height ? ops_by_height() : ops_with_late_casts()) {
    Op op = std::move(ops_[id.index()]);
    std::transform(op.inputs.begin(), op.inputs.end(), op.inputs.begin(), copy);
    std::transform(op.outputs.begin(), op.outputs.end(), op.outputs.begin(), copy);
    DFSIM_RETURN_IF_ERROR(builder.add_op(std::move(op)).status());
  }
  for (const TensorId output : outputs_) {
    builder.mark_output(copy(output));
  }
  return builder.build();
}

}  // namespace dfsim::inline graphs
