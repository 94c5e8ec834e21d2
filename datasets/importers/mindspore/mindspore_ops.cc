// Data table: op types of MindSpore's profiler on Ascend -> ONNX's name (where the work and the
// order of operands are the same) and dfsim's class. Gradients have the names of dfsim's training
// steps where those do the same work; other backward ops keep their own name.
#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "base/text.h"
#include "datasets/importers/op_names.h"

namespace dfsim::inline datasets {
namespace {

using enum OpClass;

// Operators of dfsim's training steps (graphs/ops/families/extensions/gradient_ops.h), by the names
// that a cost model sees.
constexpr std::string_view kElementGrad = "dfsim.training.ElementwiseGrad";
constexpr std::string_view kSoftmaxGrad = "dfsim.training.SoftmaxGrad";
constexpr std::string_view kNormGrad = "dfsim.training.NormGrad";
constexpr std::string_view kGatherGrad = "dfsim.training.GatherGrad";
constexpr std::string_view kAttentionGrad = "dfsim.training.AttentionGrad";
constexpr std::string_view kFilterGrad = "tensorflow.ConvFilterGrad";
constexpr std::string_view kMostGrad = "tensorflow.MaxPoolGrad";
constexpr std::string_view kMeanGrad = "tensorflow.AveragePoolGrad";

constexpr OpNameInfo kMindSporeOps[] = {
    // Convolution, forward and both gradients.
    {"Conv2D", "Conv", kConv},
    {"Conv3D", "Conv", kConv},
    {"DepthwiseConv2D", "Conv", kConv},
    {"DepthwiseConv2dNative", "Conv", kConv},
    {"Conv2DBackpropInput", "ConvTranspose", kConv},
    {"Conv2DBackpropFilter", kFilterGrad, kConv},
    {"Conv3DBackpropInput", "ConvTranspose", kConv},
    {"Conv3DBackpropFilter", kFilterGrad, kConv},
    {"DepthwiseConv2DBackpropInput", "ConvTranspose", kConv},
    {"DepthwiseConv2DBackpropFilter", kFilterGrad, kConv},
    {"DepthwiseConv2dNativeBackpropInput", "ConvTranspose", kConv},
    {"DepthwiseConv2dNativeBackpropFilter", kFilterGrad, kConv},
    {"Conv2DTranspose", "", kConv},
    {"Conv3DTranspose", "", kConv},
    {"DeformableConv2D", "", kConv},
    // Matrix products.
    {"MatMul", "MatMul", kMatMul},
    {"BatchMatMul", "MatMul", kMatMul},
    {"FullyConnection", "", kMatMul},
    {"Einsum", "", kMatMul},
    {"FlashAttentionScore", "", kAttention},
    {"FlashAttentionScoreGrad", kAttentionGrad, kAttention},
    {"PromptFlashAttention", "", kAttention},
    {"IncreFlashAttention", "", kAttention},
    // Normalisation. Ascend splits batch norm in a reducing and an updating kernel.
    {"BatchNorm", "BatchNormalization", kNorm},
    {"BatchNormGrad", kNormGrad, kNorm},
    {"BNInfer", "", kNorm},
    {"BNInferGrad", "", kNorm},
    {"BNTrainingReduce", "", kNorm},
    {"BNTrainingReduceGrad", "", kNorm},
    {"BNTrainingUpdate", "", kNorm},
    {"BNTrainingUpdateGrad", "", kNorm},
    {"BNTrainingUpdateSum", "", kNorm},
    {"SyncBatchNormBackwardElemt", "", kNorm},
    {"LayerNorm", "LayerNormalization", kNorm},
    {"LayerNormGrad", kNormGrad, kNorm},
    {"LayerNormXBackprop", "", kNorm},
    {"LayerNormBetaGammaBackprop", "", kNorm},
    {"GroupNorm", "GroupNormalization", kNorm},
    {"InstanceNorm", "InstanceNormalization", kNorm},
    {"RmsNorm", "RMSNormalization", kNorm},
    {"RmsNormGrad", kNormGrad, kNorm},
    {"L2Normalize", "", kNorm},
    {"L2NormalizeGrad", "", kNorm},
    {"LRN", "LRN", kNorm},
    {"LRNGrad", "", kNorm},
    // Softmax and the losses built on it.
    {"Softmax", "Softmax", kSoftmax},
    {"LogSoftmax", "LogSoftmax", kSoftmax},
    {"SoftmaxGrad", kSoftmaxGrad, kSoftmax},
    {"SoftmaxGradExt", "", kSoftmax},
    {"LogSoftmaxGrad", kSoftmaxGrad, kSoftmax},
    {"SoftmaxCrossEntropyWithLogits", "", kSoftmax},
    {"SparseSoftmaxCrossEntropyWithLogits", "", kSoftmax},
    {"NLLLoss", "", kSoftmax},
    {"NLLLossGrad", "", kSoftmax},
    // Elementwise arithmetic.
    {"Add", "Add", kElementwise},
    {"TensorAdd", "Add", kElementwise},
    {"Adds", "Add", kElementwise},
    {"AddN", "Sum", kElementwise},
    {"AccumulateN", "Sum", kElementwise},
    {"Sub", "Sub", kElementwise},
    {"Mul", "Mul", kElementwise},
    {"Muls", "Mul", kElementwise},
    {"Div", "Div", kElementwise},
    {"RealDiv", "Div", kElementwise},
    {"DivNoNan", "", kElementwise},
    {"FloorDiv", "", kElementwise},
    {"FloorMod", "", kElementwise},
    {"Mod", "Mod", kElementwise},
    {"Maximum", "Max", kElementwise},
    {"Minimum", "Min", kElementwise},
    {"MaximumGrad", kElementGrad, kElementwise},
    {"MinimumGrad", kElementGrad, kElementwise},
    {"Pow", "Pow", kElementwise},
    {"Square", "", kElementwise},
    {"SquaredDifference", "", kElementwise},
    {"Sqrt", "Sqrt", kElementwise},
    {"SqrtGrad", kElementGrad, kElementwise},
    {"Rsqrt", "", kElementwise},
    {"RsqrtGrad", kElementGrad, kElementwise},
    {"Exp", "Exp", kElementwise},
    {"Expm1", "", kElementwise},
    {"Log", "Log", kElementwise},
    {"Log1p", "", kElementwise},
    {"Neg", "Neg", kElementwise},
    {"Abs", "Abs", kElementwise},
    {"AbsGrad", kElementGrad, kElementwise},
    {"Sign", "Sign", kElementwise},
    {"Reciprocal", "Reciprocal", kElementwise},
    {"ReciprocalGrad", kElementGrad, kElementwise},
    {"Inv", "Reciprocal", kElementwise},
    {"Erf", "Erf", kElementwise},
    {"Sin", "Sin", kElementwise},
    {"Cos", "Cos", kElementwise},
    {"Floor", "Floor", kElementwise},
    {"Ceil", "Ceil", kElementwise},
    {"Round", "Round", kElementwise},
    {"Rint", "Round", kElementwise},
    {"Equal", "Equal", kElementwise},
    {"NotEqual", "", kElementwise},
    {"ApproximateEqual", "", kElementwise},
    {"Greater", "Greater", kElementwise},
    {"GreaterEqual", "GreaterOrEqual", kElementwise},
    {"Less", "Less", kElementwise},
    {"LessEqual", "LessOrEqual", kElementwise},
    {"LogicalAnd", "And", kElementwise},
    {"LogicalOr", "Or", kElementwise},
    {"LogicalNot", "Not", kElementwise},
    {"Select", "Where", kElementwise},
    {"MaskedFill", "", kElementwise},
    {"Cast", "Cast", kElementwise},
    {"ClipByValue", "Clip", kElementwise},
    {"ClipByNormNoDivSum", "", kElementwise},
    {"BiasAdd", "Add", kElementwise},
    {"Axpy", "", kElementwise},
    {"FusedMulAdd", "", kElementwise},
    {"FusedMulAddN", "", kElementwise},
    {"FusedMulAddNL2loss", "", kReduce},
    {"Assign", "", kElementwise},
    {"AssignAdd", "", kElementwise},
    {"AssignSub", "", kElementwise},
    {"ZerosLike", "", kElementwise},
    {"OnesLike", "", kElementwise},
    {"Fill", "", kElementwise},
    {"Fills", "", kElementwise},
    {"Range", "Range", kElementwise},
    {"IsFinite", "", kElementwise},
    {"NPUAllocFloatStatus", "", kElementwise},
    {"NPUGetFloatStatus", "", kElementwise},
    {"NPUClearFloatStatus", "", kElementwise},
    // Activations and their gradients, dropout.
    {"ReLU", "Relu", kElementwise},
    {"ReluGrad", kElementGrad, kElementwise},
    {"ReLU6", "Clip", kElementwise},
    {"ReLU6Grad", kElementGrad, kElementwise},
    {"LeakyRelu", "LeakyRelu", kElementwise},
    {"LeakyReluGrad", kElementGrad, kElementwise},
    {"PReLU", "PRelu", kElementwise},
    {"PReLUGrad", kElementGrad, kElementwise},
    {"Elu", "Elu", kElementwise},
    {"EluGrad", kElementGrad, kElementwise},
    {"GeLU", "Gelu", kElementwise},
    {"GeluGrad", kElementGrad, kElementwise},
    {"FastGelu", "FastGelu", kElementwise},
    {"FastGeluGrad", kElementGrad, kElementwise},
    {"Sigmoid", "Sigmoid", kElementwise},
    {"SigmoidGrad", kElementGrad, kElementwise},
    {"SigmoidCrossEntropyWithLogits", "", kElementwise},
    {"SigmoidCrossEntropyWithLogitsGrad", "", kElementwise},
    {"BinaryCrossEntropy", "", kElementwise},
    {"BinaryCrossEntropyGrad", "", kElementwise},
    {"SmoothL1Loss", "", kElementwise},
    {"SmoothL1LossGrad", "", kElementwise},
    {"Tanh", "Tanh", kElementwise},
    {"TanhGrad", kElementGrad, kElementwise},
    {"Swish", "", kElementwise},
    {"SwishGrad", kElementGrad, kElementwise},
    {"SiLU", "", kElementwise},
    {"SiLUGrad", kElementGrad, kElementwise},
    {"Mish", "Mish", kElementwise},
    {"MishGrad", kElementGrad, kElementwise},
    {"HSwish", "HardSwish", kElementwise},
    {"HSwishGrad", kElementGrad, kElementwise},
    {"HSigmoid", "", kElementwise},
    {"HSigmoidGrad", kElementGrad, kElementwise},
    {"Softplus", "Softplus", kElementwise},
    {"SoftplusGrad", kElementGrad, kElementwise},
    {"Dropout", "", kElementwise},
    {"DropoutGrad", "", kElementwise},
    {"DropoutDoMask", "", kElementwise},
    {"DropoutDoMaskV3", "", kElementwise},
    {"DropoutGenMask", "", kElementwise},
    {"UniformReal", "", kElementwise},
    {"StandardNormal", "", kElementwise},
    // Reductions.
    {"ReduceSum", "ReduceSum", kReduce},
    {"ReduceMean", "ReduceMean", kReduce},
    {"ReduceMax", "ReduceMax", kReduce},
    {"ReduceMin", "ReduceMin", kReduce},
    {"ReduceProd", "ReduceProd", kReduce},
    {"ReduceAll", "", kReduce},
    {"ReduceAny", "", kReduce},
    {"ReduceStd", "", kReduce},
    {"ArgMax", "ArgMax", kReduce},
    {"ArgMin", "ArgMin", kReduce},
    {"ArgMaxWithValue", "", kReduce},
    {"ArgMinWithValue", "", kReduce},
    {"BiasAddGrad", "ReduceSum", kReduce},
    {"SquareSumAll", "", kReduce},
    {"SquareSumV1", "", kReduce},
    {"SquareSumV2", "", kReduce},
    {"L2Loss", "", kReduce},
    {"LpNorm", "", kReduce},
    {"CumSum", "CumSum", kReduce},
    {"CumProd", "", kReduce},
    // Pooling.
    {"MaxPool", "MaxPool", kPool},
    {"MaxPoolGrad", kMostGrad, kPool},
    {"MaxPoolWithArgmax", "", kPool},
    {"MaxPoolGradWithArgmax", "", kPool},
    {"MaxPool3D", "MaxPool", kPool},
    {"MaxPool3DGrad", "", kPool},
    {"AvgPool", "AveragePool", kPool},
    {"AvgPoolGrad", kMeanGrad, kPool},
    {"AvgPool3D", "AveragePool", kPool},
    {"AdaptiveAvgPool2D", "", kPool},
    {"AdaptiveAvgPool2DGrad", "", kPool},
    // Layout changes and copies.
    {"TransData", "", kDataMovement},
    {"TransDataRNN", "", kDataMovement},
    {"Transpose", "Transpose", kDataMovement},
    {"Concat", "Concat", kDataMovement},
    {"ParallelConcat", "Concat", kDataMovement},
    {"Split", "Split", kDataMovement},
    {"SplitV", "Split", kDataMovement},
    {"Slice", "Slice", kDataMovement},
    {"SliceGrad", "", kDataMovement},
    {"StridedSlice", "Slice", kDataMovement},
    {"StridedSliceGrad", "", kDataMovement},
    {"Pad", "Pad", kDataMovement},
    {"MirrorPad", "", kDataMovement},
    {"MirrorPadGrad", "", kDataMovement},
    {"Tile", "Tile", kDataMovement},
    {"BroadcastTo", "Expand", kDataMovement},
    {"Expand", "", kDataMovement},
    {"Pack", "", kDataMovement},
    {"Stack", "", kDataMovement},
    {"Unpack", "", kDataMovement},
    {"Unstack", "", kDataMovement},
    {"Reverse", "", kDataMovement},
    {"Roll", "", kDataMovement},
    {"TensorMove", "", kDataMovement},
    {"MemCpyAsync", "", kDataMovement},
    {"SpaceToDepth", "SpaceToDepth", kDataMovement},
    {"DepthToSpace", "DepthToSpace", kDataMovement},
    {"SpaceToBatch", "", kDataMovement},
    {"BatchToSpace", "", kDataMovement},
    {"Im2col", "", kDataMovement},
    {"ResizeNearestNeighbor", "", kDataMovement},
    {"ResizeNearestNeighborGrad", "", kDataMovement},
    {"ResizeBilinear", "", kDataMovement},
    {"ResizeBilinearGrad", "", kDataMovement},
    {"CropAndResize", "", kDataMovement},
    {"ROIAlign", "", kDataMovement},
    {"ROIAlignGrad", "", kDataMovement},
    {"Reshape", "", kView},
    {"Squeeze", "", kView},
    {"ExpandDims", "", kView},
    {"Flatten", "", kView},
    {"Identity", "Identity", kView},
    // Indexed access.
    {"Gather", "Gather", kGather},
    {"GatherD", "GatherElements", kGather},
    {"GatherElements", "GatherElements", kGather},
    {"GatherNd", "GatherND", kGather},
    {"EmbeddingLookup", "Gather", kGather},
    {"EmbeddingDenseGrad", kGatherGrad, kGather},
    {"UnsortedSegmentSum", kGatherGrad, kGather},
    {"SegmentSum", "", kGather},
    {"ScatterAdd", "", kGather},
    {"ScatterUpdate", "", kGather},
    {"ScatterNd", "", kGather},
    {"ScatterNdAdd", "", kGather},
    {"ScatterNdUpdate", "", kGather},
    {"TensorScatterUpdate", "ScatterND", kGather},
    {"IndexAdd", "", kGather},
    {"OneHot", "", kGather},
    // Recurrent networks.
    {"DynamicRNN", "", kRnn},
    {"DynamicRNNGrad", "", kRnn},
    {"DynamicGRU", "", kRnn},
    {"DynamicGRUV2Grad", "", kRnn},
    {"DynamicGRUV2Hidden", "", kRnn},
    {"BasicLSTMCell", "", kRnn},
    {"LSTMInputGrad", "", kRnn},
    {"BasicLSTMCellCStateGrad", "", kRnn},
    {"BasicLSTMCellInputGrad", "", kRnn},
    {"BasicLSTMCellWeightGrad", "", kRnn},
    // Quantisation.
    {"Quant", "", kQuantize},
    {"AscendQuant", "", kQuantize},
    {"AscendDequant", "", kQuantize},
    {"FakeQuantPerLayer", "", kQuantize},
    // Selection that depends on data.
    {"TopK", "TopK", kSort},
    {"Sort", "", kSort},
    {"Unique", "", kSort},
    {"InTopK", "", kSort},
    {"NMSWithMask", "", kSort},
    {"NonMaxSuppression", "NonMaxSuppression", kSort},
    {"NonZero", "NonZero", kSort},
    {"Iou", "", kElementwise},
    {"BoundingBoxEncode", "", kElementwise},
    {"BoundingBoxDecode", "", kElementwise},
    // Control, no work.
    {"LabelSet", "", kControlFlow},
    {"LabelGoto", "", kControlFlow},
    {"LabelSwitch", "", kControlFlow},
    {"StreamActive", "", kControlFlow},
    {"StreamSwitch", "", kControlFlow},
    {"EndGraph", "", kControlFlow},
    {"GetNext", "", kControlFlow},
    // Between devices.
    {"AllReduce", "AllReduce", kCollective},
    {"AllGather", "AllGather", kCollective},
    {"ReduceScatter", "ReduceScatter", kCollective},
    {"AllToAll", "AllToAll", kCollective},
    {"Broadcast", "", kCollective},
    {"HcomAllReduce", "AllReduce", kCollective},
    {"HcomAllGather", "AllGather", kCollective},
    {"HcomReduceScatter", "ReduceScatter", kCollective},
    {"HcomBroadcast", "", kCollective},
    {"Send", "", kCollective},
    {"Receive", "", kCollective},
    // Parameter updates.
    {"ApplyMomentum", "", kOptimizer},
    {"FusedMulApplyMomentum", "", kOptimizer},
    {"FusedMulApplyMomentumExtern", "", kOptimizer},
    {"FusedWeightScaleApplyMomentum", "", kOptimizer},
    {"ApplyAdam", "", kOptimizer},
    {"Adam", "", kOptimizer},
    {"AdamApplyOne", "", kOptimizer},
    {"AdamApplyOneAssign", "", kOptimizer},
    {"AdamApplyOneWithDecay", "", kOptimizer},
    {"AdamApplyOneWithDecayAssign", "", kOptimizer},
    {"AdamWeightDecay", "", kOptimizer},
    {"FusedAdam", "", kOptimizer},
    {"FusedAdamWeightDecay", "", kOptimizer},
    {"LazyAdam", "", kOptimizer},
    {"FusedSparseLazyAdam", "", kOptimizer},
    {"FusedSparseAdam", "", kOptimizer},
    {"FusedSparseFtrl", "", kOptimizer},
    {"SparseApplyFtrl", "", kOptimizer},
    {"ApplyFtrl", "", kOptimizer},
    {"ApplyGradientDescent", "", kOptimizer},
    {"SGD", "", kOptimizer},
    {"ApplyRMSProp", "", kOptimizer},
    {"ApplyCenteredRMSProp", "", kOptimizer},
    {"ApplyAdagrad", "", kOptimizer},
    {"SparseApplyAdagrad", "", kOptimizer},
    {"SparseApplyProximalAdagrad", "", kOptimizer},
    {"LambApplyOptimizerAssign", "", kOptimizer},
    {"LambApplyWeightAssign", "", kOptimizer},
    {"LambNextMV", "", kOptimizer},
    {"LambNextMVWithDecay", "", kOptimizer},
    {"LambNextRight", "", kOptimizer},
    {"LambUpdateWithLR", "", kOptimizer},
    {"LarsUpdate", "", kOptimizer},
    {"LarsV2Update", "", kOptimizer},
};

const std::unordered_map<std::string, const OpNameInfo*>& index() {
  static const auto kIndex = [] {
    std::unordered_map<std::string, const OpNameInfo*> map;
    for (const OpNameInfo& op : kMindSporeOps) {
      map.emplace(to_lower(op.name), &op);
    }
    return map;
  }();
  return kIndex;
}

const OpNameInfo* find_listed(std::string_view name) {
  std::string key = to_lower(name);
  const auto& ops = index();
  auto it = ops.find(key);
  for (const std::string_view suffix : {"d", "v2", "v3", "v2d", "v4"}) {
    if (it != ops.end()) {
      break;
    }
    if (key.size() > suffix.size() && key.ends_with(suffix)) {
      it = ops.find(key.substr(0, key.size() - suffix.size()));
    }
  }
  return it == ops.end() ? nullptr : it->second;
}

// Heaviest first: what a fused kernel's time depends on.
constexpr std::array kByWeight = {kConv,      kAttention, kMatMul, kNorm,         kSoftmax,
                                  kOptimizer, kReduce,    kPool,   kDataMovement, kElementwise};

}  // namespace

OpNameInfo mindspore_op(std::string_view name) {
  if (const OpNameInfo* const listed = find_listed(name)) {
    return *listed;
  }
  size_t best = kByWeight.size();
  for (const std::string& part : split(name, '_')) {
    const OpNameInfo* const listed = find_listed(part);
    if (listed != nullptr) {
      const auto* const rank = std::find(kByWeight.begin(), kByWeight.end(), listed->op_class);
      best = std::min(best, static_cast<size_t>(rank - kByWeight.begin()));
    }
  }
  return {name, "", best < kByWeight.size() ? kByWeight[best] : kOpaque};
}

}  // namespace dfsim::inline datasets
