// TensorFlow graphs written by hand: what they become, by hand-counted shapes and work.
#include "graphs/tensorflow/importer.h"

#include <catch2/catch.hpp>

#include "graphs/passes/cleanup/prune.h"
#include "tests/tensorflow/text_graph.h"

namespace dfsim {
namespace {

const std::string kStrides = attr("strides", int_list({1, 2, 2, 1}));
const std::string kSame = attr("padding", "s: \"SAME\"");

// [1, 9, 7, 3] * [3, 3, 3, 8], stride 2 -> [1, 5, 4, 8], bias, activation.
const std::string kConvGraph = placeholder("x", {1, 9, 7, 3}) + weight("w", {3, 3, 3, 8}) +
                               weight("b", {8}) +
                               node("conv", "Conv2D", {"x", "w"}, kStrides + kSame) +
                               node("bias", "BiasAdd", {"conv", "b"}) + node("y", "Relu", {"bias"});

TEST_CASE("a convolution becomes Conv with its bias, channels first, and TensorFlow's SAME") {
  const auto model = import_text(kConvGraph);
  INFO(model.status().message());
  REQUIRE(model.ok());
  CHECK(op_types(model->graph) == "Transpose Conv Relu Transpose Identity");
  CHECK(output_shape(model->graph) == "1x5x4x8");
  const auto totals = graph_totals(model->graph);
  REQUIRE(totals.ok());
  CHECK(totals->macs == 5 * 4 * 8 * 3 * 3 * 3);
  CHECK(totals->parameters == 3 * 3 * 3 * 8 + 8);
  const Op& conv = model->graph.op(OpId(1));
  CHECK(*conv.attributes.get_ints("kernel_shape") == Extents{3, 3});
  // 5 outputs of 3 at stride 2 cover 11 of 9: one before, one after; 4 cover 9 of 7.
  CHECK(*conv.attributes.get_ints("pads") == Extents{1, 1, 1, 1});
  CHECK(format_shape(model->graph.tensor(conv.inputs[1]).shape) == "8x3x3x3");
  CHECK(model->graph.tensor(conv.inputs[1]).role == TensorRole::kWeight);
}

TEST_CASE("an even SAME padding puts the odd one behind") {
  const auto model = import_text(placeholder("x", {1, 8, 8, 3}) + weight("w", {3, 3, 3, 8}) +
                                 node("conv", "Conv2D", {"x", "w"}, kStrides + kSame));
  REQUIRE(model.ok());
  CHECK(*model->graph.op(OpId(1)).attributes.get_ints("pads") == Extents{0, 0, 1, 1});
}

TEST_CASE("a chain of images is transposed only where it enters and leaves") {
  const std::string depthwise = node("depthwise", "DepthwiseConv2dNative", {"pad", "d"},
                                     kStrides + attr("padding", "s: \"VALID\""));
  const std::string text = kConvGraph + ints("rows", {0, 0, 1, 2, 1, 2, 0, 0}) +
                           weight("d", {3, 3, 8, 2}) + node("pad", "Pad", {"y", "pads"}) +
                           node("pads", "Reshape", {"rows", "two"}) + ints("two", {4, 2}) +
                           depthwise + weight("s", {16}) + weight("m", {16}) +
                           node("norm", "FusedBatchNormV3", {"depthwise", "s", "m", "m", "s"},
                                attr("is_training", "b: false")) +
                           node("clipped", "Relu6", {"norm"}) + ints("axes", {1, 2}) +
                           node("pooled", "Mean", {"clipped", "axes"});
  const auto model = import_text(text);
  INFO(model.status().message());
  REQUIRE(model.ok());
  CHECK(op_types(model->graph) ==
        "Transpose Conv Relu Reshape Conv Clip GlobalAveragePool Reshape Identity");
  CHECK(output_shape(model->graph) == "1x16");
  const Op& conv = model->graph.op(OpId(4));
  CHECK(conv.attributes.get_int("group") == 8);
  CHECK(conv.inputs.size() == 3);  // batch normalisation has become its bias
  CHECK(*conv.attributes.get_ints("pads") == Extents{1, 1, 2, 2});  // the Pad's
  CHECK(format_shape(model->graph.tensor(conv.outputs[0]).shape) == "1x16x3x3");
  const auto totals = graph_totals(model->graph);
  REQUIRE(totals.ok());
  CHECK(totals->macs == 5 * 4 * 8 * 27 + 3 * 3 * 16 * 9);
}

TEST_CASE("what only keeps books costs nothing and leaves no operator") {
  const auto model = import_text(
      placeholder("x", {2, 3}) + weight("w", {3, 4}) + node("read", "Identity", {"w"}) +
      node("stop", "StopGradient", {"x"}) + node("none", "NoOp", {"^stop"}) +
      node("check", "CheckNumerics", {"stop"}) + node("y", "MatMul", {"check", "read", "^none"}));
  REQUIRE(model.ok());
  CHECK(op_types(model->graph) == "MatMul");
}

TEST_CASE("shape arithmetic folds") {
  const auto model =
      import_text(placeholder("x", {-1, 4, 6}) + node("shape", "Shape", {"x"}) + ints("zero", {0}) +
                      ints("one", {1}) +
                      node("rows", "StridedSlice", {"shape", "zero", "one", "one"},
                           attr("shrink_axis_mask", "i: 1")) +
                      integer("many", 24) + node("target", "Pack", {"rows", "many"}) +
                      node("y", "Reshape", {"x", "target"}),
                  {.batch = 5});
  INFO(model.status().message());
  REQUIRE(model.ok());
  CHECK(model->report.unresolved.empty());
  CHECK(output_shape(model->graph) == "5x24");
  const auto pruned = prune(model->graph);
  REQUIRE(pruned.ok());
  CHECK(op_types(pruned->graph) == "Reshape");
}

TEST_CASE("an input without a shape needs one") {
  const std::string text = node("x", "Placeholder", {}, attr("dtype", "type: DT_FLOAT")) +
                           weight("w", {3, 4}) + node("y", "MatMul", {"x", "w"});
  const auto without = import_text(text);
  REQUIRE(without.ok());
  REQUIRE(without->report.unresolved.size() == 1);
  CHECK(without->report.unresolved[0].reason == "its input 'x' has an unknown shape");
  REQUIRE(without->report.notes.size() == 1);
  CHECK(without->report.notes[0].find("--input-shape x=") != std::string::npos);
  const auto with = import_text(text, {.input_shapes = {{"x", {7, 3}}}});
  REQUIRE(with.ok());
  CHECK(with->report.unresolved.empty());
  CHECK(output_shape(with->graph) == "7x4");
}

TEST_CASE("an operator that nobody knows is listed, not dropped") {
  const auto model = import_text(placeholder("x", {2, 3}) + node("y", "Mystery", {"x"}) +
                                 node("z", "Relu", {"y"}));
  REQUIRE(model.ok());
  REQUIRE(model->report.unresolved.size() == 2);
  CHECK(model->report.unresolved[0].reason == "operator tensorflow::Mystery is not known");
  CHECK(model->report.unresolved[1].reason == "its input 'y' has an unknown shape");
  CHECK(model->graph.op_count() == 2);
}

TEST_CASE("an einsum of two operands is a matrix product") {
  const auto model =
      import_text(placeholder("q", {2, 5, 4, 8}) + placeholder("k", {2, 7, 4, 8}) +
                  node("scores", "Einsum", {"q", "k"}, attr("equation", "s: \"bqhd,bkhd->bhqk\"")));
  INFO(model.status().message());
  REQUIRE(model.ok());
  CHECK(output_shape(model->graph) == "2x4x5x7");
  CHECK(op_types(model->graph).find("MatMul") != std::string::npos);
  const auto totals = graph_totals(model->graph);
  REQUIRE(totals.ok());
  CHECK(totals->macs == 2 * 4 * 5 * 7 * 8);
}

TEST_CASE("masks of a strided slice") {
  const auto sliced = [](const Extents& begin, const Extents& end, const Extents& steps,
                         const std::string& masks) {
    const auto model =
        import_text(placeholder("x", {4, 6, 8}) + ints("b", begin) + ints("e", end) +
                    ints("s", steps) + node("y", "StridedSlice", {"x", "b", "e", "s"}, masks));
    INFO(model.status().message());
    return model.ok() ? output_shape(model->graph) : model.status().message();
  };
  CHECK(sliced({1}, {3}, {1}, "") == "2x6x8");
  CHECK(sliced({-1}, {0}, {1}, attr("shrink_axis_mask", "i: 1")) == "6x8");
  CHECK(sliced({0, 2}, {0, 0}, {1, 2}, attr("begin_mask", "i: 1") + attr("end_mask", "i: 3")) ==
        "4x2x8");
  CHECK(sliced({0, 0}, {0, 3}, {1, 1}, attr("ellipsis_mask", "i: 1")) == "4x6x3");
  CHECK(sliced({0, 0}, {0, 2}, {1, 1}, attr("new_axis_mask", "i: 1")) == "1x2x6x8");
  CHECK(sliced({0}, {0}, {-1}, attr("begin_mask", "i: 1") + attr("end_mask", "i: 1")) == "4x6x8");
}

TEST_CASE("a training step: gradients and updates are results") {
  const std::string variable =
      attr("dtype", "type: DT_FLOAT") + attr("shape", "shape { " + shape_text({3, 3, 3, 8}) + "}");
  const auto model = import_text(
      placeholder("x", {2, 9, 9, 3}) + placeholder("dy", {2, 9, 9, 8}) +
      node("v", "VarHandleOp", {}, variable) + ints("sizes", {3, 3, 3, 8}) +
      node("dw", "Conv2DBackpropFilter", {"x", "sizes", "dy"},
           kSame + attr("strides", int_list({1, 1, 1, 1}))) +
      node("lr", "Const", {},
           attr("value", "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 0.1 }")) +
      node("update", "ResourceApplyGradientDescent", {"v", "lr", "dw"}));
  INFO(model.status().message());
  REQUIRE(model.ok());
  CHECK(op_types(model->graph) == "Transpose Transpose ConvFilterGrad GradientDescent");
  CHECK(output_shape(model->graph) == "3x3x3x8");
  const auto totals = graph_totals(model->graph);
  REQUIRE(totals.ok());
  CHECK(totals->macs == 2 * 9 * 9 * 8 * 27);
}

}  // namespace
}  // namespace dfsim
