// Partitioner: the plans that the command line asks for, each compiled, simulated and measured.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "cli/model_source.h"
#include "cli/progress.h"
#include "cli/training_source.h"
#include "report/partitioning.h"

namespace dfsim::cli {

// The command line of dfsim partition.
struct PartitionOptions {
  ModelOptions model;
  std::string hardware;
  std::string runtime;
  std::string cost_model;
  std::string strategy = "auto";
  size_t devices = 0;
  uint32_t micro_batches = 0;
  std::string schedule = "1f1b";
  uint32_t chunks = 2;
  std::string collectives = "model";
  TrainingChoice training;
  double bucket_mb = 25;
  int64_t nodes = 0;
  bool every_device = false;
  bool json = false;
  std::string output;
  std::string trace;
  std::string svg;
  std::string html;
};

// The plans of a strategy, or a plan file, ranked. References outlive the call. Errors: those of
// the model, the platform and of plans that were asked for alone; others are outcomes.
class Partitioner {
 public:
  Partitioner(const PartitionOptions& options, const Platform& platform, const CostModel& model);
  ~Partitioner();

  StatusOr<Partitioning> run(Progress& progress);
  // The best plan again, for its trace, its drawing and its report.
  Status draw(const Partitioning& partitioning);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dfsim::cli
