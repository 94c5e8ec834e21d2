// Extents that only the run knows: upper bounds, and --dim for dimensions that no input has.
#include <catch2/catch.hpp>

#include "graphs/ops/infer.h"
#include "tests/onnx/model_maker.h"

namespace dfsim {
namespace {

using Catch::Matchers::Contains;

// x [4, 5] -> NonZero -> nz [2, count] -> Transpose -> rows [count, 2] -> Relu -> y
ModelMaker model_of_positions(bool declared) {
  ModelMaker model;
  model.input("x", {4, 5});
  model.node("NonZero", {"x"}, {"nz"});
  model.node("Transpose", {"nz"}, {"rows"});
  model.node("Relu", {"rows"}, {"y"});
  model.output("y");
  if (declared) {
    declare(model.graph().add_value_info(), "nz", {2, "count"}, onnx::TensorProto::INT64);
  }
  return model;
}

const Tensor& tensor_of(const ImportedModel& model, const std::string& name) {
  return model.graph.tensor(find_tensor(model.graph, name));
}

TEST_CASE("Inner dimensions: a count of data is an upper bound until --dim gives it") {
  const auto bound = model_of_positions(true).import();
  REQUIRE(bound.ok());
  CHECK(shape_of(bound->graph, "nz") == "2x20");
  CHECK(tensor_of(*bound, "nz").data_dependent);
  CHECK(tensor_of(*bound, "y").data_dependent);
  const auto given = model_of_positions(true).import({.dims = {{"count", 7}}});
  REQUIRE(given.ok());
  CHECK(shape_of(given->graph, "nz") == "2x7");
  CHECK(shape_of(given->graph, "y") == "7x2");
  CHECK_FALSE(tensor_of(*given, "nz").data_dependent);
  CHECK_FALSE(tensor_of(*given, "y").data_dependent);
  REQUIRE(given->report.dims.size() == 1);
  CHECK(given->report.dims[0].name == "count");
  CHECK(given->report.dims[0].origin == "given");
}

TEST_CASE("Inner dimensions: an unresolved operator names the extents that depend on data") {
  ModelMaker model;  // Range(0, most of x, 1), as long as a value of the input says
  model.input("x", {4}, onnx::TensorProto::INT64);
  set_int(model.node("ReduceMax", {"x"}, {"limit"}), "keepdims", 0);
  model.ints("start", {0})->clear_dims();
  model.ints("step", {1})->clear_dims();
  model.node("Range", {"start", "limit", "step"}, {"positions"});
  model.node("Neg", {"positions"}, {"y"});
  model.output("y");
  const auto open = model.import();
  REQUIRE(open->report.unresolved.size() == 2);
  CHECK(open->report.unresolved[0].reason == kDependsOnValues);
  CHECK(open->report.unresolved[0].extents == std::vector<std::string>{"positions[0]"});
  CHECK(open->report.unresolved[1].extents.empty());
  declare(model.graph().add_value_info(), "positions", {"frames"}, onnx::TensorProto::INT64);
  CHECK(model.import()->report.unresolved[0].extents == std::vector<std::string>{"frames"});
  const auto given = model.import({.dims = {{"frames", 9}}});
  CHECK(given->report.unresolved.empty());
  CHECK(shape_of(given->graph, "y") == "9");
}

TEST_CASE("Inner dimensions: TENSOR[AXIS] names one that the file gives no name") {
  const auto given = model_of_positions(false).import({.dims = {{"nz[1]", 3}}});
  REQUIRE(given.ok());
  CHECK(shape_of(given->graph, "y") == "3x2");
  CHECK_FALSE(tensor_of(*given, "y").data_dependent);
}

TEST_CASE("Inner dimensions: an operator without a rule takes the given extent") {
  ModelMaker model;
  model.input("x", {4});
  model.node("Frobnicate", {"x"}, {"parts"});
  model.node("Relu", {"parts"}, {"y"});
  model.output("y");
  declare(model.graph().add_value_info(), "parts", {"n", 8});
  CHECK(shape_of(model.import()->graph, "y") != "6x8");
  const auto given = model.import({.dims = {{"n", 6}}});
  REQUIRE(given.ok());
  CHECK(shape_of(given->graph, "y") == "6x8");
}

TEST_CASE("Inner dimensions: one that the model determines itself cannot be given another extent") {
  ModelMaker model;
  model.input("x", {4, 5});
  model.node("Transpose", {"x"}, {"t"});
  model.node("Relu", {"t"}, {"y"});
  model.output("y");
  declare(model.graph().add_value_info(), "t", {"m", 4});
  CHECK(model.import({.dims = {{"m", 5}}}).ok());
  const auto refused = model.import({.dims = {{"m", 6}}});
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(refused.status().message(),
             Contains("--dim m: is 6, but the model's other extents make it 5; leave it out"));
  CHECK_THAT(model.import({.dims = {{"m", -1}}}).status().message(), Contains("--dim m is -1"));
  CHECK_THAT(model.import({.dims = {{"t[x]", 1}}}).status().message(),
             Contains("unknown dimension 't[x]'"));
}

TEST_CASE("Upper bounds: a Range up to a count of data is marked, one up to data alone is open") {
  ModelMaker model;
  model.input("x", {4, 5});
  model.input("n", {}, onnx::TensorProto::INT64);
  model.ints("one", {1});
  for (const char* scalar : {"zero", "step"}) {
    auto* value = model.ints(scalar, {scalar == std::string("step") ? 1 : 0});
    value->clear_dims();
  }
  model.node("NonZero", {"x"}, {"nz"});
  model.node("Shape", {"nz"}, {"extents"});
  auto* index = model.ints("last", {1});
  index->clear_dims();
  model.node("Gather", {"extents", "last"}, {"count"});
  model.node("Range", {"zero", "count", "step"}, {"bounded"});
  model.node("Range", {"zero", "n", "step"}, {"open"});
  model.output("bounded");
  model.output("open");
  const auto imported = model.import();
  REQUIRE(imported.ok());
  CHECK(shape_of(imported->graph, "bounded") == "20");
  CHECK(tensor_of(*imported, "bounded").data_dependent);
  REQUIRE(imported->report.unresolved.size() == 1);
  CHECK(imported->report.unresolved[0].op_type == "Range");
  const auto given = model.import({.dims = {{"open[0]", 9}}});
  REQUIRE(given.ok());
  CHECK(shape_of(given->graph, "open") == "9");
  CHECK(given->report.unresolved.empty());
}

// One token next to a cache of 16 positions: the cache has room for the token, or grows by it.
std::string present_shape(int64_t total) {
  ModelMaker model;
  model.model().add_opset_import()->set_domain("com.microsoft");
  model.model().mutable_opset_import(1)->set_version(1);
  model.input("q", {1, 1, 64});
  model.input("k", {1, 1, 16});
  model.input("v", {1, 1, 16});
  model.input("past_k", {1, 2, 16, 8});
  model.input("past_v", {1, 2, 16, 8});
  model.input("lengths", {1}, onnx::TensorProto::INT32);
  auto* length = model.ints("total", {total});
  length->clear_dims();
  auto* node =
      model.node("GroupQueryAttention", {"q", "k", "v", "past_k", "past_v", "lengths", "total"},
                 {"y", "present_k", "present_v"});
  node->set_domain("com.microsoft");
  set_int(node, "num_heads", 8);
  set_int(node, "kv_num_heads", 2);
  model.output("y");
  const auto imported = model.import();
  return imported.ok() ? shape_of(imported->graph, "present_k") : imported.status().message();
}

std::map<std::string, int64_t> dims_of(const ImportedModel& model) {
  std::map<std::string, int64_t> dims;
  for (const BoundDim& dim : model.report.dims) {
    dims[dim.name] = dim.extent;
  }
  return dims;
}

TEST_CASE("Decoders: the total of cache and new tokens follows from both, or the cache from it") {
  ModelMaker model;
  model.input("ids", {"batch", "sequence_length"}, onnx::TensorProto::INT64);
  model.input("mask", {"batch", "total_sequence_length"}, onnx::TensorProto::INT64);
  model.input("past", {"batch", 2, "past_sequence_length", 8});
  model.node("Identity", {"past"}, {"y"});
  model.output("y");
  const auto extents = [&](const std::map<std::string, int64_t>& given) {
    const auto imported = model.import({.dims = given});
    REQUIRE(imported.ok());
    auto dims = dims_of(*imported);
    return std::vector<int64_t>{dims["sequence_length"], dims["past_sequence_length"],
                                dims["total_sequence_length"]};
  };
  CHECK(extents({}) == std::vector<int64_t>{128, 128, 256});
  CHECK(extents({{"sequence_length", 1}, {"past_sequence_length", 500}}) ==
        std::vector<int64_t>{1, 500, 501});
  CHECK(extents({{"sequence_length", 1}, {"total_sequence_length", 40}}) ==
        std::vector<int64_t>{1, 39, 40});
  // A cache with room for more positions than are in use.
  CHECK(extents({{"sequence_length", 1},
                 {"past_sequence_length", 4096},
                 {"total_sequence_length", 40}}) == std::vector<int64_t>{1, 4096, 40});
}

TEST_CASE("Decoders: the size of the cache's heads is the query's where the file leaves it open") {
  ModelMaker model;
  model.model().add_opset_import()->set_domain("com.microsoft");
  model.model().mutable_opset_import(1)->set_version(1);
  model.input("q", {1, 1, 12 * 96});
  for (const char* cache : {"past_k", "past_v"}) {
    model.input(cache, {1, 2, "past_sequence_length", "kv_cache_dim"});
  }
  model.input("lengths", {1}, onnx::TensorProto::INT32);
  auto* node = model.node("GroupQueryAttention", {"q", "", "", "past_k", "past_v", "lengths", ""},
                          {"y", "present_k", "present_v"});
  node->set_domain("com.microsoft");
  set_int(node, "num_heads", 8);
  set_int(node, "kv_num_heads", 2);
  model.output("y");
  const auto imported = model.import();
  INFO(imported.status().message());
  REQUIRE(imported.ok());
  CHECK(dims_of(*imported)["kv_cache_dim"] == 96);
  CHECK(shape_of(imported->graph, "present_k") == "1x2x129x96");
}

TEST_CASE("Grouped attention: a shared cache keeps its extent, a growing one has the total") {
  CHECK(present_shape(9) == "1x2x16x8");
  CHECK(present_shape(16) == "1x2x16x8");
  CHECK(present_shape(17) == "1x2x17x8");
}

}  // namespace
}  // namespace dfsim
