#include <algorithm>
#include <array>
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
      constexpr std::array kSized = {"cholesky", "epigenomics", "fft",     "gaussian",
                                     "hpcg",     "lu",          "montage", "stencil"};
      const bool sized = std::ranges::find(kSized, shape) != kSized.end();
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
  CHECK(generate({.shape = "hpcg", .tasks = 10}).graph.task_count() == 9);  // 3 x 3
  CHECK(generate({.shape = "hpcg", .tasks = 9}).graph.edge_count() == 6 + 6 + 4 + 4);
  CHECK(generate({.shape = "lu", .tasks = 14}).graph.task_count() == 14);  // 3 x 3 tiles
  // Per step: the tiles on row and column wait for the pivot, the others for both, and from the
  // second step on every tile for its last writer.
  CHECK(generate({.shape = "lu", .tasks = 14}).graph.edge_count() == (4 + 8) + (4 + 2 + 2) + 1);
  CHECK(generate({.shape = "gaussian", .tasks = 14}).graph.task_count() == 14);  // 5 columns
  // Each update waits for its pivot, and from the second step on all wait for their column.
  CHECK(generate({.shape = "gaussian", .tasks = 9}).graph.edge_count() == 6 + (3 + 2));
  CHECK(generate({.shape = "montage", .tasks = 18}).graph.task_count() == 18);      // 3 images
  CHECK(generate({.shape = "epigenomics", .tasks = 15}).graph.task_count() == 12);  // 2 lanes
  CHECK(generate({.shape = "epigenomics", .tasks = 12}).graph.edge_count() == 2 * 5 + 2);
}

TEST_CASE("Generator: daggen's parameters shape the graph") {
  // Regular layers of 1000^0.5 = 31 tasks, whose parents are in the layer above.
  const TaskGraph regular =
      generate({.shape = "daggen", .tasks = 1000, .daggen = {.density = 0.1, .regularity = 1}});
  for (const Edge& edge : regular.graph.edges()) {
    CHECK(edge.to.index() / 31 - edge.from.index() / 31 == 1);
  }
  for (size_t i = 31; i < 1000; ++i) {
    CHECK(regular.graph.in_degree(TaskId(i)) >= 1);
    CHECK(regular.graph.in_degree(TaskId(i)) <= 4);  // 1 + 0.1 * 31
  }
  const auto edges = [](const DaggenOptions& daggen) {
    return generate({.shape = "daggen", .tasks = 300, .daggen = daggen}).graph.edge_count();
  };
  CHECK(edges({.density = 0.8}) > 3 * edges({.density = 0.1}));
  CHECK(edges({.fat = 0}) == 299);  // a chain
  CHECK(edges({.fat = 1, .regularity = 1}) == 0);
  // Up to four layers.
  const TaskGraph jumps = generate(
      {.shape = "daggen", .tasks = 1000, .daggen = {.density = 0.1, .regularity = 1, .jump = 4}});
  size_t longest = 0;
  for (const Edge& edge : jumps.graph.edges()) {
    longest = std::max(longest, edge.to.index() / 31 - edge.from.index() / 31);
  }
  CHECK(longest == 4);
  CHECK_FALSE(generate_task_graph({.shape = "daggen", .daggen = {.fat = 1.5}}).ok());
  CHECK_FALSE(generate_task_graph({.shape = "daggen", .daggen = {.jump = 0}}).ok());
}

TEST_CASE("Generator: all edges of a daggen task carry its result") {
  const TaskGraph graph = generate({.shape = "daggen", .tasks = 200});
  for (size_t i = 0; i < 200; ++i) {
    for (const Edge& edge : graph.graph.out_edges(TaskId(i))) {
      CHECK(graph.graph.edge_bytes(edge) ==
            graph.graph.edge_bytes(graph.graph.out_edges(TaskId(i)).front()));
    }
  }
}

TEST_CASE("Generator: the speed spread stretches times without changing their mean") {
  const auto time_of = [](const TaskGraph& graph, size_t task, size_t device) {
    return static_cast<double>(
        graph.times_ns[graph.graph.cost_row(TaskId(task)) * graph.columns() + device]);
  };
  const GenerateOptions even{.tasks = 50, .devices = 4, .heterogeneity = 0};
  GenerateOptions spread = even;
  spread.speed_spread = 10;
  const TaskGraph same = generate(even);
  const TaskGraph unlike = generate(spread);
  for (size_t i = 0; i < 50; ++i) {
    double sum = 0;
    for (size_t d = 0; d < 4; ++d) {
      const double factor = time_of(unlike, i, d) / time_of(same, i, d);
      CHECK(factor == Approx(time_of(unlike, 0, d) / time_of(same, 0, d)).epsilon(1e-3));
      sum += factor;
    }
    CHECK(sum == Approx(4).epsilon(1e-3));
  }
  CHECK_FALSE(generate_task_graph({.speed_spread = 0.5}).ok());
}

TEST_CASE("Generator: refuses bad options") {
  CHECK(
      generate_task_graph({.shape = "layerd"}).status().message().find("did you mean 'layered'") !=
      std::string::npos);
  CHECK_FALSE(generate_task_graph({.ccr = -1}).ok());
  CHECK_FALSE(generate_task_graph({.ccr = std::numeric_limits<double>::quiet_NaN()}).ok());
  CHECK_FALSE(generate_task_graph({.heterogeneity = 3}).ok());
}
