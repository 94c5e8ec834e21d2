// The roofline of a CPU at a number of threads without a measurement: one core's predicted times,
// scaled by a law that is fitted to networks measured on one and on more threads.
//
// For an operator that takes time I on one core, with a least time B(1) there and B(t) by the roofs
// of t cores, T(t) = I (s + (1 - s) B(t) / B(1)) + f log2 t: Amdahl's serial share s (1967,
// doi:10.1145/1465482.1465560), arithmetic that divides by t, memory traffic that divides by t
// until the cores' traffic fills the bandwidth, and the cost f to start and join threads. Units:
// seconds, bytes per second.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "datasets/profiles/runs.h"
#include "hardware/platform.h"
#include "study/roofline/roofline.h"
#include "study/roofline/scaling/core_share.h"

namespace dfsim::inline study {

struct ThreadScaling {
  double serial = 0;            // share of one core's time
  double fork_s = 0;            // per operator and doubling of the threads
  double core_bytes_per_s = 0;  // that one core draws from the memory
  size_t pairs = 0;             // networks measured on one and on more threads
  double median_error = 0;      // of their predicted over measured time, each left out of the fit
  std::string measured;         // hardware that they were measured on: "epyc-genoa"
};

// Fits s and f to the runs of each network, batch and dimensions that were measured on one thread
// and on more ("..., 2 threads" ends a device's name): a line through (operators / T(1), T(t) /
// T(1)) by medians of slopes and intercepts (Theil 1950, Sen 1968), which outliers do not move.
// core_bytes_per_s and `measured` stay empty. Error (kInvalidInput): fewer than kLeastPairs.
inline constexpr size_t kLeastPairs = 8;
StatusOr<ThreadScaling> fit_thread_scaling(const std::vector<NetworkRun>& runs);

// The scaling of the measured CPU whose cost model the device names. Errors: kNotFound when its
// networks or its one-thread hardware file do not ship; fit_thread_scaling()'s.
StatusOr<ThreadScaling> scaling_for(const DeviceSpec& device);

// The device as one operator of a copy sees it: peaks by the threads of an operator, the bandwidth
// that these draw, at most the operator's part of the copy's (copy_bytes_per_s()).
DeviceSpec shared_device(const DeviceSpec& device, const CoreShare& share,
                         const ThreadScaling& scaling);

// The roofs of one core of the machine.
DeviceRoofs core_roofs(const DeviceRoofs& whole, const ThreadScaling& scaling);

// The point of one copy's operator under `share`, from that of one core: `whole` is the machine.
void scale_point(const DeviceRoofs& whole, const CoreShare& share, const ThreadScaling& scaling,
                 RoofPoint* point);

// The roofline of all copies together, from that of one thread under the roofs of one core.
// FLOPs and bytes count for all copies, times for one. Times of operators are those while
// `share.at_once` of them run; the network's is their sum.
RooflineReport scaled_roofline(const RooflineReport& one, const DeviceRoofs& whole,
                               const CoreShare& share, const ThreadScaling& scaling);

}  // namespace dfsim::inline study
