// Fused projections taken apart, and padded vocabularies.
#include "graphs/passes/layout/split_weights.h"

#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

int64_t split_macs_of(const Graph& graph) {
  const auto totals = graph_totals(graph);
  REQUIRE(totals.ok());
  return totals->macs;
}

std::vector<std::string> shapes_of(const Graph& graph, const std::string& type) {
  std::vector<std::string> shapes;
  for (const Op& op : graph.ops()) {
    if (op.op_type == type) {
      shapes.push_back(format_shape(graph.tensor(op.outputs[0]).shape));
    }
  }
  return shapes;
}

TEST_CASE("split_fused_weights: queries, keys and values become products of their own") {
  PassCase graph;
  graph.input("x", {2, 8, 16});
  graph.weight("w", {16, 48});
  graph.weight("b", {48});
  graph.op("MatMul", {"x", "w"}, "m");
  graph.op("Add", {"b", "m"}, "qkv");
  graph.split("qkv", {"q", "k", "v"}, 2);
  for (const char* name : {"q", "k", "v"}) {
    graph.output(name);
  }
  const Graph before = graph.built();
  const auto after = split_fused_weights(before);
  REQUIRE(after.ok());
  CHECK(shapes_of(*after, "MatMul") == Types(3, "2x8x16"));
  CHECK(shapes_of(*after, "Add") == Types(3, "2x8x16"));
  CHECK(shapes_of(*after, "Split").empty());
  CHECK(split_macs_of(*after) == split_macs_of(before));
  CHECK(graph_totals(*after)->parameters == graph_totals(before)->parameters);
}

TEST_CASE("split_fused_weights: follows the reshape behind a product of matrices") {
  PassCase graph;
  graph.input("x", {16, 16});
  graph.weight("w", {16, 48});
  graph.weight("b", {48});
  graph.ints("shape", {2, 8, 48});
  graph.op("Gemm", {"x", "w", "b"}, "m");
  graph.op("Reshape", {"m", "shape"}, "qkv");
  graph.split("qkv", {"q", "k", "v"}, 2);
  for (const char* name : {"q", "k", "v"}) {
    graph.output(name);
  }
  const auto after = split_fused_weights(graph.built());
  REQUIRE(after.ok());
  CHECK(shapes_of(*after, "Gemm") == Types(3, "16x16"));
  CHECK(shapes_of(*after, "Reshape") == Types(3, "2x8x16"));
}

TEST_CASE("split_fused_weights: leaves a result that another operator reads") {
  PassCase graph;
  graph.input("x", {8, 16});
  graph.weight("w", {16, 32});
  graph.op("MatMul", {"x", "w"}, "m");
  graph.split("m", {"a", "b"}, 1);
  graph.op("Relu", {"m"}, "r");
  graph.output("a");
  graph.output("b");
  graph.output("r");
  const auto after = split_fused_weights(graph.built());
  REQUIRE(after.ok());
  CHECK(shapes_of(*after, "MatMul") == Types{"8x32"});
}

// Splits the graph, checks that it computes as much as before, and returns it.
Graph split_checked(PassCase& graph, const std::vector<std::string>& outputs) {
  for (const std::string& name : outputs) {
    graph.output(name);
  }
  const Graph before = graph.built();
  auto after = split_fused_weights(before);
  INFO(after.status().message());
  REQUIRE(after.ok());
  CHECK(split_macs_of(*after) == split_macs_of(before));
  CHECK(graph_totals(*after)->parameters == graph_totals(before)->parameters);
  CHECK(after->outputs().size() == outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& tensor = after->tensor(after->outputs()[i]);
    CHECK(tensor.name == outputs[i]);
    CHECK(tensor.shape == before.tensor(before.outputs()[i]).shape);
  }
  return std::move(*after);
}

TEST_CASE("split_fused_weights: follows an axis of parts through reshape and transpose") {
  PassCase graph;  // timm's ViT: [batch, tokens, 3, heads, size] to [3, batch, heads, tokens, size]
  graph.input("x", {2, 8, 16});
  graph.weight("w", {16, 48});
  graph.weight("b", {48});
  graph.ints("shape", {2, 8, 3, 4, 4});
  graph.ints("first", {0});
  graph.op("MatMul", {"x", "w"}, "m");
  graph.op("Add", {"m", "b"}, "biased");
  graph.op("Reshape", {"biased", "shape"}, "heads");
  graph.op("Transpose", {"heads"}, "turned", {{"perm", std::vector<int64_t>{2, 0, 3, 1, 4}}});
  graph.split("turned", {"q1", "k1", "v1"}, 0);
  for (const std::string name : {"q", "k", "v"}) {
    graph.op("Squeeze", {name + "1", "first"}, name);
  }
  const Graph after = split_checked(graph, {"q", "k", "v"});
  CHECK(shapes_of(after, "MatMul") == Types(3, "2x8x16"));
  CHECK(shapes_of(after, "Reshape") == Types(3, "2x8x1x4x4"));
  CHECK(shapes_of(after, "Transpose") == Types(3, "1x2x4x8x4"));
  CHECK(shapes_of(after, "Split").empty());
}

TEST_CASE("split_fused_weights: follows the packed projection of nn.MultiheadAttention") {
  PassCase graph;  // unflatten, unsqueeze, transpose, squeeze, and an index for each part
  graph.input("x", {8, 2, 16});
  graph.weight("w", {48, 16});
  graph.weight("b", {48});
  graph.ints("rows", {16, 16});
  graph.ints("columns", {8, 2, 3, 16});
  graph.ints("zero", {0});
  graph.ints("minus_two", {-2});
  graph.op("Reshape", {"x", "rows"}, "flat");
  graph.op("Gemm", {"flat", "w", "b"}, "m", {{"transB", int64_t{1}}});
  graph.op("Reshape", {"m", "columns"}, "parts");
  graph.op("Unsqueeze", {"parts", "zero"}, "wide");
  graph.op("Transpose", {"wide"}, "turned", {{"perm", std::vector<int64_t>{3, 1, 2, 0, 4}}});
  graph.op("Squeeze", {"turned", "minus_two"}, "narrow");
  const std::vector<std::string> names = {"q", "k", "v"};
  for (int64_t i = 0; i < 3; ++i) {
    graph.index("index" + names[static_cast<size_t>(i)], i == 2 ? -1 : i);
    graph.op("Gather", {"narrow", "index" + names[static_cast<size_t>(i)]},
             names[static_cast<size_t>(i)], {{"axis", int64_t{0}}});
  }
  const Graph after = split_checked(graph, names);
  CHECK(shapes_of(after, "Gemm") == Types(3, "16x16"));
  CHECK(shapes_of(after, "Gather").empty());
}

TEST_CASE("split_fused_weights: parts may differ in size, and slices may pick them") {
  PassCase graph;  // four heads of queries, two of keys and of values
  graph.input("x", {2, 8, 16});
  graph.weight("w", {16, 32});
  graph.op("MatMul", {"x", "w"}, "m");
  graph.ints("axis", {2});
  const std::vector<int64_t> bounds = {0, 16, 24, 32};
  const std::vector<std::string> names = {"q", "k", "v"};
  for (size_t i = 0; i < 3; ++i) {
    graph.ints("from" + names[i], {bounds[i]});
    graph.ints("to" + names[i], {bounds[i + 1]});
    graph.op("Slice", {"m", "from" + names[i], "to" + names[i], "axis"}, names[i]);
  }
  const Graph after = split_checked(graph, names);
  CHECK(shapes_of(after, "MatMul") == Types{"2x8x16", "2x8x8", "2x8x8"});
}

TEST_CASE("split_fused_weights: leaves columns that are ordered by heads first, and gaps") {
  PassCase heads;  // BLOOM: [batch, tokens, heads, 3, size]
  heads.input("x", {2, 8, 16});
  heads.weight("w", {16, 48});
  heads.ints("shape", {2, 8, 4, 3, 4});
  heads.op("MatMul", {"x", "w"}, "m");
  heads.op("Reshape", {"m", "shape"}, "parts");
  heads.split("parts", {"q", "k", "v"}, 3);
  CHECK(shapes_of(split_checked(heads, {"q", "k", "v"}), "MatMul") == Types{"2x8x48"});
  PassCase gap;
  gap.input("x", {8, 16});
  gap.weight("w", {16, 32});
  gap.op("MatMul", {"x", "w"}, "m");
  gap.ints("axis", {1});
  gap.ints("from_a", {0});
  gap.ints("to_a", {8});
  gap.ints("from_b", {16});
  gap.ints("to_b", {32});
  gap.op("Slice", {"m", "from_a", "to_a", "axis"}, "a");
  gap.op("Slice", {"m", "from_b", "to_b", "axis"}, "b");
  CHECK(shapes_of(split_checked(gap, {"a", "b"}), "MatMul") == Types{"8x32"});
}

TEST_CASE("pad_vocabulary: embedding, projection and what follows get the multiple") {
  PassCase graph;
  graph.input("ids", {2, 8});
  graph.weight("words", {100, 16});
  graph.weight("head", {16, 100});
  graph.weight("other", {16, 16});
  graph.op("Cast", {"ids"}, "tokens", {{"to", int64_t{7}}});
  graph.op("Gather", {"words", "tokens"}, "x");
  graph.op("MatMul", {"x", "other"}, "h");
  graph.op("MatMul", {"h", "head"}, "logits");
  graph.op("Softmax", {"logits"}, "p");
  graph.output("p");
  size_t padded = 0;
  const auto after = pad_vocabulary(graph.built(), 64, 64, &padded);
  REQUIRE(after.ok());
  CHECK(padded == 1);
  CHECK(shapes_of(*after, "MatMul") == Types{"2x8x16", "2x8x128"});
  CHECK(shapes_of(*after, "Softmax") == Types{"2x8x128"});
  CHECK(graph_totals(*after)->parameters == 128 * 16 * 2 + 16 * 16);
  const auto small = pad_vocabulary(graph.built(), 4096, 64, &padded);
  REQUIRE(small.ok());
  CHECK(padded == 0);
}

TEST_CASE("pad_vocabulary: a projection that autocast casts gets the multiple, too") {
  PassCase graph;
  graph.input("ids", {2, 8}, DType::kInt64);
  graph.weight("words", {100, 16});
  graph.weight("head", {16, 100});
  graph.op("Gather", {"words", "ids"}, "x");
  graph.op("Cast", {"x"}, "x16", {{"to", int64_t{10}}});
  graph.op("Cast", {"head"}, "head16", {{"to", int64_t{10}}});
  graph.op("MatMul", {"x16", "head16"}, "logits");
  graph.output("logits");
  size_t padded = 0;
  const auto after = pad_vocabulary(graph.built(), 64, 64, &padded);
  REQUIRE(after.ok());
  CHECK(padded == 1);
  CHECK(shapes_of(*after, "MatMul") == Types{"2x8x128"});
  CHECK(graph_totals(*after)->parameters == 128 * 16 * 2);
}

TEST_CASE("pad-products: columns that are not aligned are padded where arithmetic is the limit") {
  const auto shapes = [](int64_t rows, int64_t columns, DType dtype) {
    PassCase graph;
    graph.input("x", {rows, 512}, dtype);
    graph.weight("w", {512, columns}, dtype);
    graph.op("MatMul", {"x", "w"}, "y");
    graph.output("y");
    const Graph& result = graph.after({"pad-products"});
    return std::pair{shapes_of(result, "MatMul"), shapes_of(result, "Slice")};
  };
  using Shapes = std::pair<Types, Types>;
  CHECK(shapes(512, 1001, DType::kFloat16) == Shapes{{"512x1008"}, {"512x1001"}});
  CHECK(shapes(512, 1008, DType::kFloat16) == Shapes{{"512x1008"}, {}});
  CHECK(shapes(512, 1001, DType::kFloat32) == Shapes{{"512x1001"}, {}});
  CHECK(shapes(16, 1001, DType::kFloat16) == Shapes{{"16x1001"}, {}});  // waits for memory
}

}  // namespace
}  // namespace dfsim
