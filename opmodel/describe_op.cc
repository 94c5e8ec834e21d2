// Canonical attributes: every attribute that changes the cost appears with its value, defaults
// included, so that equal operators have equal text and share one row of costs. Images whose
// channels are in blocks have the channels that fill the last block, as the kernels compute them
// too.
#include "opmodel/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "graphs/ops/families/extensions/gradient_ops.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/ops/infer.h"
#include "graphs/ops/op_def.h"

namespace dfsim::inline opmodel {
namespace {

// Attributes that change cost, always with a value, so that equal ops read equal.
std::string integer_list(const std::vector<int64_t>& values) {
  return fmt::format("{}", fmt::join(values, ","));
}

std::string list_or(const Op& op, std::string_view name, size_t count, int64_t fallback) {
  const auto* list = op.attributes.get_ints(name);
  return integer_list(list != nullptr && !list->empty() ? *list
                                                        : std::vector<int64_t>(count, fallback));
}

// SAME_UPPER and SAME_LOWER written out, begins first, then ends.
std::string pads_of(const Graph& graph, const Op& op, const std::vector<int64_t>& kernel) {
  const size_t spatial = kernel.size();
  const std::string mode = op.attributes.string_or("auto_pad", "NOTSET");
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    return list_or(op, "pads", spatial * 2, 0);
  }
  const auto* strides = op.attributes.get_ints("strides");
  const auto* dilations = op.attributes.get_ints("dilations");
  const Shape& in = graph.tensor(op.inputs[0]).shape;
  const Shape& out = graph.tensor(op.outputs[0]).shape;
  std::vector<int64_t> pads(spatial * 2, 0);
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t stride = strides != nullptr && !strides->empty() ? (*strides)[i] : 1;
    const int64_t dilation = dilations != nullptr && !dilations->empty() ? (*dilations)[i] : 1;
    const int axis = static_cast<int>(i) + 2;
    const int64_t total = std::max<int64_t>(
        0, (out[axis].extent() - 1) * stride + (kernel[i] - 1) * dilation + 1 - in[axis].extent());
    pads[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    pads[i + spatial] = total - pads[i];
  }
  return integer_list(pads);
}

std::vector<int64_t> kernel_of(const Graph& graph, const Op& op) {
  if (const auto* kernel = op.attributes.get_ints("kernel_shape");
      kernel != nullptr && !kernel->empty()) {
    return *kernel;
  }
  const size_t weight = op.op_type == "QLinearConv" ? 3 : 1;
  std::vector<int64_t> extents = graph.tensor(op.inputs[weight]).shape.extents();
  extents.erase(extents.begin(), extents.begin() + 2);
  return extents;
}

std::string last_format(const Op& op) {
  return op.attributes.int_or(kChannelsLast, 0) != 0 ? fmt::format("{}=1;", kChannelsLast) : "";
}

// The function that a fused convolution or product applies to its results.
std::string activation_attribute(const Op& op) {
  const std::string activation = op.attributes.string_or("activation", "none");
  return activation == "none" ? "" : fmt::format("activation={};", activation);
}

// The channels of a block of the result, 0 when it has none.
int result_block(const Graph& graph, const Op& op) {
  return op.outputs[0].valid() ? graph.tensor(op.outputs[0]).channel_block : 0;
}

// Depthwise convolutions on images in blocks have the channels that fill the last one as groups.
int64_t group_of(const Graph& graph, const Op& op) {
  const int64_t group = op.attributes.int_or("group", 1);
  const int block = result_block(graph, op);
  if (group <= 1 || block == 0) {
    return group;
  }
  const Shape& filter = graph.tensor(op.inputs[1]).shape;
  return filter[1] == Dim(1) ? in_whole_blocks(group, block) : group;
}

std::string window_attributes(const Graph& graph, const Op& op) {
  const std::vector<int64_t> kernel = kernel_of(graph, op);
  const size_t n = kernel.size();
  const std::string pads = pads_of(graph, op, kernel);
  const std::string common = fmt::format("kernel_shape={}", integer_list(kernel));
  const std::string strides = list_or(op, "strides", n, 1);
  if (op.op_class == OpClass::kConv) {
    const std::string extra =
        op.op_type == "ConvTranspose"
            ? fmt::format("output_padding={};", list_or(op, "output_padding", n, 0))
            : "";
    // A memory format: the shapes are those of channels first.
    const bool gradient =
        op.op_type == "ConvTranspose" && op.attributes.int_or(kInputGradient, 0) != 0;
    const bool may_be_last = (op.op_type == "Conv" && op.domain.empty()) ||
                             op.op_type == "FusedConv" || gradient ||
                             op.op_type == "ConvFilterGrad";
    return fmt::format(
        "{}{}{}dilations={};group={};{}{};{}pads={};strides={}", activation_attribute(op),
        op.attributes.int_or(kBiasInKernel, 0) != 0 ? fmt::format("{}=1;", kBiasInKernel) : "",
        may_be_last ? last_format(op) : "", list_or(op, "dilations", n, 1), group_of(graph, op),
        gradient ? fmt::format("{}=1;", kInputGradient) : "", common, extra, pads, strides);
  }
  const std::string dilations =
      op.op_type == "MaxPool" ? fmt::format("dilations={};", list_or(op, "dilations", n, 1)) : "";
  return fmt::format("ceil_mode={};{}{};pads={};strides={}", op.attributes.int_or("ceil_mode", 0),
                     dilations, common, pads, strides);
}

std::string axis_attribute(const Graph& graph, const Op& op) {
  const bool coerced = (op.op_type == "Softmax" || op.op_type == "LogSoftmax") && op.version < 13;
  const bool from_end = !coerced && (op.op_type == "Softmax" || op.op_type == "LogSoftmax" ||
                                     op.op_type == "LayerNormalization");
  const int64_t axis = op.attributes.int_or("axis", coerced ? 1 : from_end ? -1 : 0);
  const int rank = graph.tensor(op.inputs[0]).shape.rank();
  return fmt::format("axis={}", axis < 0 ? axis + rank : axis);
}

// The axis that indices count along, unless it is the innermost one: kernels then walk through
// columns.
std::string indexed_axis(const Graph& graph, const Op& op, int64_t fallback = 0) {
  const Shape& shape = graph.tensor(op.inputs[0]).shape;
  const int64_t given = op.attributes.int_or("axis", fallback);
  const int64_t axis = given + (given < 0 ? shape.rank() : 0);
  for (auto i = static_cast<int>(axis) + 1; i < shape.rank(); ++i) {
    if (!shape[i].known() || shape[i].extent() != 1) {
      return fmt::format("axis={}", axis);
    }
  }
  return "";
}

// The axis of scales, of which there are several, unless it is the innermost one.
std::string scale_axis(const Graph& graph, const Op& op) {
  const Shape& scale = graph.tensor(op.inputs[1]).shape;
  const bool several = scale.is_static() && scale.rank() == 1 && scale[0].extent() > 1;
  return several ? indexed_axis(graph, op, 1) : "";
}

std::string reduce_attributes(const Graph& graph, const Op& op) {
  const int rank = graph.tensor(op.inputs[0]).shape.rank();
  std::vector<int64_t> axes;
  if (const auto* given = op.attributes.get_ints("axes")) {
    axes = *given;
  } else if (op.inputs.size() > 1 && op.inputs[1].valid() && graph.constant(op.inputs[1])) {
    axes = graph.constant(op.inputs[1])->ints;
  }
  for (int64_t& axis : axes) {
    axis += axis < 0 ? rank : 0;
  }
  std::sort(axes.begin(), axes.end());
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  return fmt::format("axes={};keepdims={}", integer_list(axes),
                     op.attributes.int_or("keepdims", 1));
}

std::string transpose_attributes(const Graph& graph, const Op& op) {
  const int rank = graph.tensor(op.inputs[0]).shape.rank();
  std::vector<int64_t> perm;
  if (const auto* given = op.attributes.get_ints("perm")) {
    perm = *given;
  } else {
    for (int64_t i = rank; i-- > 0;) {
      perm.push_back(i);
    }
  }
  return fmt::format("perm={}", integer_list(perm));
}

// Squares and cubes are products; any other power is a function of its own.
std::string power_attributes(const Graph& graph, const Op& op) {
  const ConstValue* const exponent =
      op.inputs.size() > 1 && op.inputs[1].valid() ? graph.constant(op.inputs[1]) : nullptr;
  if (exponent == nullptr || exponent->size() != 1) {
    return "";
  }
  const double value = exponent->as_double(0);
  return value == 2 || value == 3 ? fmt::format("exponent={:.0f}", value) : "";
}

// Mode and coordinates decide the algorithm. The first versions had asymmetric coordinates.
std::string resize_attributes(const Op& op) {
  const bool old = op.op_type == "Upsample" || op.version < 11;
  return fmt::format(
      "{}coordinates={};mode={}{}", op.attributes.int_or("antialias", 0) != 0 ? "antialias=1;" : "",
      op.attributes.string_or("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel"),
      op.attributes.string_or("mode", "nearest"),
      op.attributes.int_or(kSerialImages, 0) != 0 ? fmt::format(";{}=1", kSerialImages) : "");
}

// Opset 20 renamed two of three.
std::string sampling_mode(const Op& op) {
  const std::string mode = op.attributes.string_or("mode", "linear");
  return mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode;
}

// The axis is an operand; nothing where its value is not known.
std::string axis_of_operand(const Graph& graph, const Op& op, size_t operand) {
  const bool given = op.inputs.size() > operand && op.inputs[operand].valid();
  const ConstValue* const axis = given ? graph.constant(op.inputs[operand]) : nullptr;
  if (axis == nullptr || axis->ints.size() != 1) {
    return "";
  }
  const int rank = graph.tensor(op.inputs[0]).shape.rank();
  return fmt::format("axis={}", axis->ints[0] + (axis->ints[0] < 0 ? rank : 0));
}

// Before opset 20 the axis was an attribute.
std::string transform_axis(const Graph& graph, const Op& op) {
  constexpr size_t kAxis = 2;
  if (op.version >= 20) {
    return axis_of_operand(graph, op, kAxis);
  }
  const int64_t axis = op.attributes.int_or("axis", 1);
  return fmt::format("axis={}", axis + (axis < 0 ? graph.tensor(op.inputs[0]).shape.rank() : 0));
}

// Whether a QuickGelu multiplies by a factor first, and whether a Gelu approximates.
std::string gelu_attributes(const Op& op) {
  if (op.op_type == "QuickGelu") {
    return op.attributes.get_float("alpha").value_or(0) == 1.0 ? "" : "scaled=1";
  }
  return op.attributes.string_or("approximate", "none") == "tanh" ? "approximate=tanh" : "";
}

// The number of heads where a projection hides it, and whether a softcap bounds the scores.
std::string attention_attributes(const Op& op) {
  if (op.op_type == "Attention" && op.domain == "com.microsoft") {
    return fmt::format("num_heads={}", op.attributes.int_or("num_heads", 0));
  }
  return op.attributes.get_float("softcap").value_or(0) > 0 ? "softcap=1" : "";
}

std::string experts_attributes(const Op& op) {
  constexpr int64_t kPlainBits = 32;
  const bool packed = op.op_type == "QMoE";
  return fmt::format(
      "accuracy_level={};bits={};block_size={};k={}", op.attributes.int_or("accuracy_level", 0),
      packed ? op.attributes.int_or("expert_weight_bits", 4) : kPlainBits,
      packed ? op.attributes.int_or("block_size", 0) : 0, op.attributes.int_or("k", 1));
}

std::string gemm_attributes(const Op& op) {
  return fmt::format("{}transA={};transB={}", activation_attribute(op),
                     op.attributes.int_or("transA", 0), op.attributes.int_or("transB", 0));
}

std::string sampling_attributes(const Op& op) {
  return fmt::format("align={};mode={};padding={}", op.attributes.int_or("align_corners", 0),
                     sampling_mode(op), op.attributes.string_or("padding_mode", "zeros"));
}

std::string attributes_of(const Graph& graph, const Op& op) {
  const std::string_view type = op.op_type;
  if (op.op_class == OpClass::kConv || type == "MaxPool" || type == "AveragePool" ||
      type == "LpPool") {
    return window_attributes(graph, op);
  }
  if (type == "Gemm" || type == "FusedGemm") {
    return gemm_attributes(op);
  }
  if (type == "QGemm") {  // with an activation in an engine's kernel alone
    const std::string activation = op.attributes.string_or("activation", "");
    return activation.empty() ? "" : "activation=" + activation;
  }
  if (type == "FusedMatMul") {
    return fmt::format("transA={};transB={};transBatchA={};transBatchB={}",
                       op.attributes.int_or("transA", 0), op.attributes.int_or("transB", 0),
                       op.attributes.int_or("transBatchA", 0),
                       op.attributes.int_or("transBatchB", 0));
  }
  if (type == "Softmax" || type == "LogSoftmax" || type == "LayerNormalization" ||
      type == "Concat" || type == "Split" || type == "Gather") {
    return axis_attribute(graph, op);
  }
  if (type == "GatherElements" || type == "ScatterElements" || type == "Scatter") {
    return indexed_axis(graph, op);
  }
  if (type == "QuantizeLinear" || type == "DequantizeLinear") {
    return scale_axis(graph, op);
  }
  if (type == "Transpose") {
    return transpose_attributes(graph, op);
  }
  if (type == "Attention" || type == "GroupQueryAttention") {
    return attention_attributes(op);
  }
  if (type == "BatchNormalization") {
    const bool training = op.attributes.int_or(kOwnStatistics, 0) != 0 ||
                          op.attributes.int_or("training_mode", 0) != 0;
    return training ? fmt::format("{}{}=1", last_format(op), kOwnStatistics) : "";
  }
  if (type == "NormGrad") {
    return fmt::format("{}of={}", last_format(op), op.attributes.string_or("of", ""));
  }
  if (type == "GroupNormalization") {
    return fmt::format("num_groups={}", op.attributes.int_or("num_groups", 1));
  }
  if (type == "Pow") {
    return power_attributes(graph, op);
  }
  if (type == "Resize" || type == "Upsample") {
    return resize_attributes(op);
  }
  if (type == "QuickGelu" || (type == "Gelu" && op.domain.empty())) {
    return gelu_attributes(op);
  }
  if (type == "MatMulNBits") {
    return fmt::format("accuracy_level={};bits={}", op.attributes.int_or("accuracy_level", 0),
                       op.attributes.int_or("bits", 4));
  }
  if (type == "MoE" || type == "QMoE") {
    return experts_attributes(op);
  }
  if (type == "GridSample") {
    return sampling_attributes(op);
  }
  if (type == "RoiAlign") {
    return fmt::format("sampling_ratio={}", op.attributes.int_or("sampling_ratio", 0));
  }
  if (type == "DFT") {
    return transform_axis(graph, op);
  }
  if (type == "CumSum") {
    return axis_of_operand(graph, op, 1);
  }
  if (type == "Pad") {
    const std::string mode = op.attributes.string_or("mode", "constant");
    return mode == "constant" ? "" : fmt::format("mode={}", mode);
  }
  return type.starts_with("Reduce") ? reduce_attributes(graph, op) : "";
}

// A convolution on images whose channels are in blocks.
bool runs_in_blocks(const Graph& graph, const Op& op) {
  return op.op_type == "Conv" && result_block(graph, op) > 0 &&
         graph.tensor(op.inputs[1]).shape.is_static();
}

// The filter and bias have the zeros that fill the last block, too.
void fill_filter(const Graph& graph, const Op& op, OpDescriptor* descriptor) {
  const int block = result_block(graph, op);
  std::vector<int64_t>& filter = descriptor->input_extents[1];
  filter[0] = in_whole_blocks(filter[0], block);
  if (graph.tensor(op.inputs[0]).channel_block > 0 && op.attributes.int_or("group", 1) == 1) {
    filter[1] = in_whole_blocks(filter[1], block);
  }
  if (op.inputs.size() > 2 && op.inputs[2].valid()) {
    std::vector<int64_t>& bias = descriptor->input_extents[2];
    bias[0] = in_whole_blocks(bias[0], block);
  }
}

}  // namespace

OpDescriptor describe_op(const Graph& graph, OpId id, const OpWork& work) {
  const Op& op = graph.op(id);
  OpDescriptor descriptor;
  descriptor.op_type = op.domain.empty() ? op.op_type : op.domain + "." + op.op_type;
  descriptor.op_class = op.op_class;
  descriptor.dtype = work.dtype;
  descriptor.work = work;
  for (const TensorId input : op.inputs) {
    const bool present = input.valid() && graph.tensor(input).shape.is_static();
    descriptor.input_extents.push_back(present ? graph.tensor(input).stored_shape().extents()
                                               : std::vector<int64_t>{-1});
    descriptor.input_dtypes.push_back(input.valid() ? graph.tensor(input).dtype : DType::kUnknown);
  }
  for (const TensorId output : op.outputs) {
    if (output.valid() && graph.tensor(output).shape.is_static()) {
      descriptor.output_extents.push_back(graph.tensor(output).stored_shape().extents());
      descriptor.output_dtypes.push_back(graph.tensor(output).dtype);
    }
  }
  // An operator that dfsim does not know may have any operands.
  const bool known =
      op.op_class != OpClass::kOpaque || find_op_def(op.domain, op.op_type) != nullptr;
  if (is_resolved(graph, id) && known) {
    descriptor.attributes = attributes_of(graph, op);
  }
  if (op.attributes.int_or(kEngineKernel, 0) != 0) {
    descriptor.attributes +=
        fmt::format("{}{}=1", descriptor.attributes.empty() ? "" : ";", kEngineKernel);
  }
  if (runs_in_blocks(graph, op)) {
    fill_filter(graph, op, &descriptor);
  }
  return descriptor;
}

}  // namespace dfsim::inline opmodel
