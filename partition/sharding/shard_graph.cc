// Copies the graph at shard shapes and inserts what joins layouts that differ: collectives and
// slices of domain dfsim, halos of windows, lookups of split tables.
#include "partition/sharding/shard_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "graphs/ir/graph_builder.h"
#include "graphs/ops/infer.h"
#include "graphs/training/training_graph.h"
#include "partition/sharding/local_op.h"
#include "partition/sharding/lookup.h"
#include "partition/sharding/reshard.h"

namespace dfsim::inline partition {
namespace {

constexpr int kOurVersion = 1;  // of the domain dfsim

class Sharder {
 public:
  Sharder(const Graph& graph, const DeviceMesh& mesh, const ShardingPlan& plan)
      : graph_(graph), mesh_(mesh), plan_(plan), local_(graph.tensor_count()) {}

  StatusOr<ShardedGraph> run() {
    builder_.info() = graph_.info();
    for (const TensorId input : graph_.inputs()) {
      builder_.mark_input(leaf(input));
    }
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      DFSIM_RETURN_IF_ERROR(add_op(OpId(i)));
    }
    for (const TensorId output : graph_.outputs()) {
      builder_.mark_output(leaf(output));
    }
    ShardedGraph result;
    DFSIM_ASSIGN_OR_RETURN(result.graph, builder_.build());
    result.local = local_;
    result.report.conflicts = plan_.conflicts;
    DFSIM_RETURN_IF_ERROR(report(&result));
    return result;
  }

 private:
  const TensorSharding& final_sharding(TensorId id) const { return plan_.tensors[id.index()]; }

  // A copy of the tensor's description with the extents of a shard.
  Tensor shard_of(TensorId id, const TensorSharding& sharding) const {
    Tensor tensor = graph_.tensor(id);
    tensor.producer = OpId();
    tensor.is_input = false;
    tensor.is_output = false;
    if (sharding.used() != 0) {
      tensor.shape = local_shape(tensor.shape, sharding, mesh_);
    }
    return tensor;
  }

  // The shard of a tensor as it is kept; leaves come to be here.
  TensorId leaf(TensorId id) {
    TensorId& local = local_[id.index()];
    if (!local.valid()) {
      local = builder_.add_tensor(shard_of(id, final_sharding(id)));
      if (const ConstValue* value = graph_.constant(id)) {
        builder_.set_constant(local, *value);
      }
    }
    return local;
  }

  // Adds an op of domain dfsim on `input`; `shape` is its result's.
  StatusOr<TensorId> add_ours(std::string_view type, TensorId input, AxisSet axes, Shape shape,
                              const std::vector<std::pair<std::string, AttrValue>>& attributes,
                              TensorId second = TensorId()) {
    Op op;
    op.op_type = type;
    op.domain = "dfsim";
    op.version = kOurVersion;
    const bool local = type == "ShardSlice" || type == "KeepOnFirst" || type == "ShardIndices" ||
                       type == "MaskRows";
    op.op_class = local ? OpClass::kDataMovement : OpClass::kCollective;
    op.attributes.set("axes", static_cast<int64_t>(axes));
    op.attributes.set("group", mesh_.size(axes));
    for (const auto& [name, value] : attributes) {
      op.attributes.set(name, value);
    }
    Tensor result = builder_.tensor(input);
    result.producer = OpId();
    result.is_input = false;
    result.role = TensorRole::kActivation;
    result.storage_key = 0;
    result.shape = std::move(shape);
    op.inputs = {input};
    if (second.valid()) {
      op.inputs.push_back(second);
    }
    op.name = fmt::format("{}.{}", type, result.name);
    result.name = fmt::format("{}.{}", result.name, type);
    const TensorId output = builder_.add_tensor(std::move(result));
    op.outputs = {output};
    DFSIM_RETURN_IF_ERROR(builder_.add_op(std::move(op)).status());
    return output;
  }

  // Appends the steps from one sharding of source tensor `id` to another.
  StatusOr<TensorId> reshard(TensorId id, TensorId local, TensorSharding from,
                             const TensorSharding& to) {
    for (const ReshardStep& step : plan_reshard(from, to)) {
      const auto key = std::make_tuple(local.value(), static_cast<int>(step.kind), step.axes,
                                       step.dim, step.gather_dim);
      from = after_step(from, step);
      TensorId& done = steps_[key];  // several readers share a step
      if (!done.valid()) {
        std::vector<std::pair<std::string, AttrValue>> attributes;
        if (step.kind == ReshardKind::kAllToAll) {
          attributes.emplace_back("split_dim", int64_t{step.dim});
          attributes.emplace_back("gather_dim", int64_t{step.gather_dim});
        } else if (step.kind != ReshardKind::kAllReduce) {
          attributes.emplace_back("dim", int64_t{step.dim});
        }
        if (step.reduction != Reduction::kNone) {
          attributes.emplace_back("reduction", std::string(reduction_name(step.reduction)));
        }
        const Shape shape = local_shape(graph_.tensor(id).shape, from, mesh_);
        DFSIM_ASSIGN_OR_RETURN(
            done, add_ours(reshard_op_type(step.kind), local, step.axes, shape, attributes));
      }
      local = done;
    }
    return local;
  }

  StatusOr<TensorId> exchange(AxisSet axes, const Halo& halo, TensorId local) {
    if (halo.before == 0 && halo.after == 0) {
      return local;
    }
    Dims dims = builder_.tensor(local).shape.dims();
    Dim& dim = dims[static_cast<size_t>(halo.dim)];
    dim = Dim(dim.extent() + halo.before + halo.after);
    return add_ours("HaloExchange", local, axes, Shape(std::move(dims)),
                    {{"dim", int64_t{halo.dim}},
                     {"before", halo.before},
                     {"after", halo.after},
                     {"fill", std::string(halo.fill == HaloFill::kZero ? "zero" : "lowest")}});
  }

  // Input i of the op as its split needs it.
  StatusOr<TensorId> operand(OpId id, size_t i) {
    const FactorMap& map = plan_.maps[id.index()];
    const std::vector<AxisSet>& factors = plan_.op_factors[id.index()];
    const TensorId source = graph_.op(id).inputs[i];
    const TensorSharding wanted = input_sharding(map, factors, i);
    const auto pending = pending_.find(source);
    DFSIM_ASSIGN_OR_RETURN(
        TensorId local,
        reshard(source, leaf(source),
                pending != pending_.end() ? pending->second : final_sharding(source), wanted));
    for (size_t f = 0; f < factors.size(); ++f) {
      const int h = map.factors[f].halo;
      if (factors[f] != 0 && h >= 0 && map.halos[static_cast<size_t>(h)].input == i) {
        DFSIM_ASSIGN_OR_RETURN(local,
                               exchange(factors[f], map.halos[static_cast<size_t>(h)], local));
      }
    }
    AxisSet contracted = 0;
    for (size_t f = 0; f < factors.size(); ++f) {
      contracted |= map.kind(static_cast<int>(f)) == FactorKind::kContracted ? factors[f] : 0;
    }
    if (contracted != 0 &&
        std::find(map.addends.begin(), map.addends.end(), i) != map.addends.end()) {
      const Shape shape = builder_.tensor(local).shape;
      DFSIM_ASSIGN_OR_RETURN(local, add_ours("KeepOnFirst", local, contracted, shape, {}));
    }
    return local;
  }

  // Rows that indices name elsewhere become zero.
  StatusOr<TensorId> mask(const Lookup& lookup, AxisSet axes, TensorId rows, TensorId indices) {
    return add_ours("MaskRows", rows, axes, builder_.tensor(rows).shape,
                    {{"extent", lookup.extent}, {"dim", int64_t{lookup.dim}}}, indices);
  }

  // Indices, and the input that is masked by them, as a shard of the rows needs them.
  Status look_up(const Lookup& lookup, AxisSet axes, Op* op) {
    TensorId& indices = op->inputs[lookup.indices];
    if (lookup.masked_input >= 0) {
      TensorId& rows = op->inputs[static_cast<size_t>(lookup.masked_input)];
      DFSIM_ASSIGN_OR_RETURN(rows, mask(lookup, axes, rows, indices));
    }
    TensorId& own = own_rows_[{indices.value(), axes, lookup.extent}];
    if (!own.valid()) {
      const Shape shape = builder_.tensor(indices).shape;
      DFSIM_ASSIGN_OR_RETURN(
          own, add_ours("ShardIndices", indices, axes, shape, {{"extent", lookup.extent}}));
    }
    indices = own;
    return ok_status();
  }

  // A constant that names the extents of the shard instead of the whole.
  TensorId shape_constant(TensorId source, const Shape& shape) {
    Tensor tensor = graph_.tensor(source);
    tensor.producer = OpId();
    tensor.is_input = false;
    tensor.is_output = false;
    tensor.role = TensorRole::kConstant;
    tensor.name += ".shard";
    const TensorId id = builder_.add_tensor(std::move(tensor));
    const ConstValue* value = graph_.constant(source);
    builder_.set_constant(id, {value->dtype, value->extents, shape.extents(), {}});
    return id;
  }

  // A part of a gradient whose other part may be partial, too: the sum is reduced instead of both.
  bool may_wait(TensorId id, const TensorSharding& natural) const {
    const auto readers = graph_.consumers(id);
    return natural.partial != 0 && natural.reduction == Reduction::kSum && readers.size() == 1 &&
           !graph_.tensor(id).is_output && natural.dims == final_sharding(id).dims &&
           graph_.op(readers[0]).attributes.has(kSumAttribute);
  }

  // Whether the op adds two parts that lie alike and are partial over the same axes.
  bool adds_partial(OpId id) const {
    const Op& op = graph_.op(id);
    if (op.inputs.size() != 2 || !op.attributes.has(kSumAttribute)) {
      return false;
    }
    const auto a = pending_.find(op.inputs[0]);
    const auto b = pending_.find(op.inputs[1]);
    const TensorSharding out =
        output_sharding(plan_.maps[id.index()], plan_.op_factors[id.index()], 0);
    return a != pending_.end() && b != pending_.end() && a->second == b->second &&
           out.dims == a->second.dims;
  }

  Status add_op(OpId id) {
    const FactorMap& map = plan_.maps[id.index()];
    const std::vector<AxisSet>& factors = plan_.op_factors[id.index()];
    Op op = graph_.op(id);
    const bool split = plan_.split_axes(id) != 0;
    const bool partial_sum = adds_partial(id);
    Shape first_output;
    if (split && !op.outputs.empty() && op.outputs[0].valid()) {
      first_output =
          local_shape(graph_.tensor(op.outputs[0]).shape, output_sharding(map, factors, 0), mesh_);
      localise_attributes(map, factors, first_output, mesh_, &op);
    }
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i].valid()) {
        continue;
      }
      if (split && map.shape_input == static_cast<int>(i)) {
        op.inputs[i] = shape_constant(op.inputs[i], first_output);
      } else if (partial_sum) {
        op.inputs[i] = leaf(op.inputs[i]);
      } else {
        DFSIM_ASSIGN_OR_RETURN(op.inputs[i], operand(id, i));
      }
    }
    const std::optional<Lookup> lookup = find_lookup(graph_, id, map);
    const AxisSet rows = lookup ? factors[static_cast<size_t>(lookup->factor)] : 0;
    const TensorId indices = rows != 0 ? op.inputs[lookup->indices] : TensorId();
    if (rows != 0) {
      DFSIM_RETURN_IF_ERROR(look_up(*lookup, rows, &op));
    }
    std::vector<std::pair<TensorId, TensorSharding>> natural;  // by output
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      const TensorId source = op.outputs[o];
      natural.emplace_back(source, TensorSharding());
      if (source.valid()) {
        natural[o].second =
            partial_sum ? pending_.at(graph_.op(id).inputs[0]) : output_sharding(map, factors, o);
        op.outputs[o] = builder_.add_tensor(shard_of(source, natural[o].second));
        if (const ConstValue* value = graph_.constant(source);
            value != nullptr && natural[o].second.used() == 0) {
          builder_.set_constant(op.outputs[o], *value);
        }
      }
    }
    std::vector<TensorId> outputs = op.outputs;
    DFSIM_RETURN_IF_ERROR(builder_.add_op(std::move(op)).status());
    if (rows != 0 && lookup->masked_input < 0) {
      DFSIM_ASSIGN_OR_RETURN(outputs[0], mask(*lookup, rows, outputs[0], indices));
    }
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (outputs[o].valid()) {
        const TensorId source = natural[o].first;
        if (may_wait(source, natural[o].second)) {
          local_[source.index()] = outputs[o];
          pending_.emplace(source, natural[o].second);
          continue;
        }
        DFSIM_ASSIGN_OR_RETURN(
            local_[source.index()],
            reshard(source, outputs[o], natural[o].second, final_sharding(source)));
      }
    }
    return ok_status();
  }

  Status report(ShardedGraph* result) const {
    ShardingReport& report = result->report;
    const auto devices = static_cast<int64_t>(mesh_.device_count());
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      const FactorMap& map = plan_.maps[i];
      const int64_t copies = devices / mesh_.size(plan_.split_axes(OpId(i)));
      if (copies > 1) {
        auto& list = map.factors.empty() ? report.unsplittable : report.replicated;
        const Op& op = graph_.op(OpId(i));
        std::string name = fmt::format("{} '{}'", op.op_type, printable(op.name));
        list.push_back({OpId(i), std::move(name), copies, map.unsplittable});
      }
      DFSIM_ASSIGN_OR_RETURN(const OpWork work, op_work(graph_, OpId(i)));
      report.source_macs += work.macs;
      report.source_flops += work.flops;
    }
    DFSIM_RETURN_IF_ERROR(count_local_work(result));
    std::unordered_set<uint32_t> counted;  // storage keys; ~id for bytes of its own
    for (size_t t = 0; t < result->graph.tensor_count(); ++t) {
      const Tensor& tensor = result->graph.tensor(TensorId(t));
      const Bytes bytes = tensor.shape.is_static() ? tensor.bytes().value() : 0;
      const auto key = tensor.storage_key != 0 ? tensor.storage_key : ~static_cast<uint32_t>(t);
      if (tensor.role == TensorRole::kWeight && counted.insert(key).second) {
        report.weight_bytes += bytes;
      }
      report.input_bytes += tensor.is_input ? bytes : 0;
      report.output_bytes += tensor.is_output ? bytes : 0;
    }
    return ok_status();
  }

  Status count_local_work(ShardedGraph* result) const {
    ShardingReport& report = result->report;
    const Count devices(static_cast<int64_t>(mesh_.device_count()));
    for (size_t i = 0; i < result->graph.op_count(); ++i) {
      const Op& op = result->graph.op(OpId(i));
      if (op.domain == "dfsim") {
        if (op.op_class == OpClass::kCollective) {
          report.communications.push_back(communication(result->graph, OpId(i)));
        }
        continue;
      }
      DFSIM_ASSIGN_OR_RETURN(const OpWork work, op_work(result->graph, OpId(i)));
      report.all_macs += Count(work.macs) * devices;
      report.all_flops += Count(work.flops) * devices;
    }
    return ok_status();
  }

  Communication communication(const Graph& graph, OpId id) const {
    const Op& op = graph.op(id);
    const Tensor& input = graph.tensor(op.inputs[0]);
    const Tensor& output = graph.tensor(op.outputs[0]);
    Communication entry{id, static_cast<AxisSet>(op.attributes.int_or("axes", 0)), 0};
    if (op.op_type == "HaloExchange") {
      entry.bytes = output.bytes().value() - input.bytes().value();
    } else {
      entry.bytes = std::max(input.bytes().value(), output.bytes().value());
    }
    return entry;
  }

  const Graph& graph_;
  const DeviceMesh& mesh_;
  const ShardingPlan& plan_;
  GraphBuilder builder_;
  std::vector<TensorId> local_;
  std::map<TensorId, TensorSharding> pending_;  // left partial for the sum that reads them
  std::map<std::tuple<uint32_t, int, AxisSet, int, int>, TensorId> steps_;
  std::map<std::tuple<uint32_t, AxisSet, int64_t>, TensorId> own_rows_;  // ShardIndices
};

}  // namespace

StatusOr<ShardedGraph> shard_graph(const Graph& graph, const DeviceMesh& mesh,
                                   const ShardingPlan& plan) {
  return Sharder(graph, mesh, plan).run();
}

}  // namespace dfsim::inline partition
