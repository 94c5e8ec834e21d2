// Measured operators as records that are grouped by everything that does not change with the
// batch. To estimate one at another size, the table collects the records that differ from it in
// the same axes by one ratio, sorts them by size, and fits a line with an offset and a slope of
// at least 0 through two of them. Growth beyond proportion is a change of kernel, for which the
// nearer record's proportion is the better guess.
#include "opmodel/model/scaling_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/hash.h"
#include "base/io/packed_bytes.h"
#include "datasets/profiles/statistics.h"

namespace dfsim::inline opmodel {

namespace {

constexpr std::string_view kScalingMagic = "dfsimST4";
constexpr double kMostRatio = 64;
// Follows the extents of each tensor and so separates tensors.
constexpr int32_t kTensorEnd = -2;
// Files add this to each extent, so that none is below 0.
constexpr int64_t kLeastExtent = 2;
constexpr uint32_t kMostExtents = 4096;
constexpr float kMostEffect = 2;  // of an effect that does no harm

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
  // Arithmetic in TF32 on operands in fp32 is another kernel.
  if (op.dtype == DType::kTFloat32) {
    hasher.add(static_cast<uint64_t>(op.dtype));
  }
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

// The places in which two ops differ.
std::vector<uint32_t> differing(const std::vector<int32_t>& wanted, const int32_t* measured) {
  std::vector<uint32_t> places;
  for (uint32_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] != measured[i]) {
      places.push_back(i);
    }
  }
  return places;
}

struct SizedTime {
  double size = 0;  // of a measured op; the wanted one has 1
  double time_us = 0;
  double measurements = 1;

  double variance() const { return time_us * time_us / measurements; }  // at a noise of 1
};

struct LineValue {
  double time_us = 0;
  double noise_gain = 1;
};

// wa, wb: what a unit of either time counts for in the result.
LineValue weighted(const SizedTime& a, double wa, const SizedTime& b, double wb) {
  const double time_us = wa * a.time_us + wb * b.time_us;
  return {time_us, std::sqrt(wa * wa * a.variance() + wb * wb * b.variance()) / time_us};
}

// Affine through two points at size 1; offset and slope are held at 0 or more.
LineValue affine_at_one(const SizedTime& a, const SizedTime& b) {
  const double run = b.size - a.size;
  if (b.time_us <= a.time_us) {  // as long at any size
    return weighted(a, 0, b, 1);
  }
  const double offset = b.time_us - (b.time_us - a.time_us) / run * b.size;
  if (offset >= 0 || (a.size < 1 && b.size > 1)) {
    return weighted(a, (b.size - 1) / run, b, (1 - a.size) / run);
  }
  // More than proportional growth: keep to the nearer point's proportion.
  return b.size < 1 ? weighted(a, 0, b, 1 / b.size) : weighted(a, 1 / a.size, b, 0);
}

// Time grows at most as the work does, but for steps of a cache or a kernel, and does not fall
// much.
double doubt_of(const SizedTime& a, const SizedTime& b) {
  constexpr double kFastestGrowth = 1.5;
  constexpr double kSlowestGrowth = 0.7;
  const double growth = b.time_us / a.time_us;
  return std::max({0.0, std::log(growth * a.size / (kFastestGrowth * b.size)),
                   std::log(kSlowestGrowth / growth)});
}

// `line`: the measured ops that differ from the wanted one in the same places, by size.
ScalingEstimate estimate_on(const std::vector<SizedTime>& line) {
  size_t upper = 1;
  while (upper + 1 < line.size() && line[upper].size < 1) {
    ++upper;
  }
  const SizedTime& a = line[upper - 1];
  const SizedTime& b = line[upper];
  ScalingEstimate estimate;
  const LineValue value = affine_at_one(a, b);
  estimate.time_us = value.time_us;
  estimate.noise_gain = value.noise_gain;
  estimate.doubt = doubt_of(a, b);
  estimate.interpolated = a.size < 1 && b.size > 1;
  estimate.distance = std::min(std::max(a.size, 1 / a.size), std::max(b.size, 1 / b.size));
  return estimate;
}

// Between two sizes is better than beyond them, then nearer is better.
bool better(const ScalingEstimate& a, const ScalingEstimate& b) {
  return std::pair(!a.interpolated, a.distance) < std::pair(!b.interpolated, b.distance);
}

}  // namespace

// Files have their groups in order: the new record belongs to the last group or after it.
std::vector<ScalingTable::Record>& ScalingTable::records_of(uint64_t group) {
  return groups_.try_emplace(groups_.end(), group)->second;
}

void ScalingTable::add_record(uint64_t group, const std::vector<int32_t>& extents, float time_us,
                              uint32_t measurements) {
  records_of(group).push_back({time_us, measurements, static_cast<uint32_t>(extents_.size()),
                               static_cast<uint32_t>(extents.size())});
  extents_.insert(extents_.end(), extents.begin(), extents.end());
  ++count_;
}

void ScalingTable::add(const OpDescriptor& op, std::string_view device_model, double time_us,
                       size_t measurements) {
  add_record(group_of(op, device_model), extents_of(op), static_cast<float>(time_us),
             static_cast<uint32_t>(std::clamp<size_t>(measurements, 1, UINT32_MAX)));
}

void ScalingTable::add_effect(uint64_t instance, double log_factor) {
  effects_[instance] = static_cast<float>(log_factor);
}

double ScalingTable::factor_of(uint64_t instance) const {
  const auto it = effects_.find(instance);
  return it == effects_.end() ? 1 : std::exp(it->second);
}

std::optional<ScalingEstimate> ScalingTable::estimate(const OpDescriptor& op,
                                                      std::string_view device_model) const {
  const auto group = groups_.find(group_of(op, device_model));
  if (group == groups_.end()) {
    return std::nullopt;
  }
  const std::vector<int32_t> wanted = extents_of(op);
  // Times by the places that differ, then by size.
  struct AtSize {
    std::vector<double> times_us;
    double measurements = 0;
  };
  std::map<std::vector<uint32_t>, std::map<double, AtSize>> lines;
  for (const Record& record : group->second) {
    const int32_t* const measured = extents_.data() + record.first_extent;
    const double ratio = record.extent_count == wanted.size() ? ratio_of(wanted, measured) : 0;
    if (ratio > 0) {
      AtSize& at = lines[differing(wanted, measured)][1 / ratio];
      at.times_us.push_back(record.time_us);
      at.measurements += record.measurements;
    }
  }
  std::optional<ScalingEstimate> best;
  for (auto& [places, sizes] : lines) {
    if (sizes.size() < 2) {
      continue;
    }
    std::vector<SizedTime> line;
    for (auto& [size, at] : sizes) {
      line.push_back({size, median(at.times_us), at.measurements});
    }
    const ScalingEstimate estimate = estimate_on(line);
    if (!best.has_value() || better(estimate, *best)) {
      best = estimate;
    }
  }
  return best;
}

std::string ScalingTable::serialize() const {
  std::string bytes(kScalingMagic);
  append_value(bytes, static_cast<uint64_t>(groups_.size()));
  for (const auto& [group, records] : groups_) {
    append_value(bytes, group);
    append_varint(bytes, records.size());
    append_varint(bytes, records.front().extent_count);
    for (const Record& record : records) {
      append_value(bytes, record.time_us);
      append_varint(bytes, record.measurements);
      for (uint32_t i = 0; i < record.extent_count; ++i) {
        append_varint(bytes,
                      static_cast<uint64_t>(extents_[record.first_extent + i] + kLeastExtent));
      }
    }
  }
  append_value(bytes, static_cast<uint64_t>(effects_.size()));
  for (const auto& [instance, log_factor] : effects_) {
    append_value(bytes, instance);
    append_value(bytes, log_factor);
  }
  return bytes;
}

bool ScalingTable::parse_group(std::string_view& bytes) {
  uint64_t group = 0;
  uint64_t records = 0;
  uint64_t count = 0;
  if (!take_value(bytes, &group) || !take_varint(bytes, UINT32_MAX, &records) ||
      !take_varint(bytes, kMostExtents, &count) || records == 0) {
    return false;
  }
  std::vector<int32_t> extents(count);
  for (uint64_t i = 0; i < records; ++i) {
    float time_us = 0;
    uint64_t measurements = 0;
    if (!take_value(bytes, &time_us) || !take_varint(bytes, UINT32_MAX, &measurements) ||
        measurements == 0 || !(time_us > 0) || !std::isfinite(time_us)) {
      return false;
    }
    for (int32_t& extent : extents) {
      uint64_t number = 0;
      if (!take_varint(bytes, uint64_t{INT32_MAX} + kLeastExtent, &number)) {
        return false;
      }
      extent = static_cast<int32_t>(static_cast<int64_t>(number) - kLeastExtent);
    }
    add_record(group, extents, time_us, static_cast<uint32_t>(measurements));
  }
  return true;
}

bool ScalingTable::parse_effect(std::string_view& bytes) {
  uint64_t instance = 0;
  float log_factor = 0;
  if (!take_value(bytes, &instance) || !take_value(bytes, &log_factor) ||
      !(std::abs(log_factor) <= kMostEffect)) {
    return false;
  }
  add_effect(instance, log_factor);
  return true;
}

StatusOr<ScalingTable> ScalingTable::parse(std::string_view bytes, std::string_view place) {
  ScalingTable table;
  bool good = bytes.starts_with(kScalingMagic);
  bytes.remove_prefix(good ? kScalingMagic.size() : 0);
  for (const auto parse_one : {&ScalingTable::parse_group, &ScalingTable::parse_effect}) {
    uint64_t count = 0;
    good = good && take_value(bytes, &count);
    for (uint64_t i = 0; good && i < count; ++i) {
      good = (table.*parse_one)(bytes);
    }
  }
  if (!good || !bytes.empty()) {
    return invalid_input(fmt::format(
        "{}: not a table of ops at several sizes; train the model again or restore the file",
        place));
  }
  return table;
}

}  // namespace dfsim::inline opmodel
