// Turns a sharding problem into a CostNetwork: a variable per operator (its splits) and per
// tensor (its layout between operators), costs from shard_pricing.h, and pairwise costs of
// resharding; then minimises it.
#include "partition/plans/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graphs/ops/factors/factors.h"
#include "partition/sharding/shard_pricing.h"

namespace dfsim::inline partition {
namespace {

constexpr size_t kMaxTrials = 16;
constexpr int kMaxPriceSteps = 40;

class Searcher {
 public:
  Searcher(const Graph& graph, const DeviceMesh& mesh, const Platform& platform)
      : graph_(graph), mesh_(mesh), pricer_(mesh, platform) {}

  Status prepare(const Platform& platform, const CostModel& model) {
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      maps_.push_back(op_factors(graph_, OpId(i)));
    }
    DFSIM_ASSIGN_OR_RETURN(configs_, price_configs(graph_, maps_, mesh_, platform, model));
    collect_states();
    return ok_status();
  }

  // `price` of a byte of weights, in nanoseconds.
  CostNetwork network(double price) {
    CostNetwork network;
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      std::vector<double> costs;
      for (const OpConfig& config : configs_[i]) {
        costs.push_back(config.time_ns + constant_cost(OpId(i), config));
      }
      network.add_variable(std::move(costs));
    }
    variable_of_.assign(graph_.tensor_count(), 0);
    for (size_t t = 0; t < graph_.tensor_count(); ++t) {
      if (states_[t].empty()) {
        continue;
      }
      const Tensor& tensor = graph_.tensor(TensorId(t));
      std::vector<double> costs(states_[t].size(), 0);
      for (size_t s = 0; s < costs.size() && tensor.role == TensorRole::kWeight; ++s) {
        costs[s] = price * static_cast<double>(shard_bytes(TensorId(t), states_[t][s]));
      }
      variable_of_[t] = network.add_variable(std::move(costs));
    }
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      add_operands(OpId(i), &network);
    }
    return network;
  }

  Bytes weight_bytes(const std::vector<uint32_t>& choice) const {
    Bytes bytes = 0;
    for (size_t t = 0; t < graph_.tensor_count(); ++t) {
      if (graph_.tensor(TensorId(t)).role == TensorRole::kWeight && !states_[t].empty()) {
        bytes += shard_bytes(TensorId(t), states_[t][choice[variable_of_[t]]]);
      }
    }
    return bytes;
  }

  // Splits of all operators; tensors only where propagation would not have them so.
  StatusOr<ShardSearch> result(const CheapestChoice& best) const {
    ShardSearch search;
    search.exact = best.exact;
    search.weight_bytes = weight_bytes(best.choice);
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      search.splits.push_back({OpId(i), configs_[i][best.choice[i]].factors});
    }
    DFSIM_ASSIGN_OR_RETURN(const ShardingPlan plan,
                           propagate_sharding(graph_, mesh_, {}, search.splits));
    for (size_t t = 0; t < graph_.tensor_count(); ++t) {
      if (!states_[t].empty()) {
        const TensorSharding& wanted = states_[t][best.choice[variable_of_[t]]];
        if (!(plan.tensors[t] == wanted)) {
          search.seeds.push_back({TensorId(t), wanted});
        }
      }
    }
    return search;
  }

 private:
  Bytes shard_bytes(TensorId id, const TensorSharding& sharding) const {
    return graph_.tensor(id).bytes().value() / mesh_.size(sharding.used());
  }

  bool is_variable(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    return tensor.role != TensorRole::kConstant && tensor.shape.is_static() &&
           !(graph_.consumers(id).empty() && !tensor.producer.valid());
  }

  // Possible placements of each tensor: as its producer makes it (finished), scattered where it is
  // partial, as its readers want it, or whole.
  void collect_states() {
    states_.resize(graph_.tensor_count());
    for (size_t t = 0; t < graph_.tensor_count(); ++t) {
      if (is_variable(TensorId(t))) {
        add_state(TensorId(t), replicated(graph_.tensor(TensorId(t)).shape));
      }
    }
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      const Op& op = graph_.op(OpId(i));
      for (const OpConfig& config : configs_[i]) {
        for (size_t o = 0; o < op.outputs.size() && !maps_[i].factors.empty(); ++o) {
          if (op.outputs[o].valid()) {
            TensorSharding natural = output_sharding(maps_[i], config.factors, o);
            natural.partial = 0;
            natural.reduction = Reduction::kNone;
            add_state(op.outputs[o], natural);
          }
        }
        for (size_t k = 0; k < op.inputs.size() && !maps_[i].factors.empty(); ++k) {
          if (op.inputs[k].valid()) {
            add_state(op.inputs[k], input_sharding(maps_[i], config.factors, k));
          }
        }
      }
    }
  }

  void add_state(TensorId id, const TensorSharding& sharding) {
    auto& states = states_[id.index()];
    if (!is_variable(id) || std::find(states.begin(), states.end(), sharding) != states.end()) {
      return;
    }
    if (check_sharding(sharding, graph_.tensor(id).shape, mesh_, "").ok()) {
      states.push_back(sharding);
    }
  }

  TensorSharding wanted(OpId id, const OpConfig& config, size_t input) const {
    const FactorMap& map = maps_[id.index()];
    return map.factors.empty() ? replicated(graph_.tensor(graph_.op(id).inputs[input]).shape)
                               : input_sharding(map, config.factors, input);
  }
  TensorSharding natural(OpId id, const OpConfig& config, size_t output) const {
    const FactorMap& map = maps_[id.index()];
    return map.factors.empty() ? replicated(graph_.tensor(graph_.op(id).outputs[output]).shape)
                               : output_sharding(map, config.factors, output);
  }

  double reshard_ns(TensorId id, const TensorSharding& from, const TensorSharding& to) {
    const Tensor& tensor = graph_.tensor(id);
    return pricer_.cost_ns(tensor.shape, tensor.bytes().value(), from, to);
  }

  // Constants lie whole on every device.
  double constant_cost(OpId id, const OpConfig& config) {
    const Op& op = graph_.op(id);
    double cost = 0;
    for (size_t k = 0; k < op.inputs.size(); ++k) {
      const bool constant = op.inputs[k].valid() &&
                            graph_.tensor(op.inputs[k]).role == TensorRole::kConstant &&
                            graph_.tensor(op.inputs[k]).shape.is_static();
      if (constant && maps_[id.index()].shape_input != static_cast<int>(k)) {
        cost += reshard_ns(op.inputs[k], replicated(graph_.tensor(op.inputs[k]).shape),
                           wanted(id, config, k));
      }
    }
    return cost;
  }

  void add_operands(OpId id, CostNetwork* network) {
    const Op& op = graph_.op(id);
    for (size_t k = 0; k < op.inputs.size(); ++k) {
      if (!op.inputs[k].valid() || states_[op.inputs[k].index()].empty()) {
        continue;
      }
      const bool again = std::find(op.inputs.begin(), op.inputs.begin() + static_cast<ptrdiff_t>(k),
                                   op.inputs[k]) != op.inputs.begin() + static_cast<ptrdiff_t>(k);
      if (again) {
        continue;  // x * x: the same shard serves both
      }
      add_table(id, op.inputs[k], network,
                [&](const OpConfig& config, const TensorSharding& state) {
                  return reshard_ns(op.inputs[k], state, wanted(id, config, k));
                });
    }
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      if (op.outputs[o].valid() && !states_[op.outputs[o].index()].empty()) {
        add_table(id, op.outputs[o], network,
                  [&](const OpConfig& config, const TensorSharding& state) {
                    return reshard_ns(op.outputs[o], natural(id, config, o), state);
                  });
      }
    }
  }

  template <typename Cost>
  void add_table(OpId op, TensorId tensor, CostNetwork* network, const Cost& cost) {
    std::vector<double> table;
    for (const OpConfig& config : configs_[op.index()]) {
      for (const TensorSharding& state : states_[tensor.index()]) {
        table.push_back(cost(config, state));
      }
    }
    network->add_pair(op.value(), variable_of_[tensor.index()], std::move(table));
  }

  const Graph& graph_;
  const DeviceMesh& mesh_;
  ReshardPricer pricer_;
  std::vector<FactorMap> maps_;
  std::vector<std::vector<OpConfig>> configs_;
  std::vector<std::vector<TensorSharding>> states_;  // by tensor; empty = no variable
  std::vector<uint32_t> variable_of_;                // by tensor
};

}  // namespace

StatusOr<ShardSearch> search_sharding(const Graph& graph, const DeviceMesh& mesh,
                                      const Platform& platform, const CostModel& model,
                                      Bytes capacity_bytes) {
  Searcher searcher(graph, mesh, platform);
  DFSIM_RETURN_IF_ERROR(searcher.prepare(platform, model));
  // Dearer memory until the weights fit: starts at a nanosecond per MB.
  double price = 0;
  for (int step = 0; step < kMaxPriceSteps; ++step) {
    const CostNetwork network = searcher.network(price);
    const CheapestChoice best = minimise(network, kMaxTrials);
    if (capacity_bytes == 0 || searcher.weight_bytes(best.choice) <= capacity_bytes) {
      DFSIM_ASSIGN_OR_RETURN(ShardSearch search, searcher.result(best));
      search.cost_ns = best.cost - price * static_cast<double>(search.weight_bytes);
      search.exact = search.exact && price == 0;
      return search;
    }
    if (step + 1 == kMaxPriceSteps) {
      return failed(fmt::format(
          "search: the weights need {} on each device even when memory is all that counts, {} are "
          "there; use more devices or a pipeline",
          format_bytes(searcher.weight_bytes(best.choice)), format_bytes(capacity_bytes)));
    }
    price = price == 0 ? 1e-6 : price * 2;
  }
  return failed("search: no step was taken");
}

StatusOr<CostNetwork> sharding_network(const Graph& graph, const DeviceMesh& mesh,
                                       const Platform& platform, const CostModel& model) {
  Searcher searcher(graph, mesh, platform);
  DFSIM_RETURN_IF_ERROR(searcher.prepare(platform, model));
  return searcher.network(0);
}

}  // namespace dfsim::inline partition
