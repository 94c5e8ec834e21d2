// Finds the effect of each recording by trees that were fitted to another one, then sets rows of
// throttled boards apart.
#include "opmodel/train/recording_effects.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "datasets/profiles/statistics.h"
#include "opmodel/model/part_model.h"
#include "opmodel/trees/forest.h"
#include "opmodel/trees/residual_trees.h"

namespace dfsim::inline opmodel {

namespace {

constexpr size_t kMinRowsToCompare = 10;
// With fewer rows of the healthy board, trees cannot tell its shapes from its speed.
constexpr size_t kMinRowsForColumn = 60;
constexpr int kEffectRounds = 120;
// A floor this share of a time says nothing of the clock.
constexpr double kMostFloorShare = 0.5;
// All rows of a small recording weigh half as much as those of the largest one, but none more than
// so many of its rows.
constexpr double kMostWeight = 20;

// Points of one device in one recording.
using RecordingPoints = std::map<uint32_t, std::vector<size_t>>;

class Separation {
 public:
  Separation(const TrainingData& data, uint64_t seed, ModelPart* part,
             std::vector<PartPoint>* points)
      : data_(data), seed_(seed), part_(*part), points_(*points) {}

  Status run() {
    std::map<uint32_t, RecordingPoints> devices;
    for (size_t i = 0; i < points_.size(); ++i) {
      devices[points_[i].device][points_[i].recording].push_back(i);
    }
    for (const auto& [device, recordings] : devices) {
      if (recordings.size() > 1) {
        DFSIM_RETURN_IF_ERROR(compare(recordings));
      }
    }
    balance(devices);
    return ok_status();
  }

 private:
  double floor_us(const PartPoint& point) const {
    return part_floor_us(part_, data_.devices[point.device]);
  }

  void fill(const PartPoint& point, std::span<float> row) const {
    const OpGeometry& geometry = data_.geometries[point.op];
    const DeviceSpec& device = data_.devices[point.device];
    fill_part_row(part_, {&data_.ops[point.op], &geometry}, device,
                  roofline_of(geometry, device, floor_us(point)), row);
  }

  // Trees fitted to the rows of a recording that are not held out.
  StatusOr<Forest> trees_of(const std::vector<size_t>& which) const {
    const size_t columns = part_columns(part_);
    std::vector<float> values;
    std::vector<float> labels;
    for (const size_t i : which) {
      if (points_[i].side != Side::kTest) {
        values.resize(values.size() + columns);
        fill(points_[i], std::span(values).last(columns));
        labels.push_back(static_cast<float>(points_[i].log_ratio()));
      }
    }
    return fit_residual_trees({.values = values,
                               .columns = columns,
                               .labels = labels,
                               .rounds = kEffectRounds,
                               .seed = seed_});
  }

  // ln(time / prediction) of the rows of a recording whose time is not mostly launch.
  double effect_of(const std::vector<size_t>& which, const Forest& forest, size_t* rows) const {
    std::vector<float> row(part_columns(part_));
    std::vector<double> effects;
    for (const size_t i : which) {
      const PartPoint& point = points_[i];
      if (point.side != Side::kTest && floor_us(point) < kMostFloorShare * point.time_us) {
        fill(point, row);
        float ratio = 0;
        forest.predict(row, std::span(&ratio, 1));
        effects.push_back(point.log_ratio() - ratio);
      }
    }
    *rows = effects.size();
    return effects.empty() ? 0 : median(effects);
  }

  Status compare(const RecordingPoints& recordings) {
    const auto largest = std::max_element(
        recordings.begin(), recordings.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    DFSIM_ASSIGN_OR_RETURN(const Forest forest, trees_of(largest->second));
    std::map<uint32_t, double> effects = {{largest->first, 0}};
    for (const auto& [recording, which] : recordings) {
      size_t rows = 0;
      const double effect = recording == largest->first ? 0 : effect_of(which, forest, &rows);
      if (rows >= kMinRowsToCompare) {
        effects[recording] = effect;
      }
    }
    const auto reference =
        std::min_element(effects.begin(), effects.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const std::vector<size_t>& healthy = recordings.at(reference->first);
    for (const auto& [recording, effect] : effects) {
      const std::vector<size_t>& which = recordings.at(recording);
      const double slower = effect - reference->second;
      const bool throttled = slower > kHealthySpread;
      part_.recordings.push_back({data_.devices[points_[which.front()].device].model,
                                  data_.recordings[recording], static_cast<int64_t>(which.size()),
                                  slower, throttled});
      if (throttled) {
        set_apart(which, healthy, slower);
      }
    }
    return ok_status();
  }

  void set_apart(std::vector<size_t> which, const std::vector<size_t>& healthy, double slower) {
    const bool column = healthy.size() >= kMinRowsForColumn;
    part_.recording_column = part_.recording_column || column;
    std::sort(which.begin(), which.end(),
              [this](size_t a, size_t b) { return points_[a].row < points_[b].row; });
    for (size_t rank = 0; rank < which.size(); ++rank) {
      PartPoint& point = points_[which[rank]];
      point.throttled = true;
      if (column) {
        point.column = 1 + static_cast<float>(rank) / static_cast<float>(which.size());
        continue;
      }
      const double floor = std::min(floor_us(point), point.time_us);
      point.time_us = floor + (point.time_us - floor) * std::exp(-slower);
    }
  }

  // A recording of few shapes would drown among thousands of another's.
  void balance(const std::map<uint32_t, RecordingPoints>& devices) {
    size_t largest = 0;
    for (const auto& [device, recordings] : devices) {
      for (const auto& [recording, which] : recordings) {
        largest = std::max(largest, which.size());
      }
    }
    for (const auto& [device, recordings] : devices) {
      for (const auto& [recording, which] : recordings) {
        const double weight = static_cast<double>(largest) / static_cast<double>(which.size()) / 2;
        for (const size_t i : which) {
          points_[i].weight = static_cast<float>(std::clamp(weight, 1.0, kMostWeight));
        }
      }
    }
  }

  const TrainingData& data_;
  uint64_t seed_;
  ModelPart& part_;
  std::vector<PartPoint>& points_;
};

}  // namespace

Status separate_recordings(const TrainingData& data, uint64_t seed, ModelPart* part,
                           std::vector<PartPoint>* points) {
  return Separation(data, seed, part, points).run();
}

void widen_by_recordings(const std::vector<RecordingEffect>& recordings, IntervalTable* table) {
  double spread = 0;
  for (const RecordingEffect& effect : recordings) {
    spread = std::max(spread, std::min(effect.log_effect, kHealthySpread));
  }
  const auto widened = [spread](double factor, double sign) {
    const double width = std::hypot(std::log(factor), spread);
    return std::exp(sign * width);
  };
  for (size_t i = 0; spread > 0 && i < table->low.size(); ++i) {
    table->low[i] = widened(std::min(table->low[i], 1.0), -1);
    table->high[i] = widened(std::max(table->high[i], 1.0), 1);
  }
}

}  // namespace dfsim::inline opmodel
