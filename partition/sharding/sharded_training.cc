// Derives the sharding of a training step from that of its forward pass: each gradient lies as
// its tensor does. Passes and stages are read off attributes that the training graph's operators
// carry.
#include "partition/sharding/sharded_training.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace dfsim::inline partition {
namespace {

bool is_inserted(const Op& op) { return op.domain == "dfsim"; }

// The producer of an inserted op's operand; none for leaves.
OpId source_of(const Graph& graph, const Op& op) { return graph.tensor(op.inputs[0]).producer; }

}  // namespace

StatusOr<ShardingPlan> shard_plan_of_training_step(const Graph& graph, const DeviceMesh& mesh,
                                                   const ShardingPlan& plan,
                                                   const TrainingGraph& step) {
  std::vector<ShardingSeed> seeds;
  std::vector<OpSplit> splits;
  std::unordered_set<TensorId> seeded;
  const auto seed = [&](TensorId id, const TensorSharding& sharding) {
    if (id.valid() && step.graph.tensor(id).role != TensorRole::kConstant &&
        seeded.insert(id).second) {
      seeds.push_back({id, sharding});
    }
  };
  for (size_t t = 0; t < graph.tensor_count(); ++t) {
    seed(TensorId(t), plan.tensors[t]);
    seed(step.copies[t], plan.tensors[t]);
  }
  // Several tensors may share a gradient: the first one decides.
  for (size_t t = 0; t < graph.tensor_count(); ++t) {
    seed(step.gradients[t], plan.tensors[t]);
  }
  std::unordered_set<OpId> split;
  for (size_t i = 0; i < graph.op_count(); ++i) {
    splits.push_back({OpId(i), plan.op_factors[i]});
    for (const TensorId output : graph.op(OpId(i)).outputs) {
      const TensorId copy = output.valid() ? step.copies[output.index()] : TensorId();
      if (copy.valid() && split.insert(step.graph.tensor(copy).producer).second) {
        splits.push_back({step.graph.tensor(copy).producer, plan.op_factors[i]});
      }
    }
  }
  return propagate_sharding(step.graph, mesh, seeds, splits);
}

StatusOr<ShardedGraph> shard_training_step(const Graph& graph, const DeviceMesh& mesh,
                                           const ShardingPlan& plan, const TrainingOptions& options,
                                           size_t* without_rule) {
  DFSIM_ASSIGN_OR_RETURN(const TrainingGraph step, make_training_graph(graph, options));
  *without_rule = step.without_rule;
  DFSIM_ASSIGN_OR_RETURN(const ShardingPlan whole,
                         shard_plan_of_training_step(graph, mesh, plan, step));
  return shard_graph(step.graph, mesh, whole);
}

std::vector<TrainingPass> training_passes(const Graph& sharded_step) {
  std::vector<TrainingPass> passes(sharded_step.op_count(), TrainingPass::kForward);
  for (size_t i = sharded_step.op_count(); i-- > 0;) {
    const Op& op = sharded_step.op(OpId(i));
    if (!is_inserted(op)) {
      passes[i] = training_pass(op);
      continue;
    }
    // Readers come later, so theirs are known.
    TrainingPass first = TrainingPass::kUpdate;
    bool any = false;
    for (const OpId reader : sharded_step.consumers(op.outputs[0])) {
      first = std::min(first, passes[reader.index()]);
      any = true;
    }
    passes[i] = !any                             ? TrainingPass::kForward
                : first == TrainingPass::kUpdate ? TrainingPass::kReduce
                                                 : first;
  }
  return passes;
}

std::vector<uint32_t> training_stages(const Graph& sharded_step, const Graph& sharded_forward,
                                      const std::vector<uint32_t>& stage_of) {
  std::unordered_map<std::string, uint32_t> by_name;
  for (size_t i = 0; i < sharded_forward.op_count(); ++i) {
    by_name.emplace(sharded_forward.op(OpId(i)).name, stage_of[i]);
  }
  std::vector<uint32_t> stages(sharded_step.op_count(), 0);
  std::vector<bool> known(sharded_step.op_count(), false);
  for (size_t i = 0; i < sharded_step.op_count(); ++i) {
    const Op& op = sharded_step.op(OpId(i));
    const std::string* forward = op.attributes.get_string(kForwardAttribute);
    const auto found = by_name.find(forward != nullptr ? *forward : op.name);
    if (!is_inserted(op) && found != by_name.end()) {
      stages[i] = found->second;
      known[i] = true;
    } else if (is_inserted(op)) {
      const OpId source = source_of(sharded_step, op);
      known[i] = source.valid() && known[source.index()];
      stages[i] = known[i] ? stages[source.index()] : 0;
    }
  }
  // For weights and inputs: where they are read.
  for (size_t i = sharded_step.op_count(); i-- > 0;) {
    for (const TensorId output : sharded_step.op(OpId(i)).outputs) {
      for (const OpId reader :
           output.valid() ? sharded_step.consumers(output) : std::span<const OpId>()) {
        if (!known[i]) {
          stages[i] = stages[reader.index()];
          known[i] = true;
        }
      }
    }
  }
  return stages;
}

}  // namespace dfsim::inline partition
