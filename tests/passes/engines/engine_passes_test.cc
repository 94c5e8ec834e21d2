// Engines rewrite convolutions and quantised graphs (runtime tensorrt), compilers make one kernel
// of several operators (torch-compile).
#include <algorithm>

#include "graphs/ops/factors/factors.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

// x [1, 16, 8, 8] -> Conv 1x1 -> c; c + x -> y, and a Relu after that.
void add_residual_block(PassCase& graph, DType dtype, bool bias) {
  graph.input("x", {1, 16, 8, 8}, dtype);
  graph.weight("w", {16, 16, 1, 1}, dtype);
  graph.weight("b", {16}, dtype);
  graph.op("Conv",
           bias ? std::vector<std::string>{"x", "w", "b"} : std::vector<std::string>{"x", "w"},
           "c");
  graph.op("Add", {"x", "c"}, "y");
  graph.op("Relu", {"y"}, "z");
  graph.output("z");
}

TEST_CASE("conv-residual: sum and activation go into a convolution of any type") {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
    for (const bool bias : {true, false}) {
      PassCase graph;
      add_residual_block(graph, dtype, bias);
      const Graph& result = graph.after({"conv-residual"});
      REQUIRE(result.op_count() == 1);
      const Op& fused = result.op(OpId(0));
      CHECK(fused.op_type == "FusedConv");
      REQUIRE(fused.inputs.size() == 4);
      CHECK(fused.inputs[2].valid() == bias);
      CHECK(result.tensor(fused.inputs[3]).name == "x");
      CHECK(fused.attributes.string_or("activation", "") == "Relu");
      CHECK(graph_totals(result)->macs == 16 * 16 * 64);
    }
  }
}

// Both operands of the sum may come from a convolution, as behind a block that changes the extents;
// one of them takes the sum, and no convolution takes two.
TEST_CASE("conv-residual: a sum of 8 bits goes into one convolution of 8 bits") {
  for (const bool both : {false, true}) {
    PassCase graph;
    graph.input("x", {1, 16, 8, 8}, DType::kUInt8);
    graph.weight("w", {16, 16, 1, 1}, DType::kInt8);
    for (const char* scale : {"s", "t", "u"}) {
      graph.number(scale, 0.5);
    }
    graph.integer("z", DType::kUInt8, 128);
    graph.integer("wz", DType::kInt8, 0);
    graph.op("QLinearConv", {"x", "s", "z", "w", "s", "wz", "t", "z"}, "c");
    graph.op("QLinearConv", {"x", "s", "z", "w", "s", "wz", "t", "z"}, "d");
    const std::string other = both ? "d" : "x";
    graph.op("com.microsoft.QLinearAdd", {other, "s", "z", "c", "t", "z", "u", "z"}, "sum");
    graph.op("com.microsoft.QLinearAdd", {"sum", "u", "z", "d", "t", "z", "s", "z"}, "again");
    graph.output("again");
    const Graph& result = graph.after({"conv-residual"});
    CHECK(result.op_count() == (both ? 3 : 2));
    const auto summed = std::find_if(result.ops().begin(), result.ops().end(),
                                     [](const Op& op) { return op.inputs.size() > 9; });
    REQUIRE(summed != result.ops().end());
    CHECK(summed->op_type == "QLinearConv");
    CHECK(summed->inputs.size() == 12);
    CHECK(result.tensor(summed->inputs[6]).name == "u");
    CHECK(result.tensor(summed->inputs[9]).name == other);
    CHECK(graph_totals(result)->macs == 2 * 16 * 16 * 64);
  }
}

TEST_CASE("conv-sum: takes fp32 with a bias alone, as ONNX Runtime does") {
  PassCase half;
  add_residual_block(half, DType::kFloat16, true);
  CHECK(half.types_after({"conv-sum"}) == std::vector<std::string>{"Conv", "Add", "Relu"});
  PassCase plain;
  add_residual_block(plain, DType::kFloat32, false);
  CHECK(plain.types_after({"conv-sum"}) == std::vector<std::string>{"Conv", "Add", "Relu"});
  PassCase summed;
  add_residual_block(summed, DType::kFloat32, true);
  CHECK(summed.types_after({"conv-sum"}) == std::vector<std::string>{"com.microsoft.FusedConv"});
}

TEST_CASE("conv-bias: marks convolutions that have a bias") {
  for (const bool bias : {true, false}) {
    PassCase graph;
    add_residual_block(graph, DType::kFloat32, bias);
    const Graph& result = graph.after({"conv-bias"});
    CHECK(result.op(OpId(0)).attributes.int_or(kBiasInKernel, 0) == (bias ? 1 : 0));
  }
}

class ByteCase : public PassCase {
 public:
  ByteCase() {
    number("s", 0.02);
    number("t", 0.03);
    integer("z", DType::kUInt8, 128);
    integer("wz", DType::kInt8, 0);
  }
  void quantise(const std::string& from, const std::string& to, const std::string& scale = "s") {
    op("QuantizeLinear", {from, scale, "z"}, to);
  }
  void dequantise(const std::string& from, const std::string& to, const std::string& scale = "s") {
    op("DequantizeLinear", {from, scale, "z"}, to);
  }
  // [12, 16] times [16, 16], with a quantised result.
  void product(const std::string& from, const std::string& to) {
    weight("w", {16, 16}, DType::kInt8);
    op("com.microsoft.QGemm", {from, "s", "z", "w", "s", "wz", "", "t", "z"}, to);
  }
};

TEST_CASE("requantize: what is quantised right after it was dequantised stays in 8 bits") {
  ByteCase graph;
  graph.input("x", {3, 4, 16});
  graph.quantise("x", "q");
  graph.dequantise("q", "d");
  graph.ints("rows", {12, 16});
  graph.op("Reshape", {"d", "rows"}, "r");
  graph.quantise("r", "r_q", "t");
  graph.product("r_q", "y");
  graph.output("y");
  CHECK(graph.types_after({"requantize"}) ==
        std::vector<std::string>{"QuantizeLinear", "Reshape", "com.microsoft.QGemm"});
}

TEST_CASE("requantize: a dequantised tensor that something else reads, too, keeps its operator") {
  ByteCase graph;
  graph.input("x", {12, 16});
  graph.quantise("x", "q");
  graph.dequantise("q", "d");
  graph.quantise("d", "e", "t");
  graph.product("e", "y");
  graph.op("Relu", {"d"}, "other");
  graph.output("y");
  graph.output("other");
  const auto types = graph.types_after({"requantize"});
  CHECK(std::count(types.begin(), types.end(), "QuantizeLinear") == 1);
  CHECK(std::count(types.begin(), types.end(), "DequantizeLinear") == 1);
}

TEST_CASE("requantize: a QuantizeLinear behind a Reshape moves in front of it") {
  ByteCase graph;
  graph.input("x", {3, 4, 16});
  graph.op("Relu", {"x"}, "v");
  graph.ints("rows", {12, 16});
  graph.op("Reshape", {"v", "rows"}, "r");
  graph.quantise("r", "q");
  graph.product("q", "y");
  graph.output("y");
  const Graph& result = graph.after({"requantize"});
  REQUIRE(result.op_count() == 4);
  CHECK(result.op(OpId(1)).op_type == "QuantizeLinear");
  CHECK(result.op(OpId(2)).op_type == "Reshape");
  CHECK(result.tensor(result.op(OpId(2)).outputs[0]).dtype == DType::kUInt8);
}

TEST_CASE("requantize: a QuantizeLinear with a scale per column stays behind its Reshape") {
  ByteCase graph;
  graph.input("x", {3, 4, 16});
  graph.op("Relu", {"x"}, "v");
  graph.ints("rows", {12, 16});
  graph.op("Reshape", {"v", "rows"}, "r");
  graph.weight("scales", {16});
  graph.weight("zeros", {16}, DType::kUInt8);
  graph.op("QuantizeLinear", {"r", "scales", "zeros"}, "q", {{"axis", int64_t{1}}});
  graph.output("q");
  CHECK(graph.types_after({"requantize"}) ==
        std::vector<std::string>{"Relu", "Reshape", "QuantizeLinear"});
}

TEST_CASE("requantize: a product whose values are only moved before they are real writes reals") {
  ByteCase graph;
  graph.input("x", {12, 16});
  graph.quantise("x", "q");
  graph.product("q", "y");
  graph.ints("heads", {3, 4, 16});
  graph.op("Reshape", {"y", "heads"}, "h");
  graph.split("h", {"left", "right"}, 2);
  graph.dequantise("left", "l", "t");
  graph.dequantise("right", "r", "t");
  graph.op("Add", {"l", "r"}, "sum");
  graph.output("sum");
  const Graph& result = graph.after({"requantize"});
  REQUIRE(result.op_count() == 5);
  const Op& product = result.op(OpId(1));
  CHECK(product.op_type == "QGemm");
  CHECK(product.inputs.size() == 7);
  CHECK(result.tensor(product.outputs[0]).dtype == DType::kFloat32);
}

TEST_CASE("requantize: a product whose bytes are read keeps them") {
  ByteCase graph;
  graph.input("x", {12, 16});
  graph.quantise("x", "q");
  graph.product("q", "y");
  graph.dequantise("y", "d", "t");
  graph.op("com.microsoft.QGemm", {"y", "t", "z", "w", "s", "wz", "", "t", "z"}, "next");
  graph.output("d");
  graph.output("next");
  const Graph& result = graph.after({"requantize"});
  CHECK(result.op_count() == 4);
  CHECK(result.tensor(result.op(OpId(1)).outputs[0]).dtype == DType::kUInt8);
}

TEST_CASE("pointwise: scaling to and from 8 bits is part of a kernel") {
  ByteCase graph;
  graph.input("x", {12, 16}, DType::kUInt8);
  graph.dequantise("x", "d");
  graph.op("Softmax", {"d"}, "soft", {{"axis", int64_t{-1}}});
  graph.quantise("soft", "q");
  graph.output("q");
  const Graph& result = graph.after({"pointwise"});
  REQUIRE(result.op_count() == 1);
  CHECK(result.op(OpId(0)).op_type == "softmax");
  CHECK(result.tensor(result.outputs()[0]).dtype == DType::kUInt8);
}

// a + b -> s; normalised s -> n; s + n -> y: the skip connection of a transformer.
TEST_CASE("pointwise: a normalisation writes the skip connection that it reads") {
  PassCase graph;
  graph.input("a", {2, 8, 16});
  graph.input("b", {2, 8, 16});
  graph.weight("g", {16});
  graph.op("Add", {"a", "b"}, "s");
  graph.op("LayerNormalization", {"s", "g"}, "n", {{"axis", int64_t{-1}}});
  graph.weight("w", {16, 16});
  graph.op("MatMul", {"n", "w"}, "m");
  graph.op("Add", {"s", "m"}, "y");
  graph.output("y");
  const Graph& result = graph.after({"pointwise"});
  REQUIRE(result.op_count() == 3);
  const Op& norm = result.op(OpId(0));
  CHECK(norm.op_type == "norm");
  REQUIRE(norm.outputs.size() == 2);
  CHECK(result.tensor(norm.outputs[0]).name == "n");
  CHECK(result.tensor(norm.outputs[1]).name == "s");
  // Partitioning may split both results along the batch, and the arithmetic with them.
  const FactorMap map = op_factors(result, OpId(0));
  REQUIRE(map.factors.size() == 1);
  for (const std::vector<FactorDim>* dims :
       {&map.inputs[0], &map.inputs[1], &map.outputs[0], &map.outputs[1]}) {
    CHECK((*dims)[0].factor == 0);
  }
  CHECK(map.divided_attributes.size() == 1);
  CHECK(result.op(OpId(1)).op_type == "MatMul");
  CHECK(result.op(OpId(2)).op_type == "Add");
}

TEST_CASE("pointwise: an operator of two tensors does not write what others wait for") {
  PassCase graph;  // y needs m, and m needs s: one kernel for s and y would wait for itself
  graph.input("a", {8, 16});
  graph.weight("w", {16, 16});
  graph.op("Relu", {"a"}, "s");
  graph.op("MatMul", {"s", "w"}, "m");
  graph.op("Add", {"s", "m"}, "y");
  graph.output("y");
  CHECK(graph.types_after({"pointwise"}) == std::vector<std::string>{"Relu", "MatMul", "Add"});
}

TEST_CASE("pointwise: resampling and padding are elements of chains") {
  PassCase graph;
  graph.input("x", {1, 4, 8, 8});
  graph.ints("sizes", {1, 4, 16, 16});
  graph.ints("pads", {0, 0, 0, 0, 0, 0, 1, 1});
  graph.op("Resize", {"x", "", "", "sizes"}, "r", {{"mode", std::string("linear")}});
  graph.op("Pad", {"r", "pads"}, "p");
  graph.op("Relu", {"p"}, "y");
  graph.output("y");
  const Graph& result = graph.after({"pointwise"});
  REQUIRE(result.op_count() == 1);
  CHECK(result.op(OpId(0)).op_type == "pointwise");
  CHECK(format_shape(result.tensor(result.outputs()[0]).shape) == "1x4x17x17");
}

TEST_CASE("Passes: a weight is cast right before its first reader") {
  PassCase graph;
  graph.input("x", {4, 16}, DType::kFloat16);
  for (const std::string name : {"w", "v"}) {
    graph.weight(name, {16, 16});
    graph.op("Cast", {name}, name + "16", {{"to", int64_t{10}}});
  }
  graph.op("MatMul", {"x", "w16"}, "m");
  graph.op("Relu", {"m"}, "r");
  graph.op("MatMul", {"r", "v16"}, "y");
  graph.output("y");
  CHECK(graph.types_after({"no-ops"}) ==
        std::vector<std::string>{"Cast", "MatMul", "Relu", "Cast", "MatMul"});
}

TEST_CASE("channels-last: convolutions of 8 bits leave images with their channels last") {
  ByteCase graph;
  graph.input("x", {1, 16, 8, 8}, DType::kUInt8);
  graph.weight("w", {16, 16, 3, 3}, DType::kInt8);
  graph.op("QLinearConv", {"x", "s", "z", "w", "s", "wz", "t", "z"}, "c",
           {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  graph.dequantise("c", "d", "t");
  graph.weight("v", {16, 16, 1, 1});
  graph.op("Conv", {"d", "v"}, "y");
  graph.output("y");
  CHECK(graph.types_after({"channels-last"}) ==
        std::vector<std::string>{"QLinearConv", "DequantizeLinear", "Conv"});
}

}  // namespace
}  // namespace dfsim
