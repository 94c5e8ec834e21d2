#include "tests/schedulers/hand_graphs.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "graphs/taskgraph/assembler.h"
#include "graphs/taskgraph/generate.h"

namespace dfsim::testing {
namespace {

TimeNs units(double value) {
  return value < 0 ? -1 : static_cast<TimeNs>(std::llround(value * kNsPerFileUnit));
}

ProblemInstance made(TaskGraph graph, const TaskGraphMachine& machine) {
  auto workload = make_instance(std::move(graph), machine);
  INFO(workload.status().message());
  REQUIRE(workload.ok());
  return std::move(workload).value();
}

}  // namespace

ProblemInstance make_hand_instance(const CostRows& costs, const CommEdges& edges) {
  const size_t devices = costs.at(0).size();
  TaskGraph graph;
  graph.name = "hand";
  for (size_t d = 0; d < devices; ++d) {
    graph.devices.push_back({fmt::format("P{}", d + 1), 0});
  }
  taskgraph::Assembler assembler(devices);
  for (size_t i = 0; i < costs.size(); ++i) {
    std::vector<TimeNs> row;
    for (const double cost : costs[i]) {
      row.push_back(units(cost));
    }
    assembler.add_task(fmt::format("{}", i + 1), row);
  }
  for (const auto& [from, to, delay] : edges) {
    assembler.add_edge(TaskId(static_cast<size_t>(from - 1)), TaskId(static_cast<size_t>(to - 1)),
                       units(delay));
  }
  const Status status = assembler.finish("hand graph", graph);
  INFO(status.message());
  REQUIRE(status.ok());
  return made(std::move(graph), {});
}

ProblemInstance heft_paper() {
  return make_hand_instance({{14, 16, 9},
                             {13, 19, 18},
                             {11, 13, 19},
                             {13, 8, 17},
                             {12, 13, 10},
                             {13, 16, 9},
                             {7, 15, 11},
                             {5, 11, 14},
                             {18, 12, 20},
                             {21, 7, 16}},
                            {{1, 2, 18},
                             {1, 3, 12},
                             {1, 4, 9},
                             {1, 5, 11},
                             {1, 6, 14},
                             {2, 8, 19},
                             {2, 9, 16},
                             {3, 7, 23},
                             {4, 8, 27},
                             {4, 9, 23},
                             {5, 9, 13},
                             {6, 8, 15},
                             {7, 10, 17},
                             {8, 10, 11},
                             {9, 10, 13}});
}

ProblemInstance peft_paper() {
  return make_hand_instance({{22, 21, 36},
                             {22, 18, 18},
                             {32, 27, 43},
                             {7, 10, 4},
                             {29, 27, 35},
                             {26, 17, 24},
                             {14, 25, 30},
                             {29, 23, 36},
                             {15, 21, 8},
                             {13, 16, 33}},
                            {{1, 2, 17},
                             {1, 3, 31},
                             {1, 4, 29},
                             {1, 5, 13},
                             {1, 6, 7},
                             {2, 8, 3},
                             {2, 9, 30},
                             {3, 7, 16},
                             {4, 8, 11},
                             {4, 9, 7},
                             {5, 9, 57},
                             {6, 8, 5},
                             {7, 10, 9},
                             {8, 10, 42},
                             {9, 10, 7}});
}

ProblemInstance generated(const GraphShape& shape, size_t devices, double ccr, double restricted,
                          uint64_t seed, bool identical) {
  GenerateOptions options;
  options.shape = shape.name;
  options.tasks = shape.tasks;
  options.devices = identical ? 0 : devices;
  options.ccr = ccr;
  options.restricted = restricted;
  options.seed = seed;
  auto graph = generate_task_graph(options);
  INFO(graph.status().message());
  REQUIRE(graph.ok());
  return made(std::move(graph).value(), {.processors = identical ? devices : 0});
}

}  // namespace dfsim::testing
