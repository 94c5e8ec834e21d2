// For each large operator, tries shares of each parallel factor for a helper device and keeps
// the best one by predicted time, transfers included; then builds the program in which both
// devices work on their parts.
#include "partition/plans/uneven_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "graphs/ops/factors/factors.h"
#include "hardware/route.h"
#include "opmodel/run_costs.h"
#include "opmodel/workload.h"
#include "partition/pieces/op_parts.h"

namespace dfsim::inline partition {
namespace {

constexpr int kShares = 64;  // shares tried are multiples of 1 / 64
constexpr int kMostShares = 48;

// Data that the helper must receive before it can start.
Bytes sent_bytes(const Graph& graph, const UnevenOp& uneven, const FactorMap& map) {
  const Op& op = graph.op(uneven.op);
  Bytes bytes = 0;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].valid() && graph.tensor(op.inputs[i]).role == TensorRole::kActivation) {
      bytes += part_bytes(graph, op.inputs[i], map.inputs[i], uneven.factor, uneven.helper_extent);
    }
  }
  return bytes;
}

// A share that was tried, and the rows of its two parts.
struct Candidate {
  UnevenOp uneven;
  size_t helper_row = 0;
  size_t main_row = 0;
  TimeNs links_ns = 0;
};

class UnevenFinder {
 public:
  UnevenFinder(const Graph& graph, const Platform& platform, DeviceId main)
      : graph_(graph), platform_(platform), main_(main), routes_(platform), parts_(graph) {}

  StatusOr<std::vector<UnevenOp>> run(const CostModel& model) {
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      DFSIM_RETURN_IF_ERROR(try_op(OpId(i)));
    }
    DFSIM_ASSIGN_OR_RETURN(const std::vector<OpDescriptor> rows, parts_.finish());
    std::map<DeviceId, std::vector<OpCost>> costs;
    costs[main_].resize(rows.size());
    DFSIM_RETURN_IF_ERROR(model.predict(rows, platform_.device(main_), costs[main_]));
    for (const Candidate& candidate : candidates_) {
      auto& there = costs[candidate.uneven.helper];
      if (there.empty()) {
        there.resize(rows.size());
        DFSIM_RETURN_IF_ERROR(
            model.predict(rows, platform_.device(candidate.uneven.helper), there));
      }
    }
    std::map<OpId, std::pair<TimeNs, UnevenOp>> best;
    for (const auto& [op, row] : whole_) {
      best[op].first = costs[main_][row].time_ns;
    }
    for (const Candidate& candidate : candidates_) {
      const TimeNs helper = costs[candidate.uneven.helper][candidate.helper_row].time_ns;
      const TimeNs main = costs[main_][candidate.main_row].time_ns;
      auto& [time_ns, chosen] = best[candidate.uneven.op];
      if (helper >= 0 && std::max(main, helper + candidate.links_ns) < time_ns) {
        time_ns = std::max(main, helper + candidate.links_ns);
        chosen = candidate.uneven;
      }
    }
    std::vector<UnevenOp> found;
    for (const auto& [op, entry] : best) {
      if (entry.second.helper_extent > 0) {
        found.push_back(entry.second);
      }
    }
    return found;
  }

 private:
  Status try_op(OpId id) {
    const FactorMap map = op_factors(graph_, id);
    for (size_t f = 0; f < map.factors.size(); ++f) {
      const auto factor = static_cast<int>(f);
      if (!shares_well(graph_, id, map, factor)) {
        continue;
      }
      const int64_t extent = map.factors[f].extent;
      if (whole_.count(id) == 0) {
        whole_[id] = rows_++;
        DFSIM_RETURN_IF_ERROR(parts_.add(id, map, factor, extent));
      }
      int64_t last = 0;
      for (int share = 1; share <= kMostShares; share += share < 16 ? 1 : 4) {
        const int64_t part = extent * share / kShares;
        if (part > last && part < extent) {
          last = part;
          DFSIM_RETURN_IF_ERROR(add(id, map, factor, part));
        }
      }
    }
    return ok_status();
  }

  Status add(OpId id, const FactorMap& map, int factor, int64_t part) {
    const int64_t extent = map.factors[static_cast<size_t>(factor)].extent;
    const size_t row = rows_;
    rows_ += 2;
    DFSIM_RETURN_IF_ERROR(parts_.add(id, map, factor, part));
    DFSIM_RETURN_IF_ERROR(parts_.add(id, map, factor, extent - part));
    for (size_t d = 0; d < platform_.devices.size(); ++d) {
      const DeviceId helper(d);
      const Route& there = routes_.route(main_.value(), helper.value());
      const Route& back = routes_.route(helper.value(), main_.value());
      if (platform_.device(helper).model == platform_.device(main_).model || !there.reachable ||
          !back.reachable) {
        continue;
      }
      Candidate candidate{{id, factor, helper, part}, row, row + 1, 0};
      const Bytes result =
          part_bytes(graph_, graph_.op(id).outputs[0], map.outputs[0], factor, part);
      candidate.links_ns =
          there.idle_ns(sent_bytes(graph_, candidate.uneven, map)) + back.idle_ns(result);
      candidates_.push_back(candidate);
    }
    return ok_status();
  }

  const Graph& graph_;
  const Platform& platform_;
  DeviceId main_;
  RouteTable routes_;
  PartDescriber parts_;
  size_t rows_ = 0;
  std::map<OpId, size_t> whole_;  // rows of whole operators
  std::vector<Candidate> candidates_;
};

class UnevenProgram {
 public:
  UnevenProgram(const Graph& graph, const Platform& platform, DeviceId main)
      : graph_(graph), platform_(platform), main_(main) {}

  StatusOr<SpmdProgram> run(const std::vector<UnevenOp>& uneven, const CostModel& model) {
    DFSIM_ASSIGN_OR_RETURN(workload_, make_workload(graph_));
    PartDescriber parts(graph_);
    for (size_t i = 0; i < uneven.size(); ++i) {
      DFSIM_RETURN_IF_ERROR(check(uneven[i]));
      const FactorMap map = op_factors(graph_, uneven[i].op);
      const int64_t extent = map.factors[static_cast<size_t>(uneven[i].factor)].extent;
      shared_[uneven[i].op] = {&uneven[i], workload_.rows.size() + 2 * i};
      DFSIM_RETURN_IF_ERROR(
          parts.add(uneven[i].op, map, uneven[i].factor, uneven[i].helper_extent));
      DFSIM_RETURN_IF_ERROR(
          parts.add(uneven[i].op, map, uneven[i].factor, extent - uneven[i].helper_extent));
    }
    DFSIM_ASSIGN_OR_RETURN(const std::vector<OpDescriptor> rows, parts.finish());
    add_tasks();
    SpmdProgram program;
    std::vector<uint32_t> order;
    DFSIM_ASSIGN_OR_RETURN(program.graph, builder_.build(&order));
    program.order.resize(platform_.devices.size());
    for (const uint32_t inserted : order) {
      program.order[devices_[inserted].index()].emplace_back(program.device_of.size());
      program.device_of.push_back(devices_[inserted]);
      program.kinds.push_back(TaskKind::kCompute);
      program.dispatch_ns.push_back(platform_.runtime.dispatch_ns);
    }
    std::vector<OpDescriptor> all = workload_.rows;
    all.insert(all.end(), rows.begin(), rows.end());
    DFSIM_ASSIGN_OR_RETURN(program.costs,
                           make_cost_table(all, workload_.weight_bytes, platform_, model));
    add_gaps(platform_, &program.costs);
    program.machine = platform_;
    program.device_count = platform_.devices.size();
    program.memory.resize(program.device_count);
    for (size_t t = 0; t < program.graph.task_count(); ++t) {
      program.memory[program.device_of[t].index()].weights +=
          program.graph.resident_bytes(TaskId(t));
    }
    return program;
  }

 private:
  Status check(const UnevenOp& uneven) const {
    const FactorMap map = op_factors(graph_, uneven.op);
    const bool fits =
        uneven.factor >= 0 && static_cast<size_t>(uneven.factor) < map.factors.size() &&
        shares_well(graph_, uneven.op, map, uneven.factor) && uneven.helper_extent > 0 &&
        uneven.helper_extent < map.factors[static_cast<size_t>(uneven.factor)].extent;
    return fits ? ok_status()
                : invalid_input(fmt::format(
                      "operator '{}': {} of its factor cannot go to another device; choose a "
                      "parallel factor of a matrix product or convolution and a part of it",
                      printable(graph_.op(uneven.op).name), uneven.helper_extent));
  }

  void add_tasks() {
    const ExecGraph& graph = workload_.graph;
    std::vector<std::vector<DataId>> produced(graph.task_count());
    for (size_t d = 0; d < graph.data_count(); ++d) {
      produced[graph.data_producer(DataId(d)).index()].emplace_back(d);
    }
    data_.resize(graph.data_count());
    task_of_.resize(graph.task_count());
    for (size_t t = 0; t < graph.task_count(); ++t) {
      const TaskId id(t);
      const auto found = shared_.find(graph.op(id));
      const TaskId main =
          add_main(id, found == shared_.end() ? graph.cost_row(id)
                                              : static_cast<uint32_t>(found->second.second + 1));
      task_of_[t] = main;
      for (const DataId data : produced[t]) {
        data_[data.index()].push_back(
            builder_.add_data(main, graph.data_bytes(data), graph.data_is_output(data)));
      }
      if (found != shared_.end()) {
        add_helper(id, *found->second.first, found->second.second, produced[t]);
      }
    }
  }

  TaskId add_main(TaskId like, uint32_t row) {
    const ExecGraph& graph = workload_.graph;
    ExecGraphBuilder::Task task;
    task.cost_row = row;
    task.op = graph.op(like);
    task.resident_bytes = graph.resident_bytes(like);
    task.workspace_bytes = graph.workspace_bytes(like);
    devices_.push_back(main_);
    const TaskId id = builder_.add_task(std::move(task));
    for (const uint32_t edge : graph.in_edge_indices(like)) {
      for (const DataId data : data_[graph.edges()[edge].data.index()]) {
        builder_.add_edge(data, id);
      }
    }
    return id;
  }

  // The helper's part, its inputs as data of their own, its result next to the main part's.
  void add_helper(TaskId like, const UnevenOp& uneven, size_t row,
                  const std::vector<DataId>& results) {
    const ExecGraph& graph = workload_.graph;
    const FactorMap map = op_factors(graph_, uneven.op);
    ExecGraphBuilder::Task task;
    task.cost_row = static_cast<uint32_t>(row);
    task.op = uneven.op;
    const Op& op = graph_.op(uneven.op);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i].valid() && graph_.tensor(op.inputs[i]).role == TensorRole::kWeight) {
        task.resident_bytes +=
            part_bytes(graph_, op.inputs[i], map.inputs[i], uneven.factor, uneven.helper_extent);
      }
    }
    devices_.push_back(uneven.helper);
    const TaskId helper = builder_.add_task(std::move(task));
    // All activations come from the tasks that make the operator's inputs, in equal parts.
    const auto edges = graph.in_edge_indices(like);
    const Bytes bytes = sent_bytes(graph_, uneven, map);
    for (const uint32_t edge : edges) {
      const TaskId source = task_of_[graph.edges()[edge].from.index()];
      builder_.add_edge(builder_.add_data(source, bytes / static_cast<Bytes>(edges.size())),
                        helper);
    }
    const Bytes back =
        part_bytes(graph_, op.outputs[0], map.outputs[0], uneven.factor, uneven.helper_extent);
    for (const DataId data : results) {
      data_[data.index()].push_back(builder_.add_data(helper, back, graph.data_is_output(data)));
    }
  }

  const Graph& graph_;
  const Platform& platform_;
  DeviceId main_;
  Workload workload_;
  ExecGraphBuilder builder_;
  std::vector<DeviceId> devices_;          // by task, in order of creation
  std::vector<TaskId> task_of_;            // on the main device, by task of the workload
  std::vector<std::vector<DataId>> data_;  // by data of the workload: one for each part
  std::unordered_map<OpId, std::pair<const UnevenOp*, size_t>> shared_;  // with the helper's row
};

}  // namespace

StatusOr<std::vector<UnevenOp>> find_uneven_ops(const Graph& graph, const Platform& platform,
                                                DeviceId main, const CostModel& model) {
  return UnevenFinder(graph, platform, main).run(model);
}

StatusOr<SpmdProgram> make_uneven_program(const Graph& graph, const std::vector<UnevenOp>& uneven,
                                          const Platform& platform, DeviceId main,
                                          const CostModel& model) {
  return UnevenProgram(graph, platform, main).run(uneven, model);
}

}  // namespace dfsim::inline partition
