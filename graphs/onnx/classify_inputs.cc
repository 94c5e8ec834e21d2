// Decides for each graph input whether a caller feeds it or it is a weight. Where initializers play
// the role of weights, every input is fed. Otherwise three signs count: the file declares
// initializers, the tensor reaches an operand position that holds trained parameters (walked
// backwards through views and casts), or its name ends like a parameter's.
#include "graphs/onnx/classify_inputs.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace dfsim::inline graphs {
namespace {

// Operand positions that hold trained parameters.
struct ParameterSlots {
  std::string_view op_type;
  std::array<int, 4> slots;  // -1 = none
};

// Operand positions of trained matrices and filters.
constexpr std::array kMatrixSlots = {
    ParameterSlots{"Conv", {1, -1, -1, -1}},
    ParameterSlots{"ConvTranspose", {1, -1, -1, -1}},
    ParameterSlots{"ConvInteger", {1, -1, -1, -1}},
    ParameterSlots{"QLinearConv", {3, -1, -1, -1}},
    ParameterSlots{"Gemm", {1, -1, -1, -1}},
    ParameterSlots{"MatMul", {1, -1, -1, -1}},
    ParameterSlots{"MatMulInteger", {1, -1, -1, -1}},
    ParameterSlots{"DynamicQuantizeMatMul", {1, -1, -1, -1}},
    ParameterSlots{"QLinearMatMul", {3, -1, -1, -1}},
    ParameterSlots{"MatMulNBits", {1, -1, -1, -1}},
    ParameterSlots{"LSTM", {1, 2, -1, -1}},
    ParameterSlots{"GRU", {1, 2, -1, -1}},
    ParameterSlots{"RNN", {1, 2, -1, -1}},
};

constexpr std::array kParameterSlots = {
    ParameterSlots{"Conv", {1, 2, -1, -1}},
    ParameterSlots{"ConvTranspose", {1, 2, -1, -1}},
    ParameterSlots{"Gemm", {1, 2, -1, -1}},
    ParameterSlots{"BatchNormalization", {1, 2, 3, 4}},
    ParameterSlots{"LayerNormalization", {1, 2, -1, -1}},
    ParameterSlots{"InstanceNormalization", {1, 2, -1, -1}},
    ParameterSlots{"GroupNormalization", {1, 2, -1, -1}},
    ParameterSlots{"PRelu", {1, -1, -1, -1}},
    ParameterSlots{"LSTM", {1, 2, 3, -1}},
    ParameterSlots{"GRU", {1, 2, 3, -1}},
    ParameterSlots{"RNN", {1, 2, 3, -1}},
};

// Activations are right operands of products, too, but then have axes of batches or heads.
constexpr std::array kProductSlots = {ParameterSlots{"MatMul", {1, -1, -1, -1}}};
constexpr int kMatrixRank = 2;

constexpr std::array<std::string_view, 12> kParameterEndings = {
    "weight", "bias",  "running_mean", "running_var", "gamma",      "beta",
    "kernel", "scale", "embedding",    "_table",      "embeddings", "num_batches_tracked"};

constexpr std::array<std::string_view, 7> kPassThrough = {
    "Transpose", "Cast", "Identity", "Reshape", "Unsqueeze", "Squeeze", "DequantizeLinear"};

template <size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// The tensors that reach one of the slots, found backwards from them.
std::vector<bool> tensors_in_slots(const GraphBuilder& builder,
                                   std::span<const ParameterSlots> slots) {
  std::vector<bool> marked(builder.tensor_count(), false);
  std::vector<TensorId> work;
  const auto mark = [&](TensorId id) {
    if (id.valid() && !marked[id.index()]) {
      marked[id.index()] = true;
      work.push_back(id);
    }
  };
  for (size_t i = 0; i < builder.op_count(); ++i) {
    const Op& op = builder.op(OpId(i));
    for (const ParameterSlots& entry : slots) {
      if (entry.op_type != op.op_type) {
        continue;
      }
      for (const int slot : entry.slots) {
        if (slot >= 0 && static_cast<size_t>(slot) < op.inputs.size()) {
          mark(op.inputs[static_cast<size_t>(slot)]);
        }
      }
    }
  }
  while (!work.empty()) {
    const Tensor& tensor = builder.tensor(work.back());
    work.pop_back();
    if (tensor.producer.valid()) {
      const Op& producer = builder.op(tensor.producer);
      if (contains(kPassThrough, producer.op_type) && !producer.inputs.empty()) {
        mark(producer.inputs[0]);
      }
    }
  }
  return marked;
}

// Whether the file holds trained matrices: parameters of two axes or more where those are read.
bool stores_weights(const GraphBuilder& builder) {
  const std::vector<bool> in_slot = tensors_in_slots(builder, kMatrixSlots);
  for (size_t t = 0; t < builder.tensor_count(); ++t) {
    const Tensor& tensor = builder.tensor(TensorId(t));
    if (in_slot[t] && tensor.role == TensorRole::kWeight && tensor.shape.rank() >= kMatrixRank) {
      return true;
    }
  }
  return false;
}

bool named_like_parameter(std::string_view name) {
  return std::any_of(kParameterEndings.begin(), kParameterEndings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

}  // namespace

void classify_inputs(GraphBuilder& builder, bool has_initializers) {
  if (stores_weights(builder)) {
    return;
  }
  const std::vector<TensorId> inputs = builder.inputs();
  const bool any_dynamic = std::any_of(inputs.begin(), inputs.end(), [&](TensorId id) {
    return !builder.tensor(id).shape.is_static();
  });
  const std::vector<bool> in_slot = tensors_in_slots(builder, kParameterSlots);
  const std::vector<bool> in_product = tensors_in_slots(builder, kProductSlots);
  std::vector<TensorId> fed;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor& tensor = builder.tensor(inputs[i]);
    const size_t t = inputs[i].index();
    const bool weight = i > 0 && tensor.shape.is_static() &&
                        (in_slot[t] || (in_product[t] && tensor.shape.rank() <= kMatrixRank) ||
                         (!has_initializers && any_dynamic) || named_like_parameter(tensor.name));
    if (weight) {
      tensor.is_input = false;
      tensor.role = TensorRole::kWeight;
    } else {
      fed.push_back(inputs[i]);
    }
  }
  builder.set_inputs(std::move(fed));
}

}  // namespace dfsim::inline graphs
