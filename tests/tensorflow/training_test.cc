// Training steps: functions that change the variables which they capture, in SavedModels and as
// graphs of traced functions; loops over steps.
#include <catch2/catch.hpp>

#include "graphs/passes/cleanup/prune.h"
#include "tests/tensorflow/text_graph.h"

namespace dfsim {
namespace {

// loss = sum(x w), w -= rate x^T dy; returns the loss alone.
const std::string kStep =
    function("step", {"x", "dy", "w"}, {"loss"},
             node("read", "ReadVariableOp", {"w"}, attr("dtype", "type: DT_FLOAT")) +
                 node("y", "MatMul", {"x", "read:value:0"}) + ints("axes", {0, 1}) +
                 node("loss", "Sum", {"y:product:0", "axes:output:0"}) +
                 node("dw", "MatMul", {"x", "dy"}, attr("transpose_a", "b: true")) +
                 node("rate", "Const", {},
                      attr("value", "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 0.1 }")) +
                 node("update", "ResourceApplyGradientDescent",
                      {"w", "rate:output:0", "dw:product:0"}, attr("T", "type: DT_FLOAT")),
             ret("loss", "loss:output:0") + "control_ret { key: \"update\" value: \"update\" } ");

const std::string kVariable =
    attr("dtype", "type: DT_FLOAT") + attr("shape", "shape { " + shape_text({8, 4}) + "}");
const std::string kData = placeholder("x", {2, 8}) + placeholder("dy", {2, 4});
constexpr int64_t kProductMacs = 2 * 8 * 4;

std::string call(const std::string& handle) {
  return node("call", "StatefulPartitionedCall", {"x", "dy", handle}, attr("f", func("step")));
}

// MACs of what a runtime executes: of what leads to results.
int64_t executed_macs(const ImportedModel& model) {
  const auto pruned = prune(model.graph);
  REQUIRE(pruned.ok());
  return graph_totals(pruned->graph)->macs;
}

TEST_CASE("a SavedModel's training step: updates are results although only the loss is returned") {
  const std::string text =
      "saved_model_schema_version: 1 meta_graphs { graph_def { " + kData +
      node("v", "VarHandleOp", {}, kVariable) + call("v") + "library { " + kStep +
      "} } signature_def { key: \"train\" value { inputs { key: \"x\" value { name: \"x:0\" } } "
      "inputs { key: \"dy\" value { name: \"dy:0\" } } "
      "outputs { key: \"loss\" value { name: \"call:0\" } } } } }";
  const auto model = import_tensorflow_bytes(text, TensorFlowFormat::kSavedModelText, {}, "train");
  INFO(model.status().message());
  REQUIRE(model.ok());
  CHECK(model->report.unresolved.empty());
  CHECK(model->report.notes.empty());
  REQUIRE(model->graph.outputs().size() == 2);
  CHECK(model->graph.tensor(model->graph.outputs()[0]).name == "loss");
  CHECK(output_shape(model->graph, 1) == "8x4");
  CHECK(executed_macs(*model) == 2 * kProductMacs);
}

TEST_CASE("a traced function's graph: captured variables are weights of the shape that is read") {
  const std::string handle = node("captured", "Placeholder", {},
                                  attr("dtype", "type: DT_RESOURCE") + attr("shape", "shape { }"));
  const std::string library = "library { " + kStep + "}\n";
  const auto open = import_text(kData + handle + call("captured") + library);
  INFO(open.status().message());
  REQUIRE(open.ok());
  REQUIRE(open->report.notes.size() == 1);
  CHECK(open->report.notes[0].find("--input-shape captured=") != std::string::npos);
  CHECK_FALSE(open->report.unresolved.empty());

  const auto given = import_text(kData + handle + call("captured") + library,
                                 {.input_shapes = {{"captured", {8, 4}}}});
  INFO(given.status().message());
  REQUIRE(given.ok());
  CHECK(given->report.notes.empty());
  CHECK(given->report.unresolved.empty());
  CHECK(given->graph.inputs().size() == 2);
  CHECK(graph_totals(given->graph)->parameters == 32);
  CHECK(executed_macs(*given) == 2 * kProductMacs);

  // The shape is there when the graph was written with add_shapes=True.
  const std::string read =
      node("read", "ReadVariableOp", {"captured"},
           attr("dtype", "type: DT_FLOAT") +
               attr("_output_shapes", "list { shape { " + shape_text({8, 4}) + "} }"));
  const auto declared = import_text(kData + handle + read + node("y", "MatMul", {"x", "read"}) +
                                    call("captured") + library);
  INFO(declared.status().message());
  REQUIRE(declared.ok());
  CHECK(declared->report.notes.empty());
  CHECK(declared->report.unresolved.empty());
  CHECK(executed_macs(*declared) == 3 * kProductMacs);
}

TEST_CASE("resources that are no variables ask for no shape") {
  const std::string iterator =
      node("iterator", "Placeholder", {},
           attr("dtype", "type: DT_RESOURCE") + attr("shape", "shape { }"));
  const auto model =
      import_text(iterator +
                  node("next", "IteratorGetNext", {"iterator"},
                       attr("output_types", "list { type: DT_FLOAT }") +
                           attr("output_shapes", "list { shape { " + shape_text({2, 8}) + "} }")) +
                  node("y", "Relu", {"next"}));
  INFO(model.status().message());
  REQUIRE(model.ok());
  CHECK(model->report.notes.empty());
  CHECK(model->report.unresolved.empty());
  CHECK(output_shape(model->graph) == "2x8");
}

TEST_CASE("assignments are results when they hang on inputs, not when they initialise") {
  const std::string start = kData + node("v", "VarHandleOp", {}, kVariable);
  const std::string trained =
      node("dw", "MatMul", {"x", "dy"}, attr("transpose_a", "b: true")) +
      node("set", "AssignVariableOp", {"v", "dw"}, attr("dtype", "type: DT_FLOAT"));
  const auto model = import_text(start + trained);
  INFO(model.status().message());
  REQUIRE(model.ok());
  CHECK(executed_macs(*model) == kProductMacs);
  const auto initial = import_text(
      start + ints("shape", {8, 4}) +
      node("random", "RandomUniform", {"shape"}, attr("dtype", "type: DT_FLOAT")) +
      node("set", "AssignVariableOp", {"v", "random"}, attr("dtype", "type: DT_FLOAT")) +
      node("y", "Relu", {"x"}));
  INFO(initial.status().message());
  REQUIRE(initial.ok());
  CHECK(op_types(initial->graph).find("Random") == std::string::npos);
}

TEST_CASE("what is computed from weights alone runs every time when weights are trained") {
  const std::string decay =
      kData + node("v", "VarHandleOp", {}, kVariable) +
      node("w", "ReadVariableOp", {"v"}, attr("dtype", "type: DT_FLOAT")) +
      node("shrunk", "Mul", {"w", "rate"}) +
      node("rate", "Const", {},
           attr("value", "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 0.1 }"));
  const auto training = import_text(decay + node("set", "AssignSubVariableOp", {"v", "shrunk"}));
  INFO(training.status().message());
  REQUIRE(training.ok());
  CHECK(prune(training->graph)->graph.op_count() >= 2);
  const auto inference = import_text(decay + node("y", "MatMul", {"x", "shrunk"}));
  REQUIRE(inference.ok());
  CHECK(op_types(prune(inference->graph)->graph) == "MatMul");
}

TEST_CASE("a loop over training steps has the work of its updates") {
  const std::string library =
      "library { " + kStep +
      function("more", {"i", "x", "dy", "v"}, {"go"},
               integer("three", 3) + node("go", "Less", {"i", "three:output:0"}),
               ret("go", "go:z:0")) +
      function(
          "one", {"i", "x", "dy", "v"}, {"i2", "x2", "dy2", "v2"},
          integer("unit", 1) + node("next", "AddV2", {"i", "unit:output:0"}) +
              node("call", "StatefulPartitionedCall", {"x", "dy", "v"}, attr("f", func("step"))),
          ret("i2", "next:z:0") + ret("x2", "x") + ret("dy2", "dy") + ret("v2", "v") +
              "control_ret { key: \"call\" value: \"call\" } ") +
      "}\n";
  const auto model =
      import_text(integer("zero", 0) + kData + node("v", "VarHandleOp", {}, kVariable) +
                  node("loop", "While", {"zero", "x", "dy", "v"},
                       attr("cond", func("more")) + attr("body", func("one"))) +
                  library);
  INFO(model.status().message());
  REQUIRE(model.ok());
  CHECK(model->report.unresolved.empty());
  // The loss is nobody's: the product of the weight's gradient remains.
  CHECK(graph_totals(model->graph)->macs == 3 * kProductMacs);
}

}  // namespace
}  // namespace dfsim
