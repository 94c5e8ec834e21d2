// Counts pieces from the shapes, by kind of kernel: broadcasts, copies, reductions, windows and
// sampled convolutions.
#include "opmodel/model/laws/cpu/short_pieces.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "datasets/profiles/profile.h"
#include "opmodel/features/cpu_effort.h"
#include "opmodel/features/feature_writer.h"
#include "opmodel/model/laws/cpu/kernel_terms.h"

namespace dfsim::inline opmodel {

namespace {

using Extents = std::vector<int64_t>;

// A prediction that is less than this many times too short stays: the limits are those of one
// processor.
constexpr double kFarBelow = 1.5;
constexpr double kPieceSpread = 1.8;
// Longer pieces are what campaigns measured.
constexpr double kLongPiece = 32;

// Per span; any other function of two operands takes what Mul takes.
constexpr std::array<std::pair<std::string_view, double>, 4> kSpanNs = {
    {{"Pow", 32}, {"PRelu", 40}, {"Where", 65}, {"Mod", 30}}};
constexpr std::array<std::string_view, 16> kBroadcasts = {
    "Add",   "Sub",         "Mul",   "Div",     "Pow",
    "PRelu", "Where",       "Mod",   "Greater", "GreaterOrEqual",
    "Less",  "LessOrEqual", "Equal", "Min",     "Max",
    "And"};

double product(Extents::const_iterator first, Extents::const_iterator last) {
  double all = 1;
  for (; first != last; ++first) {
    all *= static_cast<double>(*first);
  }
  return all;
}

int64_t extent_at(const Extents& x, size_t axis, size_t rank) {
  const size_t missing = rank - std::min(rank, x.size());
  return axis < missing ? 1 : x[axis - missing];
}

// Results that one operand lets a call compute.
double span_of(const Extents& x, const Extents& y) {
  const size_t last = y.size() - 1;
  const bool has = extent_at(x, last, y.size()) > 1;
  auto span = static_cast<double>(y[last]);
  for (size_t i = last; i-- > 0;) {
    if (y[i] == 1) {
      continue;
    }
    if ((extent_at(x, i, y.size()) > 1) != has) {
      break;
    }
    span *= static_cast<double>(y[i]);
  }
  return span;
}

// Axes of one element at the end that all operands have; 0 where one of them has no others, as it
// counts as a scalar then.
size_t common_trailing_ones(const OpDescriptor& op) {
  const Extents& y = op.output_extents[0];
  size_t least_rank = y.size();
  for (const Extents& x : op.input_extents) {
    least_rank = std::min(least_rank, x.size());
  }
  size_t ones = 0;
  while (ones < least_rank && y[y.size() - 1 - ones] == 1) {
    ++ones;
  }
  return ones < least_rank ? ones : 0;
}

double broadcast_us(const OpDescriptor& op, int cores) {
  constexpr double kNs = 15;
  const double spans = broadcast_spans(op);
  if (spans <= 0 || element_count(op.output_extents[0]) / spans > kLongPiece) {
    return 0;
  }
  const auto* const found = std::find_if(
      kSpanNs.begin(), kSpanNs.end(), [&](const auto& entry) { return entry.first == op.op_type; });
  return shared_by_cores(spans * (found == kSpanNs.end() ? kNs : found->second) / 1e3, cores);
}

// Results side by side that one element is copied to; 1 where the last axis is not repeated.
double repeated_run(const Extents& x, const Extents& y) {
  double run = 1;
  for (size_t i = y.size(); i-- > 0 && extent_at(x, i, y.size()) == 1;) {
    run *= static_cast<double>(y[i]);
  }
  return run;
}

// Copies on one thread, a piece at a time.
double copy_us(const OpDescriptor& op) {
  constexpr double kJoinNs = 5;
  constexpr double kSliceNs = 8;
  constexpr double kSplitNs = 4;
  constexpr double kPadNs = 12;
  constexpr double kExpandNs = 24;
  constexpr double kShortRow = 6;  // longer rows of images are what campaigns pad
  const Extents& x = op.input_extents[0];
  const Extents& y = op.output_extents[0];
  if (op.op_type == "Expand") {
    const double run = repeated_run(x, y);
    return run > 1 && run <= kLongPiece ? element_count(y) / run * kExpandNs / 1e3 : 0;
  }
  if (op.op_type == "Concat") {
    double pieces = 0;
    for (const Extents& part : op.input_extents) {
      const double run = part.size() == y.size() ? common_run(part, y) : kLongPiece + 1;
      pieces += run > 1 && run <= kLongPiece ? element_count(part) / run : 0;
    }
    return pieces * kJoinNs / 1e3;
  }
  if (op.op_type == "Split") {
    double pieces = 0;
    for (const Extents& part : op.output_extents) {
      const double run = part.size() == x.size() ? common_run(x, part) : kLongPiece + 1;
      pieces += run > 1 && run <= kLongPiece ? element_count(part) / run : 0;
    }
    return pieces * kSplitNs / 1e3;
  }
  const bool pads = op.op_type == "Pad";
  const double ns = op.op_type == "Slice" ? kSliceNs : pads ? kPadNs : 0;
  const double run = common_run(x, y);
  return ns > 0 && x.size() == y.size() && x != y && run <= (pads ? kShortRow : kLongPiece)
             ? std::min(element_count(x), element_count(y)) / run * ns / 1e3
             : 0;
}

// Sums and means over an axis in the middle go through a product of matrices for each of the outer
// ones; greatest and least go through it element by element.
double reduction_us(const OpDescriptor& op) {
  constexpr double kOuterNs = 150;
  constexpr double kMiddleNs = 5;
  constexpr double kElementNs = 0.7;
  // Only axes of one element are behind: a product of vectors, comparisons one by one.
  constexpr double kLongMiddleNs = 3.3;
  constexpr double kLongElementNs = 1.1;
  const bool sums = op.op_type == "ReduceSum" || op.op_type == "ReduceMean";
  const bool compares = op.op_type == "ReduceMax" || op.op_type == "ReduceMin";
  const Extents& x = op.input_extents[0];
  const std::vector<size_t> axes = index_list(op, "axes");
  if ((!sums && !compares) || axes.empty() || axes.back() + 1 >= x.size() || axes[0] == 0 ||
      axes.back() - axes[0] + 1 != axes.size()) {
    return 0;
  }
  const auto at = [&](size_t i) { return x.begin() + static_cast<ptrdiff_t>(i); };
  const double outer = product(x.begin(), at(axes[0]));
  const double middle = product(at(axes[0]), at(axes.back() + 1));
  const double inner = product(at(axes.back() + 1), x.end());
  if (outer >= 2 && inner == 1 && middle > kLongPiece) {
    return sums ? outer * (kOuterNs + kLongMiddleNs * middle) / 1e3
                : outer * middle * kLongElementNs / 1e3;
  }
  if (outer < 2 || middle * inner > 4 * kLongPiece) {
    return 0;
  }
  return sums ? outer * (kOuterNs + kMiddleNs * middle) / 1e3
              : outer * middle * inner * kElementNs / 1e3;
}

// A result reads its whole window: vectors of channels in blocks, one element after the other in
// plain averages.
double pool_us(const OpDescriptor& op, int cores) {
  constexpr size_t kMeasuredSide = 3;  // campaigns have such windows
  constexpr double kBlockNs = 0.055;
  constexpr double kSignalMaxNs = 0.5;
  constexpr double kSignalAverageNs = 1.6;
  constexpr double kAverageNs = 2.3;
  constexpr double kMaxNs = 0.05;
  const std::string_view name = std::string_view(op.op_type).substr(op.op_type.rfind('.') + 1);
  if (name != "MaxPool" && name != "AveragePool") {
    return 0;
  }
  double window = 1;
  size_t longest = 0;
  for (const size_t side : index_list(op, "kernel_shape")) {
    window *= static_cast<double>(side);
    longest = std::max(longest, side);
  }
  if (longest <= kMeasuredSide) {
    return 0;
  }
  const double read = element_count(op.output_extents[0]) * window;
  if (op.op_type.starts_with("com.microsoft.nchwc.")) {
    return shared_by_cores(read * kBlockNs / 1e3, cores);
  }
  if (name != op.op_type) {
    return 0;  // 8-bit images, channels last
  }
  const bool signal = op.input_extents[0].size() == 3;
  const double ns = name == "MaxPool" ? (signal ? kSignalMaxNs : kMaxNs)
                    : signal          ? kSignalAverageNs
                                      : kAverageNs;
  return shared_by_cores(read * ns / 1e3, cores);
}

// A deformable convolution interpolates each element that a window reads, before its products.
double samples_us(const OpDescriptor& op, int cores) {
  constexpr double kSampleNs = 2.5;
  if (op.op_type != "DeformConv" || op.input_extents.size() < 2 ||
      op.input_extents[0].size() != 4 || op.input_extents[1].size() != 4 ||
      op.output_extents[0].size() != 4) {
    return 0;
  }
  const Extents& y = op.output_extents[0];
  const Extents& w = op.input_extents[1];
  const auto channels = static_cast<double>(op.input_extents[0][1]);
  return shared_by_cores(static_cast<double>(y[0] * y[2] * y[3]) * channels *
                             static_cast<double>(w[2] * w[3]) * kSampleNs / 1e3,
                         cores);
}

}  // namespace

double broadcast_spans(const OpDescriptor& op) {
  const bool known =
      std::find(kBroadcasts.begin(), kBroadcasts.end(), op.op_type) != kBroadcasts.end();
  if (!known || op.output_extents.empty() || op.output_extents[0].empty() ||
      op.input_extents.size() < 2 ||
      std::all_of(op.input_extents.begin(), op.input_extents.end(),
                  [&](const Extents& x) { return x == op.output_extents[0]; })) {
    return 0;
  }
  const auto ones = static_cast<ptrdiff_t>(common_trailing_ones(op));
  const auto trimmed = [ones](const Extents& extents) {
    return Extents(extents.begin(), extents.end() - ones);
  };
  const Extents y = trimmed(op.output_extents[0]);
  double span = element_count(y);
  for (const Extents& x : op.input_extents) {
    if (x == Extents{-1}) {
      return 0;
    }
    span = std::min(span, span_of(trimmed(x), y));
  }
  return span > 0 ? element_count(y) / span : 0;
}

double short_pieces_us(const OpDescriptor& op, int cores) {
  if (op.input_extents.empty() || op.output_extents.empty() || op.input_extents[0] == Extents{-1}) {
    return 0;
  }
  return std::max({broadcast_us(op, cores), copy_us(op), reduction_us(op), pool_us(op, cores)});
}

double column_scatter_us(const OpDescriptor& op, const DeviceSpec& device) {
  constexpr double kLine = 64;            // bytes
  constexpr double kLatencyInLines = 16;  // that a core reads in the time that one element waits
  constexpr double kFastCache = 50e9;     // bytes a second and core
  const double bytes = scattered_column_bytes(op);
  if (bytes <= 0 || device.cache_bytes_per_s < kFastCache * device.compute_units ||
      device.memory_bytes_per_s <= 0) {
    return 0;
  }
  const double rate = bytes <= static_cast<double>(device.l2_bytes) ? device.cache_bytes_per_s
                                                                    : device.memory_bytes_per_s;
  return element_count(op.input_extents[2]) * kLatencyInLines * kLine / rate * 1e6;
}

void apply_short_pieces(const OpDescriptor& op, const DeviceSpec& device, OpCost* cost) {
  if (device.type != DeviceType::kCpu || cost->source == CostSource::kMeasured) {
    return;
  }
  if (const double us = column_scatter_us(op, device);
      us > 0 && us < static_cast<double>(cost->time_ns) / 1e3) {
    cost->time_ns = ns_from_seconds(us * 1e-6);
    cost->low_ns = ns_from_seconds(us / kPieceSpread * 1e-6);
    cost->high_ns = ns_from_seconds(us * kPieceSpread * 1e-6);
    cost->source = CostSource::kExtrapolated;
    return;
  }
  const double predicted_us = static_cast<double>(cost->time_ns) / 1e3;
  const double added_us = op.output_extents.empty() || op.input_extents.empty()
                              ? 0
                              : samples_us(op, device.compute_units);
  const double least_us = added_us > 0
                              ? predicted_us + added_us
                              : short_pieces_us(op, device.compute_units) / core_speed(device);
  if (!(least_us > kFarBelow * predicted_us) && !(added_us > 0)) {
    return;
  }
  cost->time_ns = ns_from_seconds(least_us * 1e-6);
  cost->low_ns = std::min(cost->low_ns, ns_from_seconds(least_us / kPieceSpread * 1e-6));
  cost->high_ns = std::max(cost->high_ns, ns_from_seconds(least_us * kPieceSpread * 1e-6));
  cost->source = CostSource::kExtrapolated;
}

}  // namespace dfsim::inline opmodel
