// Estimates the growth of a recording and subtracts it. The curve is a sum of hinges over the
// order of measurement, fitted to the residuals of trees that were trained on the other folds:
// residuals on their own training rows would have absorbed the drift. The first guess comes from
// the shortest operators, whose time is all floor, so that the first trees already see mostly
// clean times.
#include "opmodel/samples/drift.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "opmodel/model/part_model.h"
#include "opmodel/train/part_trainer.h"
#include "opmodel/trees/forest.h"
#include "opmodel/trees/residual_trees.h"

namespace dfsim::inline opmodel {

namespace {

constexpr size_t kKnots = 4;
constexpr size_t kMinRows = 500;
constexpr double kShortOps = 0.12;  // quantile of the bound
constexpr double kMinCorrelation = 0.5;
constexpr double kLeastDrift = 1;  // in the end, of the floor: less may be chance
constexpr int kReweightings = 15;
constexpr int kTurns = 3;
constexpr size_t kFolds = 3;
constexpr int kRounds = 150;
constexpr double kLeastShare = 0.3;  // of a measured time that is left

std::array<double, kKnots> hinges(double u) {
  return {u, std::max(u - 0.25, 0.0), std::max(u - 0.5, 0.0), std::max(u - 0.75, 0.0)};
}

// Solves the 4x4 system by Gaussian elimination with pivoting; singular directions stay 0.
std::array<double, kKnots> solve(std::array<std::array<double, kKnots + 1>, kKnots> a) {
  for (size_t column = 0; column < kKnots; ++column) {
    size_t pivot = column;
    for (size_t row = column + 1; row < kKnots; ++row) {
      pivot = std::abs(a[row][column]) > std::abs(a[pivot][column]) ? row : pivot;
    }
    std::swap(a[column], a[pivot]);
    if (std::abs(a[column][column]) < 1e-12) {
      continue;
    }
    for (size_t row = 0; row < kKnots; ++row) {
      if (row != column) {
        const double factor = a[row][column] / a[column][column];
        for (size_t i = column; i <= kKnots; ++i) {
          a[row][i] -= factor * a[column][i];
        }
      }
    }
  }
  std::array<double, kKnots> x{};
  for (size_t i = 0; i < kKnots; ++i) {
    x[i] = std::abs(a[i][i]) < 1e-12 ? 0 : a[i][kKnots] / a[i][i];
  }
  return x;
}

double quantile(std::vector<double> values, double q) {
  const auto at = static_cast<size_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(at), values.end());
  return values[at];
}

// Rows of one device in the order of measurement.
class DeviceDrift {
 public:
  DeviceDrift(const ModelPart& part, const TrainingData& data, std::vector<uint32_t> samples,
              uint64_t seed)
      : part_(part), data_(data), samples_(std::move(samples)) {
    std::sort(samples_.begin(), samples_.end(),
              [&](uint32_t a, uint32_t b) { return data_.samples[a].row < data_.samples[b].row; });
    for (size_t i = 0; i < samples_.size(); ++i) {
      const Sample& sample = data_.samples[samples_[i]];
      times_.push_back(sample.time_us);
      ranks_.push_back(static_cast<double>(i) / static_cast<double>(samples_.size()));
      const double u = split_position(data_.geometries[sample.op], seed);
      test_.push_back(u < kTestShare);
      fold_.push_back(static_cast<size_t>(u * 1e6) % kFolds);
    }
    floor_us_ = quantile(times_, 0.002);
    for (const uint32_t i : samples_) {
      const Sample& sample = data_.samples[i];
      rooflines_.push_back(roofline_of(data_.geometries[sample.op], device(), floor_us_));
      bases_.push_back(rooflines_.back().base_us());
    }
  }

  bool drifting() const { return times_.size() >= kMinRows && looks_drifting(times_, bases_); }

  StatusOr<DriftCurve> estimate() {
    DriftCurve curve = first_guess();
    for (int turn = 0; turn < kTurns; ++turn) {
      DFSIM_ASSIGN_OR_RETURN(const std::vector<double> predicted, predict_unseen(curve));
      std::vector<double> ranks;
      std::vector<double> residuals;
      std::vector<double> weights;
      for (size_t i = 0; i < times_.size(); ++i) {
        if (!test_[i]) {
          ranks.push_back(ranks_[i]);
          residuals.push_back(times_[i] - predicted[i]);
          weights.push_back(1 / times_[i]);
        }
      }
      curve = fit_drift_curve(ranks, residuals, weights);
    }
    return curve;
  }

  void apply(const DriftCurve& curve, TrainingData* data) const {
    for (size_t i = 0; i < samples_.size(); ++i) {
      data->samples[samples_[i]].time_us = cleaned(i, curve);
    }
  }

  double floor_us() const { return floor_us_; }
  const DeviceSpec& device() const { return data_.devices[data_.samples[samples_.front()].device]; }

 private:
  double cleaned(size_t i, const DriftCurve& curve) const {
    return std::max(times_[i] - std::max(curve.at(ranks_[i]), 0.0), kLeastShare * times_[i]);
  }

  // From the short ops alone, whose time is all floor.
  DriftCurve first_guess() const {
    const double limit = quantile(bases_, kShortOps);
    std::vector<double> early;
    for (size_t i = 0; i < times_.size(); ++i) {
      if (bases_[i] < limit && ranks_[i] < 0.15 && !test_[i]) {
        early.push_back(times_[i]);
      }
    }
    const double start = early.empty() ? floor_us_ : quantile(early, 0.5);
    std::vector<double> ranks;
    std::vector<double> residuals;
    for (size_t i = 0; i < times_.size(); ++i) {
      if (bases_[i] < limit && !test_[i]) {
        ranks.push_back(ranks_[i]);
        residuals.push_back(times_[i] - start);
      }
    }
    return fit_drift_curve(ranks, residuals, std::vector<double>(ranks.size(), 1.0));
  }

  void fill(size_t i, std::span<float> row) const {
    const Sample& sample = data_.samples[samples_[i]];
    fill_part_row(part_, {&data_.ops[sample.op], &data_.geometries[sample.op]}, device(),
                  rooflines_[i], row);
  }

  // Cleaned times as trees predict them that were trained on the other folds.
  StatusOr<std::vector<double>> predict_unseen(const DriftCurve& curve) const {
    const size_t columns = part_columns(part_);
    std::vector<double> predicted(times_.size());
    for (size_t fold = 0; fold < kFolds; ++fold) {
      std::vector<float> values;
      std::vector<float> labels;
      for (size_t i = 0; i < times_.size(); ++i) {
        if (!test_[i] && fold_[i] != fold) {
          values.resize(values.size() + columns);
          fill(i, std::span(values).last(columns));
          labels.push_back(static_cast<float>(std::log(cleaned(i, curve) / bases_[i])));
        }
      }
      DFSIM_ASSIGN_OR_RETURN(
          const Forest forest,
          fit_residual_trees(
              {.values = values, .columns = columns, .labels = labels, .rounds = kRounds}));
      std::vector<float> row(columns);
      for (size_t i = 0; i < times_.size(); ++i) {
        if (fold_[i] == fold) {
          fill(i, row);
          float ratio = 0;
          forest.predict(row, std::span(&ratio, 1));
          predicted[i] = bases_[i] * std::exp(ratio);
        }
      }
    }
    return predicted;
  }

  const ModelPart& part_;
  const TrainingData& data_;
  std::vector<uint32_t> samples_;
  std::vector<double> times_;
  std::vector<double> ranks_;
  std::vector<double> bases_;
  std::vector<Roofline> rooflines_;
  std::vector<bool> test_;
  std::vector<size_t> fold_;
  double floor_us_ = 0;
};

}  // namespace

double DriftCurve::at(double u) const {
  const auto h = hinges(u);
  double value = 0;
  for (size_t i = 0; i < kKnots; ++i) {
    value += slopes[i] * h[i];
  }
  return value;
}

DriftCurve fit_drift_curve(std::span<const double> ranks, std::span<const double> residuals,
                           std::span<const double> weights) {
  DriftCurve curve;
  std::vector<double> squared(weights.begin(), weights.end());
  for (int turn = 0; turn < kReweightings; ++turn) {
    std::array<std::array<double, kKnots + 1>, kKnots> system{};
    for (size_t i = 0; i < ranks.size(); ++i) {
      const auto h = hinges(ranks[i]);
      for (size_t row = 0; row < kKnots; ++row) {
        for (size_t column = 0; column < kKnots; ++column) {
          system[row][column] += squared[i] * h[row] * h[column];
        }
        system[row][kKnots] += squared[i] * h[row] * residuals[i];
      }
    }
    const auto slopes = solve(system);
    std::copy(slopes.begin(), slopes.end(), std::begin(curve.slopes));
    for (size_t i = 0; i < ranks.size(); ++i) {
      const double error = std::abs(residuals[i] - curve.at(ranks[i])) * weights[i];
      squared[i] = weights[i] * weights[i] / std::max(error, 1e-3);
    }
  }
  return curve;
}

bool looks_drifting(std::span<const double> times_us, std::span<const double> base_us) {
  const double limit = quantile({base_us.begin(), base_us.end()}, kShortOps);
  double n = 0;
  double x = 0;
  double y = 0;
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (size_t i = 0; i < times_us.size(); ++i) {
    if (base_us[i] < limit) {
      const auto u = static_cast<double>(i);
      n += 1;
      x += u;
      y += times_us[i];
      xx += u * u;
      yy += times_us[i] * times_us[i];
      xy += u * times_us[i];
    }
  }
  const double spread = (n * xx - x * x) * (n * yy - y * y);
  return n >= 30 && spread > 0 && (n * xy - x * y) / std::sqrt(spread) > kMinCorrelation;
}

StatusOr<std::vector<DriftReport>> remove_drift(const ModelPart& part,
                                                const std::vector<uint32_t>& samples, uint64_t seed,
                                                TrainingData* data) {
  // Each recording starts again.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> recordings;
  for (const uint32_t i : samples) {
    recordings[{data->samples[i].device, data->samples[i].recording}].push_back(i);
  }
  std::vector<DriftReport> reports;
  for (const auto& [recording, rows] : recordings) {
    DeviceDrift drift(part, *data, rows, seed);
    if (!drift.drifting()) {
      continue;
    }
    DFSIM_ASSIGN_OR_RETURN(const DriftCurve curve, drift.estimate());
    if (curve.at(1) < kLeastDrift * drift.floor_us()) {
      continue;
    }
    drift.apply(curve, data);
    reports.push_back({drift.device().model, curve.at(1)});
  }
  return reports;
}

}  // namespace dfsim::inline opmodel
