// Two rules, one after the other: odd times of one shape, then steps between batch sizes, checked
// against the consensus of operators of the same kind.
#include "opmodel/samples/contradictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "datasets/profiles/statistics.h"
#include "opmodel/features/roofline.h"

namespace dfsim::inline opmodel {
namespace {

constexpr size_t kLeastPlaces = 3;          // of one shape, to call one of them odd
constexpr double kOddFactor = 2;            // over or under their median
constexpr double kFastestGrowth = 1.5;      // of a time, over the growth of the batch
constexpr double kSlowestGrowth = 0.7;      // of a time while the batch grows
constexpr double kLeastDeviation = 0.4055;  // ln 1.5
constexpr double kClearly = 2;  // the wrong one deviates so many times as far as the other
constexpr size_t kNeighbours = 15;
constexpr size_t kLeastNeighbours = 5;
constexpr double kWidestNeighbour = 1.3863;  // ln 4, of the bound

using ShapeKey = std::tuple<uint32_t, uint32_t, int>;         // op, device, timing
using KindKey = std::tuple<int, std::string, uint32_t, int>;  // class, kind, device, timing
using StepKey = std::tuple<KindKey, int32_t, int32_t>;        // from one batch to the next

ShapeKey shape_of(const Sample& sample) {
  return {sample.op, sample.device, static_cast<int>(sample.timing)};
}

// The usual time of each shape, and how far its time over its bound is from its kind's.
class Consensus {
 public:
  Consensus(const TrainingData& data, const std::set<uint32_t>& left_out) : data_(data) {
    std::map<ShapeKey, std::vector<double>> times;
    for (uint32_t i = 0; i < data.samples.size(); ++i) {
      if (!left_out.contains(i)) {
        times[shape_of(data.samples[i])].push_back(data.samples[i].time_us);
      }
    }
    for (auto& [shape, list] : times) {
      const auto& [op, device, timing] = shape;
      const double time_us = median(list);
      const double floor_us =
          static_cast<double>(data.devices[device].launch_overhead_ns) / kNsPerUs;
      const double base =
          std::log(roofline_of(data.geometries[op], data.devices[device], floor_us).base_us());
      usual_us_[shape] = time_us;
      kinds_[kind_of(shape)].push_back({base, std::log(time_us) - base, op});
      base_[shape] = base;
    }
    for (auto& [kind, shapes] : kinds_) {
      std::sort(shapes.begin(), shapes.end());
    }
  }

  double usual_us(const ShapeKey& shape) const { return usual_us_.at(shape); }

  KindKey kind_of(const ShapeKey& shape) const {
    const auto& [op, device, timing] = shape;
    return {static_cast<int>(data_.ops[op].op_class), data_.geometries[op].kind, device, timing};
  }

  // ln(time / bound) of the shape, less the median of its nearest neighbours that are not among
  // `relatives` (the same operator at other sizes). False when there are too few.
  bool deviation(const ShapeKey& shape, const std::set<uint32_t>& relatives, double* out) const {
    const std::vector<Shape>& shapes = kinds_.at(kind_of(shape));
    const double base = base_.at(shape);
    const double own = std::log(usual_us(shape)) - base;
    std::vector<double> near;
    auto above = std::lower_bound(shapes.begin(), shapes.end(), Shape{base, -1e300, 0});
    auto below = above;
    while (near.size() < kNeighbours && (above != shapes.end() || below != shapes.begin())) {
      const bool up =
          below == shapes.begin() ||
          (above != shapes.end() && above->base - base <= base - std::prev(below)->base);
      const Shape& next = up ? *above++ : *--below;
      if (std::abs(next.base - base) > kWidestNeighbour) {
        break;
      }
      if (!relatives.contains(next.op)) {
        near.push_back(next.over_base);
      }
    }
    if (near.size() < kLeastNeighbours) {
      return false;
    }
    *out = own - median(near);
    return true;
  }

 private:
  struct Shape {
    double base = 0;       // ln of the bound
    double over_base = 0;  // ln(time / bound)
    uint32_t op = 0;

    bool operator<(const Shape& other) const {
      return std::tie(base, over_base, op) < std::tie(other.base, other.over_base, other.op);
    }
  };

  const TrainingData& data_;
  std::map<ShapeKey, double> usual_us_;
  std::map<ShapeKey, double> base_;
  std::map<KindKey, std::vector<Shape>> kinds_;
};

// An operator at one batch size.
struct AtBatch {
  int32_t batch = 0;
  ShapeKey shape;
};

class ContradictionFinder {
 public:
  explicit ContradictionFinder(const TrainingData& data) : data_(data) {}

  std::vector<OddSample> run() {
    odd_times();
    const Consensus consensus(data_, odd_);
    const auto all_lines = lines();
    for (const auto& [instance, line] : all_lines) {
      note_growths(line, consensus);
    }
    for (const auto& [instance, line] : all_lines) {
      weigh(line, consensus);
    }
    wrong_shapes();
    std::sort(found_.begin(), found_.end(),
              [](const OddSample& a, const OddSample& b) { return a.sample < b.sample; });
    return std::move(found_);
  }

 private:
  void odd_times() {
    std::map<ShapeKey, std::vector<uint32_t>> places;
    for (uint32_t i = 0; i < data_.samples.size(); ++i) {
      if (data_.samples[i].instance != 0) {
        places[shape_of(data_.samples[i])].push_back(i);
      }
    }
    for (const auto& [shape, samples] : places) {
      if (samples.size() < kLeastPlaces) {
        continue;
      }
      std::vector<double> times;
      for (const uint32_t i : samples) {
        times.push_back(data_.samples[i].time_us);
      }
      const double usual = median(times);
      for (const uint32_t i : samples) {
        const double factor = data_.samples[i].time_us / usual;
        if (factor > kOddFactor || factor < 1 / kOddFactor) {
          odd_.insert(i);
          found_.push_back({i, factor,
                            fmt::format("{:.2g} times as long as the median of {} operators of the "
                                        "same shape",
                                        factor, samples.size())});
        }
      }
    }
  }

  // Operators that were measured at several batch sizes, in ascending order of these.
  std::map<std::pair<uint64_t, uint32_t>, std::vector<AtBatch>> lines() const {
    std::map<std::pair<uint64_t, uint32_t>, std::map<int32_t, ShapeKey>> by_batch;
    for (uint32_t i = 0; i < data_.samples.size(); ++i) {
      const Sample& sample = data_.samples[i];
      if (sample.instance != 0 && sample.batch > 0 && !odd_.contains(i)) {
        by_batch[{sample.instance, sample.device}].try_emplace(sample.batch, shape_of(sample));
      }
    }
    std::map<std::pair<uint64_t, uint32_t>, std::vector<AtBatch>> lines;
    for (const auto& [instance, batches] : by_batch) {
      for (const auto& [batch, shape] : batches) {
        lines[instance].push_back({batch, shape});
      }
    }
    return lines;
  }

  void note_growths(const std::vector<AtBatch>& line, const Consensus& consensus) {
    for (size_t i = 0; i + 1 < line.size(); ++i) {
      growths_[step_of(line[i], line[i + 1], consensus)].push_back(
          consensus.usual_us(line[i + 1].shape) / consensus.usual_us(line[i].shape));
    }
  }

  // The growth of the batch, and no less than operators of the kind usually grow: where all of
  // them jump, it is the machine.
  double expected_growth(const AtBatch& a, const AtBatch& b, const Consensus& consensus) const {
    const double ratio = static_cast<double>(b.batch) / static_cast<double>(a.batch);
    std::vector<double> growths = growths_.at(step_of(a, b, consensus));
    return growths.size() < kLeastNeighbours ? ratio : std::max(ratio, median(growths));
  }

  static StepKey step_of(const AtBatch& a, const AtBatch& b, const Consensus& consensus) {
    return {consensus.kind_of(a.shape), a.batch, b.batch};
  }

  void weigh(const std::vector<AtBatch>& line, const Consensus& consensus) {
    std::set<uint32_t> relatives;
    for (const AtBatch& at : line) {
      relatives.insert(std::get<0>(at.shape));
    }
    if (relatives.size() < 2) {
      return;  // does not depend on the batch
    }
    for (const AtBatch& at : line) {
      ++findings_[at.shape].lines;
    }
    for (size_t i = 0; i + 1 < line.size(); ++i) {
      const AtBatch& a = line[i];
      const AtBatch& b = line[i + 1];
      const double growth = consensus.usual_us(b.shape) / consensus.usual_us(a.shape);
      if (growth <= kFastestGrowth * expected_growth(a, b, consensus) && growth >= kSlowestGrowth) {
        continue;
      }
      double of_a = 0;
      double of_b = 0;
      if (!consensus.deviation(a.shape, relatives, &of_a) ||
          !consensus.deviation(b.shape, relatives, &of_b)) {
        continue;
      }
      const bool second = std::abs(of_b) > std::abs(of_a);
      const double far = second ? of_b : of_a;
      const double near = second ? of_a : of_b;
      if (std::abs(far) < kLeastDeviation || std::abs(far) < kClearly * std::abs(near)) {
        continue;
      }
      Finding& finding = findings_[second ? b.shape : a.shape];
      ++finding.wrong;
      finding.factor = std::exp(far);
      finding.reason =
          fmt::format("{:.2g} times as long at batch {} as at {}", growth, b.batch, a.batch);
    }
  }

  // Shapes that at least half of their operators' lines call wrong.
  void wrong_shapes() {
    for (uint32_t i = 0; i < data_.samples.size(); ++i) {
      const auto it = findings_.find(shape_of(data_.samples[i]));
      if (it != findings_.end() && it->second.wrong > 0 &&
          2 * it->second.wrong >= it->second.lines && !odd_.contains(i)) {
        found_.push_back({i, it->second.factor, it->second.reason});
      }
    }
  }

  struct Finding {
    size_t lines = 0;
    size_t wrong = 0;
    double factor = 1;
    std::string reason;
  };

  const TrainingData& data_;
  std::set<uint32_t> odd_;
  std::map<StepKey, std::vector<double>> growths_;
  std::map<ShapeKey, Finding> findings_;
  std::vector<OddSample> found_;
};

}  // namespace

std::vector<OddSample> find_contradictions(const TrainingData& data) {
  return ContradictionFinder(data).run();
}

}  // namespace dfsim::inline opmodel
