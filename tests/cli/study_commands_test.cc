// Commands called as functions, as the Python package does.
#include "cli/study_commands.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/io/captured_output.h"
#include "cli/option_parser.h"
#include "cli/progress.h"
#include "report/predictions/prediction_views.h"

namespace dfsim::cli {
namespace {

const std::string kResnet = DFSIM_SOURCE_DIR "/graphs/zoo/resnet18.onnx";

// Runs the arguments with a program of one command.
Status run(CommandSpec command, std::vector<const char*> arguments) {
  CommandSpec program = {.name = "dfsim", .summary = ""};
  program.commands.push_back(std::move(command));
  arguments.insert(arguments.begin(), "dfsim");
  const ParsedCommandLine parsed =
      parse_command_line(program, static_cast<int>(arguments.size()), arguments.data());
  REQUIRE(parsed.command != nullptr);
  return parsed.command->run({});
}

TEST_CASE("predict_command_with: gives the prediction that the command prints") {
  std::optional<Prediction> taken;
  PredictHooks hooks;
  hooks.take = [&](Prediction prediction) { taken = std::move(prediction); };
  CapturedOutput nothing;
  REQUIRE(run(predict_command_with(hooks), {"predict", kResnet.c_str(), "--hw", "a100"}).ok());
  CHECK(nothing.text().empty());
  REQUIRE(taken.has_value());
  CapturedOutput printed;
  REQUIRE(
      run(predict_command_with({}), {"predict", kResnet.c_str(), "--hw", "a100", "--json"}).ok());
  CHECK(printed.text() == prediction_json(*taken));
}

TEST_CASE("sweep_command_with: gives the table and prints nothing") {
  size_t points = 0;
  SweepHooks hooks;
  hooks.take = [&](const SweepResult& result, const SweepReport&) {
    points = result.points.size();
  };
  CapturedOutput nothing;
  REQUIRE(run(sweep_command_with(hooks),
              {"sweep", "--models", kResnet.c_str(), "--hw", "a100,t4", "--batch", "1,2"})
              .ok());
  CHECK(points == 4);
  CHECK(nothing.text().empty());
}

TEST_CASE("sweep_command_with: fails where the command line does, and gives the table") {
  size_t points = 0;
  SweepHooks hooks;
  hooks.take = [&](const SweepResult& result, const SweepReport&) {
    points = result.points.size();
  };
  const Status failed =
      run(sweep_command_with(hooks), {"sweep", "--models", "no.onnx", "--hw", "a100"});
  CHECK(failed.code() == StatusCode::kFailed);
  CHECK(failed.message().starts_with("all points failed; the first: no.onnx"));
  CHECK(points == 1);

  const std::string unknown = DFSIM_SOURCE_DIR "/tests/golden/data/partly_unknown.onnx";
  points = 0;
  CHECK(run(sweep_command_with(hooks), {"sweep", "--models", unknown.c_str(), "--hw", "l4"})
            .message()
            .ends_with("accept them with --allow-incomplete"));
  CHECK(points == 1);
  CHECK(run(sweep_command_with(hooks),
            {"sweep", "--models", unknown.c_str(), "--hw", "l4", "--allow-incomplete"})
            .ok());
}

TEST_CASE("ForwardedProgress: learns of the steps and ends the work") {
  std::vector<std::string> steps;
  Progress progress;
  progress.on_stage = [&](const std::string& step) {
    steps.push_back(step);
    return steps.size() < 2 ? ok_status() : failed("enough");
  };
  const ForwardedProgress forwarded(progress);
  const CapturedOutput captured;
  const Status status = run(predict_command_with({}), {"predict", kResnet.c_str(), "--hw", "a100"});
  CHECK(status.message() == "enough");
  REQUIRE(steps.size() == 2);
  CHECK(steps[0] == "importing " + kResnet);
}

}  // namespace
}  // namespace dfsim::cli
