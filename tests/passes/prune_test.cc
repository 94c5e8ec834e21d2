// Constant folding and removal of dead operators.
#include "graphs/passes/cleanup/prune.h"

#include <catch2/catch.hpp>

#include "graphs/ir/graph_builder.h"
#include "graphs/ops/infer.h"

namespace dfsim {
namespace {

// Tensors have the shape [4] unless a rule says otherwise.
class PruneCase {
 public:
  void input(const std::string& name) {
    shape_of(name);
    builder_.mark_input(builder_.tensor_by_name(name));
  }
  void weight(const std::string& name) {
    shape_of(name);
    builder_.tensor(builder_.tensor_by_name(name)).role = TensorRole::kWeight;
  }
  void op(const std::string& type, const std::vector<std::string>& inputs,
          const std::string& output) {
    Op op;
    op.op_type = type;
    op.name = output;
    op.version = 17;
    for (const std::string& name : inputs) {
      op.inputs.push_back(builder_.tensor_by_name(name));
    }
    op.outputs.push_back(builder_.tensor_by_name(output));
    REQUIRE(builder_.add_op(std::move(op)).ok());
  }
  void output(const std::string& name) { builder_.mark_output(builder_.tensor_by_name(name)); }

  void producer(const std::string& name) { builder_.info().producer = name; }

  PruneResult prune(const PruneOptions& options = {}) {
    REQUIRE(infer_shapes(builder_, {}).ok());
    const auto graph = builder_.build();
    REQUIRE(graph.ok());
    auto result = dfsim::prune(*graph, {}, options);
    REQUIRE(result.ok());
    return std::move(*result);
  }

 private:
  void shape_of(const std::string& name) {
    Tensor& tensor = builder_.tensor(builder_.tensor_by_name(name));
    tensor.shape = Shape({Dim(4)});
    tensor.dtype = DType::kFloat32;
  }

  GraphBuilder builder_;
};

std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> list;
  for (const Op& op : graph.ops()) {
    list.push_back(op.name);
  }
  return list;
}

const Tensor* find(const Graph& graph, const std::string& name) {
  for (const Tensor& tensor : graph.tensors()) {
    if (tensor.name == name) {
      return &tensor;
    }
  }
  return nullptr;
}

TEST_CASE("Prune: folds an op on weights alone into a weight and drops the unused weight") {
  PruneCase example;
  example.input("x");
  example.weight("w");
  example.op("Transpose", {"w"}, "wt");
  example.op("Add", {"x", "wt"}, "y");
  example.output("y");
  const PruneResult result = example.prune();
  CHECK(result.folded_ops == 1);
  CHECK(result.dead_ops == 0);
  CHECK(names(result.graph) == std::vector<std::string>{"y"});
  REQUIRE(find(result.graph, "wt") != nullptr);
  CHECK(find(result.graph, "wt")->role == TensorRole::kWeight);
  CHECK(find(result.graph, "w") == nullptr);
}

TEST_CASE("Prune: what computes with a weight that will be trained stays, its layout aside") {
  PruneCase example;
  example.input("x");
  example.weight("w");
  example.weight("v");
  example.op("Transpose", {"w"}, "wt");
  example.op("Mul", {"wt", "v"}, "scaled");
  example.op("Add", {"x", "scaled"}, "y");
  example.output("y");
  const PruneResult result = example.prune({.for_training = true});
  CHECK(names(result.graph) == std::vector<std::string>{"scaled", "y"});
  REQUIRE(find(result.graph, "wt") != nullptr);
  CHECK(find(result.graph, "wt")->role == TensorRole::kWeight);
}

TEST_CASE("Prune: folds shape arithmetic although it reads an activation") {
  PruneCase example;
  example.input("x");
  example.op("Shape", {"x"}, "s");
  example.op("Reshape", {"x", "s"}, "y");
  example.output("y");
  const PruneResult result = example.prune();
  CHECK(result.folded_ops == 1);
  CHECK(names(result.graph) == std::vector<std::string>{"y"});
  REQUIRE(find(result.graph, "s") != nullptr);
  CHECK(find(result.graph, "s")->role == TensorRole::kConstant);
}

TEST_CASE("Prune: drops ops that lead to no output, and chains of them") {
  PruneCase example;
  example.input("x");
  example.op("Relu", {"x"}, "y");
  example.op("Exp", {"x"}, "d1");
  example.op("Neg", {"d1"}, "d2");
  example.output("y");
  const PruneResult result = example.prune();
  CHECK(result.dead_ops == 2);
  CHECK(result.folded_ops == 0);
  CHECK(names(result.graph) == std::vector<std::string>{"y"});
}

TEST_CASE("Prune: never folds random operators") {
  PruneCase example;
  example.weight("w");
  example.op("RandomNormalLike", {"w"}, "r");
  example.op("Relu", {"r"}, "y");
  example.output("y");
  const PruneResult result = example.prune();
  CHECK(result.folded_ops == 0);
  CHECK(names(result.graph) == std::vector<std::string>{"r", "y"});
}

TEST_CASE("Prune: keeps inputs and outputs, even an output that is an input or folded") {
  PruneCase example;
  example.input("x");
  example.input("unused");
  example.weight("w");
  example.op("Relu", {"w"}, "folded");
  example.output("x");
  example.output("folded");
  const PruneResult result = example.prune();
  CHECK(result.graph.op_count() == 0);
  CHECK(result.graph.inputs().size() == 2);
  CHECK(result.graph.outputs().size() == 2);
  CHECK(find(result.graph, "folded")->is_output);
  CHECK(find(result.graph, "folded")->role == TensorRole::kWeight);
}

TEST_CASE("Prune: a second run changes nothing") {
  PruneCase example;
  example.input("x");
  example.weight("w");
  example.op("Relu", {"w"}, "f");
  example.op("Mul", {"x", "f"}, "y");
  example.op("Exp", {"y"}, "dead");
  example.output("y");
  const PruneResult once = example.prune();
  const auto twice = prune(once.graph);
  REQUIRE(twice.ok());
  CHECK(twice->folded_ops == 0);
  CHECK(twice->dead_ops == 0);
  CHECK(names(twice->graph) == names(once.graph));
  CHECK(twice->graph.tensor_count() == once.graph.tensor_count());
}

TEST_CASE("Prune: keeps an op of unknown shape") {
  PruneCase example;
  example.weight("w");
  example.op("Frobnicate", {"w"}, "y");
  example.output("y");
  CHECK(example.prune().folded_ops == 0);
}

TEST_CASE("Prune: ONNX Runtime executes unread operators, but not those that folding left unread") {
  const auto pruned = [](bool for_onnxruntime) {
    PruneCase example;
    example.input("x");
    example.op("Relu", {"x"}, "y");
    example.op("Sigmoid", {"x"}, "unread_first");
    example.op("Exp", {"unread_first"}, "unread");
    example.op("Tanh", {"x"}, "sized");
    example.op("Shape", {"sized"}, "shape");  // known: folded, and Tanh with it
    example.op("Reshape", {"y", "shape"}, "z");
    example.output("z");
    return names(example.prune({.for_onnxruntime = for_onnxruntime}).graph);
  };
  CHECK(pruned(true) == std::vector<std::string>{"y", "unread_first", "unread", "z"});
  CHECK(pruned(false) == std::vector<std::string>{"y", "z"});
}

TEST_CASE("Prune: ONNX Runtime never sees the unread operators of a TensorFlow graph") {
  PruneCase example;
  example.producer("tensorflow 2.16");
  example.input("x");
  example.op("Relu", {"x"}, "y");
  example.op("Sigmoid", {"x"}, "unread");
  example.output("y");
  CHECK(names(example.prune({.for_onnxruntime = true}).graph) == std::vector<std::string>{"y"});
}

}  // namespace
}  // namespace dfsim
