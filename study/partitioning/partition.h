// Partition: a model over the devices of a machine by each plan of a strategy, or by a plan file;
// every plan is compiled, simulated and measured.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "study/chain/model_source.h"
#include "study/chain/run_recorder.h"
#include "study/chain/training_choice.h"
#include "study/partitioning/partitioning.h"
#include "study/progress.h"

namespace dfsim::inline study {

struct PartitionOptions {
  ModelOptions model;
  std::string hardware;               // file or name
  std::string runtime;                // file or name; "" = what the hardware file names
  std::string cost_model;             // folder or name; "" = what each device names
  std::string strategy = "auto";      // a name, or the path of a plan file
  size_t devices = 0;                 // 0 = all
  uint32_t micro_batches = 0;         // 0 = as the strategy chooses
  std::string schedule;               // of pipelines; "" = 1f1b
  uint32_t chunks = 0;                // per device, of the interleaved schedule; 0 = 2
  std::string collectives = "model";  // or flow: as messages on the links
  TrainingChoice training;
  double bucket_mb = 25;      // of gradients that are exchanged together
  int64_t nodes = 0;          // over 0: that many of the file's nodes
  bool every_device = false;  // simulate devices that do the same one by one
};

// The plan of a partitioning that was run once more, and the graph that it cuts.
struct RunOfPlan {
  const Graph& graph;  // valid as long as the Partitioner
  PlanRun run;
};

// Keeps what it imported between calls. Errors of create(): those of the hardware and the cost
// model; of run(): those of the model and of plans that were asked for alone (others are outcomes),
// Progress's.
class Partitioner {
 public:
  static StatusOr<std::unique_ptr<Partitioner>> create(const PartitionOptions& options);
  ~Partitioner();

  // Once.
  StatusOr<Partitioning> run(const Progress& progress = {});
  // Runs an outcome of run() again, for its trace or a drawing of it.
  StatusOr<RunOfPlan> run_again(const Partitioning& partitioning, const PlanOutcome& plan,
                                const MakeRecorder& record = {});

 private:
  class Impl;
  explicit Partitioner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Both in one, for callers that only want the ranking.
StatusOr<Partitioning> partition_model(const PartitionOptions& options,
                                       const Progress& progress = {});

}  // namespace dfsim::inline study
