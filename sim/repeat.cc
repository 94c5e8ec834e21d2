// Repeats a run with noise. Each repetition draws from its own generator, forked from the seed
// by its number, so that the result does not depend on how many repetitions run or in which
// order.
#include "sim/repeat.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <thread>

#include "base/rng.h"
#include "sim/engine/engine.h"
#include "sim/percentile.h"

namespace dfsim::inline sim {

namespace {

// A plan or a policy, run by an engine of its own.
using RunEngine = std::function<StatusOr<EngineResult>(const EngineInput&)>;

StatusOr<TimeNs> one_run(const SimInput& input, const RunEngine& run, const RepeatOptions& repeat,
                         const SimOptions& options, size_t number) {
  RunMode mode;
  CostNoise& noise = mode.noise;
  noise.per_row = repeat.scope == NoiseScope::kPerOp;
  noise.deviations.resize(noise.per_row ? input.costs.rows() : input.graph.task_count());
  Rng rng = Rng(repeat.seed).split(number);
  for (float& deviation : noise.deviations) {
    deviation = static_cast<float>(rng.normal());
  }
  DFSIM_ASSIGN_OR_RETURN(const EngineResult result, run({input, options, mode, nullptr}));
  return result.run.makespan_ns;
}

void summarise(RepeatResult& result) {
  std::vector<TimeNs> sorted = result.makespans_ns;
  std::sort(sorted.begin(), sorted.end());
  const auto runs = static_cast<double>(sorted.size());
  for (const TimeNs time_ns : sorted) {
    result.mean_ns += static_cast<double>(time_ns) / runs;
  }
  double squares = 0;
  for (const TimeNs time_ns : sorted) {
    const double distance = static_cast<double>(time_ns) - result.mean_ns;
    squares += distance * distance;
  }
  result.standard_deviation_ns = sorted.size() > 1 ? std::sqrt(squares / (runs - 1)) : 0;
  result.min_ns = sorted.front();
  result.p10_ns = percentile(sorted, 10);
  result.p50_ns = percentile(sorted, 50);
  result.p90_ns = percentile(sorted, 90);
  result.max_ns = sorted.back();
}

StatusOr<RepeatResult> repeat_runs(const SimInput& input, const RunEngine& run_one,
                                   const RepeatOptions& repeat, const SimOptions& options) {
  if (repeat.runs == 0) {
    return invalid_input("runs: 0; expected 1 or more");
  }
  RepeatResult result;
  result.makespans_ns.resize(repeat.runs);
  std::vector<Status> errors(repeat.runs);
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t run = next++; run < repeat.runs; run = next++) {
      StatusOr<TimeNs> makespan = one_run(input, run_one, repeat, options, run);
      errors[run] = makespan.status();
      result.makespans_ns[run] = makespan.ok() ? *makespan : 0;
    }
  };
  std::vector<std::thread> threads;
  for (int t = 1; t < std::min<int>(repeat.threads, static_cast<int>(repeat.runs)); ++t) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const Status& error : errors) {
    DFSIM_RETURN_IF_ERROR(error);
  }
  summarise(result);
  return result;
}

}  // namespace

StatusOr<RepeatResult> simulate_repeatedly(const SimInput& input, const Schedule& schedule,
                                           const RepeatOptions& repeat, const SimOptions& options) {
  return repeat_runs(
      input, [&schedule](const EngineInput& engine) { return run_engine(engine, schedule); },
      repeat, options);
}

StatusOr<RepeatResult> simulate_repeatedly(const SimInput& input, const MakePolicy& make_policy,
                                           const RepeatOptions& repeat, const SimOptions& options) {
  return repeat_runs(
      input,
      [&make_policy](const EngineInput& engine) { return run_engine(engine, *make_policy()); },
      repeat, options);
}

}  // namespace dfsim::inline sim
