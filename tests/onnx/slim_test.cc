// slim_model: files without their weights.
#include "graphs/onnx/slim.h"

#include <catch2/catch.hpp>

#include "tests/onnx/model_maker.h"

namespace dfsim {
namespace {

using Catch::Contains;

ModelMaker model_with_weights() {
  ModelMaker model;
  model.input("x", {1, 4});
  model.weight("small", {4})->set_raw_data(std::string(16, '\1'));
  model.weight("large", {100, 100})->set_raw_data(std::string(40'000, '\2'));
  auto* floats = model.weight("large_floats", {20'000});
  for (int i = 0; i < 20'000; ++i) {
    floats->add_float_data(1.5F);
  }
  auto* node = model.node("Constant", {}, {"c"});
  auto* attribute = node->add_attribute();
  attribute->set_name("value");
  attribute->mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  attribute->mutable_t()->add_dims(50'000);
  attribute->mutable_t()->set_raw_data(std::string(200'000, '\3'));
  GraphMaker body(set_graph(model.node("If", {"x"}, {"y"}), "then_branch"));
  body.weight("inner", {100, 100})->set_raw_data(std::string(40'000, '\4'));
  model.output("y");
  return model;
}

TEST_CASE("slim: drops large payloads and keeps everything else") {
  ModelMaker model = model_with_weights();
  const auto slim = slim_model(model.bytes());
  REQUIRE(slim.ok());
  CHECK(slim->size() < 1'000);
  onnx::ModelProto parsed;
  REQUIRE(parsed.ParseFromString(*slim));
  onnx::ModelProto expected = model.model();
  auto* graph = expected.mutable_graph();
  graph->mutable_initializer(1)->clear_raw_data();
  graph->mutable_initializer(2)->clear_float_data();
  graph->mutable_node(0)->mutable_attribute(0)->mutable_t()->clear_raw_data();
  graph->mutable_node(1)
      ->mutable_attribute(0)
      ->mutable_g()
      ->mutable_initializer(0)
      ->clear_raw_data();
  CHECK(parsed.SerializeAsString() == expected.SerializeAsString());
}

TEST_CASE("slim: leaves a small model unchanged") {
  ModelMaker model;
  model.input("x", {1, 4});
  model.weight("w", {4})->set_raw_data(std::string(16, '\1'));
  model.node("Mul", {"x", "w"}, {"y"});
  model.output("y");
  CHECK(*slim_model(model.bytes()) == model.bytes());
}

TEST_CASE("slim: never crashes on a model cut off at any byte") {
  ModelMaker model;
  model.input("x", {"N", 4});
  model.weight("w", {4, 2})->set_raw_data(std::string(32, '\1'));
  model.node("MatMul", {"x", "w"}, {"h"});
  GraphMaker body(set_graph(model.node("If", {"h"}, {"y"}), "then_branch"));
  body.node("Relu", {"h"}, {"t"});
  body.output("t");
  model.output("y");
  const std::string whole = model.bytes();
  size_t refused = 0;
  for (size_t length = 0; length < whole.size(); ++length) {
    const auto imported = import_onnx_bytes(whole.substr(0, length), {});
    refused += imported.ok() ? 0 : 1;
    if (!imported.ok()) {
      CHECK_FALSE(imported.status().message().empty());
    }
  }
  CHECK(refused > whole.size() / 2);
}

TEST_CASE("slim: never crashes on a model with any byte changed") {
  ModelMaker model;
  model.input("x", {"N", 4});
  model.ints("s", {-1, 2});
  model.node("Reshape", {"x", "s"}, {"h"});
  model.node("Softmax", {"h"}, {"y"});
  model.output("y");
  const std::string whole = model.bytes();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\0', '\1', '\x7F', '\x80', '\xFF'}) {
      std::string changed = whole;
      changed[at] = value;
      (void)import_onnx_bytes(changed, {});
    }
  }
  SUCCEED();
}

TEST_CASE("slim: reads 64 levels of subgraphs and refuses 65") {
  const auto nested = [](int levels) {
    ModelMaker model;
    model.input("c", {}, onnx::TensorProto::BOOL);
    onnx::GraphProto* graph = &model.graph();
    for (int i = 0; i < levels; ++i) {
      GraphMaker maker(graph);
      onnx::NodeProto* node = maker.node("If", {"c"}, {"y"});
      maker.output("y");
      graph = set_graph(node, "then_branch");
    }
    GraphMaker(graph).node("Identity", {"c"}, {"y"});
    return model.bytes();
  };
  CHECK(slim_model(nested(63)).ok());
  CHECK_THAT(slim_model(nested(65)).status().message(), Contains("nested over 64 deep"));
}

TEST_CASE("slim: errors name the byte") {
  CHECK_THAT(slim_model(std::string("\x08", 1)).status().message(),
             Contains("byte 1: the file ends inside a number"));
  CHECK_THAT(slim_model(std::string("\x00\x00", 2)).status().message(), Contains("field number 0"));
  CHECK_THAT(slim_model(std::string("\x0B", 1)).status().message(), Contains("wire type 3"));
  CHECK_THAT(slim_model(std::string("\x3A\x05", 2)).status().message(),
             Contains("a field of 5 bytes runs past the end"));
}

}  // namespace
}  // namespace dfsim
