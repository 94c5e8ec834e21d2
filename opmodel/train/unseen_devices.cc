// Leaves out one device after the other, fits trees to the rest, and predicts the device as one of
// which only the data sheet is known.
#include "opmodel/train/unseen_devices.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "opmodel/model/intervals.h"
#include "opmodel/model/part_model.h"
#include "opmodel/train/error_stats.h"

namespace dfsim::inline opmodel {

namespace {

constexpr size_t kLeastShapesLeftOut = 20;
constexpr double kOneDeviceWidening = 2;

class UnseenDevices {
 public:
  UnseenDevices(const TrainingData& data, const std::vector<PartPoint>& points,
                const FitToPoints& fit, ModelPart* part)
      : data_(data), points_(points), fit_(fit), part_(*part) {}

  Status measure() {
    for (const PartDevice& device : part_.devices) {
      DFSIM_RETURN_IF_ERROR(leave_out(device.model));
    }
    double widening = 1;
    if (residuals_.empty()) {
      DFSIM_RETURN_IF_ERROR(leave_out_shapes());
      widening = kOneDeviceWidening;
    }
    part_.held_out = errors_.stats();
    if (residuals_.empty()) {
      return ok_status();
    }
    for (Residual& residual : residuals_) {
      residual.log_ratio *= widening;
    }
    part_.intervals = interval_table(std::move(residuals_));
    // All left-out devices may be on one side of their predictions.
    for (size_t i = 0; i < part_.intervals.low.size(); ++i) {
      part_.intervals.low[i] = std::min(part_.intervals.low[i], 1.0);
      part_.intervals.high[i] = std::max(part_.intervals.high[i], 1.0);
    }
    return ok_status();
  }

 private:
  // Predicts `unknown` by trees that were fitted to `known`.
  Status test(const std::vector<size_t>& known, const std::vector<size_t>& unknown,
              const std::vector<DeviceSpec>& devices, ErrorAccumulator* own) {
    DFSIM_ASSIGN_OR_RETURN(const Forest forest, fit_(known));
    std::vector<float> row(part_columns(part_));
    for (const size_t i : unknown) {
      const PartPoint& point = points_[i];
      const OpGeometry& geometry = data_.geometries[point.op];
      const DeviceSpec& device = devices[point.device];
      const bool seen = &devices == &data_.devices;
      const double floor = seen ? part_floor_us(part_, device) : floor_of_others_us(device);
      const Roofline roofline = part_roofline(part_, geometry, device, floor);
      fill_part_row(part_, {&data_.ops[point.op], &geometry}, device, roofline, row);
      float ratio = 0;
      forest.predict(row, std::span(&ratio, 1));
      const double predicted = roofline.base_us() * std::exp(ratio);
      own->add(predicted, point.time_us, true);
      errors_.add(predicted, point.time_us, true);
      residuals_.push_back({predicted, std::log(point.time_us / predicted)});
    }
    return ok_status();
  }

  Status leave_out(const std::string& model) {
    std::vector<size_t> known;
    std::vector<size_t> unknown;
    for (size_t i = 0; i < points_.size(); ++i) {
      (data_.devices[points_[i].device].model == model ? unknown : known).push_back(i);
    }
    if (known.size() < kMinRowsForTrees || unknown.size() < kLeastShapesLeftOut) {
      return ok_status();
    }
    ErrorAccumulator own;
    DFSIM_RETURN_IF_ERROR(test(known, unknown, data_.estimated, &own));
    part_.left_out.emplace_back(model, own.stats());
    return ok_status();
  }

  Status leave_out_shapes() {
    for (size_t fold = 0; fold < kPartFolds && points_.size() >= kMinRowsForTrees; ++fold) {
      std::vector<size_t> known;
      std::vector<size_t> unknown;
      for (size_t i = 0; i < points_.size(); ++i) {
        (points_[i].fold == fold ? unknown : known).push_back(i);
      }
      if (!known.empty() && !unknown.empty()) {
        ErrorAccumulator own;
        DFSIM_RETURN_IF_ERROR(test(known, unknown, data_.devices, &own));
      }
    }
    return ok_status();
  }

  // The floor of a device that was never measured.
  double floor_of_others_us(const DeviceSpec& device) const {
    ModelPart others = part_;
    std::erase_if(others.devices,
                  [&](const PartDevice& known) { return known.model == device.model; });
    return part_floor_us(others, device);
  }

  const TrainingData& data_;
  const std::vector<PartPoint>& points_;
  const FitToPoints& fit_;
  ModelPart& part_;
  std::vector<Residual> residuals_;
  ErrorAccumulator errors_;
};

}  // namespace

Status measure_unseen_devices(const TrainingData& data, const std::vector<PartPoint>& points,
                              const FitToPoints& fit, ModelPart* part) {
  return UnseenDevices(data, points, fit, part).measure();
}

}  // namespace dfsim::inline opmodel
