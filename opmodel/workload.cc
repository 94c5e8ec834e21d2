// Turns a graph into tasks and data: WorkloadMaker walks the graph once in order and gives views
// the data of what they show.
#include "opmodel/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/cancellation.h"
#include "graphs/ops/infer.h"
#include "opmodel/resident_weights.h"

namespace dfsim::inline opmodel {
namespace {

class WorkloadMaker {
 public:
  explicit WorkloadMaker(const Graph& graph)
      : graph_(graph), data_of_(graph.tensor_count()), leaves_(graph.tensor_count(), false) {}

  StatusOr<Workload> run() {
    DFSIM_RETURN_IF_ERROR(check_total_bytes());
    builder_.reserve(graph_.op_count(), graph_.op_count() * 2);
    mark_leaving();
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      DFSIM_RETURN_IF_ERROR(add_op(OpId(i)));
    }
    for (const TensorId input : graph_.inputs()) {
      if (graph_.tensor(input).shape.is_static()) {
        workload_.input_bytes += graph_.tensor(input).bytes().value();
      }
    }
    std::vector<uint32_t> order;
    DFSIM_ASSIGN_OR_RETURN(workload_.graph, builder_.build(&order));
    for (const uint32_t inserted : order) {
      workload_.views.push_back(views_[inserted]);
    }
    return std::move(workload_);
  }

 private:
  // Every sum of bytes made from here on, in the simulator too, is a part of this one.
  Status check_total_bytes() const {
    Count total;
    for (const Tensor& tensor : graph_.tensors()) {
      total += tensor.shape.is_static() ? tensor.bytes() : Count();
    }
    return total.overflowed() ? invalid_input(
                                    "the model's tensors do not fit in 63 bits of bytes; check its "
                                    "dimensions")
                              : ok_status();
  }

  Status add_op(OpId id) {
    cancellation_point();
    const Op& op = graph_.op(id);
    if (op.op_class == OpClass::kView) {
      // A view's tensors are its source's data; of an input it has none.
      for (const TensorId output : op.outputs) {
        if (output.valid() && op.inputs[0].valid()) {
          data_of_[output.index()] = data_of_[op.inputs[0].index()];
        }
      }
      ++pending_views_;
      return ok_status();
    }
    DFSIM_ASSIGN_OR_RETURN(const OpWork work, op_work(graph_, id));
    ExecGraphBuilder::Task task;
    task.cost_row = row_of(describe_op(graph_, id, work));
    note_rereads(op, task.cost_row);
    traffic_ += work.bytes();
    task.op = id;
    for (const TensorId input : op.inputs) {
      task.resident_bytes += input.valid() ? take_weight(input) : 0;
    }
    const TaskId task_id = builder_.add_task(std::move(task));
    views_.push_back(std::exchange(pending_views_, 0));
    for (const TensorId input : op.inputs) {
      if (input.valid() && data_of_[input.index()].valid()) {
        builder_.add_edge(data_of_[input.index()], task_id);
      }
    }
    for (const TensorId output : op.outputs) {
      if (output.valid()) {
        const Tensor& tensor = graph_.tensor(output);
        const Bytes bytes = tensor.shape.is_static() ? tensor.bytes().value() : 0;
        data_of_[output.index()] = builder_.add_data(task_id, bytes, leaves_[output.index()]);
        written_at_.push_back(traffic_);
      }
    }
    return ok_status();
  }

  void note_rereads(const Op& op, uint32_t row) {
    std::vector<Reread> found;
    std::vector<DataId> seen;
    for (const TensorId input : op.inputs) {
      const DataId data = input.valid() ? data_of_[input.index()] : DataId();
      if (!data.valid() || std::find(seen.begin(), seen.end(), data) != seen.end()) {
        continue;
      }
      seen.push_back(data);
      const Tensor& tensor = graph_.tensor(input);
      const Bytes bytes = tensor.shape.is_static() ? tensor.bytes().value() : 0;
      found.push_back({bytes, traffic_ - written_at_[data.index()] + bytes});
    }
    if (row == workload_.rereads.size()) {
      workload_.rereads.push_back(std::move(found));
      return;
    }
    std::vector<Reread>& known = workload_.rereads[row];
    const bool alike = std::equal(known.begin(), known.end(), found.begin(), found.end(),
                                  [](Reread a, Reread b) { return a.bytes == b.bytes; });
    if (!alike) {
      known.clear();
      return;
    }
    for (size_t i = 0; i < known.size(); ++i) {
      known[i].distance = std::max(known[i].distance, found[i].distance);
    }
  }

  Bytes take_weight(TensorId id) {
    const Tensor& tensor = graph_.tensor(id);
    if (tensor.role == TensorRole::kActivation || !tensor.shape.is_static() ||
        !seen_weights_.insert(tensor.storage_key != 0 ? tensor.storage_key : ~id.value()).second) {
      return 0;
    }
    workload_.weight_bytes += tensor.bytes().value();
    return tensor.bytes().value();
  }

  // A tensor is also kept when a chain of views shows it to the caller. Backwards over views.
  void mark_leaving() {
    for (const TensorId output : graph_.outputs()) {
      leaves_[output.index()] = true;
    }
    for (size_t i = graph_.op_count(); i-- > 0;) {
      const Op& op = graph_.op(OpId(i));
      for (const TensorId output : op.outputs) {
        if (op.op_class == OpClass::kView && output.valid() && op.inputs[0].valid() &&
            leaves_[output.index()]) {
          leaves_[op.inputs[0].index()] = true;
        }
      }
    }
  }

  uint32_t row_of(OpDescriptor descriptor) {
    auto& candidates = rows_by_hash_[descriptor.hash()];
    for (const uint32_t row : candidates) {
      if (workload_.rows[row] == descriptor) {
        return row;
      }
    }
    const auto row = static_cast<uint32_t>(workload_.rows.size());
    candidates.push_back(row);
    workload_.rows.push_back(std::move(descriptor));
    return row;
  }

  const Graph& graph_;
  Workload workload_;
  ExecGraphBuilder builder_;
  std::vector<DataId> data_of_;
  Bytes traffic_ = 0;              // of all operators so far
  std::vector<Bytes> written_at_;  // by data: `traffic_` once it was made
  std::vector<uint32_t> views_;    // by task in order of insertion
  uint32_t pending_views_ = 0;
  std::unordered_set<uint32_t> seen_weights_;  // storage keys; ~id for bytes of its own
  std::vector<bool> leaves_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> rows_by_hash_;
};

}  // namespace

StatusOr<Workload> make_workload(const Graph& graph) { return WorkloadMaker(graph).run(); }

std::vector<TimeNs> dispatch_times(const Workload& workload, const RuntimeSpec& runtime) {
  std::vector<TimeNs> times;
  if (runtime.view_dispatch_ns == 0 && runtime.dispatch.by_class.empty()) {
    return times;
  }
  // By row: the operator's own time, else that of its class.
  const auto find_time = [&](std::string_view name, TimeNs fallback) {
    for (const auto& [key, time_ns] : runtime.dispatch.by_class) {
      if (key == name) {
        return time_ns;
      }
    }
    return fallback;
  };
  std::vector<TimeNs> by_row;
  for (const OpDescriptor& row : workload.rows) {
    const std::string_view type = row.op_type;
    by_row.push_back(find_time(type.substr(type.rfind('.') + 1),
                               find_time(op_class_name(row.op_class), runtime.dispatch_ns)));
  }
  for (size_t t = 0; t < workload.views.size(); ++t) {
    times.push_back(by_row[workload.graph.cost_row(TaskId(t))] +
                    TimeNs{workload.views[t]} * runtime.view_dispatch_ns);
  }
  return times;
}

StatusOr<CostTable> make_cost_table(const std::vector<OpDescriptor>& rows, Bytes weight_bytes,
                                    const Platform& platform, const CostModel& model) {
  CostTable table(rows.size(), platform.devices.size());
  std::vector<OpCost> costs(rows.size());
  for (size_t d = 0; d < platform.devices.size(); ++d) {
    DFSIM_RETURN_IF_ERROR(model.predict(rows, platform.devices[d], costs));
    table.interval_scale(DeviceId(d)) = model.interval_scale(platform.devices[d]);
    table.common_spread(DeviceId(d)) = model.common_spread(platform.devices[d]);
    for (size_t row = 0; row < rows.size(); ++row) {
      table.at(static_cast<uint32_t>(row), DeviceId(d)) = costs[row];
    }
  }
  apply_resident_weights(rows, weight_bytes, platform, &table);
  return table;
}

}  // namespace dfsim::inline opmodel
