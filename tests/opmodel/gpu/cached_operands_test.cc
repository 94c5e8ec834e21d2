// Operands that a GPU's last-level cache keeps, counted by hand.
#include "opmodel/cached_operands.h"

#include <catch2/catch.hpp>

namespace dfsim {
namespace {

// 100 units, so 2 TB/s from the cache; 1 TB/s from memory; 10 MB of cache.
DeviceSpec cached_board() {
  DeviceSpec gpu;
  gpu.type = DeviceType::kGpu;
  gpu.compute_units = 100;
  gpu.memory_bytes_per_s = 1e12;
  gpu.sustained_memory_bytes_per_s = 1e12;
  gpu.l2_bytes = 10'000'000;
  gpu.cost_model = "prior";
  return gpu;
}

OpCost memory_prior(TimeNs time_ns) {
  OpCost cost;
  cost.time_ns = time_ns;
  cost.low_ns = time_ns / 2;
  cost.high_ns = time_ns * 2;
  cost.source = CostSource::kPrior;
  cost.bound = Bound::kMemory;
  return cost;
}

// One operator of 8 MB whose operand of 4 MB was made `distance` bytes before.
Workload rereading(Bytes distance) {
  Workload workload;
  OpDescriptor op;
  op.work.bytes_read = 8'000'000;
  op.dtype = DType::kFloat16;
  workload.rows = {op};
  workload.rereads = {{{4'000'000, distance}}};
  return workload;
}

OpCost cached_cost(OpCost cost, Bytes distance, const DeviceSpec& device) {
  Platform platform;
  platform.devices = {device};
  CostTable costs(1, 1);
  costs.at(0, DeviceId(0)) = cost;
  apply_cached_operands(rereading(distance), platform, &costs);
  return costs.at(0, DeviceId(0));
}

TEST_CASE("CachedOperands: an operand in the cache comes at its rate") {
  CHECK(cached_time_share(8e6, 4e6, cached_board()) ==
        Approx(0.75));  // half of the bytes at twice the rate
  CHECK(kept_bytes({{4'000'000, 9'000'000}, {5'000'000, 11'000'000}}, cached_board()) == 4e6);
  const OpCost near = cached_cost(memory_prior(8000), 9'000'000, cached_board());
  CHECK(near.time_ns == 6000);
  CHECK(near.low_ns == 3000);
  CHECK(near.high_ns == 16'000);
  CHECK(cached_cost(memory_prior(8000), 11'000'000, cached_board()).time_ns == 8000);
}

TEST_CASE("CachedOperands: boards with rows and arithmetic keep their times") {
  DeviceSpec measured = cached_board();
  measured.cost_model = "a100";
  CHECK(cached_cost(memory_prior(8000), 9'000'000, measured).time_ns == 8000);
  OpCost compute = memory_prior(8000);
  compute.bound = Bound::kCompute;
  CHECK(cached_cost(compute, 9'000'000, cached_board()).time_ns == 8000);
  DeviceSpec slow_cache = cached_board();
  slow_cache.compute_units = 10;
  CHECK(cached_cost(memory_prior(8000), 9'000'000, slow_cache).time_ns == 8000);
}

TEST_CASE("CachedOperands: a limit leaves out what a cache may hold, down to a launch") {
  OpCost limit = memory_prior(8000);
  limit.source = CostSource::kBoundOnly;
  DeviceSpec measured = cached_board();
  measured.cost_model = "a100";
  limit.set_bound(8000);
  CHECK(cached_cost(limit, 9'000'000, measured).time_ns == 4000);
  CHECK(cached_cost(limit, 9'000'000, measured).bound_ns == 4000);
  measured.launch_overhead_ns = 5000;
  CHECK(cached_cost(limit, 9'000'000, measured).time_ns == 5000);
}

TEST_CASE("CachedOperands: a bare bound among other answers keeps its time") {
  Workload workload = rereading(9'000'000);
  workload.rows.push_back(workload.rows[0]);
  workload.rereads.push_back({});
  Platform platform;
  platform.devices = {cached_board()};
  CostTable costs(2, 1);
  costs.at(0, DeviceId(0)) = memory_prior(8000);
  costs.at(0, DeviceId(0)).source = CostSource::kBoundOnly;
  costs.at(1, DeviceId(0)) = memory_prior(8000);
  apply_cached_operands(workload, platform, &costs);
  CHECK(costs.at(0, DeviceId(0)).time_ns == 8000);
}

}  // namespace
}  // namespace dfsim
