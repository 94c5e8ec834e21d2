// Static quantisation: QuantizeLinear and DequantizeLinear round operators, as ONNX Runtime's
// quantize_static() writes them with activation_type=QUInt8 (quantization/registry.py and
// qdq_quantizer.py: activations in uint8, weights in int8).
//
//   operands    each activation has one pair behind it, which all readers share; a weight is stored
//               in int8, a bias of a convolution or product in int32, each behind a
//               DequantizeLinear
//   results     have a pair, too, unless the operator only moves values: then its result has the
//               scale of its operand, and it is quantised only where the operand is
//   Relu, Clip  are quantised away by the range of uint8: fuse_quantized() drops them
// Scales have synthetic values, distinct for each tensor with a scale of its own, so that the
// fusion sees which operators keep the scale.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "graphs/passes/editable_graph.h"
#include "graphs/passes/precision/precision.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kQdqVersion = 13;
constexpr double kFirstScale = 0.01;
constexpr double kScaleStep = 1e-6;
constexpr double kSteps = 255;  // of uint8
constexpr int64_t kMiddle = 128;

// Which operands are activations or weights of eight bits, and the bias.
struct QuantizedOperator {
  std::string_view op_type;
  enum class Kind : uint8_t { kProduct, kAll, kMover } kind = Kind::kAll;
};

constexpr QuantizedOperator kQuantizedOperators[] = {
    {"Add", QuantizedOperator::Kind::kAll},
    {"AveragePool", QuantizedOperator::Kind::kMover},
    {"BatchNormalization", QuantizedOperator::Kind::kProduct},
    {"Clip", QuantizedOperator::Kind::kMover},
    {"Concat", QuantizedOperator::Kind::kAll},
    {"Conv", QuantizedOperator::Kind::kProduct},
    {"ConvTranspose", QuantizedOperator::Kind::kProduct},
    {"Flatten", QuantizedOperator::Kind::kMover},
    {"Gather", QuantizedOperator::Kind::kMover},
    {"Gemm", QuantizedOperator::Kind::kProduct},
    {"GlobalAveragePool", QuantizedOperator::Kind::kAll},
    {"LeakyRelu", QuantizedOperator::Kind::kAll},
    {"MatMul", QuantizedOperator::Kind::kProduct},
    {"MaxPool", QuantizedOperator::Kind::kMover},
    {"Mul", QuantizedOperator::Kind::kAll},
    {"Pad", QuantizedOperator::Kind::kMover},
    {"Relu", QuantizedOperator::Kind::kMover},
    {"Reshape", QuantizedOperator::Kind::kMover},
    {"Resize", QuantizedOperator::Kind::kMover},
    {"Sigmoid", QuantizedOperator::Kind::kAll},
    {"Slice", QuantizedOperator::Kind::kMover},
    {"Softmax", QuantizedOperator::Kind::kAll},
    {"Split", QuantizedOperator::Kind::kMover},
    {"Squeeze", QuantizedOperator::Kind::kMover},
    {"Transpose", QuantizedOperator::Kind::kMover},
    {"Unsqueeze", QuantizedOperator::Kind::kMover},
    {"Where", QuantizedOperator::Kind::kAll},
};

using Kind = QuantizedOperator::Kind;

const QuantizedOperator* quantized_operator(const Op& op) {
  const auto* const found =
      std::find_if(std::begin(kQuantizedOperators), std::end(kQuantizedOperators),
                   [&](const QuantizedOperator& entry) { return entry.op_type == op.op_type; });
  return op.domain.empty() && found != std::end(kQuantizedOperators) ? found : nullptr;
}

bool is_clamp(const Op& op) { return op.op_type == "Relu" || op.op_type == "Clip"; }

bool is_real(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

class StaticQuantizer {
 public:
  StaticQuantizer(EditableGraph& graph, const PrecisionPlan& plan) : graph_(graph), plan_(plan) {}

  void run() {
    const std::vector<OpId> order = graph_.ops();
    for (const OpId id : order) {
      mark(id);
    }
    for (const TensorId id : marked_) {
      add_pair(id);
    }
    for (const OpId id : order) {
      if (quantised_ops_.count(id) != 0) {
        quantise_parameters(id);
      }
    }
  }

 private:
  struct Scale {
    TensorId scale;
    TensorId zero;
  };

  bool is_activation(TensorId id) const {
    return id.valid() && !graph_.is_parameter(id) && is_real(graph_.tensor(id).dtype);
  }

  void mark(OpId id) {
    const Op& op = graph_.op(id);
    const QuantizedOperator* entry = quantized_operator(op);
    if (entry == nullptr || op.outputs.empty() || !op.outputs[0].valid() ||
        precision_at(plan_, op) != Precision::kInt8) {
      return;
    }
    const bool mover = entry->kind == Kind::kMover;
    if (mover) {
      // A clamp reads what a quantised operator makes; other movers read what has a pair already.
      const bool quantised = is_clamp(op) ? graph_.producer(op.inputs[0]).valid() &&
                                                quantised_ops_.count(graph_.producer(op.inputs[0]))
                                          : scales_.count(op.inputs[0]) != 0;
      if (!quantised || !is_activation(op.inputs[0])) {
        return;
      }
    }
    quantised_ops_[id] = true;
    const size_t operands = entry->kind == Kind::kProduct ? std::min<size_t>(2, op.inputs.size())
                            : mover                       ? 1
                                                          : op.inputs.size();
    for (size_t i = 0; i < operands; ++i) {
      if (is_activation(op.inputs[i]) && !is_clamp(op)) {
        give_scale(op.inputs[i]);
      }
    }
    for (const TensorId output : op.outputs) {
      if (!is_activation(output)) {
        continue;
      }
      // The result before a clamp has no pair: the clamp becomes part of the operator.
      const OpId reader = graph_.sole_reader(output);
      if (reader.valid() && is_clamp(graph_.op(reader)) && graph_.op(reader).domain.empty()) {
        continue;
      }
      if (mover && !is_clamp(op)) {
        share_scale(output, op.inputs[0]);
      } else {
        give_scale(output, is_clamp(op) ? &op : nullptr);
      }
    }
  }

  // A scale of its own; behind a clamp one whose range uint8 covers from zero.
  void give_scale(TensorId id, const Op* clamp = nullptr) {
    if (scales_.count(id) != 0) {
      return;
    }
    double scale = kFirstScale + kScaleStep * static_cast<double>(scales_.size());
    const bool from_zero = clamp != nullptr;
    if (from_zero && clamp->op_type == "Clip" && clamp->inputs.size() > 2) {
      scale = graph_.scalar(clamp->inputs[2]).value_or(scale * kSteps) / kSteps;
    }
    const std::string name = graph_.tensor(id).name;
    scales_[id] = {
        graph_.add_constant(name + "/scale", {graph_.tensor(id).dtype, {}, {}, {scale}}),
        graph_.add_constant(name + "/zero", {DType::kUInt8, {}, {from_zero ? 0 : kMiddle}, {}})};
    marked_.push_back(id);
  }

  void share_scale(TensorId id, TensorId with) {
    if (scales_.count(id) == 0) {
      const Scale shared = scales_[with];
      scales_[id] = shared;
      marked_.push_back(id);
    }
  }

  Op qdq(std::string_view type, const std::string& name, std::vector<TensorId> inputs,
         TensorId output) const {
    Op op;
    op.op_type = type;
    op.version = kQdqVersion;
    op.name = name;
    op.inputs = std::move(inputs);
    op.outputs = {output};
    return op;
  }

  // Behind a tensor: everything that reads it reads the dequantised one.
  void add_pair(TensorId id) {
    const Tensor tensor = graph_.tensor(id);
    const Scale scale = scales_[id];
    const TensorId quantised =
        graph_.add_tensor(tensor.name + "/uint8", DType::kUInt8, tensor.shape);
    TensorId before = id;
    TensorId after;
    if (tensor.is_output && tensor.producer.valid()) {
      // The caller gets the dequantised one under the old name.
      before = graph_.add_tensor(tensor.name + "/before", tensor.dtype, tensor.shape);
      const auto& outputs = graph_.op(tensor.producer).outputs;
      const auto at = std::find(outputs.begin(), outputs.end(), id) - outputs.begin();
      graph_.set_output(tensor.producer, static_cast<size_t>(at), before);
      after = id;
    } else {
      after = graph_.add_tensor(tensor.name + "/dequantized", tensor.dtype, tensor.shape);
      graph_.replace_reads(id, after);
    }
    graph_.add_op(qdq("QuantizeLinear", tensor.name + "/quantize",
                      {before, scale.scale, scale.zero}, quantised));
    graph_.add_op(qdq("DequantizeLinear", tensor.name + "/dequantize",
                      {quantised, scale.scale, scale.zero}, after));
  }

  void quantise_parameters(OpId id) {
    const Op op = graph_.op(id);
    const QuantizedOperator* entry = quantized_operator(op);
    if (entry->kind == Kind::kMover || op.op_type == "BatchNormalization") {
      return;
    }
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const TensorId input = op.inputs[i];
      if (!input.valid() || !graph_.is_parameter(input) || !is_real(graph_.tensor(input).dtype)) {
        continue;
      }
      const bool bias = entry->kind == Kind::kProduct && i == 2;
      graph_.set_input(id, i, dequantised(input, bias ? DType::kInt32 : DType::kInt8));
    }
  }

  // The parameter stored in eight bits (a bias in 32), behind a DequantizeLinear.
  TensorId dequantised(TensorId id, DType dtype) {
    TensorId& made = parameters_[{id, dtype}];
    if (!made.valid()) {
      const Tensor tensor = graph_.tensor(id);
      const TensorId stored = graph_.add_weight(tensor.name + "/" + std::string(dtype_name(dtype)),
                                                dtype, tensor.shape);
      const TensorId scale =
          graph_.add_constant(tensor.name + "/scale", {tensor.dtype, {}, {}, {kFirstScale}});
      const TensorId zero = graph_.add_constant(tensor.name + "/zero", {dtype, {}, {0}, {}});
      made = graph_.add_tensor(tensor.name + "/dequantized", tensor.dtype, tensor.shape);
      graph_.add_op(
          qdq("DequantizeLinear", tensor.name + "/dequantize", {stored, scale, zero}, made));
    }
    return made;
  }

  EditableGraph& graph_;
  const PrecisionPlan& plan_;
  std::map<OpId, bool> quantised_ops_;
  std::map<TensorId, Scale> scales_;
  std::vector<TensorId> marked_;  // tensors with a pair, in order
  std::map<std::pair<TensorId, DType>, TensorId> parameters_;
};

}  // namespace

StatusOr<Graph> quantize_static(const Graph& graph, const PrecisionPlan& plan) {
  EditableGraph edited(graph);
  StaticQuantizer(edited, plan).run();
  return edited.finish();
}

}  // namespace dfsim::inline graphs
