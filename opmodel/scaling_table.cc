#include "opmodel/scaling_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "base/hash.h"

namespace dfsim {

namespace {

constexpr std::string_view kMagic = "dfsimST1";
constexpr double kMostRatio = 64;
// Stands after the extents of each tensor, so that tensors are told apart.
constexpr int32_t kTensorEnd = -2;
constexpr uint32_t kMostExtents = 4096;

// Everything that must be equal for two ops to be the same one at different batch sizes.
uint64_t group_of(const OpDescriptor& op, std::string_view device_model) {
  Hasher hasher;
  hasher.add(device_model).add(op.op_type).add(op.attributes);
  const auto add = [&](const std::vector<std::vector<int64_t>>& tensors,
                       const std::vector<DType>& dtypes) {
    hasher.add(tensors.size());
    for (const auto& extents : tensors) {
      hasher.add(extents.size());
    }
    for (const DType dtype : dtypes) {
      hasher.add(static_cast<uint64_t>(dtype));
    }
  };
  add(op.input_extents, op.input_dtypes);
  add(op.output_extents, op.output_dtypes);
  return hasher.digest();
}

std::vector<int32_t> extents_of(const OpDescriptor& op) {
  std::vector<int32_t> extents;
  for (const auto* tensors : {&op.input_extents, &op.output_extents}) {
    for (const auto& shape : *tensors) {
      for (const int64_t extent : shape) {
        extents.push_back(static_cast<int32_t>(std::clamp<int64_t>(extent, -1, INT32_MAX)));
      }
      extents.push_back(kTensorEnd);
    }
  }
  return extents;
}

// A batch shows in one axis of a tensor. Where more differ, other sizes do too, if by the same
// ratio.
bool one_axis_per_tensor(const std::vector<int32_t>& wanted, const int32_t* measured) {
  int differing = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == kTensorEnd) {
      differing = 0;
    } else if (wanted[i] != measured[i] && ++differing > 1) {
      return false;
    }
  }
  return true;
}

// The ratio wanted / measured of all extents that differ; 0 when there is none or they disagree.
double ratio_of(const std::vector<int32_t>& wanted, const int32_t* measured) {
  if (!one_axis_per_tensor(wanted, measured)) {
    return 0;
  }
  double ratio = 0;
  int32_t largest = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    // The longest extent that differs says the ratio best: the others may be rounded to blocks.
    if (wanted[i] != measured[i] && wanted[i] > 0 && measured[i] > 0 &&
        std::max(wanted[i], measured[i]) > largest) {
      largest = std::max(wanted[i], measured[i]);
      ratio = static_cast<double>(wanted[i]) / measured[i];
    }
  }
  if (ratio == 0 || ratio > kMostRatio || ratio < 1 / kMostRatio) {
    return 0;
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] != measured[i] && std::abs(wanted[i] - ratio * measured[i]) > 1) {
      return 0;
    }
  }
  return ratio;
}

double median_of(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// Affine through the two points around (or nearest to) `batch`; f and g are held at 0 or more.
double affine_at(double b1, double t1, double b2, double t2, double batch) {
  double slope = std::max((t2 - t1) / (b2 - b1), 0.0);
  double offset = t2 - slope * b2;
  if (offset < 0) {
    // More than proportional growth: keep to the nearer point's proportion.
    const bool near_first = std::abs(batch - b1) < std::abs(batch - b2);
    slope = near_first ? t1 / b1 : t2 / b2;
    offset = 0;
    if (batch > b1 && batch < b2) {
      return t1 + (t2 - t1) * (batch - b1) / (b2 - b1);
    }
  }
  return offset + slope * batch;
}

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
bool take(std::string_view& bytes, T* value) {
  if (bytes.size() < sizeof(T)) {
    return false;
  }
  std::memcpy(value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return true;
}

}  // namespace

void ScalingTable::add_record(uint64_t group, const std::vector<int32_t>& extents, int32_t batch,
                              float time_us) {
  groups_[group].push_back({batch, time_us, static_cast<uint32_t>(extents_.size()),
                            static_cast<uint32_t>(extents.size())});
  extents_.insert(extents_.end(), extents.begin(), extents.end());
  ++count_;
}

void ScalingTable::add(const OpDescriptor& op, std::string_view device_model, int32_t batch,
                       double time_us) {
  add_record(group_of(op, device_model), extents_of(op), batch, static_cast<float>(time_us));
}

std::optional<ScalingEstimate> ScalingTable::estimate(const OpDescriptor& op,
                                                      std::string_view device_model) const {
  const auto group = groups_.find(group_of(op, device_model));
  if (group == groups_.end()) {
    return std::nullopt;
  }
  const std::vector<int32_t> wanted = extents_of(op);
  // By the batch size that this op would have, then by the measured one. Where batch sizes were not
  // recorded, this op has 1 and a measured one the inverse of its ratio.
  std::map<int64_t, std::map<double, std::vector<double>>> by_batch;
  for (const Record& record : group->second) {
    if (record.extent_count != wanted.size()) {
      continue;
    }
    const double ratio = ratio_of(wanted, extents_.data() + record.first_extent);
    if (ratio > 0) {
      const double measured = record.batch > 0 ? record.batch : 1 / ratio;
      const auto batch = static_cast<int64_t>(std::llround(ratio * measured * 16));
      by_batch[batch][measured].push_back(record.time_us);
    }
  }
  // Several ops may look like scaled versions: the batch size most measurements agree on is it.
  const auto best = std::max_element(
      by_batch.begin(), by_batch.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (best == by_batch.end() || best->second.size() < 2) {
    return std::nullopt;
  }
  const double batch = static_cast<double>(best->first) / 16;
  std::vector<std::pair<double, double>> points;
  for (auto& [measured, times] : best->second) {
    points.emplace_back(measured, median_of(times));
  }
  size_t upper = 1;
  while (upper + 1 < points.size() && points[upper].first < batch) {
    ++upper;
  }
  const auto [b1, t1] = points[upper - 1];
  const auto [b2, t2] = points[upper];
  ScalingEstimate estimate;
  estimate.time_us = affine_at(b1, t1, b2, t2, batch);
  estimate.interpolated = batch >= b1 && batch <= b2;
  estimate.distance = std::min(std::max(batch / b1, b1 / batch), std::max(batch / b2, b2 / batch));
  return estimate;
}

std::string ScalingTable::serialize() const {
  std::string bytes(kMagic);
  const std::map<uint64_t, std::vector<Record>> sorted(groups_.begin(), groups_.end());
  for (const auto& [group, records] : sorted) {
    for (const Record& record : records) {
      append(bytes, group);
      append(bytes, record.batch);
      append(bytes, record.time_us);
      append(bytes, record.extent_count);
      bytes.append(reinterpret_cast<const char*>(extents_.data() + record.first_extent),
                   record.extent_count * sizeof(int32_t));
    }
  }
  return bytes;
}

StatusOr<ScalingTable> ScalingTable::parse(std::string_view bytes, std::string_view place) {
  const auto damaged = [&] {
    return invalid_input(fmt::format(
        "{}: not a table of ops at several batch sizes; train the model again or restore the file",
        place));
  };
  if (!bytes.starts_with(kMagic)) {
    return damaged();
  }
  bytes.remove_prefix(kMagic.size());
  ScalingTable table;
  std::vector<int32_t> extents;
  while (!bytes.empty()) {
    uint64_t group = 0;
    int32_t batch = 0;
    float time_us = 0;
    uint32_t count = 0;
    if (!take(bytes, &group) || !take(bytes, &batch) || !take(bytes, &time_us) ||
        !take(bytes, &count) || count > kMostExtents || bytes.size() < count * sizeof(int32_t) ||
        batch < 0 || !(time_us > 0) || !std::isfinite(time_us)) {
      return damaged();
    }
    extents.resize(count);
    std::memcpy(extents.data(), bytes.data(), count * sizeof(int32_t));
    bytes.remove_prefix(count * sizeof(int32_t));
    table.add_record(group, extents, batch, time_us);
  }
  return table;
}

}  // namespace dfsim
