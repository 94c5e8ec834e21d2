// Dimensions without a number, as the importer binds them in whole models.
#include <catch2/catch.hpp>
#include <string>

#include "tests/onnx/model_maker.h"

namespace dfsim {
namespace {

// A window of 256 samples does not fit the usual 128 positions of a sequence.
TEST_CASE("Assumed extents: others are tried where the usual ones contradict the model") {
  ModelMaker model;
  model.input("x", {"batch", 1, "sequence"});
  model.weight("w", {2, 1, 256});
  model.node("Conv", {"x", "w"}, {"y"});
  model.output("y");
  const auto result = model.import({});
  REQUIRE(result.ok());
  CHECK(shape_of(result->graph, "y") == "1x2x257");
  REQUIRE(result->report.notes.size() == 1);
  CHECK(result->report.notes[0].find("batch=1, sequence=512 is assumed") != std::string::npos);
  const auto given = model.import({.dims = {{"sequence", 128}}});
  CHECK_FALSE(given.ok());
}

// Adds the first rows of a table of positions to a sequence, as the text encoders of CLIP (77
// positions), SigLIP (64) and OWL-ViT (16) do.
StatusOr<ImportedModel> import_with_positions(int64_t positions,
                                              const ImportOptions& options = {}) {
  ModelMaker model;
  model.input("ids", {"batch", "sequence"}, onnx::TensorProto::INT64);
  model.weight("tokens", {100, 8});
  model.weight("table", {1, positions, 8});
  model.node("Gather", {"tokens", "ids"}, {"embedded"});
  model.node("Shape", {"ids"}, {"shape"});
  model.ints("one", {1});
  model.ints("zero", {0});
  model.node("Gather", {"shape", "one"}, {"length"});
  model.node("Slice", {"table", "zero", "length", "one"}, {"first"});
  model.node("Add", {"embedded", "first"}, {"y"});
  model.output("y");
  return model.import(options);
}

TEST_CASE("Assumed extents: a sequence is as long as the table of positions allows") {
  CHECK(shape_of(import_with_positions(512)->graph, "y") == "1x128x8");
  CHECK(shape_of(import_with_positions(128)->graph, "y") == "1x128x8");
  CHECK(shape_of(import_with_positions(77)->graph, "y") == "1x77x8");
  CHECK(shape_of(import_with_positions(64)->graph, "y") == "1x64x8");
  CHECK(shape_of(import_with_positions(40)->graph, "y") == "1x32x8");
  CHECK(shape_of(import_with_positions(16)->graph, "y") == "1x16x8");
  CHECK(shape_of(import_with_positions(8)->graph, "y") == "1x1x8");
  const auto result = import_with_positions(77);
  REQUIRE(result->report.notes.size() == 1);
  CHECK(result->report.notes[0].find("batch=1, sequence=77 is assumed") != std::string::npos);
  CHECK_FALSE(import_with_positions(77, {.dims = {{"sequence", 128}}}).ok());
}

// "other" must be 1; "length" may be anything.
TEST_CASE("Assumed extents: only the dimension that must be 1 is assumed to be") {
  ModelMaker model;
  model.input("x", {"batch", "length", 8});
  model.input("y", {"batch", "other", 8});
  model.weight("w", {1, 5, 8});
  model.node("Add", {"y", "w"}, {"sum"});
  model.node("Relu", {"x"}, {"r"});
  model.output("r");
  model.output("sum");
  const auto result = model.import({});
  REQUIRE(result.ok());
  CHECK(shape_of(result->graph, "r") == "1x128x8");
  CHECK(shape_of(result->graph, "sum") == "1x5x8");
}

TEST_CASE("Assumed extents: a second batch name in one input is not a batch") {
  ModelMaker model;
  model.input("waveforms", {"batch_size", "N"});
  model.node("Relu", {"waveforms"}, {"y"});
  model.output("y");
  const auto result = model.import({.batch = 3});
  REQUIRE(result.ok());
  CHECK(shape_of(result->graph, "y") == "3x16000");
}

}  // namespace
}  // namespace dfsim
