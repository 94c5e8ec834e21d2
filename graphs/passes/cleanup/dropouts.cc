// The parts of a network show the kind of its architecture: token embeddings (a Gather of a
// weight), its normalisation, its activation, depthwise convolutions. Then each place of that kind
// gets a Dropout with a mask, as torch.native_dropout writes one.
#include "graphs/passes/cleanup/dropouts.h"

#include <algorithm>

#include "graphs/passes/editable_graph.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kDropoutVersion = 13;

bool has_type(const Op& op, std::string_view type) { return op.op_type == type; }

bool multiplies(const Op& op) {
  return has_type(op, "MatMul") || has_type(op, "Gemm") || has_type(op, "linear");
}

bool only_moves(const Op& op) {
  return has_type(op, "Reshape") || has_type(op, "Transpose") || has_type(op, "Squeeze") ||
         has_type(op, "Unsqueeze") || has_type(op, "Flatten");
}

class DropoutAdder {
 public:
  explicit DropoutAdder(EditableGraph& graph) : graph_(graph), order_(graph.ops()) {}

  void run() {
    look();
    const bool bert = embeds_ && layer_norms_ > 0;
    const bool t5 = embeds_ && layer_norms_ == 0 && root_mean_squares_ > 0 && !gated_by_sigmoid_;
    if (bert || t5) {
      for (const OpId id : order_) {
        visit_transformer(id, t5);
      }
    } else if (convolutions_ > 0) {
      visit_classifier();
    }
  }

 private:
  void look() {
    for (const OpId id : order_) {
      const Op& op = graph_.op(id);
      embeds_ = embeds_ || is_embedding(id);
      layer_norms_ += has_type(op, "LayerNormalization") || has_type(op, "SkipLayerNormalization");
      root_mean_squares_ += has_type(op, "Sqrt") || has_type(op, "rsqrt") ||
                            has_type(op, "SimplifiedLayerNormalization") ||
                            has_type(op, "RMSNormalization");
      gated_by_sigmoid_ = gated_by_sigmoid_ || has_type(op, "Sigmoid") || has_type(op, "Silu") ||
                          has_type(op, "silu") || has_type(op, "QuickGelu");
      convolutions_ += op.op_class == OpClass::kConv;
      depthwise_ += op.op_class == OpClass::kConv && op.attributes.int_or("group", 1) > 1;
      batch_norms_ += has_type(op, "BatchNormalization");
    }
  }

  bool is_embedding(OpId id) const {
    const Op& op = graph_.op(id);
    return has_type(op, "Gather") && op.inputs.size() > 1 && graph_.is_parameter(op.inputs[0]) &&
           graph_.shape(op.inputs[0]).rank() == 2 && !graph_.is_parameter(op.inputs[1]);
  }

  // Whether the tensor is what a product makes, moved and biased perhaps.
  bool is_projected(TensorId id) const {
    for (int steps = 0; steps < 8; ++steps) {
      const OpId producer = graph_.producer(id);
      if (!producer.valid()) {
        return false;
      }
      const Op& op = graph_.op(producer);
      if (multiplies(op)) {
        return true;
      }
      const bool bias = has_type(op, "Add") &&
                        (graph_.is_parameter(op.inputs[0]) || graph_.is_parameter(op.inputs[1]));
      if (!bias && !only_moves(op)) {
        return false;
      }
      id = op.inputs[bias && graph_.is_parameter(op.inputs[0]) ? 1 : 0];
    }
    return false;
  }

  // Embeddings of words, positions and kinds of segment, in a sum or two.
  bool comes_from_embedding(TensorId id, int depth = 0) const {
    constexpr int kMostSums = 4;
    const OpId producer = graph_.producer(id);
    if (!producer.valid()) {
      return false;
    }
    const Op& op = graph_.op(producer);
    return is_embedding(producer) || (has_type(op, "Add") && depth < kMostSums &&
                                      (comes_from_embedding(op.inputs[0], depth + 1) ||
                                       comes_from_embedding(op.inputs[1], depth + 1)));
  }

  void visit_transformer(OpId id, bool t5) {
    const Op op = graph_.op(id);  // a copy: drop() adds operators
    if (has_type(op, "Softmax") && graph_.shape(op.outputs[0]).rank() >= 3) {
      drop(op.outputs[0]);
    } else if (has_type(op, "Add") && !graph_.is_parameter(op.inputs[0]) &&
               !graph_.is_parameter(op.inputs[1])) {
      const bool first = is_projected(op.inputs[0]);
      if (first != is_projected(op.inputs[1])) {
        drop(op.inputs[first ? 0 : 1]);
      }
    }
    // Embeddings: behind their normalisation if they have one of their own, else behind their sum.
    if (!embedded_ && has_type(op, "LayerNormalization") && comes_from_embedding(op.inputs[0])) {
      const bool own = graph_.readers(op.inputs[0]).size() == 1;
      drop(own ? op.outputs[0] : op.inputs[0]);
      embedded_ = true;
    }
    if (t5 && (has_type(op, "Relu") || has_type(op, "Gelu"))) {
      drop(op.outputs[0]);
    }
    if (t5 && !embedded_ && is_embedding(id) && graph_.shape(op.outputs[0]).rank() == 3) {
      drop(op.outputs[0]);
      embedded_ = true;
    }
  }

  void visit_classifier() {
    std::vector<OpId> products;
    std::copy_if(order_.begin(), order_.end(), std::back_inserter(products),
                 [&](OpId id) { return multiplies(graph_.op(id)); });
    if (products.size() > 1 && depthwise_ == 0) {
      for (const OpId id : order_) {
        const Op& op = graph_.op(id);
        if (has_type(op, "Relu") && is_projected(op.inputs[0])) {
          drop(op.outputs[0]);
        }
      }
    } else if (!products.empty() && depthwise_ > 0 && batch_norms_ > 0) {
      drop(graph_.op(products.back()).inputs[0]);
    }
  }

  // Everything that reads the tensor reads it after a dropout.
  void drop(TensorId id) {
    const Tensor tensor = graph_.tensor(id);
    if (tensor.is_output || graph_.is_parameter(id) || !tensor.shape.is_static() ||
        !is_floating(tensor.dtype)) {
      return;
    }
    Op dropout;
    dropout.op_type = "Dropout";
    dropout.version = kDropoutVersion;
    dropout.name = tensor.name + "/dropout";
    const TensorId dropped =
        graph_.add_tensor(tensor.name + "/dropped", tensor.dtype, tensor.shape);
    dropout.outputs = {dropped,
                       graph_.add_tensor(tensor.name + "/mask", DType::kBool, tensor.shape)};
    graph_.replace_reads(id, dropped);
    dropout.inputs = {id};
    graph_.add_op(std::move(dropout));
  }

  EditableGraph& graph_;
  std::vector<OpId> order_;
  bool embeds_ = false;
  bool embedded_ = false;
  bool gated_by_sigmoid_ = false;
  int layer_norms_ = 0;
  int root_mean_squares_ = 0;
  int convolutions_ = 0;
  int depthwise_ = 0;
  int batch_norms_ = 0;
};

}  // namespace

StatusOr<Graph> revive_dropouts(const Graph& graph, size_t* revived) {
  EditableGraph edited(graph);
  *revived = 0;
  for (const OpId id : edited.ops()) {
    const Op op = edited.op(id);
    if (op.op_type != "Dropout" || !op.domain.empty()) {
      continue;
    }
    const double ratio = op.inputs.size() > 1 && op.inputs[1].valid()
                             ? edited.scalar(op.inputs[1]).value_or(0.5)
                             : op.attributes.get_float("ratio").value_or(0.5);
    if (ratio <= 0) {
      continue;  // PyTorch starts no kernel for it either
    }
    ++*revived;
    edited.set_class(id, OpClass::kElementwise);
    if (op.outputs.size() < 2) {
      // The mask that the backward pass reads.
      Op with_mask = op;
      const Tensor tensor = edited.tensor(op.outputs[0]);
      with_mask.outputs.push_back(
          edited.add_tensor(tensor.name + "/mask", DType::kBool, tensor.shape));
      edited.remove_op(id);
      edited.add_op(std::move(with_mask));
    }
  }
  return edited.finish();
}

StatusOr<Graph> add_dropouts(const Graph& graph) {
  EditableGraph edited(graph);
  DropoutAdder(edited).run();
  return edited.finish();
}

}  // namespace dfsim::inline graphs
