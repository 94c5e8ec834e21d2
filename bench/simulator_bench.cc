// BM_Simulate*: the simulator on layered random graphs (layered_workload.h). bench/simgrid has the
// same workload on SimGrid.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "bench/layered_workload.h"
#include "sim/simulator.h"

namespace dfsim::bench {
namespace {

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

void simulate_workload(benchmark::State& state, double ccr, LinkSharing sharing,
                       MemoryPolicy memory) {
  const auto tasks = static_cast<size_t>(state.range(0));
  const LayeredWorkload workload = layered_workload(tasks, ccr, sharing);
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

// Takes minutes to set up and 8 GB.
void BM_SimulateTenMillionTasks(benchmark::State& state) {
  if (std::getenv("DFSIM_BENCH_LARGE") == nullptr) {
    state.SkipWithError("left out: set DFSIM_BENCH_LARGE=1 to run it");
    return;
  }
  simulate_workload(state, 1.0, LinkSharing::kFifo, MemoryPolicy::kOff);
}
BENCHMARK(BM_SimulateTenMillionTasks)->Arg(10'000'000)->Iterations(1);

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

// Decides each task when it becomes ready, for the device that is free first.
class EarliestDevice final : public OnlineScheduler {
 public:
  std::string_view name() const override { return "earliest-device"; }
  Status begin(const SchedulingProblem& /*problem*/) override { return ok_status(); }
  void decide(const OnlineView& view, std::span<const TaskId> newly_ready,
              std::vector<Decision>& decisions) override {
    std::array<TimeNs, kDevices> free_ns{};
    for (uint32_t d = 0; d < kDevices; ++d) {
      free_ns[d] = view.available_ns(DeviceId(d));
    }
    for (const TaskId task : newly_ready) {
      const auto first = static_cast<uint32_t>(std::ranges::min_element(free_ns) - free_ns.begin());
      decisions.push_back({task, DeviceId(first)});
      ++free_ns[first];
    }
  }
};

void simulate_online(benchmark::State& state, MemoryPolicy memory) {
  const auto tasks = static_cast<size_t>(state.range(0));
  const LayeredWorkload workload = layered_workload(tasks, 1.0, LinkSharing::kFifo);
  SimOptions options;
  options.memory = memory;
  const SimInput input{workload.task_graph.graph, workload.costs, workload.platform};
  EarliestDevice policy;
  for (auto _ : state) {
    const auto result = simulate(input, policy, options);
    if (!result.ok()) {
      state.SkipWithError(result.status().message().c_str());
      return;
    }
  }
  state.counters["tasks/s"] = benchmark::Counter(static_cast<double>(tasks * state.iterations()),
                                                 benchmark::Counter::kIsRate);
}

void BM_SimulateOnlinePolicy(benchmark::State& state) {
  simulate_online(state, MemoryPolicy::kOff);
}
BENCHMARK(BM_SimulateOnlinePolicy)->Arg(4'000)->Arg(100'000);

void BM_SimulateOnlinePolicyWithMemory(benchmark::State& state) {
  simulate_online(state, MemoryPolicy::kTrack);
}
BENCHMARK(BM_SimulateOnlinePolicyWithMemory)->Arg(4'000)->Arg(100'000);

}  // namespace
}  // namespace dfsim::bench
