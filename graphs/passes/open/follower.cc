// Runs over the operators in order and looks up each one's rule.
#include "graphs/passes/open/follower.h"

#include "graphs/ops/rules.h"

namespace dfsim::inline graphs::open {

const Follower::NamedRule Follower::kRules[] = {
    {"AveragePool", &Follower::window},
    {"Cast", &Follower::same},
    {"Clip", &Follower::same},
    {"Concat", &Follower::concat},
    {"ConstantOfShape", &Follower::filled},
    {"Conv", &Follower::window},
    {"ConvTranspose", &Follower::window},
    {"Einsum", &Follower::lost},
    {"Expand", &Follower::expand},
    {"Flatten", &Follower::flatten},
    {"Gather", &Follower::gather},
    {"GatherElements", &Follower::gather_elements},
    {"GRU", &Follower::recurrent},
    {"Gemm", &Follower::gemm},
    {"GlobalAveragePool", &Follower::pool},
    {"GlobalMaxPool", &Follower::pool},
    {"Identity", &Follower::same},
    {"LSTM", &Follower::recurrent},
    {"LpPool", &Follower::window},
    {"MatMul", &Follower::matmul},
    {"MaxPool", &Follower::window},
    {"NonZero", &Follower::lost},
    {"Pad", &Follower::pad},
    {"RNN", &Follower::recurrent},
    {"Range", &Follower::lost},
    {"Reshape", &Follower::reshape},
    {"Resize", &Follower::resize},
    {"Shape", &Follower::shape},
    {"Slice", &Follower::slice},
    {"Split", &Follower::split},
    {"Squeeze", &Follower::squeeze},
    {"Tile", &Follower::tile},
    {"TopK", &Follower::top_k},
    {"Transpose", &Follower::transpose},
    {"Unsqueeze", &Follower::unsqueeze},
    {"Where", &Follower::broadcast},
};

Follower::Follower(const Graph& graph) : graph_(graph), facts_(graph.tensor_count()) {
  for (size_t t = 0; t < facts_.size(); ++t) {
    const Tensor& tensor = graph.tensor(TensorId(t));
    facts_[t].axes.assign(static_cast<size_t>(tensor.shape.rank()), kKnownExtent);
    facts_[t].ranked = tensor.shape.has_rank();
    facts_[t].constant = tensor.role != TensorRole::kActivation && !tensor.producer.valid();
    if (facts_[t].constant) {
      set_constant_elements(TensorId(t));
    }
  }
  count_shape_readers();
}

void Follower::open(TensorId id, int axis, Extent symbol) {
  Extents& axes = facts_[id.index()].axes;
  if (axis >= 0 && static_cast<size_t>(axis) < axes.size()) {
    axes[static_cast<size_t>(axis)] = symbol;
  }
}

void Follower::run() {
  constant_ops.resize(graph_.op_count());
  constant_reshapes.resize(graph_.op_count());
  for (size_t i = 0; i < graph_.op_count(); ++i) {
    const Op& op = graph_.op(OpId(i));
    constant_ops[i] = is_constant(op);
    if (constant_ops[i]) {
      for (const TensorId output : op.outputs) {
        if (output.valid()) {
          facts_[output.index()].constant = true;
          set_constant_elements(output);
        }
      }
      continue;
    }
    infer(op);
    believe_file(op);
    if (op.op_type == "Reshape" && op.domain.empty()) {
      constant_reshapes[i] = becomes_constant(op);
    }
  }
}

// ONNX Runtime merges what it infers into the shape that the file declares: a number that it infers
// wins, otherwise what the file says stays.
void Follower::believe_file(const Op& op) {
  for (const TensorId output : op.outputs) {
    if (!output.valid() || declared_.empty() || declared_[output.index()].empty()) {
      continue;
    }
    const Extents& declared = declared_[output.index()];
    Facts& facts = facts_[output.index()];
    if (declared.size() != facts.axes.size()) {
      continue;
    }
    for (size_t i = 0; i < declared.size(); ++i) {
      if (facts.axes[i] != kKnownExtent && declared[i] != kUnknownExtent) {
        facts.axes[i] = declared[i];
      }
    }
    facts.ranked = true;
  }
}

void Follower::set_axes(const Op& op, size_t i, Extents axes) {
  if (axes.size() == rank_out(op, i)) {
    out(op, i).axes = std::move(axes);
  } else {
    std::fill(out(op, i).axes.begin(), out(op, i).axes.end(), kUnknownExtent);
  }
}

// A list of the operator, as an attribute or as a constant operand.
std::optional<std::vector<int64_t>> Follower::list(const Op& op, std::string_view name,
                                                   size_t input) const {
  if (const auto* given = op.attributes.get_ints(name)) {
    return *given;
  }
  if (!has(op, input) || !in(op, input).constant) {
    return std::nullopt;
  }
  const ConstValue* value = graph_.constant(op.inputs[input]);
  return value != nullptr && !is_floating(value->dtype) ? std::optional(value->ints) : std::nullopt;
}

void Follower::set_constant_elements(TensorId id) {
  const ConstValue* value = graph_.constant(id);
  if (value != nullptr && value->extents.size() <= 1 && value->size() <= kMostElements &&
      is_integer(value->dtype)) {
    facts_[id.index()].elements = Extents(value->size(), kKnownExtent);
  }
}

bool Follower::is_constant(const Op& op) const {
  if (op.op_class == OpClass::kControlFlow) {
    return false;
  }
  if (op.op_type == "Shape" || op.op_type == "Size") {
    return has(op, 0) && in(op, 0).ranked && all_known(in(op, 0).axes);
  }
  const bool has_source = !op.inputs.empty() || op.op_class == OpClass::kConstant;
  return has_source && std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
           return !id.valid() || facts_[id.index()].constant;
         });
}

bool Follower::reads_unranked(const Op& op) const {
  return std::any_of(op.inputs.begin(), op.inputs.end(),
                     [&](TensorId id) { return id.valid() && !facts_[id.index()].ranked; });
}

// The rules index axes without a check, so they hold for resolved operators only: those have the
// axes that their attributes name.
bool Follower::has_ranked_results(const Op& op) const {
  return std::all_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
    return !id.valid() || graph_.tensor(id).shape.has_rank();
  });
}

void Follower::infer(const Op& op) {
  if (!has_ranked_results(op)) {
    return unranked(op);
  }
  const bool copes = op.domain.empty() && (op.op_type == "Shape" || op.op_type == "Reshape" ||
                                           op.op_type == "Size" || op.op_type == "Gemm");
  if (!copes && reads_unranked(op)) {
    return unranked(op);
  }
  const auto* const rule =
      std::find_if(std::begin(kRules), std::end(kRules),
                   [&](const NamedRule& r) { return r.op_type == op.op_type; });
  if (rule != std::end(kRules) && op.domain.empty() && !op.outputs.empty() &&
      op.outputs[0].valid() && has(op, 0)) {
    (this->*rule->rule)(op);
  } else if (op.op_type == "MatMulNBits" && op.domain == kMicrosoft) {
    packed_product(op);
  } else if (op.op_class == OpClass::kElementwise) {
    broadcast(op);
  } else if (op.op_class == OpClass::kReduce) {
    reduce(op);
  } else {
    same(op);
  }
}

}  // namespace dfsim::inline graphs::open
