// Features, trees and intervals of one part, at prediction time. The row that is filled here
// must equal the one that training filled, column by column. Operators outside of the training
// range get the part's median efficiency in place of the trees' answer, because trees continue
// the last leaf as a constant.
#include "opmodel/model/part_model.h"

#include <algorithm>
#include <cmath>

#include "base/cancellation.h"
#include "opmodel/features/attention_waves.h"
#include "opmodel/features/op_form.h"
#include "opmodel/model/laws/kernel_limit.h"

namespace dfsim::inline opmodel {

namespace {

constexpr double kRangeSlack = 0.1;            // in ln: 10 % beyond the range is still inside
constexpr double kExtrapolatedWidening = 2.0;  // of the interval, in ln
constexpr double kLeastRatio = 0.5;            // of the bound: nothing is faster than that

// Dtypes of the same width run the same kernels at the same rate (bf16 and fp16).
bool alike(DType a, DType b) {
  const auto half = [](DType dtype) {
    return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  };
  return a == b || (half(a) && half(b));
}

bool kind_known(const ModelPart& part, std::string_view kind) {
  if (part.kind != kAnyKind) {
    return part.kind == kind;
  }
  return std::any_of(part.kind_effects.begin(), part.kind_effects.end(),
                     [&](const auto& known) { return known.first == kind; });
}

bool form_known(const ModelPart& part, const PartQuery& query, const DeviceSpec& device) {
  const std::string form = part.forms.empty() ? "" : op_form(*query.op, *query.geometry);
  if (part.forms.empty() || part.knows_form(form)) {
    return true;
  }
  return device.type == DeviceType::kGpu && part.op_class == OpClass::kMatMul &&
         std::any_of(part.forms.begin(), part.forms.end(),
                     [&form](const auto& known) { return alike_on_gpus(known.first, form); });
}

// Devices of the part whose shortest kernels say how many cycles such kernels take. Libraries write
// attention for each generation of units, so for attention only the device with the most similar
// units counts.
std::vector<const PartDevice*> comparable_devices(const ModelPart& part, double unit_flops) {
  std::vector<const PartDevice*> devices;
  for (const PartDevice& known : part.devices) {
    if (known.clock_hz > 0 && known.unit_flops_per_s > 0) {
      devices.push_back(&known);
    }
  }
  if (part.family == Family::kAttention && unit_flops > 0 && !devices.empty()) {
    const auto apart = [unit_flops](const PartDevice* known) {
      return std::abs(std::log(known->unit_flops_per_s / unit_flops));
    };
    const PartDevice* const nearest = *std::min_element(
        devices.begin(), devices.end(), [&](auto* a, auto* b) { return apart(a) < apart(b); });
    devices = {nearest};
  }
  return devices;
}

// The shortest kernels take a number of cycles: those of attention 15 to 20 thousand on A100, H100
// and L40S, at 1.4 to 2.5 GHz. The lower middle counts. 0: not known.
double floor_by_clock_us(const ModelPart& part, const DeviceSpec& device) {
  std::vector<double> cycles;
  for (const PartDevice* known : comparable_devices(part, unit_flops_per_s(device))) {
    cycles.push_back(known->floor_us * known->clock_hz / 1e6);
  }
  if (!(device.clock_hz > 0) || cycles.empty()) {
    return 0;
  }
  std::sort(cycles.begin(), cycles.end());
  return cycles[(cycles.size() - 1) / 2] / device.clock_hz * 1e6;
}

}  // namespace

size_t part_columns(const ModelPart& part) {
  return part.features.size() + (part.kind == kAnyKind ? 1 : 0) + (part.recording_column ? 1 : 0);
}

bool has_known_features(const ModelPart& part) {
  const auto& names = feature_names(part.family, feature_set_of(part.family, part.features));
  return part.features.size() <= names.size() &&
         std::equal(part.features.begin(), part.features.end(), names.begin());
}

void fill_part_row(const ModelPart& part, const PartQuery& query, const DeviceSpec& device,
                   const Roofline& roofline, std::span<float> row) {
  const size_t count = part.features.size();
  const FeatureSet set = feature_set_of(part.family, part.features);
  fill_features(*query.op, *query.geometry, device, roofline, set, row.first(count));
  if (part.kind == kAnyKind) {
    row[count] = static_cast<float>(part.kind_effect(query.geometry->kind));
  }
  for (const size_t column : part.hidden) {
    row[column] = 0;
  }
  if (part.recording_column) {
    row.back() = query.recording;
  }
}

bool dtype_known(const ModelPart& part, DType dtype) {
  return std::any_of(part.dtypes.begin(), part.dtypes.end(),
                     [&](DType trained) { return alike(trained, dtype); });
}

double unit_flops_per_s(const DeviceSpec& device) {
  return device.peak_flops_per_s(DType::kFloat16, true) / std::max(device.compute_units, 1);
}

double part_floor_us(const ModelPart& part, const DeviceSpec& device) {
  if (const PartDevice* known = part.find_device(device.model); known != nullptr) {
    return known->floor_us;
  }
  const double own = static_cast<double>(device.launch_overhead_ns) / kNsPerUs;
  if (part.devices.empty()) {
    return own;
  }
  std::vector<double> floors;
  for (const PartDevice& known : part.devices) {
    floors.push_back(known.floor_us);
  }
  std::sort(floors.begin(), floors.end());
  // Launches are the host's and alike everywhere.
  if (part.timing == TimingKind::kLaunchInclusive) {
    return floors[floors.size() / 2];
  }
  if (const double scaled = floor_by_clock_us(part, device); scaled > 0) {
    return scaled;
  }
  // The shortest kernels of a kind cost what they cost elsewhere, and no less than the hardware
  // file says of any kernel.
  return std::max(own, floors[(floors.size() - 1) / 2]);
}

Roofline part_roofline(const ModelPart& part, const OpGeometry& geometry, const DeviceSpec& device,
                       double floor_us) {
  Roofline roofline = roofline_of(geometry, device, floor_us);
  if (part.slowest_unit) {
    roofline.slowest_us = slowest_unit_us(geometry, device);
    roofline.memory_us = repeated_memory_us(geometry, device);
  }
  return roofline;
}

namespace {

void raise_answer(const KernelLimit& limit, PartAnswer* answer) {
  if (!limit.foreign && limit.time_us <= answer->time_us) {
    return;
  }
  const double factor = std::max(limit.time_us / answer->time_us, 1.0);
  answer->low_us = std::min(answer->low_us, answer->time_us / limit.spread) * factor;
  answer->high_us = std::max(answer->high_us, answer->time_us * limit.spread) * factor;
  answer->time_us *= factor;
  answer->extrapolated = true;
}

bool leaves_ranges(const ModelPart& part, const OpGeometry& geometry) {
  for (size_t i = 0; i < part.ranges.size(); ++i) {
    const double value = std::log1p(std::max(geometry.dims[i], 0.0));
    if (value < part.ranges[i].first - kRangeSlack || value > part.ranges[i].second + kRangeSlack) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool leaves_training_ground(const ModelPart& part, const OpGeometry& geometry,
                            const DeviceSpec& device) {
  return part.find_device(device.model) == nullptr || !dtype_known(part, geometry.dtype) ||
         leaves_ranges(part, geometry);
}

std::pair<double, double> interval_at(const IntervalTable& table, double time_us) {
  if (table.low.empty()) {
    return {1, 1};
  }
  const auto bin =
      static_cast<size_t>(std::upper_bound(table.edges_us.begin(), table.edges_us.end(), time_us) -
                          table.edges_us.begin());
  return {table.low[bin], table.high[bin]};
}

std::pair<double, double> scaled_interval_at(const IntervalTable& table, double scale,
                                             double time_us) {
  const auto [low, high] = interval_at(table, time_us);
  return scale == 1 ? std::pair(low, high) : std::pair(std::pow(low, scale), std::pow(high, scale));
}

std::vector<PartAnswer> predict_part(const ModelPart& part, const Forest* forest,
                                     std::span<const PartQuery> queries, const DeviceSpec& device,
                                     bool across_devices) {
  const size_t columns = part_columns(part);
  const double floor_us = part_floor_us(part, device);
  const double scale = part.interval_scale(device.model);
  std::vector<float> values(forest == nullptr ? 0 : queries.size() * columns);
  std::vector<Roofline> rooflines(queries.size());
  for (size_t i = 0; i < queries.size(); ++i) {
    rooflines[i] = part_roofline(part, *queries[i].geometry, device, floor_us);
    if (forest != nullptr) {
      fill_part_row(part, queries[i], device, rooflines[i],
                    std::span(values).subspan(i * columns, columns));
    }
  }
  std::vector<float> ratios(queries.size(), static_cast<float>(part.median_log_ratio));
  if (forest != nullptr) {
    forest->predict(values, ratios);
  }
  std::vector<PartAnswer> answers(queries.size());
  for (size_t i = 0; i < queries.size(); ++i) {
    cancellation_point();
    PartAnswer& answer = answers[i];
    const OpGeometry& geometry = *queries[i].geometry;
    answer.unseen_form = !kind_known(part, geometry.kind) || !form_known(part, queries[i], device);
    answer.extrapolated =
        forest == nullptr || answer.unseen_form ||
        (across_devices ? !dtype_known(part, geometry.dtype) || leaves_ranges(part, geometry)
                        : leaves_training_ground(part, geometry, device));
    answer.base_us = rooflines[i].base_us();
    // Trees of another dtype or another kind of op say nothing of this one: the median has to do.
    const bool foreign = (!across_devices && !dtype_known(part, geometry.dtype)) ||
                         (part.kind != kAnyKind && part.kind != geometry.kind);
    const double ratio = std::exp(foreign ? part.median_log_ratio : ratios[i]);
    answer.time_us = answer.base_us * std::max(ratio, kLeastRatio);
    if (part.timing == TimingKind::kLaunchInclusive && part.family == Family::kGemm &&
        leaves_ranges(part, geometry)) {
      // A product of fewer rows than any that was measured reads its weight, about as fast as the
      // others do; the launch, which is most of its time, stays as it is.
      const double launch_us = rooflines[i].floor_us;
      answer.time_us = launch_us + (answer.base_us - launch_us) * std::max(ratio, kLeastRatio);
    }
    auto [low, high] = scaled_interval_at(part.intervals, scale, answer.time_us);
    if (answer.extrapolated) {
      low = std::pow(low, kExtrapolatedWidening);
      high = std::pow(high, kExtrapolatedWidening);
    }
    answer.low_us = answer.time_us * low;
    answer.high_us = answer.time_us * high;
    raise_answer(kernel_limit(part, *queries[i].op, geometry, device), &answer);
  }
  return answers;
}

}  // namespace dfsim::inline opmodel
