// Functions, loops and branches of both generations, and SavedModels.
#include <catch2/catch.hpp>

#include "tests/tensorflow/text_graph.h"

namespace dfsim {
namespace {

TEST_CASE("TensorFlow functions: calls are inlined, with arguments and outputs by name") {
  const std::string library = "library { " +
                              function("layer", {"x", "w"}, {"y"},
                                       node("product", "MatMul", {"x", "w"}) +
                                           node("active", "Relu", {"product:product:0"}),
                                       ret("y", "active:activations:0")) +
                              "}\n";
  const auto model =
      import_text(placeholder("x", {2, 8}) + weight("w", {8, 8}) +
                  node("one", "PartitionedCall", {"x", "w"}, attr("f", func("layer"))) +
                  node("two", "StatefulPartitionedCall", {"one", "w"}, attr("f", func("layer"))) +
                  node("three", "layer", {"two", "w"}) + library);
  INFO(model.status().message());
  REQUIRE(model.ok());
  CHECK(op_types(model->graph) == "MatMul Relu MatMul Relu MatMul Relu Identity");
  CHECK(graph_totals(model->graph)->macs == 3 * 2 * 8 * 8);
}

TEST_CASE("TensorFlow functions: a function that calls itself is refused") {
  const std::string library =
      "library { " +
      function("f", {"x"}, {"y"}, node("again", "PartitionedCall", {"x"}, attr("f", func("f"))),
               ret("y", "again:output:0")) +
      "}\n";
  const auto model = import_text(
      placeholder("x", {2}) + node("y", "PartitionedCall", {"x"}, attr("f", func("f"))) + library);
  REQUIRE_FALSE(model.ok());
  CHECK(model.status().message().find("are they recursive?") != std::string::npos);
}

// i < 5; i + 1, x * w.
const std::string kWhileLibrary =
    "library { " +
    function("check", {"i", "x", "w"}, {"go"},
             integer("five", 5) + node("go", "Less", {"i", "five:output:0"}), ret("go", "go:z:0")) +
    function("body", {"i", "x", "w"}, {"i2", "x2", "w2"},
             integer("one", 1) + node("next", "AddV2", {"i", "one:output:0"}) +
                 node("product", "MatMul", {"x", "w"}) + node("same", "Identity", {"w"}),
             ret("i2", "next:z:0") + ret("x2", "product:product:0") + ret("w2", "same:output:0")) +
    "}\n";

TEST_CASE("While: a loop of TensorFlow 2 runs as often as its condition counts") {
  const auto model =
      import_text(integer("zero", 0) + placeholder("x", {2, 8}) + weight("w", {8, 8}) +
                  node("loop", "While", {"zero", "x", "w"},
                       attr("cond", func("check")) + attr("body", func("body"))) +
                  node("y", "Relu", {"loop:1"}) + kWhileLibrary);
  INFO(model.status().message());
  REQUIRE(model.ok());
  CHECK(model->report.notes.empty());
  CHECK(model->report.unresolved.empty());
  CHECK(op_types(model->graph) == "Loop Relu");
  CHECK(graph_totals(model->graph)->macs == 5 * 2 * 8 * 8);
  CHECK(output_shape(model->graph) == "2x8");
}

TEST_CASE("While: unknown trip counts are assumed, or given by the user") {
  const std::string text = placeholder("zero", {}, "DT_INT32") + placeholder("x", {2, 8}) +
                           weight("w", {8, 8}) +
                           node("loop", "While", {"zero", "x", "w"},
                                attr("cond", func("check")) + attr("body", func("body"))) +
                           node("y", "Relu", {"loop:1"}) + kWhileLibrary;
  const auto open = import_text(text);
  REQUIRE(open.ok());
  REQUIRE(open->report.notes.size() == 1);
  CHECK(open->report.notes[0].find("how often Loop 'loop' runs") != std::string::npos);
  CHECK(graph_totals(open->graph)->macs == 2 * 8 * 8);
  const auto given = import_text(text, {.trip_counts = {{"loop", 7}}});
  REQUIRE(given.ok());
  CHECK(graph_totals(given->graph)->macs == 7 * 2 * 8 * 8);
  CHECK_FALSE(import_text(text, {.trip_counts = {{"lop", 7}}}).ok());
}

// i < 6 in steps of 2, x * w, with arrays for the products.
std::string loop_v1() {
  const std::string frame = attr("frame_name", "s: \"while_context\"");
  const std::string constant = frame + attr("is_constant", "b: true");
  std::string text = integer("zero", 0) + integer("six", 6) + integer("two", 2) +
                     placeholder("x", {2, 8}) + weight("w", {8, 8}) + integer("size", 3) +
                     node("array", "TensorArrayV3", {"size"}, attr("dtype", "type: DT_FLOAT"));
  for (const auto& [name, start] : {std::pair("i", "zero"), {"x", "x"}, {"a", "array:1"}}) {
    const std::string v = std::string("v_") + name;
    text += node(v + "/enter", "Enter", {start}, frame) +
            node(v + "/merge", "Merge", {v + "/enter", v + "/next"}) +
            node(v + "/switch", "Switch", {v + "/merge", "cond"}) +
            node(v + "/exit", "Exit", {v + "/switch"}) +
            node(v + "/next", "NextIteration", {v + "/new"});
  }
  return text + node("limit", "Enter", {"six"}, constant) + node("we", "Enter", {"w"}, constant) +
         node("handle", "Enter", {"array"}, constant) +
         node("less", "Less", {"v_i/merge", "limit"}) + node("cond", "LoopCond", {"less"}) +
         node("v_i/new", "Add", {"v_i/switch:1", "two"}) +
         node("v_x/new", "MatMul", {"v_x/switch:1", "we"}) +
         node("v_a/new", "TensorArrayWriteV3",
              {"handle", "v_i/switch:1", "v_x/new", "v_a/switch:1"}) +
         ints("rows", {0, 1, 2}) +
         node("stacked", "TensorArrayGatherV3", {"array", "rows", "v_a/exit"});
}

TEST_CASE("While of TensorFlow 1: frames become one Loop, and arrays are tensors") {
  const auto model = import_text(loop_v1());
  INFO(model.status().message());
  REQUIRE(model.ok());
  for (const auto& op : model->report.unresolved) {
    FAIL_CHECK(op.name << ": " << op.reason);
  }
  CHECK(model->report.notes.empty());
  // Variables that leave the loop unread are results, too.
  CHECK(op_types(model->graph) == "TensorListReserve Loop TensorListStack Identity Identity");
  CHECK(graph_totals(model->graph)->macs == 3 * 2 * 8 * 8);
  CHECK(output_shape(model->graph, 2) == "3x2x8");
}

// A loop inside the body whose last counter is not read, and which starts from a
// constant that only waits for the trip.
TEST_CASE("While of TensorFlow 1: what a trip leaves unread is not a result") {
  const std::string frame = attr("frame_name", "s: \"inner\"");
  std::string nested =
      loop_v1() + node("turn", "Identity", {"v_i/switch:1"}) +
      node("start", "Const", {"^turn"},
           attr("value",
                "tensor { dtype: DT_INT32 tensor_shape { } "
                "int_val: 0 }")) +
      node("in/enter", "Enter", {"start"}, frame) +
      node("in/merge", "Merge", {"in/enter", "in/next"}) +
      node("in/limit", "Enter", {"six"}, frame + attr("is_constant", "b: true")) +
      node("in/less", "Less", {"in/merge", "in/limit"}) + node("in/cond", "LoopCond", {"in/less"}) +
      node("in/switch", "Switch", {"in/merge", "in/cond"}) +
      node("in/step", "Add", {"in/switch:1", "in/limit"}) +
      node("in/next", "NextIteration", {"in/step"}) + node("in/exit", "Exit", {"in/switch"});
  const auto model = import_text(nested);
  INFO(model.status().message());
  REQUIRE(model.ok());
  CHECK(op_types(model->graph) == "TensorListReserve Loop TensorListStack Identity Identity");
  CHECK(graph_totals(model->graph)->macs == 3 * 2 * 8 * 8);
}

// Freezing a loop of TensorFlow 2 adds constants of the body that wait for an anchor, which no node
// reads.
TEST_CASE("While of TensorFlow 1: an anchor of control edges is not a result") {
  const std::string anchored = loop_v1() + node("loop_body_control", "Identity", {"v_i/switch:1"}) +
                               node("late", "Const", {"^loop_body_control"},
                                    attr("value",
                                         "tensor { dtype: DT_INT32 tensor_shape { } "
                                         "int_val: 1 }"));
  const auto model = import_text(anchored);
  INFO(model.status().message());
  REQUIRE(model.ok());
  CHECK(model->report.unresolved.empty());
  CHECK(op_types(model->graph) == "TensorListReserve Loop TensorListStack Identity Identity");
}

TEST_CASE("StridedSlice: an index from the run takes one row, a bound is marked") {
  const std::string masks = attr("begin_mask", "i: 1") + attr("end_mask", "i: 1");
  const std::string text = placeholder("x", {2, 12, 8}) + placeholder("t", {2}, "DT_INT32") +
                           ints("ones", {1, 1}) +
                           node("row", "StridedSlice", {"x", "t", "t", "ones"},
                                masks + attr("shrink_axis_mask", "i: 2")) +
                           node("rows", "StridedSlice", {"x", "t", "t", "ones"}, masks);
  const auto model = import_text(text);
  INFO(model.status().message());
  REQUIRE(model.ok());
  CHECK(model->report.unresolved.empty());
  CHECK(output_shape(model->graph, 0) == "2x8");
  CHECK(output_shape(model->graph, 1) == "2x12x8");
  CHECK(model->graph.tensor(model->graph.outputs()[1]).data_dependent);
}

TEST_CASE("Numeric operators: shapes are those that TensorFlow gives") {
  const std::string text =
      placeholder("image", {2, 32, 32, 3}) + placeholder("boxes", {5, 4}) +
      placeholder("index", {5}, "DT_INT32") + ints("crop", {7, 9}) +
      node("crops", "CropAndResize", {"image", "boxes", "index", "crop"}) +
      placeholder("m", {2, 8, 8}) + node("cholesky", "Cholesky", {"m"}) + placeholder("v", {2, 6}) +
      node("diagonal", "MatrixDiag", {"v"}) + placeholder("wave", {2, 30}) + ints("length", {32}) +
      node("spectrum", "RFFT", {"wave", "length"}) +
      node("patches", "ExtractImagePatches", {"image"},
           attr("ksizes", int_list({1, 3, 3, 1})) + attr("strides", int_list({1, 2, 2, 1})) +
               attr("rates", int_list({1, 1, 1, 1})) + attr("padding", "s: \"SAME\""));
  const auto model = import_text(text);
  INFO(model.status().message());
  REQUIRE(model.ok());
  CHECK(model->report.unresolved.empty());
  CHECK(output_shape(model->graph, 0) == "5x7x9x3");
  CHECK(output_shape(model->graph, 1) == "2x8x8");
  CHECK(output_shape(model->graph, 2) == "2x6x6");
  CHECK(output_shape(model->graph, 3) == "2x17");
  CHECK(output_shape(model->graph, 4) == "2x16x16x27");
}

const std::string kIfLibrary =
    "library { " +
    function("yes", {"x", "w"}, {"y"}, node("p", "MatMul", {"x", "w"}), ret("y", "p:product:0")) +
    function("no", {"x", "w"}, {"y"}, node("p", "Relu", {"x"}), ret("y", "p:activations:0")) +
    "}\n";

std::string if_graph() {
  return placeholder("c", {}, "DT_BOOL") + placeholder("x", {2, 8}) + weight("w", {8, 8}) +
         node("y", "StatelessIf", {"c", "x", "w"},
              attr("then_branch", func("yes")) + attr("else_branch", func("no"))) +
         kIfLibrary;
}

TEST_CASE("If: costs its larger branch, or the branch that the user chooses") {
  const auto both = import_text(if_graph());
  INFO(both.status().message());
  REQUIRE(both.ok());
  CHECK(op_types(both->graph) == "If");
  CHECK(graph_totals(both->graph)->macs == 2 * 8 * 8);
  REQUIRE(both->report.notes.size() == 1);
  const auto no = import_text(if_graph(), {.branch = false});
  REQUIRE(no.ok());
  CHECK(graph_totals(no->graph)->macs == 0);
  CHECK(no->report.notes.empty());
}

TEST_CASE("Switch and Merge: follow the side that a constant chooses, else one of the two") {
  const std::string start = placeholder("x", {2, 8}) + weight("w", {8, 8});
  const std::string rest = node("s", "Switch", {"x", "c"}) + node("no", "Relu", {"s"}) +
                           node("yes", "MatMul", {"s:1", "w"}) + node("y", "Merge", {"no", "yes"});
  const std::string fixed =
      node("c", "Const", {},
           attr("value", "tensor { dtype: DT_BOOL tensor_shape { } bool_val: false }"));
  const auto known = import_text(start + fixed + rest);
  INFO(known.status().message());
  REQUIRE(known.ok());
  CHECK(op_types(known->graph) == "Relu Identity");
  CHECK(known->report.notes.empty());
  const std::string open = start + placeholder("c", {}, "DT_BOOL") + rest;
  const auto unknown = import_text(open);
  REQUIRE(unknown.ok());
  CHECK(unknown->report.notes.size() == 1);
  const auto given = import_text(open, {.branch = true});
  REQUIRE(given.ok());
  CHECK(op_types(given->graph) == "MatMul Identity");
}

TEST_CASE("SavedModel: signatures name inputs and outputs, and variables are weights") {
  const std::string variable =
      attr("dtype", "type: DT_FLOAT") + attr("shape", "shape { " + shape_text({8, 4}) + "}");
  const auto tensor_info = [](const std::string& kind, const std::string& key,
                              const std::string& name) {
    return fmt::format("{} {{ key: \"{}\" value {{ name: \"{}\" }} }} ", kind, key, name);
  };
  const auto signature = [&](const std::string& name, const std::string& output) {
    return fmt::format("signature_def {{ key: \"{}\" value {{ {}{} }} }} ", name,
                       tensor_info("inputs", "features", "serving_x:0"),
                       tensor_info("outputs", "scores", output));
  };
  const std::string text =
      "saved_model_schema_version: 1 meta_graphs { meta_info_def { tags: \"serve\" } "
      "graph_def { " +
      placeholder("serving_x", {-1, 8}) + node("v", "VarHandleOp", {}, variable) +
      node("read", "ReadVariableOp", {"v"}) + node("y", "MatMul", {"serving_x", "read"}) +
      node("z", "Relu", {"serving_x"}) + "} " + signature("serving_default", "y:0") +
      signature("other", "z:0") + "}";
  const auto import = [&](const std::string& name) {
    return import_tensorflow_bytes(text, TensorFlowFormat::kSavedModelText, {.batch = 3}, name);
  };
  const auto usual = import("");
  INFO(usual.status().message());
  REQUIRE(usual.ok());
  CHECK(usual->graph.tensor(usual->graph.inputs()[0]).name == "features");
  CHECK(usual->graph.tensor(usual->graph.outputs()[0]).name == "scores");
  CHECK(output_shape(usual->graph) == "3x4");
  CHECK(graph_totals(usual->graph)->parameters == 32);
  const auto other = import("other");
  REQUIRE(other.ok());
  CHECK(graph_totals(other->graph)->macs == 0);
  const auto wrong = import("othr");
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.status().message().find("did you mean 'other'?") != std::string::npos);
}

}  // namespace
}  // namespace dfsim
