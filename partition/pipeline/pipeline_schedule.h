// Pipeline schedules: in which order the devices of a stage work on micro-batches.
//
// GPipe: all forward passes, then all backward passes. 1F1B: as few forward passes ahead as keep
// the pipeline full, then one forward and one backward in turn: the same time, less memory.
// Interleaved: each group of devices has several chunks of the model, so that the pipeline fills in
// a fraction of the time. In inference the first two are the same.
// Papers: Huang et al. 2019 (arXiv:1811.06965); Narayanan et al. 2019
// (doi:10.1145/3341301.3359646); Narayanan et al. 2021 (arXiv:2104.04473).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace dfsim::inline partition {

enum class PipelineSchedule : uint8_t { kGpipe, k1f1b, kInterleaved };
std::string_view pipeline_schedule_name(PipelineSchedule schedule);
// Error (kInvalidInput): unknown name, with the valid ones.
StatusOr<PipelineSchedule> pipeline_schedule_of(const std::string& name);

struct PipelineStep {
  uint32_t chunk = 0;  // of the group: its stage is chunk * groups + group
  uint32_t micro_batch = 0;
  bool backward = false;
};

struct PipelineShape {
  PipelineSchedule schedule = PipelineSchedule::k1f1b;
  uint32_t groups = 1;  // of devices; stages are groups * chunks
  uint32_t chunks = 1;  // more than 1 only when interleaved
  uint32_t micro_batches = 1;
  bool training = false;  // with backward passes
};

// Error (kInvalidInput): several chunks without interleaving, or interleaved micro-batches that are
// no multiple of the groups.
Status check_pipeline(const PipelineShape& shape);

// All steps of a group, each once, in the order in which they are done. O(steps).
std::vector<PipelineStep> pipeline_steps(const PipelineShape& shape, uint32_t group);

}  // namespace dfsim::inline partition
