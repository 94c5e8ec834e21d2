// Models saved without weights: nothing is given away, and everything that matters is kept.
#include "graphs/onnx/shareable.h"

#include <catch2/catch.hpp>

#include "graphs/ops/totals.h"
#include "tests/onnx/model_maker.h"

namespace dfsim {
namespace {

constexpr float kSecret = 1234.5F;

onnx::TensorProto* filled(onnx::TensorProto* tensor, int64_t elements) {
  for (int64_t i = 0; i < elements; ++i) {
    tensor->add_float_data(kSecret);
  }
  return tensor;
}

struct Shared {
  ImportedModel model;
  std::vector<StudiedSymbol> symbols;
  onnx::ModelProto saved;
  std::string bytes;
};

Shared shared(ModelMaker& maker, const ImportOptions& options = {}) {
  const std::string content = maker.bytes();
  auto model = import_onnx_bytes(content, options);
  INFO(model.status().message());
  REQUIRE(model.ok());
  auto symbols = study_symbols(*model, options, [&](const ImportOptions& varied) {
    return import_onnx_bytes(content, varied);
  });
  auto bytes = shareable_model(content, *model, symbols);
  REQUIRE(bytes.ok());
  onnx::ModelProto saved;
  REQUIRE(saved.ParseFromString(*bytes));
  return {std::move(*model), std::move(symbols), std::move(saved), std::move(*bytes)};
}

bool gives_away(const std::string& bytes) {
  return bytes.find(std::string(reinterpret_cast<const char*>(&kSecret), sizeof kSecret)) !=
         std::string::npos;
}

// "batch x 12" of a value_info or output.
std::string declared(const onnx::ModelProto& model, const std::string& name) {
  const auto text = [](const onnx::ValueInfoProto& info) {
    std::string dims;
    for (const auto& dim : info.type().tensor_type().shape().dim()) {
      dims += dims.empty() ? "" : " x ";
      dims += dim.has_dim_param() ? dim.dim_param()
                                  : (dim.has_dim_value() ? std::to_string(dim.dim_value()) : "?");
    }
    return dims;
  };
  for (const auto* list :
       {&model.graph().value_info(), &model.graph().output(), &model.graph().input()}) {
    for (const auto& info : *list) {
      if (info.name() == name) {
        return text(info);
      }
    }
  }
  return "nothing";
}

// y = Reshape(x . w) with heads folded into the rows; x is [batch, sequence, 64].
void projection(ModelMaker* maker) {
  maker->input("x", {"batch", "sequence", 64});
  filled(maker->weight("w", {64, 96}), 64 * 96);
  maker->ints("rows", {-1, 32});
  maker->node("MatMul", {"x", "w"}, {"product"});
  maker->node("Reshape", {"product", "rows"}, {"y"});
  maker->node("Transpose", {"y"}, {"turned"});
  maker->output("turned");
}

TEST_CASE("Shareable model: contains no weight, all shapes, and the same work") {
  ModelMaker maker;
  projection(&maker);
  const Shared result = shared(maker, {.dims = {}});
  CHECK(gives_away(maker.bytes()));
  CHECK_FALSE(gives_away(result.bytes));
  CHECK(declared(result.saved, "x") == "batch x sequence x 64");
  CHECK(declared(result.saved, "product") == "batch x sequence x 96");
  CHECK(declared(result.saved, "y") == "3*batch*sequence x 32");
  CHECK(declared(result.saved, "turned") == "32 x 3*batch*sequence");
  const auto again = import_onnx_bytes(result.bytes, {.dims = {{"sequence", 50}}});
  REQUIRE(again.ok());
  const auto original = maker.import({.dims = {{"sequence", 50}}});
  CHECK(graph_totals(again->graph)->macs == graph_totals(original->graph)->macs);
  CHECK(graph_totals(again->graph)->parameters == 64 * 96);
  CHECK(shape_of(again->graph, "turned") == "32x150");
}

TEST_CASE("Shareable model: nodes are in the order that ONNX demands, also in subgraphs") {
  ModelMaker maker;
  maker.input("x", {1, 4});
  maker.input("choose", {}, onnx::TensorProto::BOOL);
  auto* choice = maker.node("If", {"choose"}, {"y"}, "choice");
  for (const char* branch : {"then_branch", "else_branch"}) {
    GraphMaker body(set_graph(choice, branch));
    const std::string first = std::string(branch) + "_first";
    const std::string second = std::string(branch) + "_second";
    body.node("Relu", {first}, {second}, "second");
    body.node("Neg", {"a"}, {first}, "first");
    body.output(second);
  }
  maker.node("Abs", {"b"}, {"a"}, "late");
  maker.node("Exp", {"x"}, {"b"}, "early");
  maker.output("y");
  const Shared result = shared(maker, {.dims = {}});
  std::vector<std::string> names;
  for (const auto& node : result.saved.graph().node()) {
    names.push_back(node.name());
    for (const auto& attribute : node.attribute()) {
      for (const auto& inner : attribute.g().node()) {
        names.push_back(inner.name());
      }
    }
  }
  CHECK(names ==
        std::vector<std::string>{"early", "late", "choice", "first", "second", "first", "second"});
}

TEST_CASE("Shareable model: given dimensions are numbers, and sums keep their terms") {
  ModelMaker maker;
  maker.input("past", {"batch", "before", 8});
  maker.input("x", {"batch", 3, 8});
  set_int(maker.node("Concat", {"past", "x"}, {"all"}), "axis", 1);
  maker.output("all");
  CHECK(declared(shared(maker).saved, "all") == "batch x before + 3 x 8");
  CHECK(declared(shared(maker, {.batch = 4}).saved, "all") == "4 x before + 3 x 8");
}

TEST_CASE("Shareable model: dimensions that depend on data or on part of a dimension stay open") {
  ModelMaker maker;
  maker.input("x", {"rows", 8});
  maker.node("NonZero", {"x"}, {"places"});
  auto* pool = maker.node("Slice", {"x", "zero", "end", "zero", "two"}, {"half"});
  REQUIRE(pool != nullptr);
  maker.ints("zero", {0});
  maker.ints("end", {1000000});
  maker.ints("two", {2});
  maker.output("places");
  maker.output("half");
  const Shared result = shared(maker, {.dims = {}});
  CHECK(declared(result.saved, "places") == "? x ?");
  CHECK(declared(result.saved, "half") == "? x 8");
}

// batch*(past + sequence), rows*rows: one step in each direction looks like other formulas.
TEST_CASE("Shareable model: mixtures of dimensions stay open instead of becoming wrong") {
  ModelMaker maker;
  maker.input("past", {"batch", "before", 8});
  maker.input("x", {"batch", "sequence", 8});
  maker.input("square", {"rows", "rows"});
  maker.ints("flat", {-1, 8});
  maker.ints("line", {-1});
  set_int(maker.node("Concat", {"past", "x"}, {"all"}), "axis", 1);
  maker.node("Reshape", {"all", "flat"}, {"folded"});
  maker.node("Reshape", {"square", "line"}, {"unrolled"});
  maker.output("folded");
  maker.output("unrolled");
  const Shared result = shared(maker, {.dims = {}});
  CHECK(declared(result.saved, "folded") == "? x 8");
  CHECK(declared(result.saved, "all") == "batch x ? x 8");
  CHECK(declared(result.saved, "unrolled") == "?");
}

TEST_CASE("Shareable model: too many dynamic dimensions are refused, not frozen") {
  ModelMaker maker;
  for (size_t i = 0; i <= kMaxStudiedSymbols; ++i) {
    const std::string name = std::string("x").append(std::to_string(i));
    maker.input(name, {std::string("free").append(std::to_string(i)), 4});
    maker.node("Relu", {name}, {name + "_out"});
    maker.output(name + "_out");
  }
  const auto model = maker.import();
  REQUIRE(model.ok());
  const auto symbols =
      study_symbols(*model, {}, [&](const ImportOptions& varied) { return maker.import(varied); });
  CHECK(symbols.size() == kMaxStudiedSymbols);
  const auto saved = shareable_model(maker.bytes(), *model, symbols);
  REQUIRE_FALSE(saved.ok());
  CHECK(saved.status().message().find("--dim") != std::string::npos);
}

TEST_CASE("Shareable model: removes weights in Constants, subgraphs, old opsets and attributes") {
  ModelMaker maker(17);
  maker.input("x", {2, 64});
  maker.input("c", {}, onnx::TensorProto::BOOL);
  auto* constant = maker.node("Constant", {}, {"w"});
  auto* value = constant->add_attribute();
  value->set_name("value");
  value->set_type(onnx::AttributeProto::TENSOR);
  value->mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  value->mutable_t()->add_dims(64);
  filled(value->mutable_t(), 64);
  auto* choice = maker.node("If", {"c"}, {"y"}, "choice");
  GraphMaker then_branch(set_graph(choice, "then_branch"));
  filled(then_branch.weight("inner", {64}), 64);
  then_branch.node("Mul", {"x", "inner"}, {"t"});
  then_branch.output("t");
  GraphMaker else_branch(set_graph(choice, "else_branch"));
  else_branch.node("Mul", {"x", "w"}, {"e"});
  else_branch.output("e");
  auto* linear = maker.node("LinearRegressor", {"x"}, {"z"});
  linear->set_domain("ai.onnx.ml");
  auto* coefficients = linear->add_attribute();
  coefficients->set_name("coefficients");
  coefficients->set_type(onnx::AttributeProto::FLOATS);
  for (int i = 0; i < 64; ++i) {
    coefficients->add_floats(kSecret);
  }
  maker.output("y");
  maker.output("z");
  const Shared result = shared(maker);
  CHECK_FALSE(gives_away(result.bytes));
  CHECK(declared(result.saved, "y") == "2 x 64");
  CHECK(import_onnx_bytes(result.bytes, {})->report.unresolved.empty());

  ModelMaker old(9);
  projection(&old);
  const Shared before = shared(old);
  CHECK_FALSE(gives_away(before.bytes));
  CHECK(before.saved.graph().sparse_initializer_size() == 1);
  CHECK(import_onnx_bytes(before.bytes, {})->report.unresolved.empty());
}

TEST_CASE("Shareable model: keeps small tables that shapes depend on") {
  ModelMaker maker;
  maker.input("x", {1, 3, 8, 8});
  auto* scales = maker.weight("scales", {4});
  for (const float scale : {1.0F, 1.0F, 2.0F, 2.0F}) {
    scales->add_float_data(scale);
  }
  maker.node("Resize", {"x", "", "scales"}, {"y"});
  maker.output("y");
  CHECK(declared(shared(maker).saved, "y") == "1 x 3 x 16 x 16");
  CHECK(shape_of(import_onnx_bytes(shared(maker).bytes, {})->graph, "y") == "1x3x16x16");
}

TEST_CASE("Shareable model: lists the operators that depend on each dimension") {
  ModelMaker maker;
  projection(&maker);
  maker.node("Relu", {"w"}, {"fixed"});
  maker.output("fixed");
  const Shared result = shared(maker);
  REQUIRE(result.symbols.size() == 2);
  CHECK(result.symbols[0].name == "batch");
  CHECK(result.symbols[0].op_count() == 3);
  CHECK(result.symbols[1].name == "sequence");
  CHECK(result.symbols[1].op_count() == 3);
  CHECK(result.symbols[1].varied == 16 * result.symbols[1].extent);
}

TEST_CASE("Shareable model: reports a dimension for which the model accepts only one value") {
  ModelMaker maker;
  maker.input("x", {"n", 4});
  maker.input("y", {5, 4});
  maker.node("Add", {"x", "y"}, {"z"});
  maker.output("z");
  const Shared result = shared(maker, {.dims = {{"n", 5}}});
  REQUIRE(result.symbols.size() == 1);
  CHECK((result.symbols[0].varied == 0 || result.symbols[0].varied == 1));  // 1 broadcasts
}

}  // namespace
}  // namespace dfsim
