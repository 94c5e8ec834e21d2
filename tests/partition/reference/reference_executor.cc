#include "tests/partition/reference/reference_executor.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "base/rng.h"

namespace dfsim {

RefTensor cut(const RefTensor& x, int dim, int64_t parts, int64_t which) {
  const auto d = static_cast<size_t>(dim);
  RefTensor part;
  part.extents = x.extents;
  part.extents[d] /= parts;
  part = RefTensor(part.extents);
  for_each_index(part.extents, [&](const Index& index) {
    Index from = index;
    from[d] += which * part.extents[d];
    part[index] = x[from];
  });
  return part;
}

RefTensor join_parts(const std::vector<RefTensor>& parts, int dim) {
  const auto d = static_cast<size_t>(dim);
  Index extents = parts[0].extents;
  extents[d] = 0;
  for (const RefTensor& part : parts) {
    extents[d] += part.extents[d];
  }
  RefTensor whole(extents);
  int64_t offset = 0;
  for (const RefTensor& part : parts) {
    for_each_index(part.extents, [&](const Index& index) {
      Index to = index;
      to[d] += offset;
      whole[to] = part[index];
    });
    offset += part.extents[d];
  }
  return whole;
}

std::vector<RefTensor> run_reference_op(const Op& op, const std::vector<RefTensor>& inputs,
                                        const std::vector<Index>& output_extents) {
  std::vector<RefTensor> outputs;
  for (const Index& extents : output_extents) {
    outputs.emplace_back(extents);
  }
  if (!run_runtime_op(op, inputs, outputs) && !run_gradient_op(op, inputs, outputs) &&
      !run_layout_op(op, inputs, outputs) && !run_norm_op(op, inputs, outputs) &&
      !run_attention_op(op, inputs, outputs) && !run_compute_op(op, inputs, outputs)) {
    throw std::runtime_error("the reference executor does not know " + op.op_type);
  }
  return outputs;
}

namespace {

std::vector<Index> extents_of(const Graph& graph, const std::vector<TensorId>& ids) {
  std::vector<Index> extents;
  for (const TensorId id : ids) {
    extents.push_back(id.valid() ? graph.tensor(id).shape.extents() : Index{0});
  }
  return extents;
}

std::vector<RefTensor> operands(const Op& op, const std::vector<RefTensor>& values) {
  std::vector<RefTensor> inputs;
  for (const TensorId id : op.inputs) {
    inputs.push_back(id.valid() ? values[id.index()] : RefTensor(Index{0}));
  }
  return inputs;
}

double reduce(const std::string& how, const std::vector<double>& parts) {
  double result = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    result = how == "max"    ? std::max(result, parts[i])
             : how == "min"  ? std::min(result, parts[i])
             : how == "prod" ? result * parts[i]
                             : result + parts[i];
  }
  return how == "mean" ? result / static_cast<double>(parts.size()) : result;
}

// Returns the result of the member at `position` from the shards of all members, in group order.
RefTensor communicate(const Op& op, const std::vector<RefTensor>& group, int64_t position) {
  const auto ways = static_cast<int64_t>(group.size());
  const RefTensor& own = group[static_cast<size_t>(position)];
  const auto dim = static_cast<int>(op.attributes.int_or("dim", 0));
  if (op.op_type == "ShardSlice") {
    return cut(own, dim, ways, position);
  }
  if (op.op_type == "KeepOnFirst") {
    return position == 0 ? own : RefTensor(own.extents);
  }
  if (op.op_type == "AllGather") {
    return join_parts(group, dim);
  }
  if (op.op_type == "AllToAll") {
    std::vector<RefTensor> parts;
    for (const RefTensor& member : group) {
      parts.push_back(
          cut(member, static_cast<int>(op.attributes.int_or("split_dim", 0)), ways, position));
    }
    return join_parts(parts, static_cast<int>(op.attributes.int_or("gather_dim", 0)));
  }
  if (op.op_type == "HaloExchange") {
    const auto d = static_cast<size_t>(dim);
    const int64_t before = op.attributes.int_or("before", 0);
    const double fill = op.attributes.string_or("fill", "") == "lowest"
                            ? -std::numeric_limits<double>::infinity()
                            : 0.0;
    const RefTensor whole = join_parts(group, dim);
    Index extents = own.extents;
    extents[d] += before + op.attributes.int_or("after", 0);
    RefTensor padded(extents);
    for_each_index(extents, [&](const Index& index) {
      Index from = index;
      from[d] += position * own.extents[d] - before;
      const bool inside = from[d] >= 0 && from[d] < whole.extents[d];
      padded[index] = inside ? whole[from] : fill;
    });
    return padded;
  }
  // AllReduce and ReduceScatter.
  RefTensor total(own.extents);
  for (size_t i = 0; i < total.values.size(); ++i) {
    std::vector<double> parts;
    for (const RefTensor& member : group) {
      parts.push_back(member.values[i]);
    }
    total.values[i] = reduce(op.attributes.string_or("reduction", "none"), parts);
  }
  return op.op_type == "ReduceScatter" ? cut(total, dim, ways, position) : total;
}

// The position of an index into `extent` rows within the run of rows that the member at `position`
// of `ways` has; -1 if another member has the row.
int64_t own_row(double index, int64_t extent, int64_t ways, int64_t position) {
  const auto row = static_cast<int64_t>(index) + (index < 0 ? extent : 0);
  const int64_t run = extent / ways;
  return row / run == position ? row % run : -1;
}

RefTensor look_up(const Op& op, const std::vector<RefTensor>& inputs, int64_t ways,
                  int64_t position) {
  const int64_t extent = op.attributes.int_or("extent", 0);
  RefTensor result = inputs[0];
  if (op.op_type == "ShardIndices") {
    for (double& index : result.values) {
      index = static_cast<double>(std::max<int64_t>(0, own_row(index, extent, ways, position)));
    }
    return result;
  }
  const auto dim = op.attributes.int_or("dim", 0);
  for_each_index(result.extents, [&](const Index& index) {
    const auto first = index.begin() + dim;
    const auto rank = static_cast<std::ptrdiff_t>(inputs[1].extents.size());
    if (own_row(inputs[1][Index(first, first + rank)], extent, ways, position) < 0) {
      result[index] = 0;
    }
  });
  return result;
}

RefTensor shard(const RefTensor& whole, const TensorSharding& sharding, const DeviceMesh& mesh,
                size_t rank) {
  RefTensor part = whole;
  for (size_t dim = 0; dim < sharding.dims.size(); ++dim) {
    part = cut(part, static_cast<int>(dim), mesh.size(sharding.dims[dim]),
               mesh.position(rank, sharding.dims[dim]));
  }
  return part;
}

}  // namespace

std::vector<RefTensor> make_feeds(const Graph& graph, uint64_t seed) {
  Rng rng(seed);
  std::vector<RefTensor> feeds(graph.tensor_count());
  for (size_t t = 0; t < graph.tensor_count(); ++t) {
    const Tensor& tensor = graph.tensor(TensorId(t));
    if (tensor.producer.valid()) {
      continue;
    }
    feeds[t] = RefTensor(tensor.shape.extents());
    const ConstValue* constant = graph.constant(TensorId(t));
    for (size_t i = 0; i < feeds[t].values.size(); ++i) {
      // Indices of 0 and 1 are inside every axis that tests index.
      feeds[t].values[i] = constant != nullptr         ? constant->as_double(i)
                           : is_floating(tensor.dtype) ? static_cast<double>(rng.below(7)) - 3
                                                       : static_cast<double>(rng.below(2));
    }
  }
  return feeds;
}

std::vector<RefTensor> run_reference(const Graph& graph, std::vector<RefTensor> feeds) {
  for (const Op& op : graph.ops()) {
    const auto results = run_reference_op(op, operands(op, feeds), extents_of(graph, op.outputs));
    for (size_t o = 0; o < results.size(); ++o) {
      if (op.outputs[o].valid()) {
        feeds[op.outputs[o].index()] = results[o];
      }
    }
  }
  return feeds;
}

std::vector<RefTensor> run_sharded(const Graph& source, const DeviceMesh& mesh,
                                   const ShardingPlan& plan, const ShardedGraph& sharded,
                                   const std::vector<RefTensor>& feeds, bool* replicas_agree) {
  const size_t ranks = mesh.device_count();
  const Graph& graph = sharded.graph;
  const std::vector<RefTensor> constants = make_feeds(graph, 0);  // those that sharding added
  std::vector<std::vector<RefTensor>> values(ranks, constants);
  for (size_t t = 0; t < source.tensor_count(); ++t) {
    const TensorId local = sharded.local[t];
    if (!source.tensor(TensorId(t)).producer.valid() && local.valid()) {
      for (size_t rank = 0; rank < ranks; ++rank) {
        values[rank][local.index()] = shard(feeds[t], plan.tensors[t], mesh, rank);
      }
    }
  }
  for (const Op& op : graph.ops()) {
    std::vector<std::vector<RefTensor>> results(ranks);
    for (size_t rank = 0; rank < ranks; ++rank) {
      if (op.domain != "dfsim") {
        results[rank] =
            run_reference_op(op, operands(op, values[rank]), extents_of(graph, op.outputs));
        continue;
      }
      const auto axes = static_cast<AxisSet>(op.attributes.int_or("axes", 0));
      if (op.op_type == "ShardIndices" || op.op_type == "MaskRows") {
        results[rank] = {
            look_up(op, operands(op, values[rank]), mesh.size(axes), mesh.position(rank, axes))};
        continue;
      }
      std::vector<RefTensor> group;
      for (const uint32_t member : mesh.group(rank, axes)) {
        group.push_back(values[member][op.inputs[0].index()]);
      }
      results[rank] = {communicate(op, group, mesh.position(rank, axes))};
    }
    for (size_t rank = 0; rank < ranks; ++rank) {
      for (size_t o = 0; o < op.outputs.size(); ++o) {
        if (op.outputs[o].valid()) {
          // The graph's shapes must be those of the values.
          if (results[rank][o].extents != graph.tensor(op.outputs[o]).shape.extents()) {
            throw std::runtime_error(op.name + ": a shard has another shape than the graph says");
          }
          values[rank][op.outputs[o].index()] = results[rank][o];
        }
      }
    }
  }
  std::vector<RefTensor> outputs;
  *replicas_agree = true;
  for (const TensorId id : source.outputs()) {
    const TensorSharding& sharding = plan.tensors[id.index()];
    RefTensor whole(source.tensor(id).shape.extents());
    std::vector<bool> written(whole.values.size(), false);
    for (size_t rank = 0; rank < ranks; ++rank) {
      const RefTensor& part = values[rank][sharded.local[id.index()].index()];
      for_each_index(part.extents, [&](const Index& index) {
        Index to = index;
        for (size_t dim = 0; dim < to.size(); ++dim) {
          to[dim] += mesh.position(rank, sharding.dims[dim]) * part.extents[dim];
        }
        const size_t at = whole.position(to);
        *replicas_agree = *replicas_agree && (!written[at] || whole.values[at] == part[index]);
        whole.values[at] = part[index];
        written[at] = true;
      });
    }
    *replicas_agree =
        *replicas_agree && std::all_of(written.begin(), written.end(), [](bool w) { return w; });
    outputs.push_back(std::move(whole));
  }
  return outputs;
}

}  // namespace dfsim
