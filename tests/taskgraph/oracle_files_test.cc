// Reads the public sets when DFSIM_SHARED names the folder that holds them.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "graphs/taskgraph/task_graph.h"

using namespace dfsim;

namespace {

namespace fs = std::filesystem;

fs::path oracles() {
  const char* shared = std::getenv("DFSIM_SHARED");
  return shared == nullptr ? fs::path() : fs::path(shared) / "oracles";
}

}  // namespace

TEST_CASE("Public task graphs: every graph reads with its published size") {
  if (oracles().empty()) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  SECTION("STG") {
    for (const auto& entry : fs::directory_iterator(oracles() / "stg/50")) {
      const auto graph = read_task_graph(entry.path().string());
      INFO(graph.status().message());
      REQUIRE(graph.ok());
      CHECK(graph->graph.task_count() == 52);
    }
  }
  SECTION("Sinnen") {
    std::ifstream table(oracles() / "sinnen_dot/expected_makespans.csv");
    std::string line;
    std::getline(table, line);
    size_t files = 0;
    while (std::getline(table, line)) {
      std::istringstream row(line);
      std::string file, nodes, edges;
      std::getline(row, file, ',');
      std::getline(row, nodes, ',');
      std::getline(row, edges, ',');
      const auto graph = read_task_graph((oracles() / "sinnen_dot/input" / file).string());
      INFO(graph.status().message());
      REQUIRE(graph.ok());
      CHECK(graph->graph.task_count() == std::stoul(nodes));
      CHECK(graph->graph.edge_count() == std::stoul(edges));
      ++files;
    }
    CHECK(files >= 250);
  }
  SECTION("WfInstances") {
    std::ifstream table(oracles() / "wfinstances/SUMMARY.csv");
    std::string line;
    std::getline(table, line);
    size_t files = 0;
    while (std::getline(table, line)) {
      std::vector<std::string> cells;
      std::istringstream row(line);
      for (std::string cell; std::getline(row, cell, ',');) {
        cells.push_back(cell);
      }
      const auto graph = read_task_graph((oracles() / "wfinstances" / cells[0]).string());
      INFO(line << ": " << graph.status().message());
      REQUIRE(graph.ok());
      CHECK(graph->graph.task_count() == std::stoul(cells[2]));
      double sum = 0;
      for (size_t i = 0; i < graph->graph.task_count(); ++i) {
        sum += static_cast<double>(graph->times_ns[graph->graph.cost_row(TaskId(i))]);
      }
      CHECK(sum / 1e9 == Approx(std::stod(cells[5])).margin(0.051));
      ++files;
    }
    CHECK(files >= 30);
  }
}
