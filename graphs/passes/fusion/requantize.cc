// Engines choose where a quantised network leaves 8 bits. A tensor that a DequantizeLinear makes
// only for a QuantizeLinear to read stays as it was: the kernel before it writes the scale that is
// asked for. A QuantizeLinear behind a Reshape moves to the operator before, which can then write 8
// bits on its own. A product whose result is dequantised at once writes that result in the first
// place.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "graphs/ops/rules.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

bool is_plain(const Op& op, std::string_view type) {
  return op.op_type == type && op.domain.empty();
}

class Requantizer {
 public:
  explicit Requantizer(EditableGraph& graph) : graph_(graph) {}

  void run() {
    for (const OpId id : graph_.ops()) {
      if (!graph_.alive(id)) {
        continue;
      }
      if (is_plain(graph_.op(id), "QuantizeLinear")) {
        keep(id);
      } else if (graph_.op(id).op_type == "QGemm") {
        write_real(id);
      }
    }
  }

 private:
  bool is_activation(TensorId id) const { return id.valid() && !graph_.is_parameter(id); }

  // x, DequantizeLinear, perhaps a Reshape, QuantizeLinear: x, perhaps a Reshape.
  void keep(OpId quantise) {
    const TensorId read = graph_.op(quantise).inputs[0];
    const TensorId result = graph_.op(quantise).outputs[0];
    OpId before = graph_.producer(read);
    const bool reshaped = before.valid() && is_plain(graph_.op(before), "Reshape");
    const OpId reshape = reshaped ? before : OpId();
    if (reshaped) {
      before = graph_.producer(graph_.op(reshape).inputs[0]);
    }
    if (!before.valid() || !is_plain(graph_.op(before), "DequantizeLinear") ||
        graph_.tensor(result).is_output) {
      quantise_first(quantise);
      return;
    }
    const TensorId bytes = graph_.op(before).inputs[0];
    if (!is_activation(bytes) || graph_.tensor(bytes).dtype != graph_.tensor(result).dtype) {
      return;
    }
    if (!reshaped) {
      graph_.replace_reads(result, bytes);
      graph_.remove_op(quantise);
      return;
    }
    Op moved = graph_.op(reshape);
    moved.name = graph_.op(quantise).name;
    moved.inputs[0] = bytes;
    moved.outputs = {result};
    graph_.fuse({quantise}, std::move(moved));
  }

  // One scale for all values: a Reshape moves the axis along which several would lie.
  bool has_one_scale(OpId quantise) const {
    const Op& op = graph_.op(quantise);
    const Shape& scale = graph_.shape(op.inputs[1]);
    return scale.is_static() && scale.elements() == Count(1);
  }

  // Reshape, QuantizeLinear: the other way round, next to the operator that makes the values.
  void quantise_first(OpId quantise) {
    const OpId reshape = graph_.producer(graph_.op(quantise).inputs[0]);
    if (!reshape.valid() || !is_plain(graph_.op(reshape), "Reshape") ||
        !graph_.sole_reader(graph_.op(reshape).outputs[0]).valid() ||
        !is_activation(graph_.op(reshape).inputs[0]) || !has_one_scale(quantise)) {
      return;
    }
    const Op moved = graph_.op(reshape);
    Op first = graph_.op(quantise);
    const TensorId result = first.outputs[0];
    const Tensor before = graph_.tensor(moved.inputs[0]);
    first.inputs[0] = moved.inputs[0];
    first.outputs = {
        graph_.add_tensor(first.name + "/first", graph_.tensor(result).dtype, before.shape)};
    Op second = moved;
    second.inputs[0] = first.outputs[0];
    second.outputs = {result};
    graph_.remove_op(quantise);
    graph_.remove_op(reshape);
    graph_.add_op(std::move(first));
    graph_.add_op(std::move(second));
  }

  // Adds to `tensors` and `ends` whatever the values of `id` reach by operators that only move
  // them, up to DequantizeLinear. False where anything else reads them.
  bool reaches_real(TensorId id, std::vector<TensorId>* tensors, std::vector<OpId>* ends) const {
    constexpr std::array<std::string_view, 7> kMovers = {
        "Gather", "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze"};
    tensors->push_back(id);
    if (graph_.tensor(id).is_output || graph_.readers(id).empty()) {
      return false;
    }
    return std::ranges::all_of(graph_.readers(id), [&](OpId reader) {
      const Op& op = graph_.op(reader);
      if (op.inputs[0] != id || graph_.tensor(op.outputs[0]).is_output) {
        return false;
      }
      if (is_plain(op, "DequantizeLinear")) {
        ends->push_back(reader);
        return true;
      }
      return op.domain.empty() && std::ranges::find(kMovers, op.op_type) != kMovers.end() &&
             std::ranges::all_of(op.outputs, [&](TensorId output) {
               return output.valid() && reaches_real(output, tensors, ends);
             });
    });
  }

  // A product whose values are only moved before they are dequantised writes real numbers. The last
  // two operands of a QGemm are the scale and zero point of its result.
  void write_real(OpId id) {
    constexpr size_t kWithoutResultScale = 7;
    std::vector<TensorId> tensors;
    std::vector<OpId> ends;
    if (graph_.op(id).inputs.size() <= kWithoutResultScale ||
        !reaches_real(graph_.op(id).outputs[0], &tensors, &ends)) {
      return;
    }
    const DType real = graph_.tensor(graph_.op(ends.front()).outputs[0]).dtype;
    for (const TensorId tensor : tensors) {
      graph_.set_dtype(tensor, real);
    }
    for (const OpId end : ends) {
      const Op dequantise = graph_.op(end);
      graph_.replace_reads(dequantise.outputs[0], dequantise.inputs[0]);
      graph_.remove_op(end);
    }
    Op product = graph_.op(id);
    product.inputs.resize(kWithoutResultScale);
    graph_.fuse({id}, std::move(product));
  }

  EditableGraph& graph_;
};

}  // namespace

void keep_quantized(EditableGraph& graph) { Requantizer(graph).run(); }

}  // namespace dfsim::inline graphs
