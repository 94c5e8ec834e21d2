// A simulated language-model server as a trace for Perfetto or chrome://tracing.
//
// Each replica is a process: its engine's steps are slices (decode, prefill, or both, with their
// sequences, tokens and times by kernel class), and running sequences, waiting requests and blocks
// of cache in use are counters. The requests are a process of their own: queue, prefill and decode
// of each, in as many lanes as there are requests at a time.
//
// The file is written as the simulation runs. Steps that ran in one go are one slice that says how
// many they are; EngineOptions::fast_forward off gives each step a slice of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "serving/engine/replica.h"

namespace dfsim::inline report {

class ServingTrace : public ReplicaListener {
 public:
  // Perfetto's own format where the name ends in .pftrace or .perfetto-trace (with or without .gz),
  // else JSON of the Trace Event Format. `replicas` are names, by index. Errors (kFailed): the file
  // cannot be written.
  static StatusOr<std::unique_ptr<ServingTrace>> open(const std::string& path,
                                                      const std::vector<std::string>& replicas);
  // After the run. Errors (kFailed), also of what was written before: the disk is full and the
  // like. Without it nothing is left behind.
  virtual Status close() = 0;
};

}  // namespace dfsim::inline report
