// An engine runs transformers with few kernels: one product for queries, keys and values, GELU
// inside of products, attention and layer normalisation that store where others read.
#include <algorithm>

#include "graphs/ops/factors/factors.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

const Op* find_type(const Graph& graph, std::string_view type) {
  const auto it = std::ranges::find(graph.ops(), type, &Op::op_type);
  return it == graph.ops().end() ? nullptr : &*it;
}

// x [12, 16] times weights of 8, 8 and 4 columns.
void add_three_products(PassCase& graph, bool bias) {
  graph.input("x", {12, 16});
  for (const auto& [name, columns] :
       std::vector<std::pair<std::string, int64_t>>{{"q", 8}, {"k", 8}, {"v", 4}}) {
    graph.weight(name + "_w", {16, columns});
    std::vector<std::string> operands = {"x", name + "_w"};
    if (bias) {
      graph.weight(name + "_b", {columns});
      operands.push_back(name + "_b");
    }
    graph.op(bias ? "Gemm" : "MatMul", operands, name);
    graph.op("Relu", {name}, name + "_r");
    graph.output(name + "_r");
  }
}

TEST_CASE("sibling-products: products of one matrix become one and a Split") {
  for (const bool bias : {true, false}) {
    PassCase graph;
    add_three_products(graph, bias);
    const Graph& result = graph.after({"sibling-products"});
    const Op* product = find_type(result, bias ? "Gemm" : "MatMul");
    REQUIRE(product != nullptr);
    CHECK(format_shape(result.tensor(product->inputs[1]).shape) == "16x20");
    CHECK(format_shape(result.tensor(product->outputs[0]).shape) == "12x20");
    CHECK(product->inputs.size() == (bias ? 3 : 2));
    const Op* split = find_type(result, "Split");
    REQUIRE(split != nullptr);
    REQUIRE(split->outputs.size() == 3);
    CHECK(format_shape(result.tensor(split->outputs[2]).shape) == "12x4");
    CHECK(result.op_count() == 5);
    CHECK(graph_totals(result)->macs == int64_t{12} * 16 * 20);
  }
}

TEST_CASE("sibling-products: a result of the graph, and another bias, keep a product apart") {
  PassCase output;
  output.input("x", {12, 16});
  output.weight("a", {16, 8});
  output.weight("b", {16, 8});
  output.op("MatMul", {"x", "a"}, "p");
  output.op("MatMul", {"x", "b"}, "q");
  output.op("Relu", {"p"}, "r");
  output.output("q");
  output.output("r");
  CHECK(output.types_after({"sibling-products"}) == Types{"MatMul", "MatMul", "Relu"});
  PassCase matrix;  // a bias that is a matrix is a sum of its own
  matrix.input("x", {12, 16});
  matrix.weight("a", {16, 8});
  matrix.weight("b", {16, 8});
  matrix.weight("m", {12, 8});
  matrix.op("Gemm", {"x", "a", "m"}, "p");
  matrix.op("Gemm", {"x", "b", "m"}, "q");
  matrix.op("Add", {"p", "q"}, "r");
  matrix.output("r");
  CHECK(matrix.types_after({"sibling-products"}) == Types{"Gemm", "Gemm", "Add"});
}

class ByteProducts : public PassCase {
 public:
  ByteProducts() {
    number("s", 0.02);
    number("t", 0.03);
    integer("z", DType::kInt8, 0);
    input("x", {12, 16}, DType::kInt8);
  }
  void product(const std::string& name) {
    weight(name + "_w", {16, 8}, DType::kInt8);
    number(name + "_s", 0.01);
    op("com.microsoft.QGemm", {"x", "s", "z", name + "_w", name + "_s", "z"}, name);
  }
};

TEST_CASE("sibling-products: products of 8 bits have a scale per column then") {
  ByteProducts graph;
  graph.product("q");
  graph.product("k");
  graph.op("Add", {"q", "k"}, "sum");
  graph.output("sum");
  const Graph& result = graph.after({"sibling-products"});
  const Op* product = find_type(result, "QGemm");
  REQUIRE(product != nullptr);
  CHECK(format_shape(result.tensor(product->inputs[3]).shape) == "16x16");
  CHECK(format_shape(result.tensor(product->inputs[4]).shape) == "16");
  CHECK(graph_totals(result)->macs == int64_t{12} * 16 * 16);
}

// x [12, 16] times [16, 32], plus a bias, perhaps in other shapes, then GELU.
void add_gelu(PassCase& graph, DType dtype, bool reshaped, const std::string& gelu) {
  graph.input("x", {12, 16}, dtype);
  graph.weight("w", {16, 32}, dtype);
  graph.weight("b", {32}, dtype);
  graph.op("Gemm", {"x", "w", "b"}, "p");
  graph.ints("shape", {3, 4, 32});
  if (reshaped) {
    graph.op("Reshape", {"p", "shape"}, "r");
  }
  graph.op(gelu, {reshaped ? "r" : "p"}, "y");
  graph.output("y");
}

TEST_CASE("gemm-gelu: a product of 16 bits ends with the GELU behind it") {
  for (const bool reshaped : {false, true}) {
    for (const std::string gelu : {"com.microsoft.Gelu", "com.microsoft.FastGelu"}) {
      PassCase graph;
      add_gelu(graph, DType::kFloat16, reshaped, gelu);
      const Graph& result = graph.after({"gemm-gelu"});
      REQUIRE(result.op_count() == (reshaped ? 2 : 1));
      const Op& product = result.op(OpId(0));
      CHECK(product.op_type == "FusedGemm");
      CHECK(product.attributes.string_or("activation", "") == gelu.substr(14));
      CHECK(result.tensor(result.outputs()[0]).name == "y");
      // 1 for the bias, 5 or 8 for the GELU, next to two per multiply-add.
      const int64_t elements = int64_t{12} * 32;
      CHECK(graph_totals(result)->macs == elements * 16);
      CHECK(graph_totals(result)->flops ==
            elements * (2 * 16 + 1 + (gelu.ends_with("FastGelu") ? 8 : 5)));
      // A part of the contracted axis has no GELU of its own.
      const FactorMap map = op_factors(result, OpId(0));
      CHECK(map.factors.size() == 2);
    }
  }
}

TEST_CASE("gemm-gelu: fp32 keeps its GELU") {
  PassCase graph;
  add_gelu(graph, DType::kFloat32, false, "com.microsoft.Gelu");
  CHECK(graph.types_after({"gemm-gelu"}) == Types{"Gemm", "com.microsoft.Gelu"});
}

TEST_CASE(
    "gemm-gelu: a product of 8 bits ends with GELU and QuantizeLinear, not with a GELU alone") {
  for (const bool quantised : {true, false}) {
    ByteProducts graph;
    graph.product("p");
    graph.op("com.microsoft.Gelu", {"p"}, "g");
    if (quantised) {
      graph.op("QuantizeLinear", {"g", "t", "z"}, "y");
    }
    graph.output(quantised ? "y" : "g");
    const Graph& result = graph.after({"gemm-gelu"});
    REQUIRE(result.op_count() == (quantised ? 1 : 2));
    const Op& product = result.op(OpId(0));
    CHECK(product.inputs.size() == (quantised ? 9 : 6));
    CHECK(result.tensor(product.outputs[0]).dtype == (quantised ? DType::kInt8 : DType::kFloat32));
  }
}

// Attention of 3 heads over 8 tokens, whose results become rows again.
void add_attention(PassCase& graph, DType dtype) {
  for (const char* name : {"q", "k", "v"}) {
    graph.input(name, {2, 3, 8, 16}, dtype);
  }
  graph.op("Attention", {"q", "k", "v"}, "a");
  graph.ints("front", {0});
  graph.op("Unsqueeze", {"a", "front"}, "u");
  graph.op("Transpose", {"u"}, "t", {{"perm", std::vector<int64_t>{0, 1, 3, 2, 4}}});
  graph.ints("rows", {16, 48});
  graph.op("Reshape", {"t", "rows"}, "r");
}

TEST_CASE("attention-kernel: attention of 16 bits stores transposed and quantised") {
  PassCase graph(23);
  add_attention(graph, DType::kFloat16);
  graph.number("s", 0.02, DType::kFloat16);
  graph.integer("z", DType::kInt8, 0);
  graph.op("QuantizeLinear", {"r", "s", "z"}, "q8");
  graph.op("Relu", {"q8"}, "y");
  graph.output("y");
  const Graph& result = graph.after({"attention-kernel"});
  REQUIRE(result.op_count() == 5);
  const Op* attention = find_type(result, "Attention");
  REQUIRE(attention != nullptr);
  CHECK(attention->attributes.int_or(kEngineKernel, 0) == 1);
  CHECK(result.tensor(attention->outputs[0]).dtype == DType::kInt8);
  CHECK(find_type(result, "Transpose")->op_class == OpClass::kView);
  CHECK(find_type(result, "QuantizeLinear") == nullptr);
}

TEST_CASE("attention-kernel: operands that nothing else reads are read as they are stored") {
  for (const bool shared : {false, true}) {
    PassCase graph(23);
    graph.input("x", {2, 8, 3, 16}, DType::kFloat16);
    graph.input("k", {2, 3, 8, 16}, DType::kFloat16);
    graph.op("Transpose", {"x"}, "q", {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    graph.op("Attention", {"q", "k", "k"}, "y");
    graph.output("y");
    if (shared) {
      graph.op("Relu", {"q"}, "r");
      graph.output("r");
    }
    const Graph& result = graph.after({"attention-kernel"});
    CHECK((find_type(result, "Transpose")->op_class == OpClass::kView) == !shared);
  }
}

TEST_CASE("attention-kernel: parts of one transposed tensor are read as they are stored") {
  PassCase graph(23);
  graph.input("x", {2, 8, 3, 4, 16}, DType::kFloat16);
  graph.op("Transpose", {"x"}, "t", {{"perm", std::vector<int64_t>{2, 0, 3, 1, 4}}});
  for (int64_t part = 0; part < 3; ++part) {
    graph.index("i" + std::to_string(part), part);
    graph.op("Gather", {"t", "i" + std::to_string(part)}, "p" + std::to_string(part),
             {{"axis", int64_t{0}}});
  }
  graph.op("Attention", {"p0", "p1", "p2"}, "y");
  graph.output("y");
  const Graph& result = graph.after({"attention-kernel"});
  CHECK(find_type(result, "Transpose")->op_class == OpClass::kView);
}

TEST_CASE("attention-kernel: attention of fp32 stays") {
  PassCase graph(23);
  add_attention(graph, DType::kFloat32);
  graph.output("r");
  const Graph& result = graph.after({"attention-kernel"});
  CHECK(find_type(result, "Attention")->attributes.int_or(kEngineKernel, 0) == 0);
  CHECK(find_type(result, "Transpose")->op_class != OpClass::kView);
}

TEST_CASE("row-kernels: a normalisation stores whole rows in any order") {
  for (const bool rows : {true, false}) {
    PassCase graph;
    graph.input("x", {2, 8, 16});
    graph.weight("g", {16});
    graph.op("LayerNormalization", {"x", "g"}, "n", {{"axis", int64_t{-1}}});
    graph.op("Transpose", {"n"}, "y",
             {{"perm", rows ? std::vector<int64_t>{1, 0, 2} : std::vector<int64_t>{0, 2, 1}}});
    graph.output("y");
    const Graph& result = graph.after({"row-kernels"});
    CHECK(result.op(OpId(0)).attributes.int_or(kEngineKernel, 0) == 1);
    CHECK((result.op(OpId(1)).op_class == OpClass::kView) == rows);
  }
}

TEST_CASE("row-kernels: rows may be counted in other axes in between, but not cut") {
  for (const int64_t columns : {16, 8}) {
    PassCase graph;
    graph.input("x", {2, 8, 16});
    graph.weight("g", {16});
    graph.op("LayerNormalization", {"x", "g"}, "n", {{"axis", int64_t{-1}}});
    graph.ints("windows", {2, 4, 2, 16 / columns, columns});
    graph.op("Reshape", {"n", "windows"}, "r");
    graph.op("Transpose", {"r"}, "y", {{"perm", std::vector<int64_t>{0, 2, 1, 3, 4}}});
    graph.output("y");
    const Graph& result = graph.after({"row-kernels"});
    CHECK((find_type(result, "Transpose")->op_class == OpClass::kView) == (columns == 16));
  }
}

TEST_CASE("pointwise: a chain with an engine's normalisation keeps the mark") {
  PassCase graph;
  graph.input("a", {8, 16});
  graph.input("b", {8, 16});
  graph.weight("g", {16});
  graph.op("Add", {"a", "b"}, "s");
  graph.op("LayerNormalization", {"s", "g"}, "n", {{"axis", int64_t{-1}}});
  graph.output("n");
  const Graph& result = graph.after({"row-kernels", "pointwise"});
  REQUIRE(result.op_count() == 1);
  CHECK(result.op(OpId(0)).attributes.int_or(kEngineKernel, 0) == 1);
}

}  // namespace
}  // namespace dfsim
