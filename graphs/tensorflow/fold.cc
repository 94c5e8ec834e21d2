// What follows a convolution or a matrix product and goes into its parameters: biases, scales and
// batch normalisation of inference. Variables count as frozen, as they are when a model is
// deployed; TensorFlow's own optimiser, TensorFlow Lite and converters do the same.
#include <algorithm>

#include "graphs/tensorflow/translator_internal.h"

namespace dfsim::inline graphs {
namespace {

bool is_convolution(const Op& op) {
  return op.domain.empty() && (op.op_type == "Conv" || op.op_type == "ConvTranspose");
}

bool is_matrix_product(const Op& op) {
  return op.domain.empty() && (op.op_type == "MatMul" || op.op_type == "Gemm");
}

bool is_batch_norm(const std::string& type) { return type.starts_with("FusedBatchNorm"); }

bool is_sum(const std::string& type) {
  return type == "BiasAdd" || type == "Add" || type == "AddV2" || type == "Sub";
}

}  // namespace

// Nobody else sees the value, neither under this name nor under an earlier one.
bool Translator::read_once(Source source) const {
  constexpr int kMostSteps = 100;
  for (int step = 0; step < kMostSteps; ++step) {
    if (source.is_argument() || use(source).count != 1) {
      return false;
    }
    const TfNode& node = graph_.node(source.node);
    if (const auto it = folded_.find(source.node); it != folded_.end()) {
      source = it->second;
    } else if (is_identity_op(node.def->op()) && !node.inputs.empty()) {
      source = node.inputs[0];
    } else {
      return true;
    }
  }
  return false;
}

// [C], or the same with extents of 1 in front.
bool Translator::is_per_channel(ValueId operand, int64_t channels) const {
  const Shape shape = emitter_.shape(operand);
  if (!shape.is_static() || shape.rank() == 0) {
    return false;
  }
  return shape[shape.rank() - 1].extent() == channels && shape.elements() == Count(channels);
}

bool Translator::fold_into_product(int32_t node) {
  const std::string& type = graph_.op(node);
  const bool norm = is_batch_norm(type);
  if (!norm && !is_sum(type) && type != "Mul") {
    return false;
  }
  NodeContext context(emitter_, *graph_.node(node).def, name_of(node), inputs_of(node));
  const auto& sources = graph_.node(node).inputs;
  if (sources.size() < 2 ||
      (norm && (context.attr_bool("is_training", true) || sources.size() < 5))) {
    return false;
  }
  for (size_t side = 0; side < (norm || type == "Sub" || type == "BiasAdd" ? 1 : 2); ++side) {
    if (!context.has_input(side) || !read_once(sources[side])) {
      continue;
    }
    const Value& x = emitter_.value(context.input(side));
    const TensorId result = x.channels_first.valid() ? x.channels_first : x.plain;
    // Only the layout that the product itself has: nobody has asked for another.
    if (!result.valid() || (x.channels_first.valid() && x.plain.valid())) {
      continue;
    }
    GraphBuilder& builder = emitter_.builder();
    const Shape shape = builder.tensor(result).shape;
    const OpId producer = builder.tensor(result).producer;
    if (!producer.valid() || !shape.is_static() || shape.rank() < 2) {
      continue;
    }
    const bool conv = is_convolution(builder.op(producer));
    const bool product = is_matrix_product(builder.op(producer)) && shape.rank() == 2;
    const bool has_bias = builder.op(producer).inputs.size() > 2;
    // A Conv of a graph in NCHW order is broadcast to along its last axis.
    const bool layout_fits = product || x.channels_first.valid() || norm || type == "BiasAdd";
    const size_t first = norm ? 1 : 1 - side;
    const size_t last = norm ? 5 : first + 1;
    bool fits = (conv || (product && is_sum(type) && !has_bias)) && layout_fits;
    for (size_t i = first; fits && i < last; ++i) {
      const TensorId operand = emitter_.plain(context.input(i));
      fits = operand.valid() && emitter_.is_fixed(operand) &&
             is_per_channel(context.input(i), shape[1].extent());
    }
    if (!fits) {
      continue;
    }
    if (!has_bias && type != "Mul") {
      const TensorId bias =
          emitter_.reshaped(emitter_.plain(context.input(norm ? 2 : first)), {shape[1].extent()});
      Op& op = builder.op(producer);
      op.op_type = op.op_type == "MatMul" ? "Gemm" : op.op_type;
      op.inputs.push_back(bias);
    }
    values_[node] = {context.input(side)};
    if (norm) {
      for (size_t i = 1; i < 6; ++i) {
        values_[node].push_back(context.input(i % 2 == 1 ? 3 : 4));
      }
    }
    folded_[node] = sources[side];
    return true;
  }
  return false;
}

}  // namespace dfsim::inline graphs
