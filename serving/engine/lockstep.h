// Data-parallel ranks of one replica: engines with batches of their own that run in lockstep.
//
// Attention is replicated, each rank with its own sequences, but the experts are spread over all
// GPUs: in each layer every rank's tokens go to all experts and come back. So all ranks begin a
// step together, it lasts as long as the slowest needs, and the experts compute the tokens of all.
// A rank without work takes part with an empty batch. vLLM (data_parallel_size), TensorRT-LLM
// (enable_attention_dp) and SGLang (enable_dp_attention) run this way.
//
// When no rank has a prompt, the ranks run the CUDA graph of the fullest one, so the experts get as
// many rows from each of them.
#pragma once

#include <vector>

#include "base/status.h"
#include "serving/engine/replica.h"

namespace dfsim::inline serving {

// One engine on its own, or the ranks of a replica. Steps of an engine on its own are Replica's.
class LockstepGroup {
 public:
  // `pipeline` (null without one) outlives the group.
  explicit LockstepGroup(PipelineEntry* pipeline) : pipeline_(pipeline) {}
  void add(Replica* rank) { ranks_.push_back(rank); }
  // As those of Replica. O(ranks).
  TimeNs next_action() const;
  Status advance(TimeNs horizon);

 private:
  Status begin();
  Status end(TimeNs horizon);

  PipelineEntry* pipeline_;
  std::vector<Replica*> ranks_;
  bool in_step_ = false;
  TimeNs start_ns_ = 0;
  TimeNs end_ns_ = 0;
};

}  // namespace dfsim::inline serving
