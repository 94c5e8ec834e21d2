// Sharded graphs on the eight A100 of a DGX: simulated times.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "hardware/platform_loader.h"
#include "opmodel/sol.h"
#include "partition/plans/strategies.h"
#include "partition/sharding/spmd_program.h"
#include "sim/simulator.h"
#include "tests/partition/mesh_platform.h"
#include "tests/partition/test_graphs.h"

namespace dfsim {
namespace {

Platform spmd_dgx() {
  auto platform =
      load_platform(std::string(DFSIM_SOURCE_DIR) + "/hardware/platforms/nodes/dgx-a100.yaml");
  INFO(platform.status().message());
  REQUIRE(platform.ok());
  platform->runtime = RuntimeSpec();  // device time only: no host cost
  platform->collectives.clear();      // by the links' figures instead
  return std::move(platform).value();
}

struct Run {
  SpmdProgram program;
  SimResult result;
};

Run run_spmd(const Graph& graph, const Platform& platform, const DeviceMesh& mesh,
             const std::vector<ShardingSeed>& seeds, CollectiveMode mode) {
  const auto plan = propagate_sharding(graph, mesh, seeds);
  REQUIRE(plan.ok());
  const auto sharded = shard_graph(graph, mesh, *plan);
  REQUIRE(sharded.ok());
  auto program = make_spmd_program(*sharded, mesh, platform, *make_sol_model(), mode);
  INFO(program.status().message());
  REQUIRE(program.ok());
  Schedule schedule;
  schedule.order.resize(platform.devices.size());
  for (size_t t = 0; t < program->graph.task_count(); ++t) {
    schedule.placements.push_back({program->device_of[t], 0, 0});
    schedule.order[program->device_of[t].index()].emplace_back(t);
  }
  SimOptions options;
  options.queue_order = QueueOrder::kInOrder;
  auto result = simulate({program->graph, program->costs, platform}, schedule, options);
  INFO(result.status().message());
  REQUIRE(result.ok());
  return {std::move(program).value(), std::move(result).value()};
}

DeviceMesh mesh_on(const Platform& platform, std::vector<MeshAxis> axes) {
  auto mesh = DeviceMesh::make(platform, std::move(axes));
  REQUIRE(mesh.ok());
  return std::move(mesh).value();
}

TEST_CASE("a transformer layer, tensor parallel: formulas and flows agree, and it pays") {
  const Platform platform = spmd_dgx();
  const Graph graph = transformer_layer(8, 512, 2048, 16);
  const DeviceMesh one = mesh_on(platform, {{"tensor", 1}});
  const DeviceMesh eight = mesh_on(platform, {{"tensor", 8}});
  const auto seeds = tensor_parallel_seeds(graph, eight, 1);
  REQUIRE(seeds.ok());
  const Run single = run_spmd(graph, platform, one, {}, CollectiveMode::kModel);
  const Run model = run_spmd(graph, platform, eight, *seeds, CollectiveMode::kModel);
  const Run flow = run_spmd(graph, platform, eight, *seeds, CollectiveMode::kFlow);
  // Two all-reduces of 8 x 512 x 2048 floats over NVLink: 2 us latency, 300 GB/s, Rabenseifner.
  const double bytes = 8.0 * 512 * 2048 * 4;
  const double all_reduce_ns = 6 * 2000 + 2 * 7.0 / 8 * bytes / 300;
  CHECK(static_cast<double>(model.program.communication_ns) ==
        Approx(2 * all_reduce_ns).epsilon(1e-4));
  CHECK(static_cast<double>(flow.result.makespan_ns) ==
        Approx(static_cast<double>(model.result.makespan_ns)).epsilon(0.02));
  CHECK(flow.result.bytes_moved == 2 * 2 * 7 * 8 * 512 * 2048 * 4);
  // Products take an eighth, norms and residuals the whole.
  const double speed_up = static_cast<double>(single.result.makespan_ns) /
                          static_cast<double>(model.result.makespan_ns);
  INFO("speed-up " << speed_up);
  CHECK(speed_up > 2);
  CHECK(speed_up < 8);
}

TEST_CASE("data parallel inference has no communication, every device works the same time") {
  const Platform platform = spmd_dgx();
  const Graph graph = transformer_layer(8, 128, 1024, 16);
  const DeviceMesh mesh = mesh_on(platform, {{"data", 8}});
  const auto seeds = data_parallel_seeds(graph, mesh, 1);
  REQUIRE(seeds.ok());
  const Run parallel = run_spmd(graph, platform, mesh, *seeds, CollectiveMode::kFlow);
  CHECK(parallel.program.communication_ns == 0);
  CHECK(parallel.result.bytes_moved == 0);
  for (size_t d = 0; d < 8; ++d) {
    CHECK(parallel.result.devices[d].busy_ns == parallel.result.makespan_ns);
  }
}

TEST_CASE("a spatial split's halos move as neighbours' messages") {
  const Platform platform = spmd_dgx();
  const Graph graph = small_conv_net(1);
  const DeviceMesh mesh = mesh_on(platform, {{"space", 2}});
  ShardingSeed seed{tensor_named(graph, "x"), {{0, 0, 1, 0}}};
  const Run flow = run_spmd(graph, platform, mesh, {seed}, CollectiveMode::kFlow);
  // A row of 16 x 4 channels both ways, a row of 8 x 8 channels one way, then the gather of
  // 1 x 8 x 4 x 4 before the flattening, of which each device lacks half.
  CHECK(flow.result.bytes_moved == 4 * (2 * 16 * 4 + 8 * 8 + 8 * 4 * 4));
}

}  // namespace
}  // namespace dfsim
