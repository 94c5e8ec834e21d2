// Loads a model, and turns its answers (trained_model_answers.cc) into costs: without what
// measuring added, with what the laws say of kernels that no row has.
#include "opmodel/model/trained_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/io/file.h"
#include "hardware/sustained_rates.h"
#include "opmodel/model/laws/conv_epilogue.h"
#include "opmodel/model/laws/cpu/cpu_kernels.h"
#include "opmodel/model/laws/cpu/small_slices.h"
#include "opmodel/model/laws/engine_kernels.h"
#include "opmodel/model/laws/layout_time.h"
#include "opmodel/model/laws/neighbours/board_envelope.h"
#include "opmodel/model/laws/neighbours/larger_work.h"
#include "opmodel/model/laws/neighbours/neighbour_dtypes.h"
#include "opmodel/model/laws/network_factors.h"
#include "opmodel/model/laws/small_kernels.h"
#include "opmodel/model/laws/torch/depthwise_kernels.h"
#include "opmodel/model/laws/torch/group_norm.h"
#include "opmodel/model/laws/torch/serial_images.h"
#include "opmodel/model/laws/training_kernels.h"
#include "opmodel/sol.h"
#include "opmodel/trees/xgboost_adapter.h"

namespace dfsim::inline opmodel {

namespace {

constexpr int64_t kMaxFileBytes = int64_t{1} << 30;

StatusOr<std::string> read_checked(const std::string& path, uint64_t checksum) {
  DFSIM_ASSIGN_OR_RETURN(std::string bytes, read_file(path, kMaxFileBytes));
  if (const uint64_t found = checksum64(bytes); found != checksum) {
    return invalid_input(
        fmt::format("{}: checksum {:016x}, but the manifest says {:016x}: the file is damaged or "
                    "was replaced; train the model again or restore the file",
                    path, found, checksum));
  }
  return bytes;
}

}  // namespace

StatusOr<std::unique_ptr<TrainedModel>> TrainedModel::load_trees(const std::string& directory) {
  std::unique_ptr<TrainedModel> model(new TrainedModel());
  model->directory_ = directory;
  DFSIM_ASSIGN_OR_RETURN(model->manifest_, read_manifest(directory));
  model->forests_.resize(model->manifest_.parts.size());
  return model;
}

StatusOr<std::unique_ptr<TrainedModel>> TrainedModel::load(const std::string& directory) {
  DFSIM_ASSIGN_OR_RETURN(std::unique_ptr<TrainedModel> model, load_trees(directory));
  const ModelManifest& manifest = model->manifest_;
  if (!manifest.lookup_file.empty()) {
    const std::string path = fmt::format("{}/{}", directory, manifest.lookup_file);
    DFSIM_ASSIGN_OR_RETURN(const std::string bytes, read_checked(path, manifest.lookup_checksum));
    DFSIM_ASSIGN_OR_RETURN(model->lookup_, LookupTable::parse(bytes, path));
  }
  if (!manifest.scaling_file.empty()) {
    const std::string path = fmt::format("{}/{}", directory, manifest.scaling_file);
    DFSIM_ASSIGN_OR_RETURN(const std::string bytes, read_checked(path, manifest.scaling_checksum));
    DFSIM_ASSIGN_OR_RETURN(model->scaling_, ScalingTable::parse(bytes, path));
  }
  return model;
}

StatusOr<const Forest*> TrainedModel::forest(size_t part) const {
  const ModelPart& info = manifest_.parts[part];
  if (info.file.empty()) {
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  if (forests_[part] == nullptr) {
    const std::string path = fmt::format("{}/{}", directory_, info.file);
    DFSIM_ASSIGN_OR_RETURN(const std::string bytes, read_checked(path, info.checksum));
    DFSIM_ASSIGN_OR_RETURN(Forest forest, Forest::parse(bytes, path));
    if (forest.columns() != part_columns(info) || !has_known_features(info)) {
      return invalid_input(
          fmt::format("{}: trained with {} features of which this dfsim does not know some; train "
                      "the model again with this version",
                      path, info.features.size()));
    }
    forests_[part] = std::make_unique<Forest>(std::move(forest));
  }
  return forests_[part].get();
}

std::optional<double> TrainedModel::measured_us(const OpGeometry& geometry,
                                                const DeviceSpec& device, TimingKind timing) const {
  if (timing == TimingKind::kLaunchInclusive) {
    return lookup_.find_us(lookup_key(geometry, device.model, timing));
  }
  for (const TimingKind kind :
       {TimingKind::kKernelOnly, TimingKind::kInNetwork, TimingKind::kUnknown}) {
    if (const auto time = lookup_.find_us(lookup_key(geometry, device.model, kind))) {
      return time;
    }
  }
  return std::nullopt;
}

bool TrainedModel::has_measured(const OpGeometry& geometry, const DeviceSpec& device,
                                TimingKind timing) const {
  return measured_us(geometry, device, timing).has_value();
}

// The name by which `part` knows the chip of `device`, or the device's own.
const std::string& TrainedModel::known_name(const ModelPart& part, const DeviceSpec& device) const {
  if (part.find_device(device.model) != nullptr) {
    return device.model;
  }
  for (const PartDevice& trained : part.devices) {
    const DeviceSpec* const spec = manifest_.find_device(trained.model);
    if (spec != nullptr && same_chip(*spec, device)) {
      return trained.model;
    }
  }
  return device.model;
}

// A board with less power runs the same chip at a lower clock.
DeviceSpec TrainedModel::as_known(const ModelPart& part, const DeviceSpec& device) const {
  DeviceSpec known = device;
  known.model = known_name(part, device);
  const DeviceSpec* const measured = manifest_.find_device(known.model);
  if (known.model != device.model && measured != nullptr) {
    const double share = share_on_board(device.board_power_w, measured->board_power_w);
    for (PeakRate& peak : known.peaks) {
      peak.flops_per_s *= share;
      peak.matrix_flops_per_s *= share;
    }
  }
  return known;
}

Status TrainedModel::predict(std::span<const OpDescriptor> ops, const DeviceSpec& device,
                             std::span<OpCost> out) const {
  DFSIM_RETURN_IF_ERROR(predict_alone(ops, device, out));
  DFSIM_RETURN_IF_ERROR(ask_dtypes(ops, device, out));
  DFSIM_RETURN_IF_ERROR(ask_larger(ops, device, out));
  DFSIM_RETURN_IF_ERROR(ask_other_boards(ops, device, out));
  DFSIM_RETURN_IF_ERROR(ask_reference(ops, device, out));
  for (size_t i = 0; i < ops.size(); ++i) {
    limit_attention(ops[i], device, &out[i]);
    apply_group_norm(ops[i], device, &out[i]);
  }
  return ok_status();
}

Status TrainedModel::predict_alone(std::span<const OpDescriptor> given, const DeviceSpec& device,
                                   std::span<OpCost> out) const {
  if (given.empty()) {
    return ok_status();
  }
  const std::vector<OpDescriptor> learned = as_learned(manifest_, given, device.type);
  const std::span<const OpDescriptor> ops = learned.empty() ? given : learned;
  std::vector<OpGeometry> geometries;
  geometries.reserve(ops.size());
  for (const OpDescriptor& op : ops) {
    geometries.push_back(geometry_of(op));
  }
  DFSIM_ASSIGN_OR_RETURN(std::vector<ModelAnswer> predictions,
                         predict_as(ops, geometries, device, {.use_lookup = use_lookup_}));
  if (prior_ != nullptr && device.type == DeviceType::kGpu) {
    DFSIM_RETURN_IF_ERROR(ask_prior(ops, geometries, device, predictions));
  }
  const double overhead_us = manifest_.overhead_us(device.model);
  for (size_t i = 0; i < ops.size(); ++i) {
    const ModelAnswer& prediction = predictions[i];
    // Neither the bound nor another device was measured with this overhead.
    const bool other =
        prediction.source == CostSource::kBoundOnly || prediction.source == CostSource::kPrior;
    const double added_us = other ? 0 : overhead_us;
    NetworkCost network;
    if (prediction.source == CostSource::kPrior) {
      network = network_cost(ops[i], geometries[i], device, prediction.time_us);
    } else if (prediction.source == CostSource::kExtrapolated) {
      network.factor = head_padding(geometries[i], device);
    }
    const auto net_ns = [added_us, network](double time_us) {
      const double net_us = without_overhead_us(time_us, added_us);
      return ns_from_seconds((net_us * network.factor + network.added_us) * 1e-6);
    };
    out[i].time_ns = net_ns(prediction.time_us);
    out[i].low_ns = net_ns(prediction.low_us);
    out[i].high_ns = net_ns(prediction.high_us);
    out[i].source = prediction.source;
    out[i].bound = prediction.bound;
    out[i].set_bound(ns_from_seconds(speed_of_light(ops[i], device).seconds()));
    if (!other) {
      leave_out_conversions(ops[i], geometries[i], device, &out[i]);
    }
    add_residual_read(given[i], device, &out[i]);
    limit_depthwise(given[i], device, &out[i]);
    apply_training_kernel(given[i], device, manifest_, &out[i]);
    apply_serial_images(given[i], device, &out[i]);
    apply_cpu_kernels(ops[i], geometries[i], device, manifest_, &out[i]);
    apply_small_slice(ops[i], device, &out[i]);
  }
  return ok_status();
}

// Predicts the operators that have them again, on the element types next to theirs.
Status TrainedModel::ask_dtypes(std::span<const OpDescriptor> ops, const DeviceSpec& device,
                                std::span<OpCost> out) const {
  struct Asked {
    size_t op;
    OpGeometry geometry;
    size_t narrow;  // index into `neighbours`; the wide one, where there is one, comes next
    bool has_wide;
  };
  std::vector<Asked> asked;
  std::vector<OpDescriptor> neighbours;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (!may_have_dtype_neighbours(ops[i], out[i].source)) {
      continue;
    }
    const OpGeometry geometry = geometry_of(ops[i]);
    if (auto found = dtype_neighbours(ops[i], geometry, device)) {
      asked.push_back({i, geometry, neighbours.size(), found->wide.has_value()});
      neighbours.push_back(std::move(found->narrow));
      if (found->wide) {
        neighbours.push_back(*std::move(found->wide));
      }
    }
  }
  std::vector<OpCost> costs(neighbours.size());
  DFSIM_RETURN_IF_ERROR(predict_alone(neighbours, device, costs));
  for (const Asked& entry : asked) {
    const OpCost wide = entry.has_wide ? costs[entry.narrow + 1] : OpCost();
    apply_dtype_neighbours(entry.geometry, device, wide, costs[entry.narrow], &out[entry.op]);
  }
  return ok_status();
}

// Predicts priors again with more rows or images.
Status TrainedModel::ask_larger(std::span<const OpDescriptor> ops, const DeviceSpec& device,
                                std::span<OpCost> out) const {
  std::vector<size_t> asked;
  std::vector<OpDescriptor> larger;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (out[i].source != CostSource::kPrior) {
      continue;
    }
    const OpGeometry geometry = geometry_of(ops[i]);
    for (const int64_t times : {2, 4}) {
      if (auto found = with_more_rows(ops[i], geometry, device, times)) {
        asked.push_back(i);
        larger.push_back(*std::move(found));
      }
    }
  }
  std::vector<OpCost> costs(larger.size());
  DFSIM_RETURN_IF_ERROR(predict_alone(larger, device, costs));
  DFSIM_RETURN_IF_ERROR(ask_dtypes(larger, device, costs));
  for (size_t k = 0; k < asked.size(); ++k) {
    limit_by_larger(costs[k], &out[asked[k]]);
  }
  return ok_status();
}

// Predicts priors again on boards with other rates.
Status TrainedModel::ask_other_boards(std::span<const OpDescriptor> ops, const DeviceSpec& device,
                                      std::span<OpCost> out) const {
  std::vector<size_t> asked;
  std::vector<OpDescriptor> priors;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (out[i].source == CostSource::kPrior && device.type == DeviceType::kGpu) {
      asked.push_back(i);
      priors.push_back(ops[i]);
    }
  }
  const TrainedModel* const prior = manifest_.prior ? this : prior_.get();
  if (priors.empty() || prior == nullptr) {
    return ok_status();
  }
  std::vector<BoardEnvelope> envelopes(priors.size());
  std::vector<OpCost> costs(priors.size());
  for (const OtherBoard& board : other_boards(device)) {
    DFSIM_RETURN_IF_ERROR(prior->predict_alone(priors, board.device, costs));
    DFSIM_RETURN_IF_ERROR(prior->ask_dtypes(priors, board.device, costs));
    for (size_t k = 0; k < priors.size(); ++k) {
      envelopes[k].add(board, costs[k].time_ns);
    }
  }
  for (size_t k = 0; k < priors.size(); ++k) {
    envelopes[k].apply(&out[asked[k]]);
  }
  return ok_status();
}

StatusOr<const TrainedModel*> TrainedModel::reference() const {
  const std::lock_guard lock(mutex_);
  if (reference_ == nullptr) {
    DFSIM_ASSIGN_OR_RETURN(reference_, load(reference_directory_));
  }
  return reference_.get();
}

// Neither this device's rows nor the prior's tell anything about such operators.
bool TrainedModel::has_no_rows(const OpDescriptor& op, const DeviceSpec& device,
                               const OpCost& cost) const {
  const TrainedModel* const prior = manifest_.prior ? this : prior_.get();
  if (prior == nullptr || cost.source != CostSource::kPrior || cost.time_ns <= 0) {
    return false;
  }
  const OpGeometry geometry = geometry_of(op);
  const int part = prior->choose_part(op, geometry, device, TimingKind::kKernelOnly);
  if (part < 0) {
    return true;
  }
  const std::string& kind = prior->manifest_.parts[static_cast<size_t>(part)].kind;
  return kind != kAnyKind && kind != geometry.kind && is_carried_over(geometry);
}

// An extrapolation from rows of this device that include a launch.
bool TrainedModel::scatters_by_launch(const OpDescriptor& op, const DeviceSpec& device,
                                      const OpCost& cost) const {
  if (cost.source != CostSource::kExtrapolated || !launch_may_matter(cost)) {
    return false;
  }
  const int part = choose_part(op, geometry_of(op), device, TimingKind::kKernelOnly);
  return part >= 0 &&
         manifest_.parts[static_cast<size_t>(part)].timing == TimingKind::kLaunchInclusive;
}

// Priors and extrapolated launches again, as the board runs them whose kernels were measured alone.
Status TrainedModel::ask_reference(std::span<const OpDescriptor> ops, const DeviceSpec& device,
                                   std::span<OpCost> out) const {
  if (reference_directory_.empty() || device.type != DeviceType::kGpu) {
    return ok_status();
  }
  struct Asked {
    size_t op;
    bool unknown;
  };
  std::vector<Asked> asked;
  std::vector<OpDescriptor> kernels;
  for (size_t i = 0; i < ops.size(); ++i) {
    const bool unknown = has_no_rows(ops[i], device, out[i]);
    if (unknown || out[i].source == CostSource::kPrior ||
        scatters_by_launch(ops[i], device, out[i])) {
      asked.push_back({i, unknown});
      kernels.push_back(as_kernel(ops[i]));
    }
  }
  if (asked.empty()) {
    return ok_status();
  }
  DFSIM_ASSIGN_OR_RETURN(const TrainedModel* const model, reference());
  DeviceSpec known = model->manifest().devices.front();
  known.type = DeviceType::kGpu;
  std::vector<OpCost> costs(kernels.size());
  DFSIM_RETURN_IF_ERROR(model->predict(kernels, known, costs));
  for (size_t k = 0; k < asked.size(); ++k) {
    const OpGeometry geometry = geometry_of(kernels[k]);
    OpCost* const cost = &out[asked[k].op];
    if (asked[k].unknown) {
      set_carried_over(carried_over_us(costs[k], geometry, known, device), geometry, cost);
    } else {
      if (cost->source == CostSource::kPrior) {
        lift_to_least(least_carried_us(costs[k], geometry, known, device), cost);
      }
      limit_by_small_kernel(small_kernel_us(costs[k], geometry, known, device), cost);
      if (cost->source == CostSource::kPrior && is_plain_batch(kernels[k], geometry)) {
        limit_by_small_kernel(batch_limit_us(costs[k], geometry, known, device), cost);
      }
    }
  }
  return ok_status();
}

}  // namespace dfsim::inline opmodel
