// Lists of tensors in loops: TensorList of TensorFlow 2, TensorArray of TensorFlow 1. A list is a
// tensor [length, element...] once its elements are known.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/tensorflow/control/loop_internal.h"
#include "graphs/tensorflow/node_context_internal.h"

namespace dfsim::inline graphs {
namespace {

// The list's own value, its tensor made when its elements are known.
Value list_of(NodeContext& node, size_t i) {
  Value list = node.has_input(i) ? node.emitter().value(node.input(i)) : Value();
  list.plain = node.plain(i);
  list.channels_first = TensorId();
  return list;
}

void set_list(NodeContext& node, size_t output, Value list, TensorId tensor) {
  list.is_list = true;
  list.plain = tensor;
  if (tensor.valid()) {
    const Tensor& made = node.emitter().builder().tensor(tensor);
    list.element_dtype = made.dtype;
    if (made.shape.is_static() && made.shape.rank() > 0) {
      list.length = made.shape[0].extent();
      list.element = Shape(Dims(made.shape.dims().begin() + 1, made.shape.dims().end()));
    }
  }
  node.set_value(output, node.emitter().add(std::move(list)));
}

// The shape that an input holds as a list of extents, -1 for those that nobody knows.
Shape element_shape(NodeContext& node, size_t i) {
  const auto extents = node.ints(i);
  if (!extents || node.rank(i) != 1 || extents->size() > static_cast<size_t>(kMaxRank)) {
    return Shape();
  }
  Dims dims;
  for (const int64_t extent : *extents) {
    dims.push_back(extent < 0 || extent > kMaxExtent ? Dim::unknown() : Dim(extent));
  }
  return Shape(std::move(dims));
}

void reserve_list(NodeContext& node, std::string_view /*target*/) {
  Value list;
  list.is_list = true;
  const bool empty = node.type() == "EmptyTensorList";
  list.element = element_shape(node, 0);
  list.length = empty ? 0 : node.integer(1).value_or(-1);
  list.element_dtype = node.attr_dtype("element_dtype");
  if (list.length >= 0 && list.length <= kMaxExtent && list.element.is_static() && !empty) {
    list.plain = make_list(node.emitter(), node.name(), list);
  }
  node.set_value(0, node.emitter().add(std::move(list)));
}

// size -> handle, flow. What is in the array travels with the flow.
void make_array(NodeContext& node, std::string_view /*target*/) {
  Value list;
  list.is_list = true;
  list.length = node.integer(0).value_or(-1);
  list.element = node.attr_shape("element_shape").value_or(Shape());
  list.element_dtype = node.attr_dtype("dtype");
  if (list.length >= 0 && list.length <= kMaxExtent && list.element.is_static()) {
    list.plain = make_list(node.emitter(), node.name(), list);
  }
  const ValueId value = node.emitter().add(std::move(list));
  node.set_value(0, value);
  node.set_value(1, value);
}

// A tensor taken apart along its first axis: a list of its rows. Nothing moves.
void from_tensor(NodeContext& node, size_t data) {
  if (node.rank(data) < 1 || !node.shape(data).is_static()) {
    node.unresolved("the shape of its elements is not known");
    return;
  }
  set_list(node, 0, Value(), node.plain(data));
}
void list_from_tensor(NodeContext& node, std::string_view /*target*/) { from_tensor(node, 0); }
// handle, indices, value, flow
void array_scatter(NodeContext& node, std::string_view /*target*/) { from_tensor(node, 2); }

void get_item(NodeContext& node, size_t list, size_t index) {
  const TensorId tensor = list_of(node, list).plain;
  if (!tensor.valid()) {
    node.unresolved("the shape of the list's elements is not known");
    return;
  }
  node.set(0, node.emit("TensorListGetItem", {tensor, node.plain(index)}, {}, kTensorFlow));
}
void list_get(NodeContext& node, std::string_view /*target*/) { get_item(node, 0, 1); }
// handle, index, flow
void array_read(NodeContext& node, std::string_view /*target*/) { get_item(node, 2, 1); }

void set_item(NodeContext& node, size_t list, size_t index, size_t item) {
  Value before = list_of(node, list);
  if (!node.shape(item).is_static()) {
    node.unresolved("the shape of the item is not known");
    return;
  }
  if (!before.plain.valid()) {
    // The first item tells what the others are like.
    before.element = node.shape(item);
    before.element_dtype = node.dtype(item);
    if (before.length < 0 || before.length > kMaxExtent) {
      node.unresolved("the length of the list is not known");
      return;
    }
    before.plain = make_list(node.emitter(), node.name() + "/list", before);
  }
  const TensorId after = node.emit(
      "TensorListSetItem", {before.plain, node.plain(index), node.plain(item)}, {}, kTensorFlow);
  set_list(node, 0, before, after);
}
void list_set(NodeContext& node, std::string_view /*target*/) { set_item(node, 0, 1, 2); }
// handle, index, value, flow
void array_write(NodeContext& node, std::string_view /*target*/) { set_item(node, 3, 1, 2); }

void stack(NodeContext& node, size_t list) {
  const TensorId tensor = list_of(node, list).plain;
  if (!tensor.valid()) {
    node.unresolved("the shape of the list's elements is not known");
    return;
  }
  node.set(0, node.emit("TensorListStack", {tensor}, {}, kTensorFlow));
}
void list_stack(NodeContext& node, std::string_view /*target*/) { stack(node, 0); }
// handle, indices, flow
void array_gather(NodeContext& node, std::string_view /*target*/) { stack(node, 2); }

// The rows of all elements, one after the other; and their lengths.
void concat_rows(NodeContext& node, size_t list) {
  const TensorId tensor = list_of(node, list).plain;
  if (!tensor.valid() || node.emitter().builder().tensor(tensor).shape.rank() < 2) {
    node.unresolved("the shape of the list's elements is not known");
    return;
  }
  const std::vector<int64_t> extents = node.emitter().builder().tensor(tensor).shape.extents();
  const Count rows = Count(extents[0]) * Count(extents[1]);
  std::vector<int64_t> joined(extents.begin() + 1, extents.end());
  joined[0] = rows.overflowed() ? -1 : rows.value();
  node.set(
      0, node.emitter().reshaped(node.emit("TensorListStack", {tensor}, {}, kTensorFlow), joined));
}
void list_concat(NodeContext& node, std::string_view /*target*/) { concat_rows(node, 0); }
void array_concat(NodeContext& node, std::string_view /*target*/) { concat_rows(node, 2); }

void length_of(NodeContext& node, std::string_view /*target*/) {
  const size_t list = node.type().starts_with("TensorArray") ? 1 : 0;
  const int64_t length = list_of(node, list).length;
  if (length < 0) {
    node.unresolved("the length of the list is not known");
    return;
  }
  node.set(0, node.emitter().add_constant({DType::kInt32, {}, {length}, {}}, node.name()));
}

void close_array(NodeContext& /*node*/, std::string_view /*target*/) {}

// clang-format off
constexpr TfRule kListRules[] = {
    {.type = "TensorListReserve", .translate = reserve_list, .required_inputs = 2,
     .tolerant = true},
    {.type = "EmptyTensorList", .translate = reserve_list, .required_inputs = 2, .tolerant = true},
    {.type = "TensorListFromTensor", .translate = list_from_tensor, .tolerant = true},
    {.type = "TensorListGetItem", .translate = list_get, .required_inputs = 2, .tolerant = true},
    {.type = "TensorListSetItem", .translate = list_set, .required_inputs = 3, .tolerant = true},
    {.type = "TensorListStack", .translate = list_stack, .tolerant = true},
    {.type = "TensorListConcatV2", .translate = list_concat, .tolerant = true},
    {.type = "TensorListLength", .translate = length_of, .tolerant = true},
    {.type = "TensorArrayV3", .translate = make_array, .tolerant = true},
    {.type = "TensorArrayScatterV3", .translate = array_scatter, .required_inputs = 4,
     .tolerant = true},
    {.type = "TensorArrayReadV3", .translate = array_read, .required_inputs = 3, .tolerant = true},
    {.type = "TensorArrayWriteV3", .translate = array_write, .required_inputs = 4,
     .tolerant = true},
    {.type = "TensorArrayGatherV3", .translate = array_gather, .required_inputs = 3,
     .tolerant = true},
    {.type = "TensorArrayConcatV3", .translate = array_concat, .required_inputs = 3,
     .tolerant = true},
    {.type = "TensorArraySizeV3", .translate = length_of, .required_inputs = 2, .tolerant = true},
    {.type = "TensorArrayCloseV3", .translate = close_array, .required_inputs = 0, .tolerant = true},
};
// clang-format on

}  // namespace

std::span<const TfRule> list_tf_rules() { return kListRules; }

}  // namespace dfsim::inline graphs
