// One row per operator of PyTorch's dispatcher: its ONNX name, its class, and the form of its
// arguments.
#include "datasets/importers/torch/torch_op_table.h"

#include <algorithm>

namespace dfsim::inline datasets {
namespace {

using enum OpClass;

constexpr TorchOpInfo kTorchOps[] = {
    {"aten::addmm", "Gemm", kMatMul, TorchForm::kAddmm},
    {"aten::mm", "MatMul", kMatMul, TorchForm::kMatMul},
    {"aten::bmm", "MatMul", kMatMul, TorchForm::kMatMul},
    {"aten::baddbmm", "MatMul", kMatMul, TorchForm::kBaddbmm},
    {"aten::_addmm_activation", "", kMatMul, TorchForm::kAddmm},
    {"aten::_scaled_mm", "", kMatMul, TorchForm::kTensors},
    {"aten::cudnn_convolution", "Conv", kConv, TorchForm::kConv},
    {"aten::miopen_convolution", "Conv", kConv, TorchForm::kConv},
    {"aten::miopen_depthwise_convolution", "Conv", kConv, TorchForm::kConv},
    {"aten::mkldnn_convolution", "Conv", kConv, TorchForm::kConv},
    {"aten::cudnn_convolution_relu", "Conv", kConv, TorchForm::kConv},
    {"aten::_convolution", "Conv", kConv, TorchForm::kConv},
    {"aten::convolution", "Conv", kConv, TorchForm::kConv},
    {"aten::conv2d", "Conv", kConv, TorchForm::kConv},
    {"aten::conv1d", "Conv", kConv, TorchForm::kConv},
    {"aten::_slow_conv2d_forward", "Conv", kConv, TorchForm::kConv},
    {"aten::_conv_depthwise2d", "Conv", kConv, TorchForm::kConv},
    {"aten::convolution_backward", "", kConv, TorchForm::kTensors},
    {"aten::native_layer_norm", "LayerNormalization", kNorm, TorchForm::kLayerNorm},
    {"aten::native_layer_norm_backward", "", kNorm, TorchForm::kTensors},
    {"aten::native_batch_norm", "BatchNormalization", kNorm, TorchForm::kBatchNorm},
    {"aten::cudnn_batch_norm", "BatchNormalization", kNorm, TorchForm::kBatchNorm},
    {"aten::miopen_batch_norm", "BatchNormalization", kNorm, TorchForm::kBatchNorm},
    {"aten::native_batch_norm_backward", "", kNorm, TorchForm::kTensors},
    {"aten::native_group_norm", "GroupNormalization", kNorm, TorchForm::kTensors},
    {"aten::_softmax", "Softmax", kSoftmax, TorchForm::kSoftmax},
    {"aten::_log_softmax", "LogSoftmax", kSoftmax, TorchForm::kSoftmax},
    {"aten::_softmax_backward_data", "", kSoftmax, TorchForm::kTensors},
    {"aten::_log_softmax_backward_data", "", kSoftmax, TorchForm::kTensors},
    {"aten::_flash_attention_forward", "Attention", kAttention, TorchForm::kFlash},
    {"aten::_efficient_attention_forward", "Attention", kAttention, TorchForm::kFlash},
    {"aten::_scaled_dot_product_flash_attention", "Attention", kAttention, TorchForm::kAttention},
    {"aten::_scaled_dot_product_efficient_attention", "Attention", kAttention,
     TorchForm::kAttention},
    {"aten::_scaled_dot_product_cudnn_attention", "Attention", kAttention, TorchForm::kAttention},
    {"aten::_flash_attention_backward", "", kAttention, TorchForm::kTensors},
    {"aten::add", "Add", kElementwise, TorchForm::kBinary},
    {"aten::sub", "Sub", kElementwise, TorchForm::kBinary},
    {"aten::mul", "Mul", kElementwise, TorchForm::kBinary},
    {"aten::div", "Div", kElementwise, TorchForm::kBinary},
    {"aten::pow", "Pow", kElementwise, TorchForm::kBinary},
    {"aten::maximum", "Max", kElementwise, TorchForm::kBinary},
    {"aten::minimum", "Min", kElementwise, TorchForm::kBinary},
    {"aten::eq", "Equal", kElementwise, TorchForm::kBinary},
    {"aten::gt", "Greater", kElementwise, TorchForm::kBinary},
    {"aten::lt", "Less", kElementwise, TorchForm::kBinary},
    {"aten::ge", "GreaterOrEqual", kElementwise, TorchForm::kBinary},
    {"aten::le", "LessOrEqual", kElementwise, TorchForm::kBinary},
    {"aten::ne", "", kElementwise, TorchForm::kBinary},
    {"aten::relu", "Relu", kElementwise, TorchForm::kUnary},
    {"aten::clamp_min", "Relu", kElementwise, TorchForm::kUnary},
    {"aten::gelu", "Gelu", kElementwise, TorchForm::kUnary},
    {"aten::tanh", "Tanh", kElementwise, TorchForm::kUnary},
    {"aten::sigmoid", "Sigmoid", kElementwise, TorchForm::kUnary},
    {"aten::silu", "", kElementwise, TorchForm::kUnary},
    {"aten::exp", "Exp", kElementwise, TorchForm::kUnary},
    {"aten::log", "Log", kElementwise, TorchForm::kUnary},
    {"aten::neg", "Neg", kElementwise, TorchForm::kUnary},
    {"aten::sqrt", "Sqrt", kElementwise, TorchForm::kUnary},
    {"aten::rsqrt", "", kElementwise, TorchForm::kUnary},
    {"aten::erf", "Erf", kElementwise, TorchForm::kUnary},
    {"aten::hardtanh", "Clip", kElementwise, TorchForm::kUnary},
    {"aten::hardswish", "HardSwish", kElementwise, TorchForm::kUnary},
    {"aten::native_dropout", "", kElementwise, TorchForm::kUnary},
    {"aten::bernoulli", "", kElementwise, TorchForm::kUnary},
    {"aten::fill", "", kElementwise, TorchForm::kUnary},
    {"aten::zero", "", kElementwise, TorchForm::kUnary},
    {"aten::copy", "", kElementwise, TorchForm::kTensors},
    {"aten::addcmul", "", kElementwise, TorchForm::kTensors},
    {"aten::addcdiv", "", kElementwise, TorchForm::kTensors},
    {"aten::where", "Where", kElementwise, TorchForm::kTensors},
    {"aten::masked_fill", "", kElementwise, TorchForm::kTensors},
    {"aten::threshold_backward", "", kElementwise, TorchForm::kTensors},
    {"aten::gelu_backward", "", kElementwise, TorchForm::kTensors},
    {"aten::sum", "", kReduce, TorchForm::kTensors},
    {"aten::mean", "", kReduce, TorchForm::kTensors},
    {"aten::argmax", "", kReduce, TorchForm::kTensors},
    {"aten::cumsum", "", kReduce, TorchForm::kTensors},
    {"aten::max_pool2d_with_indices", "MaxPool", kPool, TorchForm::kPool},
    {"aten::avg_pool2d", "AveragePool", kPool, TorchForm::kPool},
    {"aten::max_pool2d_with_indices_backward", "", kPool, TorchForm::kTensors},
    {"aten::_adaptive_avg_pool2d", "", kPool, TorchForm::kTensors},
    {"aten::cat", "", kDataMovement, TorchForm::kTensors},
    {"aten::upsample_nearest2d", "", kDataMovement, TorchForm::kTensors},
    {"aten::roll", "", kDataMovement, TorchForm::kTensors},
    {"aten::index_select", "Gather", kGather, TorchForm::kGather},
    {"aten::embedding", "Gather", kGather, TorchForm::kGather},
    {"aten::gather", "", kGather, TorchForm::kTensors},
    {"aten::index", "", kGather, TorchForm::kTensors},
    {"aten::embedding_dense_backward", "", kGather, TorchForm::kTensors},
    {"aten::topk", "", kSort, TorchForm::kTensors},
    {"aten::sort", "", kSort, TorchForm::kTensors},
    {"aten::_foreach_add", "", kOptimizer, TorchForm::kTensors},
    {"aten::_fused_adam", "", kOptimizer, TorchForm::kTensors},
    {"aten::_fused_sgd", "", kOptimizer, TorchForm::kTensors},
    {"record_param_comms", "", kCollective, TorchForm::kTensors},
};

}  // namespace

const TorchOpInfo* find_torch_op(std::string_view name) {
  name = name.substr(0, name.find('.'));
  const auto matches = [&name](const TorchOpInfo& op) { return op.name == name; };
  const auto* it = std::find_if(std::begin(kTorchOps), std::end(kTorchOps), matches);
  if (it == std::end(kTorchOps) && name.ends_with('_')) {
    name.remove_suffix(1);
    it = std::find_if(std::begin(kTorchOps), std::end(kTorchOps), matches);
  }
  return it == std::end(kTorchOps) ? nullptr : it;
}

}  // namespace dfsim::inline datasets
