// TaskInputs: what each task reads, one after the other in memory. A graph keeps edges by producer;
// list schedulers ask for them by reader, and in large graphs each is then a cache miss or two.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graphs/ir/exec_graph.h"

namespace dfsim::inline schedulers {

class TaskInputs {
 public:
  struct Input {
    TaskId from;
    DataId data;
    Bytes bytes = 0;
  };

  // O(tasks + edges), 16 bytes per edge.
  explicit TaskInputs(const ExecGraph& graph) : offsets_(graph.task_count() + 1, 0) {
    for (size_t i = 0; i < graph.task_count(); ++i) {
      offsets_[i + 1] = offsets_[i] + static_cast<uint32_t>(graph.in_degree(TaskId(i)));
    }
    inputs_.resize(graph.edge_count());
    std::vector<uint32_t> cursor(offsets_.begin(), offsets_.end() - 1);
    for (const Edge& edge : graph.edges()) {
      inputs_[cursor[edge.to.index()]++] = {edge.from, edge.data, graph.edge_bytes(edge)};
    }
  }

  // Ascending by producer.
  std::span<const Input> of(TaskId task) const {
    const uint32_t begin = offsets_[task.index()];
    return {inputs_.data() + begin, offsets_[task.index() + 1] - begin};
  }
  // Asks the caches for them.
  void fetch(TaskId task) const { __builtin_prefetch(inputs_.data() + offsets_[task.index()]); }

 private:
  std::vector<uint32_t> offsets_;
  std::vector<Input> inputs_;
};

}  // namespace dfsim::inline schedulers
