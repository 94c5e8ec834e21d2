#include "hardware/device_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "hardware/memory_levels.h"
#include "hardware/yaml/yaml_units.h"

namespace dfsim::inline hardware {
namespace {

constexpr YamlRange kPeakRange = {1e-6, 1e7, "TFLOP/s"};

const std::vector<std::string>& device_figures() {
  static const std::vector<std::string> kFigures = {
      "vector_tflops", "matrix_tflops",    "memory_gib",         "memory_bandwidth_gb_per_s",
      "l2_mib",        "compute_units",    "launch_overhead_us", "queues",
      "copy_engines",  "overlap_slowdown", "cache_levels",
  };
  return kFigures;
}

std::vector<std::string> peak_names(bool matrix) {
  std::vector<std::string> names = {"fp64", "fp32", "fp16", "bf16",  "fp8",   "fp8e5m2",
                                    "fp4",  "int8", "int4", "int16", "int32", "int64"};
  if (matrix) {
    names.emplace_back("tf32");
  }
  return names;
}

PeakRate& peak_of(DType dtype, DeviceSpec* device) {
  for (PeakRate& peak : device->peaks) {
    if (peak.dtype == dtype) {
      return peak;
    }
  }
  return device->peaks.emplace_back(PeakRate{.dtype = dtype});
}

// `vector_tflops` or `matrix_tflops`; replaces what the device had of that kind.
void read_peaks(YamlFields& fields, bool matrix, Need need, DeviceSpec* device) {
  const std::string key = matrix ? "matrix_tflops" : "vector_tflops";
  const YamlNode* map = fields.map(key, need);
  if (map == nullptr) {
    return;
  }
  if (map->keys.empty() && need == Need::kRequired) {
    fields.error(key, fmt::format("found no peaks, expected at least one in '{}'; write "
                                  "{{fp32: 19.5}}",
                                  key));
  }
  for (PeakRate& peak : device->peaks) {
    (matrix ? peak.matrix_flops_per_s : peak.flops_per_s) = 0;
  }
  device->tf32_flops_per_s = matrix ? 0 : device->tf32_flops_per_s;
  YamlFields peaks(*map, fields.file(), key);
  for (const std::string& name : peak_names(matrix)) {
    double tflops = 0;
    if (!peaks.number(name, kPeakRange, &tflops)) {
      continue;
    }
    if (name == "tf32") {
      device->tf32_flops_per_s = tflops * kTera;
      continue;
    }
    PeakRate& peak = peak_of(dtype_from_name(name), device);
    (matrix ? peak.matrix_flops_per_s : peak.flops_per_s) = tflops * kTera;
  }
  fields.error(peaks.finish());
}

void read_memory(YamlFields& fields, Need need, DeviceSpec* device) {
  double value = 0;
  if (fields.number("memory_gib", kMemoryRange, &value, need)) {
    device->memory_bytes = static_cast<Bytes>(std::llround(value * kGibi));
  }
  if (fields.number("memory_bandwidth_gb_per_s", kBandwidthRange, &value, need)) {
    device->memory_bytes_per_s = value * kGiga;
  }
  if (fields.number("l2_mib", {0, 1e6, "MiB"}, &value)) {
    device->l2_bytes = static_cast<Bytes>(std::llround(value * kMebi));
  }
}

// A figure that is written again is no longer what the device built on cites.
void merge_citations(const YamlNode& node, std::vector<Citation> fresh,
                     std::vector<Citation>* citations) {
  std::erase_if(*citations, [&node](const Citation& old) {
    const std::string_view key = std::string_view(old.figure).substr(0, old.figure.find('.'));
    return std::any_of(node.keys.begin(), node.keys.end(),
                       [key](const YamlKey& written) { return written.text == key; });
  });
  citations->insert(citations->end(), fresh.begin(), fresh.end());
}

}  // namespace

void read_device(YamlFields& fields, const YamlNode& node, const SourceTable& sources, bool extends,
                 DeviceSpec* device) {
  const Need need = extends ? Need::kOptional : Need::kRequired;
  fields.text("model", &device->model);
  size_t type = 0;
  if (fields.choice("type", {"cpu", "gpu", "npu"}, &type, need)) {
    device->type = static_cast<DeviceType>(type);
  }
  read_peaks(fields, false, need, device);
  read_peaks(fields, true, Need::kOptional, device);
  fields.boolean("allow_tf32", &device->allow_tf32);
  read_memory(fields, need, device);
  fields.integer("compute_units", {1, 1e6}, &device->compute_units, need);
  read_time_us(fields, "launch_overhead_us", &device->launch_overhead_ns, need);
  fields.integer("queues", {1, 1024}, &device->queues);
  fields.integer("copy_engines", {0, 64}, &device->copy_engines);
  fields.number("overlap_slowdown", {1, 10}, &device->overlap_slowdown);
  fields.text("cost_model", &device->cost_model);
  read_memory_levels(fields);  // kept by nobody: whoever wants them reads them again
  merge_citations(node, read_citations(fields, node, device_figures(), sources),
                  &device->citations);
}

}  // namespace dfsim::inline hardware
