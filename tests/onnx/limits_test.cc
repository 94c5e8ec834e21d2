// Valid models at the limits: over 2 GB, names of a million characters or of bytes that are not
// UTF-8, and tensors that claim an impossible number of elements.
#include <catch2/catch.hpp>
#include <chrono>

#include "graphs/ops/totals.h"
#include "tests/onnx/model_maker.h"
#include "tests/sparse_message.h"

namespace dfsim {
namespace {

constexpr std::chrono::seconds kTimeLimit(5);

TEST_CASE("ONNX import: a model of over 2 GB costs what its graph costs") {
  ModelMaker maker;
  maker.input("x", {64});
  maker.node("Add", {"x", "w"}, {"y"});
  maker.output("y");
  // dims, data_type, name, raw_data
  const std::string tensor = "\x08" + wire_number(64) + std::string("\x10\x01", 2) +
                             wire_field(8, "w") + wire_field(9, "", kHoleBytes);
  const std::string graph = maker.graph().SerializeAsString() + wire_field(5, tensor, kHoleBytes);
  maker.model().clear_graph();
  const SparseFile file("dfsim_sparse_model.onnx",
                        maker.bytes() + wire_field(7, graph, kHoleBytes));
  const auto start = std::chrono::steady_clock::now();
  const auto model = import_onnx(file.path(), {});
  CHECK(std::chrono::steady_clock::now() - start < kTimeLimit);
  INFO(model.status().message());
  REQUIRE(model.ok());
  CHECK(shape_of(model->graph, "y") == "64");
  CHECK(graph_totals(model->graph)->parameters == 64);
}

TEST_CASE("ONNX import: accepts names of a million characters and names that are not UTF-8") {
  for (const std::string& name : {std::string(1'000'000, 'z'), std::string("\xC3\x28\xFF\n")}) {
    ModelMaker maker;
    maker.input(name, {2, 3});
    maker.node("Relu", {name}, {name + "1"}, name);
    maker.node(name, {name + "1"}, {name + "2"}, name)->set_domain(name);
    maker.output(name + "2");
    const auto model = maker.import();
    INFO(model.status().message().substr(0, 400));
    REQUIRE(model.ok());
    CHECK(shape_of(model->graph, name + "1") == "2x3");
    REQUIRE(model->report.unresolved.size() == 1);
    CHECK(model->report.unresolved[0].reason.size() < 400);
  }
}

TEST_CASE("ONNX import: a small model that claims 2^60 elements costs nothing") {
  constexpr int64_t kHuge = int64_t{1} << 60;
  constexpr int kInt4 = 22;  // newer than libonnx's header
  const auto check = [](ModelMaker& maker) {
    const std::string bytes = maker.bytes();
    CHECK(bytes.size() < 1024);
    const auto start = std::chrono::steady_clock::now();
    const auto model = import_onnx_bytes(bytes, {});
    if (model.ok()) {
      (void)graph_totals(model->graph);
    } else {
      CHECK(model.status().message().size() < 400);
    }
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(1));
  };
  for (const char* type : {"ConstantOfShape", "Expand", "Tile", "Reshape"}) {
    INFO(type);
    ModelMaker maker;
    maker.input("x", {1});
    maker.ints("n", {kHuge});
    maker.node(type,
               type == std::string("ConstantOfShape") ? std::vector<std::string>{"n"}
                                                      : std::vector<std::string>{"x", "n"},
               {"big"});
    maker.node("Shape", {"big"}, {"y"});
    maker.output("y");
    check(maker);
  }
  for (const int type : {int{onnx::TensorProto::FLOAT}, int{onnx::TensorProto::INT64},
                         int{onnx::TensorProto::BOOL}, kInt4}) {
    INFO(type);
    ModelMaker maker;
    maker.weight("w", {int64_t{1} << 30, int64_t{1} << 30})->set_data_type(type);
    maker.node("Identity", {"w"}, {"y"});
    maker.output("y");
    check(maker);
  }
  ModelMaker range;
  range.ints("edges", {0, kHuge, 1});
  range.ints("unit", {1, 1, 1});
  range.node("Split", {"edges", "unit"}, {"from", "to", "step"});
  for (const char* name : {"from", "to", "step"}) {
    range.node("Squeeze", {name}, {std::string(name) + "0"});
  }
  range.node("Range", {"from0", "to0", "step0"}, {"y"});
  range.output("y");
  check(range);
}

}  // namespace
}  // namespace dfsim
