// Which operators a table of kernels finds in the cache, and at what rate: counted by hand.
#include <catch2/catch.hpp>

#include "opmodel/features/roofline.h"

namespace dfsim {
namespace {

// 100 units whose cache gives 2 TB/s; 0.5 TB/s from memory; 100 MB of cache.
DeviceSpec large_cache() {
  DeviceSpec gpu;
  gpu.type = DeviceType::kGpu;
  gpu.compute_units = 100;
  gpu.memory_bytes_per_s = 0.5e12;
  gpu.l2_bytes = 100'000'000;
  return gpu;
}

OpGeometry repeated(Family family, double bytes) {
  OpGeometry geometry;
  geometry.family = family;
  geometry.bytes = bytes;
  geometry.repeated = true;
  return geometry;
}

TEST_CASE("Repeated operators: attention that fits into the cache is read at the cache's rate") {
  const DeviceSpec gpu = large_cache();
  CHECK(repeated_memory_us(repeated(Family::kAttention, 80e6), gpu) == Approx(40));
  CHECK(repeated_memory_us(repeated(Family::kAttention, 95e6), gpu) == Approx(190));
}

TEST_CASE("Repeated operators: products take turns with six copies of their operands") {
  const DeviceSpec gpu = large_cache();
  CHECK(repeated_memory_us(repeated(Family::kGemm, 14e6), gpu) == Approx(7));
  CHECK(repeated_memory_us(repeated(Family::kGemm, 16e6), gpu) == Approx(32));
}

TEST_CASE("Repeated operators: a memory that is faster than the cache counts") {
  DeviceSpec gpu = large_cache();
  gpu.memory_bytes_per_s = 4e12;
  CHECK(repeated_memory_us(repeated(Family::kAttention, 80e6), gpu) == Approx(20));
}

TEST_CASE("Repeated operators: operators of a network come from memory") {
  OpGeometry geometry = repeated(Family::kAttention, 80e6);
  geometry.repeated = false;
  const DeviceSpec gpu = large_cache();
  CHECK(repeated_memory_us(geometry, gpu) == Approx(160));
  CHECK(repeated_memory_us(geometry, gpu) == roofline_of(geometry, gpu, 1).memory_us);
  DeviceSpec unknown = gpu;
  unknown.memory_bytes_per_s = 0;
  CHECK(repeated_memory_us(geometry, unknown) == 0);
}

}  // namespace
}  // namespace dfsim
