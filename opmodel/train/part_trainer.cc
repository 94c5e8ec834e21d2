#include "opmodel/train/part_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/hash.h"
#include "opmodel/model/intervals.h"
#include "opmodel/model/part_model.h"
#include "opmodel/samples/form_folds.h"
#include "opmodel/train/device_intervals.h"
#include "opmodel/train/error_stats.h"
#include "opmodel/train/part_points.h"
#include "opmodel/train/recipes.h"
#include "opmodel/train/recording_effects.h"
#include "opmodel/train/unseen_devices.h"
#include "opmodel/trees/forest.h"
#include "opmodel/trees/xgboost_adapter.h"

namespace dfsim::inline opmodel {

namespace {

constexpr int kPatience = 60;
constexpr double kRefitGrowth = 1.1;
constexpr size_t kImportantFeatures = 12;
// With fewer validation rows, intervals are measured by cross-validation.
constexpr size_t kRowsForIntervals = 400;

constexpr int kRoundsWithoutForms = 120;  // more say no more of how far a foreign form is off

class PartTrainer {
 public:
  PartTrainer(ModelPart part, const TrainingData& data, const FitOptions& options)
      : part_(std::move(part)),
        data_(data),
        options_(options),
        recipe_(recipe_of(part_.family, options.max_rounds)) {}

  StatusOr<FittedPart> fit(const std::vector<uint32_t>& samples) {
    if (options_.prior) {
      part_.hide_devices();
      part_.slowest_unit =
          part_.family == Family::kAttention || part_.timing == TimingKind::kKernelOnly;
    }
    points_ =
        part_points(data_, samples, options_.seed, options_.prior, recipe_.floor_quantile, &part_);
    FittedPart fitted;
    if (part_.timing == TimingKind::kLaunchInclusive && part_.kind != kAnyKind &&
        options_.continue_from.empty()) {
      DFSIM_RETURN_IF_ERROR(separate_recordings(data_, options_.seed, &part_, &points_));
    }
    if (options_.prior) {
      std::erase_if(points_, [](const PartPoint& point) { return point.throttled; });
      part_.recording_column = false;
    }
    if (part_.kind == kAnyKind) {
      add_kind_effects(data_, points_, &part_.kind_effects);
    }
    part_.median_log_ratio = median_ratio(false);
    if (options_.prior) {
      DFSIM_RETURN_IF_ERROR(fit_prior(&fitted.trees));
    } else if (points_.size() >= kMinRowsForTrees) {
      DFSIM_RETURN_IF_ERROR(fit_trees(&fitted.trees));
      if (options_.continue_from.empty()) {  // older trees have seen all forms
        DFSIM_RETURN_IF_ERROR(leave_forms_out(&fitted.unseen_forms));
      }
    } else {
      part_.intervals = {{}, {0.5}, {2.0}};
      part_.held_out.n = 0;
    }
    fitted.part = std::move(part_);
    return fitted;
  }

 private:
  // Median of ln(time / base) over training rows, or over all when there are none.
  double median_ratio(bool training_only) const {
    std::vector<double> ratios;
    for (const PartPoint& point : points_) {
      if (!training_only || point.side == Side::kTrain) {
        ratios.push_back(point.log_ratio());
      }
    }
    return ratios.empty() ? 0 : value_at_quantile(ratios, 0.5);
  }

  // Rows of the feature matrix of the points on a side (or on all).
  void fill(const std::vector<size_t>& which, std::vector<float>* values,
            std::vector<float>* labels) const {
    const size_t columns = part_columns(part_);
    values->resize(which.size() * columns);
    labels->resize(which.size());
    for (size_t i = 0; i < which.size(); ++i) {
      const PartPoint& point = points_[which[i]];
      const OpGeometry& geometry = data_.geometries[point.op];
      const DeviceSpec& device = data_.devices[point.device];
      const PartQuery query = {&data_.ops[point.op], &geometry, point.column};
      const Roofline roofline =
          part_roofline(part_, geometry, device, part_floor_us(part_, device));
      fill_part_row(part_, query, device, roofline,
                    std::span(*values).subspan(i * columns, columns));
      (*labels)[i] = static_cast<float>(point.log_ratio());
    }
  }

  // Weights of rows; none where all weigh the same.
  std::vector<float> weights(const std::vector<size_t>& which) const {
    std::vector<float> list;
    if (std::any_of(points_.begin(), points_.end(),
                    [](const PartPoint& point) { return point.weight != 1; })) {
      for (const size_t i : which) {
        list.push_back(points_[i].weight);
      }
    }
    return list;
  }

  std::vector<size_t> on_side(Side side) const {
    std::vector<size_t> which;
    for (size_t i = 0; i < points_.size(); ++i) {
      if (points_[i].side == side) {
        which.push_back(i);
      }
    }
    return which;
  }

  BoosterParams params(double base_score) const {
    BoosterParams list = booster_params(recipe_, options_.seed);
    if (options_.continue_from.empty()) {
      list.emplace_back("base_score", fmt::format("{:.6g}", base_score));
    }
    if (part_.kind == kAnyKind) {
      // A kind that is slower than the others is not faster for any shape: the one monotone fact
      // about a ratio to the bound.
      std::string constraints = "(";
      for (size_t i = 0; i + 1 < part_columns(part_); ++i) {
        constraints += "0,";
      }
      list.emplace_back("monotone_constraints", constraints + "1)");
    }
    return list;
  }

  StatusOr<Booster> start(const TrainingMatrix& train, const TrainingMatrix* other,
                          double base_score) const {
    std::vector<const TrainingMatrix*> matrices = {&train};
    if (other != nullptr) {
      matrices.push_back(other);
    }
    if (options_.continue_from.empty()) {
      return Booster::create(params(base_score), matrices);
    }
    return Booster::resume(options_.continue_from, params(base_score));
  }

  Status fit_trees(std::string* trees) {
    const std::vector<size_t> train_rows = on_side(Side::kTrain);
    const std::vector<size_t> validation_rows = on_side(Side::kValidation);
    int rounds = std::min(recipe_.rounds, 100);
    if (train_rows.size() >= kMinRowsForTrees / 2 && validation_rows.size() >= 5) {
      DFSIM_ASSIGN_OR_RETURN(rounds, fit_with_split(train_rows, validation_rows));
    } else {
      part_.intervals = {{}, {0.5}, {2.0}};
    }
    std::vector<size_t> all(points_.size());
    std::iota(all.begin(), all.end(), size_t{0});
    DFSIM_ASSIGN_OR_RETURN(const Booster booster, fit_rounds(all, rounds, part_.median_log_ratio));
    DFSIM_ASSIGN_OR_RETURN(part_.rounds, booster.rounds());
    DFSIM_ASSIGN_OR_RETURN(*trees, booster.save());
    return rank_features(booster);
  }

  // Trees fitted to all devices, evaluated by those that were fitted to all but one.
  Status fit_prior(std::string* trees) {
    part_.intervals = {{}, {0.5}, {2.0}};
    std::vector<size_t> all(points_.size());
    std::iota(all.begin(), all.end(), size_t{0});
    const auto trees_of = [this](const std::vector<size_t>& which) -> StatusOr<Forest> {
      DFSIM_ASSIGN_OR_RETURN(const Booster booster,
                             fit_rounds(which, recipe_.rounds, part_.median_log_ratio));
      return forest_of(booster);
    };
    DFSIM_RETURN_IF_ERROR(measure_unseen_devices(data_, points_, trees_of, &part_));
    DFSIM_ASSIGN_OR_RETURN(const Booster booster,
                           fit_rounds(all, recipe_.rounds, part_.median_log_ratio));
    DFSIM_ASSIGN_OR_RETURN(part_.rounds, booster.rounds());
    DFSIM_ASSIGN_OR_RETURN(*trees, booster.save());
    return rank_features(booster);
  }

  // `rounds` more trees fitted to these points.
  StatusOr<Booster> fit_rounds(const std::vector<size_t>& which, int rounds,
                               double base_score) const {
    std::vector<float> values;
    std::vector<float> labels;
    fill(which, &values, &labels);
    DFSIM_ASSIGN_OR_RETURN(const TrainingMatrix matrix,
                           TrainingMatrix::create({.values = values,
                                                   .columns = part_columns(part_),
                                                   .labels = labels,
                                                   .weights = weights(which)},
                                                  1));
    DFSIM_ASSIGN_OR_RETURN(Booster booster, start(matrix, nullptr, base_score));
    DFSIM_ASSIGN_OR_RETURN(const int before, booster.rounds());
    for (int round = 0; round < rounds; ++round) {
      DFSIM_RETURN_IF_ERROR(booster.update(before + round, matrix));
    }
    return booster;
  }

  static StatusOr<Forest> forest_of(const Booster& booster) {
    DFSIM_ASSIGN_OR_RETURN(const std::string bytes, booster.save());
    return Forest::parse(bytes, "trees in training");
  }

  // Trains with early stopping, measures intervals and test errors; gives the rounds for the refit.
  StatusOr<int> fit_with_split(const std::vector<size_t>& train_rows,
                               const std::vector<size_t>& validation_rows) {
    std::vector<float> train_values;
    std::vector<float> train_labels;
    std::vector<float> validation_values;
    std::vector<float> validation_labels;
    fill(train_rows, &train_values, &train_labels);
    fill(validation_rows, &validation_values, &validation_labels);
    const size_t columns = part_columns(part_);
    DFSIM_ASSIGN_OR_RETURN(const TrainingMatrix train,
                           TrainingMatrix::create({.values = train_values,
                                                   .columns = columns,
                                                   .labels = train_labels,
                                                   .weights = weights(train_rows)},
                                                  1));
    DFSIM_ASSIGN_OR_RETURN(const TrainingMatrix validation,
                           TrainingMatrix::create({.values = validation_values,
                                                   .columns = columns,
                                                   .labels = validation_labels,
                                                   .weights = weights(validation_rows)},
                                                  1));
    DFSIM_ASSIGN_OR_RETURN(Booster booster, start(train, &validation, median_ratio(true)));
    DFSIM_ASSIGN_OR_RETURN(const int before, booster.rounds());
    double best = 1e300;
    int best_rounds = 1;
    for (int round = 0; round < recipe_.rounds && round < best_rounds + kPatience; ++round) {
      DFSIM_RETURN_IF_ERROR(booster.update(before + round, train));
      DFSIM_ASSIGN_OR_RETURN(const double error, booster.evaluate(before + round, validation));
      if (error < best) {
        best = error;
        best_rounds = round + 1;
      }
    }
    DFSIM_ASSIGN_OR_RETURN(const Booster stopped, booster.first_rounds(before + best_rounds));
    const int rounds = std::max(1, static_cast<int>(std::lround(best_rounds * kRefitGrowth)));
    std::vector<DeviceResidual> residuals;
    // The rows of a recording may be few even where those of all are many.
    if (validation_rows.size() >= kRowsForIntervals && part_.recordings.empty()) {
      DFSIM_ASSIGN_OR_RETURN(const Forest forest, forest_of(stopped));
      add_residuals(forest, validation_rows, &residuals);
    } else {
      DFSIM_RETURN_IF_ERROR(cross_validate(best_rounds, &residuals));
    }
    set_intervals(residuals);
    // Evaluated as it ships: trained on all rows but the test's.
    std::vector<size_t> known = train_rows;
    known.insert(known.end(), validation_rows.begin(), validation_rows.end());
    DFSIM_ASSIGN_OR_RETURN(const Booster tested, fit_rounds(known, rounds, median_ratio(true)));
    DFSIM_ASSIGN_OR_RETURN(const Forest forest, forest_of(tested));
    measure(forest);
    return rounds;
  }

  void set_intervals(const std::vector<DeviceResidual>& residuals) {
    std::vector<Residual> all;
    std::map<uint32_t, std::vector<DeviceResidual>> by_device;
    for (const DeviceResidual& entry : residuals) {
      all.push_back(entry.residual);
      by_device[entry.device].push_back(entry);
    }
    part_.intervals = interval_table(std::move(all));
    widen_by_recordings(part_.recordings, &part_.intervals);
    for (const auto& [device, own] : by_device) {
      for (PartDevice& known : part_.devices) {
        if (!part_.recordings.empty() && known.model == data_.devices[device].model) {
          known.interval_scale = interval_scale_of(part_.intervals, own);
        }
      }
    }
  }

  void add_residuals(const Forest& forest, const std::vector<size_t>& which,
                     std::vector<DeviceResidual>* residuals) const {
    std::vector<float> values;
    std::vector<float> labels;
    fill(which, &values, &labels);
    std::vector<float> ratios(which.size());
    forest.predict(values, ratios);
    for (size_t i = 0; i < which.size(); ++i) {
      const PartPoint& point = points_[which[i]];
      if (point.column > 0) {  // of a throttled board, which is not what the part predicts
        continue;
      }
      residuals->push_back({point.device,
                            point.recording,
                            {point.base_us * std::exp(ratios[i]), point.log_ratio() - ratios[i]}});
    }
  }

  // Residuals of all rows but the test's, each predicted by trees that saw none of its shape.
  Status cross_validate(int rounds, std::vector<DeviceResidual>* residuals) const {
    for (size_t fold = 0; fold < kPartFolds; ++fold) {
      std::vector<size_t> train;
      std::vector<size_t> held;
      for (size_t i = 0; i < points_.size(); ++i) {
        if (points_[i].side != Side::kTest) {
          (points_[i].fold == fold ? held : train).push_back(i);
        }
      }
      if (train.empty() || held.empty()) {
        continue;
      }
      DFSIM_ASSIGN_OR_RETURN(const Booster booster, fit_rounds(train, rounds, median_ratio(true)));
      DFSIM_ASSIGN_OR_RETURN(const Forest forest, forest_of(booster));
      add_residuals(forest, held, residuals);
    }
    return ok_status();
  }

  // Residuals of points whose form none of the trees' rows had. They know nothing of a kind that is
  // left out either.
  Status leave_forms_out(std::vector<Residual>* residuals) {
    const std::vector<std::pair<std::string, double>> effects = part_.kind_effects;
    for (const FormTurn& turn : form_turns(data_, ops_of(points_))) {
      if (turn.train.size() < kMinRowsForTrees) {
        continue;
      }
      std::erase_if(part_.kind_effects,
                    [&](const auto& effect) { return !turn.kinds.contains(effect.first); });
      const int rounds = std::min(part_.rounds, kRoundsWithoutForms);
      DFSIM_ASSIGN_OR_RETURN(const Booster booster,
                             fit_rounds(turn.train, rounds, part_.median_log_ratio));
      DFSIM_ASSIGN_OR_RETURN(const Forest forest, forest_of(booster));
      std::vector<DeviceResidual> found;
      add_residuals(forest, turn.held, &found);
      for (const DeviceResidual& entry : found) {
        residuals->push_back(entry.residual);
      }
      part_.kind_effects = effects;
    }
    return ok_status();
  }

  void measure(const Forest& forest) {
    const std::vector<size_t> test_rows = on_side(Side::kTest);
    std::vector<float> values;
    std::vector<float> labels;
    fill(test_rows, &values, &labels);
    std::vector<float> test_ratios(test_rows.size());
    forest.predict(values, test_ratios);
    ErrorAccumulator errors;
    ErrorAccumulator baseline;
    const double constant = median_ratio(true);
    for (size_t i = 0; i < test_rows.size(); ++i) {
      const PartPoint& point = points_[test_rows[i]];
      if (point.column > 0) {
        continue;
      }
      const double predicted = point.base_us * std::exp(test_ratios[i]);
      const double scale = part_.interval_scale(data_.devices[point.device].model);
      const auto [low, high] = scaled_interval_at(part_.intervals, scale, predicted);
      errors.add(predicted, point.time_us,
                 point.time_us >= predicted * low && point.time_us <= predicted * high);
      baseline.add(point.base_us * std::exp(constant), point.time_us, false);
    }
    part_.held_out = errors.stats();
    part_.held_out_baseline = baseline.stats();
  }

  Status rank_features(const Booster& booster) {
    DFSIM_ASSIGN_OR_RETURN(const auto shares, booster.importance());
    for (const auto& [feature, share] : shares) {
      if (part_.importance.size() == kImportantFeatures) {
        break;
      }
      part_.importance.emplace_back(
          feature < part_.features.size() ? part_.features[feature] : "kind", share);
    }
    return ok_status();
  }

  ModelPart part_;
  const TrainingData& data_;
  const FitOptions& options_;
  Recipe recipe_;
  std::vector<PartPoint> points_;
};

}  // namespace

StatusOr<FittedPart> fit_part(ModelPart part, const TrainingData& data,
                              const std::vector<uint32_t>& samples, const FitOptions& options) {
  return PartTrainer(std::move(part), data, options).fit(samples);
}

}  // namespace dfsim::inline opmodel
