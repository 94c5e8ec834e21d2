// Every operator with a factor rule, every legal split of it: the sharded result equals the whole
// one, arithmetic is conserved, and no rule is left without a case.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "graphs/ops/infer.h"
#include "graphs/ops/op_def.h"
#include "partition/sharding/lookup.h"
#include "tests/partition/mesh_platform.h"
#include "tests/partition/sharding/check_sharded.h"
#include "tests/partition/sharding/op_cases.h"

namespace dfsim {
namespace {

std::string name_of(const OpCase& example, size_t number) {
  std::string name = fmt::format("case {}: {}", number, example.op_type);
  for (const Operand& operand : example.inputs) {
    name.append(" ").append(format_shape(operand.shape));
  }
  return name;
}

// Seeds that split factor f along `axes[f]`: the operands that carry it, or else the results.
std::vector<ShardingSeed> seeds_for(const Graph& graph, const FactorMap& map,
                                    const std::vector<AxisSet>& axes) {
  const Op& op = graph.op(OpId(0));
  std::vector<ShardingSeed> seeds;
  AxisSet reached = 0;
  const auto add = [&](TensorId id, const TensorSharding& sharding) {
    const bool is_new = std::none_of(seeds.begin(), seeds.end(),
                                     [id](const ShardingSeed& seed) { return seed.tensor == id; });
    if (sharding.used() != 0 && is_new && graph.tensor(id).role != TensorRole::kConstant) {
      seeds.push_back({id, sharding});
      reached |= sharding.used();
    }
  };
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].valid()) {
      add(op.inputs[i], input_sharding(map, axes, i));
    }
  }
  AxisSet wanted = 0;
  for (const AxisSet set : axes) {
    wanted |= set;
  }
  for (size_t o = 0; o < op.outputs.size() && (reached & wanted) != wanted; ++o) {
    TensorSharding sharding = output_sharding(map, axes, o);
    sharding.partial = 0;
    sharding.reduction = Reduction::kNone;
    add(op.outputs[o], sharding);
  }
  return seeds;
}

void check_work(const Graph& graph, const DeviceMesh& mesh, const ShardingPlan& plan,
                const ShardedGraph& sharded) {
  const Op& op = graph.op(OpId(0));
  const FactorMap& map = plan.maps[0];
  const int64_t copies =
      static_cast<int64_t>(mesh.device_count()) / mesh.size(plan.split_axes(OpId(0)));
  CHECK(sharded.report.all_macs.value() == sharded.report.source_macs * copies);
  const bool routes = op.op_type == "MoE" || op.op_type == "QMoE";
  if (op.op_class == OpClass::kSort || op.op_type == "MatMulNBits" || routes) {
    // Comparisons are not linear; each device unpacks the weights that its rows need, and chooses
    // experts.
    return;
  }
  // Each device of a contracted split goes through the motions of adding the bias.
  int64_t extra = 0;
  for (size_t f = 0; f < map.factors.size(); ++f) {
    if (!map.addends.empty() && map.kind(static_cast<int>(f)) == FactorKind::kContracted) {
      extra = (mesh.size(plan.op_factors[0][f]) - 1) *
              graph.tensor(op.outputs[0]).shape.elements().value();
    }
  }
  // Each device with some of the rows adds up what it has made zero, too.
  int64_t masked = 1;
  if (const auto lookup = find_lookup(graph, OpId(0), map)) {
    masked = mesh.size(plan.op_factors[0][static_cast<size_t>(lookup->factor)]);
  }
  CHECK(sharded.report.all_flops.value() ==
        (sharded.report.source_flops * masked + extra) * copies);
}

void check_split(const Graph& graph, const DeviceMesh& mesh, const std::vector<AxisSet>& axes) {
  const FactorMap map = op_factors(graph, OpId(0));
  for (size_t f = 0; f < axes.size(); ++f) {
    if (!map.can_split(static_cast<int>(f), mesh.size(axes[f]))) {
      return;
    }
  }
  std::string splits;
  for (size_t f = 0; f < axes.size(); ++f) {
    splits += axes[f] == 0 ? "" : fmt::format(" {} over {}", map.factors[f].label, axes[f]);
  }
  INFO("split" << splits);
  ShardingPlan plan;
  const ShardedGraph sharded = check_sharding_of(graph, mesh, seeds_for(graph, map, axes), &plan);
  CHECK(plan.op_factors[0] == axes);
  check_work(graph, mesh, plan, sharded);
}

void check_all_splits(const OpCase& example, const std::vector<DeviceMesh>& meshes) {
  const OpOutcome outcome = infer(example);
  INFO(outcome.status.message());
  REQUIRE(outcome.status.ok());
  REQUIRE(outcome.unresolved.empty());
  const FactorMap map = op_factors(outcome.graph, OpId(0));
  INFO(map.unsplittable);
  REQUIRE_FALSE(map.factors.empty());
  const size_t count = map.factors.size();
  for (size_t f = 0; f < count; ++f) {
    std::vector<AxisSet> axes(count, 0);
    axes[f] = 1;
    check_split(outcome.graph, meshes[0], axes);
    check_split(outcome.graph, meshes[1], axes);
    for (size_t g = 0; g < count; ++g) {
      std::vector<AxisSet> both(count, 0);
      both[f] |= 1;
      both[g] |= 2;
      check_split(outcome.graph, meshes[2], both);
    }
  }
}

TEST_CASE("Op split: every legal split of every operator gives the same result") {
  const std::vector<DeviceMesh> meshes = {make_mesh({{"x", 2}}), make_mesh({{"x", 4}}),
                                          make_mesh({{"x", 2}, {"y", 2}})};
  const std::vector<OpCase> cases = op_cases();
  for (size_t c = 0; c < cases.size(); ++c) {
    DYNAMIC_SECTION(name_of(cases[c], c)) { check_all_splits(cases[c], meshes); }
  }
}

TEST_CASE("Op split: every factor rule has a case") {
  std::set<FactorRule> covered;
  for (const OpCase& example : op_cases()) {
    covered.insert(find_op_def(example.domain, example.op_type)->factors);
  }
  for (const OpDef* def : all_op_defs()) {
    const bool refuses = def->op_type.starts_with("Random") || def->op_type == "Bernoulli";
    // Kernels of a compiler have no shapes without their graph:
    // tests/passes/engine_passes_test.cc.
    if (def->factors != nullptr && !refuses && def->domain != "compiled") {
      INFO(def->domain << "::" << def->op_type);
      CHECK(covered.contains(def->factors));
    }
  }
}

}  // namespace
}  // namespace dfsim
