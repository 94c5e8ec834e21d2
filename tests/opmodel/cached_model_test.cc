#include "opmodel/cached_model.h"

#include <catch2/catch.hpp>

namespace dfsim {
namespace {

TEST_CASE("Kinds of devices: all figures that a cost model reads tell two devices apart") {
  const DeviceSpec device = {.name = "gpu0",
                             .model = "chip",
                             .peaks = {{.dtype = DType::kFloat32, .flops_per_s = 1e13}},
                             .memory_bytes_per_s = 1e12};
  DeviceSpec other = device;
  other.name = "gpu1";
  CHECK(device_kind(other) == device_kind(device));

  other.sustained_memory_bytes_per_s = 9e11;
  CHECK(device_kind(other) != device_kind(device));
  other = device;
  other.sustained = {{.dtype = DType::kFloat32, .flops_per_s = 8e12}};
  CHECK(device_kind(other) != device_kind(device));
  other = device;
  other.peaks[0].flops_per_s = 2e13;
  CHECK(device_kind(other) != device_kind(device));
}

}  // namespace
}  // namespace dfsim
