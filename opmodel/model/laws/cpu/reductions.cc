// ONNX Runtime merges axes that lie next to each other, then has a kernel for each order of those
// that it keeps and reduces. The loop over an axis in the middle takes one result after the other,
// so each step is a stride further.
#include "opmodel/model/laws/cpu/reductions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/dtype.h"
#include "opmodel/features/feature_writer.h"
#include "opmodel/features/op_form.h"
#include "opmodel/model/laws/cpu/kernel_terms.h"

namespace dfsim::inline opmodel {

namespace {

// Nanoseconds per element of the operand. Short rows overlap, in long ones each addition waits for
// the one before.
struct ReductionRates {
  double short_rows;
  double rows;
  double middle;
  double first;
  double colliding;
  double all;
};

constexpr ReductionRates kComparisons = {0.15, 0.07, 0.15, 0.58, 0.62, 0.08};
constexpr ReductionRates kSums = {0.44, 0.80, 0.90, 0.92, 2.75, 0.11};
constexpr ReductionRates kExponentials = {4.0, 4.0, 4.6, 5.1, 6.5, 3.4};

// Products take as long as sums.
constexpr std::array<std::string_view, 5> kLikeSums = {"ReduceProd", "ReduceSumSquare",
                                                       "ReduceLogSum", "ReduceL1", "ReduceL2"};

const ReductionRates* rates_of_reduction(std::string_view type) {
  return type == "ReduceMin" || type == "ReduceMax"              ? &kComparisons
         : type == "ReduceLogSumExp"                             ? &kExponentials
         : std::ranges::find(kLikeSums, type) != kLikeSums.end() ? &kSums
                                                                 : nullptr;
}

enum class Reduced { kUnknown, kNothing, kAll, kShortRows, kRows, kMiddle, kFirst, kColliding };

// Elements 2 KB apart or a multiple of it fall into few sets of the first cache, which holds eight
// lines in each.
constexpr double kCollidingBytes = 2048;
constexpr double kFewestColliding = 16;
constexpr double kShortRow = 128;

// Neighbouring axes that are reduced alike, as one; axes of one element are left out.
struct AxisRun {
  double extent = 1;
  bool reduced = false;
};

std::vector<AxisRun> runs_of_axes(const std::vector<int64_t>& x, const std::vector<size_t>& axes) {
  std::vector<AxisRun> runs;
  for (size_t axis = 0; axis < x.size(); ++axis) {
    const bool reduced = std::ranges::find(axes, axis) != axes.end();
    if (x[axis] == 1) {
      continue;
    }
    if (runs.empty() || runs.back().reduced != reduced) {
      runs.push_back({1, reduced});
    }
    runs.back().extent *= static_cast<double>(x[axis]);
  }
  return runs;
}

Reduced what_is_reduced(const OpDescriptor& op) {
  const std::vector<size_t> axes = index_list(op, "axes");
  const std::vector<int64_t>& x = op.input_extents[0];
  if (axes.empty() || axes.back() >= x.size() || !(element_count(x) >= 1)) {
    return Reduced::kUnknown;
  }
  const std::vector<AxisRun> runs = runs_of_axes(x, axes);
  if (runs.empty() || (runs.size() == 1 && !runs[0].reduced)) {
    return Reduced::kNothing;
  }
  if (runs.back().reduced) {
    return runs.size() == 1                 ? Reduced::kAll
           : runs.back().extent < kShortRow ? Reduced::kShortRows
                                            : Reduced::kRows;
  }
  const double stride = runs.back().extent * dtype_bits(op.dtype) / 8.0;
  const bool collides =
      runs[runs.size() - 2].extent >= kFewestColliding && std::fmod(stride, kCollidingBytes) == 0;
  return collides ? Reduced::kColliding : runs.size() == 2 ? Reduced::kFirst : Reduced::kMiddle;
}

Reduced reduced_by(const OpDescriptor& op) {
  const bool known = !op.input_extents.empty() && rates_of_reduction(op.op_type) != nullptr;
  return known ? what_is_reduced(op) : Reduced::kUnknown;
}

}  // namespace

double reduction_kernel_us(const OpDescriptor& op, int cores) {
  const ReductionRates* const rates = rates_of_reduction(op.op_type);
  const Reduced reduced = reduced_by(op);
  if (rates == nullptr || reduced == Reduced::kUnknown || reduced == Reduced::kNothing) {
    return 0;
  }
  const double each_ns = reduced == Reduced::kAll         ? rates->all
                         : reduced == Reduced::kShortRows ? rates->short_rows
                         : reduced == Reduced::kRows      ? rates->rows
                         : reduced == Reduced::kMiddle    ? rates->middle
                         : reduced == Reduced::kFirst     ? rates->first
                                                          : rates->colliding;
  const double one_us = element_count(op.input_extents[0]) * each_ns / 1e3;
  return reduced == Reduced::kAll ? one_us : shared_by_cores(one_us, cores);  // one thread for all
}

bool reduces_unlike_form(const OpDescriptor& op) {
  const Reduced reduced = reduced_by(op);
  return reduced == Reduced::kAll || reduced == Reduced::kColliding;
}

}  // namespace dfsim::inline opmodel
