// The time of a model whose independent operators run at once: an inter-op pool.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.h"
#include "study/chain/model_source.h"
#include "study/roofline/scaling/thread_scaling.h"

namespace dfsim::inline study {

struct PoolTime {
  double makespan_s = 0;
  double at_once = 1;  // operators that run, in the mean over the makespan
};

// Simulates the model's tasks on `workers` queues of the device, by times of its cost rows in ns;
// the host dispatches in no time. Error: those of the simulation.
StatusOr<PoolTime> pool_time(const LoadedModel& model, const Platform& platform,
                             const std::vector<TimeNs>& row_times, int64_t workers);

// The roofline of copies with an inter-op pool each. Operators that run at once share the copy's
// bandwidth: their mean number and their times follow from each other, so both are computed a few
// times in turn. The network's time is that of the schedule. `one` is of one core and has a point
// per task.
StatusOr<RooflineReport> pooled_roofline(const RooflineReport& one, const LoadedModel& model,
                                         const Platform& platform, const DeviceRoofs& whole,
                                         CoreShare share, const ThreadScaling& scaling);

}  // namespace dfsim::inline study
