#include "opmodel/features/features.h"

#include <array>

#include "opmodel/features/feature_writer.h"

namespace dfsim::inline opmodel {

namespace {

constexpr double kUsPerSecond = 1e6;

void write_family(const OpDescriptor& op, const OpGeometry& geometry, const DeviceFacts& facts,
                  const Roofline& roofline, FeatureWriter& writer) {
  switch (geometry.family) {
    case Family::kGemm:
      gemm_features(geometry, facts, writer);
      break;
    case Family::kConv:
      conv_features(geometry, facts, roofline, writer);
      break;
    case Family::kAttention:
      attention_features(geometry, facts, roofline, writer);
      break;
    case Family::kRows:
      rows_features(geometry, facts, writer);
      break;
    case Family::kGeneric:
      generic_features(op, geometry, writer);
      break;
  }
  add_roofline_features(geometry, facts, roofline, writer);
  add_device_features(geometry, facts, roofline, writer);
  if (geometry.family == Family::kRows || geometry.family == Family::kGeneric) {
    walk_features(op, writer);
  }
}

void write_cpu_features(const OpDescriptor& op, const OpGeometry& geometry, FeatureWriter& writer) {
  if (geometry.family == Family::kConv) {
    cpu_conv_features(op, geometry, writer);
  } else if (geometry.family == Family::kGemm) {
    cpu_gemm_features(op, geometry, writer);
  } else if (geometry.family == Family::kGeneric) {
    cpu_generic_features(op, writer);
  }
}

std::vector<std::string> names_of(Family family, bool of_cpus) {
  std::vector<std::string> names;
  FeatureWriter writer({}, &names);
  OpGeometry geometry;
  geometry.family = family;
  write_family(OpDescriptor{}, geometry, DeviceFacts{}, Roofline{}, writer);
  if (of_cpus) {
    write_cpu_features(OpDescriptor{}, geometry, writer);
  }
  return names;
}

}  // namespace

DeviceFacts device_facts(const OpGeometry& geometry, const DeviceSpec& device) {
  const double peak = device.peak_flops_per_s(geometry.dtype, geometry.matrix);
  return {.units = static_cast<double>(std::max(device.compute_units, 1)),
          .l2_bytes = static_cast<double>(std::max<Bytes>(device.l2_bytes, 1)),
          .peak_per_us = peak > 0 ? peak / kUsPerSecond : 1,
          .bandwidth_per_us =
              device.memory_bytes_per_s > 0 ? device.memory_bytes_per_s / kUsPerSecond : 1};
}

Roofline roofline_of(const OpGeometry& geometry, const DeviceSpec& device, double floor_us) {
  Roofline roofline;
  const double peak = device.peak_flops_per_s(geometry.dtype, geometry.matrix);
  roofline.compute_us = peak > 0 ? geometry.flops / peak * kUsPerSecond : 0;
  roofline.memory_us =
      device.memory_bytes_per_s > 0 ? geometry.bytes / device.memory_bytes_per_s * kUsPerSecond : 0;
  roofline.floor_us = std::max(floor_us, 1e-3);
  return roofline;
}

void add_roofline_features(const OpGeometry& geometry, const DeviceFacts& facts,
                           const Roofline& roofline, FeatureWriter& writer) {
  writer.add_log("flops", geometry.flops);
  writer.add_log("bytes", geometry.bytes);
  writer.add_log("flops/bytes", geometry.flops / std::max(geometry.bytes, 1.0));
  writer.add_log("compute/floor", roofline.compute_us / roofline.floor_us);
  writer.add_log("memory/floor", roofline.memory_us / roofline.floor_us);
  writer.add_log("compute/memory", roofline.compute_us / std::max(roofline.memory_us, 1e-9));
  writer.add_log("base/floor", roofline.base_us() / roofline.floor_us);
  writer.add_log("bytes/l2", geometry.bytes / facts.l2_bytes);
}

void add_device_features(const OpGeometry& geometry, const DeviceFacts& facts,
                         const Roofline& roofline, FeatureWriter& writer) {
  writer.add("dtype_bits", dtype_bits(geometry.dtype));
  writer.add("weight_bits", dtype_bits(geometry.weight_dtype));
  writer.add_log("peak", facts.peak_per_us);
  writer.add_log("bandwidth", facts.bandwidth_per_us);
  writer.add_log("peak/bandwidth", facts.peak_per_us / facts.bandwidth_per_us);
  writer.add_log("l2", facts.l2_bytes);
  writer.add_log("units", facts.units);
  writer.add_log("floor", roofline.floor_us);
}

const std::vector<std::string>& feature_names(Family family) {
  static const std::array<std::vector<std::string>, kFamilyCount> kNames = {
      names_of(Family::kGemm, true), names_of(Family::kConv, true),
      names_of(Family::kAttention, true), names_of(Family::kRows, true),
      names_of(Family::kGeneric, true)};
  return kNames[static_cast<size_t>(family)];
}

std::vector<std::string> features_to_train(Family family, bool only_cpus) {
  return names_of(family, only_cpus);
}

void fill_features(const OpDescriptor& op, const OpGeometry& geometry, const DeviceSpec& device,
                   const Roofline& roofline, std::span<float> out) {
  FeatureWriter writer(out, nullptr);
  write_family(op, geometry, device_facts(geometry, device), roofline, writer);
  if (!writer.full()) {
    write_cpu_features(op, geometry, writer);
  }
  for (float& value : out) {
    value = std::isfinite(value) ? value : 0.0F;
  }
}

}  // namespace dfsim::inline opmodel
