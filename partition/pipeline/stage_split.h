// Stages of a pipeline: a graph cut into runs so that the slowest stage is as fast as can be.
//
// The load of a stage is the time of its nodes and of its communication: each result that it needs
// from another stage or sends to one, once. split_contiguous() cuts one topological order (the
// order of indices) and is exact for it; split_downsets() tries every order, through the downsets
// of the graph, as long as there are not too many of them.
// Papers: PipeDream (Narayanan et al. 2019, doi:10.1145/3341301.3359646), replication included;
// Tarnawski et al. 2020 (NeurIPS, arXiv:2006.16423), downsets.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "partition/pipeline/stage_graph.h"

namespace dfsim::inline partition {

struct StageSplit {
  double max_load = 0;
  std::vector<uint32_t> stage_of;  // by node; stages in the order of the pipeline
  std::vector<uint32_t> replicas;  // by stage
  std::vector<bool> on_cpu;        // by stage
  bool exact = true;               // no better split of its kind exists
};

// The load of a set of nodes under these limits, on an accelerator. O(nodes + readers).
double stage_load(const StageGraph& graph, const StageLimits& limits,
                  const std::vector<bool>& members);

// At most `devices` stages (cpus are not used). Cuts only at some places, chosen for little
// communication, when there are more than 256; `exact` says so. Errors: kInvalidInput (edges that
// descend, no device), kFailed (a node, or all of them, that do not fit into the memory).
// O(places * (nodes + readers) + places^2 * devices^2).
StatusOr<StageSplit> split_contiguous(const StageGraph& graph, const StageLimits& limits);

// As above over all topological orders, without replication. Error also: kUnsupported when the
// graph has more than `max_downsets`. O(pairs of nested downsets * devices * cpus).
StatusOr<StageSplit> split_downsets(const StageGraph& graph, const StageLimits& limits,
                                    size_t max_downsets);

}  // namespace dfsim::inline partition
