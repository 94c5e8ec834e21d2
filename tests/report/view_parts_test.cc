// The small pieces of text that views share, and views of advice, ranks, rooflines, plans and
// replays, of results made by hand.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json/json_tree.h"
#include "report/predictions/comparison_views.h"
#include "report/predictions/partitioning_views.h"
#include "report/predictions/prediction_views.h"
#include "report/recordings/advice_views.h"
#include "report/recordings/analysis_views.h"
#include "report/recordings/replay_views.h"
#include "report/rooflines/roofline_views.h"
#include "report/rooflines/trajectory_views.h"
#include "report/svg/roofline_svg.h"
#include "report/svg/svg.h"
#include "report/text_parts.h"
#include "report/trace/trace_file.h"
#include "tests/report/small_prediction.h"

namespace dfsim {
namespace {

using Catch::Contains;
using nlohmann::json;

TEST_CASE("text_parts: percentages and durations") {
  CHECK(percent_text(0.1234) == "12.3 %");
  CHECK(percent_text(0.0004) == "<0.1 %");
  CHECK(percent_text(0) == "0.0 %");
  CHECK(percent_number(0.12345) == "12.35");
  CHECK(duration_text(1.5) == "1.50 us");
  CHECK(duration_text(-3) == duration_text(0));
  CHECK(in_ms(2'500'000) == 2.5);
  CHECK(in_us(2'500) == 2.5);
  CHECK(ms_from_us(2'500) == 2.5);
}

TEST_CASE("svg: text is escaped and cut") {
  CHECK(svg_escaped("a<b>&\"c\"") == "a&lt;b&gt;&amp;&quot;c&quot;");
  CHECK(svg_escaped(std::string(500, 'x')).size() <= 120);
  CHECK(svg_text(1, 2.25, "<x>", "end") ==
        "<text x=\"1.0\" y=\"2.2\" text-anchor=\"end\">&lt;x&gt;</text>\n");
}

TEST_CASE("time_format: units by name, and by size where the file has units") {
  const auto format = [](std::string_view name, bool unitless) {
    const auto made = time_format(name, unitless);
    REQUIRE(made.ok());
    return made->text(1'500'000);
  };
  CHECK(format("auto", false) == "1.50 ms");
  CHECK(format("auto", true) == "1.5");
  CHECK(format("none", false) == "1.5");
  CHECK(format("us", false) == "1500");
  CHECK(time_format("ms", false)->unit == "ms");
  const auto unknown = time_format("s", false);
  REQUIRE_FALSE(unknown.ok());
  CHECK_THAT(unknown.status().message(), Contains("'s'") && Contains("none"));
}

TEST_CASE("summary_table: a row per policy with its worst ratio") {
  const std::string text = summary_table({{"heft", 1.25, 3, 1.0625, 4, {1, 1, 1, 1.5}}}, 4);
  CHECK_THAT(text, Contains("over 4 problems:"));
  CHECK_THAT(text, Contains("heft") && Contains("1.25") && Contains("1.062") && Contains("1.500"));
}

TEST_CASE("ops_text: a line per operator in order of start") {
  const std::string text = ops_text(small_prediction().prediction);
  CHECK(text.find("MatMul") < text.find("Relu"));
  CHECK_THAT(text, Contains("MatMul_op") && Contains("Relu_op"));
}

TEST_CASE("advice_text and advice_json: nothing where advice was not asked for") {
  AdviceList advice;
  CHECK(advice_text(advice, 14).empty());
  CHECK(advice_json(advice).text() == JsonTree(nullptr).text());
  advice.asked = true;
  advice.width_us = 5;
  CHECK_THAT(advice_text(advice, 14), Contains("none: no change brings more than 5.00 us"));
  advice.list = {{"fusion", "many small kernels", "fuse them", 100, 75}};
  const std::string text = advice_text(advice, 14);
  CHECK_THAT(text, Contains("many small kernels") && Contains("fuse them"));
  CHECK_THAT(text, Contains("75.0 us instead of 100 us, 25.0 % less (simulated)"));
  const json parsed = json::parse(advice_json(advice).text());
  CHECK(parsed["list"][0]["kind"] == "fusion");
  CHECK(parsed["list"][0]["gain"] == 0.25);
}

TEST_CASE("ranks_text: the rank or else the file, and '-' without collectives") {
  CHECK(ranks_text({}).empty());
  RankRow first;
  first.rank = 3;
  first.over_median = 0.105;
  first.collectives = 8;
  first.came_last = 2;
  RankRow second;
  second.path = "runs/other.json";
  const std::string text = ranks_text({first, second});
  CHECK_THAT(text, Contains("+10.5 %") && Contains("2/8"));
  CHECK_THAT(text, Contains("other.json") && !Contains("runs/"));
}

RooflineReport made_roofline() {
  RooflineReport roofline;
  roofline.model = "net";
  roofline.hardware = "box.yaml";
  roofline.device = "gpu0";
  roofline.device_model = "Toy";
  roofline.cost_model = "sol";
  roofline.batch = 4;
  roofline.roofs = {{DType::kFloat16, true, 2e12}, {DType::kFloat32, false, 1e12}};
  roofline.bytes_per_s = 1e11;
  RoofPoint point;
  point.name = "conv1";
  point.op_type = "Conv";
  point.flops = 1e9;
  point.bytes = 1e8;
  point.time_s = 2e-3;
  point.bound_s = 1e-3;
  point.roof_flops_per_s = 1e12;
  point.share = 1;
  point.source = CostSource::kPredicted;
  roofline.network = roofline.classes.emplace_back(point);
  roofline.ops = {point};
  return roofline;
}

std::vector<Trajectory> made_lines() {
  Trajectory line;
  line.name = "network";
  line.points = {made_roofline().network, made_roofline().network};
  TrajectoryStep step;
  step.from = 1;
  step.to = 8;
  step.dy = 1;
  step.reading = StepReading::kBetterReuse;
  line.steps = {step};
  return {line};
}

TEST_CASE("roofline_text: roofs, the network and the slowest operators") {
  const std::string text = roofline_text(made_roofline(), 1);
  CHECK_THAT(text, Contains("net on Toy (gpu0), batch 4"));
  CHECK_THAT(text, Contains("(matrix)") && Contains("conv1") && Contains("cost model sol"));
  CHECK_THAT(text, Contains("50.0 %"));
  CHECK_THAT(roofline_text(made_roofline(), 0), !Contains("conv1  Conv"));
}

TEST_CASE(
    "Roofline views: a time that is the bound itself, or a prior, shows no share of the roof") {
  for (const CostSource source : {CostSource::kBoundOnly, CostSource::kPrior}) {
    RooflineReport roofline = made_roofline();
    for (RoofPoint* point : {&roofline.network, &roofline.classes[0], &roofline.ops[0]}) {
      point->source = source;
    }
    const std::string text = roofline_text(roofline, 1);
    CHECK_THAT(text, !Contains("50.0 %") && !Contains("of its roof"));
    CHECK_THAT(text, Contains(std::string(cost_source_name(source)) + " times"));
    const json parsed = json::parse(roofline_json({roofline}, "", {}));
    CHECK(parsed["rooflines"][0]["ops"][0]["efficiency"].is_null());
  }
}

TEST_CASE("trajectories_text: reads each step and explains each reading once") {
  const std::string text = trajectories_text("batch", made_lines());
  CHECK_THAT(text, Contains("1 to 8") && Contains("2.00x"));
  CHECK_THAT(text, Contains(std::string(step_advice(StepReading::kBetterReuse))));
}

TEST_CASE("trajectories_text: names, times and what conversions take") {
  std::vector<Trajectory> lines = made_lines();
  Trajectory& line = lines.front();
  line.at = "threads 4";
  line.values = {"fp32", "int8"};
  line.points[1].time_s = 1e-3;
  line.points[1].conversion_s = 1e-4;
  line.steps[0].from_name = "fp32";
  line.steps[0].to_name = "int8";
  line.steps[0].same_work = true;
  line.steps[0].dt = -1;
  const std::string text = trajectories_text("precision", lines);
  CHECK_THAT(text, Contains("At threads 4:") && Contains("fp32 to int8"));
  CHECK_THAT(text, Contains("1.00 ms  2.00x"));
  CHECK_THAT(text, Contains("conversions of type or layout: fp32 0.0 %, int8 10.0 % of the time"));
  const json parsed = json::parse(roofline_json({made_roofline()}, "precision", lines));
  CHECK(parsed["trajectories"][0]["name"] == "network, threads 4");
  CHECK(parsed["trajectories"][0]["of"] == "network");
  CHECK(parsed["trajectories"][0]["steps"][0]["to"] == "int8");
  CHECK(parsed["trajectories"][0]["points"][1]["conversion_us"] == Approx(100));
}

TEST_CASE("roofline_svg: a sweep draws the compute roofs of all its points") {
  RooflineReport quantised = made_roofline();
  quantised.roofs = {{DType::kInt8, true, 4e12}};
  const std::string svg = roofline_svg({made_roofline(), quantised}, made_lines());
  CHECK_THAT(svg, Contains("int8 matrix") && Contains("float16 matrix") && Contains("float32"));
}

TEST_CASE("roofline_json: rooflines and lines") {
  const json parsed = json::parse(roofline_json({made_roofline()}, "batch", made_lines()));
  CHECK(parsed["schema"] == std::string(kRooflineSchema));
  CHECK(parsed["rooflines"].size() == 1);
}

TEST_CASE("roofline_svg: one drawing with the names of device and model") {
  const std::string svg = roofline_svg(made_roofline(), made_lines());
  CHECK_THAT(svg, Contains("<svg") && Contains("</svg>"));
  CHECK_THAT(svg, Contains("net on Toy, batch 4") && Contains("<polyline"));
}

Partitioning made_partitioning() {
  Partitioning partitioning;
  partitioning.model = "net";
  partitioning.hardware = "box";
  partitioning.runtime = "none";
  partitioning.cost_model = "sol";
  partitioning.collectives = "model";
  partitioning.batch = 8;
  partitioning.single.name = "one device";
  partitioning.single.devices = 1;
  partitioning.single.makespan_ns = 4'000'000;
  partitioning.single.speedup = 1;
  PlanOutcome plan = partitioning.single;
  plan.name = "dp";
  plan.devices = 2;
  plan.makespan_ns = 2'500'000;
  plan.speedup = 1.6;
  plan.efficiency = 0.8;
  plan.limit = "communication";
  plan.memory_bytes = 100;
  plan.resident.weights = 60;
  plan.capacity_bytes = 1000;
  PlanOutcome failed = plan;
  failed.name = "tp";
  failed.status = invalid_input("nothing can be split");
  partitioning.plans = {plan, failed};
  return partitioning;
}

TEST_CASE("partitioning_text: plans that worked in a table, the others with their reasons") {
  const std::string text = partitioning_text(made_partitioning());
  CHECK_THAT(text, Contains("net on box: batch 8; runtime none"));
  CHECK_THAT(text, Contains("2.50 ms") && Contains("1.60") && Contains("80%") && Contains("comm"));
  CHECK_THAT(text, Contains("tp: nothing can be split"));
  Partitioning full = made_partitioning();
  full.plans[0].memory_bytes = 2000;
  CHECK_THAT(partitioning_text(full), Contains("MEMORY") && Contains("'dp' comes nearest"));
  CHECK(partitioning_text(full).starts_with("DOES NOT FIT: no plan fits: 'dp' needs "));
  CHECK(json::parse(partitioning_json(full))["fits"] == false);
  CHECK(json::parse(partitioning_json(made_partitioning()))["fits"] == true);
}

TEST_CASE("partitioning_json: errors stand with their plan, the drawing where there is one") {
  json parsed = json::parse(partitioning_json(made_partitioning()));
  CHECK(parsed["schema"] == "dfsim.partition/1");
  CHECK(parsed["plans"][0]["time_ms"] == 2.5);
  CHECK(parsed["plans"][0]["activation_bytes"] == 40);
  CHECK(parsed["plans"][1]["error"] == "nothing can be split");
  CHECK_FALSE(parsed.contains("drawing"));
  parsed = json::parse(partitioning_json(made_partitioning(), "<svg/>"));
  CHECK(parsed["drawing"] == "<svg/>");
}

ReplayReport made_replay() {
  ReplayReport report;
  report.path = "runs/t.json";
  report.format = "kineto";
  report.pieces = 3;
  report.measured_ns = 1000;
  report.same.span_ns = 1010;
  report.run.span_ns = 505;
  report.interval = {500, 510};
  report.changes = {{"kernel=0.5", 2}};
  report.ops = {{"aten::mm", PieceSource::kScaled, 2, 800, 400}};
  return report;
}

TEST_CASE("replay_text: the error of the replay, each change and what it brings") {
  const std::string text = replay_text(made_replay(), 5);
  CHECK_THAT(text, Contains("t.json: kineto trace") && !Contains("runs/"));
  CHECK_THAT(text, Contains("(+1.00 %)") && Contains("kernel=0.5 (2 pieces)"));
  CHECK_THAT(text, Contains("2.00x the speed") && Contains("aten::mm") && Contains("0.50x"));
  CHECK_THAT(replay_text(made_replay(), 0), !Contains("aten::mm"));
}

TEST_CASE("replay_json: null for hardware as recorded, no timelines without traces") {
  const json parsed = json::parse(replay_json(made_replay(), nullptr, nullptr));
  CHECK(parsed["schema"] == std::string(kReplaySchema));
  CHECK(parsed["hardware"].is_null());
  CHECK(parsed["error"].get<double>() == Approx(0.01));
  CHECK(parsed["operators"][0]["replayed_us"] == 0.4);
  CHECK_FALSE(parsed.contains("timelines"));
}

TEST_CASE("trace recorders: none without a path") {
  CHECK_FALSE(static_cast<bool>(trace_recorder("")));
  CHECK_FALSE(static_cast<bool>(trace_folder_recorder("", false, false)));
  CHECK(static_cast<bool>(trace_recorder("t.json")));
  CHECK(static_cast<bool>(trace_folder_recorder("traces", true, true)));
}

}  // namespace
}  // namespace dfsim
