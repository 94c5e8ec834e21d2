#include "tests/partition/test_graphs.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "graphs/ops/infer.h"

namespace dfsim {

void GraphMaker::input(const std::string& name, Dims dims, DType dtype) {
  const TensorId id = builder_.tensor_by_name(name);
  builder_.tensor(id).shape = Shape(std::move(dims));
  builder_.tensor(id).dtype = dtype;
  builder_.mark_input(id);
}

void GraphMaker::weight(const std::string& name, Dims dims, DType dtype) {
  const TensorId id = builder_.tensor_by_name(name);
  builder_.tensor(id).shape = Shape(std::move(dims));
  builder_.tensor(id).dtype = dtype;
  builder_.tensor(id).role = TensorRole::kWeight;
}

void GraphMaker::ints(const std::string& name, std::vector<int64_t> values) {
  const TensorId id = builder_.tensor_by_name(name);
  const auto count = static_cast<int64_t>(values.size());
  builder_.tensor(id).shape = Shape({Dim(count)});
  builder_.tensor(id).dtype = DType::kInt64;
  builder_.tensor(id).role = TensorRole::kConstant;
  builder_.set_constant(id, {DType::kInt64, {count}, std::move(values), {}});
}

void GraphMaker::op(const std::string& type, const std::vector<std::string>& inputs,
                    const std::string& output,
                    std::vector<std::pair<std::string, AttrValue>> attributes) {
  Op op;
  op.op_type = type;
  op.name = output;
  op.version = 17;
  for (const std::string& name : inputs) {
    op.inputs.push_back(builder_.tensor_by_name(name));
  }
  op.outputs.push_back(builder_.tensor_by_name(output));
  for (auto& [name, value] : attributes) {
    op.attributes.set(name, std::move(value));
  }
  REQUIRE(builder_.add_op(std::move(op)).ok());
}

Graph GraphMaker::finish(const std::vector<std::string>& outputs) {
  for (const std::string& name : outputs) {
    builder_.mark_output(builder_.tensor_by_name(name));
  }
  const auto unresolved = infer_shapes(builder_, {});
  INFO(unresolved.status().message());
  REQUIRE(unresolved.ok());
  REQUIRE(unresolved->empty());
  auto graph = builder_.build();
  REQUIRE(graph.ok());
  return std::move(graph).value();
}

namespace {

// Appends a layer that reads `input`; tensors end in `n`. Returns the result's name.
std::string add_layer(GraphMaker& make, const std::string& input, const std::string& n,
                      int64_t hidden) {
  using Ints = std::vector<int64_t>;
  for (const char* name : {"g1", "n1", "g2", "n2"}) {
    make.weight(name + n, {hidden});
  }
  make.op("LayerNormalization", {input, "g1" + n, "n1" + n}, "ln1" + n);
  for (const std::string part : {"q", "k", "v"}) {
    make.weight("w" + part + n, {hidden, hidden});
    make.op("MatMul", {"ln1" + n, "w" + part + n}, part + n);
    make.op("Reshape", {part + n, "to_heads"}, part + "_split" + n);
    const Ints perm = part == "k" ? Ints{0, 2, 3, 1} : Ints{0, 2, 1, 3};
    make.op("Transpose", {part + "_split" + n}, part + "_heads" + n, {{"perm", perm}});
  }
  make.op("MatMul", {"q_heads" + n, "k_heads" + n}, "scores" + n);
  make.op("Softmax", {"scores" + n}, "shares" + n);
  make.op("MatMul", {"shares" + n, "v_heads" + n}, "mixed" + n);
  make.op("Transpose", {"mixed" + n}, "mixed_rows" + n, {{"perm", Ints{0, 2, 1, 3}}});
  make.op("Reshape", {"mixed_rows" + n, "to_rows"}, "joined" + n);
  make.weight("wo" + n, {hidden, hidden});
  make.op("MatMul", {"joined" + n, "wo" + n}, "attention" + n);
  make.op("Add", {input, "attention" + n}, "middle" + n);
  make.op("LayerNormalization", {"middle" + n, "g2" + n, "n2" + n}, "ln2" + n);
  make.weight("w1" + n, {hidden, 4 * hidden});
  make.weight("b1" + n, {4 * hidden});
  make.weight("w2" + n, {4 * hidden, hidden});
  make.weight("b2" + n, {hidden});
  make.op("MatMul", {"ln2" + n, "w1" + n}, "up" + n);
  make.op("Add", {"up" + n, "b1" + n}, "up_biased" + n);
  make.op("Relu", {"up_biased" + n}, "active" + n);
  make.op("MatMul", {"active" + n, "w2" + n}, "down" + n);
  make.op("Add", {"down" + n, "b2" + n}, "down_biased" + n);
  make.op("Add", {"middle" + n, "down_biased" + n}, "y" + n);
  return "y" + n;
}

}  // namespace

Graph transformer_stack(int layers, int64_t batch, int64_t sequence, int64_t hidden,
                        int64_t heads) {
  GraphMaker make;
  make.input("x", {batch, sequence, hidden});
  make.ints("to_heads", {batch, sequence, heads, hidden / heads});
  make.ints("to_rows", {batch, sequence, hidden});
  std::string last = "x";
  for (int layer = 0; layer < layers; ++layer) {
    last = add_layer(make, last, layers == 1 ? std::string() : fmt::format(".{}", layer), hidden);
  }
  return make.finish({last});
}

Graph transformer_layer(int64_t batch, int64_t sequence, int64_t hidden, int64_t heads) {
  return transformer_stack(1, batch, sequence, hidden, heads);
}

Graph small_conv_net(int64_t batch) {
  using Ints = std::vector<int64_t>;
  GraphMaker make;
  make.input("x", {batch, 4, 16, 16});
  make.weight("c1", {8, 4, 3, 3});
  make.weight("d1", {8});
  make.op("Conv", {"x", "c1", "d1"}, "conv1", {{"pads", Ints{1, 1, 1, 1}}});
  make.op("Relu", {"conv1"}, "relu1");
  make.op("MaxPool", {"relu1"}, "pool1", {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  make.weight("c2", {8, 8, 3, 3});
  make.op("Conv", {"pool1", "c2"}, "conv2", {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}});
  make.op("Relu", {"conv2"}, "relu2");
  make.op("Flatten", {"relu2"}, "flat", {{"axis", int64_t{1}}});
  make.weight("f1", {128, 16});
  make.weight("e1", {16});
  make.op("Gemm", {"flat", "f1", "e1"}, "full1");
  make.op("Relu", {"full1"}, "relu3");
  make.weight("f2", {8, 16});
  make.weight("e2", {8});
  make.op("Gemm", {"relu3", "f2", "e2"}, "full2", {{"transB", int64_t{1}}});
  make.op("Softmax", {"full2"}, "y");
  return make.finish({"y"});
}

TensorId tensor_named(const Graph& graph, const std::string& name) {
  for (size_t t = 0; t < graph.tensor_count(); ++t) {
    if (graph.tensor(TensorId(t)).name == name) {
      return TensorId(t);
    }
  }
  FAIL("no tensor " << name);
  return {};
}

}  // namespace dfsim
