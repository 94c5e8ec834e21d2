// Builds the flat arrays of an ExecGraph. Tasks and data may be added in any order; build()
// sorts the tasks topologically, renumbers them, and lays out edges and data by task, so that
// the simulator walks memory forwards. Ties keep the order of insertion, which makes the
// numbering independent of everything but the input.
#include "graphs/ir/exec_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>

#include "base/text.h"

namespace dfsim::inline graphs {
namespace {

// Counts at [i + 1] become offsets: where the entries of i begin.
void sum_up(std::vector<uint32_t>* counts) {
  for (size_t i = 0; i + 1 < counts->size(); ++i) {
    (*counts)[i + 1] += (*counts)[i];
  }
}

}  // namespace

Bytes ExecGraph::working_set_bytes(TaskId task) const {
  Bytes bytes = workspace_bytes(task);
  std::vector<DataId> written;
  for (const Edge& edge : out_edges(task)) {  // by target, so that an output may come up anywhere
    if (written.empty() || written.back() != edge.data) {
      written.push_back(edge.data);
    }
  }
  std::sort(written.begin(), written.end());
  written.erase(std::unique(written.begin(), written.end()), written.end());
  for (const DataId data : written) {
    bytes += data_bytes(data);
  }
  for (const uint32_t e : in_edge_indices(task)) {
    bytes += edge_bytes(edges_[e]);
  }
  return bytes;
}

std::string ExecGraph::name(TaskId task) const {
  if (!names_.empty() && !names_[task.index()].empty()) {
    return names_[task.index()];
  }
  return fmt::format("t{}", task.index());
}

void ExecGraphBuilder::reserve(size_t tasks, size_t edges) {
  tasks_.reserve(tasks);
  edges_.reserve(edges);
}

TaskId ExecGraphBuilder::add_task(Task task) {
  tasks_.push_back(std::move(task));
  return TaskId(tasks_.size() - 1);
}

DataId ExecGraphBuilder::add_data(TaskId producer, Bytes bytes, bool is_output) {
  data_producer_.push_back(producer);
  data_bytes_.push_back(bytes);
  data_is_output_.push_back(is_output ? 1 : 0);
  return DataId(data_bytes_.size() - 1);
}

void ExecGraphBuilder::add_edge(DataId data, TaskId to) { edges_.push_back({TaskId(), to, data}); }

Status ExecGraphBuilder::check_data() const {
  for (size_t d = 0; d < data_bytes_.size(); ++d) {
    if (data_producer_[d].index() >= tasks_.size()) {
      return invalid_input(fmt::format("data item {} has producer {}, but there are {} tasks", d,
                                       data_producer_[d].value(), tasks_.size()));
    }
    if (data_bytes_[d] < 0) {
      return invalid_input(fmt::format("data item {} of task '{}' has {} bytes; expected 0 or more",
                                       d, printable(tasks_[data_producer_[d].index()].name),
                                       data_bytes_[d]));
    }
  }
  return ok_status();
}

Status ExecGraphBuilder::join_edges() {
  for (Edge& edge : edges_) {
    if (edge.data.index() >= data_bytes_.size() || edge.to.index() >= tasks_.size()) {
      return invalid_input(
          fmt::format("an edge joins data item {} to task {}, but there are {} and {}",
                      edge.data.value(), edge.to.value(), data_bytes_.size(), tasks_.size()));
    }
    edge.from = data_producer_[edge.data.index()];
  }
  return ok_status();
}

// Kahn's algorithm (1962, doi:10.1145/368996.369025), smallest insertion index first.
StatusOr<std::vector<uint32_t>> ExecGraphBuilder::sorted_tasks() const {
  const size_t n = tasks_.size();
  std::vector<uint32_t> offsets(n + 1, 0);
  std::vector<uint32_t> pending(n, 0);
  for (const Edge& edge : edges_) {
    ++offsets[edge.from.index() + 1];
    ++pending[edge.to.index()];
  }
  sum_up(&offsets);
  std::vector<uint32_t> targets(edges_.size());
  {
    std::vector<uint32_t> cursor(offsets.begin(), offsets.end() - 1);
    for (const Edge& edge : edges_) {
      targets[cursor[edge.from.index()]++] = edge.to.value();
    }
  }
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t i = 0; i < n; ++i) {
    if (pending[i] == 0) {
      ready.push(i);
    }
  }
  std::vector<uint32_t> sorted;
  sorted.reserve(n);
  while (!ready.empty()) {
    const uint32_t task = ready.top();
    ready.pop();
    sorted.push_back(task);
    for (uint32_t e = offsets[task]; e < offsets[task + 1]; ++e) {
      if (--pending[targets[e]] == 0) {
        ready.push(targets[e]);
      }
    }
  }
  if (sorted.size() != n) {
    return cycle_error(pending, n - sorted.size());
  }
  return sorted;
}

Status ExecGraphBuilder::cycle_error(const std::vector<uint32_t>& pending, size_t behind) const {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < tasks_.size() && names.size() < 5; ++i) {
    if (pending[i] > 0) {
      names.push_back(fmt::format(
          "'{}'", tasks_[i].name.empty() ? fmt::format("t{}", i) : printable(tasks_[i].name)));
    }
  }
  return invalid_input(fmt::format(
      "the task graph has a cycle; {} tasks are on or behind it: {}; remove an edge between them",
      behind, join(names, ", ")));
}

void ExecGraphBuilder::move_data(const std::vector<uint32_t>& new_id, ExecGraph* graph) {
  graph->data_bytes_ = std::move(data_bytes_);
  graph->data_is_output_ = std::move(data_is_output_);
  graph->data_producer_ = std::move(data_producer_);
  for (TaskId& producer : graph->data_producer_) {
    producer = TaskId(new_id[producer.index()]);
  }
}

void ExecGraphBuilder::move_edges(const std::vector<uint32_t>& new_id, ExecGraph* graph) {
  for (Edge& edge : edges_) {
    edge.from = TaskId(new_id[edge.from.index()]);
    edge.to = TaskId(new_id[edge.to.index()]);
  }
  std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.from, a.to, a.data) < std::tie(b.from, b.to, b.data);
  });
  edges_.erase(
      std::unique(edges_.begin(), edges_.end(),
                  [](const Edge& a, const Edge& b) { return a.data == b.data && a.to == b.to; }),
      edges_.end());
  graph->edges_ = std::move(edges_);
  graph->out_offsets_.assign(tasks_.size() + 1, 0);
  graph->in_offsets_.assign(tasks_.size() + 1, 0);
  std::vector<bool> read(graph->data_bytes_.size(), false);
  for (const Edge& edge : graph->edges_) {
    ++graph->out_offsets_[edge.from.index() + 1];
    ++graph->in_offsets_[edge.to.index() + 1];
    graph->has_shared_data_ = graph->has_shared_data_ || read[edge.data.index()];
    read[edge.data.index()] = true;
  }
  sum_up(&graph->out_offsets_);
  sum_up(&graph->in_offsets_);
  graph->in_edges_.resize(graph->edges_.size());
  std::vector<uint32_t> cursor(graph->in_offsets_.begin(), graph->in_offsets_.end() - 1);
  for (uint32_t e = 0; e < graph->edges_.size(); ++e) {
    graph->in_edges_[cursor[graph->edges_[e].to.index()]++] = e;
  }
}

void ExecGraphBuilder::move_tasks(const std::vector<uint32_t>& sorted, ExecGraph* graph) {
  bool any_op = false;
  bool any_name = false;
  for (const Task& task : tasks_) {
    any_op = any_op || task.op.valid();
    any_name = any_name || !task.name.empty();
  }
  for (const uint32_t old_id : sorted) {
    Task& task = tasks_[old_id];
    graph->cost_row_.push_back(task.cost_row);
    graph->resident_bytes_.push_back(task.resident_bytes);
    graph->workspace_bytes_.push_back(task.workspace_bytes);
    if (any_op) {
      graph->ops_.push_back(task.op);
    }
    if (any_name) {
      graph->names_.push_back(std::move(task.name));
    }
  }
}

StatusOr<ExecGraph> ExecGraphBuilder::build(std::vector<uint32_t>* order) {
  DFSIM_RETURN_IF_ERROR(check_data());
  DFSIM_RETURN_IF_ERROR(join_edges());
  DFSIM_ASSIGN_OR_RETURN(std::vector<uint32_t> sorted, sorted_tasks());
  std::vector<uint32_t> new_id(sorted.size());
  for (uint32_t i = 0; i < sorted.size(); ++i) {
    new_id[sorted[i]] = i;
  }
  ExecGraph graph;
  move_data(new_id, &graph);
  move_edges(new_id, &graph);
  move_tasks(sorted, &graph);
  *this = ExecGraphBuilder();
  if (order != nullptr) {
    *order = std::move(sorted);
  }
  return graph;
}

}  // namespace dfsim::inline graphs
