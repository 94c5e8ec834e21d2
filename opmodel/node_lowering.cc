// Adds what a node of several devices needs to a workload: tasks that stand for inputs and
// outputs in the host's memory, devices that cannot run an operator, and groups of tasks that
// stay together since they read the same large parameters. A group is pinned before scheduling,
// because policies see edges between tasks and no shared weights.
#include "opmodel/node_lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"

namespace dfsim::inline opmodel {
namespace {

bool has_strings(const OpDescriptor& op) {
  return std::ranges::count(op.input_dtypes, DType::kString) +
             std::ranges::count(op.output_dtypes, DType::kString) >
         0;
}

// Why the device cannot run the op; "" when it can.
std::string obstacle(const OpDescriptor& op, const DeviceSpec& device, bool beside_cpu) {
  if (device.type != DeviceType::kCpu && beside_cpu) {
    if (has_strings(op)) {
      return "strings are for CPUs";
    }
    if (op.op_type.starts_with("ai.onnx.ml.")) {
      return "ai.onnx.ml is for CPUs";
    }
  }
  if (op.work.flops > 0 && !device.peaks.empty() &&
      device.peak_flops_per_s(op.work.dtype, op.work.matrix) <= 0) {
    return fmt::format("no units for {}", dtype_name(op.work.dtype));
  }
  if (device.memory_bytes > 0 && op.work.bytes() > device.memory_bytes) {
    return fmt::format("its operands of {} do not fit in {}", format_bytes(op.work.bytes()),
                       format_bytes(device.memory_bytes));
  }
  return "";
}

class NodeLowering {
 public:
  NodeLowering(const Graph& graph, const Workload& workload, const Platform& platform,
               const CostTable& costs)
      : graph_(graph),
        workload_(workload),
        platform_(platform),
        costs_(costs),
        descriptors_(workload.rows) {}

  StatusOr<NodeWorkload> run() {
    const size_t tasks = workload_.graph.task_count();
    for (size_t t = 0; t < tasks; ++t) {
      row_of_.push_back(workload_.graph.cost_row(TaskId(t)));
    }
    for (uint32_t row = 0; row < costs_.rows(); ++row) {
      rows_.emplace_back();
      for (size_t d = 0; d < platform_.devices.size(); ++d) {
        rows_.back().push_back(costs_.at(row, DeviceId(d)));
      }
    }
    if (platform_.devices.size() > 1) {
      find_host();
      DFSIM_RETURN_IF_ERROR(keep_off());
      share_parameters();
    }
    return build();
  }

 private:
  // The CPU whose memory holds inputs and outputs: the one the platform calls its host, or the
  // first. None where all devices are alike: nothing is copied then.
  void find_host() {
    std::optional<size_t> cpu;
    bool accelerator = false;
    for (size_t d = 0; d < platform_.devices.size(); ++d) {
      const DeviceSpec& device = platform_.devices[d];
      if (device.type != DeviceType::kCpu) {
        accelerator = true;
      } else if (!cpu || device.name == platform_.host.node) {
        cpu = d;
      }
    }
    host_ = accelerator ? cpu : std::nullopt;
  }

  Status keep_off() {
    for (uint32_t row = 0; row < costs_.rows(); ++row) {
      const OpDescriptor& op = workload_.rows[row];
      std::string reasons;
      bool runs = false;
      for (size_t d = 0; d < platform_.devices.size(); ++d) {
        const std::string reason = obstacle(op, platform_.devices[d], host_.has_value());
        if (reason.empty()) {
          runs = true;
          continue;
        }
        rows_[row][d].time_ns = CostTable::kInfeasible;
        reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ",
                               printable(platform_.devices[d].name), reason);
      }
      if (!runs) {
        return invalid_input(fmt::format("no device of '{}' can run a {} ({}); add one that can",
                                         printable(platform_.name), printable(op.op_type),
                                         reasons));
      }
    }
    return ok_status();
  }

  // Groups of tasks joined by large parameters that they share, each put on one device.
  void share_parameters() {
    const size_t tasks = workload_.graph.task_count();
    std::vector<size_t> parent(tasks);
    std::iota(parent.begin(), parent.end(), size_t{0});
    const auto root = [&parent](size_t t) {
      while (parent[t] != t) {
        t = parent[t] = parent[parent[t]];
      }
      return t;
    };
    std::map<uint32_t, size_t> first_reader;  // by storage key, ~id for bytes of its own
    for (size_t t = 0; t < tasks; ++t) {
      for (const TensorId input : graph_.op(workload_.graph.op(TaskId(t))).inputs) {
        if (!input.valid()) {
          continue;
        }
        const Tensor& tensor = graph_.tensor(input);
        if (tensor.role == TensorRole::kActivation || !tensor.shape.is_static() ||
            tensor.bytes().value() <= kReplicatedParameterBytes) {
          continue;
        }
        const uint32_t key = tensor.storage_key != 0 ? tensor.storage_key : ~input.value();
        const auto [entry, is_new] = first_reader.try_emplace(key, t);
        if (!is_new) {
          parent[root(t)] = root(entry->second);
        }
      }
    }
    std::map<size_t, std::vector<size_t>> groups;
    for (size_t t = 0; t < tasks; ++t) {
      groups[root(t)].push_back(t);
    }
    for (const auto& [unused, group] : groups) {
      if (group.size() > 1) {
        pin(group);
      }
    }
  }

  // Leaves a group's tasks one device: where they take least time together and their parameters
  // fit. When they fit nowhere together, nothing is gained by keeping them together.
  void pin(const std::vector<size_t>& group) {
    std::optional<size_t> best;
    TimeNs least = std::numeric_limits<TimeNs>::max();
    Bytes resident = 0;
    for (const size_t t : group) {
      resident += workload_.graph.resident_bytes(TaskId(t));
    }
    for (size_t d = 0; d < platform_.devices.size(); ++d) {
      TimeNs time = 0;
      bool runs =
          platform_.devices[d].memory_bytes == 0 || resident <= platform_.devices[d].memory_bytes;
      for (const size_t t : group) {
        const TimeNs cost = rows_[row_of_[t]][d].time_ns;
        runs = runs && cost >= 0;
        time += std::max<TimeNs>(0, cost);
      }
      if (runs && time < least) {
        best = d;
        least = time;
      }
    }
    if (!best) {
      return;
    }
    std::map<uint32_t, uint32_t> pinned;  // row by row it is a copy of
    for (const size_t t : group) {
      const auto [entry, is_new] =
          pinned.try_emplace(row_of_[t], static_cast<uint32_t>(rows_.size()));
      if (is_new) {
        rows_.push_back(rows_[row_of_[t]]);
        descriptors_.push_back(descriptors_[row_of_[t]]);
        for (size_t d = 0; d < platform_.devices.size(); ++d) {
          rows_.back()[d].time_ns = d == *best ? rows_.back()[d].time_ns : CostTable::kInfeasible;
        }
      }
      row_of_[t] = entry->second;
    }
  }

  TaskId add_host_task(std::string name) {
    if (!host_row_) {
      host_row_ = static_cast<uint32_t>(rows_.size());
      OpCost nowhere;
      nowhere.time_ns = CostTable::kInfeasible;
      nowhere.source = CostSource::kGiven;
      rows_.emplace_back(platform_.devices.size(), nowhere);
      OpDescriptor host_op;
      host_op.op_type = "host memory";
      host_op.op_class = OpClass::kView;
      descriptors_.push_back(std::move(host_op));
      rows_.back()[*host_].time_ns = 0;
    }
    ExecGraphBuilder::Task task;
    task.cost_row = *host_row_;
    task.name = std::move(name);
    views_.push_back(0);
    return builder_.add_task(std::move(task));
  }

  // The input that a tensor is or, through views, shows.
  void find_fed_tensors(std::vector<TensorId>* shown) const {
    shown->assign(graph_.tensor_count(), TensorId());
    for (const TensorId input : graph_.inputs()) {
      if (graph_.tensor(input).role == TensorRole::kActivation) {
        (*shown)[input.index()] = input;
      }
    }
    for (const Op& op : graph_.ops()) {
      for (const TensorId output : op.outputs) {
        if (op.op_class == OpClass::kView && op.inputs[0].valid() && output.valid()) {
          (*shown)[output.index()] = (*shown)[op.inputs[0].index()];
        }
      }
    }
  }

  // Tasks of the host that hand out inputs; their data by tensor.
  std::vector<DataId> add_inputs() {
    std::vector<DataId> data(graph_.tensor_count());
    for (const TensorId input : graph_.inputs()) {
      const Tensor& tensor = graph_.tensor(input);
      if (tensor.role != TensorRole::kActivation || graph_.consumers(input).empty()) {
        continue;
      }
      const TaskId task = add_host_task("input " + tensor.name);
      data[input.index()] =
          builder_.add_data(task, tensor.shape.is_static() ? tensor.bytes().value() : 0);
    }
    return data;
  }

  // Tasks of the workload with their edges, and what they read of the inputs.
  void add_tasks(const std::vector<DataId>& inputs) {
    const ExecGraph& from = workload_.graph;
    std::vector<TensorId> shown;
    find_fed_tensors(&shown);
    for (size_t t = 0; t < from.task_count(); ++t) {
      ExecGraphBuilder::Task task;
      task.cost_row = row_of_[t];
      task.resident_bytes = from.resident_bytes(TaskId(t));
      task.workspace_bytes = from.workspace_bytes(TaskId(t));
      task.op = from.op(TaskId(t));
      task.name = graph_.op(task.op).name;
      views_.push_back(workload_.views[t]);
      inserted_.push_back(builder_.add_task(std::move(task)));
      for (const TensorId input : graph_.op(from.op(TaskId(t))).inputs) {
        const TensorId fed = input.valid() ? shown[input.index()] : TensorId();
        if (fed.valid() && inputs[fed.index()].valid()) {
          builder_.add_edge(inputs[fed.index()], inserted_.back());
        }
      }
    }
    std::vector<DataId> data;
    for (size_t i = 0; i < from.data_count(); ++i) {
      const DataId id(i);
      data.push_back(builder_.add_data(inserted_[from.data_producer(id).index()],
                                       from.data_bytes(id), from.data_is_output(id)));
    }
    for (const Edge& edge : from.edges()) {
      builder_.add_edge(data[edge.data.index()], inserted_[edge.to.index()]);
    }
    for (size_t i = 0; host_ && i < from.data_count(); ++i) {
      if (from.data_is_output(DataId(i))) {
        const OpId op = from.op(from.data_producer(DataId(i)));
        builder_.add_edge(data[i], add_host_task("output of " + graph_.op(op).name));
      }
    }
  }

  StatusOr<NodeWorkload> build() {
    add_tasks(host_ ? add_inputs() : std::vector<DataId>(graph_.tensor_count()));
    NodeWorkload node;
    std::vector<uint32_t> order;
    DFSIM_ASSIGN_OR_RETURN(node.workload.graph, builder_.build(&order));
    node.workload.rows = std::move(descriptors_);
    node.workload.weight_bytes = workload_.weight_bytes;
    node.workload.input_bytes = workload_.input_bytes;
    std::vector<TaskId> position(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      position[order[i]] = TaskId(i);
      node.workload.views.push_back(views_[order[i]]);
    }
    for (const TaskId task : inserted_) {
      node.task_of.push_back(position[task.index()]);
    }
    node.costs = CostTable(rows_.size(), platform_.devices.size());
    for (uint32_t row = 0; row < rows_.size(); ++row) {
      for (size_t d = 0; d < platform_.devices.size(); ++d) {
        node.costs.at(row, DeviceId(d)) = rows_[row][d];
      }
    }
    const std::vector<TimeNs> dispatch = dispatch_times(workload_, platform_.runtime);
    node.dispatch_ns.assign(order.size(), 0);
    for (size_t t = 0; t < node.task_of.size(); ++t) {
      node.dispatch_ns[node.task_of[t].index()] =
          dispatch.empty() ? platform_.runtime.dispatch_ns : dispatch[t];
    }
    return node;
  }

  const Graph& graph_;
  const Workload& workload_;
  const Platform& platform_;
  const CostTable& costs_;
  ExecGraphBuilder builder_;
  std::vector<TaskId> inserted_;  // by task of the workload, as the builder knows it
  std::vector<uint32_t> views_;   // by task of the builder
  std::vector<OpDescriptor> descriptors_;
  std::vector<std::vector<OpCost>> rows_;
  std::vector<uint32_t> row_of_;  // by task of the workload
  std::optional<size_t> host_;
  std::optional<uint32_t> host_row_;
};

}  // namespace

StatusOr<NodeWorkload> lower_for_node(const Graph& graph, const Workload& workload,
                                      const Platform& platform, const CostTable& costs) {
  return NodeLowering(graph, workload, platform, costs).run();
}

}  // namespace dfsim::inline opmodel
