// Building execution graphs: what every simulation pays before its first event.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "graphs/ir/exec_graph.h"

namespace dfsim {
namespace {

constexpr size_t kLayerWidth = 100;
constexpr size_t kReadsPerTask = 3;

// A layered DAG: each task reads outputs of the layer before it. `order` is the order in which its
// tasks are added to the builder.
struct LayeredDag {
  std::vector<uint32_t> order;
  std::vector<std::vector<uint32_t>> reads;  // by task, the tasks it reads from

  explicit LayeredDag(size_t tasks, uint64_t seed) : order(tasks), reads(tasks) {
    Rng rng(seed);
    std::iota(order.begin(), order.end(), 0U);
    for (size_t task = kLayerWidth; task < tasks; ++task) {
      const size_t layer_begin = (task / kLayerWidth - 1) * kLayerWidth;
      for (size_t i = 0; i < kReadsPerTask; ++i) {
        reads[task].push_back(static_cast<uint32_t>(layer_begin + rng.below(kLayerWidth)));
      }
    }
  }

  void shuffle(uint64_t seed) {
    Rng rng(seed);
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[rng.below(i)]);
    }
  }

  StatusOr<ExecGraph> build() const {
    ExecGraphBuilder builder;
    builder.reserve(order.size(), order.size() * kReadsPerTask);
    std::vector<TaskId> ids(order.size());
    std::vector<DataId> outputs(order.size());
    for (const uint32_t task : order) {
      ExecGraphBuilder::Task description;
      description.cost_row = task;
      ids[task] = builder.add_task(std::move(description));
      outputs[task] = builder.add_data(ids[task], Bytes{1} << 20);
    }
    for (const uint32_t task : order) {
      for (const uint32_t read : reads[task]) {
        builder.add_edge(outputs[read], ids[task]);
      }
    }
    return builder.build();
  }
};

void measure_build(benchmark::State& state, const LayeredDag& dag) {
  for (auto _ : state) {
    StatusOr<ExecGraph> graph = dag.build();
    if (!graph.ok()) {
      state.SkipWithError(graph.status().message().c_str());
      return;
    }
    benchmark::DoNotOptimize(graph->edge_count());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(dag.order.size()));
}

void exec_graph_build_in_order(benchmark::State& state) {
  measure_build(state, LayeredDag(static_cast<size_t>(state.range(0)), /*seed=*/1));
}
BENCHMARK(exec_graph_build_in_order)->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void exec_graph_build_shuffled(benchmark::State& state) {
  LayeredDag dag(static_cast<size_t>(state.range(0)), /*seed=*/1);
  dag.shuffle(/*seed=*/2);
  measure_build(state, dag);
}
BENCHMARK(exec_graph_build_shuffled)->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dfsim
