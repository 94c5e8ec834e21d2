// Follows ONNX Runtime's planner step by step: its order of execution, which operator may write
// over its first operand, which freed buffer a new tensor takes. Each tensor maps to the buffer
// that holds it; the peak is then a sweep over the buffers' lifetimes. The lists of aliases and
// in-place kernels are those of its CPU provider.
#include "graphs/algorithms/arena_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace dfsim::inline graphs {

namespace {

constexpr std::string_view kMicrosoft = "com.microsoft";
constexpr std::string_view kBlocked = "com.microsoft.nchwc";
constexpr size_t kSummand = 3;  // operand of a fused convolution

constexpr std::array<std::string_view, 6> kAliases = {"Reshape",   "Identity", "Squeeze",
                                                      "Unsqueeze", "Flatten",  "Dropout"};
// Kernels of ONNX Runtime's CPU provider that may overwrite their first operand (1.31).
constexpr std::array<std::string_view, 13> kInPlace = {
    "Clip",    "Elu",     "HardSigmoid", "LeakyRelu", "LogSoftmax", "Relu",           "Selu",
    "Sigmoid", "Softmax", "Softplus",    "Softsign",  "Tanh",       "ThresholdedRelu"};

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_scratch(const Op& op) { return op.attributes.int_or(kScratch, 0) != 0; }

bool is_alias(const Op& op) { return op.domain.empty() && contains(kAliases, op.op_type); }

// The operand that the operator may overwrite; none when there is none.
TensorId overwritten(const Op& op) {
  if (op.domain.empty() && contains(kInPlace, op.op_type)) {
    return op.inputs.empty() ? TensorId() : op.inputs[0];
  }
  const bool fused_conv = (op.domain == kMicrosoft && op.op_type == "FusedConv") ||
                          (op.domain == kBlocked && op.op_type == "Conv");
  return fused_conv && op.inputs.size() > kSummand ? op.inputs[kSummand] : TensorId();
}

// ONNX Runtime's order of operators: post-order of a walk from the last ones towards operands.
std::vector<OpId> execution_order(const Graph& graph) {
  std::vector<std::vector<OpId>> producers(graph.op_count());
  std::vector<bool> feeds_others(graph.op_count(), false);
  for (size_t i = 0; i < graph.op_count(); ++i) {
    for (const TensorId input : graph.op(OpId(i)).inputs) {
      const OpId producer = input.valid() ? graph.tensor(input).producer : OpId();
      if (producer.valid()) {
        producers[i].push_back(producer);
        feeds_others[producer.index()] = true;
      }
    }
    std::sort(producers[i].begin(), producers[i].end());
  }
  std::vector<std::pair<OpId, bool>> stack;  // operator, and whether its operands are done
  for (size_t i = 0; i < graph.op_count(); ++i) {
    if (!feeds_others[i]) {
      stack.emplace_back(OpId(i), false);
    }
  }
  std::vector<bool> visited(graph.op_count(), false);
  std::vector<OpId> order;
  while (!stack.empty()) {
    const auto [op, done] = stack.back();
    stack.pop_back();
    if (done) {
      order.push_back(op);
      continue;
    }
    if (visited[op.index()]) {
      continue;
    }
    visited[op.index()] = true;
    stack.emplace_back(op, true);
    for (const OpId producer : producers[op.index()]) {
      if (!visited[producer.index()]) {
        stack.emplace_back(producer, false);
      }
    }
  }
  return order;
}

class Planner {
 public:
  Planner(const Graph& graph, const std::vector<bool>& unsized)
      : graph_(graph), unsized_(unsized), uses_(graph.tensor_count(), 0) {
    plan_.buffer.resize(graph.tensor_count());
  }

  StatusOr<ArenaPlan> run() {
    plan_.order = execution_order(graph_);
    count_uses();
    find_kernel_ends();
    for (size_t step = 0; step < plan_.order.size(); ++step) {
      place_outputs(plan_.order[step]);
      for (const OpId op : ending_[step]) {
        free_unread(op);
      }
    }
    DFSIM_RETURN_IF_ERROR(find_peak());
    return std::move(plan_);
  }

 private:
  // A kernel of several operators reads its operands until the last of them is done, the one that
  // writes outside of its scratch space.
  void find_kernel_ends() {
    const size_t steps = plan_.order.size();
    ending_.resize(steps);
    std::vector<size_t> end(graph_.op_count(), 0);
    std::vector<size_t> reader_end(graph_.op_count(), steps);  // the earliest of all readers
    for (size_t step = steps; step-- > 0;) {
      const OpId id = plan_.order[step];
      const Op& op = graph_.op(id);
      const size_t of_reader = reader_end[id.index()];
      end[id.index()] = is_scratch(op) && of_reader < steps ? of_reader : step;
      ending_[end[id.index()]].push_back(id);
      for (const TensorId input : op.inputs) {
        const OpId producer = input.valid() ? graph_.tensor(input).producer : OpId();
        if (producer.valid()) {
          reader_end[producer.index()] = std::min(reader_end[producer.index()], end[id.index()]);
        }
      }
    }
  }

  void count_uses() {
    for (size_t t = 0; t < graph_.tensor_count(); ++t) {
      const Tensor& tensor = graph_.tensor(TensorId(t));
      // Buffers of the caller are never overwritten nor given to others, nor is scratch space.
      const bool lies_elsewhere =
          !tensor.producer.valid() || is_scratch(graph_.op(tensor.producer));
      uses_[t] = tensor.is_output || lies_elsewhere ? 1 : 0;
    }
    for (const Op& op : graph_.ops()) {
      for (const TensorId input : op.inputs) {
        if (input.valid()) {
          ++uses_[input.index()];
        }
      }
    }
  }

  // The buffer that holds the tensor: itself where nothing was decided, as for inputs.
  TensorId buffer_of(TensorId tensor) const {
    const TensorId buffer = plan_.buffer[tensor.index()];
    return buffer.valid() ? buffer : tensor;
  }

  bool is_sized(TensorId tensor) const { return unsized_.empty() || !unsized_[tensor.index()]; }

  using Size = std::pair<int64_t, std::vector<int64_t>>;

  // Width of an element and extents. std::nullopt: not known when the planner runs.
  std::optional<Size> size_of(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    return is_sized(id) && tensor.shape.is_static() && !tensor.is_sequence
               ? std::optional(Size(dtype_bits(tensor.dtype), tensor.shape.extents()))
               : std::nullopt;
  }

  bool same_size(TensorId a, TensorId b) const {
    const auto size = size_of(a);
    return size && size == size_of(b);
  }

  void add_free(TensorId buffer) {
    if (auto size = size_of(buffer)) {
      free_[*std::move(size)].push_back(buffer);
    }
  }

  // The buffer of the tensor's size that was freed last.
  TensorId take_free(TensorId tensor) {
    const auto size = size_of(tensor);
    const auto it = size ? free_.find(*size) : free_.end();
    if (it == free_.end() || it->second.empty()) {
      return TensorId();
    }
    const TensorId buffer = it->second.back();
    it->second.pop_back();
    return buffer;
  }

  void share(TensorId tensor, TensorId buffer) {
    plan_.buffer[tensor.index()] = buffer;
    uses_[buffer.index()] += uses_[tensor.index()];
  }

  void place_outputs(OpId id) {
    const Op& op = graph_.op(id);
    if (is_scratch(op)) {
      return;
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const TensorId output = op.outputs[i];
      if (!output.valid()) {
        continue;
      }
      plan_.buffer[output.index()] = output;
      if (graph_.tensor(output).is_output) {
        continue;
      }
      if (const TensorId operand = i == 0 ? operand_for(op, output) : TensorId(); operand.valid()) {
        share(output, buffer_of(operand));
        continue;
      }
      if (const TensorId buffer = take_free(output); buffer.valid()) {
        share(output, buffer);
      }
    }
  }

  // The operand whose buffer the first output takes.
  TensorId operand_for(const Op& op, TensorId output) const {
    if (is_alias(op) && !op.inputs.empty()) {
      return op.inputs[0];
    }
    const TensorId operand = overwritten(op);
    const bool fits =
        operand.valid() && uses_[buffer_of(operand).index()] == 1 && same_size(operand, output);
    return fits ? operand : TensorId();
  }

  void free_unread(OpId id) {
    const Op& op = graph_.op(id);
    for (const TensorId input : op.inputs) {
      if (input.valid()) {
        const TensorId buffer = buffer_of(input);
        if (--uses_[buffer.index()] == 0) {
          add_free(buffer);
        }
      }
    }
    for (const TensorId output : op.outputs) {
      if (output.valid() && uses_[output.index()] == 0 && plan_.buffer[output.index()] == output) {
        add_free(output);
      }
    }
  }

  // Buffers live from their first tensor until the last reader of any of their tensors is done.
  Status find_peak() {
    std::vector<size_t> last(graph_.tensor_count(), 0);
    for (size_t step = 0; step < plan_.order.size(); ++step) {
      for (const TensorId output : graph_.op(plan_.order[step]).outputs) {
        if (output.valid()) {
          last[buffer_of(output).index()] = step;
        }
      }
      for (const OpId id : ending_[step]) {
        for (const TensorId input : graph_.op(id).inputs) {
          if (input.valid()) {
            last[buffer_of(input).index()] = step;
          }
        }
      }
    }
    std::vector<std::vector<TensorId>> ends(plan_.order.size());
    Count in_use(0);
    Bytes level = 0;
    for (size_t step = 0; step < plan_.order.size(); ++step) {
      const OpId id = plan_.order[step];
      for (const TensorId output : graph_.op(id).outputs) {
        const Tensor* const tensor = output.valid() ? &graph_.tensor(output) : nullptr;
        if (tensor == nullptr || plan_.buffer[output.index()] != output ||
            !tensor->shape.is_static()) {
          continue;
        }
        const Count bytes = tensor->bytes();
        in_use = Count(level) + bytes;
        if (bytes.overflowed() || in_use.overflowed()) {
          return invalid_input(
              fmt::format("'{}': the tensors alive when it runs overflow a 64-bit "
                          "count of bytes",
                          graph_.op(id).name));
        }
        level = in_use.value();
        if (!tensor->is_output) {
          ends[last[output.index()]].push_back(output);
        }
      }
      if (level > plan_.peak_bytes) {
        plan_.peak_bytes = level;
        plan_.peak_op = id;
      }
      for (const TensorId buffer : ends[step]) {
        level -= graph_.tensor(buffer).bytes().value();
      }
    }
    return ok_status();
  }

  const Graph& graph_;
  const std::vector<bool>& unsized_;
  ArenaPlan plan_;
  std::vector<std::vector<OpId>> ending_;       // by step: operators that are done with operands
  std::vector<int64_t> uses_;                   // by buffer: how often it is still read
  std::map<Size, std::vector<TensorId>> free_;  // newest last
};

}  // namespace

StatusOr<ArenaPlan> plan_arena(const Graph& graph, const std::vector<bool>& unsized) {
  return Planner(graph, unsized).run();
}

}  // namespace dfsim::inline graphs
