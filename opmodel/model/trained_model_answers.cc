// Answers for a batch of operators: by measured times, else by trees blended with the line through
// measured sizes, else by the prior or the bound; launches are added or taken off as needed.
#include <algorithm>
#include <cmath>
#include <map>

#include "hardware/sustained_rates.h"
#include "opmodel/model/trained_model.h"
#include "opmodel/sol.h"

namespace dfsim::inline opmodel {

namespace {

// Errors of a line through two sizes of an op: between them, and at twice the larger or half the
// smaller one. Measured on TinyNAS's convolutions and Vidur's layers (docs/accuracy.md).
constexpr double kErrorBetween = 0.05;
constexpr double kErrorBeyond = 0.11;
// Error of trees without held-out rows, and its weight in rows.
constexpr double kErrorUntested = 0.25;
constexpr double kUntestedRows = 20;
// Shapes held out at random have near relatives among the others; another batch size has fewer.
constexpr double kHarderThanHeldOut = 1.5;
// A prior answers for classes without any data by these: time over the sustained roofline, and the
// 80 % factor.
constexpr double kUnknownOverSustained = 1.15;
constexpr double kUnknownSpread = 2.0;

bool is_device_time(TimingKind timing) { return timing != TimingKind::kLaunchInclusive; }

bool costs_nothing(OpClass op_class) {
  return op_class == OpClass::kView || op_class == OpClass::kConstant;
}

// Least kernel time after subtracting a launch: the speed of light. In fp32, Winograd's algorithm
// does a 3x3 convolution of stride 1 with 2.25 times fewer multiplications than the bound counts;
// kernels of matrix units do not use it.
double least_kernel_us(const OpGeometry& geometry, const DeviceSpec& device) {
  constexpr double kWinograd = 2.25;
  const double launch_us = static_cast<double>(device.launch_overhead_ns) / kNsPerUs;
  const Roofline roofline = roofline_of(geometry, device, launch_us);
  const auto& d = geometry.dims;
  const bool winograd = geometry.family == Family::kConv && geometry.dtype == DType::kFloat32 &&
                        d[dim::kKH] == 3 && d[dim::kKW] == 3 && d[dim::kStride] == 1 &&
                        d[dim::kGroup] <= 1;
  return std::max(roofline.compute_us / (winograd ? kWinograd : 1.0), roofline.memory_us) +
         launch_us;
}

// Looking up pieces or waiting for weights is not arithmetic.
Bound bound_of(OpGeometry geometry, const DeviceSpec& device) {
  geometry.cpu_effort = 1;
  const Roofline roofline =
      roofline_of(geometry, device, static_cast<double>(device.launch_overhead_ns) / kNsPerUs);
  return Sol{roofline.compute_us, roofline.memory_us, roofline.floor_us}.bound();
}

}  // namespace

int TrainedModel::choose_part(const OpDescriptor& op, const OpGeometry& geometry,
                              const DeviceSpec& device, TimingKind timing) const {
  int best = -1;
  int best_score = -1;
  for (size_t i = 0; i < manifest_.parts.size(); ++i) {
    const ModelPart& part = manifest_.parts[i];
    if (part.op_class != op.op_class || part.family != geometry.family) {
      continue;
    }
    const int score = (part.kind == geometry.kind || part.kind == kAnyKind ? 32 : 0) +
                      (dtype_known(part, geometry.dtype) ? 16 : 0) +
                      (part.find_device(known_name(part, device)) != nullptr ? 8 : 0) +
                      (is_device_time(part.timing) == is_device_time(timing) ? 4 : 0) +
                      (part.kind == geometry.kind ? 2 : 0) + (part.file.empty() ? 0 : 1);
    if (score > best_score) {
      best = static_cast<int>(i);
      best_score = score;
    }
  }
  return best;
}

// The data behind the answer was measured for this dtype.
bool TrainedModel::knows(const ModelAnswer& answer, const OpGeometry& geometry) const {
  if (answer.source == CostSource::kBoundOnly) {
    return false;
  }
  return answer.source != CostSource::kExtrapolated || answer.part < 0 ||
         dtype_known(manifest_.parts[static_cast<size_t>(answer.part)], geometry.dtype);
}

Status TrainedModel::ask_prior(std::span<const OpDescriptor> ops,
                               std::span<const OpGeometry> geometries, const DeviceSpec& device,
                               std::span<ModelAnswer> answers) const {
  std::vector<uint32_t> which;
  std::vector<OpDescriptor> unknown;
  std::vector<OpGeometry> unknown_geometries;
  for (uint32_t i = 0; i < ops.size(); ++i) {
    if (!costs_nothing(ops[i].op_class) && !knows(answers[i], geometries[i])) {
      which.push_back(i);
      unknown.push_back(ops[i]);
      unknown_geometries.push_back(geometries[i]);
    }
  }
  if (which.empty()) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const std::vector<ModelAnswer> priors,
                         prior_->predict_as(unknown, unknown_geometries, device, Query{}));
  for (size_t k = 0; k < which.size(); ++k) {
    answers[which[k]] = priors[k];
    answers[which[k]].part = -1;
  }
  return ok_status();
}

// Time that a launch adds to the kernel's own, from this part's rows. Without a part that includes
// launches: the median of all that do, or 0.
double TrainedModel::launch_overhead_us(const ModelPart* part, const DeviceSpec& device) const {
  const double kernel_us = static_cast<double>(device.launch_overhead_ns) / kNsPerUs;
  if (part != nullptr && part->timing == TimingKind::kLaunchInclusive) {
    return std::max(part_floor_us(*part, as_known(*part, device)) - kernel_us, 0.0);
  }
  std::vector<double> floors;
  for (const ModelPart& other : manifest_.parts) {
    if (other.timing == TimingKind::kLaunchInclusive) {
      floors.push_back(part_floor_us(other, as_known(other, device)));
    }
  }
  if (floors.empty()) {
    return 0;
  }
  std::sort(floors.begin(), floors.end());
  return std::max(floors[floors.size() / 2] - kernel_us, 0.0);
}

// Two opinions, the line through measured sizes and the trees, each with the weight of its expected
// error. Without trees the line alone.
void TrainedModel::blend_scaling(const OpDescriptor& op, const DeviceSpec& device,
                                 ModelAnswer* out) const {
  const auto scaled = scaling_.estimate(op, device.model);
  if (!scaled.has_value()) {
    return;
  }
  double share = 0;  // of the trees
  if (out->part >= 0) {
    const ErrorStats& tested = manifest_.parts[static_cast<size_t>(out->part)].held_out;
    const double rows = static_cast<double>(tested.n);
    const double trees =
        (rows * kHarderThanHeldOut * tested.mape + kUntestedRows * kErrorUntested) /
        (rows + kUntestedRows);
    const double shape = scaled->interpolated
                             ? kErrorBetween
                             : kErrorBeyond * std::max(std::log2(scaled->distance), 0.5);
    const double line =
        std::hypot(shape, scaled->noise_gain * manifest_.repeat_noise(), scaled->doubt);
    share = line * line / (line * line + trees * trees);
  }
  const bool has_model = out->part >= 0;
  const double time_us =
      has_model ? std::exp((1 - share) * std::log(scaled->time_us) + share * std::log(out->time_us))
                : scaled->time_us;
  const double factor = time_us / out->time_us;
  out->low_us = has_model ? out->low_us * factor : time_us / 2;
  out->high_us = has_model ? out->high_us * factor : time_us * 2;
  out->time_us = time_us;
  out->source = CostSource::kPredicted;
}

// A measurement that includes the launch, less the launch.
bool TrainedModel::take_launch_off(int part, const OpGeometry& geometry, const DeviceSpec& device,
                                   ModelAnswer* out) const {
  const auto time = measured_us(geometry, device, TimingKind::kLaunchInclusive);
  if (!time.has_value()) {
    return false;
  }
  const ModelPart* info = part >= 0 ? &manifest_.parts[static_cast<size_t>(part)] : nullptr;
  out->time_us =
      std::max(*time - launch_overhead_us(info, device), least_kernel_us(geometry, device));
  // The launch's own spread stays in.
  out->low_us = std::max(out->time_us - *time * (1 - manifest_.repeat_low), 0.0);
  out->high_us = out->time_us + *time * (manifest_.repeat_high - 1);
  out->source = CostSource::kMeasured;
  return true;
}

// Nothing is known of the class. A prior knows at least which rates devices sustain; its interval
// is what efficiencies of the classes with data span.
void TrainedModel::answer_by_bound(const OpDescriptor& op, const DeviceSpec& device,
                                   const Query& query, ModelAnswer* out) const {
  const Sol sol = speed_of_light(op, manifest_.prior ? with_sustained_rates(device) : device);
  const double launch = is_device_time(query.timing) ? 0 : launch_overhead_us(nullptr, device);
  out->time_us =
      sol.seconds() * kUsPerSecond * (manifest_.prior ? kUnknownOverSustained : 1) + launch;
  out->low_us = manifest_.prior ? out->time_us / kUnknownSpread : out->time_us;
  out->high_us = out->time_us * (manifest_.prior ? kUnknownSpread : kWorstOverBound);
  out->source = manifest_.prior ? CostSource::kPrior : CostSource::kBoundOnly;
  if (!manifest_.prior) {
    out->bound = sol.bound();
  }
}

Status TrainedModel::predict_with_part(size_t part, std::span<const uint32_t> which,
                                       std::span<const OpDescriptor> ops,
                                       std::span<const OpGeometry> geometries,
                                       const DeviceSpec& device, const Query& query,
                                       std::span<ModelAnswer> out) const {
  const ModelPart& info = manifest_.parts[part];
  DFSIM_ASSIGN_OR_RETURN(const Forest* const trees, forest(part));
  std::vector<PartQuery> queries;
  queries.reserve(which.size());
  for (const uint32_t i : which) {
    queries.push_back({&ops[i], &geometries[i]});
  }
  const std::vector<PartAnswer> answers =
      manifest_.prior ? predict_part(info, trees, queries, with_sustained_rates(device), true)
                      : predict_on_device(manifest_, info, trees, queries, as_known(info, device));
  const bool from_launch = !is_device_time(info.timing);
  const bool to_launch = !is_device_time(query.timing);
  const double overhead_us = from_launch == to_launch ? 0 : launch_overhead_us(&info, device);
  const double shift = from_launch && !to_launch ? -overhead_us : overhead_us;
  for (size_t q = 0; q < which.size(); ++q) {
    ModelAnswer& prediction = out[which[q]];
    const PartAnswer& answer = answers[q];
    const double floor_us = least_kernel_us(geometries[which[q]], device);
    const auto shifted = [&](double time_us) {
      return shift == 0 ? time_us : std::max(time_us + shift, floor_us);
    };
    double low_us = answer.low_us;
    double high_us = answer.high_us;
    if (answer.unseen_form && !manifest_.unseen_forms.low.empty()) {
      // Measured on such cases, where the part's own interval knows only sizes.
      const auto [low, high] = interval_at(manifest_.unseen_forms, answer.time_us);
      low_us = answer.time_us * std::min(low, 1.0);
      high_us = answer.time_us * std::max(high, 1.0);
    }
    prediction.time_us = shifted(answer.time_us);
    prediction.low_us = shifted(low_us);
    prediction.high_us = std::max(shifted(high_us), prediction.time_us);
    prediction.source = manifest_.prior       ? CostSource::kPrior
                        : answer.extrapolated ? CostSource::kExtrapolated
                                              : CostSource::kPredicted;
    prediction.part = static_cast<int>(part);
  }
  return ok_status();
}

StatusOr<std::vector<ModelAnswer>> TrainedModel::predict_as(std::span<const OpDescriptor> ops,
                                                            std::span<const OpGeometry> geometries,
                                                            const DeviceSpec& device,
                                                            const Query& query) const {
  std::vector<ModelAnswer> out(ops.size());
  std::map<size_t, std::vector<uint32_t>> by_part;
  for (uint32_t i = 0; i < ops.size(); ++i) {
    ModelAnswer& prediction = out[i];
    prediction.bound = bound_of(geometries[i], device);
    if (query.use_lookup) {
      if (const auto time = measured_us(geometries[i], device, query.timing)) {
        prediction.time_us = *time;
        prediction.low_us = *time * manifest_.repeat_low;
        prediction.high_us = *time * manifest_.repeat_high;
        prediction.source = CostSource::kMeasured;
        continue;
      }
    }
    const int part = choose_part(ops[i], geometries[i], device, query.timing);
    if (query.use_lookup && is_device_time(query.timing) &&
        take_launch_off(part, geometries[i], device, &prediction)) {
      continue;
    }
    if (part >= 0) {
      by_part[static_cast<size_t>(part)].push_back(i);
      continue;
    }
    // Views and constants: nothing, unless a runtime was seen to spend time on them.
    if (costs_nothing(ops[i].op_class)) {
      prediction.bound = Bound::kNone;
      continue;
    }
    answer_by_bound(ops[i], device, query, &prediction);
    blend_scaling(ops[i], device, &prediction);
  }
  for (const auto& [part, which] : by_part) {
    DFSIM_RETURN_IF_ERROR(predict_with_part(part, which, ops, geometries, device, query, out));
    if (scaling_.size() > 0) {
      for (const uint32_t i : which) {
        blend_scaling(ops[i], device, &out[i]);
      }
    }
  }
  return out;
}

}  // namespace dfsim::inline opmodel
