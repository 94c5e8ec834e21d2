// Lines of settings that differ in one knob, of costs made by hand.
#include "study/tuning/knob_lines.h"

#include <catch2/catch.hpp>

using namespace dfsim;

namespace {

// Threads 1, 2 and 4; modes a and b.
CommandTuneResult made_result() {
  CommandTuneResult result;
  result.space.knobs = {{"threads", {"1", "2", "4"}, true}, {"MODE", {"a", "b"}, false}};
  result.space.settings = {{0, 0}, {1, 0}, {2, 0}, {1, 1}};
  const auto add = [&result](size_t setting, const std::vector<double>& costs) {
    CommandMeasured measured;
    measured.setting = setting;
    measured.costs = costs;
    result.measured.push_back(std::move(measured));
  };
  add(0, {4.0, 4.0});
  add(2, {1.9});
  add(1, {2.0, 2.0});
  add(3, {1.0});
  result.best = 3;
  result.noise = 0.05;
  return result;
}

}  // namespace

TEST_CASE("one_knob_group: takes the most values, then the group of the best") {
  const std::vector<KnobPlaces> settings = {{0, 0}, {2, 0}, {1, 0}, {1, 1}, {0, 1}};
  CHECK(one_knob_group(settings, 0, 3) == std::vector<size_t>{0, 2, 1});
  CHECK(one_knob_group(settings, 1, 3) == std::vector<size_t>{2, 3});
  CHECK(one_knob_group(settings, 1, 4) == std::vector<size_t>{0, 4});
  CHECK(one_knob_group({{0, 0}, {1, 1}}, 0, 0).empty());
}

TEST_CASE("knob_lines: gains that stand out of the noise are read") {
  const std::vector<KnobLine> lines = knob_lines(made_result());
  REQUIRE(lines.size() == 2);
  const KnobLine& threads = lines[0];
  CHECK(threads.knob == "threads");
  CHECK(threads.at == "MODE a");
  CHECK(threads.values == std::vector<std::string>{"1", "2", "4"});
  REQUIRE(threads.steps.size() == 2);
  CHECK(threads.steps[0].gain == Approx(2));
  CHECK(threads.steps[0].reading == StepReading::kFaster);
  // 5 % of gain, and a standard error of 0.05 x sqrt(1 + 1/2) = 6 %.
  CHECK(threads.steps[1].gain == Approx(2.0 / 1.9));
  CHECK(threads.steps[1].reading == StepReading::kNoDifference);
  CHECK(lines[1].knob == "MODE");
  CHECK(lines[1].steps[0].reading == StepReading::kFaster);
  CHECK(lines[1].steps[0].gain == Approx(2));
}

TEST_CASE("knob_lines: leaves out settings that fail") {
  CommandTuneResult result = made_result();
  result.measured[3].costs.clear();
  result.measured[3].failure = "exit 1";
  result.best = 1;
  const std::vector<KnobLine> lines = knob_lines(result);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].knob == "threads");
}
