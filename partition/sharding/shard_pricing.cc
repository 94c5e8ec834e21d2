// Prices all ways to split every distinct operator in one batch of the cost model: a graph of
// unconnected operators at shard shapes. Resharding is priced on the mesh's first groups and
// cached by pair of layouts.
#include "partition/sharding/shard_pricing.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "graphs/ir/graph_builder.h"
#include "graphs/ops/infer.h"
#include "opmodel/workload.h"
#include "partition/sharding/local_op.h"
#include "partition/sharding/reshard.h"

namespace dfsim::inline partition {
namespace {

// Every assignment of mesh axes to factors that can be split so.
std::vector<OpConfig> configs_of(const FactorMap& map, const DeviceMesh& mesh) {
  std::vector<OpConfig> configs = {{std::vector<AxisSet>(map.factors.size(), 0), 0}};
  for (size_t a = 0; a < mesh.axes().size(); ++a) {
    const size_t before = configs.size();
    for (size_t c = 0; c < before && mesh.axes()[a].size > 1; ++c) {
      for (size_t f = 0; f < map.factors.size(); ++f) {
        OpConfig next = configs[c];
        next.factors[f] |= AxisSet{1} << a;
        if (map.can_split(static_cast<int>(f), mesh.size(next.factors[f]))) {
          configs.push_back(std::move(next));
        }
      }
    }
  }
  return configs;
}

bool same_map(const FactorMap& a, const FactorMap& b) {
  const auto same_factor = [](const Factor& x, const Factor& y) {
    return x.extent == y.extent && x.reduction == y.reduction && x.halo == y.halo;
  };
  return a.inputs == b.inputs && a.outputs == b.outputs && a.shape_input == b.shape_input &&
         std::equal(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(),
                    same_factor);
}

// A graph of unconnected operators: every configuration of every distinct operator.
class ConfigPricer {
 public:
  ConfigPricer(const Graph& graph, const std::vector<FactorMap>& maps, const DeviceMesh& mesh,
               const Platform& platform)
      : graph_(graph), maps_(maps), mesh_(mesh), platform_(platform) {}

  StatusOr<std::vector<std::vector<OpConfig>>> run(const CostModel& model) {
    std::vector<size_t> like(graph_.op_count());  // the first operator that looks the same
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      DFSIM_ASSIGN_OR_RETURN(like[i], first_like(OpId(i)));
      configs_.emplace_back();
      if (like[i] == i) {
        configs_[i] = configs_of(maps_[i], mesh_);
        for (size_t c = 0; c < configs_[i].size(); ++c) {
          DFSIM_RETURN_IF_ERROR(add(OpId(i), c));
        }
      }
    }
    DFSIM_RETURN_IF_ERROR(price(model));
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      configs_[i] = configs_[like[i]];
    }
    return std::move(configs_);
  }

 private:
  StatusOr<size_t> first_like(OpId id) {
    DFSIM_ASSIGN_OR_RETURN(const OpWork work, op_work(graph_, id));
    OpDescriptor descriptor = describe_op(graph_, id, work);
    auto& candidates = by_hash_[descriptor.hash()];
    for (const size_t other : candidates) {
      if (descriptors_.at(other) == descriptor && same_map(maps_[other], maps_[id.index()])) {
        return other;
      }
    }
    candidates.push_back(id.index());
    descriptors_.emplace(id.index(), std::move(descriptor));
    return id.index();
  }

  Tensor shard(TensorId id, const TensorSharding& sharding) const {
    Tensor tensor = graph_.tensor(id);
    tensor.producer = OpId();
    tensor.is_input = false;
    tensor.is_output = false;
    tensor.storage_key = 0;
    if (sharding.used() != 0) {
      tensor.shape = local_shape(tensor.shape, sharding, mesh_);
    }
    return tensor;
  }

  Status add(OpId id, size_t c) {
    const FactorMap& map = maps_[id.index()];
    const std::vector<AxisSet>& factors = configs_[id.index()][c].factors;
    Op op = graph_.op(id);
    op.name = fmt::format("{}.{}", id.index(), c);
    const bool split =
        std::any_of(factors.begin(), factors.end(), [](AxisSet axes) { return axes != 0; });
    Shape first_output;
    if (split && op.outputs[0].valid()) {
      first_output =
          local_shape(graph_.tensor(op.outputs[0]).shape, output_sharding(map, factors, 0), mesh_);
      localise_attributes(map, factors, first_output, mesh_, &op);
    }
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i].valid()) {
        op.inputs[i] = add_input(op.inputs[i], map, factors, i, first_output, op.name);
      }
    }
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      if (op.outputs[o].valid()) {
        Tensor tensor = split ? shard(op.outputs[o], output_sharding(map, factors, o))
                              : shard(op.outputs[o], TensorSharding());
        tensor.name = fmt::format("{}.o{}", op.name, o);
        op.outputs[o] = builder_.add_tensor(std::move(tensor));
      }
    }
    priced_.emplace_back(id.index(), c);
    return builder_.add_op(std::move(op)).status();
  }

  TensorId add_input(TensorId source, const FactorMap& map, const std::vector<AxisSet>& factors,
                     size_t i, const Shape& first_output, const std::string& op) {
    const bool split = first_output.has_rank();
    Tensor tensor =
        split ? shard(source, input_sharding(map, factors, i)) : shard(source, TensorSharding());
    tensor.name = fmt::format("{}.i{}", op, i);
    for (size_t f = 0; split && f < factors.size(); ++f) {
      const int h = map.factors[f].halo;
      if (factors[f] != 0 && h >= 0 && map.halos[static_cast<size_t>(h)].input == i) {
        const Halo& halo = map.halos[static_cast<size_t>(h)];
        Dims dims = tensor.shape.dims();
        Dim& dim = dims[static_cast<size_t>(halo.dim)];
        dim = Dim(dim.extent() + halo.before + halo.after);
        tensor.shape = Shape(std::move(dims));
      }
    }
    const ConstValue* value = graph_.constant(source);
    const TensorId id = builder_.add_tensor(std::move(tensor));
    if (value != nullptr && split && map.shape_input == static_cast<int>(i)) {
      builder_.set_constant(id, {value->dtype, value->extents, first_output.extents(), {}});
    } else if (value != nullptr) {
      builder_.set_constant(id, *value);
    } else if (builder_.tensor(id).role == TensorRole::kActivation) {
      builder_.mark_input(id);
    }
    return id;
  }

  Status price(const CostModel& model) {
    DFSIM_ASSIGN_OR_RETURN(const Graph shards, builder_.build());
    std::vector<OpDescriptor> rows;
    std::vector<std::pair<size_t, size_t>> owners;
    for (size_t i = 0; i < shards.op_count(); ++i) {
      if (shards.op(OpId(i)).op_class != OpClass::kView) {
        DFSIM_ASSIGN_OR_RETURN(const OpWork work, op_work(shards, OpId(i)));
        rows.push_back(describe_op(shards, OpId(i), work));
        owners.push_back(priced_[i]);
      }
    }
    std::vector<OpCost> costs(rows.size());
    DFSIM_RETURN_IF_ERROR(model.predict(rows, platform_.device(mesh_.devices()[0]), costs));
    for (size_t r = 0; r < rows.size(); ++r) {
      configs_[owners[r].first][owners[r].second].time_ns = static_cast<double>(costs[r].time_ns);
    }
    return add_halos();
  }

  Status add_halos() {
    ReshardPricer pricer(mesh_, platform_);
    for (const auto& [i, c] : priced_) {
      const FactorMap& map = maps_[i];
      OpConfig& config = configs_[i][c];
      for (size_t f = 0; f < config.factors.size(); ++f) {
        const int h = map.factors[f].halo;
        if (config.factors[f] == 0 || h < 0) {
          continue;
        }
        const Halo& halo = map.halos[static_cast<size_t>(h)];
        const Tensor& tensor = graph_.tensor(graph_.op(OpId(i)).inputs[halo.input]);
        const Shape local =
            local_shape(tensor.shape, input_sharding(map, config.factors, halo.input), mesh_);
        const int64_t extent = local[halo.dim].extent();
        const Bytes bytes = dtype_bytes(tensor.dtype, local.elements()).value() /
                            std::max<int64_t>(1, extent) * (halo.before + halo.after);
        Op op;
        op.op_type = "HaloExchange";
        op.attributes.set("before", halo.before);
        op.attributes.set("after", halo.after);
        config.time_ns += pricer.collective_ns(op, config.factors[f], bytes);
      }
    }
    return ok_status();
  }

  const Graph& graph_;
  const std::vector<FactorMap>& maps_;
  const DeviceMesh& mesh_;
  const Platform& platform_;
  std::unordered_map<uint64_t, std::vector<size_t>> by_hash_;
  std::unordered_map<size_t, OpDescriptor> descriptors_;
  GraphBuilder builder_;
  std::vector<std::pair<size_t, size_t>> priced_;  // operator and configuration, by op of builder_
  std::vector<std::vector<OpConfig>> configs_;
};

}  // namespace

StatusOr<std::vector<std::vector<OpConfig>>> price_configs(const Graph& graph,
                                                           const std::vector<FactorMap>& maps,
                                                           const DeviceMesh& mesh,
                                                           const Platform& platform,
                                                           const CostModel& model) {
  return ConfigPricer(graph, maps, mesh, platform).run(model);
}

uint32_t ReshardPricer::id_of(const TensorSharding& sharding) {
  std::vector<AxisSet> key = sharding.dims;
  key.push_back(sharding.partial);
  return ids_.try_emplace(std::move(key), ids_.size()).first->second;
}

double ReshardPricer::collective_ns(const Op& op, AxisSet axes, Bytes bytes) {
  std::vector<DeviceId> group;
  for (const uint32_t rank : mesh_.group(0, axes)) {
    group.push_back(mesh_.devices()[rank]);
  }
  return static_cast<double>(collective_op_ns(op, bytes, groups_.of(group)));
}

double ReshardPricer::cost_ns(const Shape& shape, Bytes bytes, const TensorSharding& from,
                              const TensorSharding& to) {
  if (from == to) {
    return 0;
  }
  std::pair<Bytes, std::vector<int64_t>> tensor(bytes, shape.extents());
  if (last_ == nullptr || tensor != last_tensor_) {
    last_ = &known_[tensor];
    last_tensor_ = std::move(tensor);
  }
  const auto [it, is_new] = last_->try_emplace(uint64_t{id_of(from)} << 32 | id_of(to), 0);
  if (!is_new) {
    return it->second;
  }
  const DeviceSpec& device = platform_.device(mesh_.devices()[0]);
  TensorSharding now = from;
  double cost = 0;
  for (const ReshardStep& step : plan_reshard(from, to)) {
    const Bytes before = bytes / mesh_.size(now.used());
    now = after_step(now, step);
    const Bytes after = bytes / mesh_.size(now.used());
    if (step.kind == ReshardKind::kSlice) {
      cost += static_cast<double>(device.launch_overhead_ns) +
              2e9 * static_cast<double>(after) / std::max(1.0, device.memory_bytes_per_s);
    } else {
      Op op;
      op.op_type = reshard_op_type(step.kind);
      cost += collective_ns(op, step.axes, std::max(before, after));
    }
  }
  it->second = cost;
  return cost;
}

}  // namespace dfsim::inline partition
