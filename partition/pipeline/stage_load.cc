#include "partition/pipeline/stage_load.h"

namespace dfsim::inline partition {

StageLoads::StageLoads(const StageGraph& graph, const StageLimits& /*limits*/)
    : graph_(graph), touching_(graph.nodes.size()) {
  for (uint32_t r = 0; r < graph.results.size(); ++r) {
    const StageResult& result = graph.results[r];
    touching_[result.source].push_back(r);
    for (const uint32_t reader : result.readers) {
      if (touching_[reader].empty() || touching_[reader].back() != r) {
        touching_[reader].push_back(r);
      }
    }
  }
}

void StageLoads::add(const StageSet& set, uint32_t node, RunningLoad* load) const {
  const StageNode& added = graph_.nodes[node];
  load->compute += added.time;
  load->cpu += added.cpu_time;
  load->bytes += added.bytes;
  load->cpu_only += added.cpu_only ? 1 : 0;
  for (const uint32_t r : touching_[node]) {
    const StageResult& result = graph_.results[r];
    bool reader_before = false;   // some reader is in the set
    bool outside_before = false;  // some reader is not
    bool reader_after = false;
    bool outside_after = false;
    for (const uint32_t reader : result.readers) {
      const bool before = set.has(reader);
      reader_before = reader_before || before;
      outside_before = outside_before || !before;
      reader_after = reader_after || before || reader == node;
      outside_after = outside_after || !(before || reader == node);
    }
    const bool source_before = set.has(result.source);
    const bool source_after = source_before || result.source == node;
    load->in += result.cost * (static_cast<int>(!source_after && reader_after) -
                               static_cast<int>(!source_before && reader_before));
    load->out += result.cost * (static_cast<int>(source_after && outside_after) -
                                static_cast<int>(source_before && outside_before));
  }
}

}  // namespace dfsim::inline partition
