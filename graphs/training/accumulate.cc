// Copies forward and backward pass once per micro-batch, sums their gradients, and keeps one
// update. Weights are shared between the copies.
#include "graphs/training/accumulate.h"

#include <fmt/format.h>

#include "graphs/ir/graph_builder.h"

namespace dfsim::inline graphs {
namespace {

bool is_update(const Op& op) { return training_pass(op) == TrainingPass::kUpdate; }

class Accumulator {
 public:
  Accumulator(const Graph& step, const std::vector<TrainingParameter>& parameters, int passes)
      : graph_(step), parameters_(parameters), passes_(passes) {}

  StatusOr<Graph> run() {
    builder_.info() = graph_.info();
    sums_.resize(graph_.tensor_count());
    for (size_t t = 0; t < graph_.tensor_count(); ++t) {
      sums_[t] = add_tensor(TensorId(t), "");
    }
    first_ = sums_;
    for (const TensorId input : graph_.inputs()) {
      builder_.mark_input(first_[input.index()]);
    }
    DFSIM_RETURN_IF_ERROR(add_pass(first_, ""));
    for (int pass = 1; pass < passes_; ++pass) {
      const std::string suffix = fmt::format("/pass{}", pass + 1);
      std::vector<TensorId> own = first_;
      for (const Op& op : graph_.ops()) {
        for (const TensorId output : op.outputs) {
          if (output.valid() && !is_update(op)) {
            own[output.index()] = add_tensor(output, suffix);
          }
        }
      }
      DFSIM_RETURN_IF_ERROR(add_pass(own, suffix));
      DFSIM_RETURN_IF_ERROR(join_gradients(own, suffix));
    }
    for (const Op& op : graph_.ops()) {
      if (is_update(op)) {
        DFSIM_RETURN_IF_ERROR(add_op(op, sums_, ""));
      }
    }
    return builder_.build();
  }

 private:
  TensorId add_tensor(TensorId id, const std::string& suffix) {
    Tensor tensor = graph_.tensor(id);
    tensor.producer = OpId();
    tensor.is_input = false;
    tensor.name += suffix;
    const TensorId added = builder_.add_tensor(std::move(tensor));
    if (const ConstValue* value = graph_.constant(id)) {
      builder_.set_constant(added, *value);
    }
    return added;
  }

  Status add_op(Op op, const std::vector<TensorId>& tensors, const std::string& suffix) {
    op.name += suffix;
    for (std::vector<TensorId>* ids : {&op.inputs, &op.outputs}) {
      for (TensorId& id : *ids) {
        id = id.valid() ? tensors[id.index()] : id;
      }
    }
    return builder_.add_op(std::move(op)).status();
  }

  Status add_pass(const std::vector<TensorId>& tensors, const std::string& suffix) {
    for (const Op& op : graph_.ops()) {
      if (!is_update(op)) {
        DFSIM_RETURN_IF_ERROR(add_op(op, tensors, suffix));
      }
    }
    return ok_status();
  }

  Status join_gradients(const std::vector<TensorId>& own, const std::string& suffix) {
    for (const TrainingParameter& parameter : parameters_) {
      TensorId& sum = sums_[parameter.gradient.index()];
      Op add;
      add.op_type = "Add";
      add.version = 13;
      add.op_class = OpClass::kElementwise;
      add.name = graph_.tensor(parameter.gradient).name + "/accumulate" + suffix;
      add.inputs = {sum, own[parameter.gradient.index()]};
      add.attributes.set(std::string(kPassAttribute), static_cast<int64_t>(TrainingPass::kReduce));
      add.attributes.set(std::string(kSumAttribute), int64_t{1});
      sum = add_tensor(parameter.gradient, "/accumulated" + suffix);
      add.outputs = {sum};
      DFSIM_RETURN_IF_ERROR(builder_.add_op(std::move(add)).status());
    }
    return ok_status();
  }

  const Graph& graph_;
  const std::vector<TrainingParameter>& parameters_;
  int passes_;
  GraphBuilder builder_;
  std::vector<TensorId> first_;  // by tensor of the step: of the first pass
  std::vector<TensorId> sums_;   // the same, with the gradients joined so far
};

}  // namespace

StatusOr<Graph> accumulate_gradients(const Graph& step,
                                     const std::vector<TrainingParameter>& parameters, int passes) {
  return Accumulator(step, parameters, passes).run();
}

}  // namespace dfsim::inline graphs
