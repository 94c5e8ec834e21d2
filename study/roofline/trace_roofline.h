// The roofline of a recorded run: rates that operators reached, from measured times and the work of
// their recorded shapes.
#pragma once

#include "base/status.h"
#include "datasets/traces/trace.h"
#include "hardware/platform.h"
#include "study/roofline/roofline.h"

namespace dfsim::inline study {

// Calls of one operator with the same operands are one point. The point's time is that of its
// device work, or its own time on the host in a trace without device work. Operators whose work is
// not known (no recorded shapes, or outputs that the inputs do not tell) are counted as
// `without_work`. Error (kInvalidInput): no operator's work is known.
StatusOr<RooflineReport> make_trace_roofline(const Trace& trace, const Platform& platform,
                                             const DeviceRoofs& roofs);

}  // namespace dfsim::inline study
