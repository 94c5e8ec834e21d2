// Describes operators for the cost models and turns a graph into tasks and data. The first half
// writes canonical attributes: every attribute that changes the cost appears with its value,
// defaults included, so that equal operators have equal text and share one row of costs. The
// second half (WorkloadMaker) walks the graph once in order and gives views the data of what
// they show.
#include "opmodel/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/cancellation.h"
#include "graphs/ops/families/extensions/gradient_ops.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/ops/infer.h"
#include "opmodel/resident_weights.h"

namespace dfsim::inline opmodel {
namespace {

// Attributes that change cost, always with a value, so that equal ops read equal.
std::string integer_list(const std::vector<int64_t>& values) {
  return fmt::format("{}", fmt::join(values, ","));
}

std::string list_or(const Op& op, std::string_view name, size_t count, int64_t fallback) {
  const auto* list = op.attributes.get_ints(name);
  return integer_list(list != nullptr && !list->empty() ? *list
                                                        : std::vector<int64_t>(count, fallback));
}

// SAME_UPPER and SAME_LOWER written out, begins first, then ends.
std::string pads_of(const Graph& graph, const Op& op, const std::vector<int64_t>& kernel) {
  const size_t spatial = kernel.size();
  const std::string mode = op.attributes.string_or("auto_pad", "NOTSET");
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    return list_or(op, "pads", spatial * 2, 0);
  }
  const auto* strides = op.attributes.get_ints("strides");
  const auto* dilations = op.attributes.get_ints("dilations");
  const Shape& in = graph.tensor(op.inputs[0]).shape;
  const Shape& out = graph.tensor(op.outputs[0]).shape;
  std::vector<int64_t> pads(spatial * 2, 0);
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t stride = strides != nullptr && !strides->empty() ? (*strides)[i] : 1;
    const int64_t dilation = dilations != nullptr && !dilations->empty() ? (*dilations)[i] : 1;
    const int axis = static_cast<int>(i) + 2;
    const int64_t total = std::max<int64_t>(
        0, (out[axis].extent() - 1) * stride + (kernel[i] - 1) * dilation + 1 - in[axis].extent());
    pads[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    pads[i + spatial] = total - pads[i];
  }
  return integer_list(pads);
}

std::vector<int64_t> kernel_of(const Graph& graph, const Op& op) {
  if (const auto* kernel = op.attributes.get_ints("kernel_shape");
      kernel != nullptr && !kernel->empty()) {
    return *kernel;
  }
  const size_t weight = op.op_type == "QLinearConv" ? 3 : 1;
  std::vector<int64_t> extents = graph.tensor(op.inputs[weight]).shape.extents();
  extents.erase(extents.begin(), extents.begin() + 2);
  return extents;
}

std::string last_format(const Op& op) {
  return op.attributes.int_or(kChannelsLast, 0) != 0 ? fmt::format("{}=1;", kChannelsLast) : "";
}

std::string window_attributes(const Graph& graph, const Op& op) {
  const std::vector<int64_t> kernel = kernel_of(graph, op);
  const size_t n = kernel.size();
  const std::string pads = pads_of(graph, op, kernel);
  const std::string common = fmt::format("kernel_shape={}", integer_list(kernel));
  const std::string strides = list_or(op, "strides", n, 1);
  if (op.op_class == OpClass::kConv) {
    const std::string extra =
        op.op_type == "ConvTranspose"
            ? fmt::format("output_padding={};", list_or(op, "output_padding", n, 0))
            : "";
    // A memory format: the shapes are those of channels first.
    const bool gradient =
        op.op_type == "ConvTranspose" && op.attributes.int_or(kInputGradient, 0) != 0;
    const bool may_be_last =
        (op.op_type == "Conv" && op.domain.empty()) || gradient || op.op_type == "ConvFilterGrad";
    return fmt::format(
        "{}dilations={};group={};{}{};{}pads={};strides={}", may_be_last ? last_format(op) : "",
        list_or(op, "dilations", n, 1), op.attributes.int_or("group", 1),
        gradient ? fmt::format("{}=1;", kInputGradient) : "", common, extra, pads, strides);
  }
  const std::string dilations =
      op.op_type == "MaxPool" ? fmt::format("dilations={};", list_or(op, "dilations", n, 1)) : "";
  return fmt::format("ceil_mode={};{}{};pads={};strides={}", op.attributes.int_or("ceil_mode", 0),
                     dilations, common, pads, strides);
}

std::string axis_attribute(const Graph& graph, const Op& op) {
  const bool coerced = (op.op_type == "Softmax" || op.op_type == "LogSoftmax") && op.version < 13;
  const bool from_end = !coerced && (op.op_type == "Softmax" || op.op_type == "LogSoftmax" ||
                                     op.op_type == "LayerNormalization");
  const int64_t axis = op.attributes.int_or("axis", coerced ? 1 : from_end ? -1 : 0);
  const int rank = graph.tensor(op.inputs[0]).shape.rank();
  return fmt::format("axis={}", axis < 0 ? axis + rank : axis);
}

std::string reduce_attributes(const Graph& graph, const Op& op) {
  const int rank = graph.tensor(op.inputs[0]).shape.rank();
  std::vector<int64_t> axes;
  if (const auto* given = op.attributes.get_ints("axes")) {
    axes = *given;
  } else if (op.inputs.size() > 1 && op.inputs[1].valid() && graph.constant(op.inputs[1])) {
    axes = graph.constant(op.inputs[1])->ints;
  }
  for (int64_t& axis : axes) {
    axis += axis < 0 ? rank : 0;
  }
  std::sort(axes.begin(), axes.end());
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  return fmt::format("axes={};keepdims={}", integer_list(axes),
                     op.attributes.int_or("keepdims", 1));
}

std::string transpose_attributes(const Graph& graph, const Op& op) {
  const int rank = graph.tensor(op.inputs[0]).shape.rank();
  std::vector<int64_t> perm;
  if (const auto* given = op.attributes.get_ints("perm")) {
    perm = *given;
  } else {
    for (int64_t i = rank; i-- > 0;) {
      perm.push_back(i);
    }
  }
  return fmt::format("perm={}", integer_list(perm));
}

// Squares and cubes are products; any other power is a function of its own.
std::string power_attributes(const Graph& graph, const Op& op) {
  const ConstValue* const exponent =
      op.inputs.size() > 1 && op.inputs[1].valid() ? graph.constant(op.inputs[1]) : nullptr;
  if (exponent == nullptr || exponent->size() != 1) {
    return "";
  }
  const double value = exponent->as_double(0);
  return value == 2 || value == 3 ? fmt::format("exponent={:.0f}", value) : "";
}

// Mode and coordinates decide the algorithm. The first versions had asymmetric coordinates.
std::string resize_attributes(const Op& op) {
  const bool old = op.op_type == "Upsample" || op.version < 11;
  return fmt::format(
      "{}coordinates={};mode={}{}", op.attributes.int_or("antialias", 0) != 0 ? "antialias=1;" : "",
      op.attributes.string_or("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel"),
      op.attributes.string_or("mode", "nearest"),
      op.attributes.int_or(kSerialImages, 0) != 0 ? fmt::format(";{}=1", kSerialImages) : "");
}

// The axis is an operand; nothing where its value is not known.
std::string running_sum_axis(const Graph& graph, const Op& op) {
  const ConstValue* const axis =
      op.inputs.size() > 1 && op.inputs[1].valid() ? graph.constant(op.inputs[1]) : nullptr;
  if (axis == nullptr || axis->ints.size() != 1) {
    return "";
  }
  const int rank = graph.tensor(op.inputs[0]).shape.rank();
  return fmt::format("axis={}", axis->ints[0] + (axis->ints[0] < 0 ? rank : 0));
}

std::string attributes_of(const Graph& graph, const Op& op) {
  const std::string_view type = op.op_type;
  if (op.op_class == OpClass::kConv || type == "MaxPool" || type == "AveragePool" ||
      type == "LpPool") {
    return window_attributes(graph, op);
  }
  if (type == "Gemm" || type == "FusedGemm") {
    return fmt::format("transA={};transB={}", op.attributes.int_or("transA", 0),
                       op.attributes.int_or("transB", 0));
  }
  if (type == "FusedMatMul") {
    return fmt::format("transA={};transB={};transBatchA={};transBatchB={}",
                       op.attributes.int_or("transA", 0), op.attributes.int_or("transB", 0),
                       op.attributes.int_or("transBatchA", 0),
                       op.attributes.int_or("transBatchB", 0));
  }
  if (type == "Softmax" || type == "LogSoftmax" || type == "LayerNormalization" ||
      type == "Concat" || type == "Split" || type == "Gather") {
    return axis_attribute(graph, op);
  }
  if (type == "Transpose") {
    return transpose_attributes(graph, op);
  }
  if (type == "Attention" && op.domain == "com.microsoft") {
    return fmt::format("num_heads={}", op.attributes.int_or("num_heads", 0));
  }
  if (type == "BatchNormalization") {
    const bool training = op.attributes.int_or(kOwnStatistics, 0) != 0 ||
                          op.attributes.int_or("training_mode", 0) != 0;
    return training ? fmt::format("{}{}=1", last_format(op), kOwnStatistics) : "";
  }
  if (type == "NormGrad") {
    return fmt::format("{}of={}", last_format(op), op.attributes.string_or("of", ""));
  }
  if (type == "GroupNormalization") {
    return fmt::format("num_groups={}", op.attributes.int_or("num_groups", 1));
  }
  if (type == "Pow") {
    return power_attributes(graph, op);
  }
  if (type == "Resize" || type == "Upsample") {
    return resize_attributes(op);
  }
  if (type == "MatMulNBits") {
    return fmt::format("accuracy_level={};bits={}", op.attributes.int_or("accuracy_level", 0),
                       op.attributes.int_or("bits", 4));
  }
  if (type == "RoiAlign") {
    return fmt::format("sampling_ratio={}", op.attributes.int_or("sampling_ratio", 0));
  }
  if (type == "CumSum") {
    return running_sum_axis(graph, op);
  }
  if (type == "Pad") {
    const std::string mode = op.attributes.string_or("mode", "constant");
    return mode == "constant" ? "" : fmt::format("mode={}", mode);
  }
  return type.starts_with("Reduce") ? reduce_attributes(graph, op) : "";
}

}  // namespace

OpDescriptor describe_op(const Graph& graph, OpId id, const OpWork& work) {
  const Op& op = graph.op(id);
  OpDescriptor descriptor;
  descriptor.op_type = op.domain.empty() ? op.op_type : op.domain + "." + op.op_type;
  descriptor.op_class = op.op_class;
  descriptor.dtype = work.dtype;
  descriptor.work = work;
  for (const TensorId input : op.inputs) {
    const bool present = input.valid() && graph.tensor(input).shape.is_static();
    descriptor.input_extents.push_back(present ? graph.tensor(input).shape.extents()
                                               : std::vector<int64_t>{-1});
    descriptor.input_dtypes.push_back(input.valid() ? graph.tensor(input).dtype : DType::kUnknown);
  }
  for (const TensorId output : op.outputs) {
    if (output.valid() && graph.tensor(output).shape.is_static()) {
      descriptor.output_extents.push_back(graph.tensor(output).shape.extents());
      descriptor.output_dtypes.push_back(graph.tensor(output).dtype);
    }
  }
  // An operator that dfsim does not know may have any operands.
  if (is_resolved(graph, id) && op.op_class != OpClass::kOpaque) {
    descriptor.attributes = attributes_of(graph, op);
  }
  return descriptor;
}

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
      }
    }
    return ok_status();
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
  std::vector<uint32_t> views_;  // by task in order of insertion
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
