// channels-last: where copies are, and which convolutions know their format. torch-strides: which
// convolutions get that format from their image. aten-resize: which resizing walks through
// channels.
#include "graphs/training/training_graph.h"
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

const PassCase::Attributes kPad = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}};

int64_t marked_convs(const Graph& graph) {
  return std::ranges::count_if(graph.ops(), [](const Op& op) {
    return op.op_type == "Conv" && op.attributes.int_or("channels_last", 0) == 1;
  });
}

Types kept_types(const Graph& graph) {
  Types types;
  for (const Op& op : graph.ops()) {
    types.push_back(op.op_type);
  }
  return types;
}

TEST_CASE("channels-last: a residual block has one copy, at its input") {
  PassCase graph;
  graph.input("x", {1, 16, 8, 8});
  graph.weight("w", {16, 16, 3, 3});
  graph.op("Conv", {"x", "w"}, "a", kPad);
  graph.op("Relu", {"a"}, "b");
  graph.op("Conv", {"b", "w"}, "c", kPad);
  graph.op("Add", {"c", "a"}, "d");
  graph.op("GlobalAveragePool", {"d"}, "e");
  graph.op("Flatten", {"e"}, "f");
  graph.output("f");
  const Graph& result = graph.after({"channels-last"});
  CHECK(kept_types(result) ==
        Types{"contiguous", "Conv", "Relu", "Conv", "Add", "GlobalAveragePool", "Flatten"});
  CHECK(marked_convs(result) == 2);
}

TEST_CASE("channels-last: a Reshape that mixes channels and pixels reads a copy") {
  PassCase graph;
  graph.input("x", {1, 16, 8, 8});
  graph.weight("w", {16, 16, 3, 3});
  graph.op("Conv", {"x", "w"}, "a", kPad);
  graph.op("Flatten", {"a"}, "f");
  graph.output("f");
  CHECK(graph.types_after({"channels-last"}) ==
        Types{"aten.contiguous", "Conv", "aten.contiguous", "Flatten"});
}

TEST_CASE("channels-last: pixels merge without a copy, and one channel needs none") {
  PassCase graph;
  graph.input("x", {1, 1, 8, 8});
  graph.weight("w", {16, 1, 3, 3});
  graph.ints("shape", {1, 16, 64});
  graph.op("Conv", {"x", "w"}, "a", kPad);
  graph.op("Reshape", {"a", "shape"}, "f");
  graph.output("f");
  CHECK(graph.types_after({"channels-last"}) == Types{"Conv", "Reshape"});
}

TEST_CASE("channels-last: two readers share a copy, and a Transpose to it is one") {
  PassCase graph;
  graph.input("x", {1, 16, 8, 8});
  graph.input("y", {1, 8, 8, 16});
  graph.weight("w", {16, 16, 3, 3});
  graph.op("Conv", {"x", "w"}, "a", kPad);
  graph.op("Conv", {"x", "w"}, "b", kPad);
  graph.op("Transpose", {"y"}, "z", {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
  graph.op("Conv", {"z", "w"}, "c", kPad);
  graph.output("a");
  graph.output("b");
  graph.output("c");
  const Types types = graph.types_after({"channels-last"});
  CHECK(std::ranges::count(types, "aten.contiguous") == 1);
  CHECK(types.size() == 5);
}

TEST_CASE("channels-last: batch normalisation and the gradients of a step have it, too") {
  PassCase graph;
  graph.input("x", {2, 16, 8, 8});
  graph.weight("w", {16, 16, 3, 3});
  for (const char* name : {"scale", "offset", "mean", "variance"}) {
    graph.weight(name, {16});
  }
  graph.op("Conv", {"x", "w"}, "a", kPad);
  graph.op("BatchNormalization", {"a", "scale", "offset", "mean", "variance"}, "b");
  graph.op("Conv", {"b", "w"}, "c", kPad);
  graph.output("c");
  const auto step = make_training_graph(graph.after({"channels-last"}), {});
  REQUIRE(step.ok());
  Types marked;
  for (const Op& op : step->graph.ops()) {
    if (op.attributes.int_or("channels_last", 0) == 1) {
      marked.push_back(op.op_type);
    }
  }
  std::ranges::sort(marked);
  CHECK(marked == Types{"BatchNormalization", "Conv", "Conv", "ConvFilterGrad", "ConvFilterGrad",
                        "ConvTranspose", "NormGrad"});
}

// Tokens [2, 64, 16] as an image [2, 16, 8, 8]: a view with its channels last.
PassCase tokens_as_image() {
  PassCase graph;
  graph.input("tokens", {2, 64, 16});
  graph.weight("w", {16, 16, 3, 3});
  graph.ints("shape", {2, 16, 8, 8});
  graph.op("Transpose", {"tokens"}, "turned", {{"perm", std::vector<int64_t>{0, 2, 1}}});
  graph.op("Reshape", {"turned", "shape"}, "image");
  return graph;
}

TEST_CASE("torch-strides: convolutions of transposed tokens keep their channels last") {
  PassCase graph = tokens_as_image();
  graph.op("Conv", {"image", "w"}, "a", kPad);
  graph.op("Relu", {"a"}, "b");
  graph.op("Conv", {"b", "w"}, "c", kPad);
  graph.output("c");
  const Graph& result = graph.after({"torch-views", "torch-strides"});
  CHECK(marked_convs(result) == 2);
  CHECK(std::ranges::count(kept_types(result), "contiguous") == 0);
}

TEST_CASE("torch-strides: an image that enters with its channels first stays so") {
  PassCase graph = tokens_as_image();
  graph.input("x", {2, 16, 8, 8});
  graph.op("Conv", {"x", "w"}, "a", kPad);
  graph.op("Add", {"a", "a"}, "b");
  graph.op("Conv", {"b", "w"}, "c", kPad);
  graph.op("Conv", {"image", "w"}, "d", kPad);
  graph.output("c");
  graph.output("d");
  CHECK(marked_convs(graph.after({"torch-views", "torch-strides"})) == 1);
}

TEST_CASE("torch-strides: a Transpose that copies leaves plain strides") {
  PassCase graph = tokens_as_image();
  graph.op("Conv", {"image", "w"}, "a", kPad);
  graph.output("a");
  CHECK(marked_convs(graph.after({"torch-strides"})) == 0);  // without torch-views, each copies
}

TEST_CASE(
    "torch-strides: tokens that become an image are resized by the kernel for channels last") {
  const auto marked = [](const std::string& image) {
    PassCase graph = tokens_as_image();
    graph.input("x", {2, 16, 8, 8});
    graph.ints("sizes", {2, 16, 12, 12});
    graph.op("Resize", {image, "", "", "sizes"}, "y", {{"mode", std::string("linear")}});
    graph.output("y");
    const Graph& result = graph.after({"torch-views", "aten-resize", "torch-strides"});
    return std::ranges::any_of(
        result.ops(), [](const Op& op) { return op.attributes.int_or("serial_images", 0) == 1; });
  };
  CHECK(marked("x"));
  CHECK_FALSE(marked("image"));
}

TEST_CASE("aten-resize: marks linear resizing of images alone") {
  const auto marked = [](const PassCase::Attributes& attributes) {
    PassCase graph;
    graph.input("x", {1, 16, 8, 8});
    graph.ints("sizes", {1, 16, 12, 12});
    graph.op("Resize", {"x", "", "", "sizes"}, "y", attributes);
    graph.output("y");
    const Graph& result = graph.after({"aten-resize"});
    return std::ranges::any_of(
        result.ops(), [](const Op& op) { return op.attributes.int_or("serial_images", 0) == 1; });
  };
  CHECK(marked({{"mode", std::string("linear")}}));
  CHECK_FALSE(marked({{"mode", std::string("nearest")}}));
  CHECK_FALSE(marked({{"mode", std::string("linear")}, {"antialias", int64_t{1}}}));
}

}  // namespace
}  // namespace dfsim
