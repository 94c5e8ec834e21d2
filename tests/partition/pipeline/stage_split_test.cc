// Stages of pipelines: by hand, against brute force, and against the optima of Tarnawski et al.
#include "partition/pipeline/stage_split.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <numeric>
#include <sstream>

#include "base/rng.h"
#include "tests/partition/pipeline/published_instance.h"

namespace dfsim {
namespace {

StageGraph chain(const std::vector<double>& times, double comm) {
  StageGraph graph;
  for (uint32_t i = 0; i < times.size(); ++i) {
    graph.nodes.push_back({times[i], 0, 1, false});
    if (i > 0) {
      graph.edges.emplace_back(i - 1, i);
      graph.results.push_back({i - 1, {i}, comm});
    }
  }
  return graph;
}

// The best largest load of all ways to give nodes to `devices` stages that keep to the edges.
double brute_force(const StageGraph& graph, const StageLimits& limits, bool in_order) {
  const size_t n = graph.nodes.size();
  std::vector<uint32_t> stage(n, 0);
  double best = std::numeric_limits<double>::infinity();
  const std::function<void(size_t)> place = [&](size_t node) {
    if (node == n) {
      double worst = 0;
      for (uint32_t s = 0; s < limits.devices; ++s) {
        std::vector<bool> members(n);
        double bytes = 0;
        for (size_t i = 0; i < n; ++i) {
          members[i] = stage[i] == s;
          bytes += members[i] ? graph.nodes[i].bytes : 0;
        }
        worst = std::max(worst, limits.capacity > 0 && bytes > limits.capacity
                                    ? std::numeric_limits<double>::infinity()
                                    : stage_load(graph, limits, members));
      }
      best = std::min(best, worst);
      return;
    }
    uint32_t least = in_order && node > 0 ? stage[node - 1] : 0;
    for (const auto& [from, to] : graph.edges) {
      least = to == node ? std::max(least, stage[from]) : least;
    }
    for (uint32_t s = least; s < limits.devices; ++s) {
      stage[node] = s;
      place(node + 1);
    }
  };
  place(0);
  return best;
}

StageGraph random_graph(Rng& rng, size_t nodes) {
  StageGraph graph;
  for (uint32_t i = 0; i < nodes; ++i) {
    graph.nodes.push_back(
        {static_cast<double>(1 + rng.below(20)), 0, static_cast<double>(rng.below(5)), false});
    StageResult result{i, {}, static_cast<double>(rng.below(6))};
    for (uint32_t j = i + 1; j < nodes; ++j) {
      if (rng.below(3) == 0) {
        graph.edges.emplace_back(i, j);
        result.readers.push_back(j);
      }
    }
    graph.results.push_back(std::move(result));
  }
  return graph;
}

TEST_CASE("a chain by hand") {
  const StageGraph graph = chain({4, 1, 1, 4, 2}, 0.5);
  StageLimits limits;
  limits.devices = 2;
  // 4 1 1 | 4 2: 6 and 6, each with half a unit of communication.
  const auto two = split_contiguous(graph, limits);
  REQUIRE(two.ok());
  CHECK(two->max_load == 6.5);
  CHECK(two->stage_of == std::vector<uint32_t>{0, 0, 0, 1, 1});
  limits.overlap = true;
  CHECK(split_contiguous(graph, limits)->max_load == 6);
  limits.replicate = true;
  limits.devices = 3;
  // All on three replicas: 12 / 3.
  const auto replicated = split_contiguous(graph, limits);
  CHECK(replicated->max_load == 4);
  CHECK(replicated->replicas == std::vector<uint32_t>{3});
  limits.capacity = 3;  // at most three nodes each
  const auto tight = split_contiguous(graph, limits);
  CHECK(tight->max_load == 5);  // 4 1 | 1 4 | 2
  limits.capacity = 1;
  CHECK_FALSE(split_contiguous(graph, limits).ok());
}

TEST_CASE("random graphs: contiguous and downset splits equal brute force") {
  Rng rng(3);
  for (int round = 0; round < 60; ++round) {
    const StageGraph graph = random_graph(rng, 4 + rng.below(4));
    StageLimits limits;
    limits.devices = static_cast<uint32_t>(2 + rng.below(2));
    limits.overlap = round % 2 == 0;
    limits.capacity = round % 3 == 0 ? 12 : 0;
    const double in_order = brute_force(graph, limits, true);
    const double free = brute_force(graph, limits, false);
    const auto contiguous = split_contiguous(graph, limits);
    const auto downsets = split_downsets(graph, limits, 100000);
    INFO("round " << round);
    CHECK((contiguous.ok() ? contiguous->max_load : 1e300) == std::min(in_order, 1e300));
    CHECK((downsets.ok() ? downsets->max_load : 1e300) == std::min(free, 1e300));
  }
}

TEST_CASE("too many downsets and bad graphs are refused") {
  StageGraph wide;
  wide.nodes.resize(20);
  StageLimits limits;
  limits.devices = 2;
  CHECK(split_downsets(wide, limits, 1000).status().code() == StatusCode::kUnsupported);
  wide.edges = {{3, 2}};
  CHECK_FALSE(split_contiguous(wide, limits).ok());
  wide.edges = {{3, 20}};
  CHECK_FALSE(split_downsets(wide, limits, 1000).ok());
}

TEST_CASE("leaves that take no time go with their neighbour and cost no downsets") {
  StageGraph graph;  // two nodes in a row, each with ten idle readers
  graph.nodes = {{3, 0, 0, false}, {4, 0, 0, false}};
  graph.edges = {{0, 1}};
  graph.results = {{0, {1}, 1}, {1, {}, 1}};
  for (uint32_t leaf = 2; leaf < 22; ++leaf) {
    graph.nodes.push_back({0, 0, 5, false});
    graph.edges.emplace_back(leaf % 2, leaf);
    graph.results[leaf % 2].readers.push_back(leaf);
  }
  StageLimits limits;
  limits.devices = 2;
  const auto split = split_downsets(graph, limits, 10);
  INFO(split.status().message());
  REQUIRE(split.ok());
  CHECK(split->max_load == 5);  // 4, and what comes from the first node
  for (uint32_t leaf = 2; leaf < 22; ++leaf) {
    CHECK(split->stage_of[leaf] == split->stage_of[leaf % 2]);
  }
  // Where their bytes could matter they stay nodes of their own.
  limits.capacity = 60;
  CHECK(split_downsets(graph, limits, 10).status().code() == StatusCode::kUnsupported);
}

TEST_CASE("largest loads of the published graphs equal the optima, none lies below") {
  const char* shared = std::getenv("DFSIM_SHARED");
  if (shared == nullptr) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  const std::string folder = std::string(shared) + "/oracles/dnn_partitioning/";
  std::ifstream table(folder + "measured_maxload.csv");
  std::string line;
  std::getline(table, line);
  size_t exact = 0;
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    std::string file;
    std::string method;
    std::string load;
    std::getline(fields, file, ',');
    std::getline(fields, method, ',');
    std::getline(fields, load, ',');
    if (method != "DP-optimal") {
      continue;
    }
    INFO(file);
    const double optimum = std::stod(load);
    const PublishedInstance instance = read_published(folder + file);
    const auto contiguous = split_contiguous(instance.graph, instance.limits);
    if (contiguous.ok()) {
      CHECK(contiguous->max_load >= optimum * (1 - 1e-12));
    }
    const auto split = split_downsets(instance.graph, instance.limits, 30000);
    if (split.status().code() == StatusCode::kUnsupported) {
      WARN("too many downsets for this test: " + file);
      continue;
    }
    REQUIRE(split.ok());
    CHECK(split->max_load == Approx(optimum).epsilon(1e-12));
    ++exact;
  }
  CHECK(exact == 8);
}

}  // namespace
}  // namespace dfsim
