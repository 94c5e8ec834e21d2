// Alternates forward and backward sweeps over the operators until no sharding changes. Forward
// carries cuts from operands to results by the operator's factors; backward asks producers for
// what consumers want, where that costs no communication. Seeds never change.
#include "partition/sharding/propagate.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "graphs/ops/factors/factors.h"

namespace dfsim::inline partition {
namespace {

TensorSharding cuts_of(const std::vector<FactorDim>& dims, const std::vector<AxisSet>& factors) {
  TensorSharding sharding{std::vector<AxisSet>(dims.size(), 0), 0, Reduction::kNone};
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].factor != FactorDim::kWhole) {
      sharding.dims[i] = factors[static_cast<size_t>(dims[i].factor)];
    }
  }
  return sharding;
}

class Propagator {
 public:
  Propagator(const Graph& graph, const DeviceMesh& mesh) : graph_(graph), mesh_(mesh) {
    for (const Tensor& tensor : graph.tensors()) {
      plan_.tensors.push_back(replicated(tensor.shape));
    }
    for (size_t i = 0; i < graph.op_count(); ++i) {
      plan_.maps.push_back(op_factors(graph, OpId(i)));
      plan_.op_factors.emplace_back(plan_.maps.back().factors.size(), 0);
    }
    fixed_.resize(graph.tensor_count(), false);
  }

  Status seed(const ShardingSeed& seed) {
    const Tensor& tensor = graph_.tensor(seed.tensor);
    const std::string place = fmt::format("tensor '{}'", printable(tensor.name));
    DFSIM_RETURN_IF_ERROR(check_sharding(seed.sharding, tensor.shape, mesh_, place));
    if (seed.sharding.partial != 0) {
      return invalid_input(place +
                           ": a given sharding cannot be partial; leave partial sums to the "
                           "operators that make them");
    }
    if (tensor.role == TensorRole::kConstant && seed.sharding.used() != 0) {
      return invalid_input(place + ": a constant stays whole; shard a weight or an activation");
    }
    if (fixed_[seed.tensor.index()]) {
      return invalid_input(place + ": has two given shardings; keep one of them");
    }
    fixed_[seed.tensor.index()] = true;
    plan_.tensors[seed.tensor.index()] = seed.sharding;
    return ok_status();
  }

  Status split(const OpSplit& split) {
    const Op& op = graph_.op(split.op);
    const FactorMap& map = plan_.maps[split.op.index()];
    const std::string place = fmt::format("operator '{}'", printable(op.name));
    if (split.factors.size() != map.factors.size()) {
      return invalid_input(fmt::format("{}: {} factors are given, it has {}", place,
                                       split.factors.size(), map.factors.size()));
    }
    AxisSet seen = 0;
    for (size_t f = 0; f < map.factors.size(); ++f) {
      const AxisSet axes = split.factors[f];
      if ((axes & seen) != 0 || axes >> mesh_.axes().size() != 0) {
        return invalid_input(place +
                             ": a mesh axis splits two of its factors, or is none of the mesh");
      }
      seen |= axes;
      if (axes != 0 && !map.can_split(static_cast<int>(f), mesh_.size(axes))) {
        return invalid_input(fmt::format(
            "{}: its factor {} of {} cannot be split over the {} devices of {}; choose another "
            "factor or number of devices",
            place, map.factors[f].label, map.factors[f].extent, mesh_.size(axes),
            mesh_.names(axes)));
      }
    }
    fixed_ops_[split.op] = split.factors;
    return ok_status();
  }

  ShardingPlan run() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (size_t i = 0; i < graph_.op_count(); ++i) {
        changed = sweep_forward(OpId(i)) || changed;
      }
      for (size_t i = graph_.op_count(); i-- > 0;) {
        changed = sweep_backward(OpId(i)) || changed;
      }
    }
    settle();
    return std::move(plan_);
  }

 private:
  TensorSharding& sharding(TensorId id) { return plan_.tensors[id.index()]; }
  bool is_leaf(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    return !tensor.producer.valid() && tensor.role != TensorRole::kConstant;
  }

  // Bytes that each operand puts behind its cuts, by mesh axis and factor. Cuts of whole dimensions
  // vote for nothing.
  using Votes = std::vector<std::map<int, double>>;
  void vote(Votes& votes, const std::vector<FactorDim>& dims, TensorId id) {
    const double weight = static_cast<double>(graph_.tensor(id).bytes().value());
    for (size_t i = 0; i < dims.size(); ++i) {
      for (size_t a = 0; dims[i].factor != FactorDim::kWhole && a < votes.size(); ++a) {
        if ((sharding(id).dims[i] >> a & 1) != 0) {
          votes[a][dims[i].factor] += weight;
        }
      }
    }
  }

  std::vector<AxisSet> assign(OpId id) {
    const Op& op = graph_.op(id);
    const FactorMap& map = plan_.maps[id.index()];
    std::vector<AxisSet> factors(map.factors.size(), 0);
    if (factors.empty()) {
      return factors;
    }
    if (const auto given = fixed_ops_.find(id); given != fixed_ops_.end()) {
      return given->second;
    }
    Votes votes(mesh_.axes().size());
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i].valid()) {
        vote(votes, map.inputs[i], op.inputs[i]);
      }
    }
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      if (op.outputs[o].valid()) {
        vote(votes, map.outputs[o], op.outputs[o]);
      }
    }
    for (size_t a = 0; a < votes.size(); ++a) {
      std::vector<std::pair<int, double>> order(votes[a].begin(), votes[a].end());
      std::stable_sort(order.begin(), order.end(),
                       [](const auto& x, const auto& y) { return x.second > y.second; });
      for (const auto& [factor, weight] : order) {
        AxisSet& axes = factors[static_cast<size_t>(factor)];
        const AxisSet wanted = axes | AxisSet{1} << a;
        if (map.can_split(factor, mesh_.size(wanted))) {
          axes = wanted;
          break;
        }
      }
    }
    return factors;
  }

  // Adds the cuts of `wanted` that the tensor has room for. Returns whether there were any.
  bool extend(TensorId id, const TensorSharding& wanted) {
    if (fixed_[id.index()]) {
      return false;
    }
    TensorSharding& now = sharding(id);
    const TensorSharding before = now;
    for (size_t i = 0; i < now.dims.size(); ++i) {
      const AxisSet next = now.dims[i] | (wanted.dims[i] & ~now.used());
      const int64_t extent = graph_.tensor(id).shape[static_cast<int>(i)].extent();
      if (extent % mesh_.size(next) == 0) {
        now.dims[i] = next;
      }
    }
    return !(now == before);
  }

  bool sweep_forward(OpId id) {
    const Op& op = graph_.op(id);
    const FactorMap& map = plan_.maps[id.index()];
    const std::vector<AxisSet> factors = assign(id);
    bool changed = false;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i].valid() && is_leaf(op.inputs[i])) {
        changed = extend(op.inputs[i], input_sharding(map, factors, i)) || changed;
      }
    }
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      if (op.outputs[o].valid()) {
        changed = extend(op.outputs[o], output_sharding(map, factors, o)) || changed;
      }
    }
    return changed;
  }

  bool sweep_backward(OpId id) {
    const Op& op = graph_.op(id);
    const FactorMap& map = plan_.maps[id.index()];
    const std::vector<AxisSet> factors = assign(id);
    bool changed = false;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const TensorId input = op.inputs[i];
      if (!input.valid() || !graph_.tensor(input).producer.valid()) {
        continue;
      }
      TensorSharding wanted = input_sharding(map, factors, i);
      for (size_t dim = 0; dim < wanted.dims.size(); ++dim) {
        wanted.dims[dim] &= ~sharding(input).dims[dim];
        if (wanted.dims[dim] != 0 && !welcome(input, static_cast<int>(dim), wanted.dims[dim])) {
          wanted.dims[dim] = 0;
        }
      }
      changed = extend(input, wanted) || changed;
    }
    return changed;
  }

  // Whether the producer can cut that dimension for nothing, and every reader can use it.
  bool welcome(TensorId id, int dim, AxisSet axes) {
    const OpId producer = graph_.tensor(id).producer;
    const Op& op = graph_.op(producer);
    const FactorMap& map = plan_.maps[producer.index()];
    const std::vector<AxisSet> factors = assign(producer);
    const auto output = static_cast<size_t>(std::find(op.outputs.begin(), op.outputs.end(), id) -
                                            op.outputs.begin());
    const bool partial = (output_sharding(map, factors, output).partial & axes) == axes;
    const int factor = map.outputs[output][static_cast<size_t>(dim)].factor;
    AxisSet used = 0;
    for (const AxisSet split : factors) {
      used |= split;
    }
    const bool native =
        factor != FactorDim::kWhole && (used & axes) == 0 &&
        map.can_split(factor, mesh_.size(factors[static_cast<size_t>(factor)] | axes));
    if (!partial && !native) {
      return false;
    }
    for (const OpId reader : graph_.consumers(id)) {
      const Op& reading = graph_.op(reader);
      for (size_t i = 0; i < reading.inputs.size(); ++i) {
        if (reading.inputs[i] == id &&
            plan_.maps[reader.index()].inputs[i][static_cast<size_t>(dim)].factor ==
                FactorDim::kWhole) {
          return false;
        }
      }
    }
    return true;
  }

  // The final split of every op, in order, and from it the final sharding of every tensor: as it
  // comes out, but for axes over which a partial result is scattered.
  void settle() {
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      const Op& op = graph_.op(OpId(i));
      const FactorMap& map = plan_.maps[i];
      plan_.op_factors[i] = assign(OpId(i));
      for (size_t o = 0; o < op.outputs.size(); ++o) {
        if (!op.outputs[o].valid() || fixed_[op.outputs[o].index()]) {
          continue;
        }
        TensorSharding natural = output_sharding(map, plan_.op_factors[i], o);
        for (size_t dim = 0; dim < natural.dims.size(); ++dim) {
          const AxisSet next =
              natural.dims[dim] | (sharding(op.outputs[o]).dims[dim] & natural.partial);
          const int64_t extent = graph_.tensor(op.outputs[o]).shape[static_cast<int>(dim)].extent();
          natural.dims[dim] = extent % mesh_.size(next) == 0 ? next : natural.dims[dim];
        }
        natural.partial = 0;
        natural.reduction = Reduction::kNone;
        sharding(op.outputs[o]) = std::move(natural);
      }
    }
    for (size_t t = 0; t < graph_.tensor_count(); ++t) {
      if (is_leaf(TensorId(t)) && !fixed_[t]) {
        settle_leaf(TensorId(t));
      }
    }
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      report_conflicts(OpId(i));
    }
  }

  // A weight is kept as all of its readers want it; what they disagree on stays whole, so that each
  // can cut its own part without communication.
  void settle_leaf(TensorId id) {
    TensorSharding& leaf = sharding(id);
    bool first = true;
    for (const OpId reader : graph_.consumers(id)) {
      const Op& op = graph_.op(reader);
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        if (op.inputs[i] != id) {
          continue;
        }
        const TensorSharding wanted =
            input_sharding(plan_.maps[reader.index()], plan_.op_factors[reader.index()], i);
        for (size_t dim = 0; dim < leaf.dims.size(); ++dim) {
          const bool same = first || leaf.dims[dim] == wanted.dims[dim];
          leaf.dims[dim] = same ? wanted.dims[dim] : 0;
        }
        first = false;
      }
    }
  }

  void report_conflicts(OpId id) {
    const Op& op = graph_.op(id);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i].valid()) {
        continue;
      }
      const TensorSharding wanted =
          input_sharding(plan_.maps[id.index()], plan_.op_factors[id.index()], i);
      const TensorSharding& now = sharding(op.inputs[i]);
      AxisSet lost = 0;
      for (size_t dim = 0; dim < now.dims.size(); ++dim) {
        lost |= now.dims[dim] & ~wanted.dims[dim];
      }
      if (lost != 0) {
        plan_.conflicts.push_back(
            {id, fmt::format("{} '{}': input {} '{}' lies as {}, the operator needs {}",
                             printable(op.op_type, 40), printable(op.name), i,
                             printable(graph_.tensor(op.inputs[i]).name),
                             format_sharding(now, mesh_), format_sharding(wanted, mesh_))});
      }
    }
  }

  const Graph& graph_;
  const DeviceMesh& mesh_;
  ShardingPlan plan_;
  std::vector<bool> fixed_;
  std::unordered_map<OpId, std::vector<AxisSet>> fixed_ops_;
};

}  // namespace

AxisSet ShardingPlan::split_axes(OpId op) const {
  AxisSet all = 0;
  for (const AxisSet axes : op_factors[op.index()]) {
    all |= axes;
  }
  return all;
}

TensorSharding input_sharding(const FactorMap& map, const std::vector<AxisSet>& factors, size_t i) {
  return cuts_of(map.inputs[i], factors);
}

TensorSharding output_sharding(const FactorMap& map, const std::vector<AxisSet>& factors,
                               size_t o) {
  TensorSharding sharding = cuts_of(map.outputs[o], factors);
  for (size_t f = 0; f < factors.size(); ++f) {
    if (factors[f] != 0 && !carries(map.outputs[o], static_cast<int>(f))) {
      sharding.partial |= factors[f];
      sharding.reduction = map.factors[f].reduction;
    }
  }
  return sharding;
}

StatusOr<ShardingPlan> propagate_sharding(const Graph& graph, const DeviceMesh& mesh,
                                          const std::vector<ShardingSeed>& seeds,
                                          const std::vector<OpSplit>& splits) {
  Propagator propagator(graph, mesh);
  for (const OpSplit& split : splits) {
    DFSIM_RETURN_IF_ERROR(propagator.split(split));
  }
  for (const ShardingSeed& seed : seeds) {
    DFSIM_RETURN_IF_ERROR(propagator.seed(seed));
  }
  return propagator.run();
}

}  // namespace dfsim::inline partition
