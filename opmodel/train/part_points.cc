// Makes the points of a part: one per shape and recording, with its bound and its side of the
// split.
#include "opmodel/train/part_points.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/hash.h"
#include "opmodel/features/features.h"
#include "opmodel/model/laws/unaligned_products.h"
#include "opmodel/model/part_model.h"
#include "opmodel/samples/form_folds.h"

namespace dfsim::inline opmodel {

namespace {

// A prior learns from about this number of shapes of a recording: every n-th, the same ones of
// each. Where few recordings have a kind of op, each counts with more shapes.
constexpr size_t kMostShapesOfPrior = 700;
constexpr size_t kLeastShapesOfPrior = 4000;  // of all recordings together
// A row shows the floor of its kind where its work takes at most this share of its time, at rates
// that no kernel reaches.
constexpr double kMostWorkAtFloor = 0.1;
constexpr double kSmoothingRows = 5;  // of a kind's effect towards 0
// Floors of kinds that all show them differ by about as much.
constexpr double kLeastExcess = 1.25;

// The shortest rows of a device, as one row: its time, and how long its work takes at least.
struct ShortestRow {
  double time_us = 0;
  double work_us = 0;
  bool shows_floor() const { return work_us <= kMostWorkAtFloor * time_us; }
};

// Times and work, by the quantile of the times that counts as the shortest.
ShortestRow shortest_of(std::vector<ShortestRow> rows, double quantile) {
  const auto at = static_cast<size_t>(quantile * static_cast<double>(rows.size() - 1));
  std::nth_element(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(at), rows.end(),
                   [](const ShortestRow& a, const ShortestRow& b) {
                     return a.time_us != b.time_us ? a.time_us < b.time_us : a.work_us < b.work_us;
                   });
  return rows[at];
}

double work_us(const OpGeometry& geometry, const DeviceSpec& device) {
  const Roofline roofline = roofline_of(geometry, device, 0);
  return std::max(roofline.compute_us, roofline.memory_us);
}

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
    if (samples_.empty()) {
      return;
    }
    std::map<std::tuple<uint64_t, uint32_t, uint32_t>, std::vector<uint32_t>> by_shape;
    for (const uint32_t i : samples_) {
      const Sample& sample = data_.samples[i];
      by_shape[{data_.geometries[sample.op].key, sample.device, sample.recording}].push_back(i);
    }
    std::map<std::pair<uint32_t, uint32_t>, size_t> shapes;  // by device and recording
    for (const auto& [key, rows] : by_shape) {
      ++shapes[{std::get<1>(key), std::get<2>(key)}];
    }
    const size_t most = std::max(kMostShapesOfPrior, kLeastShapesOfPrior / shapes.size());
    for (const auto& [key, rows] : by_shape) {
      const size_t every = shapes[{std::get<1>(key), std::get<2>(key)}] / most + 1;
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
    std::map<uint32_t, std::vector<ShortestRow>> rows;
    for (const PartPoint& point : points_) {
      rows[point.device].push_back(
          {point.time_us, work_us(data_.geometries[point.op], data_.devices[point.device])});
    }
    std::map<uint32_t, ShortestRow> shortest;
    for (const auto& [device, list] : rows) {
      shortest[device] = shortest_of(list, floor_quantile);
    }
    std::map<uint32_t, double> floors;
    for (const auto& [device, list] : rows) {
      floors[device] = floor_of(device, shortest, floor_quantile, *part);
      part->devices.push_back(
          {data_.devices[device].model, floors[device], static_cast<int64_t>(list.size())});
      if (prior_) {
        part->devices.back().clock_hz = data_.devices[device].clock_hz;
        part->devices.back().unit_flops_per_s = unit_flops_per_s(data_.devices[device]);
      }
    }
    for (PartPoint& point : points_) {
      point.base_us = part_roofline(*part, data_.geometries[point.op], data_.devices[point.device],
                                    floors[point.device])
                          .base_us();
    }
  }

  // Where all rows of a device are large, the shortest one is far above the floor, and everything
  // smaller would seem to take as long. A floor also shows in other kinds of op of the same
  // family on this device, the part's other devices, or the shortest row of a kind without its
  // work.
  double floor_of(uint32_t device, const std::map<uint32_t, ShortestRow>& shortest,
                  double floor_quantile, const ModelPart& part) const {
    const ShortestRow& own = shortest.at(device);
    // In a network the times of short ops have no launch of their own to learn.
    if (own.shows_floor() || part.timing == TimingKind::kInNetwork) {
      return own.time_us;
    }
    const std::vector<ShortestRow> kinds = shortest_of_kinds(device, floor_quantile, part);
    std::vector<double> shown;
    double without_work = own.time_us - own.work_us;
    for (const ShortestRow& row : kinds) {
      without_work = std::min(without_work, row.time_us - row.work_us);
      if (row.shows_floor()) {
        shown.push_back(row.time_us);
      }
    }
    if (shown.empty()) {
      for (const auto& [other, row] : shortest) {
        if (row.shows_floor()) {
          shown.push_back(row.time_us);
        }
      }
    }
    const double kernel_us =
        static_cast<double>(data_.devices[device].launch_overhead_ns) / kNsPerUs;
    const double floor = shown.empty() ? std::max(without_work, kernel_us)
                                       : value_at_quantile(std::move(shown), 0.5);
    return own.time_us > kLeastExcess * floor ? floor : own.time_us;
  }

  // The shortest rows of the part's family on a device, by kind.
  std::vector<ShortestRow> shortest_of_kinds(uint32_t device, double floor_quantile,
                                             const ModelPart& part) const {
    std::map<std::string, std::vector<ShortestRow>> kinds;
    for (const Sample& sample : data_.samples) {
      const OpGeometry& geometry = data_.geometries[sample.op];
      if (sample.device == device && sample.timing == part.timing &&
          geometry.family == part.family) {
        kinds[geometry.kind].push_back({sample.time_us, work_us(geometry, data_.devices[device])});
      }
    }
    std::vector<ShortestRow> shortest;
    for (auto& [kind, rows] : kinds) {
      shortest.push_back(shortest_of(std::move(rows), floor_quantile));
    }
    return shortest;
  }

  void describe_ground(ModelPart* part) const {
    // A part from before forms does not say which ones its earlier rows had.
    if (part->ranges.empty() || !part->forms.empty()) {
      count_forms(data_, ops_of(points_), &part->forms);
    }
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
      part->unaligned_rows += is_unaligned_product(data_.ops[point.op], geometry) ? 1 : 0;
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

std::vector<uint32_t> ops_of(const std::vector<PartPoint>& points) {
  std::vector<uint32_t> ops;
  ops.reserve(points.size());
  for (const PartPoint& point : points) {
    ops.push_back(point.op);
  }
  return ops;
}

void add_kind_effects(const TrainingData& data, const std::vector<PartPoint>& points,
                      std::vector<std::pair<std::string, double>>* effects) {
  std::map<std::string, std::pair<double, double>> sums;  // sum of ratios, rows
  double total = 0;
  double count = 0;
  for (const PartPoint& point : points) {
    if (point.side == Side::kTrain) {
      auto& [sum, rows] = sums[data.geometries[point.op].kind];
      sum += point.log_ratio();
      rows += 1;
      total += point.log_ratio();
      count += 1;
    }
  }
  for (const auto& sum : sums) {
    // Not a structured binding: clang 14 does not let a lambda capture one.
    const std::string& kind = sum.first;
    const std::pair<double, double>& entry = sum.second;
    if (std::any_of(effects->begin(), effects->end(),
                    [&](const auto& known) { return known.first == kind; })) {
      continue;
    }
    const double effect = entry.first - entry.second * total / count;
    effects->emplace_back(kind, effect / (entry.second + kSmoothingRows));
  }
}

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
