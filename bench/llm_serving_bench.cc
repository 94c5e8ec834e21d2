// Speed of the simulated language-model server: requests and output tokens simulated per second,
// with a step cost that costs nothing to compute, so that the engine is what is measured.
#include <benchmark/benchmark.h>

#include "serving/serve.h"

namespace dfsim {
namespace {

// Linear in new tokens and context.
class LinearStepCost final : public StepCostModel {
 public:
  StatusOr<StepCost> cost(const StepBatch& batch) override {
    int64_t tokens = 0;
    int64_t context = 0;
    for (const auto* part : {&batch.prefill, &batch.decode}) {
      for (const SequenceSlice& slice : *part) {
        tokens += slice.new_tokens;
        context += slice.context_tokens;
      }
    }
    StepCost cost;
    cost.time_ns = cost.interval_ns = 5'000'000 + 60'000 * tokens + 20 * context;
    cost.split_ns[0] = cost.time_ns;
    return cost;
  }
  StatusOr<std::vector<KernelTime>> explain(const StepBatch&) override {
    return std::vector<KernelTime>();
  }
  const std::vector<std::string>& notes() const override { return notes_; }

 private:
  std::vector<std::string> notes_;
};

void run_serving(benchmark::State& state, ServeSetup setup) {
  LinearStepCost costs;
  setup.costs = &costs;
  setup.cache_tokens = 400'000;
  int64_t tokens = 0;
  int64_t requests = 0;
  for (auto _ : state) {
    const StatusOr<ServeResult> result = simulate_serving(setup);
    if (!result.ok()) {
      state.SkipWithError(result.status().message().c_str());
      return;
    }
    tokens += result->output_tokens;
    requests += result->requests;
  }
  state.counters["tokens/s"] =
      benchmark::Counter(static_cast<double>(tokens), benchmark::Counter::kIsRate);
  state.counters["requests/s"] =
      benchmark::Counter(static_cast<double>(requests), benchmark::Counter::kIsRate);
}

// 1,000 requests of 1,024 and 512 tokens by 64 users, per framework.
void llm_serving_closed_loop(benchmark::State& state) {
  ServeSetup setup;
  setup.engine.policy = builtin_batch_policies()[static_cast<size_t>(state.range(0))].name;
  setup.workload.users = {64, 1000, 0, 0};
  setup.workload.lengths.prompt = {819, 1228};
  setup.workload.lengths.output = {409, 614};
  state.SetLabel(setup.engine.policy);
  run_serving(state, setup);
}
BENCHMARK(llm_serving_closed_loop)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

// A million requests at random times: memory stays that of the requests in flight.
void llm_serving_million(benchmark::State& state) {
  ServeSetup setup;
  setup.workload.kind = WorkloadOptions::Kind::kRate;
  setup.workload.rate = {8, 1, 1'000'000};
  setup.workload.lengths.prompt = {500, 1500};
  setup.workload.lengths.output = {50, 250};
  run_serving(state, setup);
}
BENCHMARK(llm_serving_million)->Unit(benchmark::kSecond)->Iterations(1);

}  // namespace
}  // namespace dfsim
