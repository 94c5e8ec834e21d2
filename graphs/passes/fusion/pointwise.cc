// Fuses elementwise operators as a compiler of kernels does (TorchInductor, XLA): one kernel for a
// chain of them, and for a reduction or normalisation with the chains before and after it. Such
// kernels index their operands as they like, so copies into another layout and resampling are
// elements of chains, too.
//
// A tensor in between that something else reads ends a chain, unless an operator with
// that operand alone reads it: one kernel then writes both results (a skip connection and its
// norm).
#include <algorithm>
#include <cmath>
#include <string>

#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/ops/op_def.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

bool resamples(const Op& op) { return op.op_type == "Resize" && op.domain.empty(); }

bool copies(const Op& op) {
  return resamples(op) || (op.op_type == "Pad" && op.domain.empty()) ||
         (op.op_type == "contiguous" && op.domain == kAten);
}

// QuantizeLinear and DequantizeLinear scale and round each element on its own.
bool is_pointwise(const Op& op) {
  const bool scales = op.op_type == "BatchNormalization" || op.op_type == "QuantizeLinear" ||
                      op.op_type == "DequantizeLinear";
  return op.op_class == OpClass::kElementwise || (scales && op.domain.empty()) || copies(op);
}

// The compiled operator that a reduction becomes; "" for what is none.
std::string_view reduction_type(const Op& op) {
  if (is_pointwise(op)) {
    return "";
  }
  const bool averages = op.op_type == "GlobalAveragePool" && op.domain.empty();
  return averages                           ? "reduction"
         : op.op_class == OpClass::kNorm    ? "norm"
         : op.op_class == OpClass::kSoftmax ? "softmax"
         : op.op_class == OpClass::kReduce  ? "reduction"
                                            : "";
}

class PointwiseFuser {
 public:
  explicit PointwiseFuser(EditableGraph& graph) : graph_(graph) {}

  void run() {
    for (OpId id : graph_.ops()) {
      if (!graph_.alive(id) || !has_one_result(graph_.op(id))) {
        continue;
      }
      const std::string_view reduction = reduction_type(graph_.op(id));
      if (is_pointwise(graph_.op(id))) {
        id = absorb_producers(compiled(id), "pointwise");
        absorb_into_reduction(id);
      } else if (!reduction.empty()) {
        absorb_producers(id, reduction);
      }
    }
    // By now, a normalisation contains the chain that follows it.
    for (const OpId id : graph_.ops()) {
      if (graph_.alive(id) && has_one_result(graph_.op(id))) {
        const bool pointwise = is_pointwise(graph_.op(id));
        absorb_skip(id, pointwise ? "pointwise" : std::string(reduction_type(graph_.op(id))));
      }
    }
  }

 private:
  bool has_one_result(const Op& op) const {
    return !op.outputs.empty() && op.outputs[0].valid() &&
           graph_.shape(op.outputs[0]).is_static() &&
           std::all_of(op.outputs.begin() + 1, op.outputs.end(), [&](TensorId id) {
             return !id.valid() || (graph_.readers(id).empty() && !graph_.tensor(id).is_output);
           });
  }

  int64_t elements(TensorId id) const {
    return graph_.shape(id).is_static() ? graph_.shape(id).elements().value() : 0;
  }

  int64_t flops(const Op& op) const {
    if (op.domain == kCompiled) {
      return op.attributes.int_or("flops", 0);
    }
    const OpDef* def = find_op_def(op.domain, op.op_type);
    const double each = def != nullptr && def->flops_per_element > 0 ? def->flops_per_element : 2;
    const double total =
        each * static_cast<double>(std::max(elements(op.outputs[0]),
                                            op.inputs.empty() ? 0 : elements(op.inputs[0])));
    return std::llround(std::min(total, 9e18));
  }

  bool only_reader(TensorId id, OpId reader) const {
    const auto readers = graph_.readers(id);
    return !graph_.tensor(id).is_output && !readers.empty() &&
           std::all_of(readers.begin(), readers.end(), [&](OpId r) { return r == reader; });
  }

  // `keeps`: others read the producer's result, too.
  OpId merge(OpId producer, OpId reader, std::string_view type, bool keeps = false) {
    const Op& first = graph_.op(producer);
    const Op& second = graph_.op(reader);
    Op fused;
    fused.domain = kCompiled;
    fused.op_type = type;
    fused.outputs = {second.outputs[0]};
    if (keeps) {
      fused.outputs.push_back(first.outputs[0]);
    }
    for (const Op* op : {&first, &second}) {
      for (const TensorId input : op->inputs) {
        const bool there =
            std::find(fused.inputs.begin(), fused.inputs.end(), input) != fused.inputs.end();
        if (input.valid() && input != first.outputs[0] && !there) {
          fused.inputs.push_back(input);
        }
      }
    }
    fused.attributes.set("flops", flops(first) + flops(second));
    if (first.attributes.int_or(kEngineKernel, 0) + second.attributes.int_or(kEngineKernel, 0) >
        0) {
      fused.attributes.set(std::string(kEngineKernel), int64_t{1});
    }
    return graph_.fuse({producer, reader}, std::move(fused));
  }

  // Resampling alone: no framework's kernel, which may be far slower.
  OpId compiled(OpId id) {
    if (!resamples(graph_.op(id))) {
      return id;
    }
    Op fused;
    fused.domain = kCompiled;
    fused.op_type = "pointwise";
    fused.inputs = {graph_.op(id).inputs[0]};
    fused.outputs = {graph_.op(id).outputs[0]};
    fused.attributes.set("flops", flops(graph_.op(id)));
    return graph_.fuse({id}, std::move(fused));
  }

  // The only activation among the operands of `id`, or none.
  TensorId only_activation(OpId id) const {
    TensorId only;
    for (const TensorId input : graph_.op(id).inputs) {
      if (input.valid() && !graph_.is_parameter(input)) {
        if (only.valid() && only != input) {
          return {};
        }
        only = input;
      }
    }
    return only;
  }

  // An elementwise operator before another or a reduction, whose result others read, too: one
  // kernel with two results. The second reads nothing else, so no other reader can come between.
  void absorb_skip(OpId id, const std::string& type) {
    const TensorId input = only_activation(id);
    const OpId producer = input.valid() ? graph_.producer(input) : OpId();
    if (type.empty() || !producer.valid() || !is_pointwise(graph_.op(producer)) ||
        !has_one_result(graph_.op(producer)) || graph_.op(producer).inputs.empty() ||
        graph_.tensor(input).is_output) {
      return;
    }
    merge(producer, id, type, /*keeps=*/true);
  }

  // Elementwise operators whose result only `id` reads become part of it.
  OpId absorb_producers(OpId id, std::string_view type) {
    for (bool changed = true; changed;) {
      changed = false;
      const std::vector<TensorId> inputs = graph_.op(id).inputs;
      for (const TensorId input : inputs) {
        const OpId producer = graph_.producer(input);
        if (!producer.valid() || !is_pointwise(graph_.op(producer)) ||
            !has_one_result(graph_.op(producer)) || graph_.op(producer).inputs.empty() ||
            !only_reader(input, id)) {
          continue;
        }
        id = merge(producer, id, type);
        changed = true;
        break;
      }
    }
    return id;
  }

  // A chain after a normalisation that has its shape becomes part of it.
  void absorb_into_reduction(OpId id) {
    const std::vector<TensorId> inputs = graph_.op(id).inputs;
    for (const TensorId input : inputs) {
      const OpId producer = graph_.producer(input);
      if (!producer.valid() || !has_one_result(graph_.op(producer)) || !only_reader(input, id) ||
          elements(input) != elements(graph_.op(id).outputs[0])) {
        continue;
      }
      const std::string type(reduction_type(graph_.op(producer)));
      if (!type.empty()) {
        merge(producer, id, type);
        return;
      }
    }
  }

  EditableGraph& graph_;
};

}  // namespace

void fuse_pointwise(EditableGraph& graph) { PointwiseFuser(graph).run(); }

}  // namespace dfsim::inline graphs
