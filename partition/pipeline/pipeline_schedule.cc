// Writes the order of passes of one stage: warm-up, steady state, drain. Interleaved schedules
// count passes over all chunks and map the count back to micro-batch and chunk.
#include "partition/pipeline/pipeline_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"

namespace dfsim::inline partition {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"gpipe", "1f1b", "interleaved"};

// Forward passes before the first backward pass.
uint32_t warm_up(const PipelineShape& shape, uint32_t group) {
  const uint32_t all = shape.micro_batches * shape.chunks;
  const uint32_t behind = shape.groups - group - 1;
  switch (shape.schedule) {
    case PipelineSchedule::kGpipe:
      return all;
    case PipelineSchedule::k1f1b:
      return std::min(all, behind);
    case PipelineSchedule::kInterleaved:
      // With as many micro-batches as groups nothing can overlap: all run ahead.
      return shape.micro_batches == shape.groups
                 ? all
                 : std::min(all, 2 * behind + (shape.chunks - 1) * shape.groups);
  }
  return all;
}

// The k-th pass of a group: `groups` micro-batches through one chunk, then through the next.
PipelineStep pass(const PipelineShape& shape, uint32_t k, bool backward) {
  const uint32_t round = shape.groups * shape.chunks;
  if (shape.chunks == 1) {
    return {0, k, backward};
  }
  const uint32_t chunk = k % round / shape.groups;
  return {backward ? shape.chunks - 1 - chunk : chunk, k / round * shape.groups + k % shape.groups,
          backward};
}

}  // namespace

std::string_view pipeline_schedule_name(PipelineSchedule schedule) {
  return kNames[static_cast<size_t>(schedule)];
}

StatusOr<PipelineSchedule> pipeline_schedule_of(const std::string& name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) {
    return invalid_input(unknown_name_message(
        "pipeline schedule", name,
        {std::string(kNames[0]), std::string(kNames[1]), std::string(kNames[2])}));
  }
  return static_cast<PipelineSchedule>(found - kNames.begin());
}

Status check_pipeline(const PipelineShape& shape) {
  if (shape.groups < 1 || shape.chunks < 1 || shape.micro_batches < 1) {
    return invalid_input("pipeline: stages and micro-batches must be 1 or more");
  }
  if (shape.chunks > 1 && shape.schedule != PipelineSchedule::kInterleaved) {
    return invalid_input(fmt::format(
        "pipeline: {} chunks per device under the schedule {}; only interleaved has several",
        shape.chunks, pipeline_schedule_name(shape.schedule)));
  }
  if (shape.chunks > 1 && shape.micro_batches % shape.groups != 0) {
    return invalid_input(fmt::format(
        "pipeline: {} micro-batches do not divide by {} stages, which interleaving needs; choose "
        "a multiple of {}",
        shape.micro_batches, shape.groups, shape.groups));
  }
  return ok_status();
}

std::vector<PipelineStep> pipeline_steps(const PipelineShape& shape, uint32_t group) {
  const uint32_t all = shape.micro_batches * shape.chunks;
  const uint32_t ahead = shape.training ? warm_up(shape, group) : all;
  std::vector<PipelineStep> steps;
  steps.reserve(size_t{all} * 2);
  for (uint32_t k = 0; k < ahead; ++k) {
    steps.push_back(pass(shape, k, false));
  }
  for (uint32_t k = 0; shape.training && k < all; ++k) {
    if (ahead + k < all) {
      steps.push_back(pass(shape, ahead + k, false));
    }
    steps.push_back(pass(shape, k, true));
  }
  return steps;
}

}  // namespace dfsim::inline partition
