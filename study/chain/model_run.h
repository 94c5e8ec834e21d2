// ModelRun: the one place that says what a prediction is.
//
// The life of a prediction, in the order of the calls:
//    1. load_machine()            hardware file and runtime           (machine_source.h)
//    2. load_model()              imports the model and adds up its work, rewrites it as the
//                                 runtime does, makes a training step of it where one is asked
//                                 for, and lists its tasks            (model_source.h)
//    3. load_cost_model_for()     the model of operator times (opmodel/model/model_loader.h)
//    4. ModelRun::prepare()       costs each distinct operator, lowers the tasks for the node,
//                                 chooses the communication model and the policy
//    5. ModelRun::simulate()      groups small tasks, plans, simulates, adds the 80 % interval
// predict, compare, validate, tune, the roofline and the benchmarks call these functions, so that
// none of them measures another thing than `dfsim predict` prints.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "opmodel/node_lowering.h"
#include "schedulers/problem_instance.h"
#include "schedulers/registry.h"
#include "sim/repeat.h"
#include "sim/requests.h"
#include "study/chain/latency_interval.h"
#include "study/chain/model_source.h"
#include "study/chain/policy_run.h"
#include "study/chain/run_recorder.h"
#include "study/progress.h"

namespace dfsim::inline study {

struct ModelRunOptions {
  std::string policy = "first-device";
  uint64_t seed = 0;                         // of noise, arrivals and policies
  const PolicyRegistry* policies = nullptr;  // to choose from; nullptr = the built-in ones
};

// Results of one simulated run of a model.
struct SimulatedModel {
  SimResult result;          // `tasks` are those of the model's operators, in the workload's order
  LatencyInterval interval;  // 80 %, of result.makespan_ns
  double largest_share = 0;  // of the makespan: operators as large as data can make them, at most 1
};

// The times of the model's distinct operators on each device of the platform. Error: an operator
// that the cost model cannot price.
StatusOr<CostTable> cost_operators(const LoadedModel& model, const Platform& platform,
                                   const CostModel& cost_model);

// Peak of activations where the runtime plans buffers ahead (a CPU with an arena): buffers are then
// shared and kept otherwise than tensors' lifetimes would say. Nothing elsewhere. Error: sizes that
// do not fit in 63 bits.
StatusOr<std::optional<Bytes>> arena_bytes(const LoadedModel& model, const Platform& platform);

// A model on a machine, costed and lowered, ready to run any number of times. `model` and
// `platform` outlive it. Movable; const functions may run in parallel threads.
class ModelRun {
 public:
  // Errors: those of cost_operators(), of lower_for_node() (with the model's path) and of an
  // unknown policy.
  static StatusOr<ModelRun> prepare(const LoadedModel& model, const Platform& platform,
                                    const CostModel& cost_model,
                                    const ModelRunOptions& options = {});

  // Errors: those of the policy and of simulate(). `listener` may be null.
  StatusOr<SimulatedModel> simulate(SimListener* listener = nullptr) const;
  // Many requests one after the other or at once, and repeated runs with drawn times.
  StatusOr<RequestResult> simulate_requests(const RequestOptions& requests,
                                            const Progress& progress = {}) const;
  StatusOr<RepeatResult> simulate_repeatedly(size_t runs, const Progress& progress = {}) const;

  const CostTable& costs() const { return costs_; }                // of the model's workload
  const ExecGraph& tasks() const { return node_.workload.graph; }  // with those of the host
  RunSubject subject() const;                                      // for recorders

  // The problem of placing the tasks, for policies to be compared on.
  ProblemInstance into_problem(std::string cost_model) &&;

 private:
  ModelRun(const LoadedModel& model, const Platform& platform, CostTable costs)
      : model_(&model), platform_(&platform), costs_(std::move(costs)) {}

  SchedulingProblem problem() const {
    return {node_.workload.graph, node_.costs, *platform_, *comm_, options_.sim.seed};
  }

  const LoadedModel* model_;
  const Platform* platform_;
  CostTable costs_;
  NodeWorkload node_;  // but for dispatch_ns, which options_ has
  std::unique_ptr<CommModel> comm_;
  PolicyInfo policy_;
  PolicyRunOptions options_;
};

}  // namespace dfsim::inline study
