// Convolutions and what goes into them; blocks of channels.
#include <set>
#include <string>

#include "graphs/ops/families/extensions/runtime_ops.h"
#include "tests/passes/pass_case.h"

namespace dfsim {
namespace {

const PassCase::Attributes kPad1 = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}};

// x [1, 16, 8, 8] -> Conv 3x3 -> "c"
void add_conv(PassCase& graph, int64_t channels = 16) {
  graph.input("x", {1, 16, 8, 8});
  graph.weight("w", {channels, 16, 3, 3});
  graph.op("Conv", {"x", "w"}, "c", kPad1);
}

void add_batch_norm(PassCase& graph, const std::string& from, const std::string& to,
                    int64_t channels = 16) {
  for (const char* name : {"scale", "shift", "mean", "variance"}) {
    graph.weight(name, {channels});
  }
  graph.op("BatchNormalization", {from, "scale", "shift", "mean", "variance"}, to);
}

TEST_CASE("conv-fold: merges a batch normalisation into the convolution, which gets a bias") {
  PassCase graph;
  add_conv(graph);
  add_batch_norm(graph, "c", "y");
  graph.output("y");
  const Graph& result = graph.after({"conv-fold"});
  REQUIRE(result.op_count() == 1);
  CHECK(result.op(OpId(0)).op_type == "Conv");
  CHECK(result.op(OpId(0)).name == "c");
  REQUIRE(result.op(OpId(0)).inputs.size() == 3);
  CHECK(result.tensor(result.op(OpId(0)).inputs[2]).role == TensorRole::kWeight);
  REQUIRE(origins_of(result.op(OpId(0))).size() == 2);
  CHECK(origins_of(result.op(OpId(0)))[1].op_type == "BatchNormalization");
  CHECK(result.tensor(result.outputs()[0]).name == "y");
}

TEST_CASE("conv-fold: a transposed convolution takes a normalisation, but no scale or sum") {
  for (const std::string next : {"BatchNormalization", "Mul", "Add"}) {
    PassCase graph;
    graph.input("x", {1, 8, 4, 4});
    graph.weight("w", {8, 3, 3, 3});
    graph.weight("s", {6});
    graph.weight("scale", {1, 6, 1, 1});
    graph.op("ConvTranspose", {"x", "w"}, "c", {{"group", int64_t{2}}});
    if (next == "BatchNormalization") {
      graph.op(next, {"c", "s", "s", "s", "s"}, "y");
    } else {
      graph.op(next, {"c", "scale"}, "y");
    }
    graph.output("y");
    const Graph result = graph.after({"conv-fold"});
    INFO(next);
    REQUIRE(result.op_count() == (next == "BatchNormalization" ? 1U : 2U));
    if (result.op_count() == 1) {
      REQUIRE(result.op(OpId(0)).inputs.size() == 3);
      CHECK(result.tensor(result.op(OpId(0)).inputs[2]).shape == Shape({6}));
    }
  }
}

TEST_CASE("conv-fold: keeps a normalisation whose convolution is read twice or returned") {
  PassCase twice;
  add_conv(twice);
  add_batch_norm(twice, "c", "y");
  twice.op("Add", {"c", "y"}, "z");
  twice.output("z");
  CHECK(twice.types_after({"conv-fold"}) == Types{"Conv", "BatchNormalization", "Add"});
  PassCase returned;
  add_conv(returned);
  returned.op("Relu", {"c"}, "y");
  returned.output("y");
  returned.output("c");
  CHECK(returned.types_after({"conv-activation"}) == Types{"Conv", "Relu"});
}

TEST_CASE("conv-fold: merges scales per channel but not per element") {
  for (const bool channel : {true, false}) {
    PassCase graph;
    add_conv(graph);
    graph.weight("s", channel ? std::vector<int64_t>{16, 1, 1} : std::vector<int64_t>{8, 8});
    graph.op("Mul", {"c", "s"}, "y");
    graph.output("y");
    CHECK(graph.types_after({"conv-fold"}).size() == (channel ? 1 : 2));
  }
}

TEST_CASE("conv-fold: one number scales the weights but is not added to the bias") {
  for (const char* type : {"Mul", "Add"}) {
    PassCase graph;
    add_conv(graph);
    graph.number("s", 0.2);
    graph.op(type, {"c", "s"}, "y");
    graph.output("y");
    CHECK((graph.types_after({"conv-fold"}).size() == 1) == (std::string(type) == "Mul"));
  }
}

TEST_CASE("conv-sum: the sum goes into a convolution with a bias, and the activation after it") {
  struct Given {
    bool bias, relu, shared;
    Types expected;
  };
  for (const Given& given : {Given{true, true, false, {"com.microsoft.FusedConv"}},
                             Given{true, false, false, {"com.microsoft.FusedConv"}},
                             Given{false, true, false, {"Conv", "Add", "Relu"}},
                             Given{true, true, true, {"Conv", "Add", "Relu"}}}) {
    PassCase graph;
    graph.input("x", {1, 16, 8, 8});
    graph.weight("w", {16, 16, 3, 3});
    graph.weight("b", {16});
    graph.op(
        "Conv",
        given.bias ? std::vector<std::string>{"x", "w", "b"} : std::vector<std::string>{"x", "w"},
        "c", kPad1);
    graph.op("Add", {"x", "c"}, "s");
    if (given.relu) {
      graph.op("Relu", {"s"}, "y");
    }
    graph.output(given.relu ? "y" : "s");
    if (given.shared) {
      graph.output("c");
    }
    CHECK(graph.types_after({"conv-sum"}) == given.expected);
  }
}

TEST_CASE("conv-activation: recognises Hardswish written out, unless the graph hands it out") {
  for (const bool inner : {true, false}) {
    PassCase graph;
    add_conv(graph);
    graph.op("HardSigmoid", {"c"}, "h");
    graph.op("Mul", {"c", "h"}, "y");
    if (inner) {
      graph.op("GlobalAveragePool", {"y"}, "mean");
    }
    graph.output(inner ? "mean" : "y");
    const Graph& result = graph.after({"conv-activation"});
    REQUIRE(result.op_count() == (inner ? 2 : 3));
    CHECK(result.op(OpId(0)).op_type == (inner ? "FusedConv" : "Conv"));
    CHECK(result.op(OpId(0)).attributes.string_or("activation", "") == (inner ? "HardSwish" : ""));
  }
}

TEST_CASE("pad-fold: merges zero padding into the convolution but not padding by ones") {
  for (const double value : {0.0, 1.0}) {
    PassCase graph;
    graph.input("x", {1, 16, 6, 6});
    graph.ints("pads", {0, 0, 1, 1, 0, 0, 1, 1});
    graph.number("value", value);
    graph.op("Pad", {"x", "pads", "value"}, "p");
    graph.weight("w", {16, 16, 3, 3});
    graph.op("Conv", {"p", "w"}, "y");
    graph.output("y");
    CHECK(graph.types_after({"pad-fold"}).size() == (value == 0 ? 1 : 2));
  }
}

TEST_CASE("nchwc: a residual block merges its sum into a convolution and reorders outside") {
  PassCase graph;
  add_conv(graph);
  graph.op("Relu", {"c"}, "r");
  graph.weight("w2", {16, 16, 3, 3});
  graph.op("Conv", {"r", "w2"}, "c2", kPad1);
  graph.op("Add", {"c2", "r"}, "s");
  graph.op("Relu", {"s"}, "y");
  graph.output("y");
  CHECK(graph.types_after({"conv-activation", "nchwc-8"}) ==
        Types{"com.microsoft.nchwc.ReorderInput", "com.microsoft.nchwc.Conv",
              "com.microsoft.nchwc.Conv", "com.microsoft.nchwc.ReorderOutput"});
}

TEST_CASE("nchwc: a convolution without readers stays, without a reorder back") {
  // As ONNX Runtime 1.32 saves and profiles it.
  PassCase graph;
  add_conv(graph);
  graph.op("Relu", {"c"}, "unread");
  graph.op("Exp", {"x"}, "y");
  graph.output("y");
  const Types types = graph.types_after({"conv-activation", "nchwc-8"});
  CHECK(std::multiset<std::string>(types.begin(), types.end()) ==
        std::multiset<std::string>{"Exp", "com.microsoft.nchwc.Conv",
                                   "com.microsoft.nchwc.ReorderInput"});
}

TEST_CASE("nchwc: reads three input channels unblocked; grouped ones need whole blocks") {
  PassCase first;
  first.input("x", {1, 3, 8, 8});
  first.weight("w", {16, 3, 3, 3});
  first.op("Conv", {"x", "w"}, "y");
  first.output("y");
  CHECK(first.types_after({"nchwc-8"}) ==
        Types{"com.microsoft.nchwc.Conv", "com.microsoft.nchwc.ReorderOutput"});
  for (const int64_t in : {8, 12}) {
    PassCase grouped;
    grouped.input("x", {1, 2 * in, 8, 8});
    grouped.weight("w", {16, in, 3, 3});
    grouped.op("Conv", {"x", "w"}, "y", {{"group", int64_t{2}}});
    grouped.output("y");
    CHECK(grouped.types_after({"nchwc-8"}).size() == (in == 8 ? 3 : 1));
  }
}

TEST_CASE("nchwc: a depthwise convolution pads its last block if channels are a multiple of four") {
  // ONNX Runtime 1.31 blocks ShuffleNet's 116 channels and leaves its 58.
  for (const int64_t channels : {24, 116, 58}) {
    PassCase graph;
    graph.input("x", {1, channels, 8, 8});
    graph.weight("w", {channels, 1, 3, 3});
    graph.op("Conv", {"x", "w"}, "y", {{"group", channels}});
    graph.output("y");
    const Graph& result = graph.after({"nchwc-8"});
    CHECK(result.op_count() == (channels == 58 ? 1 : 3));
    if (channels == 116) {
      const Tensor& y = result.tensor(result.op(OpId(1)).outputs[0]);
      CHECK(y.shape.extents() == std::vector<int64_t>{1, 116, 6, 6});
      CHECK(y.stored_shape().extents() == std::vector<int64_t>{1, 120, 6, 6});
      CHECK(y.bytes().value() == 120 * 36 * 4);
      CHECK(result.tensor(result.op(OpId(2)).outputs[0]).channel_block == 0);
    }
  }
}

TEST_CASE("nchwc: a batch norm of a blocked tensor is a convolution, whole blocks or not") {
  // ONNX Runtime 1.32 makes convolutions of all batch norms of RepGhost, also of 10 channels.
  for (const int64_t channels : {16, 10}) {
    PassCase graph;
    add_conv(graph, channels);
    add_batch_norm(graph, "c", "y", channels);
    graph.output("y");
    CHECK(graph.types_after({"nchwc-8"}) ==
          Types{"com.microsoft.nchwc.ReorderInput", "com.microsoft.nchwc.Conv",
                "com.microsoft.nchwc.Conv", "com.microsoft.nchwc.ReorderOutput"});
    PassCase plain;
    plain.input("x", {1, channels, 8, 8});
    add_batch_norm(plain, "x", "y", channels);
    plain.output("y");
    CHECK(plain.types_after({"nchwc-8"}) == Types{"BatchNormalization"});
  }
}

TEST_CASE("pad-fold: zeros before a mean become counted padding, zeros before a maximum stay") {
  for (const std::string kind : {"AveragePool", "MaxPool"}) {
    PassCase graph;
    graph.input("x", {1, 16, 6, 6});
    graph.ints("pads", {0, 0, 1, 1, 0, 0, 1, 1});
    graph.op("Pad", {"x", "pads"}, "p");
    graph.op(kind, {"p"}, "y", {{"kernel_shape", std::vector<int64_t>{3, 3}}});
    graph.output("y");
    const Graph& result = graph.after({"pad-fold"});
    CHECK(result.op_count() == (kind == "AveragePool" ? 1 : 2));
    if (kind == "AveragePool") {
      CHECK(result.op(OpId(0)).attributes.int_or("count_include_pad", 0) == 1);
      CHECK(*result.op(OpId(0)).attributes.get_ints("pads") == std::vector<int64_t>{1, 1, 1, 1});
    }
  }
  // The pool's own padding is not counted, so the two cannot merge into one padding.
  PassCase both;
  both.input("x", {1, 16, 6, 6});
  both.ints("pads", {0, 0, 1, 1, 0, 0, 1, 1});
  both.op("Pad", {"x", "pads"}, "p");
  both.op(
      "AveragePool", {"p"}, "y",
      {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  both.output("y");
  CHECK(both.types_after({"pad-fold"}).size() == 2);
}

TEST_CASE("nchwc: a Gelu of a blocked tensor runs in blocks, a Gelu of a plain tensor does not") {
  PassCase graph;
  add_conv(graph);
  graph.op("com.microsoft.Gelu", {"c"}, "y");
  graph.output("y");
  CHECK(graph.types_after({"nchwc-8"}) == Types{"com.microsoft.nchwc.ReorderInput",
                                                "com.microsoft.nchwc.Conv", "com.microsoft.Gelu",
                                                "com.microsoft.nchwc.ReorderOutput"});
  PassCase plain;
  plain.input("x", {1, 16, 8, 8});
  plain.op("com.microsoft.Gelu", {"x"}, "y");
  plain.output("y");
  CHECK(plain.types_after({"nchwc-8"}) == Types{"com.microsoft.Gelu"});
}

TEST_CASE("nchwc: a pool runs in blocks and reorders its input; channels must fill the blocks") {
  for (const int64_t channels : {16, 12}) {
    PassCase graph;
    graph.input("x", {1, channels, 8, 8});
    graph.op("MaxPool", {"x"}, "y", {{"kernel_shape", std::vector<int64_t>{2, 2}}});
    graph.output("y");
    CHECK(graph.types_after({"nchwc-8"}) ==
          (channels == 16 ? Types{"com.microsoft.nchwc.ReorderInput", "com.microsoft.nchwc.MaxPool",
                                  "com.microsoft.nchwc.ReorderOutput"}
                          : Types{"MaxPool"}));
  }
}

TEST_CASE("nchwc: averages that round up and count padding stay in rows") {
  for (const int64_t counts : {0, 1}) {
    PassCase graph;
    graph.input("x", {1, 16, 8, 8});
    graph.op("AveragePool", {"x"}, "y",
             {{"kernel_shape", std::vector<int64_t>{2, 2}},
              {"ceil_mode", int64_t{1}},
              {"count_include_pad", counts}});
    graph.output("y");
    CHECK((graph.types_after({"nchwc-8"}) == Types{"AveragePool"}) == (counts == 1));
  }
}

TEST_CASE("nchwc: a global pool runs in blocks only if its input is in blocks") {
  PassCase plain;
  plain.input("x", {1, 16, 8, 8});
  plain.op("GlobalAveragePool", {"x"}, "y");
  plain.output("y");
  CHECK(plain.types_after({"nchwc-8"}) == Types{"GlobalAveragePool"});
  PassCase blocked;
  add_conv(blocked);
  blocked.op("GlobalAveragePool", {"c"}, "y");
  blocked.output("y");
  CHECK(blocked.types_after({"nchwc-8"})[2] == "com.microsoft.nchwc.GlobalAveragePool");
}

// x with its channels last, the same in front, a convolution (and another), the last again.
void add_moved_conv(PassCase& graph, bool read_twice) {
  graph.input("x", {1, 8, 8, 16});
  graph.weight("w", {16, 16, 1, 1});
  graph.op("Transpose", {"x"}, "t", {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
  graph.op("Conv", {"t", "w"}, "c");
  graph.op("Transpose", {"c"}, "y", {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
  graph.output("y");
  if (read_twice) {
    graph.op("Neg", {"t"}, "n");
    graph.op("Erf", {"c"}, "e");
    graph.output("n");
    graph.output("e");
  }
}

TEST_CASE("nchwc: reorders replace a Transpose that moves channels to or from the end") {
  PassCase graph;
  add_moved_conv(graph, false);
  const Graph& moved = graph.after({"nchwc-8"});
  REQUIRE(moved.op_count() == 3);
  CHECK(moved.op(OpId(0)).op_type == "ReorderInput");
  CHECK(moved.op(OpId(0)).attributes.int_or("channels_last", 0) == 1);
  CHECK(moved.op(OpId(0)).attributes.int_or("channels", 0) == 16);
  CHECK(moved.op(OpId(2)).op_type == "ReorderOutput");
  CHECK(moved.op(OpId(2)).attributes.int_or("channels_last", 0) == 1);
  // Other readers keep the transposed input; the output is reordered once for either layout.
  PassCase shared;
  add_moved_conv(shared, true);
  const Types types = shared.types_after({"nchwc-8"});
  CHECK(std::count(types.begin(), types.end(), "Transpose") == 1);
  CHECK(std::count(types.begin(), types.end(), "com.microsoft.nchwc.ReorderOutput") == 2);
}

TEST_CASE("nchwc: nearest or linear upsampling by integer factors runs in blocks") {
  struct ConvCase {
    const char* mode;
    const char* transformation;
    const char* nearest;
    int64_t size;
  };
  const ConvCase kept[] = {{"nearest", "asymmetric", "floor", 16},
                           {"linear", "asymmetric", "ceil", 16},
                           {"linear", "half_pixel", "floor", 16},
                           {"linear", "align_corners", "floor", 16}};
  const ConvCase others[] = {{"linear", "pytorch_half_pixel", "floor", 16},
                             {"linear", "half_pixel", "floor", 12},
                             {"cubic", "half_pixel", "floor", 16},
                             {"nearest", "half_pixel", "floor", 16},
                             {"nearest", "asymmetric", "round_prefer_floor", 16},
                             {"nearest", "asymmetric", "floor", 12}};
  const auto resized = [](const ConvCase& how, PassCase graph) {
    add_conv(graph);
    graph.ints("sizes", {1, 16, how.size, how.size});
    graph.op("Resize", {"c", "", "", "sizes"}, "y",
             {{"mode", std::string(how.mode)},
              {"coordinate_transformation_mode", std::string(how.transformation)},
              {"nearest_mode", std::string(how.nearest)}});
    graph.output("y");
    return graph.after({"nchwc-8"});
  };
  for (const ConvCase& how : kept) {
    INFO(how.mode << " " << how.transformation);
    const Graph blocked = resized(how, PassCase());
    REQUIRE(blocked.op_count() == 4);
    const Op& upsample = blocked.op(OpId(2));
    CHECK(upsample.domain == kMicrosoftBlocked);
    CHECK(upsample.op_type == "Upsample");
    CHECK(upsample.attributes.string_or("mode", "") == how.mode);
    CHECK(upsample.attributes.string_or("coordinate_transformation_mode", "") ==
          how.transformation);
    CHECK(std::get<std::vector<double>>(*upsample.attributes.find("scales")) ==
          std::vector<double>{1, 1, 2, 2});
  }
  for (const ConvCase& other : others) {
    INFO(other.mode << " " << other.transformation << " " << other.nearest << " " << other.size);
    const Graph plain = resized(other, PassCase());
    REQUIRE(plain.op_count() == 4);
    CHECK(plain.op(OpId(3)).op_type == "Resize");  // after the reorder back
    CHECK(plain.op(OpId(3)).domain.empty());
  }
}

TEST_CASE("nchwc: a blocked tensor with plain readers is reordered once") {
  PassCase graph;
  add_conv(graph);
  graph.op("Erf", {"c"}, "e");
  graph.op("Neg", {"c"}, "n");
  graph.output("e");
  graph.output("n");
  CHECK(graph.types_after({"nchwc-8"}) == Types{"com.microsoft.nchwc.ReorderInput",
                                                "com.microsoft.nchwc.Conv",
                                                "com.microsoft.nchwc.ReorderOutput", "Erf", "Neg"});
}

TEST_CASE("hard-swish: becomes HardSigmoid and Mul, and a convolution's activation again") {
  PassCase alone;
  alone.input("x", {1, 8});
  alone.op("HardSwish", {"x"}, "y");
  alone.output("y");
  const Graph& split = alone.after({"hard-swish"});
  REQUIRE(split.op_count() == 2);
  CHECK(split.op(OpId(0)).op_type == "HardSigmoid");
  CHECK(split.op(OpId(0)).attributes.get_float("alpha").value_or(0) == Approx(1.0 / 6));
  CHECK(split.op(OpId(0)).attributes.get_float("beta").value_or(0) == Approx(0.5));
  CHECK(split.op(OpId(1)).op_type == "Mul");
  CHECK(origins_of(split.op(OpId(1))).front().op_type == "HardSwish");
  PassCase fused;
  add_conv(fused);
  fused.op("HardSwish", {"c"}, "y");
  fused.op("GlobalAveragePool", {"y"}, "mean");
  fused.output("mean");
  CHECK(fused.types_after({"hard-swish", "conv-activation"}) ==
        Types{"com.microsoft.FusedConv", "GlobalAveragePool"});
}

}  // namespace
}  // namespace dfsim
