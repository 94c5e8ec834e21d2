// Makes the points of a part: one per shape and recording, with its bound and its side of the
// split.
#include "opmodel/train/part_points.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/hash.h"
#include "opmodel/features/features.h"

namespace dfsim::inline opmodel {

namespace {

// A prior learns from about this number of shapes of a recording: every n-th, the same ones of
// each.
constexpr size_t kMostShapesOfPrior = 700;

// For an even number of values, the geometric mean of the two in the middle.
double middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : std::sqrt(values[half - 1] * values[half]);
}

// Rows that must not be on both sides of a split: the shape; for products of matrices the weight's.
uint64_t split_group(const OpGeometry& geometry) {
  if (geometry.family != Family::kGemm) {
    return geometry.key;
  }
  return Hasher()
      .add(static_cast<uint64_t>(geometry.dims[dim::kN]))
      .add(static_cast<uint64_t>(geometry.dims[dim::kK]))
      .add(static_cast<uint64_t>(geometry.dims[dim::kB]))
      .digest();
}

class PointMaker {
 public:
  PointMaker(const TrainingData& data, const std::vector<uint32_t>& samples, uint64_t seed,
             bool prior)
      : data_(data), samples_(samples), seed_(seed), prior_(prior) {}

  std::vector<PartPoint> make(double floor_quantile, ModelPart* part) {
    collect(part);
    find_floors(floor_quantile, part);
    describe_ground(part);
    split();
    return std::move(points_);
  }

 private:
  void collect(ModelPart* part) {
    std::map<std::tuple<uint64_t, uint32_t, uint32_t>, std::vector<uint32_t>> by_shape;
    for (const uint32_t i : samples_) {
      const Sample& sample = data_.samples[i];
      by_shape[{data_.geometries[sample.op].key, sample.device, sample.recording}].push_back(i);
    }
    std::map<std::pair<uint32_t, uint32_t>, size_t> shapes;  // by device and recording
    for (const auto& [key, rows] : by_shape) {
      ++shapes[{std::get<1>(key), std::get<2>(key)}];
    }
    for (const auto& [key, rows] : by_shape) {
      const size_t every = shapes[{std::get<1>(key), std::get<2>(key)}] / kMostShapesOfPrior + 1;
      if (prior_ && Hasher().add(std::get<0>(key)).digest() % every != 0) {
        continue;
      }
      std::vector<double> times;
      for (const uint32_t i : rows) {
        times.push_back(data_.samples[i].time_us);
      }
      PartPoint point;
      point.op = data_.samples[rows.front()].op;
      point.device = std::get<1>(key);
      point.recording = std::get<2>(key);
      point.row = data_.samples[rows.front()].row;
      point.time_us = middle(std::move(times));
      points_.push_back(point);
    }
    part->rows += static_cast<int64_t>(samples_.size());
  }

  void find_floors(double floor_quantile, ModelPart* part) {
    std::map<uint32_t, std::vector<double>> times;
    for (const PartPoint& point : points_) {
      times[point.device].push_back(point.time_us);
    }
    std::map<uint32_t, double> floors;
    for (const auto& [device, list] : times) {
      floors[device] = value_at_quantile(list, floor_quantile);
      part->devices.push_back(
          {data_.devices[device].model, floors[device], static_cast<int64_t>(list.size())});
    }
    for (PartPoint& point : points_) {
      point.base_us =
          roofline_of(data_.geometries[point.op], data_.devices[point.device], floors[point.device])
              .base_us();
    }
  }

  void describe_ground(ModelPart* part) const {
    if (part->ranges.empty()) {
      part->ranges.assign(kMaxGeometryDims, {1e300, -1e300});
    }
    for (const PartPoint& point : points_) {
      const OpGeometry& geometry = data_.geometries[point.op];
      for (size_t i = 0; i < kMaxGeometryDims; ++i) {
        const double value = std::log1p(std::max(geometry.dims[i], 0.0));
        part->ranges[i].first = std::min(part->ranges[i].first, value);
        part->ranges[i].second = std::max(part->ranges[i].second, value);
      }
      if (!part->trained_on(geometry.dtype)) {
        part->dtypes.push_back(geometry.dtype);
      }
    }
    std::sort(part->dtypes.begin(), part->dtypes.end());
  }

  void split() {
    for (PartPoint& point : points_) {
      const double u = split_position(data_.geometries[point.op], seed_);
      point.side = u < kTestShare                      ? Side::kTest
                   : u < kTestShare + kValidationShare ? Side::kValidation
                                                       : Side::kTrain;
      point.fold = static_cast<size_t>(u * 1e6) % kPartFolds;
    }
  }

  const TrainingData& data_;
  const std::vector<uint32_t>& samples_;
  uint64_t seed_;
  bool prior_;
  std::vector<PartPoint> points_;
};

}  // namespace

double value_at_quantile(std::vector<double> values, double q) {
  const auto at = static_cast<size_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(at), values.end());
  return values[at];
}

double split_position(const OpGeometry& geometry, uint64_t seed) {
  const uint64_t digest = Hasher().add(seed).add(split_group(geometry)).digest();
  return static_cast<double>(digest >> 11) * 0x1.0p-53;
}

std::vector<PartPoint> part_points(const TrainingData& data, const std::vector<uint32_t>& samples,
                                   uint64_t seed, bool prior, double floor_quantile,
                                   ModelPart* part) {
  return PointMaker(data, samples, seed, prior).make(floor_quantile, part);
}

}  // namespace dfsim::inline opmodel
