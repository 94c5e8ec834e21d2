// Writes manifest.json; model_manifest.cc reads it. The library here sorts keys and writes each
// number with as many digits as reading it back takes, so equal manifests are equal files. One line
// for each member of the model and for each of its parts: indented, shipped manifests took half as
// much again.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/io/file.h"
#include "opmodel/model/model_manifest.h"

namespace dfsim::inline opmodel {

namespace {

using nlohmann::json;

std::string hex(uint64_t value) { return fmt::format("{:016x}", value); }

std::string line_of(const json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
}

std::string list_of_lines(const json& values) {
  std::string text = "[";
  for (const json& value : values) {
    text += (text.size() > 1 ? ",\n" : "\n") + line_of(value);
  }
  return text + "\n]";
}

json to_json(const ErrorStats& stats) {
  return {{"n", stats.n},     {"mape", stats.mape}, {"median", stats.median},
          {"p90", stats.p90}, {"bias", stats.bias}, {"interval", stats.interval}};
}

json pairs_to_json(const std::vector<std::pair<std::string, double>>& pairs) {
  json array = json::array();
  for (const auto& [name, value] : pairs) {
    array.push_back({name, value});
  }
  return array;
}

json to_json(const DeviceSpec& device) {
  json peaks = json::array();
  for (const PeakRate& peak : device.peaks) {
    peaks.push_back({{"dtype", dtype_name(peak.dtype)},
                     {"flops_per_s", peak.flops_per_s},
                     {"matrix_flops_per_s", peak.matrix_flops_per_s}});
  }
  json object = {{"model", device.model},
                 {"peaks", peaks},
                 {"memory_bytes_per_s", device.memory_bytes_per_s},
                 {"l2_bytes", device.l2_bytes},
                 {"compute_units", device.compute_units},
                 {"launch_overhead_ns", device.launch_overhead_ns}};
  if (device.board_power_w > 0) {
    object["board_power_w"] = device.board_power_w;
  }
  return object;
}

json to_json(const IntervalTable& table) {
  return {{"edges_us", table.edges_us}, {"low", table.low}, {"high", table.high}};
}

json to_json(const ModelPart& part) {
  json devices = json::array();
  for (const PartDevice& device : part.devices) {
    devices.push_back(
        {{"model", device.model}, {"floor_us", device.floor_us}, {"rows", device.rows}});
    if (device.interval_scale != 1) {
      devices.back()["interval_scale"] = device.interval_scale;
    }
    if (device.clock_hz > 0) {
      devices.back()["clock_hz"] = device.clock_hz;
      devices.back()["unit_flops_per_s"] = device.unit_flops_per_s;
    }
  }
  json dtypes = json::array();
  for (const DType dtype : part.dtypes) {
    dtypes.push_back(dtype_name(dtype));
  }
  json ranges = json::array();
  for (const auto& [low, high] : part.ranges) {
    ranges.push_back({low, high});
  }
  json object = {{"class", op_class_name(part.op_class)},
                 {"kind", part.kind},
                 {"family", family_name(part.family)},
                 {"timing", timing_kind_name(part.timing)},
                 {"file", part.file},
                 {"checksum", hex(part.checksum)},
                 {"rows", part.rows},
                 {"rounds", part.rounds},
                 {"features", part.features},
                 {"devices", devices},
                 {"dtypes", dtypes},
                 {"ranges", ranges},
                 {"median_log_ratio", part.median_log_ratio},
                 {"kind_effects", pairs_to_json(part.kind_effects)},
                 {"drifts_us", pairs_to_json(part.drifts)},
                 {"intervals", to_json(part.intervals)},
                 {"held_out", to_json(part.held_out)},
                 {"held_out_baseline", to_json(part.held_out_baseline)},
                 {"importance", pairs_to_json(part.importance)}};
  if (!part.forms.empty()) {
    object["forms"] = part.forms;
  }
  if (!part.left_out.empty()) {
    json& left_out = object["left_out"] = json::array();
    for (const auto& [device, stats] : part.left_out) {
      left_out.push_back({{"device", device}, {"errors", to_json(stats)}});
    }
  }
  if (!part.recordings.empty()) {
    json& recordings = object["recordings"] = json::array();
    for (const RecordingEffect& effect : part.recordings) {
      recordings.push_back({{"device", effect.device},
                            {"recording", effect.recording},
                            {"rows", effect.rows},
                            {"log_effect", effect.log_effect},
                            {"throttled", effect.throttled}});
    }
    object["recording_column"] = part.recording_column;
  }
  if (part.slowest_unit) {
    object["slowest_unit"] = true;
  }
  if (part.unaligned_rows > 0) {
    object["unaligned_rows"] = part.unaligned_rows;
  }
  return object;
}

}  // namespace

Status write_manifest(const std::string& directory, const ModelManifest& manifest) {
  return write_file(fmt::format("{}/{}", directory, kManifestFile), format_manifest(manifest));
}

std::string format_manifest(const ModelManifest& manifest) {
  json data = json::array();
  for (const DataSource& source : manifest.data) {
    data.push_back({{"file", source.file}, {"checksum", source.checksum}, {"rows", source.rows}});
  }
  json devices = json::array();
  for (const DeviceSpec& device : manifest.devices) {
    devices.push_back(to_json(device));
  }
  json parts = json::array();
  for (const ModelPart& part : manifest.parts) {
    parts.push_back(to_json(part));
  }
  json root = {{"format", "dfsim-cost-model"},
               {"version", kModelFormatVersion},
               {"name", manifest.name},
               {"dfsim_version", manifest.dfsim_version},
               {"xgboost_version", manifest.xgboost_version},
               {"seed", manifest.seed},
               {"data", data},
               {"rows_used", manifest.rows_used},
               {"rows_dropped", manifest.rows_dropped},
               {"devices", devices},
               {"overheads_us", pairs_to_json(manifest.overheads_us)},
               {"repeat_low", manifest.repeat_low},
               {"repeat_high", manifest.repeat_high},
               {"rows_file", manifest.rows_file},
               {"lookup_file", manifest.lookup_file},
               {"lookup_checksum", hex(manifest.lookup_checksum)},
               {"scaling_file", manifest.scaling_file},
               {"scaling_checksum", hex(manifest.scaling_checksum)},
               {"parts", parts}};
  if (manifest.prior) {
    root["prior"] = true;
  }
  if (!manifest.unseen_forms.low.empty()) {
    root["unseen_forms"] = to_json(manifest.unseen_forms);
  }
  if (!manifest.interval_scales.empty()) {
    root["interval_scales"] = pairs_to_json(manifest.interval_scales);
  }
  if (!manifest.bare_devices.empty()) {
    json bare = json::array();
    for (const DeviceSpec& device : manifest.bare_devices) {
      bare.push_back(to_json(device));
    }
    root["bare_devices"] = bare;
  }
  std::string text = "{";
  for (const auto& [key, value] : root.items()) {
    text += fmt::format("{}\n{}: {}", text.size() > 1 ? "," : "", line_of(json(key)),
                        key == "parts" ? list_of_lines(value) : line_of(value));
  }
  return text + "\n}\n";
}

}  // namespace dfsim::inline opmodel
