// Enumerates the products of degrees for a number of devices and filters them by strategy;
// strategies are the rows of strategies.inc. Tensor parallelism stays within a node where there
// are several, because it communicates in every layer.
#include "partition/plans/parallel_degrees.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "hardware/route.h"
#include "partition/collectives/collectives.h"
#include "partition/plans/search.h"
#include "partition/plans/strategies.h"

namespace dfsim::inline partition {
namespace {

// The numbers of micro-batches to try.
std::vector<uint32_t> micro_batch_choices(const ParallelDegrees& degrees, int64_t batch,
                                          uint32_t given) {
  if (given != 0) {
    return {given};
  }
  std::vector<uint32_t> choices;
  for (const uint32_t factor : {1U, 2U, 4U}) {
    const int64_t count = int64_t{degrees.stages} * factor;
    if (degrees.stages > 1 && batch % count == 0 && batch / count % degrees.data == 0) {
      choices.push_back(static_cast<uint32_t>(count));
    }
  }
  return choices.empty() ? std::vector<uint32_t>{1} : choices;
}

}  // namespace

std::string degrees_name(const ParallelDegrees& degrees) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, int64_t size) {
    if (size > 1) {
      parts.push_back(fmt::format("{} {}", name, size));
    }
  };
  add("dp", degrees.data);
  add("tp", degrees.tensor);
  add("pp", degrees.stages);
  return parts.empty() ? "single" : join(parts, " x ") + (degrees.replicate ? " replicated" : "");
}

// Between nodes tensor parallelism is not worth its traffic; it is tried there only when it is all
// that was asked for.
bool any_degrees(const ParallelDegrees& degrees, int64_t /*devices*/, int64_t node) {
  return degrees.tensor <= node;
}

bool no_degrees(const ParallelDegrees& /*degrees*/, int64_t /*devices*/, int64_t /*node*/) {
  return false;
}

bool only_data_parallel(const ParallelDegrees& degrees, int64_t devices, int64_t node) {
  return degrees.data == devices && any_degrees(degrees, devices, node);
}

bool only_tensor_parallel(const ParallelDegrees& degrees, int64_t devices, int64_t /*node*/) {
  return degrees.tensor == devices;
}

bool only_pipeline(const ParallelDegrees& degrees, int64_t devices, int64_t node) {
  return degrees.stages == devices && any_degrees(degrees, devices, node);
}

bool several_kinds(const ParallelDegrees& degrees, int64_t devices, int64_t node) {
  const int kinds =
      (degrees.data > 1 ? 1 : 0) + (degrees.tensor > 1 ? 1 : 0) + (degrees.stages > 1 ? 1 : 0);
  return kinds > 1 && any_degrees(degrees, devices, node);
}

std::span<const Strategy> strategies() {
  static constexpr Strategy kStrategies[] = {
#define DFSIM_STRATEGY(name, takes, besides) {name, takes, Strategy::Besides::besides},
#include "partition/plans/strategies.inc"
#undef DFSIM_STRATEGY
  };
  return kStrategies;
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies()) {
    names.emplace_back(strategy.name);
  }
  return names;
}

StatusOr<const Strategy*> find_strategy(std::string_view name) {
  for (const Strategy& strategy : strategies()) {
    if (strategy.name == name) {
      return &strategy;
    }
  }
  return not_found(unknown_name_message("strategy", name, strategy_names()));
}

std::vector<ParallelDegrees> degrees_of(const std::string& strategy, int64_t devices, int64_t node,
                                        int64_t batch, uint32_t micro_batches) {
  std::vector<ParallelDegrees> all;
  const auto found = find_strategy(strategy);
  if (!found.ok()) {
    return all;
  }
  for (int64_t data = devices; data >= 1; --data) {
    for (int64_t tensor = devices / data; tensor >= 1; --tensor) {
      if (devices % (data * tensor) != 0) {
        continue;
      }
      ParallelDegrees degrees{
          data, tensor, static_cast<uint32_t>(devices / data / tensor), 1, PipelineSchedule::k1f1b,
          1,    false};
      if (!(*found)->takes(degrees, devices, node)) {
        continue;
      }
      std::vector<uint32_t> counts = micro_batch_choices(degrees, batch, micro_batches);
      if (node < devices) {
        counts = {counts.back()};
      }
      for (const uint32_t count : counts) {
        degrees.micro_batches = count;
        all.push_back(degrees);
        // As many micro-batches as replicas need at least, and a chain long enough to differ.
        if (degrees.stages == devices && degrees.stages > 2 && count >= degrees.stages) {
          all.push_back(degrees);
          all.back().replicate = true;
        }
      }
    }
  }
  return all;
}

std::vector<std::vector<MeshAxis>> search_meshes(int64_t devices, int64_t node) {
  std::vector<std::vector<MeshAxis>> meshes = {{{"shard", devices}}};
  const int64_t outer = node < devices ? devices / node : 2;
  if (devices % outer == 0 && devices / outer > 1) {
    meshes.push_back({{"outer", outer}, {"inner", devices / outer}});
  }
  return meshes;
}

int64_t node_size(const Platform& platform, int64_t devices) {
  const std::vector<DeviceId> all = compute_devices(platform);
  const auto used =
      static_cast<size_t>(std::clamp<int64_t>(devices, 1, static_cast<int64_t>(all.size())));
  const RouteTable routes(platform);
  const auto local = group_costs(platform, routes, std::span(all).first(used)).local_ranks;
  return local > 1 ? local : static_cast<int64_t>(used);
}

StatusOr<PlanSpec> searched_spec(const std::vector<MeshAxis>& mesh, const Graph& graph,
                                 const Platform& platform, const CostModel& model) {
  PlanSpec spec;
  spec.mesh = mesh;
  spec.propagate = false;
  std::vector<std::string> sizes;
  for (const MeshAxis& axis : mesh) {
    sizes.push_back(std::to_string(axis.size));
  }
  spec.name = fmt::format("search {}", join(sizes, " x "));
  DFSIM_ASSIGN_OR_RETURN(const DeviceMesh devices, DeviceMesh::make(platform, mesh));
  DFSIM_ASSIGN_OR_RETURN(ShardSearch found,
                         search_sharding(graph, devices, platform, model,
                                         platform.device(devices.devices()[0]).memory_bytes));
  spec.seeds = std::move(found.seeds);
  spec.splits = std::move(found.splits);
  return spec;
}

StatusOr<PlanSpec> uneven_spec(const Graph& graph, const Platform& platform,
                               const CostModel& model) {
  PlanSpec spec;
  spec.name = "uneven";
  spec.mesh = {{"device", 1}};
  DFSIM_ASSIGN_OR_RETURN(spec.uneven,
                         find_uneven_ops(graph, platform, compute_devices(platform)[0], model));
  if (spec.uneven.empty()) {
    return invalid_input(
        "uneven: no operator is done sooner with a part of it on an unlike device; the links cost "
        "more than the help is worth, or there is no such device");
  }
  return spec;
}

int64_t batch_of(const Graph& graph) {
  for (const TensorId input : graph.inputs()) {
    const Shape& shape = graph.tensor(input).shape;
    if (shape.is_static() && shape.rank() > 0) {
      return shape[0].extent();
    }
  }
  return 0;
}

StatusOr<PlanSpec> degrees_spec(const ParallelDegrees& degrees, const Graph& graph,
                                const Platform& platform) {
  PlanSpec spec;
  spec.name = degrees_name(degrees);
  spec.mesh = {{"data", degrees.data}, {"tensor", degrees.tensor}};
  spec.groups = degrees.stages;
  spec.micro_batches = degrees.micro_batches;
  spec.schedule = degrees.schedule;
  spec.chunks = degrees.stages > 1 ? degrees.chunks : 1;
  spec.replicate_stages = degrees.replicate;
  DFSIM_ASSIGN_OR_RETURN(const DeviceMesh mesh, DeviceMesh::make(platform, spec.mesh));
  if (degrees.data > 1) {
    DFSIM_ASSIGN_OR_RETURN(spec.seeds, data_parallel_seeds(graph, mesh, 1));
  }
  if (degrees.tensor > 1) {
    DFSIM_ASSIGN_OR_RETURN(const auto columns,
                           tensor_parallel_seeds(graph, mesh, 2, &spec.kept_whole));
    spec.seeds.insert(spec.seeds.end(), columns.begin(), columns.end());
  }
  return spec;
}

}  // namespace dfsim::inline partition
