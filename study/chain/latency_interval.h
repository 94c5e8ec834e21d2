// 80 % interval of a whole network's latency, from the intervals of its operators' times.
#pragma once

#include <span>

#include "base/units.h"
#include "graphs/ir/exec_graph.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline study {

// Share of an operator's variance that all operators of a run have in common.
inline constexpr double kCommonShare = 0.20;

struct LatencyInterval {
  TimeNs low_ns = 0;
  TimeNs high_ns = 0;
};

// `devices` has the device of each task. Errors of operators of one cost row are the same each
// time; a share of the variance is common to all of them (machine, neighbours, what the model does
// not see), the rest is independent; whole runs scatter in addition. The error of a device that was
// not measured is common to all of its operators (CostTable::common_spread). The device's factor,
// fitted to measured networks, scales the width (CostTable::interval_scale). Operators that run
// side by side are taken as if they ran one after the other, which makes the interval too wide
// rather than too narrow. 0 < low <= latency <= high. O(tasks log tasks).
LatencyInterval latency_interval(const ExecGraph& graph, const CostTable& costs,
                                 std::span<const DeviceId> devices, TimeNs latency_ns);

// The interval where `largest_ns` of the latency are of operators whose sizes only the data of a
// run tell, and which count as large as they can be: a run may need none of that part. O(1).
LatencyInterval with_largest_sizes(LatencyInterval interval, TimeNs latency_ns, TimeNs largest_ns);

// How long the host and the busiest device worked in a run, and the factor, each way, within which
// four fifths of such hosts' speeds are.
struct HostShare {
  TimeNs host_busy_ns = 0;
  TimeNs device_busy_ns = 0;
  double spread = 1;
};

// The factor for a host of that speed (HostSpec::dispatch_speed): 1, which is what files without
// the key have, says nothing about the host. Under autocast the host also looks up casts.
double host_spread(double dispatch_speed, bool autocast);

// The interval with the host's doubt in it. A faster host shortens a run that waits for it, until
// the device limits; a slower one lengthens any run that it then limits. O(1).
LatencyInterval with_host_doubt(LatencyInterval interval, TimeNs latency_ns, const HostShare& host);

}  // namespace dfsim::inline study
