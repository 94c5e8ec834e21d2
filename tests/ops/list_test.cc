// Lists of tensors whose elements are known one by one.
#include <catch2/catch.hpp>

#include "graphs/ir/graph_builder.h"
#include "graphs/ops/infer.h"

namespace dfsim {
namespace {

class ListGraph {
 public:
  TensorId ints(std::vector<int64_t> values, bool scalar = false) {
    const TensorId id = builder_.add_tensor({});
    Tensor& tensor = builder_.tensor(id);
    tensor.role = TensorRole::kConstant;
    tensor.dtype = DType::kInt64;
    const std::vector<int64_t> extents =
        scalar ? std::vector<int64_t>{} : std::vector<int64_t>{static_cast<int64_t>(values.size())};
    tensor.shape = Shape::of(extents);
    builder_.set_constant(id, {DType::kInt64, extents, std::move(values), {}});
    return id;
  }
  TensorId input(Shape shape) {
    const TensorId id = builder_.add_tensor({});
    builder_.tensor(id).shape = std::move(shape);
    builder_.tensor(id).dtype = DType::kFloat32;
    builder_.mark_input(id);
    return id;
  }
  TensorId op(const std::string& type, std::vector<TensorId> inputs,
              std::vector<std::pair<std::string, AttrValue>> attributes = {}) {
    Op op;
    op.op_type = type;
    op.version = 17;
    op.inputs = std::move(inputs);
    const TensorId out = builder_.add_tensor({});
    op.outputs = {out};
    for (auto& [name, value] : attributes) {
      op.attributes.set(name, value);
    }
    REQUIRE(builder_.add_op(std::move(op)).ok());
    return out;
  }
  Status infer_status() { return infer_shapes(builder_, {}).status(); }
  void infer() {
    const Status status = infer_status();
    INFO(status.message());
    REQUIRE(status.ok());
  }
  std::string shape(TensorId id) const { return format_shape(builder_.tensor(id).shape); }
  const ConstValue* value(TensorId id) const { return builder_.constant(id); }

 private:
  GraphBuilder builder_;
};

TEST_CASE("Lists: each element keeps its own shape and value") {
  ListGraph graph;
  const TensorId parts = graph.op("SplitToSequence", {graph.input({7, 3}), graph.ints({2, 5})});
  const TensorId second = graph.op("SequenceAt", {parts, graph.ints({1}, true)});
  const TensorId values = graph.op("SplitToSequence", {graph.ints({4, 5, 6}), graph.ints({1, 2})});
  const TensorId last = graph.op("SequenceAt", {values, graph.ints({-1}, true)});
  const TensorId all = graph.op("ConcatFromSequence", {parts}, {{"axis", int64_t{0}}});
  graph.infer();
  CHECK(graph.shape(second) == "5x3");
  REQUIRE(graph.value(last) != nullptr);
  CHECK(graph.value(last)->ints == std::vector<int64_t>{5, 6});
  CHECK(graph.shape(all) == "7x3");
}

TEST_CASE("Lists: insertion and removal at known positions") {
  ListGraph graph;
  const TensorId list = graph.op("SequenceConstruct", {graph.input({1, 2}), graph.input({3, 2})});
  const TensorId longer =
      graph.op("SequenceInsert", {list, graph.input({9, 2}), graph.ints({0}, true)});
  const TensorId shorter = graph.op("SequenceErase", {longer, graph.ints({1}, true)});
  const TensorId first = graph.op("SequenceAt", {shorter, graph.ints({0}, true)});
  const TensorId joined = graph.op("ConcatFromSequence", {shorter}, {{"axis", int64_t{0}}});
  const TensorId length = graph.op("SequenceLength", {shorter});
  graph.infer();
  CHECK(graph.shape(first) == "9x2");
  CHECK(graph.shape(joined) == "12x2");
  REQUIRE(graph.value(length) != nullptr);
  CHECK(graph.value(length)->ints == std::vector<int64_t>{2});
}

TEST_CASE("Lists: a position outside the list is an error") {
  ListGraph graph;
  const TensorId list = graph.op("SequenceConstruct", {graph.input({1, 2})});
  graph.op("SequenceAt", {list, graph.ints({3}, true)});
  const Status status = graph.infer_status();
  REQUIRE_FALSE(status.ok());
  CHECK_THAT(status.message(), Catch::Contains("position 3 is outside a list of 1"));
}

}  // namespace
}  // namespace dfsim
