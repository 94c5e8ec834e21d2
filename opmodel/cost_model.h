// CostModel: run time of operators on devices. CostTable: the answers for one graph and platform.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/units.h"
#include "graphs/ir/op_class.h"
#include "graphs/ops/work.h"
#include "hardware/platform.h"

namespace dfsim::inline opmodel {

// Where a cost comes from, best first.
enum class CostSource : uint8_t {
  kMeasured,      // this very shape was profiled
  kPredicted,     // by a trained model inside its training range
  kExtrapolated,  // outside the range: median efficiency of the class
  kPrior,         // no data of this device: what other devices teach, at sustained rates
  kBoundOnly,     // the speed-of-light bound, because nothing is known of the class
  kGiven,         // written in a task-graph file
};
inline constexpr int kCostSourceCount = 6;
std::string_view cost_source_name(CostSource source);

// The limit of an op: which arm of the roofline is the higher one, or the launch floor.
enum class Bound : uint8_t { kCompute, kMemory, kLaunch, kNone };
inline constexpr int kBoundCount = 4;
std::string_view bound_name(Bound bound);

struct OpCost {
  TimeNs time_ns = 0;
  TimeNs low_ns = 0;  // 80 % interval
  TimeNs high_ns = 0;
  CostSource source = CostSource::kBoundOnly;
  Bound bound = Bound::kNone;
  // Speed of light by the data sheet (sol.h); nothing is expected to reach it. 48 bits hold 39
  // hours: larger ones are cut there by set_bound(), so that a cost fills half a cache line. A
  // simulation of a million tasks waits for these lines.
  TimeNs bound_ns : 48 = 0;

  void set_bound(TimeNs ns) {
    constexpr TimeNs kMost = (TimeNs{1} << 47) - 1;
    bound_ns = (ns < kMost ? ns : kMost) & kMost;
  }
};
static_assert(sizeof(OpCost) == 32);

// Another time for the operator, with an interval of the same relative width. `cost` has one.
void rescale(double time_ns, OpCost* cost);

// One distinct operator to be costed: everything a model may look at. Equal descriptors cost equal.
struct OpDescriptor {
  std::string op_type;
  OpClass op_class = OpClass::kOpaque;
  DType dtype = DType::kUnknown;  // arithmetic dtype
  OpWork work;
  std::vector<std::vector<int64_t>> input_extents;  // a missing optional input is {-1}
  std::vector<DType> input_dtypes;
  std::vector<std::vector<int64_t>> output_extents;
  std::vector<DType> output_dtypes;
  // Attributes that change cost, canonical: sorted "name=value" pairs joined with ';'.
  std::string attributes;

  bool operator==(const OpDescriptor&) const = default;
  uint64_t hash() const;
};

class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual std::string_view name() const = 0;
  // Fills out[i] with the cost of ops[i] on the device. |out| == |ops|. One call for a whole graph.
  // Error: kFailed when the model cannot compute (never for an unknown op: that is kBoundOnly).
  virtual Status predict(std::span<const OpDescriptor> ops, const DeviceSpec& device,
                         std::span<OpCost> out) const = 0;
  // Factor for the width (in ln) of a whole network's interval on this device, fitted to measured
  // networks (report/interval_fit.h); 1 where none did.
  virtual double interval_scale(const DeviceSpec& /*device*/) const { return 1; }
  // The error that all operators on this device have in common, because another machine was
  // measured: an 80 % interval is within this factor, each way. Costs' intervals contain it. 1 =
  // none.
  virtual double common_spread(const DeviceSpec& /*device*/) const { return 1; }
};

// Time of a distinct op (row) on each device (column). time < 0 means "cannot run there".
class CostTable {
 public:
  static constexpr TimeNs kInfeasible = -1;

  CostTable() = default;
  CostTable(size_t rows, size_t devices)
      : devices_(devices),
        costs_(rows * devices),
        interval_scales_(devices, 1),
        common_spreads_(devices, 1) {}

  size_t rows() const { return devices_ == 0 ? 0 : costs_.size() / devices_; }
  size_t devices() const { return devices_; }
  OpCost& at(uint32_t row, DeviceId device) { return costs_[row * devices_ + device.index()]; }
  const OpCost& at(uint32_t row, DeviceId device) const {
    return costs_[row * devices_ + device.index()];
  }
  TimeNs time_ns(uint32_t row, DeviceId device) const { return at(row, device).time_ns; }
  bool feasible(uint32_t row, DeviceId device) const { return time_ns(row, device) >= 0; }
  // CostModel::interval_scale() of the device.
  double& interval_scale(DeviceId device) { return interval_scales_[device.index()]; }
  double interval_scale(DeviceId device) const { return interval_scales_[device.index()]; }
  // CostModel::common_spread() of the device.
  double& common_spread(DeviceId device) { return common_spreads_[device.index()]; }
  double common_spread(DeviceId device) const { return common_spreads_[device.index()]; }

 private:
  size_t devices_ = 0;
  std::vector<OpCost> costs_;
  std::vector<double> interval_scales_;
  std::vector<double> common_spreads_;
};

}  // namespace dfsim::inline opmodel
