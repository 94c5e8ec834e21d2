// Simulation of layered random graphs (E = 2.6 N) on four devices joined pairwise. Tasks are placed
// at random, so three of four edges cross a link: harder on the simulator than a good plan.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/rng.h"
#include "graphs/taskgraph/generate.h"
#include "sim/simulator.h"

namespace dfsim {
namespace {

constexpr size_t kDevices = 4;

size_t allocated_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Looks at the heap when the last task is done: all state of the run and its result are there.
class HeapAtEnd final : public SimListener {
 public:
  void on_request_finished(uint32_t /*request*/, TimeNs /*time_ns*/) override {
    bytes_ = allocated_bytes();
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

struct Workload {
  TaskGraph task_graph;
  CostTable costs;
  Platform platform;
  Schedule schedule;
};

Workload make_workload(size_t tasks, double ccr, LinkSharing sharing) {
  Workload workload;
  GenerateOptions options;
  options.shape = "layered";
  options.tasks = tasks;
  options.devices = kDevices;
  options.ccr = ccr;
  workload.task_graph = std::move(generate_task_graph(options)).value();
  const TaskGraph& graph = workload.task_graph;
  workload.costs = CostTable(graph.cost_rows(), kDevices);
  for (uint32_t row = 0; row < graph.cost_rows(); ++row) {
    for (size_t d = 0; d < kDevices; ++d) {
      workload.costs.at(row, DeviceId(d)).time_ns = graph.times_ns[row * kDevices + d];
    }
  }
  for (size_t d = 0; d < kDevices; ++d) {
    DeviceSpec device;
    device.name = std::string(1, static_cast<char>('a' + d));
    for (const DeviceSpec& other : workload.platform.devices) {
      LinkSpec link;
      link.from = device.name;
      link.to = other.name;
      link.bytes_per_s = 1e9;
      link.sharing = sharing;
      workload.platform.links.push_back(link);
    }
    workload.platform.devices.push_back(device);
  }
  Rng rng(1);
  workload.schedule.order.resize(kDevices);
  for (size_t t = 0; t < tasks; ++t) {
    const DeviceId device(rng.below(kDevices));
    workload.schedule.placements.push_back({device, 0, 0});
    workload.schedule.order[device.index()].emplace_back(t);
  }
  return workload;
}

void simulate_workload(benchmark::State& state, double ccr, LinkSharing sharing,
                       MemoryPolicy memory) {
  const auto tasks = static_cast<size_t>(state.range(0));
  const Workload workload = make_workload(tasks, ccr, sharing);
  SimOptions options;
  options.memory = memory;
  const SimInput input{workload.task_graph.graph, workload.costs, workload.platform};
  HeapAtEnd heap;
  const size_t before_bytes = allocated_bytes();
  benchmark::DoNotOptimize(simulate(input, workload.schedule, options, &heap));
  uint64_t events = 0;
  for (auto _ : state) {
    const auto result = simulate(input, workload.schedule, options);
    if (!result.ok()) {
      state.SkipWithError(result.status().message().c_str());
      return;
    }
    events += result->events;
  }
  state.counters["tasks/s"] = benchmark::Counter(static_cast<double>(tasks * state.iterations()),
                                                 benchmark::Counter::kIsRate);
  state.counters["bytes/task"] =
      static_cast<double>(heap.bytes() - before_bytes) / static_cast<double>(tasks);
  state.counters["events/s"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

void BM_SimulateFifoLinks(benchmark::State& state) {
  simulate_workload(state, 1.0, LinkSharing::kFifo, MemoryPolicy::kOff);
}
BENCHMARK(BM_SimulateFifoLinks)->RangeMultiplier(10)->Range(1'000, 1'000'000);

void BM_SimulateFifoLinksWithMemory(benchmark::State& state) {
  simulate_workload(state, 1.0, LinkSharing::kFifo, MemoryPolicy::kTrack);
}
BENCHMARK(BM_SimulateFifoLinksWithMemory)->Arg(100'000);

void BM_SimulateFairLinksLittleContention(benchmark::State& state) {
  simulate_workload(state, 0.01, LinkSharing::kFair, MemoryPolicy::kOff);
}
BENCHMARK(BM_SimulateFairLinksLittleContention)->RangeMultiplier(10)->Range(10'000, 1'000'000);

void BM_SimulateFairLinksMuchContention(benchmark::State& state) {
  simulate_workload(state, 1.0, LinkSharing::kFair, MemoryPolicy::kOff);
}
BENCHMARK(BM_SimulateFairLinksMuchContention)->Arg(100'000);

}  // namespace
}  // namespace dfsim
