// Random graphs through every runtime's rewriting: shapes, MACs and, where the rewritten operators
// can be computed, results stay.
//
// The value rules of graphs/ops, which a table test compares with ONNX's reference evaluator,
// compute both graphs. Fused operators of ONNX Runtime are written out for that, by their
// definitions.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <random>

#include "graphs/ops/infer.h"
#include "graphs/ops/totals.h"
#include "graphs/passes/cleanup/prune.h"
#include "graphs/passes/pipeline.h"
#include "hardware/platform_loader.h"
#include "tests/passes/random_graph.h"

namespace dfsim {
namespace {

namespace fs = std::filesystem;

constexpr int kGraphs = 200;
constexpr int kSteps = 12;
constexpr int kNewOpset = 20;  // has Gelu

std::function<uint32_t(uint32_t)> chooser(uint32_t seed) {
  auto random = std::make_shared<std::mt19937>(seed);
  return [random](uint32_t n) { return static_cast<uint32_t>((*random)() % n); };
}

// The same numbers in -0.5 ... 0.5 for the same name, whatever graph it is in; positive for those
// that may be variances.
ConstValue values_of(const Tensor& tensor) {
  ConstValue value{DType::kFloat32, {}, {}, {}};
  for (const Dim dim : tensor.shape.dims()) {
    value.extents.push_back(dim.extent());
  }
  uint32_t seed = 17;
  for (const char c : tensor.name) {
    seed = seed * 31 + static_cast<unsigned char>(c);
  }
  std::mt19937 random(seed);
  for (int64_t i = 0; i < tensor.shape.elements().value(); ++i) {
    const double number = static_cast<double>(random() % 1000) / 1000;
    value.floats.push_back(tensor.role == TensorRole::kWeight ? number : number - 0.5);
  }
  return value;
}

// Copies a graph into a builder and writes fused operators out.
class WrittenOut {
 public:
  explicit WrittenOut(const Graph& graph) : graph_(graph) {
    for (size_t i = 0; i < graph.tensor_count(); ++i) {
      const Tensor& from = graph.tensor(TensorId(i));
      Tensor& to = builder_.tensor(builder_.tensor_by_name(from.name));
      to.dtype = from.dtype;
      to.role = from.role;
      if (from.producer.valid()) {
        continue;
      }
      to.shape = from.shape;
      if (const ConstValue* value = graph.constant(TensorId(i)); value != nullptr) {
        builder_.set_constant(builder_.tensor_by_name(from.name), *value);
      } else if (from.shape.is_static() && is_floating(from.dtype)) {
        builder_.set_constant(builder_.tensor_by_name(from.name), values_of(from));
      }
    }
    for (const Op& op : graph.ops()) {
      add(op);
    }
  }

  // The outputs that could be computed.
  std::map<std::string, ConstValue> results() {
    std::map<std::string, ConstValue> found;
    const auto inferred = infer_shapes(builder_, {});
    INFO(inferred.status().message());
    REQUIRE(inferred.ok());
    for (const TensorId id : graph_.outputs()) {
      const std::string& name = graph_.tensor(id).name;
      if (const ConstValue* value = builder_.constant(builder_.tensor_by_name(name))) {
        found.emplace(name, *value);
      }
    }
    return found;
  }

 private:
  using Names = std::vector<std::string>;

  std::string name_of(TensorId id) const { return id.valid() ? graph_.tensor(id).name : ""; }

  std::string put(const std::string& type, const Names& inputs, const std::string& output = "",
                  const Attributes& attributes = {}, int version = kNewOpset) {
    Op op;
    op.op_type = type;
    op.version = version;
    op.attributes = attributes;
    for (const std::string& input : inputs) {
      op.inputs.push_back(builder_.tensor_by_name(input));
    }
    const std::string name = output.empty() ? "written_" + std::to_string(count_++) : output;
    op.outputs = {builder_.tensor_by_name(name)};
    REQUIRE(builder_.add_op(std::move(op)).ok());
    return name;
  }

  std::string scalar(double value) {
    const std::string name = "number_" + std::to_string(count_++);
    builder_.tensor(builder_.tensor_by_name(name)).dtype = DType::kFloat32;
    builder_.tensor(builder_.tensor_by_name(name)).shape = Shape::of(std::vector<int64_t>{});
    builder_.set_constant(builder_.tensor_by_name(name),
                          ConstValue{DType::kFloat32, {}, {}, {value}});
    return name;
  }

  // An operand of FusedMatMul as MatMul reads it.
  std::string turned(TensorId id, bool turn, bool batch_inside) {
    if (!turn && !batch_inside) {
      return name_of(id);
    }
    std::vector<int64_t> perm;
    for (int i = 0; i < graph_.tensor(id).shape.rank(); ++i) {
      perm.push_back(i);
    }
    if (batch_inside) {
      std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
    }
    if (turn) {
      std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    }
    Attributes attributes;
    attributes.set("perm", perm);
    return put("Transpose", {name_of(id)}, "", attributes);
  }

  void add(const Op& op) {
    const std::string out = op.outputs.empty() ? "" : name_of(op.outputs[0]);
    const Names in = {op.inputs.empty() ? "" : name_of(op.inputs[0]),
                      op.inputs.size() < 2 ? "" : name_of(op.inputs[1])};
    Attributes tanh;
    tanh.set("approximate", std::string("tanh"));
    const auto is_set = [&](std::string_view name) { return op.attributes.int_or(name, 0) != 0; };
    if (op.op_type == "FusedMatMul") {
      const std::string product =
          put("MatMul", {turned(op.inputs[0], is_set("transA"), is_set("transBatchA")),
                         turned(op.inputs[1], is_set("transB"), is_set("transBatchB"))});
      put("Mul", {product, scalar(op.attributes.get_float("alpha").value_or(1))}, out);
    } else if (op.op_type == "Gelu") {
      put("Gelu", {in[0]}, out);
    } else if (op.op_type == "BiasGelu") {
      put("Gelu", {put("Add", in)}, out);
    } else if (op.op_type == "FastGelu") {
      put("Gelu", {in[1].empty() ? in[0] : put("Add", in)}, out, tanh);
    } else if (op.op_type == "QuickGelu") {
      const double alpha = op.attributes.get_float("alpha").value_or(1.702);
      put("Mul", {in[0], put("Sigmoid", {put("Mul", {in[0], scalar(alpha)})})}, out);
    } else if (op.op_type == "FusedGemm") {
      Names inputs;
      for (const TensorId input : op.inputs) {
        inputs.push_back(name_of(input));
      }
      put(op.attributes.string_or("activation", "Relu"), {put("Gemm", inputs, "", op.attributes)},
          out);
    } else if (op.op_type == "SkipLayerNormalization") {
      std::string sum = put("Add", in, op.outputs.size() > 3 ? name_of(op.outputs[3]) : "");
      if (op.inputs.size() > 4 && op.inputs[4].valid()) {
        sum = put("Add", {sum, name_of(op.inputs[4])});
      }
      Names inputs = {sum, name_of(op.inputs[2])};
      if (op.inputs.size() > 3 && op.inputs[3].valid()) {
        inputs.push_back(name_of(op.inputs[3]));
      }
      put("LayerNormalization", inputs, out, op.attributes);
    } else {
      copy(op);
    }
  }

  void copy(Op op) {
    const Op& from = op;
    Op to = from;
    for (auto* ids : {&to.inputs, &to.outputs}) {
      for (TensorId& id : *ids) {
        id = id.valid() ? builder_.tensor_by_name(graph_.tensor(id).name) : id;
      }
    }
    REQUIRE(builder_.add_op(std::move(to)).ok());
  }

  const Graph& graph_;
  GraphBuilder builder_;
  int count_ = 0;
};

// Shapes that passes gave to tensors are those that the operators' own rules find.
void check_rules_agree(const Graph& graph) {
  GraphBuilder again(graph);
  for (const Op& op : graph.ops()) {
    for (const TensorId output : op.outputs) {
      if (output.valid() && op.domain != "compiled") {
        again.tensor(output).shape = Shape();
      }
    }
  }
  REQUIRE(infer_shapes(again, {}).ok());
  for (size_t t = 0; t < graph.tensor_count(); ++t) {
    const Tensor& tensor = graph.tensor(TensorId(t));
    INFO(tensor.name);
    CHECK(format_shape(again.tensor(TensorId(t)).shape) == format_shape(tensor.shape));
  }
}

std::map<std::string, std::string> outputs_of(const Graph& graph) {
  std::map<std::string, std::string> outputs;
  for (const TensorId id : graph.outputs()) {
    const Tensor& tensor = graph.tensor(id);
    outputs[tensor.name] = format_shape(tensor.shape);
  }
  return outputs;
}

// Weights that a pass made or changed have values that no other graph has.
bool has_the_weights_of(const Graph& rewritten, const Graph& original) {
  std::map<std::string, std::string> weights;
  for (const Tensor& tensor : original.tensors()) {
    weights[tensor.name] = format_shape(tensor.shape);
  }
  for (const Tensor& tensor : rewritten.tensors()) {
    if (tensor.role == TensorRole::kWeight) {
      const auto it = weights.find(tensor.name);
      if (it == weights.end() || it->second != format_shape(tensor.shape)) {
        return false;
      }
    }
  }
  return true;
}

// How many outputs were compared.
int check_results(const std::map<std::string, ConstValue>& expected, const Graph& rewritten) {
  int compared = 0;
  for (const auto& [name, value] : WrittenOut(rewritten).results()) {
    const auto it = expected.find(name);
    if (it == expected.end()) {
      continue;
    }
    INFO("output " << name);
    REQUIRE(value.size() == it->second.size());
    double largest = 0;
    for (size_t i = 0; i < value.size(); ++i) {
      const double scale = 1 + std::fabs(it->second.as_double(i));
      largest = std::max(largest, std::fabs(value.as_double(i) - it->second.as_double(i)) / scale);
    }
    CHECK(largest < 1e-3);
    ++compared;
  }
  return compared;
}

// The products, for a message.
std::string products_of(const Graph& graph, const GraphTotals& totals) {
  std::string text;
  for (size_t i = 0; i < graph.op_count(); ++i) {
    const Op& op = graph.op(OpId(i));
    if (totals.work[i].macs != 0) {
      text += op.op_type + "(";
      for (const TensorId input : op.inputs) {
        text += graph.tensor(input).name + " " + format_shape(graph.tensor(input).shape) + ", ";
      }
      text += ") = " + std::to_string(totals.work[i].macs) + "\n";
    }
  }
  return text;
}

std::vector<std::string> runtime_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(DFSIM_SOURCE_DIR "/hardware/runtimes")) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST_CASE("Random graphs: every runtime's rewriting keeps shapes, MACs and results") {
  const std::vector<std::string> runtimes = runtime_names();
  REQUIRE(runtimes.size() >= 10);
  std::map<std::string, int> compared;
  std::map<std::string, int> changed;
  for (uint32_t seed = 0; seed < kGraphs; ++seed) {
    const auto graph = RandomGraph(chooser(seed)).make(kSteps);
    INFO("seed " << seed << ": " << graph.status().message());
    REQUIRE(graph.ok());
    const auto pruned = prune(*graph);
    REQUIRE(pruned.ok());
    const auto before = graph_totals(pruned->graph);
    REQUIRE(before.ok());
    const auto expected = WrittenOut(*graph).results();
    for (const std::string& name : runtimes) {
      INFO("runtime " << name);
      const auto runtime = load_runtime(name);
      REQUIRE(runtime.ok());
      const auto rewritten = run_passes(pruned->graph, pass_stages(runtime->fusions));
      INFO(rewritten.status().message());
      REQUIRE(rewritten.ok());
      check_rules_agree(rewritten->graph);
      CHECK(outputs_of(rewritten->graph) == outputs_of(pruned->graph));
      const auto after = graph_totals(rewritten->graph);
      REQUIRE(after.ok());
      INFO(products_of(pruned->graph, *before) << "now\n" << products_of(rewritten->graph, *after));
      CHECK(after->macs == before->macs);
      changed[name] += rewritten->graph.op_count() != pruned->graph.op_count() ? 1 : 0;
      if (has_the_weights_of(rewritten->graph, *graph)) {
        compared[name] += check_results(expected, rewritten->graph);
      }
    }
  }
  // The test compares something: half of the graphs are rewritten, and several outputs of each kind
  // of runtime are computed.
  CHECK(changed["ort-cpu"] > kGraphs / 2);
  CHECK(compared["ort-cpu"] > kGraphs);
  CHECK(compared["none"] > kGraphs);
}

}  // namespace
}  // namespace dfsim
