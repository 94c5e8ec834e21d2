// ONNX Runtime's CPU provider has no fp16 kernels of most operators on x86: its
// InsertCastTransformer puts casts round them, of which those between two such operators cancel.
// Operators that only move values, and a few others, have a kernel; one of those that lies between
// two without runs in fp32, too, and several in a row stay in fp16. A weight or number that
// one operator reads is converted once when the model is loaded, one that several read in every
// run; rules that look for a parameter do not find it then.
//
// It refuses bf16, which users then export in fp32; so all of bf16 is computed in fp32 here.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/ops/onnx_dtype.h"
#include "graphs/ops/rules.h"
#include "graphs/passes/passes.h"
#include "graphs/passes/precision/casts.h"

namespace dfsim::inline graphs {
namespace {

struct HalfKernel {
  std::string_view type;
  int version = 1;  // first opset with such a kernel
};

// Kernels that ONNX Runtime 1.32 registers for fp16 on x86: what its get_all_opkernel_def() lists.
constexpr std::array<HalfKernel, 42> kHalfKernels = {{
    {"Attention", 23},
    {"Cast"},
    {"Celu", 28},
    {"Clip", 12},
    {"Compress"},
    {"Concat"},
    {"ConstantOfShape"},
    {"DequantizeLinear", 19},
    {"Expand"},
    {"Flatten"},
    {"Gather"},
    {"GatherElements"},
    {"GatherND"},
    {"Identity"},
    {"IsInf", 20},
    {"IsNaN"},
    {"LayerNormalization"},
    {"Max", 12},
    {"Min", 12},
    {"Mod"},
    {"QuantizeLinear", 19},
    {"RMSNormalization", 23},
    {"Reshape"},
    {"ReverseSequence"},
    {"RotaryEmbedding", 23},
    {"Round"},
    {"Scatter"},
    {"ScatterElements"},
    {"ScatterND"},
    {"SequenceAt"},
    {"SequenceConstruct"},
    {"Shape"},
    {"Shrink"},
    {"Sign"},
    {"SimplifiedLayerNormalization"},
    {"Slice"},
    {"Split"},
    {"SplitToSequence"},
    {"Squeeze"},
    {"TensorScatter"},
    {"Transpose"},
    {"Unsqueeze"},
}};
constexpr std::array<std::string_view, 8> kMicrosoftHalfKernels = {
    "ExpandDims",          "GatherND",
    "GroupQueryAttention", "MatMulNBits",
    "RotaryEmbedding",     "SkipLayerNormalization",
    "SparseAttention",     "SkipSimplifiedLayerNormalization"};

bool has_half_kernel(const Op& op) {
  if (op.domain == kMicrosoft) {
    return std::ranges::find(kMicrosoftHalfKernels, op.op_type) != kMicrosoftHalfKernels.end();
  }
  return std::ranges::any_of(kHalfKernels, [&](const HalfKernel& kernel) {
    return kernel.type == op.op_type && op.version >= kernel.version;
  });
}

// The element type that an operator computes in; kOther: not a matter of fp16.
enum class Kernel : uint8_t { kOther, kHalf, kFloat };

class HalfComputer {
 public:
  explicit HalfComputer(EditableGraph& graph) : graph_(graph) {}

  void run() {
    share_parameters();
    choose_kernels();
    keep_dtypes();
    const size_t given = graph_.tensor_count();
    insert_casts(
        graph_,
        [this](const EditableGraph&, OpId id) {
          switch (kernel(id)) {
            case Kernel::kFloat:
              return ChosenDtypes{DType::kFloat32, DType::kFloat32};
            case Kernel::kHalf:
              return ChosenDtypes{DType::kFloat16, DType::kFloat16};
            default:
              return ChosenDtypes{};
          }
        },
        WeightCasts::kAheadForOne);
    restore_outputs();
    for (const OpId id : graph_.ops()) {
      drop_cast(id, given);
    }
  }

 private:
  bool is_half(TensorId id) const {
    return id.valid() && graph_.tensor(id).dtype == DType::kFloat16;
  }
  bool reads_half(const Op& op) const {
    return std::ranges::any_of(op.inputs, [this](TensorId id) { return is_half(id); });
  }
  // An operand that is wider than fp16, as a mask may be: casts would be wrong.
  bool reads_other_floats(const Op& op) const {
    return std::ranges::any_of(op.inputs, [this](TensorId id) {
      return id.valid() && !is_half(id) && is_castable(graph_.tensor(id).dtype);
    });
  }
  Kernel kernel(OpId id) const {
    return id.index() < kernels_.size() ? kernels_[id.index()] : Kernel::kOther;
  }

  // ONNX Runtime drops an Identity of a parameter and keeps one of equal numbers, so their readers
  // share one parameter.
  void share_parameters() {
    std::map<std::string, TensorId> kept;
    for (size_t t = 0; t < graph_.tensor_count(); ++t) {
      const TensorId id(t);
      const Tensor& tensor = graph_.tensor(id);
      if (!is_half(id) || !graph_.is_parameter(id) || graph_.readers(id).empty() ||
          tensor.is_output || !tensor.shape.is_static()) {
        continue;
      }
      const auto number = graph_.scalar(id);
      if (!number && tensor.storage_key == 0) {
        continue;
      }
      const std::string key =
          (number ? fmt::format("= {}", *number) : fmt::format("# {}", tensor.storage_key)) +
          format_shape(tensor.shape);
      const TensorId first = kept.try_emplace(key, id).first->second;
      if (first != id) {
        graph_.replace_reads(id, first);
      }
    }
  }

  void choose_kernels() {
    const std::vector<OpId> ops = graph_.ops();
    for (const OpId id : ops) {
      kernels_.resize(std::max(kernels_.size(), id.index() + 1), Kernel::kOther);
      const Op& op = graph_.op(id);
      if (reads_half(op) && op.op_type != "Cast" &&
          !(has_half_kernel(op) && reads_other_floats(op))) {
        kernels_[id.index()] = has_half_kernel(op) ? Kernel::kHalf : Kernel::kFloat;
      }
    }
    for (const OpId id : ops) {
      if (kernel(id) == Kernel::kHalf && is_isolated(graph_.op(id))) {
        kernels_[id.index()] = Kernel::kFloat;
      }
    }
  }

  // Between operators that compute in fp32 on all sides. Decided one after the other: a neighbour
  // that was found to be isolated counts as one that computes in fp32.
  bool is_isolated(const Op& op) const {
    bool fed = false;
    for (const TensorId input : op.inputs) {
      const OpId producer = input.valid() ? graph_.producer(input) : OpId();
      fed = fed || producer.valid();
      if (producer.valid() && is_half(input) && kernel(producer) != Kernel::kFloat) {
        return false;
      }
    }
    bool makes_half = false;
    for (const TensorId output : op.outputs) {
      if (!output.valid()) {
        continue;
      }
      if (graph_.tensor(output).is_output) {
        return false;
      }
      makes_half = makes_half || is_half(output);
      const auto readers = graph_.readers(output);
      if (is_half(output) && std::any_of(readers.begin(), readers.end(), [&](OpId reader) {
            return kernel(reader) != Kernel::kFloat;
          })) {
        return false;
      }
    }
    return fed && makes_half;
  }

  void keep_dtypes() {
    for (size_t t = 0; t < graph_.tensor_count(); ++t) {
      if (graph_.tensor(TensorId(t)).is_output && is_half(TensorId(t))) {
        half_outputs_.push_back(TensorId(t));
      }
    }
  }

  // The graph's results keep their type.
  void restore_outputs() {
    for (const TensorId id : half_outputs_) {
      const OpId producer = graph_.producer(id);
      if (is_half(id) || !producer.valid()) {
        continue;
      }
      const Tensor tensor = graph_.tensor(id);
      const TensorId computed = graph_.add_tensor(tensor.name + "/float32", DType::kFloat32,
                                                  tensor.shape, graph_.open_axes(id));
      const auto reading = graph_.readers(id);
      const std::vector<OpId> readers(reading.begin(), reading.end());
      for (const OpId reader : readers) {
        const auto& inputs = graph_.op(reader).inputs;
        const auto at = std::find(inputs.begin(), inputs.end(), id);
        graph_.set_input(reader, static_cast<size_t>(at - inputs.begin()), computed);
      }
      const auto& outputs = graph_.op(producer).outputs;
      const auto at = std::find(outputs.begin(), outputs.end(), id);
      graph_.set_output(producer, static_cast<size_t>(at - outputs.begin()), computed);
      graph_.set_dtype(id, DType::kFloat16);
      Op cast;
      cast.op_type = "Cast";
      cast.version = graph_.op(producer).version;
      cast.name = tensor.name + "/float16";
      cast.inputs = {computed};
      cast.outputs = {id};
      cast.attributes.set("to", int64_t{dtype_to_onnx(DType::kFloat16)});
      graph_.add_op(std::move(cast));
    }
  }

  // A cast to the type that its operand has by now, or back to the type before the cast ahead of
  // it. If the file has both of those (results below `given`), they round, and ONNX Runtime keeps
  // them.
  void drop_cast(OpId id, size_t given) {
    if (!graph_.alive(id) || graph_.op(id).op_type != "Cast" || !graph_.op(id).domain.empty()) {
      return;
    }
    const TensorId result = graph_.op(id).outputs[0];
    const TensorId operand = graph_.op(id).inputs[0];
    const DType dtype = graph_.tensor(result).dtype;
    if (dtype != DType::kFloat32 || graph_.tensor(result).is_output) {
      return;
    }
    TensorId source = operand;
    const OpId before = graph_.producer(operand);
    const bool in_file = operand.index() < given && result.index() < given;
    if (is_half(operand) && before.valid() && graph_.op(before).op_type == "Cast" && !in_file) {
      source = graph_.op(before).inputs[0];
    }
    if (graph_.tensor(source).dtype == dtype) {
      graph_.replace_reads(result, source);
      graph_.remove_op(id);
    }
  }

  EditableGraph& graph_;
  std::vector<Kernel> kernels_;         // by operator
  std::vector<TensorId> half_outputs_;  // of the graph
};

// Casts from and to bf16 go. A Cast of fp32 to fp32 in the file stays and copies its operand: ONNX
// Runtime writes such ones into the bodies of functions.
void compute_bf16_as_float(EditableGraph& graph) {
  std::vector<bool> was_bf16(graph.tensor_count(), false);
  for (size_t t = 0; t < graph.tensor_count(); ++t) {
    if (graph.tensor(TensorId(t)).dtype == DType::kBFloat16) {
      graph.set_dtype(TensorId(t), DType::kFloat32);
      was_bf16[t] = true;
    }
  }
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.op_type != "Cast" || !op.domain.empty() ||
        (!was_bf16[op.inputs[0].index()] && !was_bf16[op.outputs[0].index()])) {
      continue;
    }
    const DType to = graph.tensor(op.outputs[0]).dtype;
    if (op.attributes.int_or("to", 0) == dtype_to_onnx(DType::kBFloat16)) {
      graph.attributes(id).set("to", int64_t{dtype_to_onnx(to)});
    }
    if (to == DType::kFloat32 && graph.tensor(op.inputs[0]).dtype == to) {
      graph.bypass(id);
    }
  }
}

}  // namespace

void compute_half_as_float(EditableGraph& graph) {
  compute_bf16_as_float(graph);
  for (size_t t = 0; t < graph.tensor_count(); ++t) {
    if (graph.tensor(TensorId(t)).dtype == DType::kFloat16) {
      HalfComputer(graph).run();
      return;
    }
  }
}

}  // namespace dfsim::inline graphs
