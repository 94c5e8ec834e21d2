// Writes and reads manifest.json. Reader remembers the first wrong field and goes on. check_part()
// refuses values that would index or divide wrongly: they must not reach the code that predicts.
#include "opmodel/model/model_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/io/file.h"
#include "base/text.h"

namespace dfsim::inline opmodel {

namespace {

using nlohmann::json;

constexpr int64_t kMaxManifestBytes = int64_t{64} << 20;
constexpr double kMostIntervalScale = 100;

std::string hex(uint64_t value) { return fmt::format("{:016x}", value); }

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
  return object;
}

// Reads fields and remembers the first that is missing or of another type.
class Reader {
 public:
  explicit Reader(std::string_view place) : place_(place) {}

  template <typename T>
  void get(const json& object, const char* key, T* out) {
    if (!status_.ok()) {
      return;
    }
    try {
      object.at(key).get_to(*out);
    } catch (const json::exception&) {
      fail(fmt::format("'{}' is missing or of another type", key));
    }
  }
  void get_hex(const json& object, const char* key, uint64_t* out) {
    std::string text;
    get(object, key, &text);
    const char* const end = text.data() + text.size();
    if (status_.ok() && (std::from_chars(text.data(), end, *out, 16).ptr != end || text.empty())) {
      fail(fmt::format("'{}' is '{}', expected a hexadecimal number", key, printable(text)));
    }
  }
  const json& child(const json& object, const char* key, json::value_t type) {
    static const json kNothing;
    const auto it = object.is_object() ? object.find(key) : object.end();
    if (!object.is_object() || it == object.end() || it->type() != type) {
      fail(fmt::format("'{}' is missing or of another type", key));
      return kNothing;
    }
    return *it;
  }
  void fail(const std::string& what) {
    if (status_.ok()) {
      status_ = invalid_input(
          fmt::format("{}: {}; train the model again or restore the file", place_, what));
    }
  }
  const Status& status() const { return status_; }

 private:
  std::string_view place_;
  Status status_;
};

ErrorStats read_stats(Reader& reader, const json& object) {
  ErrorStats stats;
  reader.get(object, "n", &stats.n);
  reader.get(object, "mape", &stats.mape);
  reader.get(object, "median", &stats.median);
  reader.get(object, "p90", &stats.p90);
  reader.get(object, "bias", &stats.bias);
  reader.get(object, "interval", &stats.interval);
  return stats;
}

DeviceSpec read_device(Reader& reader, const json& object) {
  DeviceSpec device;
  reader.get(object, "model", &device.model);
  reader.get(object, "memory_bytes_per_s", &device.memory_bytes_per_s);
  reader.get(object, "l2_bytes", &device.l2_bytes);
  reader.get(object, "compute_units", &device.compute_units);
  reader.get(object, "launch_overhead_ns", &device.launch_overhead_ns);
  if (object.contains("board_power_w")) {
    reader.get(object, "board_power_w", &device.board_power_w);
  }
  for (const json& item : reader.child(object, "peaks", json::value_t::array)) {
    PeakRate peak;
    std::string dtype;
    reader.get(item, "dtype", &dtype);
    peak.dtype = dtype_from_name(dtype);
    reader.get(item, "flops_per_s", &peak.flops_per_s);
    reader.get(item, "matrix_flops_per_s", &peak.matrix_flops_per_s);
    device.peaks.push_back(peak);
  }
  return device;
}

void read_enums(Reader& reader, const json& object, ModelPart* part) {
  std::string text;
  bool found = true;
  reader.get(object, "class", &text);
  part->op_class = op_class_from_name(text, &found);
  if (!found) {
    reader.fail(fmt::format("unknown class '{}'", printable(text)));
  }
  reader.get(object, "family", &text);
  if (!family_from_name(text, &part->family)) {
    reader.fail(fmt::format("unknown family '{}'", printable(text)));
  }
  reader.get(object, "timing", &text);
  part->timing = timing_kind_from_name(text, &found);
  if (!found) {
    reader.fail(fmt::format("unknown timing '{}'", printable(text)));
  }
  std::vector<std::string> dtypes;
  reader.get(object, "dtypes", &dtypes);
  for (const std::string& name : dtypes) {
    part->dtypes.push_back(dtype_from_name(name));
  }
}

void read_intervals(Reader& reader, const json& object, const char* key, IntervalTable* table) {
  const json& intervals = reader.child(object, key, json::value_t::object);
  reader.get(intervals, "edges_us", &table->edges_us);
  reader.get(intervals, "low", &table->low);
  reader.get(intervals, "high", &table->high);
  if (table->low.size() != table->edges_us.size() + 1 || table->high.size() != table->low.size()) {
    reader.fail(fmt::format("'{}' need one more factor than edges", key));
  }
}

void check_part(Reader& reader, const ModelPart& part) {
  if (part.file.find('/') != std::string::npos || part.ranges.size() > kMaxGeometryDims) {
    reader.fail("'file' or 'ranges' of a part is not what dfsim writes");
  }
}

void read_recordings(Reader& reader, const json& object, ModelPart* part) {
  if (!object.contains("recordings")) {  // of devices that were recorded once
    return;
  }
  for (const json& item : reader.child(object, "recordings", json::value_t::array)) {
    RecordingEffect effect;
    reader.get(item, "device", &effect.device);
    reader.get(item, "recording", &effect.recording);
    reader.get(item, "rows", &effect.rows);
    reader.get(item, "log_effect", &effect.log_effect);
    reader.get(item, "throttled", &effect.throttled);
    part->recordings.push_back(std::move(effect));
  }
  reader.get(object, "recording_column", &part->recording_column);
}

void read_left_out(Reader& reader, const json& object, ModelPart* part) {
  if (object.contains("slowest_unit")) {
    reader.get(object, "slowest_unit", &part->slowest_unit);
  }
  if (!object.contains("left_out")) {  // only of priors
    return;
  }
  for (const json& item : reader.child(object, "left_out", json::value_t::array)) {
    std::string device;
    reader.get(item, "device", &device);
    part->left_out.emplace_back(
        device, read_stats(reader, reader.child(item, "errors", json::value_t::object)));
  }
}

ModelPart read_part(Reader& reader, const json& object) {
  ModelPart part;
  read_enums(reader, object, &part);
  reader.get(object, "kind", &part.kind);
  reader.get(object, "file", &part.file);
  reader.get_hex(object, "checksum", &part.checksum);
  reader.get(object, "rows", &part.rows);
  reader.get(object, "rounds", &part.rounds);
  reader.get(object, "features", &part.features);
  for (const json& item : reader.child(object, "devices", json::value_t::array)) {
    PartDevice device;
    reader.get(item, "model", &device.model);
    reader.get(item, "floor_us", &device.floor_us);
    reader.get(item, "rows", &device.rows);
    if (item.contains("interval_scale")) {
      reader.get(item, "interval_scale", &device.interval_scale);
    }
    part.devices.push_back(std::move(device));
  }
  reader.get(object, "ranges", &part.ranges);
  reader.get(object, "median_log_ratio", &part.median_log_ratio);
  reader.get(object, "kind_effects", &part.kind_effects);
  reader.get(object, "drifts_us", &part.drifts);
  read_intervals(reader, object, "intervals", &part.intervals);
  if (object.contains("forms")) {
    reader.get(object, "forms", &part.forms);
  }
  part.held_out = read_stats(reader, reader.child(object, "held_out", json::value_t::object));
  part.held_out_baseline =
      read_stats(reader, reader.child(object, "held_out_baseline", json::value_t::object));
  reader.get(object, "importance", &part.importance);
  read_recordings(reader, object, &part);
  read_left_out(reader, object, &part);
  check_part(reader, part);
  return part;
}

void read_header(Reader& reader, const json& root, ModelManifest* manifest) {
  std::string format;
  reader.get(root, "format", &format);
  if (reader.status().ok() && format != "dfsim-cost-model") {
    reader.fail(fmt::format("format '{}', expected 'dfsim-cost-model'", printable(format)));
  }
  int version = 0;
  reader.get(root, "version", &version);
  if (reader.status().ok() && (version < 1 || version > kModelFormatVersion)) {
    reader.fail(
        fmt::format("version {} of the format, this dfsim reads up to {}; a newer dfsim "
                    "wrote it: update dfsim",
                    version, kModelFormatVersion));
  }
  reader.get(root, "name", &manifest->name);
  reader.get(root, "dfsim_version", &manifest->dfsim_version);
  reader.get(root, "xgboost_version", &manifest->xgboost_version);
  reader.get(root, "seed", &manifest->seed);
  reader.get(root, "rows_used", &manifest->rows_used);
  reader.get(root, "rows_dropped", &manifest->rows_dropped);
  if (root.contains("overheads_us")) {  // models of earlier versions have none
    reader.get(root, "overheads_us", &manifest->overheads_us);
  }
  if (root.contains("prior")) {
    reader.get(root, "prior", &manifest->prior);
  }
  if (root.contains("interval_scales")) {  // only of models that were fitted to networks
    reader.get(root, "interval_scales", &manifest->interval_scales);
    for (const auto& [device, scale] : manifest->interval_scales) {
      if (reader.status().ok() && !(scale > 0 && scale <= kMostIntervalScale)) {
        reader.fail(fmt::format("'interval_scales' of '{}': {}, expected a number above 0 up to {}",
                                printable(device), scale, kMostIntervalScale));
      }
    }
  }
  if (root.contains("unseen_forms")) {
    read_intervals(reader, root, "unseen_forms", &manifest->unseen_forms);
  }
  reader.get(root, "repeat_low", &manifest->repeat_low);
  reader.get(root, "repeat_high", &manifest->repeat_high);
  reader.get(root, "rows_file", &manifest->rows_file);
  reader.get(root, "lookup_file", &manifest->lookup_file);
  reader.get_hex(root, "lookup_checksum", &manifest->lookup_checksum);
  reader.get(root, "scaling_file", &manifest->scaling_file);
  reader.get_hex(root, "scaling_checksum", &manifest->scaling_checksum);
}

}  // namespace

StatusOr<ModelManifest> read_manifest(const std::string& directory) {
  const std::string path = fmt::format("{}/{}", directory, kManifestFile);
  auto text = read_file(path, kMaxManifestBytes);
  if (!text.ok()) {
    return Status(text.status().code(),
                  fmt::format("{}; a trained model is a folder that `dfsim train` wrote",
                              text.status().message()));
  }
  return parse_manifest(*text, path);
}

Status write_manifest(const std::string& directory, const ModelManifest& manifest) {
  return write_file(fmt::format("{}/{}", directory, kManifestFile), format_manifest(manifest));
}

StatusOr<ModelManifest> parse_manifest(std::string_view text, std::string_view place) {
  const json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) {
    return invalid_input(
        fmt::format("{}: not a JSON object; is this a folder that `dfsim train` wrote?", place));
  }
  Reader reader(place);
  ModelManifest manifest;
  read_header(reader, root, &manifest);
  DFSIM_RETURN_IF_ERROR(reader.status());
  for (const json& item : reader.child(root, "data", json::value_t::array)) {
    DataSource source;
    reader.get(item, "file", &source.file);
    reader.get(item, "checksum", &source.checksum);
    reader.get(item, "rows", &source.rows);
    manifest.data.push_back(std::move(source));
  }
  for (const json& item : reader.child(root, "devices", json::value_t::array)) {
    manifest.devices.push_back(read_device(reader, item));
  }
  for (const json& item : reader.child(root, "parts", json::value_t::array)) {
    manifest.parts.push_back(read_part(reader, item));
    if (manifest.prior) {
      manifest.parts.back().hide_devices();
    }
  }
  DFSIM_RETURN_IF_ERROR(reader.status());
  return manifest;
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
  return root.dump(1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace) + "\n";
}

}  // namespace dfsim::inline opmodel
