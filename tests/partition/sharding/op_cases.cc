#include "tests/partition/sharding/op_cases.h"

#include <iterator>

namespace dfsim {
namespace {

Operand number(double value) {
  Operand operand{Shape::scalar(), DType::kFloat32, TensorRole::kConstant};
  operand.floats = {value};
  return operand;
}

Operand index(Dims dims) { return operand(std::move(dims), DType::kInt64); }

std::vector<OpCase> elementwise_cases() {
  return {
      {"Relu", {operand({4, 8})}},
      {"Add", {operand({4, 1, 8}), weight({4, 8})}},
      {"Add", {operand({4, 8}), operand({})}},
      {"Add",
       {operand({2, 4, 8}), weight({4})},
       {{"axis", int64_t{1}}, {"broadcast", int64_t{1}}},
       6},
      {"Where", {operand({4, 1}, DType::kBool), operand({8}), operand({4, 8})}},
      {"PRelu", {operand({2, 4, 8}), weight({4, 1})}},
      {"Clip", {operand({4, 8}), number(0), number(1)}},
      {"CastLike", {operand({4, 8}), operand({3}, DType::kFloat16)}},
      {"Gelu", {operand({4, 8})}, {}, 20},
      {"BiasGelu", {operand({4, 8}), weight({8})}, {}, 1, 1, "com.microsoft"},
      {"QuantizeLinear",
       {operand({4, 8}), weight({8}), weight({8}, DType::kUInt8)},
       {{"axis", int64_t{-1}}}},
      {"DequantizeLinear", {operand({4, 8}, DType::kInt8), weight({4})}, {{"axis", int64_t{0}}}},
      {"Momentum",
       {operand({}), operand({}), weight({4, 8}), operand({4, 8}), operand({4, 8})},
       {},
       1,
       2,
       "ai.onnx.preview.training"},
      {"Adam",
       {operand({}), operand({}), weight({4, 8}), operand({4, 8}), operand({4, 8}),
        operand({4, 8})},
       {},
       1,
       3,
       "ai.onnx.preview.training"},
      {"SoftmaxCrossEntropyLoss",
       {operand({4, 3, 8}), index({4, 8})},
       {{"reduction", std::string("none")}},
       17,
       2},
      {"SoftmaxCrossEntropyLoss", {operand({4, 3}), index({4})}},
      {"NegativeLogLikelihoodLoss",
       {operand({4, 3, 8}), index({4, 8})},
       {{"reduction", std::string("sum")}}},
  };
}

std::vector<OpCase> matmul_cases() {
  const auto equation = [](const char* text) {
    return std::vector<std::pair<std::string, AttrValue>>{{"equation", std::string(text)}};
  };
  return {
      {"MatMul", {operand({2, 4, 8}), weight({8, 4})}},
      {"MatMul", {operand({2, 1, 4, 8}), operand({4, 8, 4})}},
      {"Gemm", {operand({4, 8}), weight({8, 4}), weight({4})}},
      {"linear", {operand({2, 4, 8}), weight({8, 4}), weight({4})}, {}, 1, 1, "aten"},
      {"linear", {operand({4, 8}), weight({8, 4})}, {}, 1, 1, "aten"},
      {"Gemm",
       {operand({8, 4}), weight({4, 8}), weight({4, 1})},
       {{"transA", int64_t{1}}, {"transB", int64_t{1}}}},
      {"Einsum", {operand({2, 4, 8}), operand({2, 8, 4})}, equation("bij,bjk->bik")},
      {"Einsum", {operand({4, 8})}, equation("ij->j")},
      {"Einsum", {operand({4, 8}), operand({4, 1}), operand({8})}, equation("ij,ik,j->ik")},
      {"MatMulNBits",
       {operand({2, 4, 64}), weight({8, 4, 8}, DType::kUInt8), weight({8, 4}), absent(), absent(),
        weight({8})},
       {{"K", int64_t{64}}, {"N", int64_t{8}}, {"bits", int64_t{4}}, {"block_size", int64_t{16}}},
       1,
       1,
       "com.microsoft"},
      {"MatMulInteger", {operand({4, 8}, DType::kInt8), operand({8, 4}, DType::kInt8)}},
      {"QLinearMatMul",
       {operand({4, 8}, DType::kInt8), operand({}), operand({}, DType::kInt8),
        operand({8, 4}, DType::kInt8), operand({}), operand({}, DType::kInt8), operand({}),
        operand({}, DType::kInt8)}},
  };
}

std::vector<OpCase> window_cases() {
  const Ints ones = {1, 1, 1, 1};
  return {
      {"Conv", {operand({2, 4, 8, 8}), weight({8, 4, 3, 3}), weight({8})}, {{"pads", ones}}},
      {"Conv",
       {operand({2, 4, 16, 8}), weight({4, 4, 5, 3})},
       {{"pads", Ints{2, 1, 2, 0}}, {"strides", Ints{2, 2}}}},
      {"Conv",
       {operand({2, 4, 8}), weight({4, 4, 3})},
       {{"auto_pad", std::string("SAME_LOWER")}, {"dilations", Ints{2}}}},
      {"Conv", {operand({1, 4, 8, 8}), weight({4, 4, 1, 1})}, {{"strides", Ints{2, 2}}}},
      {"Conv",
       {operand({2, 8, 4, 4}), weight({8, 2, 3, 3}), weight({8})},
       {{"group", int64_t{4}}, {"pads", ones}}},
      {"Conv", {operand({2, 4, 5, 5}), weight({8, 1, 3, 3})}, {{"group", int64_t{4}}}},
      {"ConvTranspose", {operand({2, 4, 4, 4}), weight({4, 8, 3, 3}), weight({8})}},
      {"ConvTranspose", {operand({2, 4, 4, 4}), weight({4, 2, 3, 3})}, {{"group", int64_t{4}}}},
      {"ConvInteger", {operand({2, 4, 5}, DType::kUInt8), operand({4, 4, 3}, DType::kInt8)}},
      {"QLinearConv",
       {operand({2, 4, 5}, DType::kUInt8), operand({}), operand({}, DType::kUInt8),
        operand({4, 4, 3}, DType::kInt8), operand({}), operand({}, DType::kInt8), operand({}),
        operand({}, DType::kUInt8)}},
      {"FusedConv",
       {operand({2, 4, 6}), weight({4, 4, 3}), weight({4}), operand({2, 4, 4})},
       {{"activation", std::string("Relu")}},
       1,
       1,
       "com.microsoft"},
      {"MaxPool",
       {operand({2, 4, 8, 8})},
       {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 1, 0}}}},
      {"AveragePool", {operand({2, 4, 8})}, {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}}},
      {"AveragePool", {operand({2, 4, 8})}, {{"kernel_shape", Ints{3}}, {"pads", Ints{1, 1}}}},
      {"LpPool", {operand({2, 4, 8})}, {{"kernel_shape", Ints{3}}, {"pads", Ints{1, 1}}}},
      {"GlobalAveragePool", {operand({2, 4, 4, 8})}},
      {"GlobalMaxPool", {operand({2, 4, 4, 8})}},
      {"GlobalLpPool", {operand({2, 4, 4})}},
      {"RoiAlign", {operand({2, 4, 3, 3}), operand({4, 4}), index({4})}},
      {"MaxRoiPool",
       {operand({2, 4, 3, 3}), operand({4, 5}, DType::kInt64)},
       {{"pooled_shape", Ints{2, 2}}}},
  };
}

std::vector<OpCase> norm_cases() {
  const std::vector<Operand> batch_norm = {operand({4, 8, 4}), weight({8}), weight({8}),
                                           weight({8}), weight({8})};
  return {
      {"BatchNormalization", batch_norm},
      {"BatchNormalization", batch_norm, {{"training_mode", int64_t{1}}}, 15, 3},
      {"LayerNormalization", {operand({4, 8, 4}), weight({4}), weight({4})}, {}, 17, 3},
      {"LayerNormalization", {operand({4, 8, 4}), weight({8, 4})}, {{"axis", int64_t{1}}}},
      {"RMSNormalization", {operand({4, 8}), weight({8})}, {}, 23},
      {"InstanceNormalization", {operand({4, 8, 3}), weight({8}), weight({8})}},
      {"GroupNormalization",
       {operand({4, 8, 3}), weight({8}), weight({8})},
       {{"num_groups", int64_t{2}}},
       21},
      {"MeanVarianceNormalization", {operand({2, 4, 3, 2})}},
      {"LpNormalization", {operand({4, 8, 4})}, {{"axis", int64_t{1}}}},
      {"LRN", {operand({4, 8, 4, 4})}, {{"size", int64_t{3}}}},
      {"Softmax", {operand({4, 8, 4})}, {{"axis", int64_t{1}}}},
      {"Softmax", {operand({4, 8, 4})}, {{"axis", int64_t{1}}}, 11},
      {"LogSoftmax", {operand({4, 8})}},
      {"SkipLayerNormalization",
       {operand({4, 8, 4}), operand({8, 4}), weight({4}), weight({4})},
       {},
       1,
       4,
       "com.microsoft"},
      {"ReduceSum", {operand({4, 8, 4}), ints({1})}},
      {"ReduceMean", {operand({4, 8, 4})}, {{"axes", Ints{0, -1}}, {"keepdims", int64_t{0}}}},
      {"ReduceMax", {operand({4, 8})}, {{"axes", Ints{1}}}},
      {"ReduceMin", {operand({4, 8})}},
      {"ReduceProd", {operand({4, 8})}, {{"axes", Ints{0}}}},
      {"ReduceL1", {operand({4, 8})}, {{"axes", Ints{0}}}},
      {"ReduceSumSquare", {operand({4, 8})}, {{"axes", Ints{1}}}},
      {"ReduceL2", {operand({4, 8})}, {{"axes", Ints{1}}}},
      {"ReduceLogSumExp", {operand({4, 8})}, {{"axes", Ints{0}}}},
      {"ArgMax", {operand({4, 8, 4})}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}}},
      {"CumSum", {operand({4, 8}), scalar_int(1)}},
      {"TopK", {operand({4, 8}), ints({3})}, {}, 17, 2},
      {"LSTM",
       {operand({3, 4, 2}), weight({1, 8, 2}), weight({1, 8, 2}), absent(),
        operand({4}, DType::kInt64), operand({1, 4, 2})},
       {{"hidden_size", int64_t{2}}},
       14,
       3},
      {"GRU",
       {operand({4, 3, 2}), weight({1, 6, 2}), weight({1, 6, 2})},
       {{"hidden_size", int64_t{2}}, {"layout", int64_t{1}}},
       14,
       2},
  };
}

std::vector<OpCase> layout_cases() {
  return {
      {"Transpose", {operand({4, 8, 4})}, {{"perm", Ints{2, 0, 1}}}},
      {"Transpose", {operand({4, 8})}},
      {"Concat", {operand({4, 8}), operand({4, 4})}, {{"axis", int64_t{1}}}},
      {"Split", {operand({4, 8}), ints({2, 6})}, {{"axis", int64_t{1}}}, 17, 2},
      {"Slice", {operand({4, 8}), ints({2, 0}), ints({6, 4}), ints({1, 0})}},
      {"Slice", {operand({4, 8}), ints({-1}), ints({-100}), ints({1}), ints({-1})}},
      {"Pad", {operand({4, 8}), ints({0, 1, 0, 3})}},
      {"Expand", {operand({4, 1}), ints({4, 4, 8})}},
      {"Tile", {operand({4, 8}), ints({1, 2})}},
      {"SpaceToDepth", {operand({2, 4, 8, 8})}, {{"blocksize", int64_t{2}}}},
      {"DepthToSpace", {operand({2, 16, 4, 4})}, {{"blocksize", int64_t{2}}}},
      {"DepthToSpace",
       {operand({2, 16, 4, 4})},
       {{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}}},
      {"Resize", {operand({4, 8, 4}), absent(), absent(), ints({4, 8, 8})}},
      {"Resize", {operand({4, 8}), absent(), floats({1, 2})}},
      {"ReverseSequence", {operand({3, 4, 8}), operand({4}, DType::kInt64)}},
      {"Trilu", {operand({4, 8, 8})}},
      {"Reshape", {operand({4, 8, 4}), ints({4, 4, 2, 4})}},
      {"Reshape", {operand({4, 4, 2, 4}), ints({0, -1})}},
      {"Reshape", {operand({2, 4, 8}), ints({8, 8})}},
      {"Reshape", {operand({1, 8, 4}), ints({4, 8})}},
      {"Flatten", {operand({4, 8, 4})}},
      {"Squeeze", {operand({4, 1, 8}), ints({1})}},
      {"Unsqueeze", {operand({4, 8}), ints({0, 2})}},
      {"Identity", {operand({4, 8})}},
      {"Gather", {operand({4, 8, 4}), index({4, 2})}, {{"axis", int64_t{1}}}},
      {"Gather", {weight({4, 8}), index({})}},
      {"GatherElements", {operand({4, 8}), index({4, 4})}, {{"axis", int64_t{1}}}},
      {"GatherND", {operand({4, 2, 8}), index({4, 4, 1})}, {{"batch_dims", int64_t{1}}}},
      {"ScatterElements",
       {operand({4, 8}), index({4, 2}), operand({4, 2})},
       {{"axis", int64_t{1}}, {"reduction", std::string("add")}}},
      {"ScatterND",
       {operand({2, 4, 8}), index({4, 1}), operand({4, 4, 8})},
       {{"reduction", std::string("add")}}},
      {"OneHot", {index({4, 8}), scalar_int(3), operand({2})}, {{"axis", int64_t{1}}}},
  };
}

std::vector<OpCase> attention_cases() {
  return {
      {"Attention",
       {operand({2, 8, 4, 3}), operand({2, 4, 3, 3}), operand({2, 4, 3, 2}), operand({2, 1, 4, 3})},
       {},
       23},
      {"Attention",
       {operand({2, 4, 8}), operand({2, 3, 8}), operand({2, 3, 8})},
       {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{4}}},
       23},
      {"MultiHeadAttention",
       {operand({2, 4, 8}), operand({2, 3, 8}), operand({2, 3, 8})},
       {{"num_heads", int64_t{4}}},
       1,
       1,
       "com.microsoft"},
      {"GroupQueryAttention",
       {operand({2, 3, 32}), operand({2, 3, 16}), operand({2, 3, 16}), absent(), absent(),
        operand({2}, DType::kInt32), operand({1}, DType::kInt32)},
       {{"num_heads", int64_t{8}}, {"kv_num_heads", int64_t{4}}},
       1,
       1,
       "com.microsoft"},
      {"RotaryEmbedding",
       {operand({2, 3, 16}), operand({2, 3}, DType::kInt64), weight({8, 2}), weight({8, 2})},
       {},
       1,
       1,
       "com.microsoft"},
      {"RotaryEmbedding",
       {operand({2, 4, 3, 4}), operand({2, 3}, DType::kInt64), weight({8, 2}), weight({8, 2})},
       {},
       1,
       1,
       "com.microsoft"},
  };
}

std::vector<OpCase> gradient_cases() {
  using Ints = std::vector<int64_t>;
  const std::string ours = "dfsim.training";
  const std::string theirs = "tensorflow";
  return {
      {"AttentionGrad",
       {operand({2, 4, 3, 2}), operand({2, 4, 3, 2}), operand({2, 4, 3, 2}), operand({2, 4, 3, 2})},
       {},
       1,
       3,
       ours},
      {"ElementwiseGrad",
       {operand({4, 8}), operand({4, 8}), weight({8})},
       {{"of", std::string("PRelu")}},
       1,
       1,
       ours},
      {"GatherGrad",
       {operand({4, 2, 8}), index({4, 2})},
       {{"axis", int64_t{0}}, {"shape", Ints{6, 8}}},
       1,
       1,
       ours},
      {"GatherGrad",
       {operand({4, 2, 8}), index({2})},
       {{"axis", int64_t{1}}, {"shape", Ints{4, 6, 8}}},
       1,
       1,
       ours},
      {"LossGrad", {operand({4, 8})}, {}, 1, 1, ours},
      {"NormGrad",
       {operand({4, 8, 3}), operand({4, 8, 3}), weight({3}), weight({3})},
       {{"of", std::string("LayerNormalization")}},
       1,
       3,
       ours},
      {"SgdUpdate", {weight({4, 8}), operand({4, 8})}, {}, 1, 1, ours},
      {"SoftmaxGrad", {operand({4, 8, 3}), operand({4, 8, 3})}, {{"axis", int64_t{2}}}, 1, 1, ours},
      {"ConvFilterGrad",
       {operand({4, 8, 4, 4}), operand({4, 4, 4, 4})},
       {{"shape", Ints{4, 8, 3, 3}}, {"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}},
       1,
       1,
       theirs},
      {"ConvFilterGrad",
       {operand({4, 8, 4, 4}), operand({4, 8, 4, 4})},
       {{"shape", Ints{8, 2, 1, 1}}, {"kernel_shape", Ints{1, 1}}, {"group", int64_t{4}}},
       1,
       1,
       theirs},
      {"MaxPoolGrad",
       {operand({4, 4, 2, 2}), operand({4, 4, 4, 4}), operand({4, 4, 2, 2})},
       {{"shape", Ints{4, 4, 4, 4}}, {"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}},
       1,
       1,
       theirs},
      {"AveragePoolGrad",
       {operand({4, 4, 2, 2})},
       {{"shape", Ints{4, 4, 4, 4}}, {"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}},
       1,
       1,
       theirs},
      {"SliceGrad", {operand({4, 2, 8})}, {{"shape", Ints{4, 6, 8}}}, 1, 1, theirs},
      {"ResizeGrad", {operand({4, 4, 8, 8})}, {{"shape", Ints{4, 4, 2, 8}}}, 1, 1, theirs},
  };
}

}  // namespace

std::vector<OpCase> op_cases() {
  std::vector<OpCase> cases;
  for (auto family : {elementwise_cases(), matmul_cases(), window_cases(), norm_cases(),
                      layout_cases(), attention_cases(), gradient_cases()}) {
    cases.insert(cases.end(), std::make_move_iterator(family.begin()),
                 std::make_move_iterator(family.end()));
  }
  return cases;
}

}  // namespace dfsim
