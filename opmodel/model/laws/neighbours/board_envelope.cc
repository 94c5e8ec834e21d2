// Between the least time on slower boards and the longest on faster ones, which both fall with
// every rate, lies a time that falls as well; their geometric mean leans to neither side.
#include "opmodel/model/laws/neighbours/board_envelope.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace dfsim::inline opmodel {

namespace {

// Neighbouring leaves differ by some percent of a rate, and a whole subtree may follow the next
// one: steps up to a generation of boards.
constexpr std::array kSteps = {1.25, 1.75, 2.5};

void multiply(double by, std::vector<PeakRate>* peaks) {
  for (PeakRate& peak : *peaks) {
    peak.flops_per_s *= by;
    peak.matrix_flops_per_s *= by;
  }
}

DeviceSpec with_bandwidth(DeviceSpec device, double by) {
  device.memory_bytes_per_s *= by;
  device.sustained_memory_bytes_per_s *= by;
  return device;
}

DeviceSpec with_rates(DeviceSpec device, double by) {
  multiply(by, &device.peaks);
  multiply(by, &device.sustained);
  device.clock_hz *= by;
  return device;
}

}  // namespace

std::vector<OtherBoard> other_boards(const DeviceSpec& device) {
  std::vector<OtherBoard> boards;
  if (device.type != DeviceType::kGpu) {
    return boards;
  }
  for (const double step : kSteps) {
    for (const double by : {1 / step, step}) {
      boards.push_back({with_bandwidth(device, by), by > 1});
      boards.push_back({with_rates(device, by), by > 1});
    }
  }
  return boards;
}

void BoardEnvelope::add(const OtherBoard& board, TimeNs time_ns) {
  if (time_ns <= 0) {
    return;
  }
  if (board.faster) {
    longest_ns = std::max(longest_ns, time_ns);
  } else {
    least_ns = least_ns == 0 ? time_ns : std::min(least_ns, time_ns);
  }
}

void BoardEnvelope::apply(OpCost* cost) const {
  if (cost->time_ns <= 0 || least_ns <= 0) {
    return;
  }
  const auto low = static_cast<double>(std::min(cost->time_ns, least_ns));
  const auto high = static_cast<double>(std::max(cost->time_ns, longest_ns));
  rescale(std::sqrt(low * high), cost);
}

}  // namespace dfsim::inline opmodel
