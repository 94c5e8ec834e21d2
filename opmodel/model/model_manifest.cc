// Reads manifest.json (manifest_writer.cc writes it). Reader remembers the first wrong field and
// goes on. check_part() refuses values that would index or divide wrongly: they must not reach the
// code that predicts.
#include "opmodel/model/model_manifest.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "base/io/file.h"
#include "base/json/json_value.h"
#include "base/text.h"

namespace dfsim::inline opmodel {

namespace {

constexpr int64_t kMaxManifestBytes = int64_t{64} << 20;
constexpr double kMostIntervalScale = 100;

// The value as a `T`; false, and `out` may be half filled, when it is of another type.
bool read_value(const JsonValue& value, bool* out) { return value.get(out); }
bool read_value(const JsonValue& value, double* out) { return value.get(out); }
bool read_value(const JsonValue& value, int64_t* out) { return value.get(out); }

bool read_value(const JsonValue& value, int* out) {
  int64_t number = 0;
  if (!value.get(&number) || !std::in_range<int>(number)) {
    return false;
  }
  *out = static_cast<int>(number);
  return true;
}

bool read_value(const JsonValue& value, uint64_t* out) {
  int64_t number = 0;
  if (!value.get(&number) || number < 0) {
    return false;
  }
  *out = static_cast<uint64_t>(number);
  return true;
}

bool read_value(const JsonValue& value, std::string* out) {
  std::string_view text;
  if (!value.get(&text)) {
    return false;
  }
  *out = text;
  return true;
}

template <typename A, typename B>
bool read_value(const JsonValue& value, std::pair<A, B>* out) {
  size_t index = 0;
  bool fine = value.size() == 2;
  value.each_element([&](const JsonValue& item) {
    fine = fine && (index++ == 0 ? read_value(item, &out->first) : read_value(item, &out->second));
  });
  return fine && index == 2;
}

template <typename T>
bool read_value(const JsonValue& value, std::vector<T>* out) {
  bool fine = value.is(JsonKind::kArray);
  out->clear();
  out->reserve(value.size());
  value.each_element([&](const JsonValue& item) {
    T element{};
    fine = fine && read_value(item, &element);
    out->push_back(std::move(element));
  });
  return fine;
}

// Reads fields and remembers the first that is missing or of another type.
class Reader {
 public:
  explicit Reader(std::string_view place) : place_(place) {}

  template <typename T>
  void get(const JsonValue& object, std::string_view key, T* out) {
    if (status_.ok() && !read_value(object[key], out)) {
      fail(fmt::format("'{}' is missing or of another type", key));
    }
  }
  void get_hex(const JsonValue& object, std::string_view key, uint64_t* out) {
    std::string text;
    get(object, key, &text);
    const char* const end = text.data() + text.size();
    if (status_.ok() && (std::from_chars(text.data(), end, *out, 16).ptr != end || text.empty())) {
      fail(fmt::format("'{}' is '{}', expected a hexadecimal number", key, printable(text)));
    }
  }
  JsonValue object(const JsonValue& parent, std::string_view key) {
    return child(parent, key, JsonKind::kObject);
  }
  // Calls f(const JsonValue&) for each element of an array.
  template <typename F>
  void each(const JsonValue& parent, std::string_view key, F&& f) {
    child(parent, key, JsonKind::kArray).each_element(f);
  }
  void fail(const std::string& what) {
    if (status_.ok()) {
      status_ = invalid_input(
          fmt::format("{}: {}; train the model again or restore the file", place_, what));
    }
  }
  const Status& status() const { return status_; }

 private:
  JsonValue child(const JsonValue& parent, std::string_view key, JsonKind kind) {
    const JsonValue value = parent[key];
    if (value.is(kind)) {
      return value;
    }
    fail(fmt::format("'{}' is missing or of another type", key));
    return {};
  }

  std::string_view place_;
  Status status_;
};

bool has(const JsonValue& object, std::string_view key) {
  return !object[key].is(JsonKind::kMissing);
}

ErrorStats read_stats(Reader& reader, const JsonValue& object) {
  ErrorStats stats;
  reader.get(object, "n", &stats.n);
  reader.get(object, "mape", &stats.mape);
  reader.get(object, "median", &stats.median);
  reader.get(object, "p90", &stats.p90);
  reader.get(object, "bias", &stats.bias);
  reader.get(object, "interval", &stats.interval);
  return stats;
}

DeviceSpec read_device(Reader& reader, const JsonValue& object) {
  DeviceSpec device;
  reader.get(object, "model", &device.model);
  reader.get(object, "memory_bytes_per_s", &device.memory_bytes_per_s);
  reader.get(object, "l2_bytes", &device.l2_bytes);
  reader.get(object, "compute_units", &device.compute_units);
  reader.get(object, "launch_overhead_ns", &device.launch_overhead_ns);
  if (has(object, "board_power_w")) {
    reader.get(object, "board_power_w", &device.board_power_w);
  }
  reader.each(object, "peaks", [&](const JsonValue& item) {
    PeakRate peak;
    std::string dtype;
    reader.get(item, "dtype", &dtype);
    peak.dtype = dtype_from_name(dtype);
    reader.get(item, "flops_per_s", &peak.flops_per_s);
    reader.get(item, "matrix_flops_per_s", &peak.matrix_flops_per_s);
    device.peaks.push_back(peak);
  });
  device.clock_hz = implied_clock_hz(device);
  return device;
}

void read_enums(Reader& reader, const JsonValue& object, ModelPart* part) {
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

void read_intervals(Reader& reader, const JsonValue& object, const char* key,
                    IntervalTable* table) {
  const JsonValue intervals = reader.object(object, key);
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

void read_recordings(Reader& reader, const JsonValue& object, ModelPart* part) {
  if (!has(object, "recordings")) {  // of devices that were recorded once
    return;
  }
  reader.each(object, "recordings", [&](const JsonValue& item) {
    RecordingEffect effect;
    reader.get(item, "device", &effect.device);
    reader.get(item, "recording", &effect.recording);
    reader.get(item, "rows", &effect.rows);
    reader.get(item, "log_effect", &effect.log_effect);
    reader.get(item, "throttled", &effect.throttled);
    part->recordings.push_back(std::move(effect));
  });
  reader.get(object, "recording_column", &part->recording_column);
}

void read_left_out(Reader& reader, const JsonValue& object, ModelPart* part) {
  if (has(object, "slowest_unit")) {
    reader.get(object, "slowest_unit", &part->slowest_unit);
  }
  if (!has(object, "left_out")) {  // only of priors
    return;
  }
  reader.each(object, "left_out", [&](const JsonValue& item) {
    std::string device;
    reader.get(item, "device", &device);
    part->left_out.emplace_back(device, read_stats(reader, reader.object(item, "errors")));
  });
}

ModelPart read_part(Reader& reader, const JsonValue& object) {
  ModelPart part;
  read_enums(reader, object, &part);
  reader.get(object, "kind", &part.kind);
  reader.get(object, "file", &part.file);
  reader.get_hex(object, "checksum", &part.checksum);
  reader.get(object, "rows", &part.rows);
  reader.get(object, "rounds", &part.rounds);
  reader.get(object, "features", &part.features);
  reader.each(object, "devices", [&](const JsonValue& item) {
    PartDevice device;
    reader.get(item, "model", &device.model);
    reader.get(item, "floor_us", &device.floor_us);
    reader.get(item, "rows", &device.rows);
    if (has(item, "interval_scale")) {
      reader.get(item, "interval_scale", &device.interval_scale);
    }
    if (has(item, "clock_hz")) {  // only of priors
      reader.get(item, "clock_hz", &device.clock_hz);
      reader.get(item, "unit_flops_per_s", &device.unit_flops_per_s);
    }
    part.devices.push_back(std::move(device));
  });
  reader.get(object, "ranges", &part.ranges);
  reader.get(object, "median_log_ratio", &part.median_log_ratio);
  reader.get(object, "kind_effects", &part.kind_effects);
  reader.get(object, "drifts_us", &part.drifts);
  read_intervals(reader, object, "intervals", &part.intervals);
  if (has(object, "forms")) {
    reader.get(object, "forms", &part.forms);
  }
  if (has(object, "unaligned_rows")) {
    reader.get(object, "unaligned_rows", &part.unaligned_rows);
  }
  part.held_out = read_stats(reader, reader.object(object, "held_out"));
  part.held_out_baseline = read_stats(reader, reader.object(object, "held_out_baseline"));
  reader.get(object, "importance", &part.importance);
  read_recordings(reader, object, &part);
  read_left_out(reader, object, &part);
  check_part(reader, part);
  return part;
}

void read_header(Reader& reader, const JsonValue& root, ModelManifest* manifest) {
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
  if (has(root, "overheads_us")) {  // models of earlier versions have none
    reader.get(root, "overheads_us", &manifest->overheads_us);
  }
  if (has(root, "prior")) {
    reader.get(root, "prior", &manifest->prior);
  }
  if (has(root, "interval_scales")) {  // only of models that were fitted to networks
    reader.get(root, "interval_scales", &manifest->interval_scales);
    for (const auto& [device, scale] : manifest->interval_scales) {
      if (reader.status().ok() && !(scale > 0 && scale <= kMostIntervalScale)) {
        reader.fail(fmt::format("'interval_scales' of '{}': {}, expected a number above 0 up to {}",
                                printable(device), scale, kMostIntervalScale));
      }
    }
  }
  if (has(root, "unseen_forms")) {
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

StatusOr<ModelManifest> parse_manifest(std::string_view text, std::string_view place) {
  const PaddedJson json(text);
  JsonParser parser;
  JsonValue root;
  if (!parser.parse_object(json.view(), &root)) {
    return invalid_input(
        fmt::format("{}: not a JSON object; is this a folder that `dfsim train` wrote?", place));
  }
  Reader reader(place);
  ModelManifest manifest;
  read_header(reader, root, &manifest);
  DFSIM_RETURN_IF_ERROR(reader.status());
  reader.each(root, "data", [&](const JsonValue& item) {
    DataSource source;
    reader.get(item, "file", &source.file);
    reader.get(item, "checksum", &source.checksum);
    reader.get(item, "rows", &source.rows);
    manifest.data.push_back(std::move(source));
  });
  reader.each(root, "devices", [&](const JsonValue& item) {
    manifest.devices.push_back(read_device(reader, item));
  });
  if (has(root, "bare_devices")) {  // of CPUs whose roofs were measured
    reader.each(root, "bare_devices", [&](const JsonValue& item) {
      manifest.bare_devices.push_back(read_device(reader, item));
    });
  }
  reader.each(root, "parts", [&](const JsonValue& item) {
    manifest.parts.push_back(read_part(reader, item));
    if (manifest.prior) {
      manifest.parts.back().hide_devices();
    }
  });
  DFSIM_RETURN_IF_ERROR(reader.status());
  return manifest;
}

}  // namespace dfsim::inline opmodel
