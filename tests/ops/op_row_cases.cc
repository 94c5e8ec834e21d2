// The table of own_op_cases(), by family.
#include "tests/ops/op_row_cases.h"

#include <catch2/catch.hpp>
#include <memory>

namespace dfsim {
namespace {

using Attribute = std::pair<std::string, AttrValue>;

Attribute number(const char* name, int64_t value) { return {name, value}; }
Attribute list(const char* name, Ints values) { return {name, std::move(values)}; }
Attribute text(const char* name, const char* value) { return {name, std::string(value)}; }
Attribute reals(const char* name, std::vector<double> values) { return {name, std::move(values)}; }

Operand image() { return operand({2, 4, 6, 8}); }
Operand strings(Dims dims) { return operand(std::move(dims), DType::kString); }
Operand bytes(Dims dims) { return operand(std::move(dims), DType::kUInt8); }
Operand scalar_float() { return operand({}); }

// A list of two tensors [2, 3].
Operand two_tensors() {
  Operand sequence = operand({2, 3});
  sequence.sequence_length = 2;
  return sequence;
}

// A graph of one Relu from "x" to "y"; with `loop`, the inputs and outputs of a Loop's body.
AttrValue relu_body(bool loop = false) {
  GraphBuilder builder;
  Op relu;
  relu.op_type = "Relu";
  relu.version = 17;
  relu.name = "inner";
  if (loop) {
    const TensorId trip = builder.tensor_by_name("trip");
    builder.mark_input(trip);
    const TensorId going = builder.tensor_by_name("going");
    builder.tensor(going).dtype = DType::kBool;
    builder.tensor(going).shape = Shape::scalar();
    builder.mark_input(going);
    builder.mark_output(going);
  }
  const TensorId x = builder.tensor_by_name("x");
  builder.mark_input(x);
  relu.inputs = {x};
  relu.outputs = {builder.tensor_by_name("y")};
  builder.mark_output(relu.outputs[0]);
  REQUIRE(builder.add_op(std::move(relu)).ok());
  return std::make_shared<const Graph>(std::move(builder.build()).value());
}

// A branch of an If: it has no inputs and works on a constant of its own.
AttrValue constant_branch() {
  GraphBuilder builder;
  const TensorId own = builder.tensor_by_name("own");
  builder.tensor(own).role = TensorRole::kConstant;
  builder.tensor(own).dtype = DType::kFloat32;
  builder.tensor(own).shape = Shape({3});
  builder.set_constant(own, {DType::kFloat32, {3}, {}, {1, -2, 3}});
  Op relu;
  relu.op_type = "Relu";
  relu.version = 17;
  relu.name = "inner";
  relu.inputs = {own};
  relu.outputs = {builder.tensor_by_name("y")};
  builder.mark_output(relu.outputs[0]);
  REQUIRE(builder.add_op(std::move(relu)).ok());
  return std::make_shared<const Graph>(std::move(builder.build()).value());
}

using Cases = std::map<std::string, OpCase>;

// `type` may start with a domain and "::".
void add(Cases* cases, const std::string& type, std::vector<Operand> inputs,
         std::vector<Attribute> attributes = {}, int version = 17, size_t outputs = 1) {
  const size_t colons = type.find("::");
  const std::string domain = colons == std::string::npos ? "" : type.substr(0, colons);
  const std::string name = colons == std::string::npos ? type : type.substr(colons + 2);
  (*cases)[type] = {name, std::move(inputs), std::move(attributes), version, outputs, domain};
}

void add_windows(Cases* cases) {
  const Attribute kernel = list("kernel_shape", {3, 2});
  const Attribute strides = list("strides", {2, 2});
  for (const char* pool : {"AveragePool", "LpPool", "MaxPool", "com.microsoft.nchwc::AveragePool",
                           "com.microsoft.nchwc::MaxPool"}) {
    add(cases, pool, {image()}, {kernel, strides});
  }
  add(cases, "com.microsoft::NhwcMaxPool", {operand({2, 6, 8, 4}, DType::kInt8)},
      {kernel, strides});
  add(cases, "com.microsoft::QLinearAveragePool",
      {bytes({2, 6, 8, 4}), scalar_float(), bytes({}), scalar_float(), bytes({})},
      {kernel, strides, number("channels_last", 1)});
  add(cases, "com.microsoft::NhwcConv", {operand({2, 6, 8, 4}), weight({5, 4, 3, 2}), weight({5})});
  add(cases, "com.microsoft::NhwcFusedConv",
      {operand({2, 6, 8, 4}), weight({5, 4, 3, 2}), weight({5}), operand({2, 4, 7, 5})});
  for (const char* name :
       {"com.microsoft::EmbedLayerNormalization", "com.microsoft::QEmbedLayerNormalization"}) {
    add(cases, name, {operand({6, 8}), operand({6, 8}), operand({6, 8}), operand({6, 8})});
  }
  add(cases, "MaxRoiPool", {image(), operand({7, 5})}, {list("pooled_shape", {2, 3})});
  add(cases, "MaxUnpool", {image(), operand({2, 4, 6, 8}, DType::kInt64)},
      {list("kernel_shape", {2, 2}), strides});
  add(cases, "Col2Im", {operand({2, 12, 20}), ints({5, 6}), ints({2, 2})});
  add(cases, "BatchNormalization", {image(), weight({4}), weight({4}), weight({4}), weight({4})});
  add(cases, "InstanceNormalization", {image(), weight({4}), weight({4})});
  add(cases, "PRelu", {image(), weight({4, 1, 1})});
}

void add_layout(Cases* cases) {
  add(cases, "BitCast", {image()}, {number("to", 6)}, 26);
  add(cases, "Cast", {image()}, {number("to", 10)});
  add(cases, "ConcatFromSequence", {two_tensors()}, {number("axis", 1)});
  add(cases, "Crop", {image()}, {list("border", {1, 2, 1, 0})});
  add(cases, "DepthToSpace", {image()}, {number("blocksize", 2)});
  add(cases, "SpaceToDepth", {image()}, {number("blocksize", 2)});
  add(cases, "Optional", {image()});
  add(cases, "Pad", {image(), ints({0, 0, 1, 2, 0, 0, 3, 4})});
  add(cases, "Reshape", {image(), ints({0, -1, 16})});
  add(cases, "Unsqueeze", {image(), ints({0, -1})});
  add(cases, "RandomNormal", {}, {list("shape", {2, 3})});
  add(cases, "RandomUniform", {}, {list("shape", {2, 3}), number("dtype", 11)});
  add(cases, "StringSplit", {strings({3})}, {number("maxsplit", 4)}, 20, 2);
  add(cases, "TfIdfVectorizer", {operand({2, 9}, DType::kInt64)},
      {list("ngram_indexes", {0, 2, 6, 1})});
  add(cases, "STFT", {operand({2, 40, 1}), scalar_int(4), operand({16}), scalar_int(16)});
  add(cases, "If", {operand({1}, DType::kBool)},
      {{"then_branch", constant_branch()}, {"else_branch", constant_branch()}});
  add(cases, "Loop", {scalar_int(5), absent(), operand({2, 3})}, {{"body", relu_body(true)}});
  add(cases, "Scan", {operand({4, 2, 3})}, {{"body", relu_body()}, number("num_scan_inputs", 1)});
  add(cases, "SequenceMap", {two_tensors()}, {{"body", relu_body()}});
}

void add_layers(Cases* cases) {
  // 5 steps, batch 2, inputs of 3, hidden 4, one direction.
  const Operand steps = operand({5, 2, 3});
  add(cases, "LSTM", {steps, weight({1, 16, 3}), weight({1, 16, 4})}, {}, 17, 3);
  add(cases, "GRU", {steps, weight({1, 12, 3}), weight({1, 12, 4})}, {}, 17, 2);
  add(cases, "RNN", {steps, weight({1, 4, 3}), weight({1, 4, 4})}, {}, 17, 2);
  add(cases, "LinearAttention", {operand({2, 5, 12}), operand({2, 5, 6}), operand({2, 5, 14})},
      {number("q_num_heads", 4), number("kv_num_heads", 2)}, 27, 2);
  // Batch 2, 5 positions, 3 heads of 4; a cache of 7 positions.
  const Attribute heads = number("num_heads", 3);
  const Operand hidden = operand({2, 5, 12});
  add(cases, "com.microsoft::Attention", {hidden, weight({12, 36}), weight({36})}, {heads});
  add(cases, "com.microsoft::QAttention",
      {bytes({2, 5, 12}), weight({12, 36}, DType::kInt8), weight({36}), scalar_float()}, {heads});
  add(cases, "com.microsoft::MultiHeadAttention",
      {hidden, operand({2, 7, 12}), operand({2, 7, 12})}, {heads});
  add(cases, "com.microsoft::GroupQueryAttention",
      {hidden, operand({2, 5, 4}), operand({2, 5, 4}), operand({2, 1, 7, 4}),
       operand({2, 1, 7, 4})},
      {heads, number("kv_num_heads", 1)}, 1, 3);
  const Operand offsets = operand({2, 5}, DType::kInt32);
  add(cases, "com.microsoft::PackedAttention",
      {operand({8, 12}), weight({12, 36}), weight({36}), offsets}, {heads});
  add(cases, "com.microsoft::PackedMultiHeadAttention",
      {operand({8, 12}), operand({8, 12}), operand({8, 12}), absent(), offsets}, {heads});
  for (const char* type : {"com.microsoft::MatMulNBits", "com.microsoft::MatMulBnb4"}) {
    add(cases, type, {operand({2, 7, 64}), weight({10, 2, 16}, DType::kUInt8), weight({20})},
        {number("K", 64), number("N", 10)}, 1);
  }
}

void add_classical(Cases* cases) {
  add(cases, "ImageDecoder", {bytes({1000})}, {}, 20);
  add(cases, "ai.onnx.ml::CastMap", {operand({3})}, {}, 1);
  add(cases, "ai.onnx.ml::DictVectorizer", {operand({3})}, {}, 1);
  const Operand rows = operand({6, 4});
  const Attribute labels = list("classlabels_ints", {0, 1, 2});
  const std::vector<double> twelve(12, 0.5);
  add(cases, "ai.onnx.ml::FeatureVectorizer", {rows, operand({6, 3})},
      {list("inputdimensions", {4, 3})}, 1);
  add(cases, "ai.onnx.ml::LinearClassifier", {rows}, {labels, reals("coefficients", twelve)}, 1, 2);
  add(cases, "ai.onnx.ml::SVMClassifier", {rows},
      {labels, reals("support_vectors", twelve), reals("coefficients", {1, 2, 3})}, 1, 2);
  add(cases, "ai.onnx.ml::TreeEnsembleClassifier", {rows},
      {list("classlabels_int64s", {0, 1, 2}), list("nodes_treeids", {0, 0, 0, 1, 1, 1})}, 3, 2);
}

// Learning rate and step, then parameter, gradient and states.
void add_training(Cases* cases) {
  const Operand rate = scalar_float();
  const Operand step = operand({}, DType::kInt64);
  const Operand w = weight({3, 4});
  const Operand g = operand({3, 4});
  const std::string domain = "ai.onnx.preview.training::";
  add(cases, domain + "Adagrad", {rate, step, w, g, w}, {}, 1, 2);
  add(cases, domain + "Adam", {rate, step, w, g, w, w}, {}, 1, 3);
  add(cases, domain + "Momentum", {rate, step, w, g, w}, {}, 1, 2);
  add(cases, "dfsim.training::Backward", {operand({2, 4}), operand({2, 3}), weight({3, 4})},
      {list("operands", {1, 2}), number("macs", 24)}, 1, 2);
  add(cases, "dfsim.training::GatherGrad", {operand({5, 4}), operand({5}, DType::kInt64)},
      {list("shape", {9, 4})}, 1);
  add(cases, "NegativeLogLikelihoodLoss", {operand({6, 4}), operand({6}, DType::kInt64)});
  add(cases, "SoftmaxCrossEntropyLoss", {operand({6, 4}), operand({6}, DType::kInt64)}, {}, 17, 2);
}

// Kernels that a runtime compiled, and communication between four devices.
void add_ours(Cases* cases) {
  for (const char* type : {"pointwise", "norm", "reduction", "softmax"}) {
    Operand x = image();
    add(cases, std::string("compiled::") + type, {x}, {number("flops", 1000)}, 1);
    cases->at(std::string("compiled::") + type).output_shapes = {Shape({2, 4, 6, 8})};
  }
  const Attribute group = number("group", 4);
  add(cases, "dfsim::AllReduce", {image()}, {group}, 1);
  add(cases, "dfsim::AllGather", {image()}, {group, number("dim", 2)}, 1);
  add(cases, "dfsim::ReduceScatter", {image()}, {group, number("dim", 1)}, 1);
  add(cases, "dfsim::ShardSlice", {image()}, {group, number("dim", 3)}, 1);
  add(cases, "dfsim::AllToAll", {image()}, {group, number("split_dim", 1), number("gather_dim", 2)},
      1);
  add(cases, "dfsim::HaloExchange", {image()},
      {group, number("dim", 2), number("before", 1), number("after", 2)}, 1);
}

void add_tensorflow(Cases* cases) {
  const std::string tf = "tensorflow::";
  const Attribute of_image = list("shape", {2, 4, 6, 8});
  const Attribute kernel = list("kernel_shape", {3, 2});
  add(cases, tf + "ConvFilterGrad", {image(), operand({2, 5, 4, 7})},
      {list("shape", {5, 4, 3, 2}), kernel}, 1);
  for (const char* pool : {"AveragePoolGrad", "MaxPoolGrad"}) {
    add(cases, tf + pool, {operand({2, 4, 2, 4})}, {of_image, kernel}, 1);
  }
  add(cases, tf + "ResizeGrad", {operand({2, 4, 12, 16})}, {of_image}, 1);
  add(cases, tf + "SliceGrad", {operand({2, 4, 3, 8})}, {of_image}, 1);
  add(cases, tf + "DynamicSlice", {image(), operand({4}, DType::kInt32)},
      {list("sizes", {1, 4, 3, 8})}, 1);
  add(cases, tf + "SpaceToBatchND", {operand({2, 6, 8, 4})},
      {list("blocks", {2, 2}), list("edges", {0, 0, 1, 1})}, 1);
  add(cases, tf + "BatchToSpaceND", {operand({8, 3, 5, 4})},
      {list("blocks", {2, 2}), list("edges", {0, 0, 1, 1})}, 1);
  add(cases, tf + "TensorListReserve", {}, {list("shape", {5, 2, 3}), text("dtype", "float32")}, 1);
  add(cases, tf + "BlockLSTM", {operand({5, 2, 3}), weight({7, 16})}, {}, 1, 7);
  add(cases, tf + "BatchedGather", {operand({2, 5, 3}), operand({2, 7}, DType::kInt32)},
      {number("axis", 1), number("batch_dims", 1)}, 1);
  add(cases, tf + "NonMaxSuppression", {operand({20, 4}), operand({20})}, {number("most", 5)}, 1,
      3);
  add(cases, tf + "CombinedNonMaxSuppression", {operand({2, 20, 1, 4}), operand({2, 20, 3})},
      {number("most", 5), number("most_per_class", 4)}, 1, 4);
  // Linear algebra, images, text: the importer has put the shape into the attribute.
  add(cases, tf + "CropAndResize", {image(), operand({5, 4})}, {list("shape", {5, 4, 3, 3})}, 1);
  add(cases, tf + "ExtractImagePatches", {image()}, {list("shape", {2, 36, 2, 3})}, 1);
  add(cases, tf + "FourierTransform", {operand({2, 16})},
      {list("shape", {2, 9}), number("dtype", 14), number("real", 1)}, 1);
  add(cases, tf + "MatrixDiag", {operand({2, 4})}, {list("shape", {2, 4, 4})}, 1);
  add(cases, tf + "MatrixDiagPart", {operand({2, 4, 4})}, {list("shape", {2, 4})}, 1);
  for (const char* solve : {"MatrixSolve", "MatrixTriangularSolve"}) {
    add(cases, tf + solve, {operand({2, 6, 6}), operand({2, 6, 3})}, {list("shape", {2, 6, 3})}, 1);
  }
  add(cases, tf + "StringLength", {strings({2, 3})}, {list("shape", {2, 3}), number("dtype", 6)},
      1);
}

// Cells, CTC, ragged tensors, quantisation.
void add_tensorflow_layers(Cases* cases) {
  const std::string tf = "tensorflow::";
  for (const char* name :
       {"CTCGreedyDecoder", "RaggedTensorToTensor", "RaggedTensorToSparse", "RaggedBincount",
        "DecodePaddedRaw", "DecodeBase64", "EncodeBase64", "QuantizeV2", "Dequantize", "Requantize",
        "RequantizationRange", "QuantizedRelu", "QuantizedRelu6"}) {
    add(cases, tf + name, {operand({6, 4})}, {list("shape", {6, 4})}, 1);
  }
  add(cases, tf + "QuantizedBiasAdd", {operand({6, 4}), operand({4})}, {list("shape", {6, 4})}, 1);
  add(cases, tf + "LSTMBlockCell", {operand({6, 4}), operand({6, 3}), weight({7, 12})},
      {list("shape", {6, 3})}, 1);
  add(cases, tf + "GRUBlockCell",
      {operand({6, 4}), operand({6, 3}), weight({7, 6}), weight({7, 3})}, {list("shape", {6, 3})},
      1);
  add(cases, tf + "CTCLoss", {operand({5, 2, 8}), operand({6}, DType::kInt32)},
      {list("shape", {2})}, 1);
  add(cases, tf + "CTCBeamSearchDecoder", {operand({5, 2, 8})},
      {list("shape", {10, 2}), number("beam_width", 4)}, 1);
}

// Segments, tables, factorisations, strings: the importer has put the shape into the attribute,
// here one that fits matrices of 6 x 4 (and indices of their rows).
void add_tensorflow_tables(Cases* cases) {
  const std::string tf = "tensorflow::";
  const std::string own = "LookupTableSizeV2";
  add(cases, tf + own, {}, {list("shape", {}), number("dtype", 7)}, 1);
  for (const char* name : {"Real",
                           "Imag",
                           "Angle",
                           "AdjustContrastv2",
                           "AdjustHue",
                           "AdjustSaturation",
                           "RGBToHSV",
                           "HSVToRGB",
                           "InvertPermutation",
                           "Multinomial",
                           "StatelessMultinomial",
                           "RandomShuffle",
                           "LinSpace",
                           "MatrixDeterminant",
                           "LogMatrixDeterminant",
                           "Lu",
                           "Qr",
                           "Svd",
                           "SelfAdjointEigV2",
                           "Eig",
                           "Bincount",
                           "DenseBincount",
                           "SparseReshape",
                           "Bucketize",
                           "LookupTableFindV2",
                           "StringLower",
                           "StringUpper",
                           "StringStrip",
                           "RegexReplace",
                           "StaticRegexReplace",
                           "Substr",
                           "AsString",
                           "StringToNumber",
                           "StringToHashBucketFast",
                           "StringToHashBucketStrong",
                           "StringToHashBucket",
                           "StringJoin"}) {
    add(cases, tf + name, {operand({6, 4})}, {list("shape", {6, 4})}, 1);
  }
  for (const char* name : {"Complex",
                           "ImageProjectiveTransformV2",
                           "ImageProjectiveTransformV3",
                           "ScaleAndTranslate",
                           "SegmentSum",
                           "SegmentMean",
                           "SegmentMax",
                           "SegmentMin",
                           "SegmentProd",
                           "SegmentSumV2",
                           "SegmentMaxV2",
                           "SegmentMinV2",
                           "SegmentProdV2",
                           "UnsortedSegmentMax",
                           "UnsortedSegmentSum",
                           "UnsortedSegmentMin",
                           "UnsortedSegmentProd",
                           "DynamicPartition",
                           "DynamicStitch",
                           "ParallelDynamicStitch",
                           "SparseToDense",
                           "SparseFillEmptyRows",
                           "ListDiff",
                           "SearchSorted",
                           "LowerBound",
                           "UpperBound"}) {
    add(cases, tf + name, {operand({6, 4}), operand({6}, DType::kInt32)}, {list("shape", {3, 4})},
        1);
  }
  for (const char* name : {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN",
                           "SparseSegmentSumWithNumSegments", "SparseSegmentMeanWithNumSegments",
                           "SparseSegmentSqrtNWithNumSegments", "SparseTensorDenseMatMul"}) {
    add(cases, tf + name,
        {operand({6, 4}), operand({5}, DType::kInt32), operand({5}, DType::kInt32)},
        {list("shape", {3, 4})}, 1);
  }
}

void add_contrib(Cases* cases) {
  const std::string ms = "com.microsoft::";
  add(cases, ms + "CDist", {operand({5, 4}), operand({3, 4})});
  add(cases, ms + "GatedRelativePositionBias",
      {operand({2, 5, 12}), weight({12}), operand({1, 3, 5, 5}), weight({4, 8}), weight({8}),
       weight({1, 3, 1, 1})});
  add(cases, ms + "GemmaRotaryEmbedding",
      {operand({2, 4, 8}), operand({2, 3, 4, 8}), operand({2, 3, 4, 8}), operand({2, 3, 4, 8}),
       operand({2, 3, 4, 8})},
      {}, 1, 2);
  add(cases, ms + "GatherND", {operand({2, 4, 6}), operand({3, 1}, DType::kInt64)});
  add(cases, ms + "CropAndResize",
      {operand({2, 3, 8, 8}), operand({5, 4}), operand({5}, DType::kInt32), ints({4, 6})});
  add(cases, ms + "RelativePositionBias", {weight({32, 4}), ints({6}), ints({9})});
  add(cases, ms + "RemovePadding", {operand({2, 4, 8}), operand({2}, DType::kInt32)}, {}, 1, 4);
  add(cases, ms + "RestorePadding", {operand({6, 8}), operand({2, 4}, DType::kInt32)});
  add(cases, ms + "TorchEmbedding", {weight({32, 8}), operand({2, 4}, DType::kInt64)});
  add(cases, ms + "UnfoldTensor", {operand({2, 10})}, {number("size", 4), number("step", 2)});
  add(cases, ms + "Pad", {operand({2, 3}), ints({0, 2, 0, 0})});
  add(cases, ms + "GridSample", {image(), operand({2, 3, 5, 2})});
  add(cases, ms + "CausalConvWithState", {operand({1, 6, 10}), weight({6, 1, 4})}, {}, 1, 2);
  add(cases, ms + "LinearAttention",
      {operand({2, 4, 12}), operand({2, 4, 12}), operand({2, 4, 12})},
      {number("q_num_heads", 3), number("kv_num_heads", 3)}, 1, 2);
  add(cases, ms + "MatMulNBitsMlp", {operand({2, 3, 32})}, {number("N", 16)});
  add(cases, ms + "MatMulNBitsQkv", {operand({2, 3, 32})}, {number("Nq", 16), number("Nkv", 8)}, 1,
      3);
  add(cases, ms + "LinearAttentionGate", {operand({2, 4, 3}), weight({3}), weight({3})});
  add(cases, ms + "QOrderedMatMul",
      {operand({4, 8}, DType::kInt8), operand({}), weight({8, 6}, DType::kInt8), operand({}),
       operand({})});
  add(cases, ms + "SparseAttention",
      {operand({1, 2, 32}), operand({1, 2, 16}), operand({1, 2, 16}), operand({1, 2, 8, 8}),
       operand({1, 2, 8, 8}), operand({1, 9}, DType::kInt32), operand({1, 8}, DType::kInt32),
       scalar_int(8), operand({1}, DType::kInt32)},
      {number("num_heads", 4), number("kv_num_heads", 2)}, 1, 3);
  add(cases, ms + "MRotaryEmbedding",
      {operand({2, 3, 16}), operand({3, 2, 3}, DType::kInt64), weight({8, 2}), weight({8, 2})});
}

}  // namespace

const std::map<std::string, OpCase>& own_op_cases() {
  static const Cases cases = [] {
    Cases made;
    add_windows(&made);
    add_layout(&made);
    add_layers(&made);
    add_classical(&made);
    add_training(&made);
    add_ours(&made);
    add_contrib(&made);
    add_tensorflow(&made);
    add_tensorflow_tables(&made);
    add_tensorflow_layers(&made);
    return made;
  }();
  return cases;
}

}  // namespace dfsim
