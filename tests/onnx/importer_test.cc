// The importer on small models that say one thing each.
#include "graphs/onnx/importer.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "graphs/ops/totals.h"
#include "tests/onnx/model_maker.h"

namespace dfsim {
namespace {

using Catch::Contains;

// x [N, 8] times w [8, 4], whatever way the weight is declared.
ModelMaker product() {
  ModelMaker model;
  model.input("x", {"N", 8});
  model.node("MatMul", {"x", "w"}, {"y"}, "product");
  model.output("y");
  return model;
}

TEST_CASE(
    "ONNX import: weights may be initializers, graph inputs, Constant nodes or ConstantOfShape") {
  const auto parameters_of = [](ModelMaker& model) {
    const auto imported = model.import();
    INFO(imported.status().message());
    REQUIRE(imported.ok());
    CHECK(imported->graph.inputs().size() == 1);
    CHECK(imported->report.unresolved.empty());
    CHECK(shape_of(imported->graph, "y") == "1x4");
    const auto totals = graph_totals(imported->graph);
    REQUIRE(totals.ok());
    CHECK(totals->macs == 8 * 4);
    return totals->parameters;
  };
  ModelMaker initializer = product();
  initializer.weight("w", {8, 4});
  CHECK(parameters_of(initializer) == 32);
  ModelMaker input = product();
  input.input("w", {8, 4});
  CHECK(parameters_of(input) == 32);
  ModelMaker both = product();  // IR version 3: initializers are inputs, too
  both.input("w", {8, 4});
  both.weight("w", {8, 4});
  CHECK(parameters_of(both) == 32);
  ModelMaker constant = product();
  auto* attribute = constant.node("Constant", {}, {"w"})->add_attribute();
  attribute->set_name("value");
  attribute->set_type(onnx::AttributeProto::TENSOR);
  attribute->mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  attribute->mutable_t()->add_dims(8);
  attribute->mutable_t()->add_dims(4);
  CHECK(parameters_of(constant) == 32);
  ModelMaker filled = product();
  filled.ints("w_shape", {8, 4});
  filled.node("ConstantOfShape", {"w_shape"}, {"w"});
  CHECK(parameters_of(filled) == 0);
}

TEST_CASE("ONNX import: accepts nodes in any order") {
  ModelMaker model;
  model.input("x", {4});
  model.node("Relu", {"b"}, {"c"}, "third");
  model.node("Exp", {"a"}, {"b"}, "second");
  model.node("Neg", {"x"}, {"a"}, "first");
  model.output("c");
  const auto imported = model.import();
  REQUIRE(imported.ok());
  CHECK(imported->graph.op(OpId(0)).name == "first");
  CHECK(imported->graph.op(OpId(2)).name == "third");
  CHECK(shape_of(imported->graph, "c") == "4");
}

TEST_CASE("ONNX import: missing external weights of 2 GB cost nothing") {
  ModelMaker model;
  model.input("x", {"N", 16384});
  auto* weight = model.weight("w", {16384, 32768});
  weight->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* location = weight->add_external_data();
  location->set_key("location");
  location->set_value("not-here.bin");
  model.node("MatMul", {"x", "w"}, {"y"});
  model.output("y");
  const std::string path =
      (std::filesystem::temp_directory_path() / "dfsim_external_test.onnx").string();
  std::ofstream(path, std::ios::binary) << model.bytes();
  const auto imported = import_onnx(path, {});
  std::filesystem::remove(path);
  REQUIRE(imported.ok());
  const auto totals = graph_totals(imported->graph);
  REQUIRE(totals.ok());
  CHECK(totals->weight_bytes == int64_t{2} << 30);
  CHECK(totals->macs == int64_t{16384} * 32768);
}

TEST_CASE("Dimensions: are given, the model's default, assumed or derived") {
  ModelMaker model;
  model.input("ids", {"batch", "seq"}, onnx::TensorProto::INT64);
  model.input("past", {"batch", 8, "past_len", 64});
  model.input("mask", {"batch", "past_len + seq"});
  model.input("image", {"batch", 3, "height", "kind"});
  model.node("Identity", {"mask"}, {"y"});
  model.output("y");
  auto* entry = model.model().add_metadata_props();
  entry->set_key("dfsim.dim.past_len");
  entry->set_value("500");
  const auto imported = model.import({.batch = 3, .dims = {{"height", 96}}});
  INFO(imported.status().message());
  REQUIRE(imported.ok());
  std::map<std::string, std::pair<int64_t, std::string>> dims;
  for (const BoundDim& dim : imported->report.dims) {
    dims[dim.name] = {dim.extent, dim.origin};
  }
  CHECK(dims["batch"] == std::pair(int64_t{3}, std::string("given")));
  CHECK(dims["seq"] == std::pair(int64_t{128}, std::string("assumed")));
  CHECK(dims["past_len"] == std::pair(int64_t{500}, std::string("model's default")));
  CHECK(dims["past_len + seq"] == std::pair(int64_t{628}, std::string("derived")));
  CHECK(dims["height"] == std::pair(int64_t{96}, std::string("given")));
  CHECK(dims["kind"] == std::pair(int64_t{224}, std::string("assumed")));
  CHECK(imported->report.batch == 3);
  CHECK(shape_of(imported->graph, "y") == "3x628");
  const auto explicit_sum = model.import({.dims = {{"past_len + seq", 9}}});
  REQUIRE(explicit_sum.ok());
  CHECK(shape_of(explicit_sum->graph, "y") == "1x9");
}

TEST_CASE("Option --batch: an expression of the batch follows the batch instead of replacing it") {
  ModelMaker model;
  model.input("x", {"batch", 4});
  model.input("heads", {"batch*12", 4});
  model.node("Identity", {"heads"}, {"y"});
  model.output("y");
  const auto imported = model.import({.batch = 5});
  REQUIRE(imported.ok());
  CHECK(shape_of(imported->graph, "y") == "60x4");
  CHECK(imported->report.batch == 5);
}

TEST_CASE("ONNX import: an image without a batch is one sample, other inputs have one on axis 0") {
  const std::vector<std::pair<DeclaredShape, int64_t>> cases = {
      {{3, 480, 640}, 1},     // as torchvision's detectors take it
      {{3, 480, 640, 4}, 3},  // rank 4 has a batch
      {{2, 480, 640}, 2},     // no image has two colours
      {{3, 128, 768}, 3},     // three texts
      {{3, 12, 12}, 3},       // too small for an image
      {{1, 3, 224, 224}, 1}};
  for (const auto& [extents, batch] : cases) {
    ModelMaker model;
    model.input("x", extents);
    model.node("Identity", {"x"}, {"y"});
    model.output("y");
    const auto imported = model.import({});
    REQUIRE(imported.ok());
    CHECK(imported->report.batch == batch);
  }
}

TEST_CASE("ONNX import: the error about a derived dimension below 0 names it") {
  ModelMaker model;
  model.input("x", {"n"});
  model.input("z", {"n - 7"});
  model.node("Identity", {"z"}, {"y"});
  model.output("y");
  const auto imported = model.import({.dims = {{"n", 3}}});
  REQUIRE_FALSE(imported.ok());
  CHECK_THAT(imported.status().message(),
             Contains("dimension 'n - 7', derived from others, is -4; expected 0 to"));
}

TEST_CASE(
    "Option --batch: changes the first axis without a symbol and then ignores declared shapes") {
  ModelMaker model;
  model.input("x", {1, 4});
  model.node("Frobnicate", {"x"}, {"y"});
  model.output("y");
  declare(model.graph().mutable_output(0), "y", {1, 4});
  const auto fixed = model.import();
  REQUIRE(fixed.ok());
  CHECK(fixed->report.unresolved.empty());
  CHECK(shape_of(fixed->graph, "y") == "1x4");
  const auto batched = model.import({.batch = 6});
  REQUIRE(batched.ok());
  CHECK(shape_of(batched->graph, "x") == "6x4");
  REQUIRE(batched->report.unresolved.size() == 1);
  CHECK(batched->report.unresolved[0].reason == "operator Frobnicate of opset 17 is not known");
}

TEST_CASE("Option --shape: sets the whole shape of an input") {
  ModelMaker model;
  model.input("x", {"N", 3, "H", "W"});
  model.input("mask", {"N", "H"});
  model.node("Identity", {"mask"}, {"y"});
  model.output("y");
  const auto imported = model.import({.input_shapes = {{"x", {2, 3, 8, 9}}}});
  REQUIRE(imported.ok());
  CHECK(shape_of(imported->graph, "x") == "2x3x8x9");
  CHECK(shape_of(imported->graph, "y") == "2x8");
}

TEST_CASE("ONNX import: options that do not fit the model are errors") {
  ModelMaker model;
  model.input("x", {"N", "seq"});
  model.input("z", {"N"});
  model.node("Identity", {"x"}, {"y"});
  model.output("y");
  const std::vector<std::pair<ImportOptions, std::string>> cases = {
      {{.dims = {{"sqe", 4}}}, "--dim: unknown dimension 'sqe'; did you mean 'seq'? Valid: N, seq"},
      {{.dims = {{"seq", -1}}}, "--dim seq is -1; expected 0 to"},
      {{.dims = {{"seq", int64_t{1} << 41}}}, "expected 0 to 1099511627776"},
      {{.batch = 0}, "--batch is 0; expected 1 to"},
      {{.input_shapes = {{"q", {1}}}}, "--input-shape: unknown input 'q'"},
      {{.input_shapes = {{"x", {1}}}}, "input 'x' has rank 2, 1 extents were given"},
      {{.input_shapes = {{"x", {1, -2}}}}, "axis 1 of 'x' is -2"},
      {{.input_shapes = {{"x", {2, 4}}, {"z", {3}}}}, "makes dimension 'N' 3, another input makes"},
  };
  for (const auto& [options, expected] : cases) {
    const auto imported = model.import(options);
    INFO(expected);
    REQUIRE_FALSE(imported.ok());
    CHECK(imported.status().code() == StatusCode::kInvalidInput);
    CHECK_THAT(imported.status().message(), Contains(expected));
  }
  ModelMaker scalar;
  scalar.input("x", {});
  scalar.node("Identity", {"x"}, {"y"});
  scalar.output("y");
  CHECK_THAT(scalar.import({.batch = 2}).status().message(),
             Contains("--batch: no input has a batch dimension"));
}

TEST_CASE("ONNX import: replaces assumptions that contradict the model, with a note") {
  ModelMaker model;
  model.input("x", {"batch", "seq", 4});
  model.weight("position", {1, 32, 4});
  model.node("Add", {"x", "position"}, {"y"});
  model.output("y");
  const auto imported = model.import();
  INFO(imported.status().message());
  REQUIRE(imported.ok());
  REQUIRE(imported->report.notes.size() == 1);
  CHECK_THAT(imported->report.notes[0], Contains("seq=128"));
  model.graph().mutable_initializer(0)->set_dims(1, 7);
  model.graph().mutable_initializer(0)->set_dims(2, 9);
  const auto refused = model.import();
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(refused.status().message(), Contains("are assumed: give the right ones with --dim"));
}

TEST_CASE("ONNX import: notes an opset that is missing or newer than known") {
  const auto notes_of = [](const auto& change) {
    ModelMaker model;
    model.input("x", {4});
    model.node("Relu", {"x"}, {"y"});
    model.output("y");
    change(model.model());
    const auto imported = model.import();
    REQUIRE(imported.ok());
    return imported->report.notes;
  };
  CHECK(notes_of([](onnx::ModelProto&) {}).empty());
  const auto newer =
      notes_of([](onnx::ModelProto& model) { model.mutable_opset_import(0)->set_version(99); });
  REQUIRE(newer.size() == 1);
  CHECK_THAT(newer[0], Contains("opset 99 is newer than 28"));
  const auto none = notes_of([](onnx::ModelProto& model) { model.clear_opset_import(); });
  REQUIRE(none.size() == 1);
  CHECK_THAT(none[0], Contains("names no opset; version 17 is assumed"));
  const auto old = notes_of([](onnx::ModelProto& model) {
    model.clear_opset_import();
    model.set_ir_version(1);
  });
  CHECK_THAT(old.at(0), Contains("version 1 is assumed"));
}

TEST_CASE("ONNX import: a value that a subgraph reads from outside becomes an input of its op") {
  ModelMaker model;
  model.input("x", {4});
  model.input("condition", {}, onnx::TensorProto::BOOL);
  model.node("Relu", {"x"}, {"r"}, "before");
  auto* branch = model.node("If", {"condition"}, {"y"}, "choice");
  GraphMaker then_branch(set_graph(branch, "then_branch"));
  then_branch.node("Neg", {"r"}, {"t"});
  then_branch.output("t");
  GraphMaker else_branch(set_graph(branch, "else_branch"));
  auto* inner = else_branch.node("If", {"condition"}, {"e"});
  GraphMaker deep(set_graph(inner, "then_branch"));
  deep.node("Exp", {"x"}, {"d"});
  deep.output("d");
  GraphMaker other(set_graph(inner, "else_branch"));
  other.output("r");  // returns a tensor of the main graph as it is
  else_branch.output("e");
  model.output("y");
  const auto imported = model.import();
  INFO(imported.status().message());
  REQUIRE(imported.ok());
  const Op& op = imported->graph.op(OpId(1));
  REQUIRE(op.op_type == "If");
  CHECK(op.capture_count == 3);
  REQUIRE(op.inputs.size() == 4);
  CHECK(imported->graph.tensor(op.inputs[1]).name == "condition");
  CHECK(imported->graph.tensor(op.inputs[2]).name == "r");
  CHECK(imported->graph.tensor(op.inputs[3]).name == "x");
}

TEST_CASE("ONNX import: refuses a subgraph that reads a value without a producer") {
  ModelMaker model;
  model.input("condition", {}, onnx::TensorProto::BOOL);
  auto* branch = model.node("If", {"condition"}, {"y"}, "choice");
  for (const char* name : {"then_branch", "else_branch"}) {
    GraphMaker body(set_graph(branch, name));
    body.node("Neg", {"nowhere"}, {"t"});
    body.output("t");
  }
  model.output("y");
  CHECK_THAT(model.import().status().message(),
             Contains("If 'choice' reads tensor 'nowhere', which nothing produces"));
}

TEST_CASE("ONNX import: replaces a call of a model's function by the function's nodes") {
  ModelMaker model;
  model.input("x", {2, 3});
  auto* call = model.node("Twice", {"x"}, {"y"}, "call");
  call->set_domain("mine");
  set_int(call, "how", 1);
  auto* second = model.node("Twice", {"y"}, {"z"});
  second->set_domain("mine");
  model.output("z");
  auto* function = model.model().add_functions();
  function->set_name("Twice");
  function->set_domain("mine");
  function->add_input("a");
  function->add_output("b");
  auto* import = function->add_opset_import();
  import->set_version(13);
  auto* relu = function->add_node();
  relu->set_op_type("Relu");
  relu->set_name("inner");
  relu->add_input("a");
  relu->add_output("hidden");
  auto* transpose = function->add_node();
  transpose->set_op_type("Flatten");
  transpose->add_input("hidden");
  transpose->add_output("b");
  auto* attribute = transpose->add_attribute();
  attribute->set_name("axis");
  attribute->set_ref_attr_name("how");
  attribute->set_type(onnx::AttributeProto::INT);
  const auto imported = model.import();
  INFO(imported.status().message());
  REQUIRE(imported.ok());
  CHECK(imported->report.unresolved.empty());
  REQUIRE(imported->graph.op_count() == 4);
  CHECK(imported->graph.op(OpId(0)).name == "call/inner");
  CHECK(imported->graph.op(OpId(0)).version == 13);
  CHECK(imported->graph.op(OpId(1)).attributes.get_int("axis") == 1);
  CHECK_FALSE(imported->graph.op(OpId(3)).attributes.has("axis"));
  CHECK(shape_of(imported->graph, "z") == "2x3");

  relu->set_op_type("Twice");  // now it calls itself
  relu->set_domain("mine");
  CHECK_THAT(model.import().status().message(),
             Contains("function Twice called by 'call': calls of functions "
                      "nest over 64 deep"));
}

TEST_CASE("ONNX import: functions that double at every level stop at a million nodes, quickly") {
  ModelMaker model;
  model.input("x", {2});
  model.node("f0", {"x"}, {"y"})->set_domain("mine");
  model.output("y");
  constexpr int kLevels = 60;
  for (int level = 0; level < kLevels; ++level) {
    auto* function = model.model().add_functions();
    function->set_name(std::string("f").append(std::to_string(level)));
    function->set_domain("mine");
    function->add_input("a");
    function->add_output("c");
    for (const auto& [from, to] : {std::pair("a", "b"), std::pair("b", "c")}) {
      auto* node = function->add_node();
      node->set_op_type(std::string("f").append(std::to_string(level + 1)));
      node->set_domain("mine");
      node->add_input(from);
      node->add_output(to);
    }
  }
  const auto start = std::chrono::steady_clock::now();
  CHECK_THAT(model.import().status().message(), Contains("over 1000000 nodes"));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
}

TEST_CASE("ONNX import: refuses a node with more than a thousand attributes") {
  ModelMaker model;
  model.input("x", {2});
  auto* node = model.node("Relu", {"x"}, {"y"}, "crowded");
  for (int i = 0; i <= 1000; ++i) {
    node->add_attribute();
  }
  model.output("y");
  CHECK_THAT(model.import().status().message(),
             Contains("Relu 'crowded' has 1001 attributes; expected at most 1000"));
}

TEST_CASE("ONNX import: accepts names that are not text, very long or repeated") {
  ModelMaker model;
  const std::string million(1'000'000, 'n');
  model.input(million, {million.substr(0, 999'999), 4});
  model.node("Relu", {million}, {"\xFF\xFE bad"}, million);
  model.node("Relu", {"\xFF\xFE bad"}, {"y\n"}, million);
  model.output("y\n");
  const auto imported = model.import();
  INFO(imported.status().message().substr(0, 500));
  REQUIRE(imported.ok());
  CHECK(imported->report.unresolved.empty());
  const auto refused = model.import({.dims = {{"m", 1}}});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.status().message().size() < 500);
}

TEST_CASE("ONNX import: ten times the nodes take about ten times as long") {
  const auto seconds_for = [](int nodes) {
    ModelMaker model;
    model.input("t0", {"N", 4});
    for (int i = 0; i < nodes; ++i) {
      model.node("Relu", {std::string("t").append(std::to_string(i))},
                 {std::string("t").append(std::to_string(i + 1))});
    }
    model.output(std::string("t").append(std::to_string(nodes)));
    const std::string bytes = model.bytes();
    const auto start = std::chrono::steady_clock::now();
    REQUIRE(import_onnx_bytes(bytes, {}).ok());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const double small = seconds_for(5'000);
  const double large = seconds_for(50'000);
  CHECK(large < 60 * small + 0.5);  // quadratic would be 100
}

}  // namespace
}  // namespace dfsim
