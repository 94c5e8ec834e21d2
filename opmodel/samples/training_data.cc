// Builds samples from profiles: resolves devices (hardware file, or rates guessed from the rows
// of a device that has none), merges rows of equal operators, and drops rows that are faster
// than the device can be. A dropped row is counted with its reason, never lost silently.
#include "opmodel/samples/training_data.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/hash.h"
#include "opmodel/samples/instance_key.h"
#include "opmodel/train/profile_ops.h"
#include "opmodel/train/row_bounds.h"

namespace dfsim::inline opmodel {

namespace {

class Builder {
 public:
  Builder(const Profile& profile, const TrainingDataOptions& options)
      : profile_(profile), options_(options) {}

  StatusOr<TrainingData> build() {
    DFSIM_RETURN_IF_ERROR(find_devices());
    drop_impossible(
        profile_,
        [this](const Profile& profile, const ProfileRow& row) {
          const uint32_t device = device_index_.at(profile.text(row.device));
          return bound_known_[device] ? least_time_us(geometry_of(descriptor_of(profile, row)),
                                                      data_.devices[device]) *
                                            kNsPerUs
                                      : 0.0;
        },
        "profile", &data_.drops);
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
      data_.geometries.back().repeated =
          row.timing == TimingKind::kKernelOnly && profile_.text(row.network).empty();
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

  uint32_t recording_of(const ProfileRow& row) {
    const auto [it, added] = recording_index_.try_emplace(
        row.provenance.value(), static_cast<uint32_t>(data_.recordings.size()));
    if (added) {
      data_.recordings.push_back(profile_.text(row.provenance));
    }
    return it->second;
  }

  uint64_t instance_of(const ProfileRow& row) {
    const std::string& name = profile_.text(row.name);
    const std::string& network = profile_.text(row.network);
    if (name.empty() || network.empty()) {
      return 0;
    }
    const std::string& device = profile_.text(row.device);
    std::string lasting = lasting_name(name) + '\n' + profile_.text(row.op_type);
    const uint64_t run = instance_key(device, network, lasting, -1 - int64_t{row.batch});
    return instance_key(device, network, lasting, occurrences_[run]++);
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
    sample.instance = instance_of(row);
    sample.recording = recording_of(row);
    data_.samples.push_back(sample);
  }

  Profile profile_;
  const TrainingDataOptions& options_;
  TrainingData data_;
  std::vector<bool> bound_known_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, int, int>, uint32_t> op_index_;
  std::unordered_map<std::string, uint32_t> device_index_;
  std::unordered_map<uint64_t, int64_t> occurrences_;       // by name in one run of a network
  std::unordered_map<uint32_t, uint32_t> recording_index_;  // by the text's id
  std::unordered_map<std::string, uint32_t> network_index_ = {{"", 0}};
};

}  // namespace

StatusOr<TrainingData> make_training_data(const Profile& profile,
                                          const TrainingDataOptions& options) {
  return Builder(profile, options).build();
}

}  // namespace dfsim::inline opmodel
