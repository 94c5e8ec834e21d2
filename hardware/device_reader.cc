// Reads one device. With `extends`, it starts from the other file's device and each key replaces
// what is there; a figure that is given again loses its old citation.
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
      "vector_tflops",
      "matrix_tflops",
      "memory_gib",
      "memory_bandwidth_gb_per_s",
      "l2_mib",
      "compute_units",
      "launch_overhead_us",
      "queues",
      "copy_engines",
      "overlap_slowdown",
      "cache_levels",
      "roofs",
      "numa",
      "board_power_w",
      "sustained_vector_tflops",
      "sustained_matrix_tflops",
      "sustained_bandwidth_gb_per_s",
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

PeakRate& peak_of(DType dtype, std::vector<PeakRate>* peaks) {
  for (PeakRate& peak : *peaks) {
    if (peak.dtype == dtype) {
      return peak;
    }
  }
  return peaks->emplace_back(PeakRate{.dtype = dtype});
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
    PeakRate& peak = peak_of(dtype_from_name(name), &device->peaks);
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

// Sustained rates of one kind of units; each at most the peak that the file gives for its dtype.
void read_sustained_peaks(YamlFields& fields, bool matrix, DeviceSpec* device) {
  const std::string key = matrix ? "sustained_matrix_tflops" : "sustained_vector_tflops";
  const YamlNode* map = fields.map(key);
  if (map == nullptr) {
    return;
  }
  YamlFields rates(*map, fields.file(), key);
  std::vector<std::string> names = peak_names(false);
  for (const std::string& name : names) {
    double tflops = 0;
    if (!rates.number(name, kPeakRange, &tflops)) {
      continue;
    }
    const DType dtype = dtype_from_name(name);
    const PeakRate printed = peak_of(dtype, &device->peaks);
    const double most = matrix ? printed.matrix_flops_per_s : printed.flops_per_s;
    if (tflops * kTera > most) {
      rates.error(name,
                  fmt::format("found {:g} TFLOP/s sustained, expected at most the peak of "
                              "{:g} in '{}'",
                              tflops, most / kTera, matrix ? "matrix_tflops" : "vector_tflops"));
      continue;
    }
    PeakRate& rate = peak_of(dtype, &device->sustained);
    (matrix ? rate.matrix_flops_per_s : rate.flops_per_s) = tflops * kTera;
  }
  fields.error(rates.finish());
}

void read_sustained(YamlFields& fields, DeviceSpec* device) {
  read_sustained_peaks(fields, false, device);
  read_sustained_peaks(fields, true, device);
  double value = 0;
  if (fields.number("sustained_bandwidth_gb_per_s", kBandwidthRange, &value)) {
    if (value * kGiga > device->memory_bytes_per_s) {
      fields.error("sustained_bandwidth_gb_per_s",
                   fmt::format("found {:g} GB/s, expected at most memory_bandwidth_gb_per_s, {:g}",
                               value, device->memory_bytes_per_s / kGiga));
    }
    device->sustained_memory_bytes_per_s = value * kGiga;
  }
  fields.number("board_power_w", {0.1, 1e5, "W"}, &device->board_power_w);
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

// Nodes have equal parts of a CPU's cores.
void check_numa(YamlFields& fields, const DeviceSpec& device) {
  const NumaNodes numa = read_numa_nodes(fields);
  if (numa.nodes > 1 && device.type != DeviceType::kCpu) {
    fields.error("numa", fmt::format("found {} nodes of a {}, expected them of a cpu", numa.nodes,
                                     device_type_name(device.type)));
  } else if (numa.nodes > 1 && device.compute_units % numa.nodes != 0) {
    fields.error("numa", fmt::format("found {} nodes, expected a divisor of the {} cores",
                                     numa.nodes, device.compute_units));
  }
}

}  // namespace

void read_device(YamlFields& fields, const YamlNode& node, const SourceTable& sources, bool extends,
                 DeviceSpec* device) {
  const Need need = extends ? Need::kOptional : Need::kRequired;
  fields.text("model", &device->model);
  fields.text("vendor", &device->vendor);
  size_t type = 0;
  if (fields.choice("type", {"cpu", "gpu", "npu"}, &type, need)) {
    device->type = static_cast<DeviceType>(type);
  }
  read_peaks(fields, false, need, device);
  read_peaks(fields, true, Need::kOptional, device);
  if (fields.has("vector_tflops") || fields.has("matrix_tflops")) {
    device->sustained.clear();  // of the device built on
  }
  if (fields.has("memory_bandwidth_gb_per_s")) {
    device->sustained_memory_bytes_per_s = 0;
  }
  fields.boolean("allow_tf32", &device->allow_tf32);
  read_memory(fields, need, device);
  read_sustained(fields, device);
  fields.integer("compute_units", {1, 1e6}, &device->compute_units, need);
  read_time_us(fields, "launch_overhead_us", &device->launch_overhead_ns, need);
  fields.integer("queues", {1, 1024}, &device->queues);
  fields.integer("copy_engines", {0, 64}, &device->copy_engines);
  fields.number("overlap_slowdown", {1, 10}, &device->overlap_slowdown);
  fields.text("cost_model", &device->cost_model);
  device->clock_hz = device->type == DeviceType::kGpu ? implied_clock_hz(*device) : 0;
  // The device keeps one figure of these three: whoever wants the others reads them again.
  if (const std::vector<MemoryLevel> levels = read_memory_levels(fields); !levels.empty()) {
    device->cache_bytes_per_s = levels.back().bytes_per_s;
  }
  read_roofs(fields);
  check_numa(fields, *device);
  merge_citations(node, read_citations(fields, node, device_figures(), sources),
                  &device->citations);
}

}  // namespace dfsim::inline hardware
