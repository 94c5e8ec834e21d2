// Two sweeps: forwards to find what is constant, backwards from the outputs to find what lives.
// Rebuilder then copies the rest. Dequantisation of a weight is not folded, because runtimes
// multiply in 8 bits, and nothing is constant in a graph that updates its weights. A graph that
// training will extend keeps what computes with a weight, because each step computes it again.
#include "graphs/passes/cleanup/prune.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "graphs/ir/graph_builder.h"
#include "graphs/ops/families/extensions/tensorflow_ops.h"

namespace dfsim::inline graphs {
namespace {

constexpr std::array<std::string_view, 5> kRandomOps = {
    "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli"};

// Results hold the bytes of the first operand as they are, or in another order.
bool changes_layout_only(const Op& op) {
  return op.op_class == OpClass::kView || op.op_type == "Transpose";
}

// Facts about tensors before the first run.
struct Fixed {
  std::vector<bool> constant;  // the same in every run
  std::vector<bool> trained;   // of those, made of weights that steps of training change

  bool reads_trained(const Op& op) const {
    return std::any_of(op.inputs.begin(), op.inputs.end(),
                       [&](TensorId id) { return id.valid() && trained[id.index()]; });
  }
};

bool is_foldable(const Graph& graph, const Op& op, const Fixed& fixed) {
  // A weight that is dequantised belongs to the operator that reads it: runtimes multiply in 8
  // bits.
  if (op.op_class == OpClass::kControlFlow || op.op_type == "DequantizeLinear" ||
      std::find(kRandomOps.begin(), kRandomOps.end(), op.op_type) != kRandomOps.end()) {
    return false;
  }
  const bool values_known = std::all_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
    return !id.valid() || graph.constant(id) != nullptr;
  });
  const bool inputs_constant = std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
    return !id.valid() || fixed.constant[id.index()];
  });
  const bool fits_training = changes_layout_only(op) || !fixed.reads_trained(op);
  const bool shapes_known = std::all_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
    return !id.valid() || graph.tensor(id).shape.is_static();
  });
  return values_known || (inputs_constant && fits_training && shapes_known);
}

// A weight or bias that an Identity stands for, next to activations in 8 bits. ONNX Runtime
// quantises parameters left in fp32 (the pass qdq-parameters) before it folds anything, and does
// not see this one.
bool hides_parameter(const Graph& graph, const Op& op) {
  if (op.op_type != "Identity" || !op.domain.empty() || op.outputs.size() != 1) {
    return false;
  }
  const auto readers = graph.consumers(op.outputs[0]);
  return std::any_of(readers.begin(), readers.end(), [&](OpId id) {
    const Op& reader = graph.op(id);
    const OpId maker = reader.inputs[0].valid() ? graph.tensor(reader.inputs[0]).producer : OpId();
    return reader.inputs[0] != op.outputs[0] && maker.valid() &&
           graph.op(maker).op_type == "DequantizeLinear" &&
           (reader.op_type == "Conv" || reader.op_type == "ConvTranspose" ||
            reader.op_type == "Gemm");
  });
}

// Weights of a graph that updates them are not constants.
bool is_training(const Graph& graph) {
  const auto& metadata = graph.info().metadata;
  return std::any_of(metadata.begin(), metadata.end(),
                     [](const auto& entry) { return entry.first == kTrainingKey; });
}

// For each tensor the weight whose bytes it shows, itself when it owns them.
std::vector<TensorId> storage_roots(const Graph& graph) {
  std::vector<TensorId> roots(graph.tensor_count());
  for (size_t t = 0; t < roots.size(); ++t) {
    roots[t] = TensorId(t);
  }
  for (const Op& op : graph.ops()) {
    if (changes_layout_only(op) && !op.inputs.empty() && !op.outputs.empty() &&
        op.inputs[0].valid() && op.outputs[0].valid()) {
      roots[op.outputs[0].index()] = roots[op.inputs[0].index()];
    }
  }
  return roots;
}

// Rebuilds a graph from the ops to keep and the tensors they touch.
class Rebuilder {
 public:
  Rebuilder(const Graph& graph, const OpenDims& open, const PruneOptions& options)
      : graph_(graph),
        open_(open),
        options_(options),
        roots_(storage_roots(graph)),
        new_ids_(graph.tensor_count()) {
    builder_.info() = graph.info();
  }

  StatusOr<Graph> run(const std::vector<bool>& keep, const Fixed& fixed) {
    const std::vector<bool>& constant = fixed.constant;
    for (size_t t = 0; t < constant.size(); ++t) {
      is_weight_.push_back(!options_.for_training || fixed.trained[t]);
    }
    for (const TensorId input : graph_.inputs()) {
      builder_.mark_input(copy(input, false));
    }
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      if (!keep[i]) {
        continue;
      }
      Op op = graph_.op(OpId(i));
      for (size_t at = 0; at < op.inputs.size(); ++at) {
        TensorId& input = op.inputs[at];
        if (at == 1 && open_.is_constant_reshape(OpId(i))) {
          input = fixed_shape(op);
        } else {
          input = input.valid() ? copy(input, constant[input.index()]) : input;
        }
      }
      for (TensorId& output : op.outputs) {
        output = output.valid() ? copy(output, false) : output;
      }
      DFSIM_RETURN_IF_ERROR(builder_.add_op(std::move(op)).status());
    }
    for (const TensorId output : graph_.outputs()) {
      builder_.mark_output(copy(output, constant[output.index()]));
    }
    return builder_.build();
  }

 private:
  TensorId copy(TensorId id, bool constant) {
    TensorId& new_id = new_ids_[id.index()];
    if (new_id.valid()) {
      return new_id;
    }
    Tensor tensor = graph_.tensor(id);
    tensor.producer = OpId();
    tensor.is_input = false;
    tensor.is_output = false;
    tensor.is_replaceable = tensor.is_replaceable && options_.for_onnxruntime;
    if (constant && tensor.role == TensorRole::kActivation) {
      const bool weight = graph_.constant(id) == nullptr && is_weight_[id.index()];
      tensor.role = weight ? TensorRole::kWeight : TensorRole::kConstant;
    }
    if (tensor.role != TensorRole::kActivation && tensor.storage_key == 0) {
      tensor.storage_key = roots_[id.index()].value() + 1;
    }
    new_id = builder_.add_tensor(std::move(tensor));
    const bool known = open_.empty() || constant || tensor_is_parameter(id);
    if (const ConstValue* value = known ? graph_.constant(id) : nullptr) {
      builder_.set_constant(new_id, *value);
    }
    return new_id;
  }

  bool tensor_is_parameter(TensorId id) const {
    return graph_.tensor(id).role != TensorRole::kActivation;
  }

  // ONNX Runtime writes 0 and -1 instead of a shape that is computed in each run. This takes the
  // value of these extents: the result is the same.
  TensorId fixed_shape(const Op& reshape) {
    const Shape& result = graph_.tensor(reshape.outputs[0]).shape;
    Tensor tensor = graph_.tensor(reshape.inputs[1]);
    tensor.name = reshape.name + "/fixed_shape";
    tensor.producer = OpId();
    tensor.is_input = false;
    tensor.is_output = false;
    tensor.role = TensorRole::kConstant;
    const TensorId id = builder_.add_tensor(std::move(tensor));
    builder_.set_constant(id, ConstValue{DType::kInt64, {result.rank()}, result.extents(), {}});
    return id;
  }

  const Graph& graph_;
  const OpenDims& open_;
  const PruneOptions options_;
  std::vector<TensorId> roots_;
  GraphBuilder builder_;
  std::vector<TensorId> new_ids_;
  std::vector<bool> is_weight_;  // what is folded to a tensor of unknown value counts as a weight
};

// Backwards from the outputs: an op lives when something that lives reads it. ONNX Runtime also
// executes the operators of the file whose results no operator reads, and those before them; it
// drops those that lost their readers when it folded constants. It never sees those of a TensorFlow
// graph, which converters leave out. Returns how many it takes out of `keep`.
size_t drop_dead(const Graph& graph, const OpenDims& open, const PruneOptions& options,
                 std::vector<bool>* keep) {
  std::vector<bool> needed(graph.tensor_count(), false);
  for (const TensorId output : graph.outputs()) {
    needed[output.index()] = true;
  }
  const bool unread_live =
      options.for_onnxruntime && !graph.info().producer.starts_with("tensorflow");
  size_t dead = 0;
  for (size_t i = graph.op_count(); i-- > 0;) {
    const Op& op = graph.op(OpId(i));
    if (!(*keep)[i]) {
      continue;
    }
    const bool lives = std::any_of(op.outputs.begin(), op.outputs.end(),
                                   [&](TensorId id) { return id.valid() && needed[id.index()]; });
    const bool unread = std::all_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
      return !id.valid() || graph.consumers(id).empty();
    });
    if (!lives && !(unread_live && unread)) {
      (*keep)[i] = false;
      ++dead;
      continue;
    }
    for (size_t at = 0; at < op.inputs.size(); ++at) {
      if (op.inputs[at].valid() && !(at == 1 && open.is_constant_reshape(OpId(i)))) {
        needed[op.inputs[at].index()] = true;
      }
    }
  }
  return dead;
}

}  // namespace

StatusOr<PruneResult> prune(const Graph& graph, const OpenDims& open, const PruneOptions& options) {
  Fixed fixed = {std::vector<bool>(graph.tensor_count()), std::vector<bool>(graph.tensor_count())};
  const bool training = is_training(graph);
  for (size_t t = 0; t < graph.tensor_count(); ++t) {
    const Tensor& tensor = graph.tensor(TensorId(t));
    if (options.for_onnxruntime && tensor.is_replaceable) {
      continue;
    }
    const bool is_weight = tensor.role == TensorRole::kWeight;
    fixed.constant[t] = tensor.role == TensorRole::kConstant || (is_weight && !training);
    fixed.trained[t] = options.for_training && is_weight && is_floating(tensor.dtype);
  }
  PruneResult result;
  std::vector<bool> keep(graph.op_count(), true);
  for (size_t i = 0; i < graph.op_count(); ++i) {
    const Op& op = graph.op(OpId(i));
    if (open.is_constant(OpId(i)) && is_foldable(graph, op, fixed) &&
        !(options.for_onnxruntime && hides_parameter(graph, op))) {
      keep[i] = false;
      ++result.folded_ops;
      for (const TensorId output : op.outputs) {
        if (output.valid()) {
          fixed.constant[output.index()] = true;
          fixed.trained[output.index()] = fixed.reads_trained(op);
        }
      }
    }
  }
  result.dead_ops = drop_dead(graph, open, options, &keep);
  DFSIM_ASSIGN_OR_RETURN(result.graph, Rebuilder(graph, open, options).run(keep, fixed));
  return result;
}

}  // namespace dfsim::inline graphs
