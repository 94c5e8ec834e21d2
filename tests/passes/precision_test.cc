// Precisions on graphs written by hand: casts, autocast, rules, quantisation, TF32. The types
// expected of autocast are those that PyTorch 2.13 gives (aten/src/ATen/autocast_mode.h).
#include "graphs/passes/precision/precision.h"

#include <map>

#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

PrecisionPlan base_plan(Precision base) {
  PrecisionPlan plan;
  plan.base = base;
  return plan;
}

const Tensor& precision_tensor(const Graph& graph, const std::string& name) {
  for (const Tensor& tensor : graph.tensors()) {
    if (tensor.name == name) {
      return tensor;
    }
  }
  FAIL("no tensor " << name);
  return graph.tensor(TensorId(0));
}

DType tensor_dtype(const Graph& graph, const std::string& name) {
  return precision_tensor(graph, name).dtype;
}

Types op_types_of(const Graph& graph) {
  Types types;
  for (const Op& op : graph.ops()) {
    types.push_back(op.op_type);
  }
  return types;
}

size_t op_count_of(const Graph& graph, const std::string& type) {
  const Types types = op_types_of(graph);
  return static_cast<size_t>(std::count(types.begin(), types.end(), type));
}

int64_t moved_bytes(const Graph& graph) {
  int64_t bytes = 0;
  for (size_t i = 0; i < graph.op_count(); ++i) {
    const auto work = op_work(graph, OpId(i));
    REQUIRE(work.ok());
    bytes += work->bytes();
  }
  return bytes;
}

// x W, layer normalisation, W2, softmax: one operator of each of autocast's kinds.
PassCase perceptron() {
  PassCase graph;
  graph.input("x", {8, 64});
  graph.weight("w1", {64, 64});
  graph.weight("w2", {64, 64});
  graph.weight("g", {64});
  graph.weight("b", {64});
  graph.op("MatMul", {"x", "w1"}, "h");
  graph.op("LayerNormalization", {"h", "g", "b"}, "n");
  graph.op("Relu", {"n"}, "r");
  graph.op("MatMul", {"r", "w2"}, "o");
  graph.op("Softmax", {"o"}, "p");
  graph.output("p");
  return graph;
}

TEST_CASE("Precision: names are found, unknown ones get the nearest") {
  for (const PrecisionInfo& info : all_precisions()) {
    const auto found = precision_of(info.name);
    REQUIRE(found.ok());
    CHECK(*found == info.value);
    CHECK(precision_name(info.value) == info.name);
    CHECK_FALSE(info.description.empty());
  }
  const auto wrong = precision_of("fp17");
  CHECK_FALSE(wrong.ok());
  CHECK(wrong.status().message().find("did you mean 'fp16'") != std::string::npos);
}

TEST_CASE("Precision: a whole-model cast halves the bytes and adds no operator") {
  const Graph fp32 = perceptron().built();
  const auto fp16 = cast_model(fp32, DType::kFloat16, {});
  REQUIRE(fp16.ok());
  CHECK(op_types_of(*fp16) == op_types_of(fp32));
  CHECK(moved_bytes(*fp16) * 2 == moved_bytes(fp32));
  for (const Tensor& tensor : fp16->tensors()) {
    INFO(tensor.name);
    CHECK(tensor.dtype == DType::kFloat16);
  }
}

TEST_CASE("Precision: casts to fp32 in the model become casts to the precision") {
  PassCase graph;
  graph.input("x", {4});
  graph.op("Cast", {"x"}, "i", {{"to", int64_t{7}}});
  graph.op("Cast", {"i"}, "f", {{"to", int64_t{1}}});
  graph.op("Exp", {"f"}, "y");
  graph.output("y");
  const auto bf16 = cast_model(graph.built(), DType::kBFloat16, {});
  REQUIRE(bf16.ok());
  CHECK(tensor_dtype(*bf16, "i") == DType::kInt64);
  CHECK(tensor_dtype(*bf16, "y") == DType::kBFloat16);
  CHECK(bf16->op(OpId(1)).attributes.int_or("to", 0) == 16);
}

TEST_CASE("Precision: ONNX's converter leaves operators of its block list in fp32") {
  PassCase graph;
  graph.input("x", {4, 8});
  graph.op("CumSum", {"x", "axis"}, "c");
  graph.index("axis", 1);
  graph.op("Relu", {"c"}, "r");
  graph.op("Max", {"r", "c"}, "y");
  graph.output("y");
  const Graph fp32 = graph.built();
  const auto torch = cast_model(fp32, DType::kFloat16, {});
  const auto ort = cast_model(fp32, DType::kFloat16, {.onnx_runtime = true});
  REQUIRE(torch.ok());
  REQUIRE(ort.ok());
  CHECK(op_count_of(*torch, "Cast") == 0);
  CHECK(tensor_dtype(*torch, "c") == DType::kFloat16);
  // x to fp32; c to fp16 for Relu; r to fp32 for Max, which reads c as it is. y stays what Max
  // makes.
  CHECK(op_count_of(*ort, "Cast") == 3);
  CHECK(tensor_dtype(*ort, "c") == DType::kFloat32);
  CHECK(tensor_dtype(*ort, "r") == DType::kFloat16);
}

TEST_CASE("Precision: autocast on a GPU follows PyTorch's lists") {
  const auto mixed = refine_precision(perceptron().built(), base_plan(Precision::kMixedFp16), {});
  REQUIRE(mixed.ok());
  // Products get fp16 operands (x, w1, r, w2 are cast), layer normalisation fp32 ones (h is cast);
  // the kernel of softmax reads fp16 and writes fp32.
  CHECK(op_count_of(*mixed, "Cast") == 5);
  CHECK(tensor_dtype(*mixed, "h") == DType::kFloat16);
  CHECK(tensor_dtype(*mixed, "n") == DType::kFloat32);
  CHECK(tensor_dtype(*mixed, "r") == DType::kFloat32);
  CHECK(tensor_dtype(*mixed, "o") == DType::kFloat16);
  CHECK(tensor_dtype(*mixed, "p") == DType::kFloat32);
  CHECK(tensor_dtype(*mixed, "w1") == DType::kFloat32);  // a master weight, cast in every run
}

TEST_CASE("Precision: autocast on a CPU keeps normalisation and softmax in bf16") {
  const auto mixed =
      refine_precision(perceptron().built(), base_plan(Precision::kMixedBf16), {.cpu = true});
  REQUIRE(mixed.ok());
  CHECK(op_count_of(*mixed, "Cast") == 3);  // x, w1, w2
  CHECK(tensor_dtype(*mixed, "n") == DType::kBFloat16);
  CHECK(tensor_dtype(*mixed, "p") == DType::kBFloat16);
}

TEST_CASE("Precision: autocast casts a tensor once for all its readers") {
  PassCase graph;
  graph.input("x", {8, 64});
  for (const char* name : {"q", "k", "v"}) {
    graph.weight(std::string("w") + name, {64, 64});
    graph.op("MatMul", {"x", std::string("w") + name}, name);
    graph.output(name);
  }
  const auto mixed = refine_precision(graph.built(), base_plan(Precision::kMixedFp16), {});
  REQUIRE(mixed.ok());
  CHECK(op_count_of(*mixed, "Cast") == 4);  // x and three weights
}

TEST_CASE("Precision: autocast lets elementwise operators promote their operands") {
  PassCase graph;
  graph.input("x", {8, 64});
  graph.weight("w", {64, 64});
  graph.number("half", 0.5);
  graph.op("MatMul", {"x", "w"}, "h");
  graph.op("Mul", {"h", "half"}, "scaled");
  graph.op("Add", {"scaled", "x"}, "sum");
  graph.output("sum");
  const auto mixed = refine_precision(graph.built(), base_plan(Precision::kMixedFp16), {});
  REQUIRE(mixed.ok());
  CHECK(op_count_of(*mixed, "Cast") == 2);                   // of x and w for the product
  CHECK(tensor_dtype(*mixed, "scaled") == DType::kFloat16);  // a number promotes nothing
  CHECK(tensor_dtype(*mixed, "sum") == DType::kFloat32);     // fp16 + fp32, no cast of its own
}

TEST_CASE("Precision: the last rule that matches an operator counts") {
  PrecisionPlan plan = base_plan(Precision::kFp16);
  plan.rules = {{"matmul", "", "", Precision::kBf16}, {"", "", "h*", Precision::kFp32}};
  const Graph graph = perceptron().built();
  CHECK(precision_at(plan, graph.op(OpId(0))) == Precision::kFp32);  // MatMul 'h'
  CHECK(precision_at(plan, graph.op(OpId(1))) == Precision::kFp16);
  CHECK(precision_at(plan, graph.op(OpId(3))) == Precision::kBf16);
}

TEST_CASE("Precision: rules cast between operators, and weights ahead of the run") {
  PrecisionPlan plan = base_plan(Precision::kFp16);
  plan.rules = {{"norm", "", "", Precision::kFp32}};
  const auto whole = cast_model(perceptron().built(), DType::kFloat16, {});
  REQUIRE(whole.ok());
  const auto refined = refine_precision(*whole, plan, {});
  REQUIRE(refined.ok());
  CHECK(op_count_of(*refined, "Cast") == 2);  // h to fp32, n back to fp16
  CHECK(tensor_dtype(*refined, "n") == DType::kFloat32);
  CHECK(tensor_dtype(*refined, "r") == DType::kFloat16);
}

TEST_CASE("Precision: TF32 is the arithmetic of products of fp32, not their type") {
  const auto marked = mark_tf32(perceptron().built(), base_plan(Precision::kTf32));
  REQUIRE(marked.ok());
  for (size_t i = 0; i < marked->op_count(); ++i) {
    const auto work = op_work(*marked, OpId(i));
    REQUIRE(work.ok());
    CHECK(work->dtype ==
          (marked->op(OpId(i)).op_type == "MatMul" ? DType::kTFloat32 : DType::kFloat32));
  }
  CHECK(moved_bytes(*marked) == moved_bytes(perceptron().built()));
}

TEST_CASE("Precision: fp8 quantises activations once and stores weights in 8 bits") {
  const auto bf16 = cast_model(perceptron().built(), DType::kBFloat16, {});
  REQUIRE(bf16.ok());
  const auto fp8 = refine_precision(*bf16, base_plan(Precision::kFp8), {});
  REQUIRE(fp8.ok());
  CHECK(op_count_of(*fp8, "QuantizeLinear") == 2);
  for (const Op& op : fp8->ops()) {
    if (op.op_type == "MatMul") {
      CHECK(fp8->tensor(op.inputs[0]).dtype == DType::kFloat8E4M3);
      CHECK(fp8->tensor(op.inputs[1]).dtype == DType::kFloat8E4M3);
      CHECK(fp8->tensor(op.outputs[0]).dtype == DType::kBFloat16);
    }
  }
}

TEST_CASE("Precision: dynamic quantisation joins with its product unless others read it") {
  const auto single =
      refine_precision(perceptron().built(), base_plan(Precision::kInt8Dynamic), {});
  REQUIRE(single.ok());
  CHECK(op_types_of(*single) == Types{"DynamicQuantizeMatMul", "LayerNormalization", "Relu",
                                      "DynamicQuantizeMatMul", "Softmax"});
  PassCase graph;
  graph.input("x", {8, 64});
  for (const char* name : {"q", "k"}) {
    graph.weight(std::string("w") + name, {64, 32});
    graph.weight(std::string("b") + name, {32});
    graph.op("MatMul", {"x", std::string("w") + name}, std::string("m") + name);
    graph.op("Add", {std::string("m") + name, std::string("b") + name}, name);
    graph.output(name);
  }
  const auto shared = refine_precision(graph.built(), base_plan(Precision::kInt8Dynamic), {});
  REQUIRE(shared.ok());
  CHECK(op_types_of(*shared) ==
        Types{"DynamicQuantizeLinear", "MatMulIntegerToFloat", "MatMulIntegerToFloat"});
  const auto work = op_work(*shared, OpId(1));
  REQUIRE(work.ok());
  CHECK(work->macs == 8 * 64 * 32);
  CHECK(work->dtype == DType::kInt8);
}

TEST_CASE("Precision: weight-only quantisation packs weights and leaves activations") {
  const auto packed =
      refine_precision(perceptron().built(), base_plan(Precision::kInt4Weights), {});
  REQUIRE(packed.ok());
  REQUIRE(op_count_of(*packed, "MatMulNBits") == 2);
  const Op& product = packed->op(OpId(0));
  CHECK(packed->tensor(product.inputs[0]).dtype == DType::kFloat32);
  // 64 columns, one block of 128 elements each, 4 bits per element
  CHECK(packed->tensor(product.inputs[1]).bytes().value() == 64 * 64);
  CHECK(op_work(*packed, OpId(0))->macs == 8 * 64 * 64);
}

// Four tokens of width 64 through 2 of 8 experts of width 32: three matrices and a bias each.
PassCase mixture() {
  PassCase graph;
  graph.input("x", {4, 64});
  graph.input("scores", {4, 8});
  graph.weight("gate", {8, 64, 32});
  graph.weight("gate_bias", {8, 32});
  graph.weight("down", {8, 32, 64});
  graph.weight("down_bias", {8, 64});
  graph.weight("up", {8, 64, 32});
  graph.weight("up_bias", {8, 32});
  graph.op("com.microsoft.MoE",
           {"x", "scores", "gate", "gate_bias", "down", "down_bias", "up", "up_bias"}, "y",
           {{"k", int64_t{2}}});
  graph.output("y");
  return graph;
}

TEST_CASE("Precision: weight-only quantisation packs the weights of experts in the plan's blocks") {
  PrecisionPlan plan = base_plan(Precision::kInt4Weights);
  plan.blocks = {16, DType::kUInt8};
  const auto packed = refine_precision(mixture().built(), plan, {});
  REQUIRE(packed.ok());
  REQUIRE(op_types_of(*packed) == Types{"QMoE"});
  const Op& experts = packed->op(OpId(0));
  REQUIRE(experts.inputs.size() == 11);
  const auto shape_of = [&](size_t i) { return packed->tensor(experts.inputs[i]).shape; };
  CHECK(shape_of(2) == Shape::of({8, 32, 32}));  // 64 of 4 bits for each of 32 columns
  CHECK(shape_of(3) == Shape::of({8, 32, 4}));   // scales of 16 weights
  CHECK(shape_of(4) == Shape::of({8, 32}));
  CHECK(shape_of(5) == Shape::of({8, 64, 16}));
  CHECK(shape_of(6) == Shape::of({8, 64, 2}));
  CHECK(packed->tensor(experts.inputs[3]).bytes().value() == 8 * 32 * 4);
  const auto work = op_work(*packed, OpId(0));
  REQUIRE(work.ok());
  CHECK(work->macs == 4 * 2 * 3 * 64 * 32);
  CHECK(work->dtype == DType::kFloat32);
  CHECK(find_model_precision(*packed).quantized);
}

TEST_CASE("Precision: fp8 runs experts on operands of 8 bits") {
  const auto bf16 = cast_model(mixture().built(), DType::kBFloat16, {});
  REQUIRE(bf16.ok());
  const auto fp8 = refine_precision(*bf16, base_plan(Precision::kFp8), {});
  REQUIRE(fp8.ok());
  REQUIRE(op_types_of(*fp8) == Types{"QuantizeLinear", "MoE"});
  const Op& experts = fp8->op(OpId(1));
  for (const size_t i : {0, 2, 4, 6}) {
    CHECK(fp8->tensor(experts.inputs[i]).dtype == DType::kFloat8E4M3);
  }
  CHECK(fp8->tensor(experts.inputs[3]).dtype == DType::kBFloat16);
  CHECK(fp8->tensor(experts.outputs[0]).dtype == DType::kBFloat16);
}

TEST_CASE("Precision: an implied rule leaves its operators as they are") {
  PrecisionPlan plan = base_plan(Precision::kInt4Weights);
  PrecisionRule rule;
  rule.name = "o";
  rule.implied = true;
  plan.rules = {rule};
  const auto packed = refine_precision(perceptron().built(), plan, {});
  REQUIRE(packed.ok());
  CHECK(op_types_of(*packed) ==
        Types{"MatMulNBits", "LayerNormalization", "Relu", "MatMul", "Softmax"});
}

TEST_CASE("Precision: static quantisation makes QLinear operators of a residual block") {
  PassCase graph;
  graph.input("x", {1, 16, 8, 8});
  for (const char* name : {"1", "2"}) {
    graph.weight(std::string("w") + name, {16, 16, 3, 3});
    graph.weight(std::string("b") + name, {16});
  }
  const PassCase::Attributes pads = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}};
  graph.op("Conv", {"x", "w1", "b1"}, "c1", pads);
  graph.op("Relu", {"c1"}, "r1");
  graph.op("Conv", {"r1", "w2", "b2"}, "c2", pads);
  graph.op("Add", {"c2", "x"}, "s");
  graph.op("Relu", {"s"}, "r2");
  graph.op("MaxPool", {"r2"}, "m", {{"kernel_shape", std::vector<int64_t>{2, 2}}});
  graph.output("m");
  const auto quantised = quantize_static(graph.built(), base_plan(Precision::kInt8));
  REQUIRE(quantised.ok());
  const auto fused = run_passes(*quantised, {{"qdq"}});
  REQUIRE(fused.ok());
  CHECK(op_types_of(fused->graph) == Types{"QuantizeLinear", "QLinearConv", "QLinearConv",
                                           "QLinearAdd", "MaxPool", "DequantizeLinear"});
  const Tensor& weight = precision_tensor(fused->graph, "w1/int8");
  CHECK(weight.dtype == DType::kInt8);
  CHECK(precision_tensor(fused->graph, "b1/int32").dtype == DType::kInt32);
  CHECK(precision_tensor(fused->graph, "m").is_output);
}

TEST_CASE("Precision: only operators that the plan has in int8 are quantised") {
  PassCase graph;
  graph.input("x", {8, 64});
  graph.weight("w1", {64, 64});
  graph.weight("w2", {64, 64});
  graph.op("MatMul", {"x", "w1"}, "keep");
  graph.op("MatMul", {"keep", "w2"}, "small");
  graph.output("small");
  PrecisionPlan plan;
  plan.rules = {{"", "", "small", Precision::kInt8}};
  const auto quantised = quantize_static(graph.built(), plan);
  REQUIRE(quantised.ok());
  const auto fused = run_passes(*quantised, {{"qdq"}});
  REQUIRE(fused.ok());
  CHECK(op_types_of(fused->graph) ==
        Types{"MatMul", "QuantizeLinear", "QLinearMatMul", "DequantizeLinear"});
}

TEST_CASE("Precision: a model's own precision is that of its weights") {
  const Graph fp32 = perceptron().built();
  CHECK(find_model_precision(fp32).dtype == DType::kFloat32);
  CHECK(find_model_precision(fp32).share == 1);
  const auto fp16 = cast_model(fp32, DType::kFloat16, {});
  REQUIRE(fp16.ok());
  CHECK(find_model_precision(*fp16).dtype == DType::kFloat16);
  CHECK_FALSE(find_model_precision(*fp16).quantized);
  const auto int8 = quantize_static(fp32, base_plan(Precision::kInt8));
  REQUIRE(int8.ok());
  CHECK(find_model_precision(*int8).quantized);
  PassCase mixed;
  mixed.input("x", {8, 64});
  mixed.weight("w1", {64, 64});
  mixed.weight("w2", {64, 64}, DType::kFloat16);
  mixed.op("MatMul", {"x", "w1"}, "h");
  mixed.op("Cast", {"h"}, "c", {{"to", int64_t{10}}});
  mixed.op("MatMul", {"c", "w2"}, "y");
  mixed.output("y");
  CHECK(find_model_precision(mixed.built()).share < kUniformShare);
}

}  // namespace
}  // namespace dfsim
