// A product with a weight is found with its bias, whatever operator it is written as; then one of
// three functions writes it again. Scales and zero points have unknown values: none is needed for
// the cost.
#include "graphs/passes/precision/quantized_products.h"

#include <algorithm>
#include <map>
#include <optional>

#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/ops/rules.h"
#include "graphs/passes/fusion/dynamic_int8.h"
#include "graphs/passes/product_parts.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kQuantizeVersion = 19;
constexpr size_t kExpertMatrix = 2;  // the first one's input

struct WeightProduct {
  std::vector<OpId> ops;  // the product, and the sum with its bias where that is one of its own
  TensorId x;
  TensorId weight;
  TensorId bias;  // none without one
  TensorId result;
  int64_t contracted = 0;
  int64_t columns = 0;
};

class ProductQuantizer {
 public:
  ProductQuantizer(EditableGraph& graph, const PrecisionPlan& plan) : graph_(graph), plan_(plan) {}

  void run() {
    for (const OpId id : graph_.ops()) {
      if (!graph_.alive(id)) {
        continue;
      }
      const Precision precision = precision_at(plan_, graph_.op(id));
      if (!quantises_products(precision)) {
        continue;
      }
      if (is_experts(id)) {
        quantise_experts(id, precision);
      } else if (const auto product = product_at(id)) {
        rewrite(*product, precision);
      }
    }
    for (const auto& [x, quantise] : dynamic_) {
      join_dynamic_quantizer(graph_, quantise);
    }
  }

 private:
  std::optional<WeightProduct> product_at(OpId id) const {
    const Op& op = graph_.op(id);
    const bool gemm = op.op_type == "Gemm" && op.domain.empty();
    const bool linear = op.op_type == "linear" && op.domain == kAten;
    const bool matmul = op.op_type == "MatMul" && op.domain.empty();
    if ((!gemm && !linear && !matmul) || !graph_.is_parameter(op.inputs[1]) ||
        graph_.shape(op.inputs[1]).rank() != 2 || !graph_.shape(op.inputs[1]).is_static() ||
        op.attributes.int_or("transA", 0) != 0) {
      return std::nullopt;
    }
    WeightProduct product;
    product.ops = {id};
    product.x = op.inputs[0];
    product.weight = op.inputs[1];
    product.bias = op.inputs.size() > 2 ? op.inputs[2] : TensorId();
    product.result = op.outputs[0];
    const bool turned = op.attributes.int_or("transB", 0) != 0;
    const Shape& weight = graph_.shape(product.weight);
    product.contracted = weight[turned ? 1 : 0].extent();
    product.columns = weight[turned ? 0 : 1].extent();
    if (matmul) {
      take_bias(&product);
    }
    return product;
  }

  // The sum with a vector that alone reads the product.
  void take_bias(WeightProduct* product) const {
    TensorId bias;
    const OpId sum = bias_sum(graph_, product->result, product->columns, &bias);
    if (sum.valid()) {
      product->ops.push_back(sum);
      product->bias = bias;
      product->result = graph_.op(sum).outputs[0];
    }
  }

  void rewrite(const WeightProduct& product, Precision precision) {
    if (precision == Precision::kInt8Dynamic) {
      on_integers(product);
    } else if (precision == Precision::kFp8) {
      on_fp8(product);
    } else {
      packed(product, precision == Precision::kInt4Weights ? 4 : 8);
    }
  }

  // A weight in another type; its bytes stay shared with those it was shared with.
  TensorId weight_as(TensorId weight, DType dtype, const Shape& shape, std::string_view name) {
    TensorId& made = weights_[{weight, name}];
    if (!made.valid()) {
      made = graph_.add_weight(graph_.tensor(weight).name + std::string(name), dtype, shape);
    }
    return made;
  }

  std::string name_of(const WeightProduct& product) const { return graph_.op(product.ops[0]).name; }

  void on_integers(const WeightProduct& product) {
    const DType result = graph_.tensor(product.result).dtype;
    const OpId quantise = dynamic_quantiser(product.x);
    Op fused;
    fused.op_type = "MatMulIntegerToFloat";
    fused.domain = kMicrosoft;
    const Shape columns({Dim(product.columns)});
    const std::vector<TensorId> quantised = graph_.op(quantise).outputs;
    fused.inputs = {quantised[0],
                    weight_as(product.weight, DType::kInt8,
                              Shape({Dim(product.contracted), Dim(product.columns)}), "/int8"),
                    quantised[1],
                    weight_as(product.weight, DType::kFloat32, columns, "/scale"),
                    quantised[2],
                    weight_as(product.weight, DType::kInt8, columns, "/zero")};
    if (product.bias.valid()) {
      fused.inputs.push_back(product.bias);
    }
    fused.outputs = {product.result};
    graph_.fuse(product.ops, std::move(fused));
    graph_.set_dtype(product.result, result);
  }

  // One per activation: PyTorch and ONNX Runtime both reuse it.
  OpId dynamic_quantiser(TensorId x) {
    OpId& made = dynamic_[x];
    if (made.valid()) {
      return made;
    }
    const Tensor tensor = graph_.tensor(x);
    Op quantise;
    quantise.op_type = "DynamicQuantizeLinear";
    quantise.version = kQuantizeVersion;
    quantise.name = tensor.name + "/quantize";
    quantise.inputs = {x};
    quantise.outputs = {graph_.add_tensor(tensor.name + "/uint8", DType::kUInt8, tensor.shape),
                        graph_.add_tensor(tensor.name + "/scale", DType::kFloat32, Shape::scalar()),
                        graph_.add_tensor(tensor.name + "/zero", DType::kUInt8, Shape::scalar())};
    made = graph_.add_op(std::move(quantise));
    return made;
  }

  void packed(const WeightProduct& product, int64_t bits) {
    const PackedProduct parts = {product.x,       product.bias, product.contracted,
                                 product.columns, bits,         plan_.blocks.elements};
    Op fused = matmul_n_bits(
        parts, weight_as(product.weight, DType::kUInt8, packed_shape(parts), "/packed"),
        weight_as(product.weight, scale_dtype(product.x), packed_scales_shape(parts), "/scales"));
    fused.outputs = {product.result};
    graph_.fuse(product.ops, std::move(fused));
  }

  DType scale_dtype(TensorId x) const {
    return plan_.blocks.scale == DType::kUnknown ? graph_.tensor(x).dtype : plan_.blocks.scale;
  }

  // com.microsoft's MoE: x, the router's scores, then a matrix [experts, a, b] and a bias for each
  // of up to three products.
  bool is_experts(OpId id) const {
    const Op& op = graph_.op(id);
    if (op.op_type != "MoE" || op.domain != kMicrosoft || graph_.shape(op.inputs[0]).rank() < 2) {
      return false;
    }
    for (size_t i = kExpertMatrix; i < op.inputs.size(); i += 2) {
      const TensorId matrix = op.inputs[i];
      if (matrix.valid() && (!graph_.is_parameter(matrix) || graph_.shape(matrix).rank() != 3 ||
                             !graph_.shape(matrix).is_static())) {
        return false;
      }
    }
    return true;
  }

  void quantise_experts(OpId id, Precision precision) {
    if (precision != Precision::kFp8) {
      pack_experts(id, precision == Precision::kInt4Weights ? 4 : 8);
      return;
    }
    const std::vector<TensorId> inputs = graph_.op(id).inputs;
    const TensorId result = graph_.op(id).outputs[0];
    const DType dtype = graph_.tensor(result).dtype;
    graph_.set_input(id, 0, fp8_of(inputs[0]));
    for (size_t i = kExpertMatrix; i < inputs.size(); i += 2) {
      if (inputs[i].valid()) {
        graph_.set_input(id, i,
                         weight_as(inputs[i], DType::kFloat8E4M3, graph_.shape(inputs[i]), "/fp8"));
      }
    }
    graph_.set_dtype(result, dtype);
  }

  // QMoE has scales between each matrix and its bias. The second product contracts the width of an
  // expert, the others that of the model.
  void pack_experts(OpId id, int64_t bits) {
    const Op op = graph_.op(id);
    const int64_t hidden = graph_.shape(op.inputs[0]).dims().back().extent();
    Op fused;
    fused.op_type = "QMoE";
    fused.domain = kMicrosoft;
    fused.attributes = op.attributes;
    fused.attributes.set("expert_weight_bits", bits);
    fused.attributes.set("block_size", plan_.blocks.elements);
    fused.inputs = {op.inputs[0], op.inputs[1]};
    for (size_t i = kExpertMatrix; i < op.inputs.size(); i += 2) {
      const TensorId bias = i + 1 < op.inputs.size() ? op.inputs[i + 1] : TensorId();
      if (!op.inputs[i].valid()) {
        fused.inputs.insert(fused.inputs.end(), {TensorId(), TensorId(), bias});
        continue;
      }
      const Shape matrix = graph_.shape(op.inputs[i]);
      const int64_t other = matrix[1].extent() == hidden ? matrix[2].extent() : matrix[1].extent();
      const bool second = i == kExpertMatrix + 2;
      const int64_t inner = second ? other : hidden;
      const Dim columns(second ? hidden : other);
      const Dim blocks((inner + plan_.blocks.elements - 1) / plan_.blocks.elements);
      fused.inputs.push_back(weight_as(op.inputs[i], DType::kUInt8,
                                       Shape({matrix[0], columns, Dim((inner * bits + 7) / 8)}),
                                       "/packed"));
      fused.inputs.push_back(weight_as(op.inputs[i], scale_dtype(op.inputs[0]),
                                       Shape({matrix[0], columns, blocks}), "/scales"));
      fused.inputs.push_back(bias);
    }
    fused.outputs = {op.outputs[0]};
    graph_.fuse({id}, std::move(fused));
  }

  // The product itself stays what it is; the sum with its bias, too.
  void on_fp8(const WeightProduct& product) {
    const OpId id = product.ops[0];
    const DType result = graph_.tensor(graph_.op(id).outputs[0]).dtype;
    graph_.set_input(id, 0, fp8_of(product.x));
    graph_.set_input(
        id, 1, weight_as(product.weight, DType::kFloat8E4M3, graph_.shape(product.weight), "/fp8"));
    graph_.set_dtype(graph_.op(id).outputs[0], result);
  }

  TensorId fp8_of(TensorId x) {
    TensorId& made = fp8_[x];
    if (made.valid()) {
      return made;
    }
    const Tensor tensor = graph_.tensor(x);
    Op quantise;
    quantise.op_type = "QuantizeLinear";
    quantise.version = kQuantizeVersion;
    quantise.name = tensor.name + "/quantize";
    quantise.inputs = {x,
                       graph_.add_weight(tensor.name + "/scale", DType::kFloat32, Shape::scalar())};
    made = graph_.add_tensor(tensor.name + "/fp8", DType::kFloat8E4M3, tensor.shape);
    quantise.outputs = {made};
    graph_.add_op(std::move(quantise));
    return made;
  }

  EditableGraph& graph_;
  const PrecisionPlan& plan_;
  std::map<std::pair<TensorId, std::string_view>, TensorId> weights_;
  std::map<TensorId, OpId> dynamic_;  // by activation
  std::map<TensorId, TensorId> fp8_;
};

}  // namespace

void quantize_products(EditableGraph& graph, const PrecisionPlan& plan) {
  ProductQuantizer(graph, plan).run();
}

}  // namespace dfsim::inline graphs
