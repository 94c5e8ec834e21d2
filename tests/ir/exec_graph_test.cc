// Invariants that ExecGraphBuilder promises of every ExecGraph.
#include "graphs/ir/exec_graph.h"

#include <catch2/catch.hpp>

namespace dfsim {
namespace {

using Catch::Contains;

TaskId task(ExecGraphBuilder& builder, const std::string& name = "") {
  ExecGraphBuilder::Task added;
  added.name = name;
  return builder.add_task(std::move(added));
}

TEST_CASE("ExecGraph: renumbers tasks in topological order and returns the order") {
  ExecGraphBuilder builder;
  const TaskId sink = task(builder, "sink");
  const TaskId middle = task(builder, "middle");
  const TaskId source = task(builder, "source");
  builder.add_edge(builder.add_data(middle, 20), sink);
  builder.add_edge(builder.add_data(source, 10), middle);
  std::vector<uint32_t> order;
  const auto graph = builder.build(&order);
  REQUIRE(graph.ok());
  CHECK(order == std::vector<uint32_t>{2, 1, 0});
  CHECK(graph->name(TaskId(0)) == "source");
  REQUIRE(graph->edge_count() == 2);
  for (const Edge& edge : graph->edges()) {
    CHECK(edge.from < edge.to);
    CHECK(graph->data_producer(edge.data) == edge.from);
  }
  CHECK(graph->edge_bytes(graph->out_edges(TaskId(0))[0]) == 10);
  CHECK(graph->edge_bytes(graph->out_edges(TaskId(1))[0]) == 20);
  CHECK(builder.task_count() == 0);  // empty afterwards
}

TEST_CASE("ExecGraph: one data item may feed many tasks, and a repeated edge counts once") {
  ExecGraphBuilder builder;
  const TaskId source = task(builder);
  const TaskId a = task(builder);
  const TaskId b = task(builder);
  const DataId data = builder.add_data(source, 8, /*is_output=*/true);
  const DataId order_only = builder.add_data(source, 0);
  builder.add_edge(data, b);
  builder.add_edge(data, a);
  builder.add_edge(data, a);
  builder.add_edge(order_only, a);
  const auto graph = builder.build();
  REQUIRE(graph.ok());
  CHECK(graph->edge_count() == 3);
  CHECK(graph->out_degree(TaskId(0)) == 3);
  CHECK(graph->in_degree(TaskId(1)) == 2);
  CHECK(graph->in_degree(TaskId(2)) == 1);
  CHECK(graph->data_is_output(data));
  CHECK_FALSE(graph->data_is_output(order_only));
  CHECK(graph->out_edges(TaskId(0))[0].to == TaskId(1));  // ascending by target
  CHECK(graph->out_edges(TaskId(0))[2].to == TaskId(2));
  for (const uint32_t index : graph->in_edge_indices(TaskId(1))) {
    CHECK(graph->edges()[index].to == TaskId(1));
  }
}

TEST_CASE("ExecGraph: knows whether two tasks read one data item") {
  for (const bool shared : {false, true}) {
    ExecGraphBuilder builder;
    const TaskId source = task(builder);
    const TaskId a = task(builder);
    const TaskId b = task(builder);
    const DataId first = builder.add_data(source, 8);
    const DataId second = builder.add_data(source, 8);
    builder.add_edge(first, a);
    builder.add_edge(first, a);  // the same reader again
    builder.add_edge(shared ? first : second, b);
    const auto graph = builder.build();
    REQUIRE(graph.ok());
    CHECK(graph->has_shared_data() == shared);
  }
}

TEST_CASE("ExecGraph: fields follow their tasks to the new ids") {
  ExecGraphBuilder builder;
  ExecGraphBuilder::Task late{7, 100, 200, OpId(3), ""};
  ExecGraphBuilder::Task early{8, 1, 2, OpId(4), "e"};
  const TaskId late_id = builder.add_task(late);
  const TaskId early_id = builder.add_task(early);
  builder.add_edge(builder.add_data(early_id, 1), late_id);
  const auto graph = builder.build();
  REQUIRE(graph.ok());
  CHECK(graph->cost_row(TaskId(0)) == 8);
  CHECK(graph->cost_row(TaskId(1)) == 7);
  CHECK(graph->resident_bytes(TaskId(1)) == 100);
  CHECK(graph->workspace_bytes(TaskId(1)) == 200);
  CHECK(graph->op(TaskId(1)) == OpId(3));
  CHECK(graph->name(TaskId(0)) == "e");
  CHECK(graph->name(TaskId(1)) == "t1");
}

TEST_CASE("ExecGraph: does not invent missing ops and names") {
  ExecGraphBuilder builder;
  task(builder);
  const auto graph = builder.build();
  REQUIRE(graph.ok());
  CHECK_FALSE(graph->op(TaskId(0)).valid());
  CHECK(graph->name(TaskId(0)) == "t0");
}

TEST_CASE("ExecGraph: refuses cycles, including self-loops") {
  ExecGraphBuilder builder;
  const TaskId a = task(builder, "a");
  const TaskId b = task(builder, "b");
  builder.add_edge(builder.add_data(a, 1), b);
  builder.add_edge(builder.add_data(b, 1), a);
  const auto pair = builder.build();
  REQUIRE_FALSE(pair.ok());
  CHECK_THAT(pair.status().message(), Contains("2 tasks are on or behind it: 'a', 'b'"));
  ExecGraphBuilder self;
  const TaskId own = task(self);
  self.add_edge(self.add_data(own, 1), own);
  const auto loop = self.build();
  REQUIRE_FALSE(loop.ok());
  CHECK_THAT(loop.status().message(), Contains("'t0'"));
}

TEST_CASE("ExecGraph: refuses missing ends of edges and negative bytes") {
  {
    ExecGraphBuilder builder;
    builder.add_data(TaskId(3), 1);
    CHECK_THAT(builder.build().status().message(), Contains("has producer 3, but there are 0"));
  }
  {
    ExecGraphBuilder builder;
    builder.add_data(task(builder, "t"), -1);
    CHECK_THAT(builder.build().status().message(), Contains("of task 't' has -1 bytes"));
  }
  {
    ExecGraphBuilder builder;
    const DataId data = builder.add_data(task(builder), 1);
    builder.add_edge(data, TaskId(9));
    CHECK_THAT(builder.build().status().message(), Contains("to task 9"));
  }
  {
    ExecGraphBuilder builder;
    builder.add_edge(DataId(4), task(builder));
    CHECK_THAT(builder.build().status().message(), Contains("joins data item 4"));
  }
}

TEST_CASE("ExecGraph: a task touches its scratch space, its inputs, and each output once") {
  ExecGraphBuilder builder;
  const TaskId first = task(builder);
  const TaskId middle = builder.add_task(ExecGraphBuilder::Task{0, 5000, 100, OpId(), ""});
  builder.add_edge(builder.add_data(first, 7), middle);
  const DataId large = builder.add_data(middle, 20);
  const DataId small = builder.add_data(middle, 3);
  for (int reader = 0; reader < 3; ++reader) {
    const TaskId last = task(builder);
    builder.add_edge(large, last);
    builder.add_edge(small, last);
  }
  const auto graph = builder.build();
  REQUIRE(graph.ok());
  CHECK(graph->working_set_bytes(TaskId(0)) == 7);
  CHECK(graph->working_set_bytes(TaskId(1)) == 100 + 7 + 20 + 3);
  CHECK(graph->working_set_bytes(TaskId(2)) == 20 + 3);
}

}  // namespace
}  // namespace dfsim
