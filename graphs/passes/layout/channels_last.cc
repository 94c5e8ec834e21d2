// ONNX Runtime's layout of quantised convolutions: channels last.
//
// NhwcTransformer of ONNX Runtime turns QLinearConv and 8-bit MaxPool into versions of
// com.microsoft that read [N, H, W, C]; its transposes then move through what follows and cancel.
// Here: a tensor with channels last is made by such an operator; those read each other directly,
// from the outside through a Transpose, and everything else reads them through one.
#include <algorithm>
#include <unordered_map>

#include "graphs/ops/rules.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kRank = 4;

class ChannelMover {
 public:
  explicit ChannelMover(EditableGraph& graph) : graph_(graph) {}

  void run() {
    for (const OpId id : graph_.ops()) {
      if (graph_.alive(id) && graph_.shape(graph_.op(id).outputs[0]).rank() == kRank) {
        visit(id);
      }
    }
    for (const TensorId plain : order_) {
      transpose_back(plain);
    }
    if (!order_.empty()) {
      move_transposes(graph_);  // those of the file meet the new ones
      quantise_moved();
    }
  }

 private:
  void visit(OpId id) {
    const Op& op = graph_.op(id);
    const std::string_view type = op.op_type;
    if (type == "QLinearConv" && op.domain.empty()) {
      become(id, "QLinearConv", /*always=*/true);
    } else if (type == "MaxPool" && op.domain.empty() && op.outputs.size() == 1 &&
               dtype_bits(graph_.tensor(op.inputs[0]).dtype) == 8) {
      become(id, "NhwcMaxPool", /*always=*/false);
    } else if (type == "Split" && op.domain.empty()) {
      split(id);
    } else if (op.domain != kMicrosoft) {
      return;
    } else if (type == "QLinearAveragePool" || type == "QLinearGlobalAveragePool" ||
               type == "QLinearSigmoid" || type == "QLinearLeakyRelu") {
      become(id, op.op_type, /*always=*/false);
    } else if (type == "QLinearAdd" || type == "QLinearMul") {
      binary(id);
    } else if (type == "QLinearConcat") {
      concat(id);
    }
  }

  bool is_last(TensorId id) const { return id.valid() && last_.contains(id); }

  static Shape moved(const Shape& shape) { return Shape({shape[0], shape[2], shape[3], shape[1]}); }

  TensorId add_last(TensorId plain) {
    const Tensor tensor = graph_.tensor(plain);
    const TensorId twin =
        graph_.add_tensor(tensor.name + "/channels_last", tensor.dtype, moved(tensor.shape));
    last_[plain] = twin;
    order_.push_back(plain);
    return twin;
  }

  void add_transpose(const std::string& name, TensorId from, TensorId to,
                     std::vector<int64_t> perm) {
    Op op;
    op.op_type = "Transpose";
    op.name = name;
    op.version = kTransposeVersion;
    op.attributes.set("perm", std::move(perm));
    op.inputs = {from};
    op.outputs = {to};
    const OpId producer = graph_.producer(from);
    set_origins(&op, producer.valid() ? origins_of(graph_.op(producer))
                                      : std::vector<OpOrigin>{{"Transpose", name}});
    graph_.add_op(std::move(op));
  }

  // The tensor with channels last, transposed once for all that read it so.
  TensorId as_last(TensorId plain, const std::string& name) {
    if (is_last(plain)) {
      return last_.at(plain);
    }
    TensorId& twin = transposed_[plain];
    if (!twin.valid()) {
      const Tensor tensor = graph_.tensor(plain);
      twin = graph_.add_tensor(tensor.name + "/transposed", tensor.dtype, moved(tensor.shape));
      add_transpose(name + "/transpose", plain, twin, {0, 2, 3, 1});
    }
    return twin;
  }

  // always: also where that takes a Transpose.
  void become(OpId id, std::string_view type, bool always) {
    Op op = graph_.op(id);
    if (graph_.shape(op.inputs[0]).rank() != kRank || !graph_.shape(op.inputs[0]).is_static() ||
        (!always && !is_last(op.inputs[0]))) {
      return;
    }
    op.inputs[0] = as_last(op.inputs[0], op.name);
    op.op_type = type;
    op.domain = kMicrosoft;
    if (type != "QLinearSigmoid" && type != "QLinearLeakyRelu") {
      op.attributes.set("channels_last", int64_t{1});
    }
    op.outputs = {add_last(op.outputs[0])};
    graph_.fuse({id}, std::move(op));
  }

  void binary(OpId id) {
    Op op = graph_.op(id);
    const TensorId a = op.inputs[0];
    const TensorId b = op.inputs[3];
    const auto fits = [&](TensorId one, TensorId other) {
      return is_last(one) && (is_last(other) || graph_.shape(other).rank() == 0);
    };
    if (!fits(a, b) && !fits(b, a)) {
      return;
    }
    for (const size_t input : {0, 3}) {
      op.inputs[input] = is_last(op.inputs[input]) ? last_.at(op.inputs[input]) : op.inputs[input];
    }
    op.outputs = {add_last(op.outputs[0])};
    graph_.fuse({id}, std::move(op));
  }

  void concat(OpId id) {
    Op op = graph_.op(id);
    if (op.attributes.int_or("axis", 0) != 1) {
      return;
    }
    for (size_t i = 2; i < op.inputs.size(); i += 3) {
      if (!is_last(op.inputs[i])) {
        return;
      }
      op.inputs[i] = last_.at(op.inputs[i]);
    }
    op.attributes.set("axis", int64_t{kRank - 1});
    op.outputs = {add_last(op.outputs[0])};
    graph_.fuse({id}, std::move(op));
  }

  // Along the channels.
  void split(OpId id) {
    Op op = graph_.op(id);
    if (op.attributes.int_or("axis", 0) != 1 || !is_last(op.inputs[0])) {
      return;
    }
    op.inputs[0] = last_.at(op.inputs[0]);
    op.attributes.set("axis", int64_t{kRank - 1});
    for (TensorId& output : op.outputs) {
      output = output.valid() ? add_last(output) : output;
    }
    graph_.fuse({id}, std::move(op));
  }

  void transpose_back(TensorId plain) {
    const Tensor& tensor = graph_.tensor(plain);
    if (tensor.is_output || !graph_.readers(plain).empty()) {
      add_transpose(tensor.name + "/transpose_back", last_.at(plain), plain, {0, 3, 1, 2});
    }
  }

  // A Transpose that came to be behind a DequantizeLinear gets a QuantizeLinear and a
  // DequantizeLinear behind it: ONNX Runtime keeps it movable by bytes like this.
  void quantise_moved() {
    for (const OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      const OpId source = op.op_type == "Transpose" ? graph_.producer(op.inputs[0]) : OpId();
      if (!source.valid() || graph_.op(source).op_type != "DequantizeLinear" ||
          !is_byte(graph_.op(source).inputs[0]) ||
          graph_.shape(graph_.op(source).inputs[1]).rank() != 0 ||
          graph_.tensor(op.outputs[0]).is_output) {
        continue;
      }
      const OpId next = graph_.sole_reader(op.outputs[0]);
      if (!next.valid() || graph_.op(next).op_type != "QuantizeLinear") {
        quantise(id, source);
      }
    }
  }

  bool is_byte(TensorId id) const { return dtype_bits(graph_.tensor(id).dtype) == 8; }

  void quantise(OpId transpose, OpId source) {
    const TensorId result = graph_.op(transpose).outputs[0];
    const Tensor tensor = graph_.tensor(result);
    const auto open = graph_.open_axes(result);
    Op quantise = graph_.op(source);
    Op dequantise = graph_.op(source);
    const TensorId moved =
        graph_.add_tensor(tensor.name + "/moved", tensor.dtype, tensor.shape, open);
    const TensorId bytes = graph_.add_tensor(
        tensor.name + "/bytes", graph_.tensor(quantise.inputs[0]).dtype, tensor.shape, open);
    quantise.op_type = "QuantizeLinear";
    quantise.name = tensor.name + "/quantise";
    quantise.inputs[0] = moved;
    quantise.outputs = {bytes};
    dequantise.name = tensor.name + "/dequantise";
    dequantise.inputs[0] = bytes;
    dequantise.outputs = {result};
    graph_.set_output(transpose, 0, moved);
    graph_.add_op(std::move(quantise));
    graph_.add_op(std::move(dequantise));
  }

  static constexpr int kTransposeVersion = 13;

  EditableGraph& graph_;
  std::unordered_map<TensorId, TensorId> last_;  // plain tensor -> the same with channels last
  std::vector<TensorId> order_;                  // plain tensors, as they were moved
  std::unordered_map<TensorId, TensorId> transposed_;
};

}  // namespace

void move_channels_last(EditableGraph& graph) { ChannelMover(graph).run(); }

}  // namespace dfsim::inline graphs
