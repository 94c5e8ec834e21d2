// Descriptors and devices from profile rows. A device without a hardware file gets rates from
// its own fastest rows, which makes a bound good enough for ratios, though not for absolute
// limits.
#include "opmodel/train/profile_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "hardware/platform_loader.h"
#include "opmodel/features/op_geometry.h"

namespace dfsim::inline opmodel {

namespace {

constexpr double kHeadroom = 1.05;  // over the best rate seen, so that the bound stays a bound

bool plain_format(std::string_view format) {
  return format.empty() || format == "NCHW" || format == "DefaultFormat" || format == "ND";
}

std::string formats_of(const TensorList& inputs, const TensorList& outputs) {
  bool plain = true;
  std::string text;
  const auto append = [&](const TensorList& tensors) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      plain = plain && plain_format(tensors[i].format);
      text += i == 0 ? "" : ",";
      text += plain_format(tensors[i].format) ? "-" : tensors[i].format;
    }
  };
  append(inputs);
  text += '>';
  append(outputs);
  return plain ? "" : text;
}

// "a=1;z=2" and formats -> "a=1;formats=...;z=2": names stay sorted.
std::string with_formats(const std::string& attributes, const std::string& formats) {
  if (formats.empty()) {
    return attributes;
  }
  std::vector<std::string> items =
      attributes.empty() ? std::vector<std::string>{} : split(attributes, ';');
  items.push_back("formats=" + formats);
  std::sort(items.begin(), items.end());
  return join(items, ";");
}

void add_tensors(const TensorList& tensors, std::vector<std::vector<int64_t>>* extents,
                 std::vector<DType>* dtypes) {
  for (const TensorSpec& tensor : tensors) {
    extents->push_back(tensor.extents);
    dtypes->push_back(tensor.dtype);
  }
}

}  // namespace

OpDescriptor descriptor_of(const Profile& profile, const ProfileRow& row) {
  OpDescriptor op;
  op.op_type = profile.text(row.op_type);
  op.op_class = row.op_class;
  op.dtype = profile.dtype(row);
  const TensorList& inputs = profile.tensors(row.inputs);
  const TensorList& outputs = profile.tensors(row.outputs);
  op.attributes = with_formats(profile.text(row.attributes), formats_of(inputs, outputs));
  add_tensors(inputs, &op.input_extents, &op.input_dtypes);
  add_tensors(outputs, &op.output_extents, &op.output_dtypes);
  const OpGeometry geometry = geometry_of(op);
  op.work.dtype = op.dtype;
  op.work.matrix = geometry.matrix;
  op.work.flops = static_cast<int64_t>(std::min(geometry.flops, 9e18));
  op.work.macs = geometry.matrix ? op.work.flops / 2 : 0;
  op.work.bytes_read = static_cast<Bytes>(std::min(geometry.bytes_in, 9e18));
  op.work.bytes_written = static_cast<Bytes>(std::min(geometry.bytes_out, 9e18));
  return op;
}

StatusOr<DeviceSpec> find_device(const std::string& name) {
  auto platform = load_platform(name);
  if (platform.ok() && !platform->devices.empty()) {
    return platform->devices.front();
  }
  const std::string wanted = to_lower(name);
  std::vector<std::string> models;
  StatusOr<DeviceSpec> by_prefix = not_found("");
  for (const std::string& builtin : builtin_platforms()) {
    platform = load_platform(builtin);
    if (!platform.ok() || platform->devices.empty()) {
      continue;
    }
    const DeviceSpec& device = platform->devices.front();
    const std::string model = to_lower(device.model);
    if (model == wanted) {
      return device;
    }
    if (!by_prefix.ok() && model.starts_with(wanted)) {
      by_prefix = device;
    }
    models.push_back(device.model);
  }
  if (by_prefix.ok()) {
    return by_prefix;
  }
  return not_found(unknown_name_message("device", name, models));
}

DeviceSpec estimate_device(const Profile& profile, const std::vector<size_t>& rows,
                           const std::string& name) {
  DeviceSpec device;
  device.name = "device0";
  device.model = name;
  device.compute_units = 32;
  std::map<DType, std::pair<double, double>> peaks;  // vector, matrix
  TimeNs least = profile.row(rows.front()).time_ns;
  for (const size_t i : rows) {
    const ProfileRow& row = profile.row(i);
    const OpGeometry geometry = geometry_of(descriptor_of(profile, row));
    const double seconds = static_cast<double>(row.time_ns) / static_cast<double>(kNsPerSecond);
    const double rate = kHeadroom * geometry.flops / seconds;
    auto& [vector, matrix] = peaks[geometry.dtype];
    (geometry.matrix ? matrix : vector) = std::max(geometry.matrix ? matrix : vector, rate);
    device.memory_bytes_per_s =
        std::max(device.memory_bytes_per_s, kHeadroom * geometry.bytes / seconds);
    least = std::min(least, row.time_ns);
  }
  for (const auto& [dtype, rates] : peaks) {
    PeakRate peak;
    peak.dtype = dtype;
    peak.flops_per_s = rates.first;
    peak.matrix_flops_per_s = rates.second;
    device.peaks.push_back(peak);
  }
  device.launch_overhead_ns = least;
  return device;
}

}  // namespace dfsim::inline opmodel
