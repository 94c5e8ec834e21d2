// Functions that one thread calls in recurrent layers, copies of computed operands, transpositions
// element by element, indices of pools, and parts of splits and joins.
#include "opmodel/model/laws/cpu/kernel_floors.h"

#include <algorithm>
#include <cmath>

#include "datasets/profiles/profile.h"
#include "opmodel/features/feature_writer.h"
#include "opmodel/model/laws/cpu/kernel_terms.h"
#include "opmodel/model/laws/cpu/plain_forms.h"

namespace dfsim::inline opmodel {

namespace {

using Extents = std::vector<int64_t>;

constexpr double kFloorSpread = 1.8;

bool all_known(const OpDescriptor& op, size_t operands, size_t least_rank) {
  return op.input_extents.size() >= operands &&
         std::all_of(op.input_extents.begin(),
                     op.input_extents.begin() + static_cast<ptrdiff_t>(operands),
                     [least_rank](const Extents& x) {
                       return x.size() >= least_rank &&
                              std::ranges::all_of(x, [](int64_t extent) { return extent >= 0; });
                     });
}

}  // namespace

// A plain layer calls the function of each result through a pointer (8 to 13 ns on an EPYC Turin,
// 18 on the measured core), a GRU calls it for rows. An LSTM shares its images among threads, so
// trees know it. X is [steps, batch, inputs], R [directions, gates, state].
double serial_recurrence_us(const OpDescriptor& op, const DeviceSpec& device, bool has_rows) {
  constexpr double kLeastPlainNs = 8;
  constexpr double kPlainNs = 18;
  constexpr double kGatedNs = 4;
  const double peak = device.peak_flops_per_s(DType::kFloat32, true);
  if ((op.op_type != "RNN" && op.op_type != "GRU") || !all_known(op, 3, 3) || peak <= 0) {
    return 0;
  }
  const Extents& x = op.input_extents[0];
  const Extents& r = op.input_extents[2];
  const double rows = static_cast<double>(x[0] * x[1]) * static_cast<double>(r[0]);
  const double flops = 2 * rows * static_cast<double>(r[1]) * static_cast<double>(x[2] + r[2]);
  const double each_ns = op.op_type == "GRU" ? kGatedNs
                         : has_rows          ? kLeastPlainNs
                                             : kPlainNs / core_speed(device);
  return rows * static_cast<double>(r[2]) * each_ns / 1e3 + flops / peak * 1e6;
}

// Constants are in panels since the session began, and one row reads the operand where it lies. A
// matrix that leaves a core's second cache is copied at half of the speed.
double packed_operand_us(const OpDescriptor& op, int cores) {
  constexpr double kCachedNs = 0.13;
  constexpr double kLargeNs = 0.28;
  constexpr double kSecondCache = 1 << 20;  // bytes
  if (op.op_type != "MatMul" || op.work.weight_bytes > 0 || !all_known(op, 2, 2)) {
    return 0;
  }
  const Extents& left = op.input_extents[0];
  const Extents& right = op.input_extents[1];
  if (left[left.size() - 2] <= 1) {
    return 0;
  }
  const auto matrix = static_cast<double>(right[right.size() - 2] * right.back());
  const bool large = matrix * dtype_bits(op.dtype) / 8 > kSecondCache;
  return shared_by_cores(element_count(right) * (large ? kLargeNs : kCachedNs) / 1e3, cores);
}

// Each element asks a counter for its place, on one thread, whatever its size: 2.2 to 2.6 ns on an
// EPYC Turin, 3.3 to 4.4 on a Genoa, 5 to 8 on a Milan, 7 to 10 on a Cascade Lake.
double element_copies_us(const OpDescriptor& op, const DeviceSpec& device) {
  constexpr double kElementNs = 3.2;
  if (!copies_each_element(op) || !all_known(op, 1, 1)) {
    return 0;
  }
  return element_count(op.input_extents[0]) * kElementNs / std::sqrt(core_speed(device)) / 1e3;
}

// A pool that also returns where its maxima are goes window by window, without vectors: 4.2 ns each
// on an EPYC Turin while the results stay in the core's caches, 14 to 21 beyond some 256 KiB
// (plain_forms_turin.csv).
double pool_indices_us(const OpDescriptor& op, const DeviceSpec& device) {
  constexpr double kCachedNs = 7;
  constexpr double kWindowNs = 15;
  constexpr double kTapNs = 1.5;
  constexpr double kCached = 20'000;  // results, with an index of 8 bytes each
  if (op.op_type != "MaxPool" || op.output_extents.size() < 2 || op.output_extents[1].empty()) {
    return 0;
  }
  const double results = element_count(op.output_extents[0]);
  const double each_ns = results > kCached ? kWindowNs + kTapNs * window_taps(op) : kCachedNs;
  return shared_by_cores(results * each_ns / 1e3, device.compute_units) /
         std::sqrt(core_speed(device));
}

// Each part of a Split and each operand of a Concat takes some time of its own (at least 0.29 and
// 0.16 us on an EPYC Turin; plain_forms_turin.csv).
double many_operands_us(const OpDescriptor& op, const DeviceSpec& device) {
  constexpr double kOperandUs = 0.2;
  const size_t count = op.op_type == "Split"    ? op.output_extents.size()
                       : op.op_type == "Concat" ? op.input_extents.size()
                                                : 0;
  return static_cast<double>(count) * kOperandUs / std::sqrt(core_speed(device));
}

void apply_kernel_floors(const OpDescriptor& op, const DeviceSpec& device, OpCost* cost) {
  if (device.type != DeviceType::kCpu || cost->source == CostSource::kMeasured) {
    return;
  }
  const double least_us =
      std::max(serial_recurrence_us(op, device, cost->source == CostSource::kPredicted),
               std::max({packed_operand_us(op, device.compute_units), element_copies_us(op, device),
                         pool_indices_us(op, device), many_operands_us(op, device)}));
  const TimeNs least_ns = ns_from_seconds(least_us * 1e-6);
  if (cost->time_ns >= least_ns) {
    return;
  }
  cost->time_ns = least_ns;
  cost->low_ns = std::min(cost->low_ns, ns_from_seconds(least_us / kFloorSpread * 1e-6));
  cost->high_ns = std::max(cost->high_ns, ns_from_seconds(least_us * kFloorSpread * 1e-6));
  cost->source = CostSource::kExtrapolated;
}

}  // namespace dfsim::inline opmodel
