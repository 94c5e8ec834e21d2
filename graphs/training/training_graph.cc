// Reverse-mode differentiation on the graph: find what depends on a parameter, start from the
// losses, visit operators backwards and let each one's rule emit its gradients, join gradients
// of one tensor, update. Tensors that recomputation drops are computed again from the saved
// ones, when a rule first asks for them.
#include "graphs/training/training_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "graphs/ops/arithmetic.h"
#include "graphs/ops/families/extensions/gradient_ops.h"
#include "graphs/ops/infer.h"
#include "graphs/ops/onnx_dtype.h"
#include "graphs/training/accumulate.h"
#include "graphs/training/forward_copy.h"
#include "graphs/training/gradient_context.h"
#include "graphs/training/saved_tensors.h"
#include "graphs/training/training_losses.h"
#include "graphs/training/weight_updates.h"

namespace dfsim::inline graphs {
namespace {

constexpr std::string_view kOnnxTraining = "ai.onnx.preview.training";

class TrainingMaker final : public BackwardGraph {
 public:
  TrainingMaker(const Graph& forward, const TrainingOptions& options)
      : forward_(forward),
        options_(options),
        depends_(forward.tensor_count(), false),
        copies_(forward.tensor_count()),
        parts_(forward.tensor_count()) {
    result_.gradients.resize(forward.tensor_count());
  }

  StatusOr<TrainingGraph> run() {
    find_dependents();
    keep_ = tensors_to_keep(forward_, depends_, options_.recompute);
    DFSIM_RETURN_IF_ERROR(copy_forward(forward_, depends_, &builder_));
    DFSIM_RETURN_IF_ERROR(start_from_losses());
    for (size_t i = forward_.op_count(); i-- > 0;) {
      DFSIM_RETURN_IF_ERROR(go_back(OpId(i)));
    }
    DFSIM_RETURN_IF_ERROR(join_weights());
    update_all();
    DFSIM_RETURN_IF_ERROR(error_);
    DFSIM_ASSIGN_OR_RETURN(result_.graph, builder_.build());
    if (options_.accumulate > 1) {
      DFSIM_ASSIGN_OR_RETURN(result_.graph, accumulate_gradients(result_.graph, result_.parameters,
                                                                 options_.accumulate));
    }
    result_.copies = std::move(copies_);
    return std::move(result_);
  }

  GraphBuilder& builder() override { return builder_; }

  std::vector<TensorId> add(Op op, const std::vector<Shape>& shapes,
                            const std::vector<DType>& dtypes) override {
    for (size_t o = 0; o < shapes.size(); ++o) {
      Tensor tensor;
      tensor.name = op.name;
      tensor.dtype = o < dtypes.size() ? dtypes[o] : builder_.tensor(op.inputs[0]).dtype;
      tensor.shape = shapes[o];
      op.outputs.push_back(builder_.add_tensor(std::move(tensor)));
    }
    std::vector<TensorId> outputs = op.outputs;
    op.attributes.set(std::string(kPassAttribute), static_cast<int64_t>(pass_));
    op.attributes.set(std::string(kForwardAttribute), forward_name_);
    if (!arithmetic_.empty() && pass_ == TrainingPass::kBackward) {
      op.attributes.set(std::string(kArithmeticAttribute), arithmetic_);
    }
    keep_error(builder_.add_op(std::move(op)).status());
    return outputs;
  }

  // Producers first, without recursion: chains may be as long as the graph.
  TensorId saved(TensorId id) override {
    if (keep_[id.index()] || copies_[id.index()].valid()) {
      return copy_or_self(id);
    }
    const auto there = std::exchange(pass_, TrainingPass::kRecompute);
    const std::string name = forward_name_;
    std::vector<OpId> open = {forward_.tensor(id).producer};
    while (!open.empty()) {
      const OpId op = open.back();
      const size_t before = open.size();
      for (const TensorId input : forward_.op(op).inputs) {
        if (input.valid() && !keep_[input.index()] && !copies_[input.index()].valid()) {
          open.push_back(forward_.tensor(input).producer);
        }
      }
      if (open.size() == before) {
        open.pop_back();
        compute_again(op);
      }
    }
    pass_ = there;
    forward_name_ = name;
    return copies_[id.index()];
  }

 private:
  void keep_error(const Status& status) {
    if (error_.ok() && !status.ok()) {
      error_ = status;
    }
  }

  bool is_parameter(const Tensor& tensor) const {
    return tensor.role == TensorRole::kWeight && is_floating(tensor.dtype) &&
           tensor.shape.is_static();
  }

  void find_dependents() {
    for (size_t t = 0; t < forward_.tensor_count(); ++t) {
      depends_[t] = is_parameter(forward_.tensor(TensorId(t)));
    }
    for (const Op& op : forward_.ops()) {
      const bool any = std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
        return input.valid() && depends_[input.index()];
      });
      for (const TensorId output : op.outputs) {
        if (output.valid()) {
          depends_[output.index()] = any && is_floating(forward_.tensor(output).dtype);
        }
      }
    }
  }

  Status start_from_losses() {
    pass_ = TrainingPass::kBackward;
    bool any = false;
    for (const TensorId output : forward_.outputs()) {
      const Tensor& tensor = forward_.tensor(output);
      if (!depends_[output.index()] || !tensor.producer.valid()) {
        continue;
      }
      any = true;
      forward_name_ = forward_.op(tensor.producer).name;
      pass_ = TrainingPass::kForward;
      const TensorId read = add_loss(*this, output, options_.loss);
      pass_ = TrainingPass::kBackward;
      const TensorId gradient = add_loss_gradient(*this, output, read, options_.loss);
      parts_[output.index()].push_back(in_dtype(gradient, tensor.dtype));
    }
    return any ? ok_status()
               : invalid_input(
                     "training: no floating-point output of the model depends on a weight; there "
                     "is nothing to train");
  }

  TensorId copy_or_self(TensorId id) const { return keep_[id.index()] ? id : copies_[id.index()]; }

  void compute_again(OpId id) {
    Op op = as_in_training(forward_.op(id));
    if (std::any_of(op.outputs.begin(), op.outputs.end(),
                    [&](TensorId t) { return t.valid() && copies_[t.index()].valid(); })) {
      return;  // asked for by two readers
    }
    forward_name_ = op.name;
    for (TensorId& input : op.inputs) {
      input = input.valid() ? copy_or_self(input) : input;
    }
    std::vector<TensorId> outputs = std::exchange(op.outputs, {});
    for (const TensorId output : outputs) {
      if (!output.valid()) {
        op.outputs.emplace_back();
        continue;
      }
      Tensor tensor = forward_.tensor(output);
      tensor.producer = OpId();
      tensor.is_output = false;
      tensor.name += "/again";
      copies_[output.index()] = builder_.add_tensor(std::move(tensor));
      op.outputs.push_back(copies_[output.index()]);
    }
    op.name += "/again";
    op.attributes.set(std::string(kPassAttribute), static_cast<int64_t>(pass_));
    op.attributes.set(std::string(kForwardAttribute), forward_name_);
    keep_error(builder_.add_op(std::move(op)).status());
  }

  TensorId join(TensorId a, TensorId b) {
    Op sum;
    sum.op_type = "Add";
    sum.version = 13;
    sum.op_class = OpClass::kElementwise;
    sum.name = builder_.tensor(a).name + "/sum";
    sum.inputs = {a, b};
    sum.attributes.set(std::string(kSumAttribute), int64_t{1});
    return add(std::move(sum), {builder_.tensor(a).shape}, {})[0];
  }

  // All gradients of a tensor in one.
  TensorId gradient_of(TensorId id) {
    TensorId& gradient = result_.gradients[id.index()];
    for (const TensorId part : std::exchange(parts_[id.index()], {})) {
      gradient = gradient.valid() ? join(gradient, part) : part;
    }
    return gradient;
  }

  Status go_back(OpId id) {
    const Op& op = forward_.op(id);
    pass_ = TrainingPass::kBackward;
    forward_name_ = op.name;
    arithmetic_ = op.attributes.string_or(kArithmeticAttribute, "");
    std::vector<TensorId> gradients;
    bool any = false;
    for (const TensorId output : op.outputs) {
      gradients.push_back(output.valid() && depends_[output.index()] ? gradient_of(output)
                                                                     : TensorId());
      any = any || gradients.back().valid();
    }
    if (!any) {
      return ok_status();
    }
    std::vector<bool> wanted;
    for (const TensorId input : op.inputs) {
      wanted.push_back(input.valid() && depends_[input.index()]);
    }
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) {
      return ok_status();
    }
    GradientRule rule = find_gradient_rule(op.domain, op.op_type);
    rule = gradients[0].valid() || op.op_type == "Split" ? rule : gradient_by_backward;
    result_.without_rule += is_general(rule) ? 1 : 0;
    GradientContext context(forward_, id, std::move(gradients), wanted, *this);
    rule_start_ = builder_.op_count();
    rule(context);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (wanted[i] && context.results()[i].valid()) {
        const DType dtype = forward_.tensor(op.inputs[i]).dtype;
        parts_[op.inputs[i].index()].push_back(in_dtype(context.results()[i], dtype));
      }
    }
    return error_;
  }

  // A gradient has the type of its tensor: autograd casts it where an operator promoted its
  // operands. The kernels of normalisations and softmax write that type.
  TensorId in_dtype(TensorId gradient, DType dtype) {
    if (builder_.tensor(gradient).dtype == dtype) {
      return gradient;
    }
    const OpId producer = last_producer(gradient);
    if (producer.valid() && (builder_.op(producer).op_type == "SoftmaxGrad" ||
                             builder_.op(producer).op_type == "NormGrad")) {
      builder_.tensor(gradient).dtype = dtype;
      return gradient;
    }
    Op cast;
    cast.op_type = "Cast";
    cast.version = 13;
    cast.op_class = OpClass::kElementwise;
    cast.name = builder_.tensor(gradient).name + "/cast";
    cast.inputs = {gradient};
    cast.attributes.set("to", int64_t{dtype_to_onnx(dtype)});
    return add(std::move(cast), {builder_.tensor(gradient).shape}, {dtype})[0];
  }

  // The operator that makes a gradient, when the rule that ran just now added it.
  OpId last_producer(TensorId gradient) const {
    for (size_t i = builder_.op_count(); i-- > rule_start_;) {
      const auto& outputs = builder_.op(OpId(i)).outputs;
      if (std::find(outputs.begin(), outputs.end(), gradient) != outputs.end()) {
        return OpId(i);
      }
    }
    return OpId();
  }

  // Gradients of weights that several operators read, or that share their bytes with others.
  Status join_weights() {
    std::map<uint32_t, size_t> by_storage;
    for (size_t t = 0; t < forward_.tensor_count(); ++t) {
      const Tensor& tensor = forward_.tensor(TensorId(t));
      if (!is_parameter(tensor) || parts_[t].empty()) {
        continue;
      }
      pass_ = TrainingPass::kReduce;
      forward_name_ = forward_.op(forward_.consumers(TensorId(t))[0]).name;
      const TensorId gradient = gradient_of(TensorId(t));
      const auto known = by_storage.find(tensor.storage_key);
      if (tensor.storage_key == 0 || known == by_storage.end()) {
        by_storage.emplace(tensor.storage_key, result_.parameters.size());
        result_.parameters.push_back({TensorId(t), gradient, {}});
        continue;
      }
      add_tied(gradient, &result_.parameters[known->second]);
    }
    return error_;
  }

  // The same bytes, perhaps seen transposed.
  void add_tied(TensorId gradient, TrainingGraph::Parameter* parameter) {
    const Shape& wanted = builder_.tensor(parameter->gradient).shape;
    const Shape own = builder_.tensor(gradient).shape;
    if (!(own == wanted)) {
      if (own.rank() != 2 || wanted.rank() != 2 || own[0] != wanted[1] || own[1] != wanted[0]) {
        return;  // another view of some of the bytes: their gradients do not add up
      }
      Op turn;
      turn.op_type = "Transpose";
      turn.version = 13;
      turn.op_class = OpClass::kDataMovement;
      turn.attributes.set("perm", std::vector<int64_t>{1, 0});
      turn.name = builder_.tensor(gradient).name + "/turned";
      turn.inputs = {gradient};
      gradient = add(std::move(turn), {wanted}, {})[0];
    }
    parameter->gradient = join(parameter->gradient, gradient);
  }

  TensorId scalar(const char* name, DType dtype) {
    Tensor tensor;
    tensor.name = name;
    tensor.dtype = dtype;
    tensor.role = TensorRole::kConstant;
    tensor.shape = Shape::scalar();
    return builder_.add_tensor(std::move(tensor));
  }

  void update_all() {
    if (options_.optimizer == OptimizerKind::kNone) {
      return;
    }
    pass_ = TrainingPass::kUpdate;
    if (options_.kernels == UpdateKernels::kPerWeight) {
      for (TrainingGraph::Parameter& parameter : result_.parameters) {
        update(&parameter);
      }
      return;
    }
    for (TrainingGraph::Parameter& parameter : result_.parameters) {
      add_states(&parameter);
    }
    forward_name_ = "";
    add_list_updates(*this, result_.parameters, options_.optimizer, options_.kernels);
  }

  // As many as the optimiser keeps of the weight's shape and type.
  void add_states(TrainingGraph::Parameter* parameter) {
    const Tensor weight = builder_.tensor(parameter->weight);
    const bool adam = options_.optimizer == OptimizerKind::kAdam;
    for (const char* name : {".momentum", ".variance"}) {
      if (options_.optimizer == OptimizerKind::kSgd || (!adam && !parameter->states.empty())) {
        continue;
      }
      Tensor state;
      state.name = weight.name + name;
      state.dtype = weight.dtype;  // zeros_like(): as PyTorch makes them
      state.role = TensorRole::kWeight;
      state.shape = weight.shape;
      parameter->states.push_back(builder_.add_tensor(std::move(state)));
    }
  }

  void update(TrainingGraph::Parameter* parameter) {
    pass_ = TrainingPass::kUpdate;
    const Tensor weight = builder_.tensor(parameter->weight);
    forward_name_ = forward_.op(forward_.consumers(parameter->weight)[0]).name;
    Op op;
    op.name = weight.name + "/update";
    op.op_class = OpClass::kOptimizer;
    op.version = 1;
    std::vector<Shape> shapes = {weight.shape};
    std::vector<DType> dtypes = {weight.dtype};
    if (options_.optimizer == OptimizerKind::kSgd) {
      op.domain = kTrainingDomain;
      op.op_type = "SgdUpdate";
    } else {
      const bool adam = options_.optimizer == OptimizerKind::kAdam;
      op.domain = kOnnxTraining;
      op.op_type = adam ? "Adam" : "Momentum";
      if (!rate_.valid()) {
        rate_ = scalar("learning_rate", DType::kFloat32);
        step_ = scalar("step", DType::kInt64);
      }
      op.inputs = {rate_, step_};
      add_states(parameter);
      shapes.resize(1 + parameter->states.size(), weight.shape);
      dtypes.resize(1 + parameter->states.size(), weight.dtype);
    }
    op.inputs.push_back(parameter->weight);
    op.inputs.push_back(parameter->gradient);
    op.inputs.insert(op.inputs.end(), parameter->states.begin(), parameter->states.end());
    add(std::move(op), shapes, dtypes);
  }

  const Graph& forward_;
  const TrainingOptions& options_;
  GraphBuilder builder_;
  TrainingGraph result_;
  std::vector<bool> depends_;                 // by forward tensor: on a weight
  std::vector<bool> keep_;                    // by forward tensor
  std::vector<TensorId> copies_;              // by forward tensor: computed again
  std::vector<std::vector<TensorId>> parts_;  // by forward tensor: gradients not joined yet
  TrainingPass pass_ = TrainingPass::kForward;
  std::string forward_name_;
  size_t rule_start_ = 0;   // operators behind it are those of the rule that runs
  std::string arithmetic_;  // of the forward operator: its gradients use it, too
  TensorId rate_;
  TensorId step_;
  Status error_;
};

}  // namespace

StatusOr<TrainingGraph> make_training_graph(const Graph& forward, const TrainingOptions& options) {
  return TrainingMaker(forward, options).run();
}

}  // namespace dfsim::inline graphs
