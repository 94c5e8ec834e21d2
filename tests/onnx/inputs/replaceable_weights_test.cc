// Initializers that are inputs, too: callers may replace them, so ONNX Runtime leaves them alone.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "graphs/passes/cleanup/prune.h"
#include "graphs/passes/pipeline.h"
#include "tests/onnx/model_maker.h"

namespace dfsim {
namespace {

// A convolution of 16 channels and a batch normalisation, whose parameters are listed as inputs.
ModelMaker listed_weights(int64_t ir_version) {
  ModelMaker model;
  model.model().set_ir_version(ir_version);
  model.input("x", {1, 16, 8, 8});
  model.input("w", {16, 16, 3, 3});
  model.weight("w", {16, 16, 3, 3});
  for (const char* name : {"scale", "bias", "mean", "variance"}) {
    model.weight(name, {16});
  }
  model.node("Conv", {"x", "w"}, {"y"});
  model.node("BatchNormalization", {"y", "scale", "bias", "mean", "variance"}, {"z"});
  model.output("z");
  return model;
}

const std::vector<std::string> kBlocked = {"ReorderInput", "Conv", "ReorderOutput"};

std::vector<std::string> executed(const Graph& graph, bool keep_replaceable) {
  auto pruned = prune(graph, {}, {.for_onnxruntime = keep_replaceable});
  REQUIRE(pruned.ok());
  auto rewritten = run_passes(pruned->graph, {{"conv-fold"}, {"nchwc-8"}});
  REQUIRE(rewritten.ok());
  std::vector<std::string> types;
  for (size_t i = 0; i < rewritten->graph.op_count(); ++i) {
    types.push_back(rewritten->graph.op(OpId(i)).op_type);
  }
  return types;
}

TEST_CASE(
    "Replaceable weights: a runtime that lets callers replace them folds and blocks nothing") {
  const auto model = listed_weights(7).import();
  REQUIRE(model.ok());
  CHECK(model->graph.tensor(find_tensor(model->graph, "w")).is_replaceable);
  CHECK_FALSE(model->graph.tensor(find_tensor(model->graph, "scale")).is_replaceable);
  REQUIRE(model->report.notes.size() == 1);
  CHECK(model->report.notes[0].find("weights that are inputs, too (1)") != std::string::npos);
  CHECK(executed(model->graph, true) == std::vector<std::string>{"Conv", "BatchNormalization"});
  CHECK(executed(model->graph, false) == kBlocked);
}

TEST_CASE("Replaceable weights: before version 4 of the format every initializer is constant") {
  const auto model = listed_weights(3).import();
  REQUIRE(model.ok());
  CHECK_FALSE(model->graph.tensor(find_tensor(model->graph, "w")).is_replaceable);
  CHECK(model->report.notes.empty());
  CHECK(executed(model->graph, true) == kBlocked);
}

}  // namespace
}  // namespace dfsim
