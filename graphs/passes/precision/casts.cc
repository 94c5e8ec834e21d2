// Given the type in which each operator computes, inserts the Casts between operators that
// differ. A tensor is cast once per type, whoever reads it.
#include "graphs/passes/precision/casts.h"

#include <map>
#include <utility>

#include "graphs/ops/onnx_dtype.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kCastVersion = 13;

bool is_number(const EditableGraph& graph, TensorId id) {
  return graph.is_parameter(id) && graph.shape(id).is_static() &&
         graph.shape(id).elements().value() == 1;
}

class CastInserter {
 public:
  CastInserter(EditableGraph& graph, WeightCasts weights) : graph_(graph), weights_(weights) {}

  void run(const ChooseDtypes& choose) {
    for (const OpId id : graph_.ops()) {
      const ChosenDtypes chosen = choose(graph_, id);
      if (chosen.operands != DType::kUnknown) {
        cast_operands(id, chosen.operands);
      }
      set_results(id, chosen.results);
    }
  }

 private:
  void cast_operands(OpId id, DType dtype) {
    const std::vector<TensorId> inputs = graph_.op(id).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].valid() && is_castable(graph_.tensor(inputs[i]).dtype) &&
          graph_.tensor(inputs[i]).dtype != dtype) {
        graph_.set_input(id, i, as_dtype(inputs[i], dtype));
      }
    }
  }

  bool is_ahead(TensorId id) const {
    if (weights_ == WeightCasts::kAheadForOne) {
      return graph_.readers(id).size() == 1;
    }
    return weights_ == WeightCasts::kAhead || graph_.tensor(id).role == TensorRole::kConstant ||
           is_number(graph_, id);
  }

  // The tensor in that type, made once.
  TensorId as_dtype(TensorId id, DType dtype) {
    TensorId& made = made_[{id, dtype}];
    if (made.valid()) {
      return made;
    }
    const Tensor tensor = graph_.tensor(id);
    const std::string name = tensor.name + "/" + std::string(dtype_name(dtype));
    if (graph_.is_parameter(id) && is_ahead(id)) {
      made = graph_.add_relaid(id, tensor.shape);
      graph_.set_dtype(made, dtype);
      return made;
    }
    Op cast;
    cast.op_type = "Cast";
    cast.version = kCastVersion;
    cast.name = name;
    cast.inputs = {id};
    cast.attributes.set("to", int64_t{dtype_to_onnx(dtype)});
    const TensorId result = graph_.add_tensor(name, dtype, tensor.shape);
    cast.outputs = {result};
    graph_.add_op(std::move(cast));
    made = result;
    return result;
  }

  void set_results(OpId id, DType wanted) {
    const DType dtype = wanted != DType::kUnknown ? wanted : promoted_dtype(graph_, graph_.op(id));
    if (dtype == DType::kUnknown || graph_.op(id).op_type == "Cast") {
      return;  // a Cast makes what it says
    }
    for (const TensorId output : graph_.op(id).outputs) {
      if (output.valid() && is_castable(graph_.tensor(output).dtype)) {
        graph_.set_dtype(output, dtype);
      }
    }
  }

  EditableGraph& graph_;
  WeightCasts weights_;
  std::map<std::pair<TensorId, DType>, TensorId> made_;
};

}  // namespace

bool is_castable(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

void insert_casts(EditableGraph& graph, const ChooseDtypes& choose, WeightCasts weights) {
  CastInserter(graph, weights).run(choose);
}

DType promoted_dtype(const EditableGraph& graph, const Op& op) {
  if (op.op_class == OpClass::kNorm && !op.inputs.empty()) {
    return graph.tensor(op.inputs[0]).dtype;  // scales and statistics may be wider
  }
  DType widest = DType::kUnknown;
  DType of_numbers = DType::kUnknown;
  for (const TensorId input : op.inputs) {
    const DType dtype = graph.tensor(input).dtype;
    if (!input.valid() || !is_castable(dtype)) {
      continue;
    }
    DType& joined = is_number(graph, input) ? of_numbers : widest;
    // fp16 and bf16 have no common type but fp32.
    joined = joined == DType::kUnknown || joined == dtype ? dtype : DType::kFloat32;
  }
  return widest != DType::kUnknown ? widest : of_numbers;
}

}  // namespace dfsim::inline graphs
