// Plan files: a partitioning as readable YAML, written by `dfsim partition -o` or by hand.
//
// The schema is in docs/reference/partitioning.md. Only `mesh` is required; operators and tensors
// are named by patterns, in which * stands for any characters. Reading is strict: unknown keys are
// errors (kInvalidInput) with file, line and column.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "partition/pipeline/pipeline_schedule.h"
#include "partition/sharding/device_mesh.h"

namespace dfsim::inline partition {

// Names or patterns, and which mesh axes cut each dimension of those tensors.
struct TensorRule {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> cut;  // by dimension
};

// Names or patterns, and which mesh axes split which factor of those operators.
struct OpRule {
  std::vector<std::string> names;
  std::vector<std::pair<std::string, std::vector<std::string>>> split;  // by factor's label
};

// The devices of one stage of a pipeline.
struct StageRule {
  std::vector<std::vector<std::string>> replicas;  // device names, by replica and rank
};

// A part of one operator that another device does (partition/plans/uneven_split.h).
struct UnevenRule {
  std::string name;
  std::string factor;
  std::string device;
  int64_t extent = 0;
};

struct PlanFile {
  std::string file;  // where it was read from, for messages
  std::string model;
  std::string hardware;
  std::string strategy;
  int64_t batch = 0;  // 0 = as the model has it
  uint32_t micro_batches = 1;
  PipelineSchedule schedule = PipelineSchedule::k1f1b;
  uint32_t chunks = 1;  // per device
  std::vector<MeshAxis> mesh;
  std::vector<StageRule> stages;  // empty = one stage on the first devices
  // By stage but the last: the operators that it ends with. Whatever they depend on belongs to it
  // or to an earlier one. Empty = stages are found anew.
  std::vector<std::vector<std::string>> until;
  bool propagate = true;  // false: what the rules do not name stays whole
  std::vector<TensorRule> tensors;
  std::vector<OpRule> ops;
  std::vector<UnevenRule> uneven;
};

StatusOr<PlanFile> parse_plan(std::string_view text, const std::string& file);
// Reads and parses. Error: kNotFound.
StatusOr<PlanFile> load_plan(const std::string& path);
// parse_plan() of it gives the same.
std::string plan_yaml(const PlanFile& plan);

}  // namespace dfsim::inline partition
