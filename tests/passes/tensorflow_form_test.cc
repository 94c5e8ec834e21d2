// Networks of TensorFlow in one form: what tf2onnx leaves behind goes.
#include "graphs/passes/cleanup/tensorflow_form.h"

#include <algorithm>

#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

Graph formed(PassCase& model) {
  const auto graph = tensorflow_form(model.after({}));
  INFO(graph.status().message());
  REQUIRE(graph.ok());
  REQUIRE(graph_totals(*graph).ok());
  return *graph;
}

Types types_of(const Graph& graph) {
  Types types;
  for (const Op& op : graph.ops()) {
    types.push_back(op.op_type);
  }
  return types;
}

TEST_CASE("TensorFlow form: recognises inference models by their producer") {
  for (const auto& [producer, training, wanted] :
       std::vector<std::tuple<std::string, bool, bool>>{{"tf2onnx 1.17.0", false, true},
                                                        {"tensorflow 2.21.0", false, true},
                                                        {"tensorflow 2.21.0", true, false},
                                                        {"pytorch 2.13.0", false, false},
                                                        {"", false, false}}) {
    GraphBuilder builder;
    builder.info().producer = producer;
    if (training) {
      builder.info().metadata.emplace_back("dfsim.training", "1");
    }
    CHECK(comes_from_tensorflow(*builder.build()) == wanted);
  }
}

// transpose, pad, conv, scale, sum, transpose: a convolution
TEST_CASE("TensorFlow form: handles scales, sums, pads and transposes around a convolution") {
  PassCase model;
  model.input("x", {1, 8, 8, 3});
  model.weight("filter", {16, 3, 3, 3});
  model.weight("scale", {1, 16, 1, 1});
  model.weight("shift", {1, 16, 1, 1});
  model.ints("pads", {0, 0, 1, 1, 0, 0, 1, 1});
  model.op("Transpose", {"x"}, "first", {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
  model.op("Pad", {"first", "pads"}, "padded");
  model.op("Conv", {"padded", "filter"}, "product");
  model.op("Mul", {"product", "scale"}, "scaled");
  model.op("Add", {"scaled", "shift"}, "shifted");
  model.op("Transpose", {"shifted"}, "back", {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
  model.op("Transpose", {"back"}, "again", {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
  model.op("Relu", {"again"}, "y");
  model.output("y");
  CHECK(types_of(formed(model)) == Types{"Transpose", "Conv", "Relu"});
}

TEST_CASE("TensorFlow form: merges a bias into a matrix product and keeps a sum of two products") {
  PassCase model;
  model.input("x", {4, 8});
  model.input("h", {4, 8});
  model.weight("w", {8, 16});
  model.weight("u", {8, 16});
  model.weight("b", {16});
  model.op("MatMul", {"x", "w"}, "xw");
  model.op("MatMul", {"h", "u"}, "hu");
  model.op("Add", {"xw", "hu"}, "sum");
  model.op("Relu", {"sum"}, "active");
  model.weight("v", {16, 5});
  model.weight("c", {5});
  model.op("MatMul", {"active", "v"}, "av");
  model.op("Add", {"av", "c"}, "y");
  model.output("y");
  CHECK(types_of(formed(model)) == Types{"MatMul", "MatMul", "Add", "Relu", "Gemm"});
}

TEST_CASE("TensorFlow form: one row of a tensor is a view if its elements are contiguous") {
  for (const auto& [extents, axis, view] :
       std::vector<std::tuple<std::vector<int64_t>, int64_t, bool>>{
           {{5, 4}, 0, true}, {{1, 5, 4}, 1, true}, {{2, 5, 4}, 1, false}}) {
    PassCase model;
    model.input("x", extents);
    model.index("i", 3);
    model.op("Gather", {"x", "i"}, "row", {{"axis", axis}});
    model.op("Relu", {"row"}, "y");
    model.output("y");
    const Graph graph = formed(model);
    REQUIRE(graph.op_count() == 2);
    CHECK((graph.ops()[0].op_class == OpClass::kView) == view);
  }
}

TEST_CASE("TensorFlow form: a slice names the axes that it shortens") {
  PassCase model;
  model.input("x", {2, 9});
  model.ints("starts", {0, 3});
  model.ints("ends", {2147483647, 6});
  model.ints("axes", {0, 1});
  model.op("Slice", {"x", "starts", "ends", "axes"}, "y");
  model.output("y");
  const Graph graph = formed(model);
  REQUIRE(graph.op_count() == 1);
  CHECK(graph.constant(graph.ops()[0].inputs[1])->ints == std::vector<int64_t>{3});
  CHECK(graph.constant(graph.ops()[0].inputs[2])->ints == std::vector<int64_t>{6});
  CHECK(graph.constant(graph.ops()[0].inputs[3])->ints == std::vector<int64_t>{1});
}

TEST_CASE("TensorFlow form: a Concat goes into the one that alone reads it, along the same axis") {
  const auto types = [](int64_t inner_axis, bool read_twice) {
    PassCase model;
    for (const char* name : {"a", "b", "c"}) {
      model.input(name, {1, 4, 8, 8});
    }
    model.op("Concat", {"a", "b"}, "inner", {{"axis", inner_axis}});
    model.op("Concat", {"c", "inner"}, "outer", {{"axis", int64_t{1}}});
    model.op("Relu", {"outer"}, "y");
    model.output("y");
    if (read_twice) {
      model.op("Abs", {"inner"}, "z");
      model.output("z");
    }
    const Graph graph = formed(model);
    for (const Op& op : graph.ops()) {
      if (op.op_type == "Relu") {
        CHECK(graph.tensors()[op.inputs[0].index()].shape.extents() ==
              std::vector<int64_t>{1, 12, 8, 8});
      }
      if (op.op_type == "Concat" && !read_twice) {
        REQUIRE(op.inputs.size() == 3);
        CHECK(graph.tensors()[op.inputs[0].index()].name == "c");
        CHECK(graph.tensors()[op.inputs[2].index()].name == "b");
      }
    }
    Types sorted = types_of(graph);
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  };
  CHECK(types(1, false) == Types{"Concat", "Relu"});
  CHECK(types(-3, false) == Types{"Concat", "Relu"});
  CHECK(types(1, true) == Types{"Abs", "Concat", "Concat", "Relu"});
}

TEST_CASE("TensorFlow form: the order of operators does not depend on the order in the file") {
  const auto types = [](bool long_way_first) {
    PassCase model;
    model.input("x", {4});
    if (!long_way_first) {
      model.op("Abs", {"x"}, "short");
    }
    model.op("Relu", {"x"}, "a");
    model.op("Exp", {"a"}, "b");
    if (long_way_first) {
      model.op("Abs", {"x"}, "short");
    }
    model.op("Add", {"b", "short"}, "y");
    model.output("y");
    return types_of(formed(model));
  };
  CHECK(types(true) == Types{"Relu", "Abs", "Exp", "Add"});
  CHECK(types(false) == types(true));
}

}  // namespace
}  // namespace dfsim
