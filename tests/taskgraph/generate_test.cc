#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "graphs/taskgraph/generate.h"
#include "tests/taskgraph/temp_file.h"

using namespace dfsim;

namespace {

TaskGraph generate(const GenerateOptions& options) {
  auto result = generate_task_graph(options);
  INFO(result.status().message());
  REQUIRE(result.ok());
  return std::move(result).value();
}

std::string written(const TaskGraph& graph) {
  const dfsim::testing::TempFile file("");
  REQUIRE(write_task_graph(graph, file.path()).ok());
  std::ifstream in(file.path());
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("Generator: every shape at every small size is valid and reads back the same") {
  for (const std::string& shape : graph_shapes()) {
    for (const size_t tasks : {0, 1, 2, 3, 7, 50}) {
      INFO(shape << " " << tasks);
      const TaskGraph graph =
          generate({.shape = shape, .tasks = tasks, .devices = 3, .restricted = 0.3, .seed = 5});
      const bool sized = shape == "cholesky" || shape == "fft" || shape == "stencil";
      CHECK((sized ? graph.graph.task_count() <= tasks : graph.graph.task_count() == tasks));
      const std::string text = written(graph);
      const dfsim::testing::TempFile file(text);
      const auto again = read_task_graph(file.path());
      INFO(again.status().message());
      REQUIRE(again.ok());
      CHECK(written(*again) == text);
    }
  }
}

TEST_CASE("Generator: seeds and options decide the graph") {
  const std::string a = written(generate({.tasks = 100, .seed = 1}));
  CHECK(a == written(generate({.tasks = 100, .seed = 1})));
  CHECK(a != written(generate({.tasks = 100, .seed = 2})));
}

TEST_CASE("Generator: reaches the requested ccr and mean degree") {
  const TaskGraph graph = generate({.shape = "layered", .tasks = 20000, .ccr = 3.0});
  double costs = 0;
  for (size_t i = 0; i < graph.graph.task_count(); ++i) {
    costs += static_cast<double>(graph.times_ns[graph.graph.cost_row(TaskId(i))]);
  }
  double delays = 0;
  for (const Edge& edge : graph.graph.edges()) {
    delays += static_cast<double>(graph.graph.edge_bytes(edge));
  }
  const auto tasks = static_cast<double>(graph.graph.task_count());
  const auto edges = static_cast<double>(graph.graph.edge_count());
  CHECK(delays / edges / (costs / tasks) == Approx(3.0).epsilon(0.03));
  CHECK(edges / tasks == Approx(2.6).epsilon(0.05));
}

TEST_CASE("Generator: known shapes have their known counts") {
  CHECK(generate({.shape = "cholesky", .tasks = 20}).graph.task_count() == 20);  // 4 x 4 tiles
  CHECK(generate({.shape = "cholesky", .tasks = 20}).graph.edge_count() == 30);
  CHECK(generate({.shape = "fft", .tasks = 12}).graph.task_count() == 12);  // 4 points
  CHECK(generate({.shape = "fft", .tasks = 12}).graph.edge_count() == 16);
  CHECK(generate({.shape = "stencil", .tasks = 9}).graph.edge_count() == 14);  // 3 x 3
  CHECK(generate({.shape = "chain", .tasks = 5}).graph.edge_count() == 4);
}

TEST_CASE("Generator: refuses bad options") {
  CHECK(
      generate_task_graph({.shape = "layerd"}).status().message().find("did you mean 'layered'") !=
      std::string::npos);
  CHECK_FALSE(generate_task_graph({.ccr = -1}).ok());
  CHECK_FALSE(generate_task_graph({.ccr = std::numeric_limits<double>::quiet_NaN()}).ok());
  CHECK_FALSE(generate_task_graph({.heterogeneity = 3}).ok());
}
