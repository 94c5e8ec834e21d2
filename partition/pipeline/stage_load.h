// Loads of sets of nodes that grow node by node, for the splitters of stage_split.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "partition/pipeline/stage_graph.h"

namespace dfsim::inline partition {

// A set of nodes as bits.
class StageSet {
 public:
  explicit StageSet(size_t nodes) : words_((nodes + 63) / 64, 0) {}
  bool has(uint32_t node) const { return (words_[node / 64] >> (node % 64) & 1) != 0; }
  void insert(uint32_t node) { words_[node / 64] |= uint64_t{1} << (node % 64); }
  // This set without those of `other`.
  StageSet minus(const StageSet& other) const {
    StageSet result = *this;
    for (size_t w = 0; w < words_.size(); ++w) {
      result.words_[w] &= ~other.words_[w];
    }
    return result;
  }
  const std::vector<uint64_t>& words() const { return words_; }
  bool operator==(const StageSet&) const = default;

 private:
  std::vector<uint64_t> words_;
};

struct RunningLoad {
  double compute = 0;
  double cpu = 0;
  double bytes = 0;
  double in = 0;
  double out = 0;
  uint32_t cpu_only = 0;  // nodes that no accelerator can run

  double total(bool overlap) const {
    return overlap ? std::max({compute, in, out}) : compute + in + out;
  }
};

class StageLoads {
 public:
  // References outlive it.
  StageLoads(const StageGraph& graph, const StageLimits& limits);

  // Adds `node`, which is not in `set` yet, to the load of the set. O(readers of what it touches).
  void add(const StageSet& set, uint32_t node, RunningLoad* load) const;

 private:
  const StageGraph& graph_;
  std::vector<std::vector<uint32_t>> touching_;  // by node: results that it makes or reads
};

}  // namespace dfsim::inline partition
