// ONNX Runtime's shape inference where the batch is open, and the passes that depend on it.
#include "graphs/passes/open/open_dims.h"
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

// Reshapes x [batch, 6, 4, 5] to a shape that joins pieces: a constant, or "axis 0".."axis 3", an
// extent of x. Whether it becomes a constant.
bool is_fused(const std::vector<std::string>& pieces) {
  PassCase graph;
  graph.input("x", {2, 6, 4, 5});
  graph.op("Shape", {"x"}, "shape");
  graph.ints("front", {0});
  std::vector<std::string> joined;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::string name = "piece" + std::to_string(i);
    if (pieces[i].starts_with("axis ")) {
      graph.index(name + "/index", std::stoi(pieces[i].substr(5)));
      graph.op("Gather", {"shape", name + "/index"}, name + "/extent");
      graph.op("Unsqueeze", {name + "/extent", "front"}, name);
    } else {
      graph.ints(name, {std::stoi(pieces[i])});
    }
    joined.push_back(name);
  }
  graph.op("Concat", joined, "target", {{"axis", int64_t{0}}});
  graph.op("Reshape", {"x", "target"}, "y");
  graph.output("y");
  const Graph built = graph.built();
  const OpenDims open(built, {{"x", 0, "batch"}});
  const OpId reshape(built.op_count() - 1);
  REQUIRE(built.op(reshape).op_type == "Reshape");
  return open.is_constant_reshape(reshape);
}

TEST_CASE("ReshapeFusion: copies extents of the same axis, and computes one at most") {
  CHECK(is_fused({"axis 0", "axis 1", "20"}));
  CHECK(is_fused({"axis 0", "3", "2", "20"}));
  // One extent of another axis may be the -1, two may not: a new axis in front shifts both.
  CHECK(is_fused({"axis 0", "6", "4", "1", "axis 3"}));
  CHECK_FALSE(is_fused({"axis 0", "1", "6", "axis 2", "axis 3"}));
}

// The axes of "y" as a runtime knows them: numbers, "batch" for the open batch, "?" or "unranked".
std::string axes_of_y(PassCase& graph) {
  const Graph built = graph.built();
  const OpenDims open(built, {{"x", 0, "batch"}});
  const Tensor& y = built.tensor(built.outputs()[0]);
  const std::vector<Extent>* axes = open.axes(y.name);
  if (axes != nullptr && axes->empty()) {
    return "unranked";
  }
  std::string text;
  for (int i = 0; i < y.shape.rank(); ++i) {
    const Extent state = axes == nullptr ? kKnownExtent : (*axes)[static_cast<size_t>(i)];
    text += i > 0 ? " " : "";
    text += state == kKnownExtent ? std::to_string(y.shape[i].extent()) : state > 0 ? "batch" : "?";
  }
  return text;
}

// x [batch, 6, 20] reshaped to its own extents, or to those in another order: computed, and not
// fused, since no Concat joins it from single elements.
PassCase reshaped(int opset, bool whole_shape) {
  PassCase graph(opset);
  graph.input("x", {2, 6, 20});
  graph.op("Shape", {"x"}, "shape");
  if (whole_shape) {
    graph.op("Reshape", {"x", "shape"}, "y");
  } else {
    graph.ints("at", {1, 0, 2});
    graph.op("Gather", {"shape", "at"}, "target");
    graph.op("Reshape", {"x", "target"}, "y");
  }
  graph.output("y");
  return graph;
}

TEST_CASE("open dimensions: a computed shape with an open extent gives Reshape the rank alone") {
  for (const bool whole : {false, true}) {
    PassCase graph = reshaped(17, whole);
    CHECK(axes_of_y(graph) == "? ? ?");
    PassCase before = reshaped(13, whole);  // ONNX's inference did not count elements then
    CHECK(axes_of_y(before) == "unranked");
  }
}

TEST_CASE("open dimensions: a computed shape of numbers is known") {
  PassCase graph;
  graph.input("x", {2, 6, 20});
  graph.weight("table", {2, 6, 20});
  graph.op("Shape", {"table"}, "shape");
  graph.op("Reshape", {"x", "shape"}, "y");
  graph.output("y");
  CHECK(axes_of_y(graph) == "2 6 20");
}

TEST_CASE("open dimensions: nothing is known behind an unknown operator") {
  using Ints = std::vector<int64_t>;
  const std::vector<std::pair<std::string, PassCase::Attributes>> readers = {
      {"Flatten", {}},
      {"Slice", {{"starts", Ints{0}}, {"ends", Ints{1}}, {"axes", Ints{2}}}},
      {"Split", {{"axis", int64_t{1}}}},
      {"Squeeze", {{"axes", Ints{3}}}},
      {"Transpose", {{"perm", Ints{1, 0}}}},
      {"Shape", {}}};
  for (const auto& [type, attributes] : readers) {
    PassCase graph(9);
    graph.input("x", {2, 6});
    graph.op("Mystery", {"x"}, "m");
    graph.op(type, {"m"}, "y", attributes);
    graph.output("y");
    const Graph built = graph.built();
    const OpenDims open(built, {{"x", 0, "batch"}});
    INFO(type);
    CHECK_FALSE(open.is_constant(OpId(1)));
  }
}

TEST_CASE("open dimensions: Expand, Split and Concat know what ONNX's inference knows") {
  PassCase expanded;
  expanded.input("x", {2, 6});
  expanded.weight("row", {1, 6});
  expanded.op("Shape", {"x"}, "shape");
  expanded.op("Expand", {"row", "shape"}, "y");
  expanded.output("y");
  CHECK(axes_of_y(expanded) == "? 6");
  PassCase split;
  split.input("x", {2, 6});
  split.split("x", {"y", "z"}, 0);
  split.output("y");
  split.output("z");
  CHECK(axes_of_y(split) == "? 6");
  PassCase joined;
  joined.input("x", {2, 6});
  joined.op("Shape", {"x"}, "shape");
  joined.weight("row", {1, 6});
  joined.op("Expand", {"row", "shape"}, "copies");
  joined.op("Concat", {"copies", "x"}, "y", {{"axis", int64_t{1}}});
  joined.output("y");
  CHECK(axes_of_y(joined) == "batch 12");
}

TEST_CASE("open dimensions: the file names what inference loses") {
  for (const bool declared : {false, true}) {
    PassCase graph;
    graph.input("x", {2, 6});
    graph.op("NonZero", {"x"}, "places");
    graph.op("Transpose", {"places"}, "y");
    graph.output("y");
    const Graph built = graph.built();
    using Names = std::vector<std::optional<std::string>>;
    const std::vector<DeclaredAxes> file = {{"y", Names{"found", std::nullopt}},
                                            {"places", Names{"", "found"}}};
    const OpenDims open(built, {{"x", 0, "batch"}}, declared ? file : std::vector<DeclaredAxes>());
    const std::vector<Extent>* const places = open.axes("places");
    const std::vector<Extent>* const y = open.axes("y");
    REQUIRE(places != nullptr);
    REQUIRE(y != nullptr);
    if (declared) {
      CHECK(places->at(0) == kKnownExtent);
      CHECK(places->at(1) > 0);
      CHECK(y->at(0) == places->at(1));
      CHECK(y->at(1) == kKnownExtent);  // inferred: what the file leaves open stays
    } else {
      CHECK(*places == std::vector<Extent>{kUnknownExtent, kUnknownExtent});
    }
  }
}

TEST_CASE("open dimensions: recurrent layers and TopK know what they make") {
  PassCase layer;
  layer.input("x", {2, 4, 6});
  layer.weight("w", {1, 15, 6});
  layer.weight("r", {1, 15, 5});
  layer.op("GRU", {"x", "w", "r"}, "y", {{"hidden_size", int64_t{5}}, {"layout", int64_t{1}}});
  layer.output("y");
  CHECK(axes_of_y(layer) == "batch 4 1 5");
  PassCase best;
  best.input("x", {2, 6});
  best.ints("k", {3});
  best.op_of_several("TopK", {"x", "k"}, {"y", "places"});
  best.output("y");
  CHECK(axes_of_y(best) == "batch 3");
}

TEST_CASE("ReshapeFusion: copies the same number or name from another tensor's axis") {
  for (const bool same : {true, false}) {
    PassCase graph;
    graph.input("x", {2, 6, 4});
    graph.weight("w", {same ? 6 : 3, 6, 1});
    graph.ints("front", {0});
    graph.index("first", 0);
    graph.index("second", 1);
    graph.op("Conv", {"x", "w"}, "c");  // [batch, 6 or 3, 4]
    graph.op("Shape", {"c"}, "shape");
    graph.op("Gather", {"shape", "first"}, "n");
    graph.op("Unsqueeze", {"n", "front"}, "batch");
    graph.op("Gather", {"shape", "second"}, "m");
    graph.op("Unsqueeze", {"m", "front"}, "channels");
    graph.ints("rest", {-1});
    graph.op("Concat", {"batch", "channels", "rest"}, "target", {{"axis", int64_t{0}}});
    graph.op("Reshape", {"x", "target"}, "y");
    graph.output("y");
    const Graph built = graph.built();
    const OpenDims open(built, {{"x", 0, "batch"}});
    CHECK(open.is_constant_reshape(OpId(built.op_count() - 1)) == same);
  }
}

// x [batch, 16, 8, 8] through two convolutions; `stride` of the second, and of a pool of the first.
Types residual_block(int64_t kernel, int64_t stride) {
  PassCase graph;
  graph.input("x", {2, 16, 8, 8});
  graph.weight("a", {16, 16, 3, 3});
  graph.weight("b", {16, 16, kernel, kernel});
  graph.weight("d", {16, 16, 1, 1});
  const auto pads = [](int64_t p) { return std::vector<int64_t>{p, p, p, p}; };
  const std::vector<int64_t> strides = {stride, stride};
  graph.op("Conv", {"x", "a"}, "first", {{"pads", pads(1)}});
  graph.op("Conv", {"first", "b"}, "second", {{"pads", pads(kernel / 2)}, {"strides", strides}});
  graph.op("Conv", {"first", "d"}, "short", {{"strides", strides}});
  graph.op("Sigmoid", {"second"}, "gate");
  graph.op("Add", {"gate", "short"}, "y");
  graph.output("y");
  return graph.types_after({"nchwc-16"}, {{"x", 0, "batch"}, {"x", 2, "height"}});
}

TEST_CASE("nchwc: a sum joins the convolution where both extents come from the same tensor") {
  const Types joined = residual_block(3, 2);
  CHECK(std::count(joined.begin(), joined.end(), "Add") == 0);
  CHECK(std::count(joined.begin(), joined.end(), "Reshape") == 0);
  // The padding of 2 keeps what a kernel of 5 takes; a stride of 3 leaves the height unknown.
  CHECK(residual_block(5, 2) == joined);
  const Types apart = residual_block(3, 3);
  CHECK(std::count(apart.begin(), apart.end(), "Add") == 1);
  CHECK(std::count(apart.begin(), apart.end(), "Reshape") == 3);
}

TEST_CASE("skip-layer-norm: shapes are compared by numbers and names") {
  for (const bool named : {true, false}) {
    PassCase graph;
    graph.input("x", {2, 8, 16});
    graph.weight("scale", {16});
    graph.weight("shift", {16});
    graph.ints("at", {0, 1, 2});
    graph.op("Relu", {"x"}, "r");
    graph.op("Shape", {"x"}, "whole");
    graph.op("Gather", {"whole", "at"}, "target");
    graph.op("Reshape", {"r", "target"}, "moved");
    graph.op("Add", {named ? "r" : "moved", "x"}, "sum");
    graph.op("LayerNormalization", {"sum", "scale", "shift"}, "y");
    graph.output("y");
    const Types types = graph.types_after({"skip-layer-norm"}, {{"x", 0, "batch"}});
    const bool fused =
        std::count(types.begin(), types.end(), "com.microsoft.SkipLayerNormalization") == 1;
    CHECK(fused == named);
  }
}

// A sum of x with itself under a computed shape [own batch, -1, 16], in front of a norm. ONNX
// Runtime makes the shape constant unless another operator reads it, or an equal one.
TEST_CASE("skip-layer-norm: a computed shape that two operators read stays computed") {
  enum class Second { kNone, kSame, kEqual, kOther };
  for (const Second second : {Second::kNone, Second::kSame, Second::kEqual, Second::kOther}) {
    PassCase graph;
    graph.input("x", {2, 8, 16});
    graph.weight("scale", {16});
    graph.weight("shift", {16});
    graph.ints("at", {0});
    graph.ints("rest", {-1});
    graph.ints("again", {-1});
    graph.ints("width", {second == Second::kOther ? 8 : 16});
    graph.ints("own_width", {16});
    graph.op("Relu", {"x"}, "r");
    graph.op("Shape", {"x"}, "whole");
    graph.op("Gather", {"whole", "at"}, "batch");
    graph.op("Concat", {"batch", "rest", "own_width"}, "target", {{"axis", int64_t{0}}});
    graph.op("Reshape", {"r", "target"}, "moved");
    graph.op("Add", {"moved", "x"}, "sum");
    graph.op("LayerNormalization", {"sum", "scale", "shift"}, "y");
    graph.output("y");
    if (second != Second::kNone) {
      graph.op("Shape", {"x"}, "whole2");
      graph.op("Gather", {"whole2", "at"}, "batch2");
      graph.op("Concat", {"batch2", "again", "width"}, "target2", {{"axis", int64_t{0}}});
      graph.op("Reshape", {"x", second == Second::kSame ? "target" : "target2"}, "z");
      graph.output("z");
    }
    const Types types = graph.types_after({"skip-layer-norm"}, {{"x", 0, "batch"}});
    const bool fused =
        std::count(types.begin(), types.end(), "com.microsoft.SkipLayerNormalization") == 1;
    CHECK(fused == (second == Second::kNone || second == Second::kOther));
  }
}

TEST_CASE("transposes: end at Shape, whose extents a Gather puts in order") {
  PassCase graph;
  graph.input("x", {2, 3, 4});
  graph.op("Transpose", {"x"}, "t", {{"perm", std::vector<int64_t>{0, 2, 1}}});
  graph.op("Shape", {"t"}, "y");
  graph.output("y");
  const Graph& result = graph.after({"transposes"}, {{"x", 0, "batch"}});
  REQUIRE(result.op_count() == 2);
  CHECK(result.op(OpId(0)).op_type == "Shape");
  CHECK(result.op(OpId(1)).op_type == "Gather");
  CHECK(result.constant(result.op(OpId(1)).inputs[1])->ints == std::vector<int64_t>{0, 2, 1});
}

TEST_CASE("transposes: go before a reshape only if its shape is constant") {
  for (const bool constant : {true, false}) {
    PassCase graph;
    graph.input("x", {2, 12, 5});
    graph.op("Transpose", {"x"}, "t", {{"perm", std::vector<int64_t>{0, 2, 1}}});
    graph.ints("extents", {constant ? 0 : -1, 5, 3, 4});
    graph.op("Reshape", {"t", "extents"}, "y");
    graph.output("y");
    const Types types = graph.types_after({"transposes"}, {{"x", 0, "batch"}});
    CHECK(types.front() == (constant ? "Reshape" : "Transpose"));
  }
}

}  // namespace
}  // namespace dfsim
