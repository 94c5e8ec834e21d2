// Trajectories of settings measured by hand, under the roofs of a CPU that ships.
#include "study/tuning/tune_lines.h"

#include <algorithm>

#include "tests/study/study_inputs.h"

using namespace dfsim;
using namespace dfsim::testing;

namespace {

TuneCandidate measured(const TuneSetting& setting, double relative) {
  TuneCandidate candidate;
  candidate.setting = setting;
  candidate.predicted = 1;
  candidate.measured = relative;
  return candidate;
}

std::vector<TuneCandidate> made_candidates() {
  std::vector<TuneCandidate> candidates = {
      measured({.intra = 2}, 1),
      measured({.intra = 1}, 1.8),
      measured({.intra = 2, .inter = 2}, 2),
      measured({.intra = 2, .pinned = true}, 1.01),
      measured({.intra = 2, .level = 2}, 1.3),
      measured({.intra = 2, .level = 0}, 1.5),
  };
  TuneCandidate unknown;
  unknown.setting = {.intra = 2, .batch = 4};
  candidates.push_back(unknown);
  return candidates;
}

const TuneLine& named(const std::vector<TuneLine>& lines, const std::string& swept) {
  const auto line = std::ranges::find(lines, swept, &TuneLine::swept);
  INFO(swept);
  REQUIRE(line != lines.end());
  return *line;
}

}  // namespace

TEST_CASE("tune_lines: a line for each knob in which measured settings differ alone") {
  RooflineSource source;
  source.model = zoo_model("mobilenet_v2");
  source.hardware = "epyc-genoa";
  const std::vector<TuneLine> lines = tune_lines(source, made_candidates(), 0, 10);
  REQUIRE(lines.size() == 4);
  const TrajectoryStep threads = named(lines, "threads").lines.front().steps.front();
  CHECK(threads.from == 1);
  CHECK(threads.to == 2);
  CHECK(threads.gain() == Approx(1.8));
  CHECK(named(lines, "threads").at == "inter 1, batch 1");
  const TrajectoryStep inter = named(lines, "inter").lines.front().steps.front();
  CHECK(inter.gain() == Approx(0.5));
  CHECK(inter.reading == StepReading::kSlower);
  const TrajectoryStep pinned = named(lines, "pinning").lines.front().steps.front();
  CHECK(pinned.to_name == "pinned");
  CHECK(pinned.reading == StepReading::kNoDifference);
  const Trajectory& layout = named(lines, "layout").lines.front();
  CHECK(layout.values == std::vector<std::string>{"nchw", "blocked"});
  CHECK(layout.steps.front().gain() == Approx(1.3));
  CHECK(layout.points.front().time_s == Approx(13e-3));
  CHECK(layout.points.front().source == CostSource::kMeasured);
}

TEST_CASE("tune_lines: batches share their time per sample") {
  RooflineSource source;
  source.model = zoo_model("mobilenet_v2");
  source.model.batch = 1;
  source.hardware = "epyc-genoa";
  const std::vector<TuneLine> lines = tune_lines(
      source, {measured({.intra = 2}, 1), measured({.intra = 2, .batch = 4}, 0.8)}, 1, 10);
  REQUIRE(lines.size() == 1);
  const Trajectory& line = named(lines, "batch").lines.front();
  // 10 ms, and four samples at 8 ms.
  CHECK(line.points[1].time_s == Approx(32e-3));
  CHECK(line.steps.front().gain() == Approx(1.25));
}

TEST_CASE("tune_lines: a setting without roofs is named, with the reason") {
  RooflineSource source;
  source.model = zoo_model("mobilenet_v2");
  source.hardware = "nosuch";
  const std::vector<TuneLine> lines =
      tune_lines(source, {measured({.intra = 2}, 1), measured({.intra = 1}, 1.8)}, 0, 10);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].swept == "threads");
  CHECK(lines[0].lines.empty());
  REQUIRE(lines[0].left_out.size() == 2);
  CHECK(lines[0].left_out[0].starts_with("threads 1: "));
  CHECK(lines[0].left_out[0].find("nosuch") != std::string::npos);
}
