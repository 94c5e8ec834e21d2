// A config.json as a model of the commands on graphs.
#include "graphs/llm/llm_import.h"

#include <catch2/catch.hpp>
#include <string>

#include "graphs/llm/llm_graph.h"
#include "graphs/ops/totals.h"
#include "tests/llm/configs.h"

namespace dfsim {
namespace {

const std::string kExample = std::string(DFSIM_SOURCE_DIR) + "/examples/llm/qwen3-8b.json";

int64_t macs_of(const Graph& graph) {
  const auto totals = graph_totals(graph);
  REQUIRE(totals.ok());
  return totals->macs;
}

TEST_CASE("Config import: recognises files, folders and the prefix") {
  CHECK(is_llm_config(kExample));
  CHECK(is_llm_config("hf:anything"));
  CHECK(is_llm_config("no/such/config.JSON"));
  CHECK_FALSE(is_llm_config("model.onnx"));
  CHECK_FALSE(is_llm_config(DFSIM_SOURCE_DIR));
}

TEST_CASE("Config import: the graph has the tokens that were given, and says which were assumed") {
  const auto assumed = import_llm_config("hf:" + kExample, {}, DType::kBFloat16);
  INFO(assumed.status().message());
  REQUIRE(assumed.ok());
  REQUIRE(assumed->report.dims.size() == 3);
  CHECK(assumed->report.dims[1].name == "sequence_length");
  CHECK(assumed->report.dims[1].extent == 128);
  CHECK(assumed->report.dims[1].origin == "assumed");

  const auto decode = import_llm_config(
      kExample, {.batch = 4, .dims = {{"sequence_length", 1}, {"past_sequence_length", 99}}},
      DType::kFloat32);
  REQUIRE(decode.ok());
  CHECK(decode->report.batch == 4);
  CHECK(decode->report.dims[2].extent == 99);
  CHECK(decode->report.dims[2].origin == "given");
  const auto config = read_llm_config(kExample);
  REQUIRE(config.ok());
  const auto built = build_llm_graph(
      *config, {.batch = 4, .new_tokens = 1, .context_tokens = 99, .dtype = DType::kFloat32});
  REQUIRE(built.ok());
  CHECK(macs_of(decode->graph) == macs_of(*built));
}

TEST_CASE("Config import: a note says that the encoder of images is left out") {
  const std::string path = std::string(DFSIM_SOURCE_DIR) + "/tests/golden/data/llava.json";
  const auto model = import_llm_config(path, {}, DType::kBFloat16);
  INFO(model.status().message());
  REQUIRE(model.ok());
  REQUIRE(model->report.notes.size() == 1);
  CHECK(model->report.notes[0].find("vision tower") != std::string::npos);
}

TEST_CASE("Config import: options that it lacks are refused in one line") {
  const auto refused = [](const std::string& path, const ImportOptions& options) {
    const auto model = import_llm_config(path, options, DType::kBFloat16);
    REQUIRE_FALSE(model.ok());
    CHECK(model.status().message().find('\n') == std::string::npos);
    return model.status().message();
  };
  CHECK(refused(kExample, {.dims = {{"sequence_lenght", 3}}}).find("sequence_length") !=
        std::string::npos);
  CHECK(refused(kExample, {.input_shapes = {{"ids", {1, 2}}}}).find("--input-shape") !=
        std::string::npos);
  CHECK(refused(kExample, {.dims = {{"sequence_length", 0}}}).find("at least 1") !=
        std::string::npos);
  CHECK(refused(kExample, {.dims = {{"past_sequence_length", 1'000'000}}}).find("positions") !=
        std::string::npos);
  CHECK(refused(kExample, {.batch = 2, .dims = {{"batch_size", 4}}}).find("--batch is 2") !=
        std::string::npos);
  CHECK(
      import_llm_config(kExample, {.batch = 4, .dims = {{"batch_size", 4}}}, DType::kFloat32).ok());
  CHECK(refused("no/such/config.json", {}).find("no/such/config.json") != std::string::npos);
}

}  // namespace
}  // namespace dfsim
