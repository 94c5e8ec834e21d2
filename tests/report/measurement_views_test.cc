// Output of calibrate, train, evaluate and tune for hand-made results.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "report/measurements/calibration_views.h"
#include "report/measurements/collective_evaluation_views.h"
#include "report/measurements/command_tuning_views.h"
#include "report/measurements/evaluation_views.h"
#include "report/measurements/training_views.h"
#include "report/measurements/tuning_views.h"
#include "study/training/collective_evaluation.h"

namespace dfsim {
namespace {

using Catch::Contains;
using nlohmann::json;

Calibration made_calibration() {
  Calibration calibration;
  calibration.hardware = {"c/host-1t.yaml", "c/host.yaml"};
  calibration.model = "c/model";
  calibration.rows = 1234;
  calibration.held_out.n = 40;
  calibration.held_out.mape = 0.125;
  calibration.held_out.median = 0.07;
  calibration.networks.runs = 6;
  calibration.networks.networks = 3;
  calibration.networks.mean = 0.05;
  calibration.networks.worst = 0.11;
  return calibration;
}

TEST_CASE("calibration_text: names the files, the errors and the next commands") {
  const std::string text = calibration_text(made_calibration());
  CHECK_THAT(text, Contains("c/host-1t.yaml, c/host.yaml"));
  CHECK_THAT(text, Contains("trained on 1234 rows"));
  CHECK_THAT(text, Contains("12.5 % off on average, half of them less than 7.0 %"));
  CHECK_THAT(text, Contains("at most 11.0 % (6 runs of 3"));
  CHECK_THAT(text, Contains("are fitted to these runs"));
  CHECK_THAT(text, Contains("--runs c/runs.csv --hw c/host-1t.yaml --hw c/host.yaml"));
}

TEST_CASE("calibration_text: tells which errors are of a model without the other CPU") {
  Calibration calibration = made_calibration();
  calibration.like = "epyc-genoa";
  const std::string text = calibration_text(calibration);
  CHECK_THAT(text, Contains("1234 rows and those of epyc-genoa"));
  CHECK_THAT(text, Contains("held out, learned without epyc-genoa: 40 shapes"));
}

TEST_CASE("calibration_text: says what is not known and why") {
  Calibration calibration = made_calibration();
  calibration.held_out.n = 0;
  calibration.networks.runs = 0;
  calibration.not_fitted = "no runs";
  const std::string text = calibration_text(calibration);
  CHECK_THAT(text, Contains("not known: too few operators"));
  CHECK_THAT(text, Contains("networks: not known"));
  CHECK_THAT(text, Contains("a first guess: no runs"));
}

TEST_CASE("calibration_json: holds the same figures as the text") {
  Calibration calibration = made_calibration();
  json parsed = json::parse(calibration_json(calibration));
  CHECK(parsed["schema"] == "dfsim.calibrate/1");
  CHECK(parsed["hardware"].size() == 2);
  CHECK(parsed["rows"] == 1234);
  CHECK(parsed["held_out"]["mape"] == 0.125);
  CHECK(parsed["networks"]["worst_error"] == 0.11);
  CHECK(parsed["networks"]["intervals_fitted"] == true);
  CHECK(parsed["like"].is_null());
  calibration.like = "epyc-genoa";
  calibration.not_fitted = "no runs";
  parsed = json::parse(calibration_json(calibration));
  CHECK(parsed["like"] == "epyc-genoa");
  CHECK(parsed["networks"]["intervals_fitted"] == false);
}

TrainResult made_training() {
  TrainResult result;
  result.directory = "models/m";
  ModelManifest& manifest = result.report.manifest;
  manifest.name = "m";
  manifest.rows_used = 90;
  ModelPart trees;
  trees.op_class = OpClass::kConv;
  trees.kind = "dense";
  trees.timing = TimingKind::kKernelOnly;
  trees.rows = 80;
  trees.rounds = 12;
  trees.held_out.n = 10;
  trees.held_out.mape = 0.0321;
  trees.held_out.interval = 0.9;
  trees.importance = {{"flops", 0.6}, {"bytes", 0.2}, {"a", 0.1}, {"b", 0.06}, {"c", 0.04}};
  trees.drifts = {{"GPU", 3.0}};
  ModelPart median;
  median.op_class = OpClass::kMatMul;
  median.kind = "*";
  median.rows = 10;
  manifest.parts = {trees, median};
  result.report.part_seconds = {1.5, 0};
  result.report.seconds = 1.75;
  result.report.estimated_devices = {"Odd GPU"};
  for (int row = 1; row <= 7; ++row) {
    result.report.drops.add("p.csv", row, DropReason::kNegative, "time is -3 ns");
  }
  result.loaded.other_devices = 4;
  return result;
}

TEST_CASE("training_text: shows each part with its errors and strongest features") {
  const std::string text = training_text(made_training());
  CHECK_THAT(text, Contains("Model 'm' in models/m: 2 parts from 90 rows in 1.8 s"));
  CHECK_THAT(text, Contains("faster than half of their bound 7; of other devices or ops 4"));
  CHECK_THAT(text, Contains("conv dense") && Contains("kernel") && Contains("3.21"));
  CHECK_THAT(text, Contains("flops 60 %, bytes 20 %, a 10 %, b 6 %"));
  CHECK_THAT(text, !Contains("c 4 %"));
  CHECK_THAT(text, Contains("Device 'Odd GPU' has no hardware file"));
  CHECK_THAT(text, Contains("on GPU: times grew by 3.00 us"));
  CHECK_THAT(text, !Contains("keeps no rows"));
  TrainResult continued = made_training();
  continued.report.continued = true;
  CHECK_THAT(training_text(continued), Contains("keeps no rows"));
}

TEST_CASE("training_json: has every part and every feature") {
  const json parsed = json::parse(training_json(made_training()));
  CHECK(parsed["schema"] == "dfsim.train/1");
  CHECK(parsed["rows_impossible"] == 7);
  CHECK(parsed["rows_other_devices"] == 4);
  REQUIRE(parsed["parts"].size() == 2);
  CHECK(parsed["parts"][0]["importance"].size() == 5);
  CHECK(parsed["parts"][0]["held_out"]["mape"] == 0.0321);
  CHECK(parsed["parts"][1]["held_out"]["n"] == 0);
}

TEST_CASE("first_drops: shows five rows and counts the others") {
  CHECK(first_drops(DropReport()).empty());
  const std::string text = first_drops(made_training().report.drops);
  CHECK_THAT(text, Contains("  p.csv:1: negative: time is -3 ns\n"));
  CHECK_THAT(text, Contains("p.csv:5:") && !Contains("p.csv:6:") && Contains("and 2 more"));
}

Evaluation made_evaluation() {
  EvaluationGroup group;
  group.device = "GPU";
  group.op = "Conv";
  group.all.n = 5;
  group.all.coverage = 0.8;
  group.all.model.mape = 0.25;
  group.all.model.bias = -0.125;
  group.by_seen[static_cast<size_t>(Seen::kUnseenShape)] = group.all;
  Evaluation evaluation;
  evaluation.groups = {group};
  evaluation.overall = group;
  EvaluatedRow row;
  row.device = "GPU, big";
  row.op_type = "Conv";
  row.kind = "dense";
  row.output_elements = 64;
  row.measured_us = 2;
  row.predicted_us = 2.5;
  evaluation.rows = {row};
  return evaluation;
}

TEST_CASE("evaluation_text: leaves empty splits and empty networks out") {
  Evaluation evaluation = made_evaluation();
  const std::string text = evaluation_text(evaluation, false);
  CHECK_THAT(text, Contains("GPU") && Contains("all devices") && Contains("unseen-shape"));
  CHECK_THAT(text, Contains("25.00") && Contains("-12.50"));
  CHECK_THAT(text, !Contains("seen-device") && !Contains("of the totals"));
  CHECK_THAT(evaluation_text(evaluation, true), Contains("absolute error of the totals: 0.00 %"));
  evaluation.networks = {{"GPU", "net", 8, 2, 100, 110}};
  evaluation.drops.add("p.csv", 3, DropReason::kImpossible, "too fast");
  const std::string more = evaluation_text(evaluation, false);
  CHECK_THAT(more, Contains("net") && Contains("+10.00") && Contains("p.csv:3: impossible"));
}

TEST_CASE("evaluation_json: has groups, splits and networks") {
  Evaluation evaluation = made_evaluation();
  evaluation.networks = {{"GPU", "net", 8, 2, 100, 110}};
  const json parsed = json::parse(evaluation_json(evaluation, "m"));
  CHECK(parsed["schema"] == "dfsim.evaluate/1");
  CHECK(parsed["model"] == "m");
  REQUIRE(parsed["groups"].size() == 1);
  CHECK(parsed["groups"][0]["splits"].size() == 1);
  CHECK(parsed["groups"][0]["splits"]["unseen-shape"]["bias"] == -0.125);
  CHECK(parsed["networks"][0]["measured_ns"] == 100'000);
  CHECK(parsed["networks"][0]["error"].get<double>() == Approx(0.1));
}

TEST_CASE("evaluated_rows_csv: quotes fields that hold a comma") {
  CHECK(evaluated_rows_csv(made_evaluation()) ==
        "device,op_type,kind,output_elements,measured_us,predicted_us,split\n"
        "\"GPU, big\",Conv,dense,64,2.000,2.500,unseen-shape\n");
}

CommandTuneResult made_command_tuning() {
  CommandTuneResult result;
  result.space =
      *command_space({"run", "{batch}"}, {"batch=1,8", "threads=2", "processes=1", "MODE=,x"},
                     {{0, 0, 0}, {1, 1, 0}});
  const auto measured = [&result](size_t setting, std::vector<double> costs, std::string failure) {
    CommandMeasured& made = result.measured.emplace_back();
    made.setting = setting;
    made.costs = std::move(costs);
    made.failure = std::move(failure);
    made.cpu_share = 1.5;
  };
  measured(0, {8, 10}, "");
  measured(2, {4, 5}, "");
  measured(3, {}, "ended with code 7: no memory");
  result.measured[1].counters = {3e9, 2e9, std::nullopt};
  result.best = 1;
  result.noise = 0.05;
  result.search_runs = 5;
  result.comparison_runs = 6;
  result.warm_ups = 1;
  result.repeats = 4;
  result.ratio = 2;
  result.ratio_low = 1.9;
  result.ratio_high = 2.1;
  result.decided = true;
  result.no_counters = "no cache misses: why";
  result.unit = "s per sample";
  return result;
}

TEST_CASE("command_tuning_text: names the best, its ratio, the runs and what failed") {
  const std::string text = command_tuning_text(made_command_tuning());
  CHECK_THAT(text, Contains("default   placement free, batch 1, MODE unset\n"
                            "            9 s per sample (8 to 10, 2 runs)"));
  CHECK_THAT(text, Contains("2x the throughput (95 %: 1.9 to 2.1), run in turns"));
  CHECK_THAT(text, Contains("12 (5 search, 6 comparison, 1 warm-up)"));
  CHECK_THAT(text, Contains("settings x 4 runs for an exhaustive search"));
  CHECK_THAT(text, Contains("counters  no cache misses: why"));
  CHECK_THAT(text, Contains("MODE x: ended with code 7: no memory"));
  CHECK_THAT(text, Contains("1.50"));  // instructions per cycle
  CHECK_THAT(text, Contains("1 to 8   4.5  2.00x  faster"));
}

TEST_CASE("command_tuning_json: has numbers, null for what is missing") {
  const json result = json::parse(command_tuning_json(made_command_tuning()));
  CHECK(result["schema"] == "dfsim.tune-command/1");
  CHECK(result["best"]["batch"] == 8);
  CHECK(result["best"]["MODE"] == "");
  CHECK(result["settings"][1]["cache_misses"].is_null());
  CHECK(result["settings"][1]["instructions"] == 3e9);
  CHECK(result["settings"][2]["mean"].is_null());
  CHECK(result["settings"][2]["failure"] == "ended with code 7: no memory");
  CHECK(result["runs"]["exhaustive"] == 4 * 8);
  REQUIRE(result["trajectories"].size() == 1);
  CHECK(result["trajectories"][0]["knob"] == "batch");
  CHECK(result["trajectories"][0]["costs"] == json({9, 4.5}));
  CHECK(result["trajectories"][0]["steps"][0]["gain"] == 2);
}

TuneResult made_tuning() {
  TuneResult result;
  result.candidates = {
      {{2, 1, false, 3, 1}, 10, 1.0}, {{4, 1, false, 3, 1}, 5, 0.5}, {{1, 1, true, 2, 1}, 20, {}}};
  result.best = 1;
  result.measured = 2;
  result.default_time = {8, 7, 9, 30};
  result.best_time = {4, 3.5, 4.5, 31};
  result.ratio = 2;
  result.runtime_version = "1.2";
  return result;
}

TEST_CASE("tuning_text: lists measured settings, the fastest first") {
  const std::string text = tuning_text(made_tuning(), "net");
  CHECK_THAT(text, Contains("net with ONNX Runtime 1.2 on this machine: 2 of 3 settings measured"));
  CHECK_THAT(text, Contains("8 ms (80 %: 7 to 9, 30 runs)"));
  CHECK_THAT(text, Contains("2.00x the throughput"));
  const size_t table = text.find("Measured ");
  REQUIRE(table != std::string::npos);
  CHECK(text.find("intra 4", table) < text.find("intra 2", table));
  CHECK(text.find("intra 1,") == std::string::npos);
}

TEST_CASE("tuning views: a measured trajectory per knob") {
  TuneResult result = made_tuning();
  Trajectory line;
  line.name = "network";
  line.points.resize(2);
  for (RoofPoint& point : line.points) {
    point.flops = point.bytes = 1e9;
    point.time_s = 1e-3;
  }
  TrajectoryStep step;
  step.from_name = "nchw";
  step.to_name = "blocked";
  step.dt = -1;
  step.same_work = true;
  step.reading = StepReading::kFaster;
  line.values = {"nchw", "blocked"};
  line.steps = {step};
  result.lines = {{"layout", "threads 4, inter 1, batch 1", {line}, {"layout nchw: no roofs"}}};
  const std::string text = tuning_text(result, "net");
  CHECK_THAT(text, Contains("At threads 4, inter 1, batch 1, as measured:"));
  CHECK_THAT(text, Contains("nchw to blocked") && Contains("2.00x  faster"));
  CHECK_THAT(text, Contains("  left out: layout nchw: no roofs\n"));
  const json parsed = json::parse(tuning_json(result, "net"));
  CHECK(parsed["threads"].empty());
  CHECK(parsed["trajectories"][0]["swept"] == "layout");
  CHECK(parsed["trajectories"][0]["steps"][0]["gain"] == 2);
  CHECK(parsed["trajectories"][0]["steps"][0]["efficiency"].is_null());
  CHECK(parsed["left_out"][0]["setting"] == "layout nchw: no roofs");
}

TEST_CASE("tuning_json: writes null for what was not measured") {
  const json parsed = json::parse(tuning_json(made_tuning(), "net"));
  CHECK(parsed["schema"] == "dfsim.tune/1");
  CHECK(parsed["best"]["intra"] == 4);
  CHECK(parsed["settings"][1]["predicted"] == 0.5);
  CHECK(parsed["settings"][1]["measured"] == 0.5);
  CHECK(parsed["settings"][2]["measured"].is_null());
  CHECK(parsed["threads"].empty());
}

TEST_CASE("collective_evaluation_json: is JSON also when nothing was measured") {
  const json parsed = json::parse(collective_evaluation_json(CollectiveEvaluation()));
  CHECK(parsed.is_object());
  CHECK(parsed["schema"].get<std::string>().starts_with("dfsim.evaluate-collectives/"));
}

}  // namespace
}  // namespace dfsim
