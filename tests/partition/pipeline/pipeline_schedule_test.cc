// Orders of pipeline schedules, by hand.
#include "partition/pipeline/pipeline_schedule.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>
#include <string>

namespace dfsim {
namespace {

// "F0 F1 B0 B1"; with chunks "F0.1" is micro-batch 0 in chunk 1.
std::string text(const PipelineShape& shape, uint32_t group) {
  std::string out;
  for (const PipelineStep& step : pipeline_steps(shape, group)) {
    out +=
        fmt::format("{}{}{}", out.empty() ? "" : " ", step.backward ? "B" : "F", step.micro_batch);
    out += shape.chunks > 1 ? fmt::format(".{}", step.chunk) : "";
  }
  return out;
}

TEST_CASE("inference takes micro-batches in order") {
  CHECK(text({PipelineSchedule::kGpipe, 2, 1, 3, false}, 1) == "F0 F1 F2");
  CHECK(text({PipelineSchedule::k1f1b, 2, 1, 3, false}, 0) == "F0 F1 F2");
}

TEST_CASE("GPipe runs all forward passes first, 1F1B as few as fill the pipeline") {
  CHECK(text({PipelineSchedule::kGpipe, 2, 1, 3, true}, 0) == "F0 F1 F2 B0 B1 B2");
  const PipelineShape shape{PipelineSchedule::k1f1b, 3, 1, 4, true};
  CHECK(text(shape, 0) == "F0 F1 F2 B0 F3 B1 B2 B3");
  CHECK(text(shape, 1) == "F0 F1 B0 F2 B1 F3 B2 B3");
  CHECK(text(shape, 2) == "F0 B0 F1 B1 F2 B2 F3 B3");
}

TEST_CASE("interleaved: groups of micro-batches through one chunk, then the next") {
  CHECK(text({PipelineSchedule::kInterleaved, 2, 2, 4, false}, 0) ==
        "F0.0 F1.0 F0.1 F1.1 F2.0 F3.0 F2.1 F3.1");
  const PipelineShape shape{PipelineSchedule::kInterleaved, 2, 2, 4, true};
  // Group 1 runs (2 - 1 - 1) * 2 + 2 ahead, as Megatron does.
  CHECK(text(shape, 1) ==
        "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 F2.1 B2.1 F3.1 B3.1 B2.0 B3.0");
}

TEST_CASE("every step comes once, forward before backward") {
  for (const auto schedule :
       {PipelineSchedule::kGpipe, PipelineSchedule::k1f1b, PipelineSchedule::kInterleaved}) {
    for (uint32_t groups = 1; groups <= 4; ++groups) {
      const uint32_t chunks = schedule == PipelineSchedule::kInterleaved ? 3 : 1;
      const PipelineShape shape{schedule, groups, chunks, groups * 3, true};
      REQUIRE(check_pipeline(shape).ok());
      for (uint32_t group = 0; group < groups; ++group) {
        std::set<std::tuple<uint32_t, uint32_t, bool>> seen;
        for (const PipelineStep& step : pipeline_steps(shape, group)) {
          CHECK(seen.insert({step.chunk, step.micro_batch, step.backward}).second);
          if (step.backward) {
            CHECK(seen.count({step.chunk, step.micro_batch, false}) == 1);
          }
        }
        CHECK(seen.size() == size_t{2} * chunks * shape.micro_batches);
      }
    }
  }
}

TEST_CASE("what a schedule cannot do is refused") {
  CHECK_FALSE(check_pipeline({PipelineSchedule::k1f1b, 2, 2, 4, false}).ok());
  CHECK_FALSE(check_pipeline({PipelineSchedule::kInterleaved, 2, 2, 3, false}).ok());
  CHECK_FALSE(check_pipeline({PipelineSchedule::kGpipe, 0, 1, 3, false}).ok());
  CHECK(pipeline_schedule_of("1f1p").status().message().find("did you mean '1f1b'") !=
        std::string::npos);
}

}  // namespace
}  // namespace dfsim
