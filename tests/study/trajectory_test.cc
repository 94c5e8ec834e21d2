// Readings of steps between ways to do the same work, by hand.
#include "study/roofline/trajectory.h"

#include <catch2/catch.hpp>

using namespace dfsim;

namespace {

RooflineReport at_time(double time_s, double bytes, CostSource source = CostSource::kPredicted) {
  RooflineReport roofline;
  roofline.network.flops = 1e9;
  roofline.network.bytes = bytes;
  roofline.network.time_s = time_s;
  roofline.network.source = source;
  roofline.roofs = {{DType::kUnknown, false, 1e13}};
  roofline.bytes_per_s = 1e12;
  return roofline;
}

TrajectoryStep step_between(const RooflineReport& a, const RooflineReport& b) {
  const auto lines =
      make_trajectories({a, b}, {.numbers = {}, .names = {"fp32", "fp16"}}, SweepKind::kChoice);
  REQUIRE(lines.size() == 1);
  REQUIRE(lines.front().steps.size() == 1);
  return lines.front().steps.front();
}

}  // namespace

TEST_CASE("Trajectories: a choice is read by its time and its bytes") {
  const RooflineReport before = at_time(4e-3, 1e8);
  CHECK(step_between(before, at_time(2e-3, 5e7)).reading == StepReading::kFewerBytes);
  CHECK(step_between(before, at_time(2e-3, 1e8)).reading == StepReading::kFaster);
  CHECK(step_between(before, at_time(4.1e-3, 5e7)).reading == StepReading::kNoDifference);
  CHECK(step_between(before, at_time(8e-3, 1e8)).reading == StepReading::kSlower);
  CHECK(step_between(before, at_time(2e-3, 5e7, CostSource::kPrior)).reading ==
        StepReading::kPrior);
  CHECK(step_between(before, at_time(2e-3, 5e7, CostSource::kBoundOnly)).reading ==
        StepReading::kBoundOnly);
}

TEST_CASE("Trajectories: the gain of a choice is that of the time, whatever its FLOPs") {
  RooflineReport quantised = at_time(2e-3, 5e7);
  quantised.network.flops = 4e9;  // its own operators added some
  const TrajectoryStep step = step_between(at_time(4e-3, 1e8), quantised);
  CHECK(step.gain() == Approx(2));
  CHECK(step.dy == Approx(3));  // log2 of eight times the rate
  CHECK(step.dx == Approx(3));
  CHECK(step.from_name == "fp32");
  CHECK(step.to_name == "fp16");
  CHECK(step.efficiency == 0);
}

TEST_CASE("Trajectories: numbers keep their values, and the gain is that of the rate") {
  RooflineReport twice = at_time(4e-3, 1e8);
  twice.network.flops = 2e9;
  const auto lines =
      make_trajectories({at_time(4e-3, 1e8), twice}, {.numbers = {1, 2}, .names = {}});
  const TrajectoryStep& step = lines.front().steps.front();
  CHECK(step.gain() == Approx(2));
  CHECK(step.efficiency == Approx(1));
  CHECK(lines.front().values == std::vector<std::string>{"1", "2"});
  CHECK(step.to_name.empty());
}
