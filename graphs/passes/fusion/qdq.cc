// ONNX Runtime's fusions of quantised graphs: an operator between DequantizeLinear and
// QuantizeLinear runs on 8 bits.
//
// QDQSelectorActionTransformer of ONNX Runtime: products and convolutions become QLinearConv,
// QLinearMatMul, MatMulIntegerToFloat and QGemm, elementwise operators and pools their QLinear
// versions, operators that only move values work on quantised ones. Before that, a Relu or Clip
// that quantising makes superfluous is dropped, and signed activations become unsigned
// (QDQS8ToU8Transformer): x86 multiplies unsigned bytes by signed ones. Those that several
// operators read stay signed, and products of signed activations are not fused. Values of 4 and 16
// bits are moved as they are, and dequantised for all else.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>

#include "graphs/ops/rules.h"
#include "graphs/passes/fusion/qdq_readers.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

constexpr size_t kQuantiseOperands = 3;  // value, scale, zero point

constexpr std::array<std::string_view, 2> kBinary = {"Add", "Mul"};
constexpr std::array<std::string_view, 5> kUnary = {"AveragePool", "GlobalAveragePool", "LeakyRelu",
                                                    "Sigmoid", "Softmax"};
constexpr std::array<std::string_view, 15> kMovers = {
    "DepthToSpace", "Expand", "Flatten", "Gather",  "MaxPool", "ReduceMax", "ReduceMin", "Reshape",
    "Resize",       "Slice",  "Split",   "Squeeze", "Tile",    "Transpose", "Unsqueeze"};

bool is_among(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class QuantizedFuser {
 public:
  explicit QuantizedFuser(EditableGraph& graph) : graph_(graph) {}

  void run() {
    for (const OpId id : graph_.ops()) {
      if (graph_.alive(id)) {
        drop_clamp(id);
      }
    }
    for (const OpId id : graph_.ops()) {
      make_unsigned(id);
    }
    for (const OpId id : graph_.ops()) {
      if (graph_.alive(id) && graph_.op(id).domain.empty() && !graph_.op(id).inputs.empty()) {
        visit(id);
      }
    }
    give_readers_dequantisers(graph_);
  }

 private:
  void visit(OpId id) {
    const std::string_view type = graph_.op(id).op_type;
    if (type == "Conv") {
      conv(id);
    } else if (type == "MatMul") {
      matmul(id);
    } else if (type == "Gemm") {
      gemm(id);
    } else if (type == "Concat") {
      concat(id);
    } else if (type == "Where") {
      where(id);
    } else if (is_among(kBinary, type) && keeps_type(id, {0, 1})) {
      become(id, "QLinear" + std::string(type), kMicrosoft, {0, 1}, {});
    } else if (is_among(kUnary, type) && keeps_type(id, {0})) {
      become(id, "QLinear" + std::string(type), kMicrosoft, {0}, {});
    } else if (is_among(kMovers, type)) {
      move(id);
    }
  }

  bool is_quantise(OpId id, std::string_view type) const {
    return id.valid() && graph_.op(id).op_type == type && graph_.op(id).domain.empty() &&
           graph_.op(id).inputs.size() == kQuantiseOperands;
  }

  // The DequantizeLinear that makes an operand; none when something else does.
  OpId dequantiser(TensorId tensor) const {
    const OpId producer = tensor.valid() ? graph_.producer(tensor) : OpId();
    return is_quantise(producer, "DequantizeLinear") ? producer : OpId();
  }

  // The DequantizeLinear that makes an operand of bytes.
  OpId byte_dequantiser(TensorId tensor) const {
    const OpId source = dequantiser(tensor);
    return source.valid() && is_byte(graph_.op(source).inputs[0]) ? source : OpId();
  }

  bool is_byte(TensorId id) const {
    const DType dtype = graph_.tensor(id).dtype;
    return dtype == DType::kInt8 || dtype == DType::kUInt8;
  }

  // The QuantizeLinear that alone reads the result.
  OpId quantiser(OpId id) const {
    const Op& op = graph_.op(id);
    const OpId reader = op.outputs.size() == 1 ? graph_.sole_reader(op.outputs[0]) : OpId();
    return is_quantise(reader, "QuantizeLinear") ? reader : OpId();
  }

  std::optional<double> signed_zero(OpId id) const {
    const TensorId zero = graph_.op(id).inputs[2];
    return graph_.tensor(zero).dtype == DType::kInt8 ? graph_.scalar(zero) : std::nullopt;
  }

  // The values of a pair of QuantizeLinear and DequantizeLinear that only each other and one
  // operator see move from -128..127 to 0..255. ONNX Runtime gave each reader its own
  // DequantizeLinear before.
  void make_unsigned(OpId id) {
    if (!graph_.alive(id) || !is_quantise(id, "QuantizeLinear")) {
      return;
    }
    const OpId reader = graph_.sole_reader(graph_.op(id).outputs[0]);
    if (!is_quantise(reader, "DequantizeLinear")) {
      return;
    }
    if (!has_one_reader(graph_, graph_.op(reader).outputs[0])) {
      return;
    }
    const auto zero = signed_zero(id);
    if (!zero || zero != signed_zero(reader)) {
      return;
    }
    constexpr int64_t kMoved = 128;
    const TensorId quantised = graph_.op(id).outputs[0];
    const TensorId moved =
        graph_.add_constant(graph_.tensor(quantised).name + "/zero",
                            {DType::kUInt8, {}, {static_cast<int64_t>(*zero) + kMoved}, {}});
    graph_.set_input(id, 2, moved);
    graph_.set_input(reader, 2, moved);
    graph_.set_dtype(quantised, DType::kUInt8);
  }

  // Type of an operand before it was dequantised; unknown for others.
  DType quantised_type(TensorId operand) const {
    const OpId source = dequantiser(operand);
    return source.valid() ? graph_.tensor(graph_.op(source).inputs[0]).dtype : DType::kUnknown;
  }

  // Whether the result, where it is quantised, has the type of all these operands.
  bool keeps_type(OpId id, const std::vector<size_t>& operands) const {
    const OpId quantise = quantiser(id);
    if (!quantise.valid()) {
      return true;
    }
    const DType type = graph_.tensor(graph_.op(quantise).outputs[0]).dtype;
    return std::ranges::all_of(operands, [&](size_t operand) {
      const DType given = quantised_type(graph_.op(id).inputs[operand]);
      return given == DType::kUnknown || given == type;
    });
  }

  bool is_signed(TensorId operand) const { return quantised_type(operand) == DType::kInt8; }

  // Range of the real values that the QuantizeLinear can hold; none when scale or type say nothing.
  std::optional<std::pair<double, double>> range_of(OpId quantise) const {
    const Op& op = graph_.op(quantise);
    const auto scale = graph_.scalar(op.inputs[1]);
    const auto zero = graph_.scalar(op.inputs[2]);
    const DType dtype = graph_.tensor(op.outputs[0]).dtype;
    const bool is_signed = dtype == DType::kInt8;
    if (!scale || !zero || (!is_signed && dtype != DType::kUInt8)) {
      return std::nullopt;
    }
    const double low = is_signed ? -128 : 0;
    return std::pair((low - *zero) * *scale, (low + 255 - *zero) * *scale);
  }

  // A Relu or Clip whose bounds quantising keeps anyway.
  void drop_clamp(OpId id) {
    const Op& op = graph_.op(id);
    const bool relu = op.op_type == "Relu";
    if (!op.domain.empty() || (!relu && op.op_type != "Clip") || !quantiser(id).valid()) {
      return;
    }
    const auto range = range_of(quantiser(id));
    const auto bound = [&](size_t input, double fallback) {
      const bool given = op.inputs.size() > input && op.inputs[input].valid();
      return given ? graph_.scalar(op.inputs[input]).value_or(fallback) : fallback;
    };
    constexpr double kNoBound = 1e300;
    if (range && range->first >= (relu ? 0 : bound(1, -kNoBound)) &&
        range->second <= (relu ? kNoBound : bound(2, kNoBound))) {
      graph_.bypass(id);
    }
  }

  // Adds what the DequantizeLinear reads: value, scale, zero point.
  void add_quantised(OpId dequantise, std::vector<TensorId>* inputs) const {
    const auto& operands = graph_.op(dequantise).inputs;
    inputs->insert(inputs->end(), operands.begin(), operands.end());
  }

  // The operator with operands `from` taken quantised, then scale and zero point of its result,
  // then the values of the operands `plain`. False when one of them or the result is not quantised.
  bool become(OpId id, std::string type, std::string_view domain, const std::vector<size_t>& from,
              const std::vector<size_t>& plain) {
    const Op& op = graph_.op(id);
    const OpId quantise = quantiser(id);
    if (!quantise.valid() || !is_byte(graph_.op(quantise).outputs[0])) {
      return false;
    }
    Op fused = op;
    fused.op_type = std::move(type);
    fused.domain = domain;
    fused.inputs.clear();
    std::vector<OpId> sources;
    for (const size_t input : from) {
      const OpId source = input < op.inputs.size() ? byte_dequantiser(op.inputs[input]) : OpId();
      if (!source.valid()) {
        return false;
      }
      add_quantised(source, &fused.inputs);
      sources.push_back(source);
    }
    const auto& result = graph_.op(quantise).inputs;
    fused.inputs.insert(fused.inputs.end(), result.begin() + 1, result.end());
    for (const size_t input : plain) {
      const OpId source = dequantiser(op.inputs[input]);
      if (!source.valid()) {
        return false;
      }
      fused.inputs.push_back(graph_.op(source).inputs[0]);
      sources.push_back(source);
    }
    finish(id, quantise, std::move(fused), sources);
    return true;
  }

  // `fused` in place of the operator and, where there is one, the QuantizeLinear after it.
  void finish(OpId id, OpId quantise, Op fused, const std::vector<OpId>& sources) {
    std::vector<OpId> replaced = {id};
    if (quantise.valid()) {
      replaced.push_back(quantise);
      fused.outputs = {graph_.op(quantise).outputs[0]};
    }
    graph_.fuse(replaced, std::move(fused));
    drop_unread(sources);
  }

  void drop_unread(const std::vector<OpId>& sources) {
    for (const OpId source : sources) {
      const bool alive = graph_.alive(source);
      if (alive && graph_.readers(graph_.op(source).outputs[0]).empty() &&
          !graph_.tensor(graph_.op(source).outputs[0]).is_output) {
        graph_.remove_op(source);
      }
    }
  }

  void conv(OpId id) {
    if (is_signed(graph_.op(id).inputs[0]) || !keeps_type(id, {0})) {
      return;
    }
    const std::vector<size_t> bias =
        graph_.op(id).inputs.size() > 2 ? std::vector<size_t>{2} : std::vector<size_t>{};
    become(id, "QLinearConv", "", {0, 1}, bias);
  }

  void matmul(OpId id) {
    if (is_signed(graph_.op(id).inputs[0]) || !keeps_type(id, {0})) {
      return;
    }
    if (become(id, "QLinearMatMul", "", {0, 1}, {})) {
      return;
    }
    const Op& op = graph_.op(id);
    const OpId a = byte_dequantiser(op.inputs[0]);
    const OpId b = byte_dequantiser(op.inputs[1]);
    if (!a.valid() || !b.valid()) {
      return;
    }
    const auto& x = graph_.op(a).inputs;
    const auto& w = graph_.op(b).inputs;
    Op fused = op;
    fused.op_type = "MatMulIntegerToFloat";
    fused.domain = kMicrosoft;
    fused.inputs = {x[0], w[0], x[1], w[1], x[2], w[2]};
    finish(id, OpId(), std::move(fused), {a, b});
  }

  // A, B and their scales and zero points, C in 32 bits, then those of the result where it is
  // quantised.
  void gemm(OpId id) {
    const Op& op = graph_.op(id);
    const OpId a = byte_dequantiser(op.inputs[0]);
    const OpId b = byte_dequantiser(op.inputs[1]);
    const bool has_bias = op.inputs.size() > 2 && op.inputs[2].valid();
    const OpId c = has_bias ? dequantiser(op.inputs[2]) : OpId();
    if (!a.valid() || !b.valid() || (has_bias && !c.valid()) ||
        (has_bias && graph_.tensor(graph_.op(c).inputs[0]).dtype != DType::kInt32) ||
        (is_signed(op.inputs[0]) && !is_signed(op.inputs[1])) || !keeps_type(id, {0})) {
      return;
    }
    Op fused = op;
    fused.op_type = "QGemm";
    fused.domain = kMicrosoft;
    fused.inputs.clear();
    add_quantised(a, &fused.inputs);
    add_quantised(b, &fused.inputs);
    fused.inputs.push_back(has_bias ? graph_.op(c).inputs[0] : TensorId());
    const OpId quantise = quantiser(id);
    std::vector<OpId> sources = {a, b};
    if (has_bias) {
      sources.push_back(c);
    }
    if (quantise.valid()) {
      const auto& result = graph_.op(quantise).inputs;
      fused.inputs.insert(fused.inputs.end(), result.begin() + 1, result.end());
    }
    finish(id, quantise, std::move(fused), sources);
  }

  // Scale and zero point of the result, then value, scale and zero point of each operand.
  void concat(OpId id) {
    const Op& op = graph_.op(id);
    const OpId quantise = quantiser(id);
    std::vector<size_t> operands(op.inputs.size());
    std::iota(operands.begin(), operands.end(), size_t{0});
    if (!quantise.valid() || !keeps_type(id, operands)) {
      return;
    }
    Op fused = op;
    fused.op_type = "QLinearConcat";
    fused.domain = kMicrosoft;
    const auto& result = graph_.op(quantise).inputs;
    fused.inputs.assign(result.begin() + 1, result.end());
    std::vector<OpId> sources;
    for (const TensorId input : op.inputs) {
      const OpId source = byte_dequantiser(input);
      if (!source.valid()) {
        return;
      }
      add_quantised(source, &fused.inputs);
      sources.push_back(source);
    }
    finish(id, quantise, std::move(fused), sources);
  }

  // A choice between bytes, or between bytes and a number: ONNX Runtime's WhereDummyDq quantises
  // that.
  void where(OpId id) {
    const Op& op = graph_.op(id);
    const OpId quantise = quantiser(id);
    const std::array<OpId, 2> sources = {byte_dequantiser(op.inputs[1]),
                                         byte_dequantiser(op.inputs[2])};
    const auto fits = [&](size_t side) {
      const TensorId value = op.inputs[side + 1];
      return sources[side].valid() ||
             (graph_.is_parameter(value) && graph_.shape(value).rank() == 0);
    };
    if (!quantise.valid() || !is_byte(graph_.op(quantise).outputs[0]) || !keeps_type(id, {1, 2}) ||
        !fits(0) || !fits(1) || (!sources[0].valid() && !sources[1].valid())) {
      return;
    }
    Op fused = op;
    fused.op_type = "QLinearWhere";
    fused.domain = kMicrosoft;
    fused.inputs.resize(1);
    std::vector<OpId> read;
    for (size_t side = 0; side < sources.size(); ++side) {
      if (sources[side].valid()) {
        add_quantised(sources[side], &fused.inputs);
        read.push_back(sources[side]);
        continue;
      }
      const DType dtype = graph_.tensor(graph_.op(quantise).outputs[0]).dtype;
      const std::string name = graph_.tensor(op.inputs[side + 1]).name;
      fused.inputs.push_back(graph_.add_constant(name + "/byte", {dtype, {}, {1}, {}}));
      fused.inputs.push_back(
          graph_.add_constant(name + "/scale", {DType::kFloat32, {}, {}, {1.0}}));
      fused.inputs.push_back(graph_.add_constant(name + "/zero", {dtype, {}, {0}, {}}));
    }
    const auto& result = graph_.op(quantise).inputs;
    fused.inputs.insert(fused.inputs.end(), result.begin() + 1, result.end());
    finish(id, quantise, std::move(fused), read);
  }

  // The same tensor, or constants of equal value.
  bool same_value(TensorId a, TensorId b) const {
    const auto x = graph_.scalar(a);
    return a == b || (x.has_value() && x == graph_.scalar(b));
  }

  // Operators that only move values move quantised ones when scale and zero point do not change.
  // The QuantizeLinear of each result, where all have scale and zero point of what is dequantised;
  // none otherwise.
  std::vector<OpId> same_quantisers(const Op& op, OpId source) const {
    const auto& in = graph_.op(source).inputs;
    std::vector<OpId> quantisers;
    for (const TensorId result : op.outputs) {
      const OpId reader = result.valid() ? graph_.sole_reader(result) : OpId();
      if (!is_quantise(reader, "QuantizeLinear") ||
          !same_value(in[1], graph_.op(reader).inputs[1]) ||
          !same_value(in[2], graph_.op(reader).inputs[2]) ||
          graph_.tensor(in[0]).dtype != graph_.tensor(graph_.op(reader).outputs[0]).dtype) {
        return {};
      }
      quantisers.push_back(reader);
    }
    return quantisers;
  }

  void move(OpId id) {
    const Op& op = graph_.op(id);
    const OpId source = dequantiser(op.inputs[0]);
    if (!source.valid() ||
        (op.op_type == "Resize" && op.attributes.string_or("mode", "nearest") != "nearest")) {
      return;  // other modes compute new values
    }
    const std::vector<OpId> quantisers = same_quantisers(op, source);
    if (quantisers.empty()) {
      return;
    }
    Op moved = op;
    moved.inputs[0] = graph_.op(source).inputs[0];
    std::vector<OpId> replaced = quantisers;
    replaced.push_back(id);
    for (size_t i = 0; i < quantisers.size(); ++i) {
      moved.outputs[i] = graph_.op(quantisers[i]).outputs[0];
    }
    graph_.fuse(replaced, std::move(moved));
    drop_unread({source});
  }

  EditableGraph& graph_;
};

}  // namespace

void fuse_quantized(EditableGraph& graph) { QuantizedFuser(graph).run(); }

}  // namespace dfsim::inline graphs
