// Graph inputs of ONNX files: what the user feeds, and weights that the file leaves out.
#include <catch2/catch.hpp>

#include "graphs/ops/totals.h"
#include "tests/onnx/model_maker.h"

namespace dfsim {
namespace {

// Keys and values of a cache, a bias of attention and a factor, next to a projection.
TEST_CASE("ONNX import: inputs of files that hold weights are fed, whatever they look like") {
  ModelMaker model;
  model.input("x", {2, 8});
  model.input("text_embeds", {16, 4});
  model.input("attn_bias", {2, 16});
  model.input("guidance_scale", {1});
  model.weight("w", {8, 4});
  model.node("MatMul", {"x", "w"}, {"projected"});
  model.node("Transpose", {"text_embeds"}, {"columns"});
  model.node("MatMul", {"projected", "columns"}, {"similar"});
  model.node("Add", {"similar", "attn_bias"}, {"biased"});
  model.node("Mul", {"biased", "guidance_scale"}, {"y"});
  model.output("y");
  const auto imported = model.import();
  REQUIRE(imported.ok());
  CHECK(imported->graph.inputs().size() == 4);
  const auto totals = graph_totals(imported->graph);
  REQUIRE(totals.ok());
  CHECK(totals->parameters == 32);
}

TEST_CASE("ONNX import: keys and values of several heads are fed, with or without weights") {
  ModelMaker model;
  model.input("q", {2, 4, 8, 16});
  model.input("k", {2, 4, 16, 8});
  model.input("v", {2, 4, 8, 16});
  model.node("MatMul", {"q", "k"}, {"scores"});
  model.node("MatMul", {"scores", "v"}, {"y"});
  model.output("y");
  const auto imported = model.import();
  REQUIRE(imported.ok());
  CHECK(imported->graph.inputs().size() == 3);
}

}  // namespace
}  // namespace dfsim
