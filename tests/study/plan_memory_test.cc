// Memory of plans: every weight of a model is on some device of every plan.
#include <algorithm>
#include <string>
#include <vector>

#include "opmodel/workload.h"
#include "study/partitioning/partition.h"
#include "tests/study/study_inputs.h"

using namespace dfsim;
using namespace dfsim::testing;

namespace {

// Weights over all devices of a plan.
Bytes weights_of(const PlanRun& run) {
  Bytes sum = 0;
  for (const ResidentMemory& memory : run.compiled.program.memory) {
    sum += memory.weights * run.compiled.program.stands_for;
  }
  return sum;
}

PartitionOptions plan_options(const std::string& model, const std::string& strategy) {
  PartitionOptions options;
  options.model = zoo_model(model);
  options.model.batch = 8;
  options.hardware = "dgx-a100";
  options.cost_model = "sol";
  options.devices = 4;
  options.strategy = strategy;
  return options;
}

std::vector<std::string> all_zoo_models() {
  std::vector<std::string> names;
  for (const std::string& data : data_dirs()) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(data + "/graphs/zoo", error)) {
      if (entry.path().extension() == ".onnx") {
        names.push_back(entry.path().stem().string());
      }
    }
  }
  REQUIRE_FALSE(names.empty());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

TEST_CASE("Plan memory: the stages of every model hold at least the model's weights") {
  size_t plans = 0;
  for (const std::string& model : all_zoo_models()) {
    for (const std::string strategy : {"pp", "tp", "dp"}) {
      const auto partitioner = Partitioner::create(plan_options(model, strategy));
      REQUIRE(partitioner.ok());
      const auto partitioning = (*partitioner)->run();
      if (!partitioning.ok()) {
        continue;  // a batch that is fixed, or a model that the strategy cannot cut
      }
      for (const PlanOutcome& plan : partitioning->plans) {
        if (!plan.status.ok()) {
          continue;
        }
        const auto again = (*partitioner)->run_again(*partitioning, plan);
        INFO(again.status().message());
        INFO(model << ", " << plan.name << ", " << plan.micro_batches << " micro-batches");
        REQUIRE(again.ok());
        // The graph has the same micro-batch: weights that are computed ahead may grow with the
        // batch.
        const auto whole = make_workload(again->graph);
        REQUIRE(whole.ok());
        CHECK(weights_of(again->run) >= whole->weight_bytes);
        ++plans;
      }
    }
  }
  CHECK(plans > 20);
}

TEST_CASE("Plan memory: a tied embedding is on its own stage and on that of the output layer") {
  const auto partitioner = Partitioner::create(plan_options("gpt2", "pp"));
  REQUIRE(partitioner.ok());
  const auto partitioning = (*partitioner)->run();
  REQUIRE(partitioning.ok());
  REQUIRE_FALSE(partitioning->plans.empty());
  const auto again = (*partitioner)->run_again(*partitioning, partitioning->plans.front());
  REQUIRE(again.ok());
  constexpr Bytes kEmbedding = Bytes{50257} * 768 * 4;
  const auto& memory = again->run.compiled.program.memory;
  const auto holds = [&](const ResidentMemory& one) { return one.weights >= kEmbedding; };
  CHECK(std::count_if(memory.begin(), memory.end(), holds) >= 2);
}
