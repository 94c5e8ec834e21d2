#include "report/predictions/inspection_views.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/report/small_prediction.h"

namespace dfsim {
namespace {

// x feeds two branches, Relu -> Neg and Abs, that Add joins: 4 elements everywhere.
Graph diamond() {
  GraphBuilder builder;
  const TensorId x = add_tensor(builder, "x", TensorRole::kActivation, {4});
  builder.mark_input(x);
  const auto add = [&](const char* type, std::vector<TensorId> inputs) {
    Op op;
    op.name = type;
    op.op_type = type;
    op.version = 13;
    op.inputs = std::move(inputs);
    op.outputs = {builder.tensor_by_name(std::string(type) + "_out")};
    const TensorId output = op.outputs[0];
    DFSIM_CHECK(builder.add_op(std::move(op)).ok());
    return output;
  };
  const TensorId upper = add("Neg", {add("Relu", {x})});
  builder.mark_output(add("Add", {upper, add("Abs", {x})}));
  DFSIM_CHECK(infer_shapes(builder, {}).ok());
  auto graph = builder.build();
  DFSIM_CHECK(graph.ok());
  return std::move(graph).value();
}

TEST_CASE("the structure of a diamond: three deep, two wide, the longer branch is the chain") {
  const Graph graph = diamond();
  const auto totals = graph_totals(graph);
  REQUIRE(totals.ok());
  const auto structure = graph_structure(graph, *totals);
  REQUIRE(structure.ok());
  CHECK(structure->depth == 3);
  CHECK(structure->width == 2);
  CHECK(totals->flops == 16);
  CHECK(structure->critical_flops == 12);
}

TEST_CASE("the structure of an empty graph is nothing") {
  GraphBuilder builder;
  const auto graph = builder.build();
  REQUIRE(graph.ok());
  const auto totals = graph_totals(*graph);
  REQUIRE(totals.ok());
  const auto structure = graph_structure(*graph, *totals);
  REQUIRE(structure.ok());
  CHECK(structure->depth == 0);
  CHECK(structure->width == 0);
  CHECK(structure->critical_flops == 0);
}

TEST_CASE("text and JSON of an inspection say the same") {
  ImportedModel model{small_graph(), {}};
  const auto totals = graph_totals(model.graph);
  REQUIRE(totals.ok());
  const auto structure = graph_structure(model.graph, *totals);
  REQUIRE(structure.ok());
  const Inspection inspection{"small", model, *totals, *structure,
                              summarise_types(model.graph, *totals)};
  const auto json = nlohmann::json::parse(inspection_json(inspection));
  CHECK(json["schema"] == "dfsim.inspect/1");
  CHECK(json["structure"]["depth"] == 3);
  CHECK(json["structure"]["width"] == 1);
  CHECK(json["structure"]["critical_flops"] == 72);
  const std::string text = inspection_text(inspection, {});
  CHECK(
      text.find("3 operators deep, at most 1 side by side; one chain holds 100.0 % of the FLOPs") !=
      std::string::npos);
}

}  // namespace
}  // namespace dfsim
