// Operators join the kernel of a producer one after the other, in the order of the step. Two
// kernels become one if no operator outside reads from the joint kernel before its last operator:
// whatever comes later cannot be an operand of it, so the graph stays free of cycles.
//
// Normalisations are split first. A batch normalisation with its own statistics: sums by channel, a
// kernel that may contain what makes its operand, and arithmetic by element, which joins what
// follows; the same with gradients. Gradients of other normalisations: that of the operand goes
// along rows, the sums for scale and offset across them.
#include "graphs/training/step_kernels.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graphs/ops/families/extensions/gradient_ops.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/ops/op_def.h"
#include "graphs/passes/editable_graph.h"
#include "graphs/passes/origins.h"
#include "graphs/training/training_parts.h"

namespace dfsim::inline graphs {
namespace {

constexpr std::string_view kPointwise = "pointwise";
constexpr std::string_view kReduction = "reduction";

constexpr std::string_view kNorm = "norm";
// By channel, over all of the batch: what reads the sums has to wait for the whole kernel.
constexpr std::string_view kChannelSums = "sums";
constexpr std::string_view kByChannel = "by_channel";  // attribute of a reduction

bool copies_elements(const Op& op) {
  return ((op.op_type == "Transpose" || op.op_type == "Expand") && op.domain.empty()) ||
         (op.op_type == "contiguous" && op.domain == kAten);
}

bool has_own_statistics(const Op& op) {
  return op.op_type == "BatchNormalization" && op.attributes.int_or(kOwnStatistics, 0) != 0;
}

bool is_norm_gradient(const Op& op) {
  return op.op_type == "NormGrad" && op.domain == kTrainingDomain && op.outputs.size() > 1;
}

// The compiled operator that `op` can become part of; "" for what stays a call.
std::string_view kernel_type(const Op& op) {
  if (op.op_class == OpClass::kElementwise || copies_elements(op)) {
    return kPointwise;
  }
  switch (op.op_class) {
    case OpClass::kSoftmax:
      return "softmax";
    case OpClass::kNorm:
      return op.op_type == "BatchNormalization" ? kPointwise : kNorm;
    case OpClass::kReduce:
      return op.attributes.int_or(kByChannel, 0) != 0 ? kChannelSums : kReduction;
    default:
      return "";
  }
}

struct Kernel {
  std::vector<OpId> ops;  // in the order of the step; empty: joined another
  std::string_view type;
  TrainingPass pass = TrainingPass::kForward;
  int64_t elements = 0;
  size_t last = 0;  // position of the last operator
};

class StepFuser {
 public:
  explicit StepFuser(const Graph& step) : graph_(step) {}

  StatusOr<Graph> run() {
    for (const OpId id : graph_.ops()) {
      split_norm(id);
    }
    for (const OpId id : graph_.ops()) {
      keep_narrow(id);
    }
    order_ = graph_.ops();
    size_t most = 0;
    for (const OpId id : order_) {
      most = std::max(most, id.index() + 1);
    }
    position_.resize(most);
    kernel_of_.assign(most, kNone);
    for (size_t p = 0; p < order_.size(); ++p) {
      position_[order_[p].index()] = p;
    }
    for (const OpId id : order_) {
      start_kernel(id);
      for (size_t i = 0; i < graph_.op(id).inputs.size(); ++i) {
        join_producer(id, i);
      }
    }
    for (const Kernel& kernel : kernels_) {
      if (kernel.ops.size() > 1) {
        emit(kernel);
      }
    }
    return graph_.finish();
  }

 private:
  static constexpr size_t kNone = ~size_t{0};

  int64_t elements(TensorId id) const {
    return id.valid() && graph_.shape(id).is_static() ? graph_.shape(id).elements().value() : 0;
  }

  Op compiled(std::string_view type, TrainingPass pass) const {
    Op fused;
    fused.domain = kCompiled;
    fused.op_type = type;
    fused.version = 1;
    fused.attributes.set(std::string(kPassAttribute), static_cast<int64_t>(pass));
    return fused;
  }

  // Sums of `inputs` across rows or, by channel, over batch and pixels.
  void add_sums(const Op& op, bool by_channel, std::vector<TensorId> inputs,
                std::vector<TensorId> sums) {
    Op added = compiled(kReduction, training_pass(op));
    if (by_channel) {
      added.attributes.set(std::string(kByChannel), int64_t{1});
    }
    added.name = op.name + "/sums";
    added.attributes.set("flops", 4 * elements(inputs[0]));
    added.inputs = std::move(inputs);
    added.outputs = std::move(sums);
    set_origins(&added, origins_of(op));
    graph_.keep_unread(graph_.add_op(std::move(added)));
  }

  void split_norm(OpId id) {
    const Op op = graph_.op(id);
    if (has_own_statistics(op) && op.inputs.size() >= 2) {
      const TensorId statistics =
          graph_.add_tensor(op.name + "/statistics", DType::kFloat32, graph_.shape(op.inputs[1]));
      replace(id, kPointwise, {op.inputs[0], statistics}, op.outputs[0]);
      add_sums(op, true, {op.inputs[0]}, {statistics});
    } else if (is_norm_gradient(op)) {
      const bool by_channel = op.attributes.string_or("of", "") == "BatchNormalization";
      const std::vector<TensorId> sums(op.outputs.begin() + 1, op.outputs.end());
      std::vector<TensorId> operands(op.inputs);
      if (by_channel) {
        operands.insert(operands.end(), sums.begin(), sums.end());
      }
      replace(id, by_channel ? kPointwise : kNorm, std::move(operands), op.outputs[0]);
      add_sums(op, by_channel, {op.inputs[0], op.inputs[1]}, sums);
    }
  }

  // Leaves arithmetic of a normalisation, by element or along rows.
  void replace(OpId id, std::string_view type, std::vector<TensorId> inputs, TensorId result) {
    Op left = compiled(type, training_pass(graph_.op(id)));
    left.inputs = std::move(inputs);
    left.outputs = {result};
    left.attributes.set("flops", 4 * elements(result));
    graph_.fuse({id}, std::move(left));
  }

  // The backward pass reads the 16-bit copy of a result that autocast makes, and casts it again.
  void keep_narrow(OpId id) {
    const Op& op = graph_.op(id);
    if (op.op_type != "Cast" || training_pass(op) != TrainingPass::kForward) {
      return;
    }
    const TensorId wide = op.inputs[0];
    const TensorId narrow = op.outputs[0];
    if (graph_.is_parameter(wide) || graph_.tensor(wide).dtype != DType::kFloat32 ||
        dtype_bits(graph_.tensor(narrow).dtype) != 16) {
      return;
    }
    const std::vector<OpId> readers(graph_.readers(wide).begin(), graph_.readers(wide).end());
    for (const OpId reader : readers) {
      if (training_pass(graph_.op(reader)) != TrainingPass::kBackward ||
          kernel_type(graph_.op(reader)).empty()) {
        continue;  // a call takes the type that it was given
      }
      for (size_t i = 0; i < graph_.op(reader).inputs.size(); ++i) {
        if (graph_.op(reader).inputs[i] == wide) {
          graph_.set_input(reader, i, narrow);
        }
      }
    }
  }

  // Operators that read the elements, behind those that move none.
  std::vector<OpId> readers_of(TensorId id) const {
    std::vector<OpId> found;
    for (const OpId reader : graph_.readers(id)) {
      const Op& op = graph_.op(reader);
      if (op.op_class != OpClass::kView) {
        found.push_back(reader);
        continue;
      }
      for (const TensorId output : op.outputs) {
        const std::vector<OpId> behind = readers_of(output);
        found.insert(found.end(), behind.begin(), behind.end());
      }
    }
    return found;
  }

  bool leaves_step(TensorId id) const {
    const auto readers = graph_.readers(id);
    return graph_.tensor(id).is_output || std::any_of(readers.begin(), readers.end(), [&](OpId r) {
             const Op& op = graph_.op(r);
             return op.op_class == OpClass::kView &&
                    std::any_of(op.outputs.begin(), op.outputs.end(),
                                [this](TensorId output) { return leaves_step(output); });
           });
  }

  // The tensor whose elements `id` shows, all of them.
  TensorId source_of(TensorId id) const {
    while (id.valid() && graph_.producer(id).valid() &&
           graph_.op(graph_.producer(id)).op_class == OpClass::kView &&
           elements(graph_.op(graph_.producer(id)).inputs[0]) == elements(id)) {
      id = graph_.op(graph_.producer(id)).inputs[0];
    }
    return id;
  }

  size_t kernel_of(OpId id) const { return id.valid() ? kernel_of_[id.index()] : kNone; }

  void start_kernel(OpId id) {
    const Op& op = graph_.op(id);
    if (op.op_type == "Dropout" && op.outputs.size() > 1) {
      masks_.insert(op.outputs[1]);
    }
    const std::string_view type = kernel_type(op);
    if (type.empty() || op.inputs.empty() || op.outputs.empty()) {
      return;
    }
    // A reduction walks over its operand, everything else over its result.
    const bool sums = type == kReduction || type == kChannelSums;
    const TensorId walked = sums ? op.inputs[0] : op.outputs[0];
    if (elements(walked) <= 0) {
      return;
    }
    kernel_of_[id.index()] = kernels_.size();
    kernels_.push_back({{id}, type, training_pass(op), elements(walked), position_[id.index()]});
  }

  bool is_mask(TensorId id) const { return masks_.contains(id); }

  // Nothing outside reads from either kernel before `last`.
  bool stays_acyclic(size_t a, size_t b, size_t last) const {
    for (const size_t k : {a, b}) {
      for (const OpId id : kernels_[k].ops) {
        for (const TensorId output : graph_.op(id).outputs) {
          for (const OpId reader : readers_of(output)) {
            const size_t of_reader = kernel_of(reader);
            if (of_reader != a && of_reader != b && position_[reader.index()] < last) {
              return false;
            }
          }
        }
      }
    }
    return true;
  }

  bool only_reader(TensorId id, size_t kernel) const {
    const std::vector<OpId> readers = readers_of(id);
    return !leaves_step(id) && std::all_of(readers.begin(), readers.end(),
                                           [&](OpId r) { return kernel_of(r) == kernel; });
  }

  // Sums over rows walk in another order than what else reads their operand.
  bool fits(const Kernel& producer, const Kernel& reader, TensorId between,
            size_t reader_id) const {
    const bool one_is_plain = producer.type == kPointwise || reader.type == kPointwise;
    if (!one_is_plain || producer.pass != reader.pass || producer.type == kReduction ||
        producer.type == kChannelSums || producer.elements != reader.elements ||
        elements(between) != reader.elements) {
      return false;
    }
    return reader.type != kReduction || only_reader(between, reader_id);
  }

  void join_producer(OpId id, size_t operand) {
    const TensorId input = source_of(graph_.op(id).inputs[operand]);
    const size_t a = input.valid() ? kernel_of(graph_.producer(input)) : kNone;
    const size_t b = kernel_of(id);
    if (a == kNone || b == kNone || a == b || is_mask(input)) {
      return;
    }
    Kernel& producer = kernels_[a];
    Kernel& reader = kernels_[b];
    const size_t last = std::max(producer.last, reader.last);
    if (!fits(producer, reader, input, b) || !stays_acyclic(a, b, last)) {
      return;
    }
    graph_.set_input(id, operand, input);
    if (producer.type != kPointwise) {
      reader.type = producer.type;
    }
    for (const OpId op : producer.ops) {
      kernel_of_[op.index()] = b;
    }
    reader.ops.insert(reader.ops.begin(), producer.ops.begin(), producer.ops.end());
    reader.last = last;
    producer.ops.clear();
  }

  int64_t flops(const Op& op) const {
    if (op.domain == kCompiled) {
      return op.attributes.int_or("flops", 0);
    }
    const OpDef* def = find_op_def(op.domain, op.op_type);
    const double each = def != nullptr && def->flops_per_element > 0 ? def->flops_per_element : 2;
    const auto count =
        static_cast<double>(std::max(elements(op.outputs[0]), elements(op.inputs[0])));
    return std::llround(std::min(each * count, 9e18));
  }

  static void add_once(TensorId id, std::vector<TensorId>* list) {
    if (id.valid() && std::find(list->begin(), list->end(), id) == list->end()) {
      list->push_back(id);
    }
  }

  // Results that nothing reads, as gradients without an optimiser, count as read.
  bool read_outside(TensorId id, size_t kernel) const {
    const std::vector<OpId> readers = readers_of(id);
    if (leaves_step(id) || (readers.empty() && !is_mask(id))) {
      return true;
    }
    return std::any_of(readers.begin(), readers.end(), [&](OpId reader) {
      const size_t other = kernel_of(reader);
      const bool makes_again = is_mask(id) && other != kNone && kernels_[other].ops.size() > 1;
      return other != kernel && !makes_again;
    });
  }

  void emit(const Kernel& kernel) {
    const size_t self = kernel_of(kernel.ops.front());
    Op fused = compiled(kernel.type == kChannelSums ? kReduction : kernel.type, kernel.pass);
    std::vector<TensorId> made;
    int64_t total = 0;
    for (const OpId id : kernel.ops) {
      const Op& op = graph_.op(id);
      total += flops(op);
      made.insert(made.end(), op.outputs.begin(), op.outputs.end());
    }
    for (const OpId id : kernel.ops) {
      const Op& op = graph_.op(id);
      for (const TensorId input : op.inputs) {
        if (input.valid() && !is_mask(input) &&
            std::find(made.begin(), made.end(), input) == made.end()) {
          add_once(input, &fused.inputs);
        }
      }
      for (const TensorId output : op.outputs) {
        if (output.valid() && read_outside(output, self)) {
          add_once(output, &fused.outputs);
        }
      }
    }
    if (fused.outputs.empty() || fused.inputs.empty()) {
      return;
    }
    fused.attributes.set("flops", total);
    graph_.fuse(kernel.ops, std::move(fused));
  }

  EditableGraph graph_;
  std::vector<OpId> order_;
  std::vector<size_t> position_;   // by operator
  std::vector<size_t> kernel_of_;  // by operator; kNone: a call
  std::vector<Kernel> kernels_;
  std::unordered_set<TensorId> masks_;
};

}  // namespace

StatusOr<Graph> fuse_step_kernels(const Graph& step) { return StepFuser(step).run(); }

}  // namespace dfsim::inline graphs
