// Compares a model with measured rows. Rows are batched per device and kind of timing, since a
// prediction depends on both, and each counts in the cells of its operator, of how well its
// shape is known, and of its network. A network's sum weights each operator with the number of
// times that it ran.
#include "opmodel/train/evaluation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "opmodel/features/features.h"
#include "opmodel/samples/training_data.h"
#include "opmodel/train/error_stats.h"

namespace dfsim::inline opmodel {

namespace {

// One row and what was answered.
struct EvaluatedSample {
  const Sample* sample = nullptr;
  double predicted_us = 0;
  double baseline_us = 0;
  bool covered = false;
  bool inside = false;
  Seen seen = Seen::kUnseenShape;
};

class Cell {
 public:
  void add(const EvaluatedSample& evaluated) {
    model_.add(evaluated.predicted_us, evaluated.sample->time_us, evaluated.inside);
    baseline_.add(evaluated.baseline_us, evaluated.sample->time_us, false);
    covered_ += evaluated.covered ? 1 : 0;
  }
  EvaluationCell result() const {
    EvaluationCell cell;
    cell.n = static_cast<int64_t>(model_.count());
    cell.coverage = cell.n == 0 ? 0 : static_cast<double>(covered_) / static_cast<double>(cell.n);
    cell.model = model_.stats();
    cell.baseline = baseline_.stats();
    return cell;
  }

 private:
  ErrorAccumulator model_;
  ErrorAccumulator baseline_;
  int64_t covered_ = 0;
};

struct ErrorGroup {
  Cell all;
  std::array<Cell, kSeenCount> by_seen;

  void add(const EvaluatedSample& evaluated) {
    all.add(evaluated);
    by_seen[static_cast<size_t>(evaluated.seen)].add(evaluated);
  }
  EvaluationGroup result(std::string device, std::string op) const {
    EvaluationGroup group;
    group.device = std::move(device);
    group.op = std::move(op);
    group.all = all.result();
    for (size_t i = 0; i < by_seen.size(); ++i) {
      group.by_seen[i] = by_seen[i].result();
    }
    return group;
  }
};

// Attention's three kinds are different ops to anybody who looks at a table.
std::string op_label(const OpDescriptor& op, const OpGeometry& geometry) {
  return geometry.family == Family::kAttention ? op.op_type + "-" + geometry.kind : op.op_type;
}

double first_output_elements(const OpDescriptor& op) {
  double elements = op.output_extents.empty() ? 0 : 1;
  for (size_t i = 0; elements > 0 && i < op.output_extents[0].size(); ++i) {
    elements *= static_cast<double>(std::max<int64_t>(op.output_extents[0][i], 0));
  }
  return elements;
}

double baseline_us(const TrainedModel& model, const ModelAnswer& prediction,
                   const OpGeometry& geometry, const DeviceSpec& device) {
  if (prediction.part < 0) {
    return roofline_of(geometry, device, static_cast<double>(device.launch_overhead_ns) / kNsPerUs)
        .base_us();
  }
  const ModelPart& part = model.manifest().parts[static_cast<size_t>(prediction.part)];
  return part_roofline(part, geometry, device, part_floor_us(part, device)).base_us() *
         std::exp(part.median_log_ratio);
}

class Evaluator {
 public:
  Evaluator(const TrainedModel& model, const EvaluateOptions& options, const TrainingData& data)
      : model_(model), options_(options), data_(data) {}

  StatusOr<Evaluation> run() {
    // One batch per device and kind of timing.
    std::map<std::pair<uint32_t, bool>, std::vector<const Sample*>> batches;
    for (const Sample& sample : data_.samples) {
      batches[{sample.device, sample.timing == TimingKind::kLaunchInclusive}].push_back(&sample);
    }
    for (const auto& [key, samples] : batches) {
      DFSIM_RETURN_IF_ERROR(evaluate(data_.devices[key.first], key.second, samples));
    }
    return collect();
  }

 private:
  Status evaluate(const DeviceSpec& device, bool launch,
                  const std::vector<const Sample*>& samples) {
    std::vector<uint32_t> slot(data_.ops.size(), UINT32_MAX);
    std::vector<OpDescriptor> ops;
    std::vector<OpGeometry> geometries;
    for (const Sample* sample : samples) {
      if (slot[sample->op] == UINT32_MAX) {
        slot[sample->op] = static_cast<uint32_t>(ops.size());
        ops.push_back(data_.ops[sample->op]);
        geometries.push_back(data_.geometries[sample->op]);
      }
    }
    TrainedModel::Query query;
    query.timing = launch ? TimingKind::kLaunchInclusive : TimingKind::kKernelOnly;
    query.use_lookup = options_.use_lookup;
    DFSIM_ASSIGN_OR_RETURN(const std::vector<ModelAnswer> answers,
                           model_.predict_as(ops, geometries, device, query));
    // The baseline needs the part even where the lookup answered.
    query.use_lookup = false;
    DFSIM_ASSIGN_OR_RETURN(const std::vector<ModelAnswer> by_part,
                           model_.predict_as(ops, geometries, device, query));
    const bool known_device = model_.manifest().find_device(device.model) != nullptr;
    for (const Sample* sample : samples) {
      const uint32_t i = slot[sample->op];
      const ModelAnswer& answer = answers[i];
      EvaluatedSample evaluated;
      evaluated.sample = sample;
      // The same op in other runs of the network: how it differs from others of its shape.
      const double factor = model_.scaling().factor_of(sample->instance);
      evaluated.predicted_us = answer.time_us * factor;
      evaluated.baseline_us = baseline_us(model_, by_part[i], geometries[i], device);
      evaluated.covered = answer.source != CostSource::kBoundOnly;
      evaluated.inside =
          sample->time_us >= answer.low_us * factor && sample->time_us <= answer.high_us * factor;
      const bool measured = model_.has_measured(geometries[i], device, query.timing);
      evaluated.seen = !known_device ? Seen::kUnseenDevice
                       : measured    ? Seen::kShape
                                     : Seen::kUnseenShape;
      add(evaluated, device.model, op_label(ops[i], geometries[i]));
      if (options_.keep_rows) {
        rows_.push_back({device.model, ops[i].op_type, geometries[i].kind,
                         first_output_elements(ops[i]), sample->time_us, evaluated.predicted_us,
                         evaluated.seen});
      }
    }
    return ok_status();
  }

  void add(const EvaluatedSample& evaluated, const std::string& device, const std::string& op) {
    groups_[{device, op}].add(evaluated);
    overall_.add(evaluated);
    const Sample& sample = *evaluated.sample;
    if (sample.network != 0) {
      NetworkTotal& total = networks_[{device, data_.networks[sample.network], sample.batch}];
      total.device = device;
      total.network = data_.networks[sample.network];
      total.batch = sample.batch;
      total.ops += sample.count;
      total.measured_us += sample.time_us * sample.count;
      total.predicted_us += evaluated.predicted_us * sample.count;
    }
  }

  Evaluation collect() {
    Evaluation evaluation;
    for (const auto& [key, group] : groups_) {
      evaluation.groups.push_back(group.result(key.first, key.second));
    }
    evaluation.overall = overall_.result("all", "all");
    for (const auto& [key, total] : networks_) {
      evaluation.networks.push_back(total);
      evaluation.mean_network_error +=
          std::abs(total.error()) / static_cast<double>(networks_.size());
    }
    evaluation.drops = data_.drops;
    evaluation.rows = std::move(rows_);
    return evaluation;
  }

  const TrainedModel& model_;
  const EvaluateOptions& options_;
  const TrainingData& data_;
  std::map<std::pair<std::string, std::string>, ErrorGroup> groups_;
  std::map<std::tuple<std::string, std::string, int32_t>, NetworkTotal> networks_;
  ErrorGroup overall_;
  std::vector<EvaluatedRow> rows_;
};

}  // namespace

std::string_view seen_name(Seen seen) {
  constexpr std::array<std::string_view, kSeenCount> kNames = {"seen-shape", "unseen-shape",
                                                               "unseen-device"};
  return kNames[static_cast<size_t>(seen)];
}

StatusOr<Evaluation> evaluate_model(const TrainedModel& model, const Profile& profile,
                                    const EvaluateOptions& options) {
  TrainingDataOptions data_options;
  data_options.device = options.device;
  if (!model.manifest().prior) {  // which knows sustained rates only
    data_options.known_devices = model.manifest().devices;
  }
  DFSIM_ASSIGN_OR_RETURN(const TrainingData data, make_training_data(profile, data_options));
  if (data.samples.empty()) {
    return invalid_input(
        "no usable rows to evaluate on; `dfsim profiles check` says why rows of a "
        "profile are left out");
  }
  return Evaluator(model, options, data).run();
}

}  // namespace dfsim::inline opmodel
