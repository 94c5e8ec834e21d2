// An independent checker of schedules: knows only the problem and the placements.
#pragma once

#include <string>

#include "schedulers/scheduler.h"

namespace dfsim::testing {

// "" when the schedule is valid, otherwise the first thing that is wrong with it: a task on a
// device that cannot run it or for another time than it takes, a start before data has arrived, two
// tasks at once on a device, orders that do not hold each task once or contradict the starts, a
// makespan that is not the last finish or is less than a lower bound.
std::string check_schedule(const SchedulingProblem& problem, const Schedule& schedule);

}  // namespace dfsim::testing
