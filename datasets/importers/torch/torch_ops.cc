// A table from PyTorch's operator names to forms, and one function per form that turns recorded
// arguments into ONNX's operands and attributes. Arguments are positional and the trailing ones
// may be absent, so tensors_needed() decides whether a call can be described at all. Strides
// matter in one place: a matrix stored by columns is a weight that PyTorch passes as its
// transpose.
#include "datasets/importers/torch/torch_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "datasets/events/json_text.h"
#include "datasets/importers/tensor_lists.h"
#include "datasets/importers/torch/torch_op_table.h"
#include "datasets/tables/numbers.h"

namespace dfsim::inline datasets {
namespace {

TensorList tensors_of(const std::vector<TorchArgument>& arguments) {
  TensorList tensors;
  for (const TorchArgument& argument : arguments) {
    if (argument.is_tensor) {
      tensors.push_back(argument.tensor);
    }
  }
  return tensors;
}

// A matrix stored by columns is a transposed one stored by rows: what "weight.t()" looks like.
bool is_transposed(const TorchArgument& argument) {
  const size_t rank = argument.strides.size();
  return rank >= 2 && argument.tensor.extents.size() == rank && argument.strides[rank - 2] == 1 &&
         argument.strides[rank - 1] >= argument.tensor.extents[rank - 2] &&
         argument.strides[rank - 1] > 1;
}

void describe_gemm(const std::vector<TorchArgument>& args, TorchOp* op) {
  TensorSpec a = args[1].tensor;
  TensorSpec b = args[2].tensor;
  if (a.extents.size() != 2 || b.extents.size() != 2) {
    return;
  }
  op->outputs = {tensor(a.dtype, {a.extents[0], b.extents[1]})};
  const bool trans_a = is_transposed(args[1]);
  const bool trans_b = is_transposed(args[2]);
  if (trans_a) {
    std::swap(a.extents[0], a.extents[1]);
  }
  if (trans_b) {
    std::swap(b.extents[0], b.extents[1]);
  }
  op->inputs = {a, b, args[0].tensor};
  op->attributes = gemm_attributes(trans_a, trans_b);
}

void describe_matmul(const TensorSpec& a, const TensorSpec& b, TorchOp* op) {
  op->inputs = {a, b};
  if (a.extents.size() >= 2 && b.extents.size() == a.extents.size()) {
    op->outputs = {a};
    op->outputs[0].extents.back() = b.extents.back();
  }
}

// Positions of the geometry among a convolution's arguments.
struct ConvArguments {
  std::string_view name;
  size_t bias, strides, pads, dilations, groups;
};
constexpr size_t kNone = SIZE_MAX;
constexpr std::array<ConvArguments, 5> kConvArguments = {{
    {"aten::cudnn_convolution", kNone, 3, 2, 4, 5},
    {"aten::miopen_convolution", 2, 4, 3, 5, 6},
    {"aten::miopen_depthwise_convolution", 2, 4, 3, 5, 6},
    {"aten::mkldnn_convolution", 2, 4, 3, 5, 6},
    {"aten::_convolution", 2, 3, 4, 5, 8},
}};
constexpr ConvArguments kOtherConv = {"", 2, 3, 4, 5, kNone};

std::vector<int64_t> numbers(const std::vector<TorchArgument>& args, size_t i) {
  std::vector<int64_t> values;
  if (i >= args.size() || !parse_json_extents(args[i].text, &values)) {
    values.clear();
  }
  return values;
}

void describe_conv(std::string_view name, const std::vector<TorchArgument>& args, TorchOp* op) {
  const auto* const listed = std::find_if(kConvArguments.begin(), kConvArguments.end(),
                                          [name](const auto& entry) { return entry.name == name; });
  const ConvArguments& where = listed == kConvArguments.end() ? kOtherConv : *listed;
  const TensorSpec& x = args[0].tensor;
  const TensorSpec& w = args[1].tensor;
  op->inputs = {x, w};
  if (where.bias < args.size() && args[where.bias].is_tensor) {
    op->inputs.push_back(args[where.bias].tensor);
  }
  ConvGeometry conv;
  conv.strides = numbers(args, where.strides);
  conv.dilations = numbers(args, where.dilations);
  const std::vector<int64_t> pads = numbers(args, where.pads);
  const size_t axes = x.extents.size() < 3 ? 0 : x.extents.size() - 2;
  if (axes == 0 || w.extents.size() != axes + 2 || conv.strides.size() != axes ||
      conv.dilations.size() != axes || pads.size() != axes || w.extents[1] <= 0) {
    return;
  }
  conv.kernel.assign(w.extents.begin() + 2, w.extents.end());
  conv.pads = pads;
  conv.pads.insert(conv.pads.end(), pads.begin(), pads.end());
  conv.group = x.extents[1] / w.extents[1];
  op->attributes = conv_attributes(conv);
  op->outputs = {tensor(x.dtype, conv_output(x.extents, w.extents[0], conv))};
}

void describe_pool(const std::vector<TorchArgument>& args, TorchOp* op) {
  const TensorSpec& x = args[0].tensor;
  ConvGeometry pool;
  pool.kernel = numbers(args, 1);
  pool.strides = numbers(args, 2);
  const std::vector<int64_t> pads = numbers(args, 3);
  op->inputs = {x};
  if (x.extents.size() != 4 || pool.kernel.size() != 2 || pads.size() != 2) {
    return;
  }
  if (pool.strides.empty()) {
    pool.strides = pool.kernel;  // PyTorch's default
  }
  const bool max = op->op_type == "MaxPool";
  pool.dilations = max ? numbers(args, 4) : std::vector<int64_t>{1, 1};
  const size_t ceil_at = max ? 5 : 4;
  const bool ceil = ceil_at < args.size() && args[ceil_at].text == "True";
  if (pool.strides.size() != 2 || pool.dilations.size() != 2 || ceil) {
    return;
  }
  pool.pads = {pads[0], pads[1], pads[0], pads[1]};
  std::vector<std::pair<std::string, std::string>> attributes = {
      {"ceil_mode", "0"},
      {"kernel_shape", join_numbers(pool.kernel)},
      {"pads", join_numbers(pool.pads)},
      {"strides", join_numbers(pool.strides)}};
  if (max) {
    attributes.emplace_back("dilations", join_numbers(pool.dilations));
  }
  op->attributes = canonical_attributes(std::move(attributes));
  op->outputs = {tensor(x.dtype, conv_output(x.extents, x.extents[1], pool))};
}

void describe_attention(const std::vector<TorchArgument>& args, bool heads_inside, TorchOp* op) {
  for (size_t i = 0; i < 3; ++i) {
    TensorSpec operand = args[i].tensor;
    if (operand.extents.size() != 4) {
      return;
    }
    if (heads_inside) {
      std::swap(operand.extents[1], operand.extents[2]);
    }
    op->inputs.push_back(std::move(operand));
  }
  op->outputs = {op->inputs[0]};
  const bool causal = std::any_of(args.begin() + 3, args.end(), [](const TorchArgument& argument) {
    return argument.text == "True";
  });
  const bool one_query = op->inputs[0].extents[2] == 1;
  const std::string_view kind = one_query ? "generation" : causal ? "context" : "encoder";
  op->attributes = fmt::format("causal={};kind={};kv_heads={};window=0", causal ? 1 : 0, kind,
                               op->inputs[1].extents[1]);
}

void describe_binary(const std::vector<TorchArgument>& args, TorchOp* op) {
  const TensorSpec& a = args[0].tensor;
  const TensorSpec b = args.size() > 1 && args[1].is_tensor ? args[1].tensor : tensor(a.dtype, {});
  op->inputs = {a, b};
  op->outputs = {tensor(a.dtype, broadcast(a.extents, b.extents))};
}

void describe_norm(const std::vector<TorchArgument>& args, TorchOp* op) {
  const TensorSpec& x = args[0].tensor;
  op->inputs = tensors_of(args);
  op->outputs = {x};
  const size_t normalised = numbers(args, 1).size();
  if (normalised > 0 && normalised <= x.extents.size()) {
    op->attributes = fmt::format("axis={}", x.extents.size() - normalised);
  }
}

void describe_softmax(const std::vector<TorchArgument>& args, TorchOp* op) {
  op->inputs = {args[0].tensor};
  op->outputs = op->inputs;
  const auto rank = static_cast<int64_t>(args[0].tensor.extents.size());
  auto axis = parse_number<int64_t>(args.size() > 1 ? args[1].text : "");
  if (axis.has_value() && *axis >= -rank && *axis < rank) {
    op->attributes = fmt::format("axis={}", *axis < 0 ? *axis + rank : *axis);
  }
}

void describe_gather(std::string_view name, const std::vector<TorchArgument>& args, TorchOp* op) {
  op->inputs = tensors_of(args);
  op->inputs.resize(std::min<size_t>(op->inputs.size(), 2));
  const int64_t axis = name == "aten::embedding"
                           ? 0
                           : parse_number<int64_t>(args.size() > 1 ? args[1].text : "").value_or(0);
  op->attributes = fmt::format("axis={}", axis);
  if (axis == 0 && op->inputs.size() == 2 && !op->inputs[0].extents.empty()) {
    TensorSpec out = tensor(op->inputs[0].dtype, op->inputs[1].extents);
    out.extents.insert(out.extents.end(), op->inputs[0].extents.begin() + 1,
                       op->inputs[0].extents.end());
    op->outputs = {std::move(out)};
  }
}

// Tensors that a form needs at the front of the arguments.
size_t tensors_needed(TorchForm form) {
  switch (form) {
    case TorchForm::kTensors:
      return 0;
    case TorchForm::kAddmm:
    case TorchForm::kBaddbmm:
    case TorchForm::kAttention:
    case TorchForm::kFlash:
      return 3;
    case TorchForm::kMatMul:
    case TorchForm::kConv:
      return 2;
    default:
      return 1;
  }
}

void fill(const TorchOpInfo& info, const std::vector<TorchArgument>& args, TorchOp* op) {
  switch (info.form) {
    case TorchForm::kTensors:
      break;
    case TorchForm::kUnary:
      op->inputs = {args[0].tensor};
      op->outputs = op->inputs;
      break;
    case TorchForm::kBinary:
      return describe_binary(args, op);
    case TorchForm::kAddmm:
      return describe_gemm(args, op);
    case TorchForm::kMatMul:
      return describe_matmul(args[0].tensor, args[1].tensor, op);
    case TorchForm::kBaddbmm:
      return describe_matmul(args[1].tensor, args[2].tensor, op);
    case TorchForm::kConv:
      return describe_conv(info.name, args, op);
    case TorchForm::kLayerNorm:
      return describe_norm(args, op);
    case TorchForm::kBatchNorm:
      op->inputs = tensors_of(args);
      op->outputs = {args[0].tensor};
      break;
    case TorchForm::kSoftmax:
      return describe_softmax(args, op);
    case TorchForm::kGather:
      return describe_gather(info.name, args, op);
    case TorchForm::kPool:
      return describe_pool(args, op);
    case TorchForm::kAttention:
    case TorchForm::kFlash:
      return describe_attention(args, info.form == TorchForm::kFlash, op);
  }
}

}  // namespace

TorchOp describe_torch_op(std::string_view name, const std::vector<TorchArgument>& arguments) {
  TorchOp op;
  const TorchOpInfo* const info = find_torch_op(name);
  op.op_type = info == nullptr || info->op_type.empty() ? name : info->op_type;
  op.op_class = info == nullptr ? OpClass::kOpaque : info->op_class;
  if (info != nullptr) {
    const size_t needed = tensors_needed(info->form);
    const bool enough =
        arguments.size() >= needed &&
        std::all_of(arguments.begin(), arguments.begin() + static_cast<long>(needed),
                    [](const TorchArgument& a) { return a.is_tensor; });
    if (enough) {
      fill(*info, arguments, &op);
    }
  }
  if (op.inputs.empty()) {
    op.inputs = tensors_of(arguments);
  }
  return op;
}

bool is_torch_bookkeeping(std::string_view name) {
  constexpr std::array<std::string_view, 32> kNames = {"empty",
                                                       "empty_like",
                                                       "empty_strided",
                                                       "as_strided",
                                                       "as_strided_",
                                                       "view",
                                                       "_unsafe_view",
                                                       "reshape",
                                                       "resize_",
                                                       "t",
                                                       "transpose",
                                                       "permute",
                                                       "expand",
                                                       "squeeze",
                                                       "unsqueeze",
                                                       "slice",
                                                       "select",
                                                       "narrow",
                                                       "detach",
                                                       "detach_",
                                                       "result_type",
                                                       "split",
                                                       "chunk",
                                                       "flatten",
                                                       "alias",
                                                       "item",
                                                       "_local_scalar_dense",
                                                       "set_",
                                                       "to",
                                                       "unbind",
                                                       "lift_fresh",
                                                       "_reshape_alias"};
  if (name.starts_with("aten::")) {
    name.remove_prefix(6);
  }
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

DType torch_dtype(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, DType>, 17> kTypes = {{
      {"float", DType::kFloat32},
      {"double", DType::kFloat64},
      {"c10::Half", DType::kFloat16},
      {"c10::BFloat16", DType::kBFloat16},
      {"c10::Float8_e4m3fn", DType::kFloat8E4M3},
      {"c10::Float8_e4m3fnuz", DType::kFloat8E4M3},
      {"c10::Float8_e5m2", DType::kFloat8E5M2},
      {"long int", DType::kInt64},
      {"long", DType::kInt64},
      {"int", DType::kInt32},
      {"short int", DType::kInt16},
      {"short", DType::kInt16},
      {"signed char", DType::kInt8},
      {"unsigned char", DType::kUInt8},
      {"bool", DType::kBool},
      {"c10::complex<float>", DType::kComplex64},
      {"c10::complex<double>", DType::kComplex128},
  }};
  for (const auto& [text, dtype] : kTypes) {
    if (text == name) {
      return dtype;
    }
  }
  return DType::kUnknown;
}

}  // namespace dfsim::inline datasets
