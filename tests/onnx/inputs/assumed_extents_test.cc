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
