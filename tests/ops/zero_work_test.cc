// Operators that count no arithmetic: all of them, and why. A new one has to be entered here, so
// that none counts nothing by accident.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "graphs/ops/op_def.h"
#include "tests/ops/op_case.h"

namespace dfsim {
namespace {

struct Reason {
  const char* why;
  std::set<std::string> ops;  // "domain::type", of ai.onnx the type alone
};

// Operators of ONNX Runtime that copy rows or slices to other places.
const std::set<std::string> kTheirCopies = {
    "com.microsoft::GatherND",       "com.microsoft::Pad",
    "com.microsoft::RemovePadding",  "com.microsoft::RestorePadding",
    "com.microsoft::TorchEmbedding", "com.microsoft::UnfoldTensor"};

const std::vector<Reason>& reasons() {
  static const std::vector<Reason> kReasons = {
      {"shows the same bytes under another shape or name",
       {"BitCast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze",
        "tensorflow::Bitcast"}},
      {"reads shapes only, which runtimes know without touching elements",
       {"OptionalHasElement", "SequenceLength", "Shape", "Size"}},
      {"passes references: elements stay where they are",
       {"Optional", "OptionalGetElement", "SequenceAt", "SequenceConstruct", "SequenceEmpty",
        "SequenceErase", "SequenceInsert", "tensorflow::TensorListGetItem",
        "tensorflow::TensorListReserve", "tensorflow::TensorListSetItem"}},
      {"knows its answer without looking at an element", {"tensorflow::LookupTableSizeV2"}},
      {"is a constant, made before the run", {"Constant"}},
      {"writes elements that are known before, without computing them",
       {"ConstantOfShape", "EyeLike", "OneHot", "ai.onnx.ml::OneHotEncoder"}},
      {"copies rows or slices to other places", kTheirCopies},
      {"copies elements to other places",
       {"CenterCropPad",
        "Compress",
        "Concat",
        "ConcatFromSequence",
        "Crop",
        "DepthToSpace",
        "Expand",
        "Gather",
        "GatherElements",
        "GatherND",
        "MaxUnpool",
        "Pad",
        "ReverseSequence",
        "Slice",
        "SpaceToDepth",
        "Split",
        "SplitToSequence",
        "TensorScatter",
        "Tile",
        "Transpose",
        "Trilu",
        "ai.onnx.ml::ArrayFeatureExtractor",
        "ai.onnx.ml::FeatureVectorizer",
        "aten::contiguous",
        "com.microsoft::Trilu",
        "com.microsoft.nchwc::ReorderInput",
        "com.microsoft.nchwc::ReorderOutput",
        "dfsim::KeepOnFirst",
        "dfsim::MaskRows",
        "dfsim::ShardIndices",
        "dfsim::ShardSlice",
        "tensorflow::BatchToSpaceND",
        "tensorflow::BatchedGather",
        "tensorflow::DynamicSlice",
        "tensorflow::ExtractImagePatches",
        "tensorflow::MatrixDiag",
        "tensorflow::MatrixDiagPart",
        "tensorflow::MatrixSetDiag",
        "tensorflow::Roll",
        "tensorflow::Complex",
        "tensorflow::DynamicStitch",
        "tensorflow::Imag",
        "tensorflow::InvertPermutation",
        "tensorflow::ParallelDynamicStitch",
        "tensorflow::DecodePaddedRaw",
        "tensorflow::RaggedTensorToSparse",
        "tensorflow::RaggedTensorToTensor",
        "tensorflow::RandomShuffle",
        "tensorflow::Real",
        "tensorflow::SparseFillEmptyRows",
        "tensorflow::SparseToDense",
        "tensorflow::SliceGrad",
        "tensorflow::SpaceToBatchND",
        "tensorflow::TensorListStack"}},
      {"sends elements to other devices unchanged: the links' work",
       {"dfsim::AllGather", "dfsim::AllToAll", "dfsim::HaloExchange"}},
      {"handles strings or maps, whose work no arithmetic measures",
       {"RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "ai.onnx.ml::CastMap",
        "ai.onnx.ml::DictVectorizer", "ai.onnx.ml::ZipMap"}},
  };
  return kReasons;
}

std::string full_name(const OpDef& def) {
  return def.domain.empty() ? std::string(def.op_type)
                            : std::string(def.domain) + "::" + std::string(def.op_type);
}

TEST_CASE("Work: exactly the listed operators have no arithmetic, each with a reason") {
  std::map<std::string, std::string> listed;
  for (const Reason& reason : reasons()) {
    for (const std::string& op : reason.ops) {
      INFO(op);
      CHECK(listed.emplace(op, reason.why).second);
    }
  }
  for (const OpDef* def : all_op_defs()) {
    const std::string name = full_name(*def);
    INFO(name << ": " << describe_work(*def));
    const std::string counted = describe_work(*def);
    // Without a number in it, a description counts nothing, or says whose count it takes.
    const bool counts_nothing = counted.starts_with("none") || counted == "reads what it returns";
    CHECK(counts_nothing == (listed.erase(name) == 1));
  }
  // Constants never reach a rule: they become tensors on import.
  listed.erase("Constant");
  for (const auto& [name, why] : listed) {
    FAIL_CHECK(name << " is listed, but has no definition");
  }
}

TEST_CASE("Work: every other operator counts something at shapes that it accepts") {
  // Spot checks of each way of counting, as executed and not as described.
  const Operand image = operand({1, 4, 8, 8});
  const std::vector<OpCase> counted = {
      {"Relu", {image}},
      {"Add", {image, image}},
      {"Softmax", {image}},
      {"ReduceMean", {image}},
      {"MaxPool", {image}, {{"kernel_shape", Ints{2, 2}}}},
      {"Conv", {image, weight({4, 4, 3, 3})}},
      {"MatMul", {operand({4, 8}), weight({8, 4})}},
      {"LayerNormalization", {image, weight({8})}},
      {"TopK", {image, ints({3})}, {}, 11, 2},
      {"CumSum", {image, scalar_int(1)}},
      {"QuantizeLinear", {image, floats({0.5})}, {}, 13},
      {"Gather", {weight({100, 16}), operand({5}, DType::kInt64)}},
  };
  for (const OpCase& example : counted) {
    INFO(example.op_type);
    const OpOutcome outcome = infer(example);
    REQUIRE(outcome.status.ok());
    const OpWork work = outcome.work();
    CHECK(work.bytes_read > 0);
    CHECK(work.bytes_written > 0);
    if (example.op_type != "Gather") {
      CHECK(work.flops > 0);
    }
  }
}

}  // namespace
}  // namespace dfsim
