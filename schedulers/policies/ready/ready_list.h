// The list policies as they decide when a task becomes ready: whenever tasks are ready, the one of
// highest priority goes to the device that the policy's rule likes best, and its data starts to
// move then, not before. So decide the policies of the DONF paper (Lin, Li, Jia, Liu, An 2019,
// doi:10.1007/s11390-019-1962-4) and those that it compares with.
//
// The estimate of a start: the data of each predecessor takes its idle time from now on; policies
// that know links wait for each link to be free of what they have sent before, and add up what one
// device sends. The task goes into the first gap of the device that is long enough, ahead of tasks
// that were decided earlier and wait for their data, else behind the last.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "schedulers/planning/task_view.h"
#include "schedulers/policies.h"

namespace dfsim::inline schedulers::policies {

// One policy's rule for one problem.
struct ReadyRule {
  std::vector<double> priority;  // by task; largest first, then the order of getting ready
  // What the choice of a device minimises, given the estimated finish there and when each device
  // has finished everything decided so far. Empty: the finish.
  std::function<double(TaskId task, size_t device, TimeNs finish, const std::vector<TimeNs>& ends)>
      score;
  // A device that takes the task if it can run and hold it; an invalid one leaves it to the score.
  std::function<DeviceId(TaskId task, const OnlineView& view)> prefer;
  bool knows_links = false;
};

using MakeReadyRule = ReadyRule (*)(const TaskView& view, const PolicyOptions& options);

OnlinePtr ready_list(std::string_view name, MakeReadyRule make, const PolicyOptions& options);

}  // namespace dfsim::inline schedulers::policies
