// Meshes, shardings, and the steps between them.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "partition/sharding/reshard.h"
#include "tests/partition/mesh_platform.h"

namespace dfsim {
namespace {

std::string steps(const TensorSharding& from, const TensorSharding& to) {
  std::string text;
  for (const ReshardStep& step : plan_reshard(from, to)) {
    text += text.empty() ? "" : ", ";
    text += fmt::format("{} {} dim{}", reshard_op_type(step.kind), step.axes, step.dim);
  }
  return text;
}

TEST_CASE("ranks of a mesh are row-major, groups differ on their axes only") {
  const DeviceMesh mesh = make_mesh({{"data", 2}, {"tensor", 4}});
  CHECK(mesh.device_count() == 8);
  CHECK(mesh.size(0b10) == 4);
  CHECK(mesh.size(0b11) == 8);
  CHECK(mesh.group(5, 0b10) == std::vector<uint32_t>{4, 5, 6, 7});
  CHECK(mesh.group(5, 0b01) == std::vector<uint32_t>{1, 5});
  CHECK(mesh.position(5, 0b10) == 1);
  CHECK(mesh.position(5, 0b01) == 1);
  CHECK(mesh.position(6, 0b11) == 6);
  CHECK(mesh.names(0b11) == "data, tensor");
}

TEST_CASE("meshes that the platform does not have are refused") {
  const Platform platform = switched_platform(4);
  const auto message = [&](std::vector<MeshAxis> axes, std::vector<DeviceId> devices = {}) {
    return DeviceMesh::make(platform, std::move(axes), std::move(devices)).status().message();
  };
  CHECK(message({{"x", 8}}) ==
        "mesh: its axes need 8 devices, 'switched' has 4 for it; choose smaller axes or another "
        "platform");
  CHECK(message({{"x", 2}, {"x", 2}}).find("used twice") != std::string::npos);
  CHECK(message({{"x", 0}}).find("expected 1 or more") != std::string::npos);
  CHECK(message({}).find("0 axes") != std::string::npos);
  CHECK(message({{"x", int64_t{1} << 40}, {"y", int64_t{1} << 40}}).find("4 for it") !=
        std::string::npos);
  CHECK(message({{"x", 2}}, {DeviceId(1), DeviceId(1)}).find("named twice") != std::string::npos);
  CHECK(message({{"x", 2}}, {DeviceId(1), DeviceId(9)}).find("not one of") != std::string::npos);
  CHECK(make_mesh({{"x", 2}}).axis("y").status().message() ==
        "unknown mesh axis 'y'; did you mean 'x'? Valid: x");
}

TEST_CASE("shardings that do not fit are refused") {
  const DeviceMesh mesh = make_mesh({{"x", 2}, {"y", 4}});
  const auto message = [&](std::vector<AxisSet> dims) {
    return check_sharding({std::move(dims)}, Shape({Dim(6), Dim(8)}), mesh, "tensor 'a'").message();
  };
  CHECK(message({1, 2}).empty());
  CHECK(message({0, 3}).empty());
  CHECK(message({2, 0}) ==
        "tensor 'a': dimension 0 of 6x8 does not divide by the 4 devices of y; choose another "
        "dimension or number of devices");
  CHECK(message({1, 1}).find("used twice") != std::string::npos);
  CHECK(message({1}).find("has 1 dimensions") != std::string::npos);
  CHECK(message({0, 4}).find("beyond the 2 of the mesh") != std::string::npos);
  CHECK(format_sharding({{1, 0}, 2, Reduction::kSum}, mesh) == "[x; -] sum over y");
}

TEST_CASE("steps of resharding, by hand") {
  const TensorSharding whole{{0, 0}};
  CHECK(steps(whole, whole).empty());
  CHECK(steps(whole, {{1, 2}}) == "ShardSlice 1 dim0, ShardSlice 2 dim1");
  CHECK(steps({{1, 2}}, whole) == "AllGather 1 dim0, AllGather 2 dim1");
  CHECK(steps({{1, 0}}, {{0, 1}}) == "AllToAll 1 dim1");
  CHECK(steps({{0, 0}, 1, Reduction::kSum}, whole) == "AllReduce 1 dim0");
  CHECK(steps({{0, 0}, 1, Reduction::kSum}, {{0, 1}}) == "ReduceScatter 1 dim1");
  CHECK(steps({{0, 0}, 3, Reduction::kSum}, {{0, 1}}) == "ReduceScatter 1 dim1, AllReduce 2 dim0");
  // The inner cut goes away alone, the outer one only with it.
  CHECK(steps({{3, 0}}, {{1, 0}}) == "AllGather 2 dim0");
  CHECK(steps({{3, 0}}, {{2, 0}}) == "AllGather 3 dim0, ShardSlice 2 dim0");
  // A cut that is free comes before the gather, which then moves half as much.
  CHECK(steps({{1, 0}}, {{0, 2}}) == "ShardSlice 2 dim1, AllGather 1 dim0");
}

TEST_CASE("steps lead from every sharding to every other") {
  // All shardings of a rank-2 tensor on three axes: each axis cuts a dimension, is partial or idle.
  std::vector<TensorSharding> all;
  for (int code = 0; code < 64; ++code) {
    TensorSharding sharding{{0, 0}};
    for (int axis = 0; axis < 3; ++axis) {
      const int use = code >> (2 * axis) & 3;
      if (use == 3) {
        sharding.partial |= AxisSet{1} << axis;
        sharding.reduction = Reduction::kSum;
      } else if (use > 0) {
        sharding.dims[static_cast<size_t>(use - 1)] |= AxisSet{1} << axis;
      }
    }
    all.push_back(sharding);
  }
  for (const TensorSharding& from : all) {
    for (const TensorSharding& to : all) {
      if (to.partial != 0) {
        continue;
      }
      TensorSharding now = from;
      for (const ReshardStep& step : plan_reshard(from, to)) {
        now = after_step(now, step);
      }
      CHECK(now == to);
    }
  }
}

}  // namespace
}  // namespace dfsim
