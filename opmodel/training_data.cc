#include "opmodel/training_data.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/hash.h"
#include "opmodel/features.h"
#include "opmodel/profile_ops.h"

namespace dfsim {

namespace {

constexpr double kLeastOfBound = 0.5;
constexpr double kCacheFactor = 4;  // tensors below this many caches may never see main memory

class Builder {
 public:
  Builder(const Profile& profile, const TrainingDataOptions& options)
      : profile_(profile), options_(options) {}

  StatusOr<TrainingData> build() {
    DFSIM_RETURN_IF_ERROR(find_devices());
    for (size_t i = 0; i < profile_.size(); ++i) {
      add_row(i);
    }
    return std::move(data_);
  }

 private:
  Status find_devices() {
    std::map<std::string, std::vector<size_t>> rows_of;
    for (size_t i = 0; i < profile_.size(); ++i) {
      rows_of[profile_.text(profile_.row(i).device)].push_back(i);
    }
    for (const auto& [name, rows] : rows_of) {
      device_index_[name] = static_cast<uint32_t>(data_.devices.size());
      DFSIM_ASSIGN_OR_RETURN(DeviceSpec device, device_named(name, rows));
      data_.devices.push_back(std::move(device));
      // Bounds of a device without a hardware file are guesses from some of its rows.
      bound_known_.push_back(!options_.device.empty() || find_device(name).ok());
    }
    return ok_status();
  }

  StatusOr<DeviceSpec> device_named(const std::string& name, const std::vector<size_t>& rows) {
    if (!options_.device.empty()) {
      DFSIM_ASSIGN_OR_RETURN(DeviceSpec device, find_device(options_.device));
      return device;
    }
    for (const DeviceSpec& known : options_.known_devices) {
      if (known.model == name) {
        return known;
      }
    }
    if (auto device = find_device(name); !name.empty() && device.ok()) {
      return device;
    }
    data_.estimated_devices.push_back(name);
    return estimate_device(profile_, rows, name);
  }

  // Rows of equal type, shapes and attributes share one op.
  uint32_t op_of(const ProfileRow& row) {
    const auto key = std::tuple(row.op_type.value(), row.attributes.value(), row.inputs.value(),
                                row.outputs.value(), static_cast<int>(row.op_class),
                                static_cast<int>(row.compute_dtype));
    const auto [it, added] = op_index_.try_emplace(key, static_cast<uint32_t>(data_.ops.size()));
    if (added) {
      data_.ops.push_back(descriptor_of(profile_, row));
      data_.geometries.push_back(geometry_of(data_.ops.back()));
    }
    return it->second;
  }

  uint32_t network_of(const ProfileRow& row) {
    const std::string& name = profile_.text(row.network);
    const auto [it, added] =
        network_index_.try_emplace(name, static_cast<uint32_t>(data_.networks.size()));
    if (added) {
      data_.networks.push_back(name);
    }
    return it->second;
  }

  static bool impossible(const OpGeometry& geometry, const DeviceSpec& device, double time_us) {
    const Roofline roofline = roofline_of(geometry, device, 0);
    const bool cached =
        geometry.bytes < kCacheFactor * static_cast<double>(std::max<Bytes>(device.l2_bytes, 0));
    const double bound = std::max(roofline.compute_us, cached ? 0 : roofline.memory_us);
    return time_us < kLeastOfBound * bound;
  }

  void add_row(size_t index) {
    const ProfileRow& row = profile_.row(index);
    Sample sample;
    sample.op = op_of(row);
    sample.device = device_index_.at(profile_.text(row.device));
    sample.timing = row.timing;
    sample.time_us = static_cast<double>(row.time_ns) / kNsPerUs;
    sample.row = static_cast<uint32_t>(index);
    sample.network = network_of(row);
    sample.batch = row.batch;
    sample.count = row.count;
    // Generic geometries know too little of the work to call a time impossible.
    const OpGeometry& geometry = data_.geometries[sample.op];
    if (geometry.family != Family::kGeneric && bound_known_[sample.device] &&
        impossible(geometry, data_.devices[sample.device], sample.time_us)) {
      ++data_.impossible;
      return;
    }
    data_.samples.push_back(sample);
  }

  const Profile& profile_;
  const TrainingDataOptions& options_;
  TrainingData data_;
  std::vector<bool> bound_known_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, int, int>, uint32_t> op_index_;
  std::unordered_map<std::string, uint32_t> device_index_;
  std::unordered_map<std::string, uint32_t> network_index_ = {{"", 0}};
};

}  // namespace

StatusOr<TrainingData> make_training_data(const Profile& profile,
                                          const TrainingDataOptions& options) {
  return Builder(profile, options).build();
}

}  // namespace dfsim
