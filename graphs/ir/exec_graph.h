// ExecGraph: what the simulator executes and schedulers place: tasks and the data between them.
//
// A DL graph becomes one by lowering (one task per executed op); a task-graph file becomes one
// directly. Structure of arrays, dense ids, CSR adjacency: built for millions of tasks.
// A data item is produced once and may be read by many tasks; it is sent to a device at most once.
// Invariants: task ids are a topological order (each predecessor has a smaller id); edges of a task
// are ascending by the other end; bytes are not negative.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/units.h"

namespace dfsim::inline graphs {

// One dependency of a task on a data item of another (or on a pure ordering, with 0 bytes).
struct Edge {
  TaskId from;
  TaskId to;
  DataId data;
};

class ExecGraph {
 public:
  size_t task_count() const { return cost_row_.size(); }
  size_t data_count() const { return data_bytes_.size(); }
  size_t edge_count() const { return edges_.size(); }

  // Edges leaving a task: consecutive in the edge array, ascending by target.
  std::span<const Edge> out_edges(TaskId task) const {
    const uint32_t begin = out_offsets_[task.index()];
    return {edges_.data() + begin, out_offsets_[task.index() + 1] - begin};
  }
  // Indices into edges() of a task's incoming edges, ascending by source.
  std::span<const uint32_t> in_edge_indices(TaskId task) const {
    const uint32_t begin = in_offsets_[task.index()];
    return {in_edges_.data() + begin, in_offsets_[task.index() + 1] - begin};
  }
  std::span<const Edge> edges() const { return edges_; }
  size_t in_degree(TaskId task) const { return in_edge_indices(task).size(); }
  size_t out_degree(TaskId task) const { return out_edges(task).size(); }

  Bytes data_bytes(DataId data) const { return data_bytes_[data.index()]; }
  Bytes edge_bytes(const Edge& edge) const { return data_bytes(edge.data); }
  TaskId data_producer(DataId data) const { return data_producer_[data.index()]; }
  // Whether some data item has two readers. O(1): every run asks, and the edges of a large graph
  // take long to fetch.
  bool has_shared_data() const { return has_shared_data_; }
  // The data stays alive until the end of the run (graph outputs).
  bool data_is_output(DataId data) const { return data_is_output_[data.index()] != 0; }

  // Row of the cost table: tasks with equal work share one.
  uint32_t cost_row(TaskId task) const { return cost_row_[task.index()]; }
  // Bytes that must be resident on the device that runs the task (weights), and scratch space while
  // it runs.
  Bytes resident_bytes(TaskId task) const { return resident_bytes_[task.index()]; }
  Bytes workspace_bytes(TaskId task) const { return workspace_bytes_[task.index()]; }
  // Memory that the task touches while it runs: scratch space, inputs, and each output once.
  Bytes working_set_bytes(TaskId task) const;
  // The op of the DL graph this task executes, or none.
  OpId op(TaskId task) const { return ops_.empty() ? OpId() : ops_[task.index()]; }
  // A name for people: the file's, or "t17" when there is none.
  std::string name(TaskId task) const;

 private:
  friend class ExecGraphBuilder;

  std::vector<uint32_t> out_offsets_;
  std::vector<Edge> edges_;
  std::vector<uint32_t> in_offsets_;
  std::vector<uint32_t> in_edges_;
  std::vector<Bytes> data_bytes_;
  std::vector<TaskId> data_producer_;
  std::vector<uint8_t> data_is_output_;
  std::vector<uint32_t> cost_row_;
  std::vector<Bytes> resident_bytes_;
  std::vector<Bytes> workspace_bytes_;
  std::vector<OpId> ops_;
  std::vector<std::string> names_;
  bool has_shared_data_ = false;
};

// Collects tasks, data and edges in any order. build() sorts topologically (stable by insertion
// order) and validates. O(tasks + edges).
class ExecGraphBuilder {
 public:
  struct Task {
    uint32_t cost_row = 0;
    Bytes resident_bytes = 0;
    Bytes workspace_bytes = 0;
    OpId op;
    std::string name;
  };

  void reserve(size_t tasks, size_t edges);
  TaskId add_task(Task task);
  DataId add_data(TaskId producer, Bytes bytes, bool is_output = false);
  // `to` reads `data`. A second edge of the same data to the same task is ignored at build().
  void add_edge(DataId data, TaskId to);
  size_t task_count() const { return tasks_.size(); }

  // Errors (kInvalidInput): a cycle (names up to five of its tasks), an end that does not exist,
  // negative bytes. `order`, when given, receives for each new id the insertion index.
  StatusOr<ExecGraph> build(std::vector<uint32_t>* order = nullptr);

 private:
  // The steps of build(). Tasks are numbered by insertion until `new_id` gives them their ids.
  Status check_data() const;
  Status join_edges();  // sets Edge::from
  StatusOr<std::vector<uint32_t>> sorted_tasks() const;
  Status cycle_error(const std::vector<uint32_t>& pending, size_t behind) const;
  void move_data(const std::vector<uint32_t>& new_id, ExecGraph* graph);
  void move_edges(const std::vector<uint32_t>& new_id, ExecGraph* graph);
  void move_tasks(const std::vector<uint32_t>& sorted, ExecGraph* graph);

  std::vector<Task> tasks_;
  std::vector<TaskId> data_producer_;
  std::vector<Bytes> data_bytes_;
  std::vector<uint8_t> data_is_output_;
  std::vector<Edge> edges_;
};

}  // namespace dfsim::inline graphs
